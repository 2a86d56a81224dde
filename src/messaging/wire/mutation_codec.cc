#include "messaging/wire/mutation_codec.h"

#include <algorithm>
#include <array>

#include "base/vint.h"

namespace cassandra_like {

namespace {

constexpr uint64_t kMaxGcGrace = 0x7FFFFFFF;

constexpr std::array<std::string_view, 12> kConsistencyNames{"ANY",    "ONE",          "TWO",          "THREE",
                                                             "QUORUM", "ALL",          "LOCAL_QUORUM", "EACH_QUORUM",
                                                             "SERIAL", "LOCAL_SERIAL", "LOCAL_ONE",    "NODE_LOCAL"};

Error bad_body(const char* what) { return Error(ErrorCode::kCorruption, std::string("Corrupt ") + what); }

}  // namespace

Result<Mutation> decode_mutation(BytesView body, const TableById& find_table, Arena& arena) {
  Reader in(body);
  ASSIGN_OR_RETURN(Mutation mutation, read_mutation(in, find_table, arena));
  if (!in.at_end()) return bad_body("mutation: it ends before its message does");
  return mutation;
}

void append_counter_mutation(Bytes& out, BytesView mutation, std::string_view consistency) {
  out.append(mutation);
  append_be(out, static_cast<uint16_t>(consistency.size()));
  out.append(consistency);
}

Result<CounterMutation> decode_counter_mutation(BytesView body, const TableById& find_table, Arena& arena) {
  Reader in(body);
  CounterMutation out;
  ASSIGN_OR_RETURN(out.mutation, read_mutation(in, find_table, arena));
  out.serialized = body.substr(0, body.size() - in.remaining());
  out.consistency = in.take(in.u16());
  if (in.failed() || !in.at_end() || std::ranges::find(kConsistencyNames, out.consistency) == kConsistencyNames.end()) {
    return bad_body("counter mutation: its consistency level");
  }
  return out;
}

void append_schema_mutations(Bytes& out, std::span<const BytesView> mutations) {
  append_be(out, static_cast<uint32_t>(mutations.size()));
  for (BytesView mutation : mutations) out.append(mutation);
}

Result<std::vector<Mutation>> decode_schema_mutations(BytesView body, const TableById& find_table, Arena& arena) {
  Reader in(body);
  const int32_t count = in.i32();
  if (in.failed() || count < 0) return bad_body("schema mutations: their number");
  std::vector<Mutation> out;
  for (int32_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(Mutation mutation, read_mutation(in, find_table, arena));
    out.push_back(mutation);
  }
  if (!in.at_end()) return bad_body("schema mutations: they end before their message does");
  return out;
}

void append_hint_message(Bytes& out, const HintMessage& hint) {
  const auto gc_grace = static_cast<uint64_t>(hint.gc_grace_seconds);
  out.append(hint.host_id.view());
  append_unsigned_vint(out, sizeof hint.created_millis + unsigned_vint_size(gc_grace) + hint.mutation.size());
  append_be(out, hint.created_millis);
  append_unsigned_vint(out, gc_grace);
  out.append(hint.mutation);
}

Result<HintMessage> decode_hint_message(BytesView body) {
  Reader in(body);
  HintMessage out;
  const BytesView host_id = in.take(16);
  const uint64_t size = read_unsigned_vint(in);
  if (in.failed() || size != in.remaining()) return bad_body("hint: its size");
  out.host_id = Uuid::from_bytes(host_id);
  out.created_millis = in.i64();
  const uint64_t gc_grace = read_unsigned_vint(in);
  if (in.failed() || gc_grace > kMaxGcGrace) return bad_body("hint: its times");
  out.gc_grace_seconds = static_cast<int32_t>(gc_grace);
  out.mutation = in.rest();
  return out;
}

}  // namespace cassandra_like
