// sstablemetadata (SSTableMetadataViewer).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "base/java_numbers.h"
#include "command_line.h"
#include "model/values.h"
#include "sketch_cardinality.h"
#include "sstable_file.h"
#include "sstable_scan.h"
#include "sstable_tools.h"
#include "term_histogram.h"

namespace cassandra_like::sstable_tools {

namespace {

constexpr const char* kMetadataUsage =
    R"(usage: sstablemetadata <options> <sstable...> [-c] [-g <arg>] [-h] [-s] [-t <arg>] [-u]

Dump information about SSTable[s] for Apache Cassandra 3.x
Options:
  -c,--colors                 Use ANSI color sequences
  -g,--gc_grace_seconds <arg> Time to use when calculating droppable tombstones
  -h,--help                   Help
  -s,--scan                   Full sstable scan for additional details. Only available in 3.0+ sstables. Defaults: false
  -t,--timestamp_unit <arg>   Time unit that cell timestamps are written with
  -u,--unicode                Use unicode to draw histograms and progress bars

)";
constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
using Text = std::optional<std::string>;  // nullopt: Java's null

struct TimeUnit {
  std::string_view name;
  int64_t per_milli = 1, millis = 1;  // one of them is 1
};
constexpr TimeUnit kMicroseconds{"MICROSECONDS", 1000, 1}, kMilliseconds{"MILLISECONDS"}, kSeconds{"SECONDS", 1, 1000};
constexpr std::array kUnits{TimeUnit{"NANOSECONDS", 1000000, 1},
                            kMicroseconds,
                            kMilliseconds,
                            kSeconds,
                            TimeUnit{"MINUTES", 1, 60000},
                            TimeUnit{"HOURS", 1, 3600000},
                            TimeUnit{"DAYS", 1, 86400000}};

struct Day {
  int64_t year, month, day;
};

int64_t floor_divide(int64_t dividend, int64_t divisor) {
  return dividend / divisor - (dividend % divisor < 0 ? 1 : 0);
}

constexpr int64_t kFirstGregorianDay = -141427;  // 15 October 1582, from 1970

// The Julian calendar's, of a day from 1970. Years begin in March here, so that the day that some have is their last.
Day julian_day(int64_t days) {
  constexpr int64_t kDaysFromMarchOfYear0 = 719470, kDaysOfFourYears = 1461, kDaysOfFiveMonths = 153;
  const int64_t since = days + kDaysFromMarchOfYear0;
  const int64_t year = floor_divide(4 * since + 3, kDaysOfFourYears);
  const int64_t of_year = since - floor_divide(kDaysOfFourYears * year, 4);
  const int64_t month = (5 * of_year + 2) / kDaysOfFiveMonths;  // 0: March
  return {year + (month >= 10 ? 1 : 0), month + (month >= 10 ? -9 : 3),
          of_year - (kDaysOfFiveMonths * month + 2) / 5 + 1};
}

// SimpleDateFormat("MM/dd/yyyy HH:mm:ss"), in the time zone of the system.
Text date_text(int64_t time, const TimeUnit& unit) {
  if (time == 0) return std::nullopt;
  int64_t millis = time / unit.per_milli;
  if (__builtin_mul_overflow(millis, unit.millis, &millis)) millis = time < 0 ? -kForever - 1 : kForever;
  const time_t seconds = millis / 1000 - (millis % 1000 < 0 ? 1 : 0);
  std::tm local{};
  if (localtime_r(&seconds, &local) == nullptr) return std::to_string(time);
  Day day{int64_t{local.tm_year} + 1900, local.tm_mon + 1, local.tm_mday};
  const int64_t days = floor_divide(timegm(&local), 86400);
  if (days < kFirstGregorianDay) day = julian_day(days);
  return fmt::format("{:02}/{:02}/{:04} {:02}:{:02}:{:02}", day.month, day.day, day.year > 0 ? day.year : 1 - day.year,
                     local.tm_hour, local.tm_min, local.tm_sec);
}
Text date_of_seconds(int64_t seconds) { return date_text(seconds, kSeconds); }

std::string deletion_text(int64_t seconds) {
  return seconds == 0 || seconds == kForever ? "no tombstones" : *date_of_seconds(seconds);
}

// DurationFormatUtils.formatDurationWords without zeros at its ends.
Text duration_words(int64_t seconds) {
  if (seconds == 0) return std::nullopt;
  if (seconds == std::numeric_limits<int32_t>::max()) return "never";
  const std::array<std::pair<int64_t, const char*>, 4> parts{{{seconds / 86400, "day"},
                                                              {seconds / 3600 % 24, "hour"},
                                                              {seconds / 60 % 60, "minute"},
                                                              {seconds % 60, "second"}}};
  size_t first = 0, last = parts.size();
  while (first + 1 < last && parts[first].first == 0) ++first;
  while (last > first + 1 && parts[last - 1].first == 0) --last;
  std::string text;
  for (size_t i = first; i < last; ++i) {
    text += fmt::format("{}{} {}{}", i == first ? "" : " ", parts[i].first, parts[i].second,
                        parts[i].first == 1 ? "" : "s");
  }
  return text;
}

// One decimal, rounded half up.
Text byte_text(int64_t bytes) {
  if (bytes == 0) return std::nullopt;
  if (bytes < 1024) return fmt::format("{} B", bytes);
  const int power = std::min(static_cast<int>(std::log(static_cast<double>(bytes)) / std::log(1024.0)), 5);
  const int64_t unit = int64_t{1} << (10 * power);
  const int64_t tenths = bytes / unit * 10 + (bytes % unit * 20 + unit) / (2 * unit);
  return fmt::format("{}.{} {}B", tenths / 10, tenths % 10, "kMGTP"[power - 1]);
}

// String.hashCode, of UTF-16. The text is valid UTF-8.
uint32_t java_hash(std::string_view text) {
  uint32_t hash = 0;
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<uint8_t>(text[i]);
    const size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    uint32_t code = size == 1 ? first : first & (0xFFu >> (size + 1));
    for (size_t j = 1; j < size && i + j < text.size(); ++j)
      code = code << 6 | (static_cast<uint8_t>(text[i + j]) & 0x3F);
    i += size;
    if (code >= 0x10000) {
      hash = 31 * hash + (0xD800 + ((code - 0x10000) >> 10));
      code = 0xDC00 + (code & 0x3FF);
    }
    hash = 31 * hash + code;
  }
  return hash;
}

// A java.util.HashMap's order: by bucket, in each as they were put in.
std::string columns_text(const std::vector<HeaderColumnType>& columns) {
  size_t buckets = 16;
  while (columns.size() * 4 > buckets * 3) buckets *= 2;
  auto bucket_of = [&](const HeaderColumnType& column) {
    const uint32_t hash = java_hash(column.name);
    return (hash ^ hash >> 16) & (buckets - 1);
  };
  std::vector<const HeaderColumnType*> order;
  for (const HeaderColumnType& column : columns) order.push_back(&column);
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto* a, const auto* b) { return bucket_of(*a) < bucket_of(*b); });
  std::string text;
  for (const HeaderColumnType* column : order) text += (text.empty() ? "" : ", ") + column->name + ":" + column->type;
  return text;
}

std::string position_text(const CommitLogPosition& position) {
  return fmt::format("CommitLogPosition(segmentId={}, position={})", position.segment, position.position);
}

class Viewer {
 public:
  Viewer(const ToolContext& context, const Colors& colors, int32_t gc_grace, const TimeUnit& unit, bool scans)
      : context_(context), colors_(colors), gc_grace_(gc_grace), unit_(unit), scans_(scans) {}

  Status print(const SSTableFile& file);

 private:
  void field(const std::string& name, const Text& value, const Text& comment = std::nullopt) {
    std::string line = colors_.blue() + name + colors_.cyan() + ": " + colors_.reset() + value.value_or("--");
    if (comment) line += colors_.white() + " (" + *comment + ")" + colors_.reset();
    context_.out << line << "\n";
  }
  void field(const std::string& name, int64_t value, const Text& comment = std::nullopt) {
    field(name, Text(std::to_string(value)), comment);
  }
  std::string named(int64_t point, const Text& name) const {
    return std::to_string(point) + " " + colors_.quiet(name.value_or(""));
  }

  Status print_scan(const SSTableFile& file);
  void print_progress(double complete);
  std::string leaders_text(const std::vector<LeadingPartition>& leaders, const Type& key_type, bool are_sizes) const;
  void print_times(const SSTableFile& file);
  Status print_keys(const SSTableFile& file);
  Result<std::string> covered_clusterings(const SSTableFile& file) const;
  Status print_stats(const SSTableFile& file);
  void print_histograms(const Statistics& statistics, const SSTableInfo& info);
  void print_header(const Statistics& statistics);

  const ToolContext& context_;
  Colors colors_;
  int32_t gc_grace_;
  TimeUnit unit_;  // of the timestamp in the header alone, as in Cassandra
  bool scans_;
};

Status Viewer::print(const SSTableFile& file) {
  const std::string data = file.descriptor.file("Data.db");
  field("SSTable", data.substr(0, data.size() - std::string_view("-Data.db").size()));
  // Cassandra compares the letters with those of 3.0, and so leaves out BTI.
  if (scans_ && file.version->letters >= "ma") TRY(print_scan(file));
  field("Partitioner", file.statistics.partitioner);
  field("Bloom Filter FP chance", double_to_text(file.statistics.bloom_filter_fp_chance));
  print_times(file);
  TRY(print_keys(file));
  TRY(print_stats(file));
  const auto cardinality = cardinality_of(file.statistics.cardinality);
  if (!cardinality) return Error(ErrorCode::kCorruption, data + ": a malformed sketch of keys");
  field("Estimated cardinality", *cardinality);
  print_header(file.statistics);
  return {};
}

// Util.progress
void Viewer::print_progress(double complete) {
  constexpr int kWidth = 30;
  const int full = static_cast<int>(complete * kWidth);
  std::string bar;
  for (int i = 0; i < kWidth; ++i) bar += i < full ? (colors_.unicode ? "▓" : "#") : (colors_.unicode ? "░" : "-");
  context_.out << fmt::format("\r{}Analyzing SSTable...  {}{} {}(%{})", colors_.blue(), colors_.cyan(), bar,
                              colors_.reset(), static_cast<int>(complete * 100));
}

std::string Viewer::leaders_text(const std::vector<LeadingPartition>& leaders, const Type& key_type,
                                 bool are_sizes) const {
  std::string text;
  for (const LeadingPartition& partition : leaders) {
    text += fmt::format("  {}[{}{}{}] {}{}", colors_.cyan(), colors_.reset(), key_type.to_text(partition.key),
                        colors_.cyan(), colors_.reset(), partition.value);
    if (are_sizes) {
      text += fmt::format("{} ({}){}", colors_.white(), byte_text(partition.value).value_or("null"), colors_.reset());
    }
    text += "\n";
  }
  return text;
}

Status Viewer::print_scan(const SSTableFile& file) {
  ASSIGN_OR_RETURN(const auto data, SSTableData::open(context_.disk, file));
  const auto total = static_cast<double>(file.statistics.cells);
  bool has_told = false;  // the clock stands: once
  ASSIGN_OR_RETURN(const SSTableScan scan, SSTableScan::of(*data, [&](int64_t cells) {
                     if (has_told) return;
                     const double complete = std::min(1.0, static_cast<double>(cells) / total);
                     has_told = static_cast<int>(complete * 100) != 0;
                     if (has_told) print_progress(complete);
                   }));
  context_.out << "\r" << std::string(80, ' ') << "\r";
  field("Size", static_cast<int64_t>(data->size()));
  field("Partitions", scan.partitions);
  field("Rows", scan.rows);
  field("Tombstones", scan.tombstones);
  field("Cells", scan.cells);
  const Type& key_type = *data->table()->partition_key[0]->type;
  field("Widest Partitions", "");
  context_.out << leaders_text(scan.widest.sorted(), key_type, false);
  field("Largest Partitions", "");
  context_.out << leaders_text(scan.largest.sorted(), key_type, true);
  auto leaders = scan.most_tombstones.sorted();
  std::erase_if(leaders, [](const LeadingPartition& partition) { return partition.value == 0; });
  const std::string tombstones = leaders_text(leaders, key_type, false);
  // The same limit as Cassandra's, which leaves out a single partition with a short key.
  constexpr size_t kTooShort = 10;
  if (tombstones.size() > kTooShort) {
    field("Tombstone Leaders", "");
    context_.out << tombstones;
  }
  return {};
}

void Viewer::print_times(const SSTableFile& file) {
  const Statistics& s = file.statistics;
  field("Minimum timestamp", date_text(s.min_timestamp, kMicroseconds), std::to_string(s.min_timestamp));
  field("Maximum timestamp", date_text(s.max_timestamp, kMicroseconds), std::to_string(s.max_timestamp));
  const int64_t micros =
      static_cast<int64_t>(static_cast<uint64_t>(s.max_timestamp) - static_cast<uint64_t>(s.min_timestamp));
  const int64_t seconds = micros / 1000000;
  field("Duration", fmt::format("Days: {} Hours: {} Minutes: {} Seconds: {}", seconds / 86400, seconds / 3600 % 24,
                                seconds / 60 % 60, seconds % 60));
  field("SSTable min local deletion time", deletion_text(s.min_local_deletion_time),
        std::to_string(s.min_local_deletion_time));
  field("SSTable max local deletion time", deletion_text(s.max_local_deletion_time),
        std::to_string(s.max_local_deletion_time));
  field("Compressor", file.compressor.empty() ? "-" : "org.apache.cassandra.io.compress." + file.compressor);
  if (!file.compressor.empty()) field("Compression ratio", double_to_text(s.compression_ratio));
  field("TTL min", s.min_ttl, duration_words(s.min_ttl));
  field("TTL max", s.max_ttl, duration_words(s.max_ttl));
}

Status Viewer::print_keys(const SSTableFile& file) {
  ASSIGN_OR_RETURN(const TypePtr type, types::parse_class(file.statistics.key_type));
  Bytes first = file.statistics.first_key, last = file.statistics.last_key;
  if (!file.version->has_key_range) {
    ASSIGN_OR_RETURN(const auto data, SSTableData::open(context_.disk, file));
    first = Bytes(data->first_key());
    last = Bytes(data->last_key());
  }
  auto token = [&](const Bytes& key) {
    return file.is_local() ? type->to_text(key) : std::to_string(murmur3_token(key));
  };
  field("First token", token(first), type->to_text(first));
  field("Last token", token(last), type->to_text(last));
  return {};
}

Result<std::string> Viewer::covered_clusterings(const SSTableFile& file) const {
  const Statistics& s = file.statistics;
  std::vector<TypePtr> types;
  std::vector<const Type*> pointers;
  for (const std::string& name : s.clustering_types) {
    ASSIGN_OR_RETURN(TypePtr type, types::parse_class(name));
    types.push_back(std::move(type));
    pointers.push_back(types.back().get());
  }
  std::array<std::string, 2> ends;
  size_t count = 0;
  std::array<ClusteringKind, 2> kinds{ClusteringKind::kInclStartBound, ClusteringKind::kInclEndBound};
  for (size_t i = 0; i < 2; ++i) {
    Reader in(i == 0 ? s.covered_start : s.covered_end);
    std::vector<BytesView> values;
    if (file.version->has_legacy_min_max) {
      for (uint32_t n = in.u32(); n > 0 && !in.failed(); --n) values.push_back(in.take(in.u16()));
    } else {
      read_clustering_prefix(in, pointers, &kinds[i], &values);
    }
    if (in.failed() || values.size() > types.size()) {
      return Error(ErrorCode::kCorruption, file.descriptor.file("Statistics.db") + ": malformed clusterings");
    }
    count += values.size();
    for (size_t j = 0; j < values.size(); ++j) ends[i] += (j == 0 ? "" : ":") + types[j]->to_text(values[j]);
  }
  // Cassandra tells this only of what it makes itself, and does of the bounds of old.
  if (file.version->has_legacy_min_max && count == 0) return std::string("ALL");
  return std::string(kinds[0] == ClusteringKind::kInclStartBound ? "[" : "(") + ends[0] + ", " + ends[1] +
         (kinds[1] == ClusteringKind::kInclEndBound ? "]" : ")");
}

Status Viewer::print_stats(const SSTableFile& file) {
  const Statistics& s = file.statistics;
  const SSTableInfo info = make_sstable_info(file.descriptor, s);
  ASSIGN_OR_RETURN(const std::string covered, covered_clusterings(file));
  field("Covered clusterings", covered);
  field("Estimated droppable tombstones",
        double_to_text(info.droppable_before(context_.now_millis / 1000 - gc_grace_)));
  field("SSTable Level", s.level);
  field("Repaired at", s.repaired_at, date_text(s.repaired_at, kMilliseconds));
  field("Originating host id", s.host_id ? Text(s.host_id->to_string()) : std::nullopt);
  field("Pending repair", s.pending_repair ? Text(s.pending_repair->to_string()) : std::nullopt);
  std::string intervals;
  for (const auto& [from, to] : s.commit_log_intervals) {
    intervals += (intervals.empty() ? "" : ", ") + position_text(from) + "=" + position_text(to);
  }
  field("Replay positions covered", "{" + intervals + "}");
  field("totalColumnsSet", static_cast<int64_t>(s.cells));
  field("totalRows", static_cast<int64_t>(s.rows));
  print_histograms(s, info);
  field("Local token space coverage", double_to_text(s.token_space_coverage));
  return {};
}

void Viewer::print_histograms(const Statistics& statistics, const SSTableInfo& info) {
  auto points = [](const auto& from) { return std::vector<std::pair<int64_t, uint64_t>>(from.begin(), from.end()); };
  auto drop_time = [&](int64_t point) { return named(point, date_of_seconds(point)); };
  auto size = [&](int64_t point) { return named(point, byte_text(point)); };
  auto number = [](int64_t point) { return std::to_string(point); };
  field("Estimated tombstone drop times", "");
  context_.out << draw_histogram(points(statistics.tombstones), "Drop Time", drop_time, colors_);
  field("Partition Size", "");
  context_.out << draw_histogram(points(info.partition_sizes), "Size (bytes)", size, colors_);
  field("Column Count", "");
  context_.out << draw_histogram(points(info.cells_per_partition), "Columns", number, colors_);
}

void Viewer::print_header(const Statistics& s) {
  const EncodingStats& encoding = s.encoding_stats;
  field("EncodingStats minTTL", encoding.min_ttl, duration_words(encoding.min_ttl));
  field("EncodingStats minLocalDeletionTime", date_of_seconds(encoding.min_local_deletion_time),
        std::to_string(encoding.min_local_deletion_time));
  field("EncodingStats minTimestamp", date_text(encoding.min_timestamp, unit_), std::to_string(encoding.min_timestamp));
  field("KeyType", s.key_type);
  std::string types;
  for (const std::string& type : s.clustering_types) types += (types.empty() ? "" : ", ") + type;
  field("ClusteringTypes", "[" + types + "]");
  field("StaticColumns", columns_text(s.static_columns));
  field("RegularColumns", columns_text(s.regular_columns));
  field("IsTransient", s.is_transient ? "true" : "false");
}

int metadata_usage(const ToolContext& context, const std::string& error) {
  context.err << error << "\n" << kMetadataUsage;
  return 1;
}

}  // namespace

int run_sstablemetadata(const std::vector<std::string>& arguments, const ToolContext& context) {
  const CommandLine line = CommandLine::parse({{'c', "colors"},
                                               {'u', "unicode"},
                                               {'g', "gc_grace_seconds", 1, true},
                                               {'t', "timestamp_unit", 1, true},
                                               {'h', "help"},
                                               {'s', "scan"}},
                                              arguments);
  if (!line.error.empty()) return metadata_usage(context, line.error);
  if (line.words.empty()) return metadata_usage(context, "You must supply at least one sstable");
  int32_t gc_grace = 0;
  if (line.has_argument('g')) {
    const std::string& text = line.options.at('g').front();
    const auto parsed = parse_java_int(text);
    if (!parsed) return fail(context, "java.lang.NumberFormatException", "For input string: \"" + text + "\"");
    gc_grace = *parsed;
  }
  TimeUnit unit = kMicroseconds;
  if (line.has_argument('t')) {
    const std::string& name = line.options.at('t').front();
    const auto found =
        std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& known) { return known.name == name; });
    if (found == kUnits.end()) {
      return fail(context, "java.lang.IllegalArgumentException",
                  "No enum constant java.util.concurrent.TimeUnit." + name);
    }
    unit = *found;
  }
  Viewer viewer(context, {line.has('c'), line.has('u')}, gc_grace, unit, line.has('s'));
  for (const std::string& word : line.words) {
    const std::string path = word.starts_with('/') ? word : context.directory + "/" + word;
    if (!context.disk.exists(path)) {
      context.out << "No such file: " << word << "\n";
      continue;
    }
    const auto descriptor = descriptor_of(path);
    if (!descriptor.ok()) return fail(context, "java.lang.IllegalArgumentException", descriptor.error().message());
    const auto file = SSTableFile::open(context.disk, *descriptor);
    if (!file.ok()) return fail(context, "java.io.IOException", file.error().message());
    const Status status = viewer.print(*file);
    if (!status.ok())
      return fail(context, "org.apache.cassandra.io.sstable.CorruptSSTableException", status.error().message());
  }
  return 0;
}

}  // namespace cassandra_like::sstable_tools
