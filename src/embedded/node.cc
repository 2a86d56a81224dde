// The public Node: a ClusterNode over the real world, for callers that know nothing of shards and tasks.
#include "cassandra_like/node.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <future>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "base/memory_text.h"
#include "node/cluster_node.h"
#include "node/logging.h"
#include "runtime/linux/control_groups.h"
#include "runtime/linux/linux_runtime.h"
#include "runtime/linux/open_files.h"
#include "runtime/linux/tcp_network.h"

namespace cassandra_like {
namespace {

HostFacts host_facts() {
  const MachineShare share = machine_share();
  HostFacts facts;
  facts.cores = share.cores;
  if (share.memory_bytes > 0) facts.memory_bytes = share.memory_bytes;
  facts.resolve = resolve_host;
  return facts;
}

Result<Config> read_config(const NodeOptions& options, Disk& disk) {
  HostFacts facts = host_facts();
  facts.overrides = options.overrides;
  if (!options.storage_directory.empty()) facts.storage_directory = options.storage_directory;
  const bool is_text = !options.config.empty() || options.config_file.empty();
  Result<Config> config =
      is_text ? parse_config(options.config, "config", facts) : load_config(disk, options.config_file, facts);
  if (config.ok() && options.shards != 0) config->shards = options.shards;
  if (config.ok() && !options.join_ring) config->join_ring = false;
  return config;
}

// The shards' own runtime is made when their number is known.
Result<Config> read_config(const NodeOptions& options) {
  auto runtime = std::make_unique<LinuxRuntime>(1);
  return read_config(options, runtime->shard(0).disk);
}

void log_config(const Config& config) {
  for (const std::string& warning : config.warnings) LOG_WARN("{}", warning);
  for (const std::string& key : config.ignored_keys) LOG_INFO("{}: not used by this node, ignored", key);
  LOG_INFO("cassandra-like for Cassandra {}, {} shards, configuration {}", kReleaseVersion, config.shards,
           config.file.empty() ? "built in" : config.file);
  std::string given;
  for (const auto& [key, value] : config.settings()) {
    if (config.lines.contains(key)) given += fmt::format("{}{}={}", given.empty() ? "" : "; ", key, value);
  }
  LOG_INFO("Node configuration:[{}]", given);
  LOG_INFO("Data in {}, commit log in {} (at most {})", fmt::join(config.data_file_directories, ", "),
           config.commitlog_directory, memory_text(config.commitlog_total_space));
  const MachineShare share = machine_share();
  LOG_INFO("{} cores and {} of memory{}", share.cores, memory_text(share.memory_bytes),
           share.memory_is_limited ? ", the limit of the control group" : "");
  LOG_INFO("Memory: {} for memtables, {} for cached chunks of SSTables", memory_text(config.memtable_space()),
           memory_text(config.file_cache_enabled ? config.file_cache_size : 0));
  LOG_INFO("Clients: {}, frames up to {}, requests in flight up to {} ({} from one address)",
           config.authenticator.short_name(), memory_text(config.native_transport_max_frame_size),
           memory_text(config.native_transport_max_request_data_in_flight),
           memory_text(config.native_transport_max_request_data_in_flight_per_ip));
}

// The room that a limit of the address space (ulimit -v) must leave. Without a limit nothing is checked: memory is
// reserved long before it is used.
Status check_address_space(const Config& config) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  const uint64_t memtables = config.memtable_space(), cache = config.file_cache_enabled ? config.file_cache_size : 0;
  const uint64_t segments = 2 * config.commitlog_segment_size * config.shards;
  // Stacks and the allocator's regions of the shards' and the helpers' threads, and the program itself.
  constexpr uint64_t kOfThread = 72 * kMiB, kHelpers = 4, kProgram = 256 * kMiB;
  const uint64_t threads = (config.shards + kHelpers) * kOfThread;
  const uint64_t needed = 2 * memtables + cache + segments + threads + kProgram;
  if (limit.rlim_cur >= needed) return {};
  return Error(
      ErrorCode::kConfigError,
      fmt::format("The address space is limited to {} MiB, and this node needs {} MiB (memtables {}; file_cache_size "
                  "{}; commit log segments {}; {} shards {}): raise "
                  "the limit (ulimit -v), or lower memtable_heap_space, memtable_offheap_space, file_cache_size or "
                  "shards",
                  limit.rlim_cur / kMiB, needed / kMiB, 2 * memtables / kMiB, cache / kMiB, segments / kMiB,
                  config.shards, threads / kMiB));
}

// Sockets, logs and segments of the shards, and room for a few clients, files and operators.
Status check_descriptors(unsigned shards) {
  const uint64_t limit = raise_descriptor_limit(), needed = 32 + uint64_t{8} * shards;
  if (limit >= needed) return {};
  return Error(
      ErrorCode::kConfigError,
      fmt::format("The process may have {} open files, and this node needs {} (32, and 8 for each shard): raise "
                  "the limit (ulimit -n)",
                  limit, needed));
}

// Runs a task on shard 0 and blocks the calling thread, which must be none of the shards', until it is done.
template <class T>
Task<void> deliver(Task<T> (*make)(void*), void* argument, std::promise<T>* promise) {
  promise->set_value(co_await make(argument));
}

template <class T>
T block_on(LinuxRuntime& runtime, Task<T> (*make)(void*), void* argument) {
  std::promise<T> promise;
  auto future = promise.get_future();
  runtime.shard(0).executor.post([make, argument, p = &promise] { spawn(deliver<T>(make, argument, p)); });
  return future.get();
}

class NodeImpl : public Node {
 public:
  NodeImpl(Config config, NodeOptions options)
      : config_(std::move(config)),
        options_(std::move(options)),
        runtime_(std::make_unique<LinuxRuntime>(config_.shards)) {}
  ~NodeImpl() override { stop(); }

  Status open() {
    TRY(runtime_->start());
    auto started = block_on<Result<std::unique_ptr<ClusterNode>>>(*runtime_, &NodeImpl::start_task, this);
    if (!started.ok()) {
      runtime_->stop();
      runtime_.reset();
      return std::move(started.error());
    }
    node_ = std::move(*started);
    native_port_ = node_->native_port();
    admin_port_ = node_->admin_port();
    return {};
  }

  uint16_t native_port() const override { return native_port_; }
  std::string native_address() const override { return config_.rpc_address; }
  uint16_t admin_port() const override { return admin_port_; }

  void request_stop() override { finish(true); }
  bool wait() override { return stop_requested_.get_future().get(); }

  bool stop() override {
    if (node_ == nullptr) return flushed_;
    Status status = block_on<Status>(*runtime_, &NodeImpl::stop_task, this);
    flushed_ = status.ok();
    if (!flushed_) LOG_ERROR("Stopping: {}", status.error().message());
    runtime_->stop();
    runtime_.reset();
    return flushed_;
  }

 private:
  static Task<Result<std::unique_ptr<ClusterNode>>> start_task(void* self) {
    auto* node = static_cast<NodeImpl*>(self);
    ClusterNodeHooks hooks;
    hooks.on_stop_requested = [node](const Status& reason) {
      if (!reason.ok()) LOG_ERROR("{}", reason.error().message());
      node->finish(reason.ok());
    };
    hooks.read_config = [node](Disk& disk) { return read_config(node->options_, disk); };
    hooks.serve_peers = node->options_.serve_peers;
    return ClusterNode::start(node->runtime_.get(), node->config_, std::move(hooks));
  }
  static Task<Status> stop_task(void* self) { return stop_and_destroy(static_cast<NodeImpl*>(self)); }
  static Task<Status> stop_and_destroy(NodeImpl* self) {
    Status status = co_await self->node_->stop();
    self->node_.reset();
    co_return status;
  }
  void finish(bool clean) {
    if (!finished_.exchange(true)) stop_requested_.set_value(clean);
  }

  Config config_;
  const NodeOptions options_;
  std::unique_ptr<LinuxRuntime> runtime_;
  std::unique_ptr<ClusterNode> node_;
  uint16_t native_port_ = 0, admin_port_ = 0;
  bool flushed_ = true;
  std::atomic<bool> finished_{false};
  std::promise<bool> stop_requested_;
};

}  // namespace

std::string Node::check(const NodeOptions& options) {
  auto config = read_config(options);
  return config.ok() ? "" : config.error().message();
}

std::unique_ptr<Node> Node::start(const NodeOptions& options, std::string* error, StartFailure* failure) {
  auto fail = [&](StartFailure kind, const std::string& message) {
    *error = message;
    if (failure != nullptr) *failure = kind;
    return nullptr;
  };
  if (Status status = check_descriptors(1); !status.ok()) return fail(StartFailure::kConfig, status.error().message());
  auto config = read_config(options);
  if (!config.ok()) return fail(StartFailure::kConfig, config.error().message());
  if (Status status = check_descriptors(config->shards); !status.ok()) {
    return fail(StartFailure::kConfig, status.error().message());
  }
  if (options.install_logging) {
    LogOptions log_options;
    log_options.directory = config->log_directory;
    if (Status status = install_logging(log_options); !status.ok()) {
      const std::string what = status.error().message() + ": write a directory that this user can write to";
      return fail(StartFailure::kConfig, config->error_at("log_directory", what).message());
    }
  }
  if (options.install_logging && !set_logging_level("ROOT", options.log_level)) {
    return fail(StartFailure::kConfig,
                options.log_level + " is no log level: write TRACE, DEBUG, INFO, WARN, ERROR or OFF");
  }
  log_config(*config);
  if (options.install_logging && geteuid() == 0) {
    LOG_WARN("Running as root: whoever takes over the node has the machine; run it as a user of its own");
  }
  if (Status status = check_address_space(*config); !status.ok()) {
    return fail(StartFailure::kConfig, status.error().message());
  }
  auto node = std::make_unique<NodeImpl>(std::move(*config), options);
  if (Status status = node->open(); !status.ok()) {
    ErrorCode code = status.error().code();
    bool config_error = code == ErrorCode::kConfigError || code == ErrorCode::kIo;
    return fail(config_error ? StartFailure::kConfig : StartFailure::kOther, status.error().message());
  }
  return node;
}

}  // namespace cassandra_like
