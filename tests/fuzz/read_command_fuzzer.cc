// Bodies of READ_REQ and RANGE_REQ, in either messaging version: refused, or a command whose own bytes say the same.
//
//   input := version:u8 body
#include "messaging/read_command_codec.h"
#include "tests/fuzz/fuzz_target.h"

namespace cassandra_like {
namespace {

ColumnPtr make_column(std::string name, TypePtr type, ColumnKind kind, int position = -1) {
  return std::make_shared<Column>(Column{std::move(name), std::move(type), kind, position, {}});
}

// A column of each kind that a command treats in its own way.
TablePtr make_table() {
  const TypePtr text = types::text(), number = types::int_();
  std::vector<ColumnPtr> key{make_column("k", text, ColumnKind::kPartitionKey, 0)};
  std::vector<ColumnPtr> clustering{make_column("a", number, ColumnKind::kClustering, 0),
                                    make_column("b", types::reversed(text), ColumnKind::kClustering, 1)};
  std::vector<ColumnPtr> others{make_column("s", number, ColumnKind::kStatic),
                                make_column("sm", types::map(text, number, true), ColumnKind::kStatic),
                                make_column("v", number, ColumnKind::kRegular),
                                make_column("t", text, ColumnKind::kRegular),
                                make_column("m", types::map(text, number, true), ColumnKind::kRegular),
                                make_column("st", types::set(text, true), ColumnKind::kRegular)};
  const Uuid id = *Uuid::parse("11111111-1111-1111-1111-111111111111");
  return std::make_shared<TableMetadata>("ks", "t", id, key, clustering, others);
}

}  // namespace

FUZZ_TARGET(read_command) {
  static const TablePtr table = make_table();
  if (input.empty()) return;
  const int version = (input[0] & 1) != 0 ? kMessagingVersion50 : kMessagingVersion40;
  const FindTable find = [](const Uuid& id) { return id == table->id ? table : nullptr; };
  auto decoded = decode_read_request(input.substr(1), version, find);
  if (!decoded.ok()) return CHECK(!decoded.error().message().empty());
  Bytes first, second;
  encode_read_request((*decoded)->request, version, first);
  auto again = decode_read_request(first, version, find);
  CHECK(again.ok());
  encode_read_request((*again)->request, version, second);
  CHECK(first == second);
}

}  // namespace cassandra_like
