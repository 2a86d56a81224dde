// How large a mutation may be (db.IMutation.validateSize, max_mutation_size).
#pragma once

#include "model/mutation.h"
#include "storage/commitlog/segment_format.h"

namespace cassandra_like {

// kInvalid, in Cassandra's words.
Error oversized_mutation(const Mutation& mutation, size_t size, size_t most);

// size: that of the serialized mutation. It may have `most` bytes together with what a commit log adds.
inline Status check_mutation_size(const Mutation& mutation, size_t size, size_t most) {
  if (size + kRecordOverhead <= most) return {};
  return oversized_mutation(mutation, size, most);
}

}  // namespace cassandra_like
