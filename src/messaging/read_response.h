// The body of a READ_RSP (db.ReadResponse.Serializer), messaging versions 12 and 13:
//
//   response := digest | data
//   digest   := vint 16, MD5
//   data     := 0x00 (no digest), vint length, digest of repaired data, conclusive:u8, vint length, partitions
//
// The partitions are those of read/response_writer.h. Nobody asks for the digest of repaired data here: it is empty and
// conclusive.
#pragma once

#include <variant>

#include "base/result.h"

namespace cassandra_like {

// Data is written where it stays, behind room for its length, which is known last.
class DataResponse {
 public:
  DataResponse();
  // Where the partitions are appended.
  Bytes& data() { return bytes_; }
  // Behind the last partition: the whole body.
  BytesView finish();

 private:
  Bytes bytes_;
};

void append_digest_response(Bytes& out, BytesView digest);

// Views into the body.
struct ReadResponse {
  BytesView digest;  // empty: data follows
  BytesView repaired_digest;
  bool is_conclusive = true;
  BytesView data;

  bool is_digest() const { return !digest.empty(); }
};
// kCorruption when the bytes are no response.
Result<ReadResponse> parse_read_response(BytesView body);

}  // namespace cassandra_like
