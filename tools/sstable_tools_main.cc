// One program for each tool: TOOL is its function.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "runtime/linux/linux_runtime.h"
#include "sstable_tools.h"

int main(int argc, char** argv) {
  using namespace cassandra_like;
  std::ios::sync_with_stdio(false);
  // Nothing runs on the shard: reads of its disk complete at once.
  const auto runtime = LinuxRuntime::create(1);
  const auto now = std::chrono::system_clock::now().time_since_epoch();  // NOLINT: a program's own clock
  const sstable_tools::ToolContext context{runtime->shard(0).disk,
                                           std::chrono::duration_cast<std::chrono::milliseconds>(now).count(),
                                           std::filesystem::current_path().string(), std::cout, std::cerr};
  const int status = sstable_tools::TOOL({argv + 1, argv + argc}, context);
  std::cout.flush();
  return status;
}
