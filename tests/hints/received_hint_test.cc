// Hints as they come: which of their tables are still to be written to.
#include "hints/received_hint.h"

#include <map>

#include "gmock/gmock.h"
#include "tests/sstable/fixture/schema_file.h"

namespace cassandra_like::hints_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kCreated = 1'700'000'000'000;

TablePtr table(char digit, const std::string& name) {
  std::string id = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  std::ranges::replace(id, 'x', digit);
  return test::parse_schema("table\tks\t" + name + "\t" + id +
                            "\ncolumn\tpartition_key\t0\tnone\tk\ttext\ncolumn\tregular\t-1\tnone\tv\ttext\n");
}

// A mutation of the tables a and b, both with the key "k".
class ReceivedHintTest : public testing::Test {
 protected:
  Bytes body() const {
    const Row row{.liveness = {.timestamp = 7}};
    DecoratedKey key = DecoratedKey::of("k");
    std::vector<PartitionUpdate> updates;
    for (const TablePtr& t : tables) {
      updates.push_back({.table = t.get(), .key = key, .rows = std::span(&row, 1)});
    }
    Bytes mutation;
    serialize(Mutation{.keyspace = "ks", .key = key, .updates = updates}, mutation);
    Bytes out;
    append_hint_message(out, {host, kCreated, gc_grace, mutation});
    return out;
  }

  // The tables' names, of what is to be applied.
  std::vector<std::string> received(int64_t now) {
    const TableById find = [this](const Uuid& id) -> const TableMetadata* {
      for (const TablePtr& t : known) {
        if (t->id == id) return t.get();
      }
      return nullptr;
    };
    auto truncated_at = [this](const Uuid& id) { return truncated.contains(id) ? truncated.at(id) : INT64_MIN; };
    Arena arena;
    const Bytes bytes = body();
    auto hint = read_received_hint(bytes, find, truncated_at, now, arena);
    EXPECT_TRUE(hint.ok());
    EXPECT_EQ(hint->host_id, host);
    EXPECT_EQ(hint->created_millis, kCreated);
    EXPECT_EQ(hint->gc_grace_seconds, gc_grace);
    EXPECT_TRUE(bytes.ends_with(hint->serialized));
    std::vector<std::string> names;
    for (const PartitionUpdate& update : hint->mutation.updates) {
      names.push_back(update.table->name);
      EXPECT_EQ(update.key.key, "k");
      EXPECT_EQ(update.rows.size(), 1u);
    }
    return names;
  }

  const Uuid host = *Uuid::parse("a1b2c3d4-e5f6-4708-890a-0b0c0d0e0fff");
  const TablePtr a = table('1', "a");
  const TablePtr b = table('2', "b");
  std::vector<TablePtr> tables{a, b};
  std::vector<TablePtr> known{a, b};
  std::map<Uuid, int64_t> truncated;
  int32_t gc_grace = 864'000;
};

TEST_F(ReceivedHintTest, IsAppliedToAllItsTables) { EXPECT_THAT(received(kCreated + 1000), ElementsAre("a", "b")); }

TEST_F(ReceivedHintTest, LeavesOutTablesThatWereTruncatedSince) {
  truncated[a->id] = kCreated - 1;
  EXPECT_THAT(received(kCreated + 1000), ElementsAre("a", "b"));
  truncated[a->id] = kCreated;
  EXPECT_THAT(received(kCreated + 1000), ElementsAre("b"));
  truncated[b->id] = kCreated + 5;
  EXPECT_THAT(received(kCreated + 1000), IsEmpty());
}

// Cassandra cannot decode such a mutation, and leaves all of it out.
TEST_F(ReceivedHintTest, WithADroppedTableIsNothing) {
  known = {b};
  EXPECT_THAT(received(kCreated + 1000), IsEmpty());
}

TEST_F(ReceivedHintTest, IsNothingWhenItIsOlderThanTheSmallestGcGrace) {
  const int64_t ten_days = 864'000'000;
  EXPECT_THAT(received(kCreated + ten_days - 1), ElementsAre("a", "b"));
  EXPECT_THAT(received(kCreated + ten_days), IsEmpty());
  gc_grace = 60;
  EXPECT_THAT(received(kCreated + 59'999), ElementsAre("a", "b"));
  EXPECT_THAT(received(kCreated + 60'000), IsEmpty());
  // The table's may have been lowered since.
  gc_grace = 864'000;
  auto impatient = std::make_shared<TableMetadata>(*b);
  impatient->params.gc_grace_seconds = 10;
  known = {a, impatient};
  EXPECT_THAT(received(kCreated + 9'999), ElementsAre("a", "b"));
  EXPECT_THAT(received(kCreated + 10'000), IsEmpty());
}

TEST_F(ReceivedHintTest, CutIsAnError) {
  const Bytes whole = body();
  const TableById find = [this](const Uuid& id) { return id == a->id ? a.get() : b.get(); };
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    Arena arena;
    auto hint = read_received_hint(
        BytesView(whole).substr(0, cut), find, [](const Uuid&) { return INT64_MIN; }, 0, arena);
    ASSERT_FALSE(hint.ok()) << cut;
    EXPECT_EQ(hint.error().code(), ErrorCode::kCorruption);
  }
}

}  // namespace
}  // namespace cassandra_like::hints_test
