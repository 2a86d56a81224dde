#include "tests/schema/recorded_schema.h"

#include <fstream>
#include <sstream>

#include "schema/internal_table.h"

namespace cassandra_like::test {
namespace {

Bytes unhex(const std::string& text) {
  if (text == "-") return "";
  Bytes out;
  for (size_t i = 0; i < text.size(); i += 2)
    out.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return out;
}

}  // namespace

RecordedSchema RecordedSchema::read(const std::string& name) {
  std::ifstream in(SOURCE_DIR "/tests/schema/data/" + name + ".txt");
  CHECK(in.good());
  RecordedSchema recorded;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string kind, first, second, word;
    words >> kind >> first;
    if (kind == "version") {
      auto version = Uuid::parse(first);
      CHECK(version.has_value());
      recorded.version = *version;
    } else if (kind == "row") {
      words >> second;
      Row& row = recorded.rows.emplace_back(Row{first, unhex(second), {}, {}});
      while (words >> word) row.clustering.push_back(unhex(word));
    } else {
      words >> second >> word;
      recorded.rows.back().cells.push_back({first, std::stoll(second), unhex(word)});
    }
  }
  return recorded;
}

std::vector<Bytes> RecordedSchema::mutations(const Schema& schema) const {
  std::vector<Bytes> mutations;
  for (const Row& row : rows) {
    Arena arena;
    TablePtr table = schema.table("system_schema", row.table);
    UpdateBuilder builder(table, {row.keyspace}, row.cells.at(0).timestamp, arena);
    builder.row(row.clustering);
    for (const Cell& cell : row.cells) {
      CHECK(cell.timestamp == row.cells[0].timestamp);
      builder.set(cell.column, cell.value);
    }
    PartitionUpdate update = builder.build();
    serialize(Mutation{"system_schema", update.key, {&update, 1}}, mutations.emplace_back());
  }
  return mutations;
}

SystemKeyspaceOptions latest_options() {
  return {{{"class", "org.apache.cassandra.db.compaction.UnifiedCompactionStrategy"},
           {"max_sstables_to_compact", "64"},
           {"min_sstable_size", "100MiB"},
           {"scaling_parameters", "T4"},
           {"sstable_growth", "0.3333333333333333"},
           {"target_sstable_size", "1GiB"}},
          1};
}

}  // namespace cassandra_like::test
