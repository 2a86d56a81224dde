#include "storage/table/table_samplers.h"

#include <algorithm>

#include "model/data_size.h"
#include "read/query_text.h"

namespace cassandra_like {

void TableSamplers::Frequencies::add(BytesView item, size_t capacity) {
  if (auto known = counts.find(item); known != counts.end()) {
    ++known->second.count;
    return;
  }
  uint64_t least = 0;
  if (counts.size() >= capacity) {
    auto before = [](const auto& a, const auto& b) { return a.second.count < b.second.count; };
    auto victim = std::min_element(counts.begin(), counts.end(), before);
    least = victim->second.count;
    counts.erase(victim);
  }
  counts.emplace(Bytes(item), Count{least + 1, least});
}

std::vector<TopSample> TableSamplers::Frequencies::top(size_t count) const {
  std::vector<TopSample> out;
  for (const auto& [item, each] : counts) out.push_back({item, each.count, each.error});
  std::sort(out.begin(), out.end(), [](const TopSample& a, const TopSample& b) {
    return a.count != b.count ? a.count > b.count : a.item < b.item;
  });
  out.resize(std::min(out.size(), count));
  return out;
}

void TableSamplers::Maxima::add(BytesView item, uint64_t value, size_t capacity) {
  if (value == 0) return;
  if (items.size() >= capacity) {
    if (items.begin()->first >= value) return;
    items.erase(items.begin());
  }
  items.emplace(value, Bytes(item));
}

std::vector<TopSample> TableSamplers::Maxima::top(size_t count) const {
  std::vector<TopSample> out;
  for (auto it = items.rbegin(); it != items.rend() && out.size() < count; ++it)
    out.push_back({it->second, it->first, 0});
  return out;
}

void TableSamplers::add_max(SamplerType type, BytesView item, uint64_t value) {
  if (wants(type)) maxima_[static_cast<size_t>(type)].add(item, value, order_.capacity);
}

// The numbers of a partition are those of a read of it alone.
void TableSamplers::read(const ReadCommand& command, const ReadStatistics& numbers, int64_t begun_nanos) {
  if (!is_active(numbers.ended)) return;
  if (wants(SamplerType::kLocalReadTime)) {
    const auto micros = static_cast<uint64_t>(numbers.ended - begun_nanos) / 1000;
    add_max(SamplerType::kLocalReadTime, query_text(command), micros);
  }
  if (command.range) return;
  if (wants(SamplerType::kReads)) {
    for (const DecoratedKey& key : command.keys) reads_.add(key.key, order_.capacity);
  }
  if (command.keys.size() != 1) return;
  const BytesView key = command.keys[0].key;
  add_max(SamplerType::kReadRowCount, key, numbers.rows);
  add_max(SamplerType::kReadTombstoneCount, key, numbers.tombstones);
  add_max(SamplerType::kReadSSTableCount, key, numbers.sstables);
}

void TableSamplers::write(const PartitionUpdate& update, int64_t now_nanos) {
  if (!is_active(now_nanos)) return;
  if (wants(SamplerType::kWrites)) writes_.add(update.key.key, order_.capacity);
  if (wants(SamplerType::kWriteSize)) add_max(SamplerType::kWriteSize, update.key.key, data_size(update));
}

TopSamples TableSamplers::finish() const {
  TopSamples out;
  for (size_t i = 0; i < kSamplers; ++i) {
    // MaxSampler.finishSampling gives one more than it is asked for.
    if (order_.wanted[i]) out[i] = maxima_[i].top(order_.count + 1);
  }
  if (wants(SamplerType::kReads)) out[static_cast<size_t>(SamplerType::kReads)] = reads_.top(order_.count);
  if (wants(SamplerType::kWrites)) out[static_cast<size_t>(SamplerType::kWrites)] = writes_.top(order_.count);
  return out;
}

}  // namespace cassandra_like
