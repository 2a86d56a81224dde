#include "hints/received_hint.h"

#include <algorithm>

#include "hints/hints_file.h"

namespace cassandra_like {

Result<ReceivedHint> read_received_hint(BytesView body, const TableById& find_table, TruncatedAt truncated_at,
                                        int64_t now_millis, Arena& arena) {
  ASSIGN_OR_RETURN(const HintMessage message, decode_hint_message(body));
  ReceivedHint hint{.host_id = message.host_id,
                    .created_millis = message.created_millis,
                    .gc_grace_seconds = message.gc_grace_seconds,
                    .serialized = message.mutation};
  auto mutation = decode_mutation(message.mutation, find_table, arena);
  if (!mutation.ok()) {
    // An unknown table.
    if (mutation.error().code() == ErrorCode::kInvalid) return hint;
    return std::move(mutation.error());
  }
  int32_t gc_grace = message.gc_grace_seconds;
  for (const PartitionUpdate& update : mutation->updates) {
    gc_grace = std::min(gc_grace, update.table->params.gc_grace_seconds);
  }
  if (!hint_is_live(message.created_millis, gc_grace, now_millis)) return hint;

  std::span<PartitionUpdate> kept = arena.make_span<PartitionUpdate>(mutation->updates.size());
  size_t count = 0;
  for (const PartitionUpdate& update : mutation->updates) {
    if (message.created_millis > truncated_at(update.table->id)) kept[count++] = update;
  }
  hint.mutation = *mutation;
  hint.mutation.updates = kept.first(count);
  return hint;
}

}  // namespace cassandra_like
