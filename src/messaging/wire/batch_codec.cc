#include "messaging/wire/batch_codec.h"

#include "base/vint.h"

namespace cassandra_like {

void append_batch(Bytes& out, const Uuid& id, int64_t created_micros, std::span<const BytesView> mutations) {
  out.append(id.view());
  append_be(out, created_micros);
  append_unsigned_vint(out, mutations.size());
  for (BytesView mutation : mutations) {
    append_unsigned_vint(out, mutation.size());
    out.append(mutation);
  }
}

Result<Batch> decode_batch(BytesView body) {
  Reader in(body);
  Batch out;
  const BytesView id = in.take(16);
  out.created_micros = in.i64();
  const uint64_t count = read_unsigned_vint(in);
  // A mutation has at least the byte of its size.
  if (in.failed() || count > in.remaining()) return Error(ErrorCode::kCorruption, "Corrupt batch: its head");
  out.id = Uuid::from_bytes(id);
  for (uint64_t i = 0; i < count && !in.failed(); ++i) out.mutations.push_back(in.take(read_unsigned_vint(in)));
  if (in.failed() || !in.at_end()) return Error(ErrorCode::kCorruption, "Corrupt batch: its mutations");
  return out;
}

Result<Uuid> decode_batch_id(BytesView body) {
  if (body.size() != 16) return Error(ErrorCode::kCorruption, "Corrupt batch id");
  return Uuid::from_bytes(body);
}

}  // namespace cassandra_like
