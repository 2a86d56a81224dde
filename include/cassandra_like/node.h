// cassandra-like inside another program: a whole node, for tests and for embedding.
//
//   cassandra_like::NodeOptions options;
//   options.config = "data_file_directories: [/tmp/x/data]\ncommitlog_directory: /tmp/x/log\nnative_transport_port: 0\n";
//   std::string error;
//   auto node = cassandra_like::Node::start(options, &error);   // answers CQL on node->native_port() now
//   …
//   node->stop();
//
// Node is an interface, so that the program sees no header but this one.
//
// A program may hold several nodes with directories and ports of their own. All functions are thread-safe and block.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cassandra_like {

struct NodeOptions {
  // cassandra.yaml as text, or the path of a file (or of a directory that holds cassandra.yaml); the text comes first.
  // Without either, Cassandra's defaults hold.
  std::string config;
  std::string config_file;
  // Keys of the configuration with values in YAML, instead of those that the text or the file has.
  std::vector<std::pair<std::string, std::string>> overrides;
  // The parent of the directories that the configuration does not name; empty: "data".
  std::string storage_directory;
  // Overrides the configuration when it is not 0.
  unsigned shards = 0;
  // Speaks with other nodes on storage_port, as the daemon does. Off: the node is alone, and that port stays free.
  bool serve_peers = false;
  // Off: takes no tokens, and coordinates only; also when the configuration says join_ring: true.
  bool join_ring = true;
  // Writes system.log and standard output as the daemon does. Off: the program's own log sink (base/log.h) gets the lines.
  bool install_logging = false;
  // ROOT's level then: TRACE, DEBUG, INFO, WARN, ERROR, OFF.
  std::string log_level = "INFO";
};

// Why start() returned nullptr.
enum class StartFailure {
  kNone = 0,
  kOther = 1,   // the data could not be read, a directory is in use, …
  kConfig = 3,  // the configuration, a directory or an address is at fault; the error names file and line
};

class Node {
 public:
  // Returns when clients can connect; nullptr with one line in *error otherwise.
  static std::unique_ptr<Node> start(const NodeOptions& options, std::string* error, StartFailure* failure = nullptr);
  // Checks a configuration without starting anything: empty when it is good.
  static std::string check(const NodeOptions& options);
  virtual ~Node() = default;  // stops it

  virtual uint16_t native_port() const = 0;
  virtual std::string native_address() const = 0;
  // 0 when the admin interface is off.
  virtual uint16_t admin_port() const = 0;
  // Asks the node to end; may be called from a signal handler's thread.
  virtual void request_stop() = 0;
  // Blocks until somebody requested a stop (a client of the admin interface can); false after a fatal error.
  virtual bool wait() = 0;
  // Drains (finishes requests, flushes, syncs) and closes everything. False when not all could be flushed: the commit log
  // has it, and the next start reads it.
  virtual bool stop() = 0;
};

}  // namespace cassandra_like
