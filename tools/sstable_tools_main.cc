// One program for each tool: TOOL is its function.
#include <yaml-cpp/yaml.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <iostream>

#include "runtime/linux/linux_runtime.h"
#include "sstable_tools.h"

namespace {

using namespace cassandra_like;

// $CASSANDRA_CONF, or conf/ of the installation that this program lies in. Without data_file_directories Cassandra takes
// data/data of its installation.
Result<std::vector<std::string>> data_directories() {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const char* home_variable = std::getenv("CASSANDRA_HOME");
  const std::filesystem::path home =
      home_variable != nullptr ? home_variable : program.parent_path().parent_path().parent_path();
  const char* conf_variable = std::getenv("CASSANDRA_CONF");
  std::filesystem::path file = conf_variable != nullptr ? std::filesystem::path(conf_variable) : home / "conf";
  if (std::filesystem::is_directory(file)) file /= "cassandra.yaml";
  std::vector<std::string> directories;
  try {
    const YAML::Node configuration = YAML::LoadFile(file);
    for (const YAML::Node& directory : configuration["data_file_directories"]) {
      directories.push_back(std::filesystem::absolute(directory.as<std::string>()).lexically_normal());
    }
    if (const YAML::Node& directory = configuration["local_system_data_file_directory"]) {
      directories.push_back(std::filesystem::absolute(directory.as<std::string>()).lexically_normal());
    }
  } catch (const YAML::Exception& e) {
    return Error(ErrorCode::kConfigError,
                 file.string() + ": " + e.what() + ": set CASSANDRA_CONF to the folder of cassandra.yaml");
  }
  if (directories.empty()) directories.push_back(home / "data/data");
  for (std::string& directory : directories) {
    while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  }
  return directories;
}

Task<void> finish(Task<Status>* task, std::promise<Status>* done) {
  Status status = co_await std::move(*task);
  done->set_value(std::move(status));
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  // The shard runs from the first task on: reads of its disk complete at once without.
  const auto runtime = std::make_unique<LinuxRuntime>(1);
  bool runs = false;
  auto wait = [&](Task<Status> task) {
    if (!std::exchange(runs, true)) runtime->start();
    std::promise<Status> done;
    runtime->shard(0).executor.post([&] { spawn(finish(&task, &done)); });
    return done.get_future().get();
  };
  const auto now = std::chrono::system_clock::now().time_since_epoch();  // NOLINT: a program's own clock
  const sstable_tools::ToolContext context{runtime->shard(0).disk,
                                           std::chrono::duration_cast<std::chrono::milliseconds>(now).count(),
                                           std::filesystem::current_path().string(),
                                           std::cout,
                                           std::cerr,
                                           data_directories,
                                           wait};
  const int status = sstable_tools::TOOL({argv + 1, argv + argc}, context);
  if (runs) runtime->stop();
  std::cout.flush();
  return status;
}
