// A mutation on its way to the replicas of its key: who owns what.
//
// A Mutation is rows that point into a request. It lasts as long as the request does, which may be shorter than the
// write: the client may have been answered or be gone while a replica still has to apply it. So a mutation that waits,
// that goes to another shard, into the batchlog or to another node is bytes that all of them hold.
#pragma once

#include "base/shared_bytes.h"
#include "model/mutation.h"

namespace cassandra_like {

// A mutation in Cassandra's form (see MutationSerializer), held by whoever has a copy of this.
class SerializedMutation {
 public:
  SerializedMutation() = default;  // none
  explicit SerializedMutation(const Mutation& mutation) : token_(mutation.key.token) {
    MutationSerializer serializer(mutation);
    bytes_ = SharedBytes::make(serializer.size(), [&serializer](char* p) { serializer.write(p); });
  }
  // Holds the bytes of a Mutation with this token.
  SerializedMutation(Token token, BytesView bytes) : token_(token), bytes_(SharedBytes::copy_of(bytes)) {}

  explicit operator bool() const { return static_cast<bool>(bytes_); }
  // The partition key's token.
  Token token() const { return token_; }
  // Valid while somebody holds this mutation.
  BytesView view() const { return bytes_.view(); }
  // The bytes for others that hold them: messages, hints.
  const SharedBytes& shared() const { return bytes_; }

 private:
  Token token_ = kMinimumToken;
  SharedBytes bytes_;
};

// The argument of a write on its way down: borrowed rows, bytes, or both of the same mutation. The bytes are made
// when somebody asks for them, once for all; borrowed ones are copied then. Not copied and not kept: a callee that needs
// the mutation beyond its return keeps serialized().
class MutationPayload {
 public:
  MutationPayload(const Mutation& rows) : token_(rows.key.token), rows_(&rows) {}  // NOLINT: implicit on purpose
  explicit MutationPayload(SerializedMutation bytes) : token_(bytes.token()), bytes_(std::move(bytes)) {}
  MutationPayload(const Mutation& rows, SerializedMutation bytes)
      : token_(rows.key.token), rows_(&rows), bytes_(std::move(bytes)) {}
  // Rows that were decoded out of these bytes.
  MutationPayload(const Mutation& rows, BytesView borrowed)
      : token_(rows.key.token), rows_(&rows), borrowed_(borrowed) {}
  MutationPayload(const MutationPayload&) = delete;
  MutationPayload& operator=(const MutationPayload&) = delete;

  Token token() const { return token_; }
  // nullptr: there are only bytes.
  const Mutation* rows() const { return rows_; }
  const SerializedMutation& serialized() const {
    if (!bytes_) bytes_ = borrowed_.empty() ? SerializedMutation(*rows_) : SerializedMutation(token_, borrowed_);
    return bytes_;
  }
  // Empty: nobody has asked for them.
  BytesView bytes() const { return bytes_ ? bytes_.view() : borrowed_; }

 private:
  Token token_;
  const Mutation* rows_ = nullptr;
  BytesView borrowed_;
  mutable SerializedMutation bytes_;
};

}  // namespace cassandra_like
