#include "messaging/wire_clustering.h"

#include "base/result.h"
#include "base/vint.h"

namespace cassandra_like {

namespace {

constexpr size_t kValuesInAHeader = 32;
enum Presence : uint8_t { kPresent = 0, kEmpty = 1, kAbsent = 2 };

// Views into the input; kNull where a value is null.
std::vector<BytesView> read_values(Reader& in, const TableMetadata& table, size_t count) {
  std::vector<BytesView> values;
  uint64_t header = 0;
  for (size_t i = 0; i < count && !in.failed(); ++i) {
    if (i % kValuesInAHeader == 0) header = read_unsigned_vint(in);
    switch (header >> (2 * (i % kValuesInAHeader)) & 3) {
      case kPresent: {
        const int fixed = table.clustering_types()[i]->fixed_length();
        values.push_back(in.take(fixed >= 0 ? static_cast<size_t>(fixed) : read_unsigned_vint(in)));
        break;
      }
      case kEmpty:
        values.push_back(BytesView("", 0));
        break;
      default:
        values.push_back(kNull);
    }
  }
  return values;
}

void append_values(Bytes& out, const TableMetadata& table, std::span<const BytesView> values) {
  for (size_t begin = 0; begin < values.size(); begin += kValuesInAHeader) {
    const size_t end = std::min(begin + kValuesInAHeader, values.size());
    uint64_t header = 0;
    for (size_t i = begin; i < end; ++i) {
      const uint64_t presence = is_null(values[i]) ? kAbsent : values[i].empty() ? kEmpty : kPresent;
      header |= presence << (2 * (i - begin));
    }
    append_unsigned_vint(out, header);
    for (size_t i = begin; i < end; ++i) {
      if (values[i].empty()) continue;
      if (table.clustering_types()[i]->fixed_length() < 0) append_unsigned_vint(out, values[i].size());
      out.append(values[i]);
    }
  }
}

// A value of a wrong length has no comparable form.
bool are_valid(const TableMetadata& table, std::span<const BytesView> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!is_null(values[i]) && !table.clustering_types()[i]->validate(values[i]).ok()) return false;
  }
  return true;
}

}  // namespace

OwnedClustering read_clustering(Reader& in, const TableMetadata& table) {
  OwnedClustering out;
  const std::vector<BytesView> values = read_values(in, table, table.clustering.size());
  if (!in.failed() && !are_valid(table, values)) in.fail();
  if (in.failed()) return out;
  for (BytesView v : values) out.values.push_back(is_null(v) ? std::nullopt : std::optional<Bytes>(Bytes(v)));
  append_comparable(out.comparable, table, values, ClusteringKind::kClustering);
  return out;
}

void append_clustering(Bytes& out, const TableMetadata& table, const OwnedClustering& clustering) {
  std::vector<BytesView> values;
  for (const auto& v : clustering.values) values.push_back(!v ? kNull : v->empty() ? BytesView("", 0) : BytesView(*v));
  append_values(out, table, values);
}

Bytes read_bound(Reader& in, const TableMetadata& table, bool is_start_bound) {
  const uint8_t byte = in.u8();
  const size_t count = in.u16();
  const auto kind = static_cast<ClusteringKind>(byte);
  const bool fits = byte <= static_cast<uint8_t>(ClusteringKind::kExclStartBound) &&
                    (is_start_bound ? is_start(kind) : is_end(kind)) && count <= table.clustering.size();
  if (!fits) in.fail();
  if (in.failed() || count == 0) return {};
  const std::vector<BytesView> values = read_values(in, table, count);
  if (!in.failed() && !are_valid(table, values)) in.fail();
  Bytes out;
  if (!in.failed()) append_comparable(out, table, values, kind);
  return out;
}

void append_bound(Bytes& out, const TableMetadata& table, const Bytes& comparable, bool is_start_bound) {
  ClusteringPrefix prefix;
  Arena arena(128);
  bool before = is_start_bound;
  if (!comparable.empty()) {
    CHECK(split_comparable(table, comparable, arena, &prefix));
    before = comparable.back() == kBeforeTerminator;
  }
  const ClusteringKind kind = is_start_bound
                                  ? (before ? ClusteringKind::kInclStartBound : ClusteringKind::kExclStartBound)
                                  : (before ? ClusteringKind::kExclEndBound : ClusteringKind::kInclEndBound);
  out.push_back(static_cast<char>(kind));
  append_be(out, static_cast<uint16_t>(prefix.values.size()));
  append_values(out, table, prefix.values);
}

}  // namespace cassandra_like
