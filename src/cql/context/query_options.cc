#include "cql/context/query_options.h"

#include "base/vint.h"

namespace cassandra_like {
namespace {
constexpr uint8_t kPagingStateVersion = 1;

struct PagingStateView {
  BytesView partition_key;
  BytesView clustering;
  bool partition_done = false;
  uint64_t remaining = 0;
  uint64_t remaining_in_partition = 0;
};

std::optional<PagingStateView> read_paging_state(BytesView data) {
  Reader in(data);
  if (in.u8() != kPagingStateVersion) return std::nullopt;
  PagingStateView state;
  state.partition_key = in.take(read_unsigned_vint(in));
  state.clustering = in.take(read_unsigned_vint(in));
  uint8_t done = in.u8();
  state.partition_done = done == 1;
  state.remaining = read_unsigned_vint(in);
  state.remaining_in_partition = read_unsigned_vint(in);
  if (in.failed() || !in.at_end() || done > 1) return std::nullopt;
  return state;
}

}  // namespace

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

bool is_paging_state(BytesView data) { return read_paging_state(data).has_value(); }

std::optional<PagingState> parse_paging_state(BytesView data) {
  std::optional<PagingStateView> view = read_paging_state(data);
  if (!view) return std::nullopt;
  return PagingState{Bytes(view->partition_key), Bytes(view->clustering), view->partition_done, view->remaining,
                     view->remaining_in_partition};
}

}  // namespace cassandra_like
