// Random writes at random replicas, read back: an answer is what all the writes come to, and the replicas that were asked are
// the same afterwards.
#include <random>

#include "replicated_read_fixture.h"

namespace cassandra_like::test {
namespace {

// A cluster whose replicas have each a part of the writes, and a node that has all of them.
class Divergence {
 public:
  Divergence(uint64_t seed, size_t fewest_nodes, unsigned shards = 1)
      : cluster(3, 3, shards), model_(1), random_(seed), fewest_nodes_(fewest_nodes) {
    const auto created = model_.change(0, make_keyspace({cluster.table("t")}));
    CHECK(created.ok());
  }

  uint64_t below(uint64_t n) { return random_() % n; }
  std::string key() { return std::string(1, static_cast<char>('a' + below(4))); }

  void write() {
    std::vector<size_t> nodes;
    while (nodes.size() < fewest_nodes_) {
      nodes.clear();
      for (size_t i = 0; i < 3; ++i) {
        if (below(2) == 0) nodes.push_back(i);
      }
    }
    const std::mt19937_64 state = random_;
    cluster.put(nodes, update());
    random_ = state;
    const Status written = model_.write(0, update());
    CHECK(written.ok());
  }

  // Any key or all, in any direction, with any limits, slices and conditions.
  ReadCommand any_read() {
    ReadCommand command = below(3) == 0 ? cluster.command({}) : cluster.command({kKeys[below(4)]});
    if (below(8) == 0) command = cluster.command({kKeys[below(2)], kKeys[2 + below(2)]});
    command.reversed = below(3) == 0;
    if (below(2) == 0) command.limits.rows = 1 + below(9);
    if (below(3) == 0) command.limits.per_partition = 1 + below(3);
    if (below(3) == 0) {
      const auto from = static_cast<int32_t>(below(8));
      command.slices = {slice(from, from + static_cast<int32_t>(below(6)))};
    }
    if (below(3) == 0) add_condition(command, "v", std::to_string(below(4)));
    if (below(6) == 0) add_condition(command, "w", std::to_string(below(3)));
    if (below(8) == 0) add_condition(command, "s", std::to_string(below(3)));
    return command;
  }

  Lines expected(ReadCommand command) { return model_.read(0, std::move(command)); }

  ReadCluster cluster;

 private:
  static constexpr const char* kKeys[] = {"a", "b", "c", "d"};

  Slice slice(int32_t from, int32_t to) {
    const std::string low = storage_test::int_bytes(from), high = storage_test::int_bytes(to);
    const BytesView first(low), last(high);
    Slice out = Slice::of_prefix(*cluster.table("t"), {&first, 1});
    out.end = Slice::of_prefix(*cluster.table("t"), {&last, 1}).end;
    return out;
  }

  void add_condition(ReadCommand& command, const std::string& column, const std::string& value) {
    FilterExpression condition;
    condition.column = command.table->column(column);
    condition.value = value;
    command.filter.push_back(std::move(condition));
  }

  Update update() {
    Update out = cluster.update(key());
    out.at(static_cast<int64_t>(1000 + below(60)));
    const auto c = static_cast<int32_t>(below(12));
    const std::string value = std::to_string(below(4));
    switch (below(15)) {
      case 0:
        out.static_row().cell("s", std::to_string(below(3)));
        break;
      case 1:
        out.row(c).tombstone("v");
        break;
      case 2:
        out.row(c).delete_row();
        break;
      case 3: {
        const bool from_inclusive = below(2) == 0, to_inclusive = below(2) == 0;
        out.delete_range(c, from_inclusive, c + static_cast<int32_t>(1 + below(5)), to_inclusive);
        break;
      }
      case 4:
        if (below(4) == 0) {
          out.delete_partition();
        } else {
          out.row(c).cell("w", value);
        }
        break;
      case 5:
        out.row(c).element("m", value, "e");
        break;
      case 6:
        out.row(c).clear("m");
        break;
      case 7:
        out.row(c).cell("v", value);
        break;
      case 8:
        if (below(2) == 0) {
          out.delete_from(c);
        } else {
          out.delete_up_to(c);
        }
        break;
      default:
        out.row(c).live().cell("v", value).cell("w", std::to_string(below(3)));
        break;
    }
    return out;
  }

  ReplicaNode model_;
  std::mt19937_64 random_;
  size_t fewest_nodes_;
};

std::string describe(const ReadCommand& command) {
  std::string out = command.range ? "range" : "";
  for (const DecoratedKey& key : command.keys) out += std::string(key.key) + " ";
  if (command.reversed) out += " reversed";
  if (command.limits.rows != DataLimits::kNone) out += " limit " + std::to_string(command.limits.rows);
  if (command.limits.per_partition != DataLimits::kNone) {
    out += " per partition " + std::to_string(command.limits.per_partition);
  }
  if (!command.slices.empty()) out += " sliced";
  for (const FilterExpression& e : command.filter) out += " " + e.column->name + "=" + e.value;
  return out;
}

class ReplicatedReadProperty : public ::testing::TestWithParam<int> {};

TEST_P(ReplicatedReadProperty, AtAllIsWhatAnyReplicaWasTold) {
  Divergence divergence(static_cast<uint64_t>(GetParam()), 1, GetParam() % 2 == 0 ? 1 : 2);
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < 12; ++i) divergence.write();
    for (int i = 0; i < 6; ++i) {
      const ReadCommand command = divergence.any_read();
      ASSERT_EQ(divergence.cluster.read(divergence.below(3), command, Consistency::kAll), divergence.expected(command))
          << "round " << round << " read " << i << ": " << describe(command);
    }
  }
}

TEST_P(ReplicatedReadProperty, AtAQuorumIsWhatAQuorumWasTold) {
  Divergence divergence(static_cast<uint64_t>(GetParam() + 1000), 2);
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < 12; ++i) divergence.write();
    for (int i = 0; i < 6; ++i) {
      const ReadCommand command = divergence.any_read();
      ASSERT_EQ(divergence.cluster.read(divergence.below(3), command, Consistency::kQuorum),
                divergence.expected(command))
          << "round " << round << " read " << i << ": " << describe(command);
    }
  }
}

TEST_P(ReplicatedReadProperty, MakesTheReplicasTheSame) {
  Divergence divergence(static_cast<uint64_t>(GetParam() + 2000), 1);
  ReadCluster& cluster = divergence.cluster;
  for (int i = 0; i < 60; ++i) divergence.write();
  const Lines all = divergence.expected(cluster.command({}));
  EXPECT_EQ(cluster.read(0, cluster.command({}), Consistency::kAll), all);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(cluster.scan(i, "t"), all) << i;
  // Their tombstones are the same, too.
  for (const char* key : {"a", "b", "c", "d"}) cluster.read(1, key, Consistency::kAll);
  EXPECT_EQ(cluster.node(1).coordinator().statistics().read_repairs_blocking, 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ReplicatedReadProperty, ::testing::Range(0, 12));

}  // namespace
}  // namespace cassandra_like::test
