// One program for each tool: TOOL is its function.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <iostream>

#include "base/log.h"
#include "node/config.h"
#include "node/options.h"
#include "runtime/linux/bus_error.h"
#include "runtime/linux/linux_runtime.h"
#include "sstable_tools.h"
#include "storage/table/directory_check.h"

namespace {

using namespace cassandra_like;

std::string normal_path(const std::string& path) {
  std::string normal = std::filesystem::absolute(path).lexically_normal();
  while (normal.size() > 1 && normal.ends_with('/')) normal.pop_back();
  return normal;
}

// $CASSANDRA_CONF, or conf/ of the installation that this program lies in. Directories without a name there are in data/ of the installation.
Result<Config> configuration(Disk& disk) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const char* home_variable = std::getenv("CASSANDRA_HOME");
  const std::filesystem::path home =
      home_variable != nullptr ? home_variable : program.parent_path().parent_path().parent_path();
  const char* conf_variable = std::getenv("CASSANDRA_CONF");
  const std::filesystem::path file = conf_variable != nullptr ? std::filesystem::path(conf_variable) : home / "conf";
  HostFacts host;
  host.storage_directory = home / "data";
  host.resolve = [](const std::string&) { return "127.0.0.1"; };  // no address is used
  Result<Config> config = load_config(disk, file, host);
  if (config.ok()) return config;
  return Error(config.error().code(),
               config.error().message() + ": set CASSANDRA_CONF to the folder of cassandra.yaml, or to the file");
}

// sequence_ids is known only to those that write: the node looks at the ids that are there.
Result<EngineOptions> storage_options(Disk& disk, bool writes) {
  ASSIGN_OR_RETURN(const Config config, configuration(disk));
  EngineOptions options = engine_options(config);
  for (std::string& directory : options.data_directories) directory = normal_path(directory);
  options.commitlog_directory = normal_path(options.commitlog_directory);
  DirectoryCheck check;
  check.data_directories = options.data_directories;
  if (writes) {
    // Files that keep the node from starting do not matter to a tool for one table.
    const auto found = check_data_directories(disk, check);
    options.sequence_ids = writes_sequence_ids(config, found.ok() ? *found : FoundIds());
  }
  if (!config.local_system_data_file_directory.empty()) {
    options.data_directories.push_back(normal_path(config.local_system_data_file_directory));
  }
  return options;
}

Task<void> finish(Task<Status>* task, std::promise<Status>* done) {
  Status status = co_await std::move(*task);
  done->set_value(std::move(status));
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  set_log_level(LogLevel::kError);  // what a tool has to say, it prints
  name_unreadable_mapped_files();
  // The shard runs from the first task on: reads of its disk complete at once without.
  const auto runtime = std::make_unique<LinuxRuntime>(1);
  bool runs = false;
  Status started;
  auto wait = [&](Task<Status> task) {
    if (!std::exchange(runs, true)) started = runtime->start();
    if (!started.ok()) return started;
    std::promise<Status> done;
    runtime->shard(0).executor.post([&] { spawn(finish(&task, &done)); });
    return done.get_future().get();
  };
  Disk& disk = runtime->shard(0).disk;
  const auto now = std::chrono::system_clock::now().time_since_epoch();  // NOLINT: a program's own clock
  const sstable_tools::ToolContext context{disk,
                                           std::chrono::duration_cast<std::chrono::milliseconds>(now).count(),
                                           std::filesystem::current_path().string(),
                                           std::cout,
                                           std::cerr,
                                           [&disk](bool writes) { return storage_options(disk, writes); },
                                           wait,
                                           runtime.get()};
  const int status = sstable_tools::TOOL({argv + 1, argv + argc}, context);
  if (runs) runtime->stop();
  std::cout.flush();
  return status;
}
