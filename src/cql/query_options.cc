#include "cql/query_options.h"

#include "base/vint.h"

namespace cassandra_like {
namespace {
constexpr uint8_t kPagingStateVersion = 1;
}

Bytes serialize_paging_state(const PagingState& state) {
  Bytes out;
  out.push_back(static_cast<char>(kPagingStateVersion));
  append_unsigned_vint(out, state.partition_key.size());
  out += state.partition_key;
  append_unsigned_vint(out, state.clustering.size());
  out += state.clustering;
  out.push_back(state.partition_done ? 1 : 0);
  append_unsigned_vint(out, state.remaining);
  append_unsigned_vint(out, state.remaining_in_partition);
  return out;
}

std::optional<PagingState> parse_paging_state(BytesView data) {
  Reader in(data);
  if (in.u8() != kPagingStateVersion) return std::nullopt;
  PagingState state;
  state.partition_key = in.take(read_unsigned_vint(in));
  state.clustering = in.take(read_unsigned_vint(in));
  uint8_t done = in.u8();
  state.partition_done = done == 1;
  state.remaining = read_unsigned_vint(in);
  state.remaining_in_partition = read_unsigned_vint(in);
  if (in.failed() || !in.at_end() || done > 1) return std::nullopt;
  return state;
}

}  // namespace cassandra_like
