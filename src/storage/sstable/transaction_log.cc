// Lines, and what a set of them says.
#include "storage/sstable/transaction_log.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "base/checksum.h"
#include "base/log.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like {

namespace {

constexpr std::string_view kEnding = ".log";
constexpr std::string_view kInfix = "txn_";
constexpr int64_t kMillisPerSecond = 1000;

constexpr std::array<std::string_view, 4> kRecordTypes{"ADD", "REMOVE", "COMMIT", "ABORT"};

std::string_view name_of(TransactionRecord::Type type) { return kRecordTypes[static_cast<size_t>(type)]; }

uint32_t checksum_of(const TransactionRecord& record) {
  Bytes bytes(record.sstable);
  bytes.append(name_of(record.type));
  const auto modified = static_cast<uint64_t>(record.modified_millis);
  append_be<uint32_t>(bytes, static_cast<uint32_t>(modified));
  append_be<uint32_t>(bytes, static_cast<uint32_t>(modified >> 32));
  append_be<uint32_t>(bytes, static_cast<uint32_t>(record.files));
  return crc32(bytes);
}

template <class T>
bool read_number(std::string_view text, T* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

Error corrupt_log(std::string message) { return Error(ErrorCode::kCorruption, std::move(message)); }

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string prefix_of(const SSTableDescriptor& sstable) { return sstable.file(""); }

bool names_what_it_must(const TransactionRecord& record) {
  const bool has_file = record.type == TransactionRecord::Type::kAdd || record.type == TransactionRecord::Type::kRemove;
  return has_file == !record.sstable.empty();
}

// The files of an SSTable, the oldest first; those that were written in the same millisecond by name.
Result<std::vector<DirectoryEntry>> files_of(Disk& disk, const std::string& directory, std::string_view prefix) {
  ASSIGN_OR_RETURN(auto entries, disk.list(directory));
  std::erase_if(entries, [&](const DirectoryEntry& e) { return e.is_directory || !e.name.starts_with(prefix); });
  std::stable_sort(entries.begin(), entries.end(), [](const DirectoryEntry& a, const DirectoryEntry& b) {
    return a.modified_millis < b.modified_millis;
  });
  return entries;
}

// Statistics.db is changed in place, and what ends in .tmp comes and goes.
int64_t youngest(const std::vector<DirectoryEntry>& files) {
  int64_t at = 0;
  for (const DirectoryEntry& file : files) {
    if (file.name.ends_with(components::kStatistics) || file.name.ends_with(".tmp")) continue;
    at = std::max(at, file.modified_millis);
  }
  return at;
}

using Lines = std::vector<std::string>;

Result<Lines> read_lines(Disk& disk, const std::string& path) {
  ASSIGN_OR_RETURN(auto file, disk.open(path));
  std::string content(file->size(), '\0');
  if (!content.empty()) TRY(file->read(0, content));
  Lines lines = absl::StrSplit(content, '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace

std::string TransactionRecord::line() const {
  return fmt::format("{}:[{},{},{}][{}]", name_of(type), sstable, modified_millis, files, checksum_of(*this));
}

std::optional<TransactionRecord> TransactionRecord::parse(std::string_view line) {
  const size_t colon = line.find(":[");
  const size_t end = line.rfind("][");
  if (colon == line.npos || end == line.npos || end < colon + 2 || !line.ends_with(']')) return std::nullopt;
  const std::string type = absl::AsciiStrToUpper(std::string(line.substr(0, colon)));
  auto found = std::find(kRecordTypes.begin(), kRecordTypes.end(), type);
  if (found == kRecordTypes.end()) return std::nullopt;
  TransactionRecord record;
  record.type = static_cast<Type>(found - kRecordTypes.begin());
  const std::string inside(line.substr(colon + 2, end - colon - 2));
  std::vector<std::string> parts = absl::StrSplit(inside, ',');
  uint32_t checksum = 0;
  if (parts.size() != 3 || !read_number(parts[1], &record.modified_millis) || !read_number(parts[2], &record.files) ||
      !read_number(line.substr(end + 2, line.size() - end - 3), &checksum)) {
    return std::nullopt;
  }
  record.sstable = parts[0];
  if (!names_what_it_must(record) || checksum != checksum_of(record)) return std::nullopt;
  return record;
}

TransactionRecord addition_of(const SSTableDescriptor& sstable) {
  return {TransactionRecord::Type::kAdd, prefix_of(sstable), 0, 0};
}

Result<TransactionRecord> removal_of(Disk& disk, const SSTableDescriptor& sstable) {
  TransactionRecord record{TransactionRecord::Type::kRemove, prefix_of(sstable), 0, 0};
  ASSIGN_OR_RETURN(auto files, files_of(disk, sstable.directory, record.file_name_prefix()));
  record.modified_millis = youngest(files);
  record.files = static_cast<int32_t>(files.size());
  return record;
}

// ((format-)?version_)?txn_operation_id.log
bool is_transaction_log(std::string_view file_name) {
  if (!file_name.ends_with(kEnding)) return false;
  const size_t at = file_name.find(kInfix);
  if (at == file_name.npos || file_name.find('_', at + kInfix.size()) == file_name.npos) return false;
  return at == 0 || (at >= 3 && file_name[at - 1] == '_');
}

std::string transaction_log_name(std::string_view operation, const Uuid& id) {
  return fmt::format("bti-da_{}{}_{}{}", kInfix, operation, id.to_string(), kEnding);
}

Result<TransactionLog> TransactionLog::read(Disk& disk, std::vector<std::string> copies) {
  TransactionLog log;
  std::vector<std::pair<std::string, Lines>> found;
  size_t most = 0, torn_line = 0;
  for (std::string& copy : copies) {
    if (!disk.exists(copy)) continue;
    ASSIGN_OR_RETURN(Lines lines, read_lines(disk, copy));
    if (!lines.empty() && !TransactionRecord::parse(lines.back())) {
      torn_line = std::max(torn_line, lines.size());
      lines.pop_back();
    }
    most = std::max(most, lines.size());
    found.emplace_back(std::move(copy), std::move(lines));
  }
  log.torn_ = torn_line > most;
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  for (auto& [path, lines] : found) log.copies_.push_back(std::move(path));
  for (size_t i = 0; i < most; ++i) {
    const std::string& line = found.back().second[i];
    for (const auto& [path, lines] : found) {
      if (i < lines.size() && lines[i] != line) {
        return corrupt_log(
            fmt::format("{} and its copies in other directories differ in line {}: move the log away that is wrong",
                        log.name(), i + 1));
      }
    }
    TRY(log.take_line(line, i + 1, i + 1 == most));
  }
  return log;
}

Status TransactionLog::take_line(std::string_view line, size_t number, bool is_last) {
  std::optional<TransactionRecord> record = TransactionRecord::parse(line);
  if (!record) {
    return corrupt_log(
        fmt::format("{} is damaged in line {}: find out which SSTables it names are whole, move the others "
                    "and the log away",
                    name(), number));
  }
  const bool is_final =
      record->type == TransactionRecord::Type::kCommit || record->type == TransactionRecord::Type::kAbort;
  if (is_final && !is_last) {
    return corrupt_log(
        fmt::format("{} goes on behind its last record, in line {}: move the log away", name(), number + 1));
  }
  committed_ = record->type == TransactionRecord::Type::kCommit;
  if (!is_final) records_.push_back(std::move(*record));
  return {};
}

std::vector<std::string> TransactionLog::directories() const {
  std::vector<std::string> out;
  for (const std::string& copy : copies_) out.push_back(directory_of(copy));
  return out;
}

std::vector<std::string> TransactionLog::void_sstables() const {
  const auto type = committed_ ? TransactionRecord::Type::kRemove : TransactionRecord::Type::kAdd;
  std::vector<std::string> out;
  for (const TransactionRecord& record : records_) {
    if (record.type == type) out.emplace_back(record.file_name_prefix());
  }
  return out;
}

std::vector<std::string> TransactionLog::sstables() const {
  std::vector<std::string> out;
  for (const TransactionRecord& record : records_) out.emplace_back(record.file_name_prefix());
  return out;
}

Status TransactionLog::verify(Disk& disk) const {
  for (const TransactionRecord& record : records_) {
    if (record.type != TransactionRecord::Type::kRemove) continue;
    std::vector<DirectoryEntry> files;
    for (const std::string& directory : directories()) {
      ASSIGN_OR_RETURN(auto here, files_of(disk, directory, record.file_name_prefix()));
      files.insert(files.end(), here.begin(), here.end());
    }
    const int64_t now = youngest(files);
    const bool is_another = now > 0 && now / kMillisPerSecond != record.modified_millis / kMillisPerSecond;
    const bool is_cut = torn_ && files.size() < static_cast<size_t>(record.files);
    if (!is_another && !is_cut) continue;
    return corrupt_log(fmt::format(
        "{} says of the files {}* {}: if they were put there since, move the log away; else move them and the log away",
        name(), record.sstable,
        is_another ? fmt::format("that they were written at {} ms and may be removed, but they are of {} ms",
                                 record.modified_millis, now)
                   : fmt::format("that there are {}, but there are {}", record.files, files.size())));
  }
  return {};
}

Status remove_files(Disk& disk, const std::string& directory, std::string_view prefix) {
  ASSIGN_OR_RETURN(auto files, files_of(disk, directory, prefix));
  for (const DirectoryEntry& file : files) TRY(disk.remove(directory + "/" + file.name));
  return {};
}

Task<Status> TransactionLog::finish(Disk* disk) {
  CO_TRY(verify(*disk));
  const std::vector<std::string> gone = void_sstables();
  LOG_INFO("Finishing {}: it is {}, so {} SSTables are removed", name(), committed_ ? "committed" : "not committed",
           gone.size());
  // Who wrote the last line may have been killed because its sync failed: it has to be on the disk before a file goes.
  for (const std::string& copy : copies_) {
    CO_ASSIGN_OR_RETURN(const auto file, disk->open(copy));
    const uint64_t size = file->size();
    Status stored = co_await disk->rewrite(copy, 0, size);
    if (!stored.ok()) co_return stored;
  }
  for (const std::string& directory : directories()) {
    for (const std::string& prefix : gone) CO_TRY(remove_files(*disk, directory, prefix));
    // No file may come back after the log is gone.
    Status synced = co_await disk->sync_directory(directory);
    if (!synced.ok()) co_return synced;
  }
  // The longest is last: of the others, none is left when the one with COMMIT goes.
  for (const std::string& copy : copies_) {
    CO_TRY(disk->remove(copy));
    Status synced = co_await disk->sync_directory(directory_of(copy));
    if (!synced.ok()) co_return synced;
  }
  co_return Status();
}

namespace {

Result<std::vector<std::string>> collect(Disk& disk, const std::string& directory,
                                         std::vector<std::string> (TransactionLog::*names)() const) {
  std::vector<std::string> out;
  ASSIGN_OR_RETURN(auto entries, disk.list(directory));
  for (const DirectoryEntry& entry : entries) {
    if (entry.is_directory || !is_transaction_log(entry.name)) continue;
    ASSIGN_OR_RETURN(auto log, TransactionLog::read(disk, {directory + "/" + entry.name}));
    for (std::string& prefix : (log.*names)()) out.push_back(std::move(prefix));
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> void_sstables(Disk& disk, const std::string& directory) {
  return collect(disk, directory, &TransactionLog::void_sstables);
}

Result<std::vector<std::string>> logged_sstables(Disk& disk, const std::string& directory) {
  return collect(disk, directory, &TransactionLog::sstables);
}

}  // namespace cassandra_like
