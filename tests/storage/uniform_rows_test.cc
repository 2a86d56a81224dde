// Plain rows, which only have values, beside the rows that they stand for.
#include <fmt/format.h>

#include "fixture.h"
#include "model/values.h"

namespace cassandra_like::storage_test {
namespace {

// Writes down values alone.
class ValuesSink : public RowSink {
 public:
  ValuesSink(const TableMetadata& table, bool takes_uniform_rows)
      : table_(table), takes_plain_rows_(takes_uniform_rows) {}
  Next begin_partition(const DecoratedKey& key, const Row&) override {
    lines.emplace_back(key.key);
    return Next::kContinue;
  }
  bool takes_uniform_rows() const override { return takes_plain_rows_; }
  Next row(const Row& row) override {
    std::vector<BytesView> values;
    auto cell = row.cells.begin();
    for (const ColumnPtr& column : table_.regular_columns) {
      const bool has_it = cell != row.cells.end() && cell->column == column.get();
      values.push_back(has_it ? (cell++)->value : kNull);
    }
    return add(row.clustering.values, values);
  }
  Next uniform_row(const UniformRow& row) override {
    ++plain_rows;
    return add(row.clustering.values, row.values);
  }
  Lines lines;
  int plain_rows = 0;

 private:
  Next add(std::span<const BytesView> clustering, std::span<const BytesView> values) {
    std::string line = " ";
    for (BytesView value : clustering) line += fmt::format(" {}", decode_int(value));
    for (BytesView value : values) line += is_null(value) ? " null" : fmt::format(" '{}'", value);
    lines.push_back(line);
    return Next::kContinue;
  }

  const TableMetadata& table_;
  const bool takes_plain_rows_;
};

// Inserts with an end, without one, and with one for a part of the row; updates, which leave no row marker.
void write_rows(Node& node) {
  Random& random = node.world().random();
  auto table = node.table("d");
  for (int32_t i = 0; i < 400; ++i) {
    Update update(table, "k");
    update.at(1 + i % 3).row(std::vector<int32_t>{i % 40, i / 40});
    const int32_t ttl = static_cast<int32_t>(random.below(3));
    const int64_t expires = ttl == kNoTtl ? kNoDeletionTime : kNow + ttl;
    const bool has_row_ttl = random.below(10) != 0;
    if (random.below(10) != 0) update.live(has_row_ttl ? ttl : kNoTtl, has_row_ttl ? expires : kNoDeletionTime);
    update.cell("v", std::string(random.below(20), 'v'), ttl, expires);
    ASSERT_TRUE(node.apply(update).ok());
  }
}

Lines read(Node& node, int64_t now_seconds, bool takes_uniform_rows, int* plain_rows) {
  ReadCommand command = node.command("d");
  command.keys = {DecoratedKey::of("k")};
  command.now_seconds = now_seconds;
  ValuesSink sink(*command.table, takes_uniform_rows);
  EXPECT_TRUE(node.run(node.engine().read(command, sink)).ok());
  *plain_rows = sink.plain_rows;
  return sink.lines;
}

TEST(PlainRows, AreTheRowsThatLive) {
  Node node;
  write_rows(node);
  for (const char* source : {"memtable", "SSTable"}) {
    size_t living = 500;
    for (int64_t now = kNow; now <= kNow + 2; ++now) {
      int none = 0, plain = 0;
      const Lines rows = read(node, now, false, &none);
      EXPECT_EQ(read(node, now, true, &plain), rows) << source << " at " << now - kNow;
      EXPECT_EQ(none, 0);
      EXPECT_GT(plain, 100) << source;
      EXPECT_LT(rows.size(), living) << source;  // some end each second
      living = rows.size();
    }
    node.flush();
  }
}

}  // namespace
}  // namespace cassandra_like::storage_test
