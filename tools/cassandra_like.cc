// The daemon: cassandra-like -c conf/node.yaml
#include <malloc.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <new>
#include <thread>

#include "cassandra_like/node.h"
#include "runtime/linux/bus_error.h"
#include "runtime/linux/os_thread.h"

namespace {

std::atomic<cassandra_like::Node*> started_node{nullptr};

// Very large buffers are mapped one by one, and go back to the system when they are freed. Left alone, glibc takes buffers of
// up to 32 MiB from its arenas as soon as one was freed, where whatever lies behind a buffer keeps it resident. Smaller ones
// stay in the arenas, as mapping them would cost more than the requests that they are for: free_memory_goes_back().
void map_very_large_buffers() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
#endif
}

// Whole pages that are free, wherever they lie in the arenas.
void free_memory_goes_back() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// SIGTERM, SIGINT and SIGHUP end the node in order: they are taken by a thread that waits for them, and gives free memory back
// every ten seconds meanwhile. A start may wait for other nodes for a minute: one that does not end soon is cut off, which loses
// no more than kill -9 does.
cassandra_like::Status stop_on_signals(sigset_t signals) {
  auto thread = cassandra_like::make_thread("signals", [signals] {
    constexpr timespec kPause{10, 0};
    int signal = 0;
    while ((signal = sigtimedwait(&signals, nullptr, &kPause)) < 0) free_memory_goes_back();
    for (int i = 0; i < 100 && started_node == nullptr; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (started_node == nullptr) {
      std::cerr << "cassandra-like: stopped while it was starting" << std::endl;
      std::_Exit(128 + signal);
    }
    started_node.load()->request_stop();
  });
  if (!thread.ok()) return std::move(thread.error());
  thread->detach();
  return {};
}

int run(const cassandra_like::NodeOptions& options, const std::string& pid_file) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // the error of the write names the file
  cassandra_like::name_unreadable_mapped_files();

  if (const auto status = stop_on_signals(signals); !status.ok()) {
    std::cerr << "cassandra-like: " << status.error().message() << std::endl;
    return static_cast<int>(cassandra_like::StartFailure::kConfig);
  }

  std::string error;
  cassandra_like::StartFailure failure = cassandra_like::StartFailure::kNone;
  auto node = cassandra_like::Node::start(options, &error, &failure);
  if (node == nullptr) {
    std::cerr << "cassandra-like: " << error << std::endl;
    return static_cast<int>(failure);
  }
  if (!pid_file.empty()) std::ofstream(pid_file) << getpid() << '\n';
  started_node = node.get();
  const bool asked = node->wait();
  const bool flushed = node->stop();
  if (!flushed) {
    std::cerr << "cassandra-like: not all memtables could be flushed: the commit log has what they hold, and the next "
                 "start reads it; the log says why"
              << std::endl;
  }
  return asked && flushed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A Cassandra 5.0 node.", "cassandra-like"};
  cassandra_like::NodeOptions options;
  std::string pid_file;
  std::vector<std::string> settings;
  bool check = false, foreground = false;
  app.add_option("-c,--config", options.config_file,
                 "cassandra.yaml, or a directory that holds it (default: $CASSANDRA_CONF, or Cassandra's defaults)");
  app.add_option("--shards", options.shards, "Shards, one thread each (default: the configuration's, or the cores)")
      ->check(CLI::Range(1u, 64u));
  app.add_option("--set", settings, "KEY=VALUE: a key of cassandra.yaml and its value in YAML, instead of the file's")
      ->allow_extra_args(false);
  app.add_option("--storage-directory", options.storage_directory,
                 "Parent of the directories that the configuration does not name (default: data)");
  app.add_option("--log-level", options.log_level, "TRACE, DEBUG, INFO, WARN, ERROR or OFF (default: INFO)");
  app.add_option("--join-ring", options.join_ring,
                 "false: the node takes no tokens and coordinates only, as Cassandra with -Dcassandra.join_ring=false");
  app.add_option("-p,--pid-file", pid_file, "Write the process id here once clients can connect");
  app.add_flag("-f,--foreground", foreground, "Accepted for Cassandra's sake: the node always stays in the foreground");
  app.add_flag("--check", check, "Check the configuration and exit: 0 when it is good, 3 when it is not");
  app.set_version_flag("--version", "cassandra-like 0.1.0 (Cassandra 5.0.9, CQL 3.4.7, native protocol v5)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);  // prints the help or the error
    return code == 0 ? 0 : static_cast<int>(cassandra_like::StartFailure::kConfig);
  }

  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) {
      std::cerr << "cassandra-like: --set " << setting << ": write KEY=VALUE" << std::endl;
      return static_cast<int>(cassandra_like::StartFailure::kConfig);
    }
    options.overrides.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  if (options.config_file.empty()) {
    if (const char* directory = getenv("CASSANDRA_CONF")) options.config_file = directory;
  }
  if (check) {
    std::string error = cassandra_like::Node::check(options);
    if (!error.empty()) std::cerr << "cassandra-like: " << error << std::endl;
    return error.empty() ? 0 : static_cast<int>(cassandra_like::StartFailure::kConfig);
  }
  map_very_large_buffers();
  options.install_logging = true;
  options.serve_peers = true;
  umask(umask(077) | 027);  // of the log files; nobody else reads what clients wrote
  try {
    return run(options, pid_file);
  } catch (const std::bad_alloc&) {
    std::cerr
        << "cassandra-like: the system gives no more memory: lower memtable_heap_space, memtable_offheap_space and "
           "file_cache_size, or raise the limit of the address space (ulimit -v)"
        << std::endl;
    return static_cast<int>(cassandra_like::StartFailure::kOther);
  }
}
