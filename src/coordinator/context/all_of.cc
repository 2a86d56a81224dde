#include "coordinator/context/all_of.h"

#include <utility>

namespace cassandra_like {
namespace {

struct Join {
  size_t missing = 0;
  Status first_error;
  Promise<bool> done;
};

Task<void> join(Join* join, Task<Status> write) {
  Status status = co_await write;
  if (!status.ok() && join->first_error.ok()) join->first_error = std::move(status);
  if (--join->missing == 0) join->done.set(true);
}

Task<Status> all_of_several(Writes writes) {
  Join state;
  state.missing = writes.size();
  if (writes.empty()) co_return Status();
  for (Task<Status>& write : writes) spawn(join(&state, std::move(write)));
  co_await state.done;
  co_return std::move(state.first_error);
}

}  // namespace

Task<Status> all_of(Writes writes) {
  if (writes.size() == 1) return std::move(writes[0]);
  return all_of_several(std::move(writes));
}

}  // namespace cassandra_like
