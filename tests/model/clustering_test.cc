// The byte-comparable form of clusterings and bounds is Cassandra 5.0.9's, and can be taken apart again.
#include "model/clustering.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model_testing.h"

namespace cassandra_like {
namespace {

using namespace model_testing;

TablePtr int_and_text(bool reversed) {
  auto column = [&](const char* name, TypePtr type, int position) {
    if (reversed) type = types::reversed(type);
    return std::make_shared<Column>(Column{name, type, ColumnKind::kClustering, position, ""});
  };
  auto key = std::make_shared<Column>(Column{"k", types::int_(), ColumnKind::kPartitionKey, 0, ""});
  return std::make_shared<TableMetadata>(
      "k", "t", Uuid{}, std::vector<ColumnPtr>{key},
      std::vector<ColumnPtr>{column("a", types::int_(), 0), column("b", types::text(), 1)}, std::vector<ColumnPtr>{});
}

// "reversed 00000005 null": the table, then the values.
std::vector<BytesView> parse_values(const std::string& name, Arena& arena) {
  std::vector<BytesView> values;
  std::istringstream in(name);
  std::string word;
  std::getline(in, word, ' ');
  while (std::getline(in, word, ' ')) values.push_back(unhex_or_null(word, arena));
  if (name.ends_with(' ')) values.push_back(BytesView("", 0));
  return values;
}

TEST(ClusteringTest, ComparableForms) {
  for (const OracleCase& c : oracle("comparable")) {
    TablePtr table = int_and_text(c.name.starts_with("reversed"));
    Arena arena;
    std::vector<BytesView> values = parse_values(c.name, arena);
    for (size_t kind = 0; kind < c.results.size(); ++kind) {
      if (c.results[kind] == "null") continue;
      Bytes out;
      append_comparable(out, *table, values, static_cast<ClusteringKind>(kind));
      EXPECT_EQ(to_hex(out), c.results[kind]) << c.name << ", kind " << kind;
    }
  }
}

TEST(ClusteringTest, ComparableFormsCanBeTakenApart) {
  for (const OracleCase& c : oracle("comparable")) {
    TablePtr table = int_and_text(c.name.starts_with("reversed"));
    Arena arena;
    std::vector<BytesView> values = parse_values(c.name, arena);
    for (const std::string& hex : c.results) {
      if (hex == "null") continue;
      Bytes comparable = unhex(hex);
      ClusteringPrefix out;
      ASSERT_TRUE(split_comparable(*table, comparable, arena, &out)) << hex;
      EXPECT_THAT(out.values, testing::ElementsAreArray(values));
      for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(is_null(out.values[i]), is_null(values[i]));
      EXPECT_EQ(out.comparable, comparable);
    }
  }
}

TEST(ClusteringTest, RefusesMalformedComparableForms) {
  TablePtr table = int_and_text(false);
  for (const char* hex : {"", "40", "4080000005", "408000000538", "40800000054061620038ff", "77", "18ff",
                          "40800000054061620040800000053e38", "408000000518"}) {
    Arena arena;
    ClusteringPrefix out;
    EXPECT_FALSE(split_comparable(*table, unhex(hex), arena, &out)) << hex;
  }
}

TEST(ClusteringTest, SlicesOfPrefixesHoldAllRowsThatStartWithThem) {
  Bytes one = encode_int(1), two = encode_int(2);
  auto position = [&](int a, std::string_view b) {
    RowBuilder builder = wide_row(a, b);
    return Bytes(builder.build().clustering.comparable);
  };
  Slice ones = Slice::of_prefix(*wide_table(), std::vector<BytesView>{one});
  EXPECT_TRUE(ones.contains(position(1, "")));
  EXPECT_TRUE(ones.contains(position(1, "zzz")));
  EXPECT_FALSE(ones.contains(position(0, "b")));
  EXPECT_FALSE(ones.contains(position(2, "b")));
  Slice row = Slice::of_prefix(*wide_table(), std::vector<BytesView>{two, "b"});
  EXPECT_TRUE(row.contains(position(2, "b")));
  EXPECT_FALSE(row.contains(position(2, "ba")));
  EXPECT_FALSE(row.contains(position(2, "a")));
  EXPECT_TRUE(Slice::all().contains(position(2, "a")));
}

TEST(ClusteringTest, TablesWithoutClusteringColumnsHaveOneRow) {
  Arena arena;
  ClusteringPrefix only = make_clustering(*plain_table(), {}, ClusteringKind::kClustering, arena);
  EXPECT_EQ(to_hex(only.comparable), "38");
  EXPECT_EQ(to_hex(static_clustering().comparable), "18");
  EXPECT_TRUE(Slice::of_prefix(*plain_table(), {}).contains(only.comparable));
  EXPECT_EQ(arena.reserved(), 0u);
}

}  // namespace
}  // namespace cassandra_like
