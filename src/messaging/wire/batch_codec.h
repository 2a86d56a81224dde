// Bodies of the batchlog's messages, the same in messaging versions 12 and 13:
//
//   BATCH_STORE_REQ  := id:16 (a time uuid), created:i64 (microseconds since 1970), vint count, (vint size, mutation)*
//                                                                                 batchlog.Batch.Serializer
//   BATCH_REMOVE_REQ := id:16                                                     utils.TimeUUID.Serializer
//
// The responses have no body.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"

namespace cassandra_like {

// Mutations as bytes of the message's version: views into the body.
struct Batch {
  Uuid id;
  int64_t created_micros = 0;
  std::vector<BytesView> mutations;
};
void append_batch(Bytes& out, const Uuid& id, int64_t created_micros, std::span<const BytesView> mutations);
Result<Batch> decode_batch(BytesView body);

inline void append_batch_id(Bytes& out, const Uuid& id) { out.append(id.view()); }
Result<Uuid> decode_batch_id(BytesView body);

}  // namespace cassandra_like
