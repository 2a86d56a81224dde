#include "coordinator/read/read_warnings.h"

#include <algorithm>

#include <fmt/format.h>

#include "read/query_text.h"

namespace cassandra_like {
namespace {

// In the order in which Cassandra tells of them.
struct KindOfWarning {
  ParamType fail, warn;
  RequestFailureReason reason;
  const char* abort_text;  // of nodes, the largest number, the query
  const char* warn_text;
};
constexpr KindOfWarning kKindsOfWarnings[] = {
    {ParamType::kTombstoneFail, ParamType::kTombstoneWarning, RequestFailureReason::kReadTooManyTombstones,
     "{} nodes scanned over {} tombstones and aborted the query {} (see tombstone_failure_threshold)",
     "{} nodes scanned up to {} tombstones and issued tombstone warnings for query {} (see tombstone_warn_threshold)"},
    {ParamType::kLocalReadSizeFail, ParamType::kLocalReadSizeWarn, RequestFailureReason::kReadSize,
     "{} nodes loaded over {} bytes and aborted the query {} (see local_read_size_fail_threshold)",
     "{} nodes loaded over {} bytes and issued local read size warnings for query {} (see "
     "local_read_size_warn_threshold)"},
    {ParamType::kRowIndexReadSizeFail, ParamType::kRowIndexReadSizeWarn, RequestFailureReason::kReadSize,
     "{} nodes loaded over {} bytes in RowIndexEntry and aborted the query {} (see row_index_size_fail_threshold)",
     "{} nodes loaded over {} bytes in RowIndexEntry and issued warnings for query {} (see "
     "row_index_size_warn_threshold)"},
    {ParamType::kTooManyReferencedIndexesFail, ParamType::kTooManyReferencedIndexesWarn,
     RequestFailureReason::kReadTooManyIndexes,
     "{} nodes referenced {} SSTable indexes for a query without restrictions on partition key and aborted the query "
     "{} "
     "(see sai_sstable_indexes_per_query_fail_threshold)",
     "{} nodes referenced more than allowed number of indexes without restrictions on partition key, maximum on a node "
     "being {} indexes, and issued warnings for query {} (see sai_sstable_indexes_per_query_warn_threshold)"},
};

uint64_t number_of(BytesView value) {
  uint64_t number = 0;
  for (const char byte : value) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

std::string text_of(const char* form, size_t nodes, uint64_t most, const std::string& query) {
  return fmt::format(fmt::runtime(form), nodes, most, query);
}

}  // namespace

void ReadWarnings::Counter::add(const InetAddressAndPort& from, uint64_t value) {
  most = std::max(most, value);
  if (std::find(nodes.begin(), nodes.end(), from) == nodes.end()) nodes.push_back(from);
}

std::optional<RequestFailureReason> ReadWarnings::add(const MessageParams& params, const InetAddressAndPort& from) {
  for (size_t i = 0; i < kKinds; ++i) {
    if (const auto failed = params.find(kKindsOfWarnings[i].fail)) {
      kinds_[i].aborts.add(from, number_of(*failed));
      return kKindsOfWarnings[i].reason;
    }
  }
  for (size_t i = 0; i < kKinds; ++i) {
    if (const auto warned = params.find(kKindsOfWarnings[i].warn)) kinds_[i].warnings.add(from, number_of(*warned));
  }
  return std::nullopt;
}

void ReadWarnings::add(ParamType type, uint64_t value, const InetAddressAndPort& from) {
  for (size_t i = 0; i < kKinds; ++i) {
    if (kKindsOfWarnings[i].fail == type) kinds_[i].aborts.add(from, value);
    if (kKindsOfWarnings[i].warn == type) kinds_[i].warnings.add(from, value);
  }
}

void ReadWarnings::merge(const ReadWarnings& other) {
  for (size_t i = 0; i < kKinds; ++i) {
    const Kind& kind = other.kinds_[i];
    for (const InetAddressAndPort& node : kind.warnings.nodes) kinds_[i].warnings.add(node, kind.warnings.most);
    for (const InetAddressAndPort& node : kind.aborts.nodes) kinds_[i].aborts.add(node, kind.aborts.most);
  }
}

void ReadWarnings::clear() {
  for (Kind& kind : kinds_) kind = Kind();
}

bool ReadWarnings::empty() const {
  return std::all_of(kinds_.begin(), kinds_.end(),
                     [](const Kind& kind) { return kind.warnings.nodes.empty() && kind.aborts.nodes.empty(); });
}

std::string ReadWarnings::abort_text(const ReadCommand& command) const {
  for (size_t i = 0; i < kKinds; ++i) {
    const Counter& aborts = kinds_[i].aborts;
    if (aborts.nodes.empty()) continue;
    return text_of(kKindsOfWarnings[i].abort_text, aborts.nodes.size(), aborts.most, query_text(command));
  }
  return "";
}

std::vector<std::string> ReadWarnings::texts(const ReadCommand& command) const {
  std::vector<std::string> out;
  const std::string query = query_text(command);
  for (size_t i = 0; i < kKinds; ++i) {
    const auto& [warnings, aborts] = kinds_[i];
    if (!aborts.nodes.empty()) {
      out.push_back(text_of(kKindsOfWarnings[i].abort_text, aborts.nodes.size(), aborts.most, query));
    }
    if (!warnings.nodes.empty()) {
      out.push_back(text_of(kKindsOfWarnings[i].warn_text, warnings.nodes.size(), warnings.most, query));
    }
  }
  return out;
}

std::string loggable_tokens(const ReadCommand& command) {
  if (!command.range) return command.keys.empty() ? "" : fmt::format("token={}", command.keys[0].token);
  const KeyRange& range = *command.range;
  return fmt::format("token range: {}{}, {}{}", range.start_inclusive ? '[' : '(', range.start.token, range.end.token,
                     range.end_inclusive ? ']' : ')');
}

}  // namespace cassandra_like
