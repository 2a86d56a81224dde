// Bodies that are mutations, the same bytes in messaging versions 12 and 13:
//
//   MUTATION_REQ, READ_REPAIR_REQ := mutation                     db.Mutation.MutationSerializer; see model/mutation.h
//   COUNTER_MUTATION_REQ          := mutation, u16 length, consistency level      db.CounterMutation
//   SCHEMA_PUSH_REQ, SCHEMA_PULL_RSP := count:i32, mutation*                      schema.SchemaMutationsSerializer
//   HINT_REQ := host id:16, vint size of the hint, hint                           hints.HintMessage
//   hint     := created:i64 (milliseconds since 1970), vint gc grace seconds, mutation            hints.Hint.Serializer
//
// The responses have no body. The versions differ in what local deletion times from 2038 on mean: version 12 knows none, and
// Cassandra takes them for invalid there; here they are read as version 13's.
#pragma once

#include <span>
#include <vector>

#include "base/uuid.h"
#include "model/mutation.h"

namespace cassandra_like {

// Everything that is decoded borrows the body and the arena. Errors: kInvalid "Unknown table <id>" (INCOMPATIBLE_SCHEMA for
// the sender), kCorruption.

Result<Mutation> decode_mutation(BytesView body, const TableById& find_table, Arena& arena);

struct CounterMutation {
  Mutation mutation;
  BytesView serialized;   // of the mutation
  BytesView consistency;  // Cassandra's name: one of ConsistencyLevel
};
void append_counter_mutation(Bytes& out, BytesView mutation, std::string_view consistency);
Result<CounterMutation> decode_counter_mutation(BytesView body, const TableById& find_table, Arena& arena);

void append_schema_mutations(Bytes& out, std::span<const BytesView> mutations);
Result<std::vector<Mutation>> decode_schema_mutations(BytesView body, const TableById& find_table, Arena& arena);

// The mutation stays serialized: its tables may be gone by now, which is no error of a hint.
struct HintMessage {
  Uuid host_id;  // the node that the hint is for
  int64_t created_millis = 0;
  int32_t gc_grace_seconds = 0;  // the smallest of the mutation's tables when the hint was made
  BytesView mutation;
};
void append_hint_message(Bytes& out, const HintMessage& hint);
Result<HintMessage> decode_hint_message(BytesView body);

}  // namespace cassandra_like
