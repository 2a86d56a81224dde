#include "tests/messaging/read_oracle.h"

#include <fstream>
#include <sstream>

#include "base/result.h"

namespace cassandra_like::messaging_test {

namespace {

TablePtr parse_table(const std::string& text) {
  std::istringstream lines(text);
  std::string name, id;
  int gc_grace = 0;
  bool is_counter = false;
  lines >> name >> id >> gc_grace >> is_counter;
  std::vector<ColumnPtr> key, clustering, others;
  std::string column, type;
  for (int kind = 0, position = 0; lines >> column >> kind >> position && std::getline(lines >> std::ws, type);) {
    // The order of Cassandra's ColumnMetadata.Kind.
    static constexpr ColumnKind kKinds[] = {ColumnKind::kPartitionKey, ColumnKind::kClustering, ColumnKind::kRegular,
                                            ColumnKind::kStatic};
    auto parsed = types::parse_class(type);
    CHECK(parsed.ok());
    auto made = std::make_shared<Column>(Column{column, *parsed, kKinds[kind], position, {}});
    auto& of_kind = made->kind == ColumnKind::kPartitionKey ? key
                    : made->kind == ColumnKind::kClustering ? clustering
                                                            : others;
    if (made->is_primary_key()) of_kind.resize(std::max(of_kind.size(), static_cast<size_t>(position) + 1));
    if (made->is_primary_key()) {
      of_kind[static_cast<size_t>(position)] = made;
    } else {
      of_kind.push_back(made);
    }
  }
  const auto uuid = Uuid::parse(id);
  CHECK(uuid.has_value());
  auto table = std::make_shared<TableMetadata>("ks", name, *uuid, key, clustering, others);
  table->flags.counter = is_counter;
  table->params.gc_grace_seconds = gc_grace;
  return table;
}

OracleData read_file() {
  OracleData out;
  std::ifstream file(std::string(SOURCE_DIR) + "/tests/read/data/reads.bin", std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  const Bytes bytes = content.str();
  CHECK(!bytes.empty());
  Reader in(bytes);
  while (!in.at_end()) {
    const char type = static_cast<char>(in.u8());
    Reader record(in.take(in.u32()));
    if (type == 'T') out.tables.push_back(parse_table(Bytes(record.rest())));
    if (type == 'M') out.mutations.push_back(Bytes(record.rest()));
    if (type != 'C') continue;
    OracleRead read;
    read.command = Bytes(record.take(record.u16()));
    read.digest = Bytes(record.take(16));
    read.partitions = Bytes(record.rest());
    out.reads.push_back(std::move(read));
  }
  CHECK(!in.failed());
  return out;
}

}  // namespace

TablePtr OracleData::table(const Uuid& id) const {
  for (const TablePtr& table : tables) {
    if (table->id == id) return table;
  }
  return nullptr;
}

const OracleData& oracle_data() {
  static const OracleData data = read_file();
  return data;
}

}  // namespace cassandra_like::messaging_test
