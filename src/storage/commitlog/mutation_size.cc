#include "storage/commitlog/mutation_size.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace cassandra_like {
namespace {

// The partitions that a refused mutation is of, the largest first, in at most about a kilobyte, as
// MutationExceededMaxSizeException lists them.
std::string largest_keys(const Mutation& mutation) {
  constexpr size_t kMaxLength = 1024;
  std::vector<std::pair<size_t, const PartitionUpdate*>> updates;
  for (const PartitionUpdate& update : mutation.updates) {
    Bytes bytes;
    serialize_update(update, bytes);
    updates.emplace_back(bytes.size(), &update);
  }
  std::stable_sort(updates.begin(), updates.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (size_t i = 0; i < updates.size(); ++i) {
    const TableMetadata& table = *updates[i].second->table;
    std::string key = table.name + "." + table.partition_key_type()->to_text(mutation.key.key);
    if (i > 0 && out.size() + key.size() + 2 > kMaxLength)
      return out + fmt::format(" and {} more.", updates.size() - i);
    out += (i > 0 ? ", " : "") + key;
  }
  return out;
}

}  // namespace

Error oversized_mutation(const Mutation& mutation, size_t size, size_t most) {
  return invalid(fmt::format("Rejected an oversized mutation ({}/{}) for keyspace: {}. Top keys are: {}",
                             size + kRecordOverhead, most, mutation.keyspace, largest_keys(mutation)));
}

}  // namespace cassandra_like
