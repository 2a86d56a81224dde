// sstabledump's JSON.
#include <fmt/format.h>

#include <limits>

#include "model/values.h"
#include "sstable_text.h"

namespace cassandra_like::sstable_tools {

namespace {

// Instant.toString.
std::string iso_instant(int64_t seconds, int64_t nanos) {
  int64_t days = seconds / 86400, of_day = seconds % 86400;
  if (of_day < 0) {
    of_day += 86400;
    --days;
  }
  // Howard Hinnant's civil_from_days.
  days += 719468;
  const int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const int64_t day_of_era = days - era * 146097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted = (5 * day_of_year + 2) / 153;
  const int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
  const int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  std::string text = year > 9999 ? fmt::format("+{}", year)
                     : year < 0  ? fmt::format("-{:04}", -year)
                                 : fmt::format("{:04}", year);
  text += fmt::format("-{:02}-{:02}T{:02}:{:02}:{:02}", month, day_of_year - (153 * shifted + 2) / 5 + 1, of_day / 3600,
                      of_day / 60 % 60, of_day % 60);
  if (nanos % 1000 != 0) {
    text += fmt::format(".{:09}", nanos);
  } else if (nanos % 1000000 != 0) {
    text += fmt::format(".{:06}", nanos / 1000);
  } else if (nanos != 0) {
    text += fmt::format(".{:03}", nanos / 1000000);
  }
  return text + "Z";
}

std::string value_json(const Type& type, BytesView value) {
  // A counter's context is taken for a number.
  if (type.is_counter()) return std::to_string(load_be<int64_t>(value.data()));
  return is_null(value) ? "null" : type.to_json(value);
}

constexpr int64_t kMicrosPerSecond = 1000000;

}  // namespace

std::string SSTableJson::date(int64_t time, int64_t units_per_second) const {
  if (options_.raw_times) return std::to_string(time);
  // TimeUnit.toNanos stops at the largest long, and toSeconds rounds towards zero.
  int64_t nanos;
  if (__builtin_mul_overflow(time, 1000000000 / units_per_second, &nanos)) {
    nanos = time < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  }
  const int64_t of_second = nanos % 1000000000;
  return iso_instant(time / units_per_second, of_second < 0 ? of_second + 1000000000 : of_second);
}

void SSTableJson::key(BytesView key) {
  json_.compact_objects = true;
  json_.compact_arrays = true;
  json_.start_array();
  const Type& type = *table_.partition_key_type();
  if (type.kind() == TypeKind::kComposite) {
    Reader in(key);
    for (size_t i = 0; !in.at_end() && i < type.elements().size(); ++i) {
      json_.string(type.elements()[i]->to_text(in.take(in.u16())));
      if (in.u8() != 0) break;
    }
  } else {
    json_.string(type.to_text(key));
  }
  json_.end_array();
  json_.compact_objects = false;
  json_.compact_arrays = false;
}

void SSTableJson::start_partition(bool is_index, BytesView partition_key, uint64_t position,
                                  const DeletionTime& partition_deletion) {
  json_.start_object();
  json_.name("table kind");
  json_.string(is_index ? "INDEX" : "REGULAR");
  json_.name("partition");
  json_.start_object();
  json_.name("key");
  key(partition_key);
  json_.name("position");
  json_.number(static_cast<int64_t>(position));
  if (!partition_deletion.is_live()) deletion(partition_deletion);
  json_.end_object();
  json_.name("rows");
  json_.start_array();
}

void SSTableJson::end_partition() {
  json_.end_array();
  json_.end_object();
}

void SSTableJson::row(const Row& row, uint64_t position) {
  const bool is_static = row.clustering.kind == ClusteringKind::kStaticClustering;
  json_.start_object();
  json_.name("type");
  json_.string(is_static ? "static_block" : "row");
  json_.name("position");
  json_.number(static_cast<int64_t>(position));
  if (!is_static) clustering(row.clustering);
  if (!row.liveness.is_empty()) liveness(row.liveness);
  if (!row.deletion.is_live()) deletion(row.deletion);
  json_.name("cells");
  json_.start_array();
  cells(row);
  json_.end_array();
  json_.end_object();
}

void SSTableJson::liveness(const Liveness& liveness) {
  json_.compact_objects = false;
  json_.name("liveness_info");
  json_.compact_objects = true;
  json_.start_object();
  json_.name("tstamp");
  json_.string(date(liveness.timestamp, kMicrosPerSecond));
  if (liveness.is_expiring()) {
    json_.name("ttl");
    json_.number(liveness.ttl);
    json_.name("expires_at");
    json_.string(date(liveness.local_expiration_time, 1));
    json_.name("expired");
    json_.boolean(liveness.local_expiration_time < options_.now_seconds);
  }
  json_.end_object();
  json_.compact_objects = false;
}

void SSTableJson::cells(const Row& row) {
  auto cell_at = row.cells.begin();
  auto complex = row.complex_deletions.begin();
  while (cell_at != row.cells.end() || complex != row.complex_deletions.end()) {
    const bool is_deletion = cell_at == row.cells.end() || (complex != row.complex_deletions.end() &&
                                                            compare_columns(complex->column, cell_at->column) <= 0);
    if (is_deletion) {
      complex_deletion(*complex++);
    } else {
      cell(*cell_at++, row.liveness);
    }
  }
}

void SSTableJson::complex_deletion(const ComplexDeletion& complex) {
  json_.compact_objects = true;
  json_.start_object();
  json_.name("name");
  json_.string(quote_identifier(complex.column->name));
  deletion(complex.deletion);
  json_.compact_objects = true;
  json_.end_object();
  json_.compact_objects = false;
}

void SSTableJson::cell(const Cell& cell, const Liveness& liveness) {
  json_.start_object();
  json_.compact_objects = true;
  json_.name("name");
  const Type& type = *cell.column->type;
  json_.string(quote_identifier(cell.column->name));
  const Type* value_type = &type;
  if (type.is_multi_cell()) {
    json_.name("path");
    json_.compact_arrays = true;
    json_.start_array();
    if (type.is_udt()) {
      const auto& names = static_cast<const UserType&>(type).field_names();
      const auto field =
          static_cast<size_t>(cell.path.size() == 2 ? load_be<uint16_t>(cell.path.data()) : names.size());
      json_.string(field < names.size() ? names[field] : "");
      if (field < names.size()) value_type = type.elements()[field].get();
    } else {
      static const TypePtr timeuuid = types::timeuuid();
      const Type& path_type = type.kind() == TypeKind::kList ? *timeuuid : *type.elements()[0];
      json_.string(path_type.to_text(cell.path));
      value_type = type.elements().back().get();
    }
    json_.end_array();
    json_.compact_arrays = false;
  }
  if (cell.is_tombstone()) {
    json_.name("deletion_info");
    json_.compact_objects = true;
    json_.start_object();
    json_.name("local_delete_time");
    json_.string(date(cell.local_deletion_time, 1));
    json_.end_object();
    json_.compact_objects = false;
  } else {
    json_.name("value");
    const bool is_element_of_set = type.is_multi_cell() && type.kind() == TypeKind::kSet;
    json_.raw(is_element_of_set ? "\"\"" : value_json(*value_type, cell.value));
  }
  if (liveness.is_empty() || cell.timestamp != liveness.timestamp) {
    json_.name("tstamp");
    json_.string(date(cell.timestamp, kMicrosPerSecond));
  }
  if (cell.is_expiring() && (liveness.is_empty() || cell.ttl != liveness.ttl)) {
    json_.name("ttl");
    json_.number(cell.ttl);
    json_.name("expires_at");
    json_.string(date(cell.local_deletion_time, 1));
    json_.name("expired");
    json_.boolean(!cell.is_live(options_.now_seconds));
  }
  json_.end_object();
  json_.compact_objects = false;
}

void SSTableJson::marker(const RangeTombstoneMarker& marker) {
  const ClusteringKind kind = marker.bound.kind;
  const bool starts_inclusive =
      kind == ClusteringKind::kInclStartBound || kind == ClusteringKind::kExclEndInclStartBoundary;
  const bool ends_inclusive =
      kind == ClusteringKind::kInclEndBound || kind == ClusteringKind::kInclEndExclStartBoundary;
  json_.start_object();
  json_.name("type");
  json_.string(is_boundary(kind) ? "range_tombstone_boundary" : "range_tombstone_bound");
  if (is_start(kind) || is_boundary(kind)) bound(true, starts_inclusive, marker.bound, marker.open);
  if (is_end(kind) || is_boundary(kind)) bound(false, ends_inclusive, marker.bound, marker.close);
  json_.end_object();
  json_.compact_objects = false;
}

void SSTableJson::bound(bool is_start, bool is_inclusive, const ClusteringPrefix& prefix,
                        const DeletionTime& deletion_time) {
  json_.name(is_start ? "start" : "end");
  json_.start_object();
  json_.name("type");
  json_.string(is_inclusive ? "inclusive" : "exclusive");
  clustering(prefix);
  deletion(deletion_time);
  json_.end_object();
}

void SSTableJson::clustering(const ClusteringPrefix& prefix) {
  if (prefix.values.empty()) return;
  json_.name("clustering");
  json_.compact_objects = true;
  json_.start_array();
  json_.compact_arrays = true;
  for (size_t i = 0; i < table_.clustering.size(); ++i) {
    if (i < prefix.values.size()) {
      json_.raw(value_json(*table_.clustering[i]->type, prefix.values[i]));
    } else {
      json_.string("*");
    }
  }
  json_.end_array();
  json_.compact_objects = false;
  json_.compact_arrays = false;
}

void SSTableJson::deletion(const DeletionTime& deletion) {
  json_.name("deletion_info");
  json_.compact_objects = true;
  json_.start_object();
  json_.name("marked_deleted");
  json_.string(date(deletion.marked_for_delete_at, kMicrosPerSecond));
  json_.name("local_delete_time");
  json_.string(date(deletion.local_deletion_time, 1));
  json_.end_object();
  json_.compact_objects = false;
}

}  // namespace cassandra_like::sstable_tools
