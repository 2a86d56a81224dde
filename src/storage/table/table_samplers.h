// The most active partitions of a table for a while: `nodetool toppartitions` (metrics.Sampler, FrequencySampler, MaxSampler).
// A table has samplers only while somebody asks: without them a request pays one branch.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "model/mutation.h"
#include "read/read_command.h"

namespace cassandra_like {

// In Cassandra's order (Sampler.SamplerType).
enum class SamplerType : uint8_t {
  kReads,
  kWrites,
  kLocalReadTime,
  kReadRowCount,
  kReadTombstoneCount,
  kReadSSTableCount,
  kWriteSize,
  kCasContentions,  // there are no conditional writes: it stays empty
};
inline constexpr std::array kSamplerNames{
    "READS",      "WRITES",         "LOCAL_READ_TIME", "READ_ROW_COUNT", "READ_TOMBSTONE_COUNT", "READ_SSTABLE_COUNT",
    "WRITE_SIZE", "CAS_CONTENTIONS"};
inline constexpr size_t kSamplers = kSamplerNames.size();

struct SamplingOrder {
  std::array<bool, kSamplers> wanted{};
  size_t capacity = 256;    // of each sampler
  size_t count = 10;        // of the answer
  int64_t until_nanos = 0;  // nothing is taken after this time
};

struct TopSample {
  Bytes item;  // a partition's key, or a query's text
  uint64_t count = 0, error = 0;
};
// By sampler, the greatest counts first.
using TopSamples = std::array<std::vector<TopSample>, kSamplers>;

class TableSamplers {
 public:
  explicit TableSamplers(const SamplingOrder& order) : order_(order) {}

  bool is_active(int64_t now_nanos) const { return now_nanos <= order_.until_nanos; }
  void read(const ReadCommand& command, const ReadStatistics& numbers, int64_t begun_nanos);
  void write(const PartitionUpdate& update, int64_t now_nanos);
  TopSamples finish() const;

 private:
  // The most frequent items (Space-Saving): one that is not known takes the place of the least, whose count is its error.
  struct Frequencies {
    struct Count {
      uint64_t count = 0, error = 0;
    };
    std::map<Bytes, Count, std::less<>> counts;
    void add(BytesView item, size_t capacity);
    std::vector<TopSample> top(size_t count) const;
  };
  // The items of the greatest values. One item may have several.
  struct Maxima {
    std::multimap<uint64_t, Bytes> items;
    void add(BytesView item, uint64_t value, size_t capacity);
    std::vector<TopSample> top(size_t count) const;
  };

  bool wants(SamplerType type) const { return order_.wanted[static_cast<size_t>(type)]; }
  void add_max(SamplerType type, BytesView item, uint64_t value);

  const SamplingOrder order_;
  Frequencies reads_, writes_;
  std::array<Maxima, kSamplers> maxima_;
};

}  // namespace cassandra_like
