#include "tests/simulation/simulated_node.h"

namespace cassandra_like {

SimulatedNode::SimulatedNode(Story& story, SimulatedNodeOptions options)
    : story_(story), options_(std::move(options)), machine_(story.world().add_machine(options_.address)) {}

SimulatedNode::~SimulatedNode() {
  machine_.shut_down();
  node_.reset();
}

Config SimulatedNode::make_config() const {
  std::string text = fmt::format(
      "cluster_name: simulation\ndata_file_directories: [{5}]\ncommitlog_directory: /commitlog\n"
      "hints_directory: /hints\nsaved_caches_directory: /caches\ncdc_raw_directory: /cdc\n"
      "listen_address: {0}\nrpc_address: {0}\nnum_tokens: 4\nauto_bootstrap: {4}\n"
      "seed_provider:\n  - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n"
      "    parameters:\n      - seeds: \"{1}\"\n"
      "commitlog_sync: {2}\ncommitlog_segment_size: 1MiB\n{3}",
      options_.address, options_.seeds, options_.commitlog_sync, options_.more, options_.auto_bootstrap,
      options_.two_data_directories ? "/data, /more" : "/data");
  if (options_.commitlog_sync == "periodic") text += "commitlog_sync_period: " + options_.sync_period + "\n";
  if (options_.commitlog_sync == "group") text += "commitlog_sync_group_window: 15ms\n";
  HostFacts host;
  host.cores = options_.shards;
  auto config = parse_config(text, "simulation", host);
  if (!config.ok()) fmt::print(stderr, "{}\n", config.error().message());
  CHECK(config.ok());
  config->shards = options_.shards;
  config->memtable_heap_space = config->memtable_offheap_space = options_.memtable_kib * 1024;
  config->autocompaction_on_startup_enabled = options_.automatic_compaction;
  return *config;
}

Task<void> SimulatedNode::start_task(SimulatedNode* self, Runtime* runtime) {
  ClusterNodeHooks hooks;
  hooks.serve_admin = false;
  hooks.serve_peers = true;
  hooks.on_stop_requested = [self](const Status& reason) {
    self->story_.say(
        fmt::format("node {} wants to stop: {}", self->address(), reason.ok() ? "asked" : reason.error().message()));
    self->wants_to_stop_ = true;
  };
  Task<Result<std::unique_ptr<ClusterNode>>> task = ClusterNode::start(runtime, self->make_config(), std::move(hooks));
  auto started = co_await task;
  if (started.ok()) {
    self->node_ = std::move(*started);
    self->state_ = State::kUp;
    self->story_.say(fmt::format("node {} is up", self->address()));
  } else {
    self->start_error_ = started.error().message();
    self->has_ended_ = true;
  }
}

void SimulatedNode::start() {
  CHECK(state_ == State::kDown);
  story_.say(fmt::format("start of node {}", address()));
  state_ = State::kStarting;
  ++life_;
  start_error_.clear();
  wants_to_stop_ = false;
  has_ended_ = false;
  runtime_ = &machine_.boot(options_.shards);
  runtime_->shard(0).executor.post([this] { spawn(start_task(this, runtime_)); });
}

Task<void> SimulatedNode::stop_task(SimulatedNode* self) {
  Task<Status> task = self->node_->stop();
  Status status = co_await task;
  if (!status.ok()) self->story_.say(fmt::format("node {} stops: {}", self->address(), status.error().message()));
  self->has_ended_ = true;
}

void SimulatedNode::stop() {
  CHECK(is_up());
  story_.say(fmt::format("clean stop of node {}", address()));
  state_ = State::kStopping;
  runtime_->shard(0).executor.post([this] { spawn(stop_task(this)); });
}

void SimulatedNode::end_life(const char* how) {
  story_.say(fmt::format("{} of node {}", how, address()));
  state_ = State::kDown;
  node_.reset();
  runtime_ = nullptr;
}

void SimulatedNode::kill() {
  if (state_ == State::kDown) return;
  machine_.kill();
  end_life("kill");
}

void SimulatedNode::cut_power() {
  if (state_ == State::kDown) return;
  machine_.crash();
  ++power_cuts_;
  end_life("power cut");
}

void SimulatedNode::tend() {
  if (!has_ended_) return;
  has_ended_ = false;
  machine_.shut_down();
  end_life(start_error_.empty() ? "end" : ("failed start: " + start_error_ + ":").c_str());
}

}  // namespace cassandra_like
