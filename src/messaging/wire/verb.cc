#include "messaging/wire/verb.h"

#include <algorithm>

#include "base/result.h"

namespace cassandra_like {

namespace {

constexpr std::array<VerbInfo, kVerbCount> kVerbTable{{
#define CASSANDRA_LIKE_VERB_ROW(name, id, text, priority, timeout, is_response, response) \
  {Verb::name, text, VerbPriority::priority, VerbTimeout::timeout, is_response, Verb::response},
    CASSANDRA_LIKE_VERBS(CASSANDRA_LIKE_VERB_ROW)
#undef CASSANDRA_LIKE_VERB_ROW
}};

constexpr size_t kDenseIds = 128;
constexpr uint8_t kNoIndex = 0xFF;

// By id, the place in the table; custom verbs, whose ids are large, are the last in it.
constexpr std::array<uint8_t, kDenseIds> make_verb_places() {
  std::array<uint8_t, kDenseIds> places{};
  places.fill(kNoIndex);
  for (size_t i = 0; i < kVerbTable.size(); ++i) {
    const auto id = static_cast<size_t>(kVerbTable[i].verb);
    if (id < kDenseIds) places[id] = static_cast<uint8_t>(i);
  }
  return places;
}
constexpr std::array<uint8_t, kDenseIds> kVerbPlaces = make_verb_places();

constexpr int64_t kFiveMinutes = 300'000;

}  // namespace

const VerbInfo* find_verb(uint64_t id) {
  if (id < kDenseIds) return kVerbPlaces[id] == kNoIndex ? nullptr : &kVerbTable[kVerbPlaces[id]];
  const VerbInfo& last = kVerbTable.back();
  return id == static_cast<uint64_t>(last.verb) ? &last : nullptr;
}

const VerbInfo& info_of(Verb verb) {
  const VerbInfo* info = find_verb(static_cast<uint64_t>(verb));
  CHECK(info != nullptr);
  return *info;
}

size_t verb_index(Verb verb) { return static_cast<size_t>(&info_of(verb) - kVerbTable.data()); }
const VerbInfo& verb_at(size_t index) { return kVerbTable[index]; }

int64_t VerbTimeouts::of(VerbTimeout timeout) const {
  const int64_t slow = std::max(rpc, kFiveMinutes);
  switch (timeout) {
    case VerbTimeout::kRpc:
      return rpc;
    case VerbTimeout::kWrite:
      return write;
    case VerbTimeout::kRead:
      return read;
    case VerbTimeout::kRange:
      return range;
    case VerbTimeout::kCounter:
      return counter;
    case VerbTimeout::kTruncate:
      return truncate;
    case VerbTimeout::kRepair:
      return repair;
    case VerbTimeout::kPing:
      return ping;
    case VerbTimeout::kLong:
      return slow;
    case VerbTimeout::kRepairWithBackoff:
      return repair_retries ? rpc : repair;
    case VerbTimeout::kRepairValidation:
      return merkle_tree_retries ? rpc : slow;
    case VerbTimeout::kNone:
      break;
  }
  CHECK(false);
}

const char* connection_type_name(ConnectionType type) {
  static constexpr const char* kNames[] = {"LEGACY_MESSAGES", "URGENT_MESSAGES", "SMALL_MESSAGES", "LARGE_MESSAGES",
                                           "STREAMING"};
  return kNames[static_cast<size_t>(type)];
}

}  // namespace cassandra_like
