#include "messaging/read_command_codec.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/vint.h"
#include "messaging/wire_clustering.h"

namespace cassandra_like {

namespace {

constexpr uint8_t kSinglePartition = 0, kPartitionRange = 1;
// flags
constexpr uint8_t kIsDigest = 0x01, kIsForThrift = 0x02, kHasIndex = 0x04, kAcceptsTransient = 0x08,
                  kNeedsReconciliation = 0x10;
// columns
constexpr uint8_t kFetchAllRegulars = 0x01, kHasQueried = 0x02, kHasSubselections = 0x04, kFetchAllStatics = 0x08;
// filter
constexpr uint8_t kSimple = 0, kMapEquality = 1, kCustom = 3, kUser = 4;
// clusterings
constexpr uint8_t kSlices = 0, kNames = 1;
// position
constexpr uint8_t kRowKey = 0, kMinBound = 1, kMaxBound = 2;
// bounds of a range
constexpr uint8_t kStartInclusive = 0x02, kEndInclusive = 0x04;

constexpr size_t kMinSliceSize = 2 * 3;

Error corrupt(std::string_view what) {
  return Error(ErrorCode::kCorruption, fmt::format("Corrupt read command: {}", what));
}

uint32_t read_count(Reader& in) {
  const uint64_t v = read_unsigned_vint(in);
  if (v > std::numeric_limits<int32_t>::max()) in.fail();
  return in.failed() ? 0 : static_cast<uint32_t>(v);
}
bool read_bool(Reader& in) { return in.u8() != 0; }
Bytes read_short_bytes(Reader& in) { return Bytes(in.take(in.u16())); }
Bytes read_vint_bytes(Reader& in) { return Bytes(in.take(read_unsigned_vint(in))); }

void append_count(Bytes& out, uint32_t v) { append_unsigned_vint(out, v); }
void append_bool(Bytes& out, bool v) { out.push_back(v ? 1 : 0); }
void append_short_bytes(Bytes& out, BytesView v) {
  append_be(out, static_cast<uint16_t>(v.size()));
  out.append(v);
}
void append_vint_bytes(Bytes& out, BytesView v) {
  append_unsigned_vint(out, v.size());
  out.append(v);
}

class CommandReader {
 public:
  CommandReader(BytesView body, int version, const FindTable& find_table)
      : in_(body), version_(version), find_table_(find_table), out_(std::make_unique<ReceivedReadRequest>()) {}

  Result<std::unique_ptr<ReceivedReadRequest>> read() {
    TRY(read_head());
    TRY(read_columns());
    TRY(read_filter());
    TRY(read_limits());
    if (has_index_) read_index();
    TRY(kind_ == kSinglePartition ? read_partition() : read_range());
    if (in_.failed() || !in_.at_end()) return corrupt("it ends elsewhere than its fields do");
    return std::move(out_);
  }

 private:
  ReadRequest& request() { return out_->request; }
  ReadCommand& command() { return out_->request.command; }
  const TableMetadata& table() { return *command().table; }

  Status read_head();
  Status read_columns();
  Status read_names(ColumnFilter::Columns& out, ColumnKind kind);
  Status read_subselections();
  // A column of this table, also one that it has dropped.
  Result<const Column*> find_column(BytesView name);
  Status read_filter();
  Status read_expression();
  Status read_limits();
  Status read_group_by(GroupBy& out);
  void read_index();
  Status read_partition();
  Status read_range();
  RingPosition read_position(Bytes& key);
  Status read_clusterings();
  Status read_slices();
  Status read_rows();

  Reader in_;
  int version_;
  const FindTable& find_table_;
  std::unique_ptr<ReceivedReadRequest> out_;
  uint8_t kind_ = 0;
  bool has_index_ = false;
};

Status CommandReader::read_head() {
  kind_ = in_.u8();
  const uint8_t flags = in_.u8();
  if (kind_ > kPartitionRange || (flags & kIsForThrift) != 0) return corrupt("kind and flags");
  request().is_digest = (flags & kIsDigest) != 0;
  request().accepts_transient = (flags & kAcceptsTransient) != 0;
  request().needs_reconciliation = (flags & kNeedsReconciliation) != 0;
  has_index_ = (flags & kHasIndex) != 0;
  if (request().is_digest) request().digest_version = read_count(in_);
  const BytesView id_bytes = in_.take(16);
  const uint32_t now = in_.u32();
  if (in_.failed()) return corrupt("table and time");
  const Uuid id = Uuid::from_bytes(id_bytes);
  command().table = find_table_(id);
  // schema.UnknownTableException
  if (command().table == nullptr) return invalid(fmt::format("Couldn't find table with id {}", id.to_string()));
  command().now_seconds = version_ >= kMessagingVersion50 ? int64_t{now} : int64_t{static_cast<int32_t>(now)};
  return {};
}

Result<const Column*> CommandReader::find_column(BytesView name) {
  if (const Column* found = table().column(name); found != nullptr) return found;
  const auto dropped = table().dropped_columns.find(std::string(name));
  if (dropped != table().dropped_columns.end()) return dropped->second.column.get();
  return invalid(fmt::format("Unknown column {} in table {} during deserialization", name, table().qualified_name()));
}

Status CommandReader::read_names(ColumnFilter::Columns& out, ColumnKind kind) {
  const uint32_t count = read_count(in_);
  if (count > in_.remaining()) return corrupt("count of columns");
  out.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const BytesView name = in_.take(read_unsigned_vint(in_));
    if (in_.failed()) return corrupt("names of columns");
    ASSIGN_OR_RETURN(const Column* column, find_column(name));
    const bool in_order = out.empty() || compare_columns(out.back(), column) < 0;
    if (column->kind != kind || !in_order) return corrupt("order of columns");
    out.push_back(column);
  }
  return {};
}

Status CommandReader::read_columns() {
  ColumnFilter& columns = request().columns;
  const uint8_t flags = in_.u8();
  const bool fetches_all_regulars = (flags & kFetchAllRegulars) != 0;
  columns.is_wildcard = (flags & kHasQueried) == 0;
  columns.has_subselections = (flags & kHasSubselections) != 0;
  if (columns.is_wildcard && (!fetches_all_regulars || columns.has_subselections)) return corrupt("columns");
  using Fetching = ColumnFilter::Fetching;
  columns.fetching = !fetches_all_regulars                                    ? Fetching::kOnlyQueried
                     : columns.is_wildcard || (flags & kFetchAllStatics) != 0 ? Fetching::kAllColumns
                                                                              : Fetching::kAllRegularsAndQueriedStatics;
  if (fetches_all_regulars) {
    TRY(read_names(columns.fetched_statics, ColumnKind::kStatic));
    TRY(read_names(columns.fetched_regulars, ColumnKind::kRegular));
  }
  if (!columns.is_wildcard) {
    TRY(read_names(columns.queried_statics, ColumnKind::kStatic));
    TRY(read_names(columns.queried_regulars, ColumnKind::kRegular));
  }
  if (!fetches_all_regulars) {
    columns.fetched_statics = columns.queried_statics;
    columns.fetched_regulars = columns.queried_regulars;
  }
  return columns.has_subselections ? read_subselections() : Status();
}

Status CommandReader::read_subselections() {
  const uint32_t count = read_count(in_);
  if (count > in_.remaining()) return corrupt("count of subselections");
  for (uint32_t i = 0; i < count; ++i) {
    ColumnSubselection part;
    const BytesView name = in_.take(in_.u16());
    if (in_.failed()) return corrupt("subselections");
    ASSIGN_OR_RETURN(part.column, find_column(name));
    const uint8_t kind = in_.u8();
    part.is_slice = kind == 0;
    part.from = read_vint_bytes(in_);
    if (part.is_slice) part.to = read_vint_bytes(in_);
    if (in_.failed() || kind > 1 || !part.column->is_complex()) return corrupt("subselections");
    request().columns.subselections.push_back(std::move(part));
  }
  return {};
}

Status CommandReader::read_filter() {
  in_.u8();  // once: for thrift
  const uint32_t count = read_count(in_);
  if (count > in_.remaining()) return corrupt("count of conditions");
  for (uint32_t i = 0; i < count; ++i) TRY(read_expression());
  return {};
}

bool is_operator(int32_t v) { return v >= 0 && v <= static_cast<int32_t>(Operator::kAnn); }

// Whether a row can be compared so: Cassandra asserts it.
bool is_applicable(const FilterExpression& e) {
  const Type& type = e.column->type->base();
  if (e.is_map_entry) return type.kind() == TypeKind::kMap && e.op == Operator::kEq;
  switch (e.op) {
    case Operator::kContains:
      return type.is_collection();
    case Operator::kContainsKey:
      return type.kind() == TypeKind::kMap;
    case Operator::kEq:
    case Operator::kLt:
    case Operator::kLte:
    case Operator::kGte:
    case Operator::kGt:
    case Operator::kIn:
      return !e.column->is_complex();
    default:
      return false;
  }
}

Status CommandReader::read_expression() {
  const uint8_t kind = in_.u8();
  if (kind == kCustom || kind == kUser) {
    return invalid(
        fmt::format("A read of {} has a condition of a custom index, which is not served", table().qualified_name()));
  }
  if (kind > kMapEquality) return corrupt("kind of a condition");
  FilterExpression e;
  const BytesView name = in_.take(in_.u16());
  const int32_t op = in_.i32();
  if (in_.failed() || !is_operator(op)) return corrupt("conditions");
  e.column = table().column(name);
  if (e.column == nullptr) {
    return invalid(fmt::format("Unknown (or dropped) column {} during deserialization", name));
  }
  e.op = static_cast<Operator>(op);
  e.is_map_entry = kind == kMapEquality;
  if (e.is_map_entry) e.map_key = read_short_bytes(in_);
  e.value = read_short_bytes(in_);
  if (in_.failed()) return corrupt("conditions");
  if (!is_applicable(e)) {
    return invalid(fmt::format("A read of {} has a condition on {} that is not served (operator {})",
                               table().qualified_name(), name, op));
  }
  command().filter.push_back(std::move(e));
  return {};
}

Status CommandReader::read_limits() {
  WireLimits& limits = request().limits;
  const uint8_t kind = in_.u8();
  limits.kind = static_cast<WireLimits::Kind>(kind);
  if (kind == 0 || kind == 1) {
    limits.rows = read_count(in_);
    limits.rows_per_partition = read_count(in_);
    limits.is_distinct = read_bool(in_);
  } else if (kind == 4 || kind == 5) {
    limits.groups = read_count(in_);
    limits.groups_per_partition = read_count(in_);
    limits.rows = read_count(in_);
    TRY(read_group_by(limits.group_by));
  } else {
    return corrupt("kind of limits");
  }
  if (limits.is_paging()) {
    limits.last_key = read_vint_bytes(in_);
    limits.last_key_remaining = read_count(in_);
    const uint32_t all = limits.is_grouped() ? limits.groups_per_partition : limits.rows_per_partition;
    if (limits.last_key_remaining > all) return corrupt("limits");
  }
  return in_.failed() ? Status(corrupt("limits")) : Status();
}

Status CommandReader::read_group_by(GroupBy& out) {
  const uint8_t kind = in_.u8();
  if (kind == 2) {
    return invalid(
        fmt::format("A read of {} groups rows by a function, which is not served", table().qualified_name()));
  }
  out.kind = static_cast<GroupBy::Kind>(kind);
  if (out.kind == GroupBy::Kind::kPrefix) out.prefix = read_count(in_);
  if (kind > 2 || out.prefix > table().clustering.size()) return corrupt("groups");
  if (!read_bool(in_)) return {};
  out.last_key = read_vint_bytes(in_);
  if (read_bool(in_)) out.last_clustering = read_clustering(in_, table());
  return {};
}

void CommandReader::read_index() {
  const BytesView id_bytes = in_.take(16);
  if (in_.failed()) return;
  const Uuid id = Uuid::from_bytes(id_bytes);
  for (const auto& [name, index] : table().indexes) {
    if (index.id == id) request().index = id;
  }
}

Status CommandReader::read_partition() {
  const int fixed = table().partition_key_type()->fixed_length();
  out_->key = Bytes(in_.take(fixed >= 0 ? static_cast<size_t>(fixed) : read_unsigned_vint(in_)));
  if (in_.failed()) return corrupt("partition key");
  command().keys = {DecoratedKey::of(out_->key)};
  return read_clusterings();
}

RingPosition CommandReader::read_position(Bytes& key) {
  const uint8_t kind = in_.u8();
  if (kind == kRowKey) {
    key = read_short_bytes(in_);
    return RingPosition::at(DecoratedKey::of(key));
  }
  const uint32_t size = in_.u32();
  if (kind > kMaxBound || size != sizeof(Token)) in_.fail();
  const Token token = in_.i64();
  return kind == kMinBound ? RingPosition::before(token) : RingPosition::after(token);
}

Status CommandReader::read_range() {
  const uint8_t flags = in_.u8();
  Bytes start_key, end_key;
  KeyRange range;
  range.start_inclusive = (flags & kStartInclusive) != 0;
  range.end_inclusive = (flags & kEndInclusive) != 0;
  range.start = read_position(start_key);
  range.end = read_position(end_key);
  if (in_.failed()) return corrupt("range of the ring");
  if (range.end.compare(RingPosition::minimum()) == 0) range.end = RingPosition::maximum();
  if (range.end.compare(range.start) < 0) return invalid("A read command's range wraps around the ring");
  command().range = std::move(range);
  TRY(read_clusterings());
  if (!read_bool(in_)) return {};
  ReadRequest::Page page;
  page.last = read_clustering(in_, table());
  page.inclusive = read_bool(in_);
  if (in_.failed()) return corrupt("page");
  request().page = std::move(page);
  return {};
}

Status CommandReader::read_clusterings() {
  const uint8_t kind = in_.u8();
  command().reversed = read_bool(in_);
  if (in_.failed() || kind > kNames) return corrupt("clusterings");
  request().is_names = kind == kNames;
  return kind == kNames ? read_rows() : read_slices();
}

// Sorted and apart; of those that are empty nothing can be read.
Status CommandReader::read_slices() {
  const uint32_t count = read_count(in_);
  if (count > in_.remaining() / kMinSliceSize) return corrupt("count of slices");
  Slices& slices = command().slices;
  for (uint32_t i = 0; i < count; ++i) {
    Slice slice;
    slice.start = read_bound(in_, table(), true);
    slice.end = read_bound(in_, table(), false);
    if (in_.failed()) return corrupt("slices");
    if (!slice.end.empty() && slice.end <= slice.start) continue;
    const bool in_order = slices.empty() || (!slices.back().end.empty() && slices.back().end <= slice.start);
    if (!in_order) return corrupt("order of slices");
    slices.push_back(std::move(slice));
  }
  command().wants_rows = !slices.empty();
  const bool is_whole = slices.size() == 1 && slices[0].start.empty() && slices[0].end.empty();
  if (is_whole) slices.clear();
  return {};
}

Status CommandReader::read_rows() {
  const uint32_t count = read_count(in_);
  const bool has_clustering = !table().clustering.empty();
  if (has_clustering ? count > in_.remaining() : count > 1) return corrupt("count of rows");
  command().wants_rows = count > 0;
  if (!has_clustering) return {};
  for (uint32_t i = 0; i < count; ++i) {
    const OwnedClustering row = read_clustering(in_, table());
    if (in_.failed()) return corrupt("rows");
    Slice slice{row.comparable, row.comparable};
    slice.start.back() = kBeforeTerminator;
    slice.end.back() = kAfterTerminator;
    Slices& slices = command().slices;
    if (!slices.empty() && slices.back().end > slice.start) return corrupt("order of rows");
    slices.push_back(std::move(slice));
  }
  return {};
}

// ---- Writing.

void append_names(Bytes& out, const ColumnFilter::Columns& columns) {
  append_count(out, static_cast<uint32_t>(columns.size()));
  for (const Column* column : columns) append_vint_bytes(out, column->name);
}

void append_columns(Bytes& out, const ColumnFilter& columns) {
  const bool fetches_all_regulars = columns.fetches_all(false);
  out.push_back(static_cast<char>(
      (fetches_all_regulars ? kFetchAllRegulars : 0) | (columns.is_wildcard ? 0 : kHasQueried) |
      (columns.has_subselections ? kHasSubselections : 0) | (columns.fetches_all(true) ? kFetchAllStatics : 0)));
  if (fetches_all_regulars) {
    append_names(out, columns.fetched_statics);
    append_names(out, columns.fetched_regulars);
  }
  if (!columns.is_wildcard) {
    append_names(out, columns.queried_statics);
    append_names(out, columns.queried_regulars);
  }
  if (!columns.has_subselections) return;
  append_count(out, static_cast<uint32_t>(columns.subselections.size()));
  for (const ColumnSubselection& part : columns.subselections) {
    append_short_bytes(out, part.column->name);
    out.push_back(part.is_slice ? 0 : 1);
    append_vint_bytes(out, part.from);
    if (part.is_slice) append_vint_bytes(out, part.to);
  }
}

void append_filter(Bytes& out, const RowFilter& filter) {
  out.push_back(0);
  append_count(out, static_cast<uint32_t>(filter.size()));
  for (const FilterExpression& e : filter) {
    out.push_back(static_cast<char>(e.is_map_entry ? kMapEquality : kSimple));
    append_short_bytes(out, e.column->name);
    append_be(out, static_cast<int32_t>(e.op));
    if (e.is_map_entry) append_short_bytes(out, e.map_key);
    append_short_bytes(out, e.value);
  }
}

void append_limits(Bytes& out, const WireLimits& limits, const TableMetadata& table) {
  out.push_back(static_cast<char>(limits.kind));
  if (limits.is_grouped()) {
    append_count(out, limits.groups);
    append_count(out, limits.groups_per_partition);
    append_count(out, limits.rows);
    const GroupBy& by = limits.group_by;
    out.push_back(static_cast<char>(by.kind));
    if (by.kind == GroupBy::Kind::kPrefix) append_count(out, by.prefix);
    append_bool(out, by.last_key.has_value());
    if (by.last_key) {
      append_vint_bytes(out, *by.last_key);
      append_bool(out, by.last_clustering.has_value());
      if (by.last_clustering) append_clustering(out, table, *by.last_clustering);
    }
  } else {
    append_count(out, limits.rows);
    append_count(out, limits.rows_per_partition);
    append_bool(out, limits.is_distinct);
  }
  if (!limits.is_paging()) return;
  append_vint_bytes(out, limits.last_key);
  append_count(out, limits.last_key_remaining);
}

void append_position(Bytes& out, const RingPosition& position) {
  if (position.kind == RingPosition::Kind::kKey) {
    out.push_back(static_cast<char>(kRowKey));
    return append_short_bytes(out, position.key);
  }
  out.push_back(static_cast<char>(position.kind == RingPosition::Kind::kTokenStart ? kMinBound : kMaxBound));
  append_be(out, static_cast<uint32_t>(sizeof(Token)));
  append_be(out, position.token);
}

// The rows that a names filter has: its slices hold one each.
void append_rows(Bytes& out, const ReadCommand& command) {
  const TableMetadata& table = *command.table;
  if (table.clustering.empty()) return append_count(out, command.wants_rows ? 1 : 0);
  append_count(out, static_cast<uint32_t>(command.slices.size()));
  for (const Slice& slice : command.slices) {
    Arena arena(128);
    ClusteringPrefix row;
    CHECK(split_comparable(table, slice.start, arena, &row));
    OwnedClustering clustering;
    for (BytesView v : row.values) {
      clustering.values.push_back(is_null(v) ? std::nullopt : std::optional<Bytes>(Bytes(v)));
    }
    append_clustering(out, table, clustering);
  }
}

void append_clusterings(Bytes& out, const ReadRequest& request) {
  const ReadCommand& command = request.command;
  out.push_back(static_cast<char>(request.is_names ? kNames : kSlices));
  append_bool(out, command.reversed);
  if (request.is_names) return append_rows(out, command);
  static const Slice whole = Slice::all();
  const bool is_whole = command.wants_rows && command.slices.empty();
  const std::span<const Slice> slices = is_whole ? std::span(&whole, 1) : std::span<const Slice>(command.slices);
  append_count(out, static_cast<uint32_t>(slices.size()));
  for (const Slice& slice : slices) {
    append_bound(out, *command.table, slice.start, true);
    append_bound(out, *command.table, slice.end, false);
  }
}

void append_range(Bytes& out, const ReadRequest& request) {
  const KeyRange& range = *request.command.range;
  out.push_back(
      static_cast<char>((range.start_inclusive ? kStartInclusive : 0) | (range.end_inclusive ? kEndInclusive : 0)));
  append_position(out, range.start);
  const bool to_the_end = range.end.compare(RingPosition::maximum()) == 0;
  append_position(out, to_the_end ? RingPosition::minimum() : range.end);
  append_clusterings(out, request);
  append_bool(out, request.page.has_value());
  if (!request.page) return;
  append_clustering(out, *request.command.table, request.page->last);
  append_bool(out, request.page->inclusive);
}

}  // namespace

Result<std::unique_ptr<ReceivedReadRequest>> decode_read_request(BytesView body, int version,
                                                                 const FindTable& find_table) {
  return CommandReader(body, version, find_table).read();
}

void encode_read_request(const ReadRequest& request, int /*version*/, Bytes& out) {
  const ReadCommand& command = request.command;
  out.push_back(static_cast<char>(command.range ? kPartitionRange : kSinglePartition));
  out.push_back(static_cast<char>((request.is_digest ? kIsDigest : 0) | (request.index.is_nil() ? 0 : kHasIndex) |
                                  (request.accepts_transient ? kAcceptsTransient : 0) |
                                  (request.needs_reconciliation ? kNeedsReconciliation : 0)));
  if (request.is_digest) append_count(out, request.digest_version);
  out.append(command.table->id.view());
  append_be(out, static_cast<uint32_t>(command.now_seconds));
  append_columns(out, request.columns);
  append_filter(out, command.filter);
  append_limits(out, request.limits, *command.table);
  if (!request.index.is_nil()) out.append(request.index.view());
  if (command.range) return append_range(out, request);
  CHECK(command.keys.size() == 1);
  const BytesView key = command.keys[0].key;
  if (command.table->partition_key_type()->fixed_length() < 0) append_unsigned_vint(out, key.size());
  out.append(key);
  append_clusterings(out, request);
}

}  // namespace cassandra_like
