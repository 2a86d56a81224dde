// A node of two shards in the simulated world, without transport, and the requests that nodetool would send to it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "admin/api.h"
#include "replica/sharded_replica.h"
#include "runtime/sim/sim_runtime.h"

namespace cassandra_like {

class AdminNodeTest : public testing::Test {
 protected:
  static constexpr char kHostId[] = "e703664e-18d4-4103-bbfa-2b6fb21f8cbd";

  AdminNodeTest() : AdminNodeTest(nullptr) {}
  // `complete` adds what a node has that is not alone.
  explicit AdminNodeTest(std::function<void(AdminNode&)> complete);
  ~AdminNodeTest() override;

  struct Reply {
    int status;
    admin::Json json;
  };
  Reply get(const std::string& path, const std::string& query = "") { return send("GET", path, query); }
  Reply post(const std::string& path, const std::string& query = "") { return send("POST", path, query); }
  Reply send(const std::string& method, const std::string& path, const std::string& query);
  HttpResponse send(HttpRequest request);

  // One of the node's own statements, on shard 0; it must succeed. Rows as text, null as "null".
  using Rows = std::vector<std::vector<std::string>>;
  Rows cql(const std::string& statement, unsigned shard = 0);
  // shop.orders with ten partitions of one row.
  void make_shop();

  template <class T>
  T run(unsigned shard, std::function<Task<T>()> make);
  void run_for(Duration time) { world_->run_for(time); }
  Runtime& runtime() { return *runtime_; }

  AdminContextPtr context_ = std::make_shared<AdminContext>();
  std::vector<std::string> calls_;  // of hooks that change something

 private:
  AdminHooks hooks();
  void make_parts(unsigned shard);

  std::unique_ptr<SimWorld> world_;
  SimMachine* machine_;
  Runtime* runtime_;
  std::unique_ptr<ShardedReplica> replicas_;
  std::vector<std::unique_ptr<Coordinator>> coordinators_;
  std::vector<std::unique_ptr<QueryProcessor>> processors_;
};

namespace admin_node_internal {
template <class T>
Task<void> keep(std::function<Task<T>()>* make, std::optional<T>* result) {
  Task<T> task = (*make)();
  result->emplace(co_await task);
}
}  // namespace admin_node_internal

template <class T>
T AdminNodeTest::run(unsigned shard, std::function<Task<T>()> make) {
  std::optional<T> result;
  runtime_->shard(shard).executor.post([&] { spawn(admin_node_internal::keep<T>(&make, &result)); });
  EXPECT_TRUE(world_->run_until([&] { return result.has_value(); }, std::chrono::seconds(60)));
  return std::move(*result);
}

}  // namespace cassandra_like
