// Packing a shard into the node bytes of a uuid.
#include "storage/sstable/sstable_ids.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "storage/sstable/sstable.h"

namespace cassandra_like {

namespace {
constexpr uint64_t kMagic = 0xC34C4B;
}

std::optional<SSTableOwner> sstable_owner(std::string_view id) {
  auto uuid = SSTableDescriptor::uuid_of(id);
  if (!uuid) return std::nullopt;
  auto node = load_be<uint64_t>(uuid->view().data() + 8) & 0xFFFFFFFFFFFFULL;
  if (node >> 24 != kMagic || (node & 0xFF) != 0) return std::nullopt;
  return SSTableOwner{static_cast<unsigned>(node >> 8 & 0xFF), static_cast<unsigned>(node >> 16 & 0xFF)};
}

std::optional<unsigned> owning_shard(const std::optional<SSTableOwner>& writer, unsigned shards) {
  if (shards == 1) return 0;
  if (!writer || writer->shards % shards != 0) return std::nullopt;
  return writer->shard / (writer->shards / shards);
}

std::optional<uint32_t> sequence_number(std::string_view id) {
  uint32_t number = 0;
  const char* end = id.data() + id.size();
  const auto [parsed, error] = std::from_chars(id.data(), end, number);
  const bool is_int = error == std::errc() && parsed == end && number <= std::numeric_limits<int32_t>::max();
  return is_int && id.size() <= 10 ? std::optional(number) : std::nullopt;
}

std::string SSTableSequence::next(const SSTableOwner& self) {
  do {
    ++highest_;
  } while (highest_ % self.shards != self.shard);
  return std::to_string(highest_);
}

SSTableIds::SSTableIds(Clock& clock, Random& random, SSTableOwner owner) : clock_(clock) {
  uint64_t sequence = random.next() & 0x3FFF;
  clock_and_node_ =
      uint64_t{1} << 63 | sequence << 48 | kMagic << 24 | uint64_t{owner.shards} << 16 | uint64_t{owner.shard} << 8;
}

std::string SSTableIds::next() {
  uint64_t now = static_cast<uint64_t>(clock_.wall_micros()) * 10 + kUuidEpochOffset;
  last_ = std::max(now, last_ + 1);
  return SSTableDescriptor::id_of(Uuid::time_based(last_, clock_and_node_));
}

}  // namespace cassandra_like
