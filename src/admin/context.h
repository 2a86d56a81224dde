// The context of every admin command: the parts of the node, the hooks to the parts above, and the shard it runs on.
//
// Commands run on one shard (HTTP: 0) and visit the others by hops. A hop that is posted before the node begins to
// destroy its parts arrives before they are gone, so whoever hops asks `stopped` first and gives up when it is set.
#pragma once

#include <functional>
#include <memory>

#include "admin/admin.h"

namespace cassandra_like {

struct AdminContext {
  AdminNode node;
  AdminHooks hooks;
  unsigned shard = 0;
  bool needs_login = false;  // every request needs a role's name and password
  bool stopped = false;      // the server is gone; only looked at on its shard

  ShardRuntime& runtime() const { return node.runtime->shard(shard); }
  Executor& here() const { return runtime().executor; }
  Replica& replica() const { return *node.replicas[shard]; }
  const SchemaPtr& schema() const { return replica().schema().current(); }
  const LocalNode& local() const { return replica().local_node(); }
  int64_t uptime_millis() const { return (runtime().clock.monotonic_nanos() - node.started_nanos) / 1'000'000; }
};
using AdminContextPtr = std::shared_ptr<AdminContext>;

// Hooks belong to shard 0. One that is not set answers with nothing.
template <class T>
Task<T> call_hook(AdminContextPtr context, std::function<Task<T>()> hook) {
  if (!hook) return Task<T>(T{});
  return run_on<T>(context->here(), context->node.runtime->shard(0).executor, [hook] { return hook(); });
}
template <class T>
Task<T> call_hook(AdminContextPtr context, std::function<T()> hook) {
  if (!hook) return Task<T>(T{});
  return run_on<T>(context->here(), context->node.runtime->shard(0).executor, [hook] { return Task<T>(hook()); });
}

}  // namespace cassandra_like
