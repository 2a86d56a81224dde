// A node with a table for the orders of operators: to write SSTables of it, and to look at them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "fixture.h"
#include "storage/compaction/strategy/options.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_version.h"

namespace cassandra_like::storage_test::upkeep_test {

inline constexpr int kGrace = 10;

inline TablePtr table_with_strategy(const std::string& strategy) {
  auto table = std::make_shared<TableMetadata>(*make_table("t"));
  table->params.gc_grace_seconds = kGrace;
  table->params.compaction = normal_compaction({{"class", strategy}}).value();
  return table;
}

class Upkeep {
 public:
  explicit Upkeep(unsigned shards = 1, uint64_t seed = 1, EngineOptions options = {},
                  const std::string& strategy = "SizeTieredCompactionStrategy")
      : node(seed, shards, with_policy(std::move(options)), {table_with_strategy(strategy), make_table("kv")}),
        t(node.table("t")) {
    node.machine().shift_wall_clock(std::chrono::seconds(kNow) -
                                    std::chrono::microseconds(node.runtime().shard(0).clock.wall_micros()));
  }
  static EngineOptions with_policy(EngineOptions options) {
    options.disk_failure_policy = FailurePolicy::kIgnore;
    options.commitlog_sync = CommitLogSync::kBatch;
    options.commitlog_segment_bytes = 8 << 10;
    return options;
  }

  Maintenance& maintenance(unsigned shard = 0) { return node.engine(shard).maintenance(); }
  // An SSTable of each shard with rows of these keys.
  void write(const std::vector<std::string>& keys, int64_t timestamp) {
    for (const std::string& key : keys) {
      Update rows(t, key);
      rows.at(timestamp).static_row().cell("s", "static");
      for (int c = 0; c < 3; ++c) rows.row(c).live().cell("v", "x").element("m", "k", "e");
      ASSERT_TRUE(node.apply(rows).ok());
    }
    flush();
  }
  void remove(const std::string& key, int64_t timestamp) {
    ASSERT_TRUE(node.apply(Update(t, key).at(timestamp).row(1).delete_row().row(2).tombstone("v").clear("m")).ok());
    ASSERT_TRUE(node.apply(Update(t, key).at(timestamp).delete_range(0, true, 1, false)).ok());
    flush();
  }
  void flush() {
    for (unsigned i = 0; i < node.runtime().shard_count(); ++i) {
      ASSERT_TRUE(node.run(maintenance(i).flush({"ks", "t"})).ok());
    }
  }
  // The segments that hold what was written until now are gone.
  void leave_segments() {
    for (int i = 0; i < 40; ++i) {
      Update filler(node.table("kv"), fmt::format("filler{}", i));
      ASSERT_TRUE(node.apply(filler.row(std::vector<int32_t>{}).cell("v1", std::string(400, 'x'))).ok());
    }
    for (unsigned i = 0; i < node.runtime().shard_count(); ++i) {
      ASSERT_TRUE(node.run(maintenance(i).flush({"ks", "kv"})).ok());
    }
  }
  std::vector<SSTableInfo> sstables(unsigned shard = 0) { return maintenance(shard).sstables(t->id); }
  std::vector<std::string> names(unsigned shard = 0) {
    std::vector<std::string> out;
    for (const SSTableInfo& info : sstables(shard)) out.push_back(info.descriptor.file(components::kData));
    std::sort(out.begin(), out.end());
    return out;
  }
  // By version and format, in order.
  std::vector<std::string> versions(unsigned shard = 0) {
    std::vector<std::string> out;
    for (const SSTableInfo& info : sstables(shard)) {
      out.push_back(info.descriptor.version + "-" + info.descriptor.format);
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  size_t files() { return find_sstables(node.disk(), "/data/ks/" + t->directory_name())->size(); }
  Lines rows() {
    Lines lines = node.scan("t");
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  Status compact(CompactionScope scope) { return node.run(maintenance().compact({"ks", "t"}, std::move(scope))); }
  Status rewrite(SSTableRewrite order = SSTableRewrite(), unsigned shard = 0) {
    return node.run(maintenance(shard).rewrite({"ks", "t"}, std::move(order)));
  }
  // The table has these options of compaction, too.
  void alter(const StringPairs& compaction) {
    auto altered = std::make_shared<TableMetadata>(*t);
    for (const auto& [option, value] : compaction) altered->params.compaction[option] = value;
    t = altered;
    node.set_tables({t, node.table("kv")});
  }
  void restart_with(const SSTableVersion& version) {
    node.options.sstable_version = &version;
    node.restart();
  }

  Node node;
  TablePtr t;
};

inline EngineOptions slowly() {
  EngineOptions options;
  options.compaction_throughput = 1000;
  return options;
}

// So many rows that slowly() has time to be seen at work. They are flushed.
inline void write_slow_rows(Upkeep& u) {
  for (int i = 0; i < 500; ++i) {
    Update row(u.t, fmt::format("key{}", i));
    std::string value;
    while (value.size() < 300) value += std::to_string(u.node.world().random().next());
    ASSERT_TRUE(u.node.apply(row.at(10).row(0).cell("v", value)).ok());
  }
  u.flush();
}

inline SSTableInfo with_max_timestamp(Upkeep& u, int64_t timestamp) {
  for (const SSTableInfo& info : u.sstables()) {
    if (info.max_timestamp == timestamp) return info;
  }
  ADD_FAILURE() << "no SSTable of " << timestamp;
  return {};
}

// All but one key.
inline SSTableRewrite cleanup_of(const std::vector<std::string>& keys) {
  std::vector<std::pair<Token, Token>> ranges;
  std::vector<Token> foreign;
  for (const std::string& key : keys) foreign.push_back(murmur3_token(key));
  std::sort(foreign.begin(), foreign.end());
  for (size_t i = 0; i < foreign.size(); ++i) {
    ranges.emplace_back(foreign[i], foreign[(i + 1) % foreign.size()] - 1);
  }
  SSTableRewrite order;
  order.operation = CompactionOperation::kCleanup;
  const OwnedTokens owned = OwnedTokens::of(ranges);
  order.owned = [owned](const TableMetadata&) { return owned; };
  return order;
}

}  // namespace cassandra_like::storage_test::upkeep_test
