#include "model/clustering.h"

#include "model/integer_component.h"

namespace cassandra_like {

namespace {

using types_internal::kNextComponent;
constexpr char kNextNull = 0x3E;
constexpr char kNextEmpty = 0x3F;
constexpr char kNextEmptyReversed = 0x41;

char terminator(ClusteringKind kind) {
  switch (kind) {
    case ClusteringKind::kExclEndBound:
    case ClusteringKind::kInclStartBound:
    case ClusteringKind::kExclEndInclStartBoundary:
      return kBeforeTerminator;
    case ClusteringKind::kStaticClustering:
      return kStaticTerminator;
    case ClusteringKind::kClustering:
      return kAtTerminator;
    case ClusteringKind::kInclEndExclStartBoundary:
    case ClusteringKind::kInclEndBound:
    case ClusteringKind::kExclStartBound:
      break;
  }
  return kAfterTerminator;
}

void append_clustering_component(Bytes& out, const Type& type, BytesView value) {
  if (auto integer = IntegerComponent::of(type); integer && value.size() == integer->width()) {
    char buffer[IntegerComponent::kMaxSize];
    out.append(buffer, static_cast<size_t>(integer->write(buffer, value.data()) - buffer));
  } else if (is_null(value)) {
    out.push_back(kNextNull);
  } else if (value.empty() && !type.encodes_empty()) {
    out.push_back(type.is_reversed() ? kNextEmptyReversed : kNextEmpty);
  } else {
    out.push_back(kNextComponent);
    type.append_comparable(out, value);
  }
}

bool kind_of_terminator(char c, ClusteringKind* kind) {
  switch (c) {
    case kStaticTerminator:
      *kind = ClusteringKind::kStaticClustering;
      return true;
    case kBeforeTerminator:
      *kind = ClusteringKind::kInclStartBound;
      return true;
    case kAtTerminator:
      *kind = ClusteringKind::kClustering;
      return true;
    case kAfterTerminator:
      *kind = ClusteringKind::kExclStartBound;
      return true;
    default:
      return false;
  }
}

}  // namespace

void append_comparable(Bytes& out, std::span<const Type* const> clustering_types, std::span<const BytesView> values,
                       ClusteringKind kind) {
  for (size_t i = 0; i < values.size(); ++i) append_clustering_component(out, *clustering_types[i], values[i]);
  out.push_back(terminator(kind));
}

void append_comparable(Bytes& out, const TableMetadata& table, std::span<const BytesView> values, ClusteringKind kind) {
  append_comparable(out, table.clustering_types(), values, kind);
}

ClusteringPrefix make_clustering(const TableMetadata& table, std::span<const BytesView> values, ClusteringKind kind,
                                 Arena& arena) {
  if (values.empty() && kind == ClusteringKind::kClustering) return empty_clustering();
  Bytes comparable;
  append_comparable(comparable, table, values, kind);
  return {kind, values, arena.copy(comparable)};
}

ClusteringPrefix static_clustering() {
  return {ClusteringKind::kStaticClustering, {}, BytesView(&kStaticTerminator, 1)};
}

ClusteringPrefix empty_clustering() { return {ClusteringKind::kClustering, {}, BytesView(&kAtTerminator, 1)}; }

bool split_comparable(const TableMetadata& table, BytesView comparable, Arena& arena, ClusteringPrefix* out) {
  auto types = table.clustering_types();
  auto values = arena.make_span<BytesView>(types.size());
  Reader in(comparable);
  Bytes value;
  for (size_t n = 0;; ++n) {
    char separator = static_cast<char>(in.u8());
    if (in.failed()) return false;
    if (kind_of_terminator(separator, &out->kind)) {
      bool complete = out->kind != ClusteringKind::kClustering || n == types.size();
      if (!in.at_end() || !complete || (out->kind == ClusteringKind::kStaticClustering && n != 0)) return false;
      out->values = values.first(n);
      out->comparable = comparable;
      return true;
    }
    if (n == types.size()) return false;
    if (separator == kNextNull) {
      values[n] = kNull;
    } else if (separator == kNextEmpty || separator == kNextEmptyReversed) {
      values[n] = BytesView("", 0);
    } else if (separator == kNextComponent) {
      value.clear();
      types[n]->read_comparable(in, value);
      if (in.failed()) return false;
      values[n] = arena.copy(value);
    } else {
      return false;
    }
  }
}

Slice Slice::of_prefix(const TableMetadata& table, std::span<const BytesView> values) {
  Slice slice;
  append_comparable(slice.start, table, values, ClusteringKind::kInclStartBound);
  append_comparable(slice.end, table, values, ClusteringKind::kInclEndBound);
  return slice;
}

}  // namespace cassandra_like
