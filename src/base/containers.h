// Hash tables keyed by strings that can be looked up by view. Their iteration order depends on a hash seed,
// so it must never reach an output: sort first.
#pragma once

#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"

namespace cassandra_like {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return absl::Hash<std::string_view>{}(s); }
};

template <class V>
using StringMap = absl::flat_hash_map<std::string, V, StringHash, std::equal_to<>>;
using StringSet = absl::flat_hash_set<std::string, StringHash, std::equal_to<>>;

}  // namespace cassandra_like
