// The codec of Statistics.db.
#include "storage/sstable/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/checksum.h"
#include "base/vint.h"

namespace cassandra_like {

namespace {

enum Component : int32_t { kValidation = 0, kCompaction = 1, kStats = 2, kHeader = 3 };
constexpr uint32_t kNoUnsignedDeletionTime = 0xFFFFFFFF;
constexpr int32_t kNoSignedDeletionTime = 0x7FFFFFFF;

void append_double(Bytes& out, double v) { append_be(out, std::bit_cast<uint64_t>(v)); }
double read_double(Reader& in) { return std::bit_cast<double>(in.be<uint64_t>()); }

void append_deletion_time(Bytes& out, int64_t v, const SSTableVersion& version) {
  if (version.has_uint_deletion_time) {
    append_be<uint32_t>(out, v == kNoDeletionTime ? kNoUnsignedDeletionTime : static_cast<uint32_t>(v));
  } else {
    append_be<int32_t>(
        out, static_cast<int32_t>(v == kNoDeletionTime ? kNoSignedDeletionTime : std::min(v, kMaxDeletionTime2038)));
  }
}
int64_t read_deletion_time(Reader& in, const SSTableVersion& version) {
  if (!version.has_uint_deletion_time) {
    int32_t v = in.i32();
    return v == kNoSignedDeletionTime ? kNoDeletionTime : v;
  }
  uint32_t v = in.u32();
  return v == kNoUnsignedDeletionTime ? kNoDeletionTime : v;
}

void append_with_vint_length(Bytes& out, BytesView v) {
  append_unsigned_vint(out, v.size());
  out.append(v);
}
Bytes read_with_vint_length(Reader& in) { return Bytes(in.take(read_unsigned_vint(in))); }

void append_position(Bytes& out, const CommitLogPosition& p) {
  append_be(out, p.segment);
  append_be(out, p.position);
}
CommitLogPosition read_position(Reader& in) {
  CommitLogPosition p;
  p.segment = in.i64();
  p.position = in.i32();
  return p;
}

void append_names(Bytes& out, const std::vector<std::string>& names) {
  append_unsigned_vint(out, names.size());
  for (const auto& name : names) append_with_vint_length(out, name);
}
std::vector<std::string> read_names(Reader& in) {
  std::vector<std::string> names;
  for (uint64_t n = read_unsigned_vint(in); n > 0 && !in.failed(); --n) names.push_back(read_with_vint_length(in));
  return names;
}

void append_columns(Bytes& out, const std::vector<HeaderColumnType>& columns) {
  append_unsigned_vint(out, columns.size());
  for (const auto& column : columns) {
    append_with_vint_length(out, column.name);
    append_with_vint_length(out, column.type);
  }
}
std::vector<HeaderColumnType> read_columns(Reader& in) {
  std::vector<HeaderColumnType> columns;
  for (uint64_t n = read_unsigned_vint(in); n > 0 && !in.failed(); --n) {
    Bytes name = read_with_vint_length(in);
    columns.push_back({std::move(name), read_with_vint_length(in)});
  }
  return columns;
}

// kind:u8, count:u16, then in batches of 32 a vint with two bits for each value (1 empty, 2 null) and the others.
Bytes read_bound(Reader& in, const std::vector<TypePtr>& types) {
  const char* start = in.position();
  in.skip(1);
  size_t count = in.u16();
  if (count > types.size()) in.fail();
  uint64_t bits = 0;
  for (size_t i = 0; i < count && !in.failed(); ++i, bits >>= 2) {
    if (i % 32 == 0) bits = read_unsigned_vint(in);
    if ((bits & 3) != 0) continue;
    int fixed = types[i]->fixed_length();
    in.skip(fixed >= 0 ? static_cast<uint64_t>(fixed) : read_unsigned_vint(in));
  }
  return in.failed() ? Bytes() : Bytes(start, static_cast<size_t>(in.position() - start));
}

// count:i32, (u16 length, bytes)*
Bytes read_legacy_bound(Reader& in) {
  const char* start = in.position();
  for (uint32_t n = in.u32(); n > 0 && !in.failed(); --n) in.skip(in.u16());
  return in.failed() ? Bytes() : Bytes(start, static_cast<size_t>(in.position() - start));
}

void append_tombstones(Bytes& out, const std::vector<TombstoneHistogram::Point>& points,
                       const SSTableVersion& version) {
  append_be<uint32_t>(out, static_cast<uint32_t>(points.size()));
  append_be<uint32_t>(out, static_cast<uint32_t>(points.size()));
  for (const auto& [seconds, count] : points) {
    if (version.has_uint_deletion_time) {
      append_be(out, seconds);
      append_be(out, count);
    } else {
      append_double(out, static_cast<double>(seconds));
      append_be<int64_t>(out, count);
    }
  }
}

void read_tombstones(Reader& in, const SSTableVersion& version, std::vector<TombstoneHistogram::Point>* points) {
  in.skip(4);
  for (uint32_t n = in.u32(); n > 0 && !in.failed(); --n) {
    if (version.has_uint_deletion_time) {
      const int64_t seconds = in.i64();
      points->emplace_back(seconds, in.u32());
      continue;
    }
    const double seconds = read_double(in);
    const int64_t count = in.i64();
    const bool is_in_range = seconds >= 0 && seconds <= static_cast<double>(kMaxDeletionTime2038);
    points->emplace_back(is_in_range ? static_cast<int64_t>(seconds) : kMaxDeletionTime2038,
                         static_cast<uint32_t>(std::clamp<int64_t>(count, 0, kNoSignedDeletionTime)));
  }
}

}  // namespace

EstimatedHistogram::EstimatedHistogram(size_t offsets) : offsets_(offsets), counts_(offsets + 1) {
  uint64_t last = 0;
  for (uint64_t& offset : offsets_) {
    offset = std::max(last + 1, static_cast<uint64_t>(std::floor(static_cast<double>(last) * 1.2 + 0.5)));
    last = offset;
  }
}

void EstimatedHistogram::add(uint64_t value) {
  // A value is often like the one before.
  const bool is_alike =
      last_ < offsets_.size() && value <= offsets_[last_] && (last_ == 0 || value > offsets_[last_ - 1]);
  if (!is_alike) {
    last_ = static_cast<size_t>(std::lower_bound(offsets_.begin(), offsets_.end(), value) - offsets_.begin());
  }
  ++counts_[last_];
}

Bytes EstimatedHistogram::serialize() const {
  Bytes out;
  append_be<uint32_t>(out, static_cast<uint32_t>(counts_.size()));
  for (size_t i = 0; i < counts_.size(); ++i) {
    append_be(out, offsets_[i == 0 ? 0 : i - 1]);
    append_be(out, counts_[i]);
  }
  return out;
}

std::vector<std::pair<uint64_t, uint64_t>> EstimatedHistogram::points(BytesView serialized) {
  Reader in(serialized);
  std::vector<std::pair<uint64_t, uint64_t>> points;
  uint32_t size = in.u32();
  uint64_t waiting = 0;  // the count of the bucket before, whose upper bound comes next
  for (uint32_t i = 0; i < size && !in.failed(); ++i) {
    auto bound = in.be<uint64_t>();
    if (waiting > 0) points.emplace_back(bound, waiting);
    waiting = in.be<uint64_t>();
  }
  return points;
}

bool EstimatedHistogram::skip(Reader& in) {
  uint64_t size = in.u32();
  in.skip(size * 16);
  return size > 1 && !in.failed();
}

namespace {
constexpr size_t kMaxPoints = 100;
constexpr size_t kMaxPending = 65536;
constexpr int64_t kRoundSeconds = 60;
int64_t round_up(int64_t seconds) {
  return std::min((seconds + kRoundSeconds - 1) / kRoundSeconds * kRoundSeconds, kMaxDeletionTime);
}
}  // namespace

void TombstoneHistogram::add(int64_t seconds) {
  seconds = round_up(std::clamp<int64_t>(seconds, 0, kMaxDeletionTime));
  if (!pending_.empty() && pending_.back().first == seconds) {
    ++pending_.back().second;
    return;
  }
  if (pending_.size() == kMaxPending) drain();
  pending_.emplace_back(seconds, 1);
}

void TombstoneHistogram::drain() {
  std::sort(pending_.begin(), pending_.end());
  for (const auto& [seconds, count] : pending_) insert(seconds, count);
  pending_.clear();
}

void TombstoneHistogram::insert(int64_t seconds, uint64_t count) {
  constexpr uint64_t kMaxCount = 0x7FFFFFFF;
  auto it = std::lower_bound(points_.begin(), points_.end(), Point(seconds, 0));
  if (it == points_.end() || it->first != seconds) it = points_.insert(it, {seconds, 0});
  it->second = static_cast<uint32_t>(std::min(kMaxCount, it->second + count));
  if (points_.size() > kMaxPoints) merge_nearest();
}

void TombstoneHistogram::merge_nearest() {
  size_t nearest = 0;
  for (size_t i = 0; i + 1 < points_.size(); ++i) {
    if (points_[i + 1].first - points_[i].first < points_[nearest + 1].first - points_[nearest].first) nearest = i;
  }
  Point& a = points_[nearest];
  const Point& b = points_[nearest + 1];
  int64_t sum = int64_t{a.second} + b.second;
  int64_t middle = (a.first * a.second + b.first * b.second) / sum;
  a.first = round_up(std::min(std::max(middle, a.first + 1), b.first));
  a.second = static_cast<uint32_t>(std::min<int64_t>(sum, 0x7FFFFFFF));
  points_.erase(points_.begin() + static_cast<std::ptrdiff_t>(nearest) + 1);
}

const std::vector<TombstoneHistogram::Point>& TombstoneHistogram::finish() {
  drain();
  return points_;
}

Bytes Statistics::serialize_stats(const SSTableVersion& version) const {
  Bytes out = partition_sizes + cells_per_partition;
  append_position(out, commit_log_intervals.empty() ? CommitLogPosition() : commit_log_intervals.back().second);
  append_be(out, min_timestamp);
  append_be(out, max_timestamp);
  append_deletion_time(out, min_local_deletion_time, version);
  append_deletion_time(out, max_local_deletion_time, version);
  append_be(out, min_ttl);
  append_be(out, max_ttl);
  append_double(out, compression_ratio);
  append_tombstones(out, tombstones, version);
  append_be(out, level);
  append_be(out, repaired_at);
  if (version.has_improved_min_max) append_names(out, clustering_types);
  out.append(covered_start);
  out.append(covered_end);
  out.push_back(has_legacy_counter_shards ? 1 : 0);
  append_be(out, cells);
  append_be(out, rows);
  append_position(out, commit_log_intervals.empty() ? CommitLogPosition() : commit_log_intervals.front().first);
  append_be<uint32_t>(out, static_cast<uint32_t>(commit_log_intervals.size()));
  for (const auto& [first, last] : commit_log_intervals) {
    append_position(out, first);
    append_position(out, last);
  }
  out.push_back(pending_repair ? 1 : 0);
  if (pending_repair) out.append(pending_repair->view());
  out.push_back(is_transient ? 1 : 0);
  if (version.has_originating_host_id) {
    out.push_back(host_id ? 1 : 0);
    if (host_id) out.append(host_id->view());
  }
  if (version.has_partition_level_deletions_presence_marker) out.push_back(has_partition_deletions ? 1 : 0);
  if (version.has_key_range) {
    append_with_vint_length(out, first_key);
    append_with_vint_length(out, last_key);
  }
  if (version.has_token_space_coverage) append_double(out, token_space_coverage);
  // Cassandra counts 4 bytes too many for each point of this form of the tombstone histogram, and leaves them at the end.
  if (version.has_uint_deletion_time) out.append(4 * tombstones.size(), '\0');
  return out;
}

bool Statistics::parse_min_max(Reader& in, const SSTableVersion& version) {
  if (!version.has_improved_min_max) {
    covered_start = read_legacy_bound(in);
    covered_end = read_legacy_bound(in);
    if (!version.has_accurate_min_max) covered_start = covered_end = Bytes(4, '\0');  // of no values: all clusterings
    return !in.failed();
  }
  clustering_types = read_names(in);
  std::vector<TypePtr> types;
  for (const auto& name : clustering_types) {
    auto type = types::parse_class(name);
    if (!type.ok()) return false;
    types.push_back(*type);
  }
  covered_start = read_bound(in, types);
  covered_end = read_bound(in, types);
  return !in.failed();
}

bool Statistics::parse_stats(Reader& in, const SSTableVersion& version) {
  const char* start = in.position();
  if (!EstimatedHistogram::skip(in)) return false;
  const char* middle = in.position();
  if (!EstimatedHistogram::skip(in)) return false;
  partition_sizes.assign(start, middle);
  cells_per_partition.assign(middle, in.position());
  const CommitLogPosition last_position = read_position(in);
  min_timestamp = in.i64();
  max_timestamp = in.i64();
  min_local_deletion_time = read_deletion_time(in, version);
  max_local_deletion_time = read_deletion_time(in, version);
  min_ttl = in.i32();
  max_ttl = in.i32();
  compression_ratio = read_double(in);
  read_tombstones(in, version, &tombstones);
  level = in.i32();
  repaired_at = in.i64();
  if (!parse_min_max(in, version)) return false;
  has_legacy_counter_shards = in.u8() != 0;
  cells = in.be<uint64_t>();
  rows = in.be<uint64_t>();
  const CommitLogPosition first_position = version.has_commit_log_lower_bound ? read_position(in) : CommitLogPosition();
  if (!version.has_commit_log_intervals) {
    commit_log_intervals.emplace_back(first_position, last_position);
  } else {
    for (uint32_t n = in.u32(); n > 0 && !in.failed(); --n) {
      CommitLogPosition first = read_position(in);
      commit_log_intervals.emplace_back(first, read_position(in));
    }
  }
  auto read_uuid = [&]() -> std::optional<Uuid> {
    if (in.u8() == 0) return std::nullopt;
    BytesView bytes = in.take(16);
    return bytes.size() == 16 ? std::optional(Uuid::from_bytes(bytes)) : std::nullopt;
  };
  if (version.has_pending_repair) pending_repair = read_uuid();
  if (version.has_is_transient) is_transient = in.u8() != 0;
  if (version.has_originating_host_id) host_id = read_uuid();
  // Where it is not written down, there are surely none only if nothing was deleted.
  has_partition_deletions =
      version.has_partition_level_deletions_presence_marker ? in.u8() != 0 : min_local_deletion_time != kNoDeletionTime;
  if (version.has_key_range) {
    first_key = read_with_vint_length(in);
    last_key = read_with_vint_length(in);
  }
  if (version.has_token_space_coverage) token_space_coverage = read_double(in);
  return !in.failed();
}

Bytes Statistics::serialize_header() const {
  Bytes out;
  append_encoding_stats(out, encoding_stats);
  append_with_vint_length(out, key_type);
  append_names(out, clustering_types);
  append_columns(out, static_columns);
  append_columns(out, regular_columns);
  return out;
}

bool Statistics::parse_header(Reader& in) {
  encoding_stats = read_encoding_stats(in);
  key_type = read_with_vint_length(in);
  clustering_types = read_names(in);
  static_columns = read_columns(in);
  regular_columns = read_columns(in);
  return !in.failed();
}

Bytes Statistics::serialize(const SSTableVersion& version) const {
  Bytes validation;
  append_be<uint16_t>(validation, static_cast<uint16_t>(partitioner.size()));
  validation.append(partitioner);
  append_double(validation, bloom_filter_fp_chance);
  Bytes compaction;
  append_be<uint32_t>(compaction, static_cast<uint32_t>(cardinality.size()));
  compaction.append(cardinality);
  const std::array<Bytes, 4> components{validation, compaction, serialize_stats(version), serialize_header()};

  Bytes out;
  append_be<uint32_t>(out, components.size());
  uint32_t crc = crc32(out);
  append_be(out, crc);
  Bytes toc;
  size_t position = 4 + 4 + 8 * components.size() + 4;
  for (size_t i = 0; i < components.size(); ++i) {
    append_be<uint32_t>(toc, static_cast<uint32_t>(i));
    append_be<uint32_t>(toc, static_cast<uint32_t>(position));
    position += components[i].size() + 4;
  }
  out.append(toc);
  append_be(out, crc32(toc, crc));
  for (const Bytes& component : components) {
    out.append(component);
    append_be(out, crc32(component));
  }
  return out;
}

Result<Statistics> Statistics::parse(BytesView file, const SSTableVersion& version) {
  auto corrupt = [](const char* what) { return Error(ErrorCode::kCorruption, what); };
  Reader in(file);
  const size_t checksum_bytes = version.has_metadata_checksum ? 4 : 0;
  const auto checksum_is = [&](uint32_t crc) { return checksum_bytes == 0 || in.u32() == crc; };
  BytesView count_bytes = in.take(4);
  if (in.failed()) return corrupt("too short");
  uint32_t count = load_be<uint32_t>(count_bytes.data());
  uint32_t crc = crc32(count_bytes);
  if (!checksum_is(crc)) return corrupt("the checksum of the number of components does not match");
  if (count > 64) return corrupt("too many components");
  BytesView toc_bytes = in.take(8 * size_t{count});
  if (!checksum_is(crc32(toc_bytes, crc))) return corrupt("the checksum of the contents does not match");
  if (in.failed()) return corrupt("too short");

  Statistics statistics;
  bool seen[4] = {};
  Reader toc(toc_bytes);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t type = toc.u32();
    uint64_t start = toc.u32();
    uint64_t end = i + 1 < count ? load_be<uint32_t>(toc.position() + 4) : file.size();
    if (end > file.size() || start > end || end - start < checksum_bytes) {
      return corrupt("a component lies outside of the file");
    }
    BytesView component = file.substr(start, end - start - checksum_bytes);
    if (checksum_bytes > 0 && crc32(component) != load_be<uint32_t>(file.data() + end - 4)) {
      return corrupt("a checksum does not match");
    }
    Reader body(component);
    bool ok = true;
    if (type == kValidation) {
      statistics.partitioner = body.take(body.u16());
      statistics.bloom_filter_fp_chance = read_double(body);
      ok = !body.failed();
    } else if (type == kCompaction) {
      statistics.cardinality = body.take(body.u32());
      ok = !body.failed();
    } else if (type == kStats) {
      ok = statistics.parse_stats(body, version);
    } else if (type == kHeader) {
      ok = statistics.parse_header(body);
    }
    if (!ok) return corrupt("a component is malformed");
    if (type < 4) seen[type] = true;
  }
  if (!seen[kStats] || !seen[kHeader]) return corrupt("a component is missing");
  return statistics;
}

uint64_t Statistics::estimated_cells() const {
  Reader in(cells_per_partition);
  uint32_t size = in.u32();
  uint64_t elements = 0;
  uint64_t sum = 0;
  for (uint32_t i = 0; i + 1 < size; ++i) {
    // A bucket's offset stands with the count after it.
    in.skip(8);
    auto count = in.be<uint64_t>();
    Reader next = in;
    elements += count;
    sum += count * next.be<uint64_t>();
  }
  if (elements == 0) return 0;
  return static_cast<uint64_t>(std::ceil(static_cast<double>(sum) / static_cast<double>(elements))) * elements;
}

double SSTableInfo::droppable_before(int64_t before) const {
  if (estimated_cells == 0) return 0;
  double sum = 0;
  for (size_t i = 0; i < tombstones.size(); ++i) {
    auto [point, count] = tombstones[i];
    if (point <= before) {
      sum += count;
      continue;
    }
    // Part of what lies between two points, as if spread evenly (Ben-Haim and Tom-Tov).
    if (i == 0) return 0;
    auto [previous, previous_count] = tombstones[i - 1];
    // A damaged file may name any points: their difference may be more than a long.
    const auto from = static_cast<double>(previous);
    double weight = (static_cast<double>(before) - from) / (static_cast<double>(point) - from);
    double here = previous_count + (static_cast<double>(count) - previous_count) * weight;
    // In the order of StreamingTombstoneHistogramBuilder, to its last digit.
    sum -= previous_count;
    sum += (previous_count + here) * weight / 2;
    sum += previous_count / 2.0;
    break;
  }
  return sum / static_cast<double>(estimated_cells);
}

SSTableInfo make_sstable_info(const SSTableDescriptor& descriptor, const Statistics& statistics) {
  SSTableInfo info;
  info.descriptor = descriptor;
  info.rows = statistics.rows;
  info.cells = statistics.cells;
  info.min_timestamp = statistics.min_timestamp;
  info.max_timestamp = statistics.max_timestamp;
  info.min_local_deletion_time = statistics.min_local_deletion_time;
  info.max_local_deletion_time = statistics.max_local_deletion_time;
  info.min_ttl = statistics.min_ttl;
  info.max_ttl = statistics.max_ttl;
  info.compression_ratio = statistics.compression_ratio;
  info.tombstones = statistics.tombstones;
  info.estimated_cells = statistics.estimated_cells();
  info.level = statistics.level;
  info.repaired_at = statistics.repaired_at;
  info.pending_repair = statistics.pending_repair;
  info.first_key = statistics.first_key;
  info.last_key = statistics.last_key;
  info.commit_log_intervals = statistics.commit_log_intervals;
  if (statistics.host_id) info.originating_host = *statistics.host_id;
  info.partition_sizes = EstimatedHistogram::points(statistics.partition_sizes);
  info.cells_per_partition = EstimatedHistogram::points(statistics.cells_per_partition);
  return info;
}

}  // namespace cassandra_like
