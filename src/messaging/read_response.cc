#include "messaging/read_response.h"

#include "base/vint.h"

namespace cassandra_like {

namespace {

// No digest; an empty digest of repaired data, conclusive.
constexpr char kHead[] = {0, 0, 1};
constexpr size_t kRoom = sizeof kHead + kMaxVintSize;

}  // namespace

DataResponse::DataResponse() : bytes_(kRoom, 0) {}

BytesView DataResponse::finish() {
  const size_t size = bytes_.size() - kRoom;
  const size_t at = kMaxVintSize - unsigned_vint_size(size);
  Bytes head(kHead, sizeof kHead);
  append_unsigned_vint(head, size);
  bytes_.replace(at, head.size(), head);
  return BytesView(bytes_).substr(at);
}

void append_digest_response(Bytes& out, BytesView digest) {
  append_unsigned_vint(out, digest.size());
  out.append(digest);
}

Result<ReadResponse> parse_read_response(BytesView body) {
  Reader in(body);
  ReadResponse out;
  out.digest = in.take(read_unsigned_vint(in));
  if (out.digest.empty()) {
    out.repaired_digest = in.take(read_unsigned_vint(in));
    out.is_conclusive = in.u8() != 0;
    out.data = in.take(read_unsigned_vint(in));
  }
  if (in.failed() || !in.at_end()) return Error(ErrorCode::kCorruption, "Corrupt read response");
  return out;
}

}  // namespace cassandra_like
