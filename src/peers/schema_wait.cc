#include "peers/schema_wait.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace cassandra_like {

bool is_unknown_table(const Error& error) {
  const std::string_view message = error.message();
  return error.code() == ErrorCode::kInvalid &&
         (message.starts_with("Unknown table ") || message.starts_with("Couldn't find table "));
}

bool is_unknown_schema(const Error& error) {
  const std::string_view message = error.message();
  if (is_unknown_table(error)) return true;
  if (error.code() == ErrorCode::kInvalid)
    return message.starts_with("Unknown ") && message.find("column") != message.npos;
  return error.code() == ErrorCode::kCorruption && message.starts_with("Corrupt mutation: Unknown column ");
}

SchemaWait::~SchemaWait() { stop(); }

Task<bool> SchemaWait::changed(size_t bytes, int64_t until) {
  const Duration time(until - runtime_.clock.monotonic_nanos());
  if (stopped_ || time <= Duration(0) || waiting_.size() >= max_waiting_ || bytes > max_bytes_ - bytes_)
    co_return false;
  Waiter waiter;
  Waiter* self = &waiter;
  waiting_.push_back(self);
  bytes_ += bytes;
  waiter.timer = runtime_.executor.schedule(time, [this, self] {
    self->timer = 0;
    tell(*self, false);
  });
  Promise<bool>& done = waiter.done;
  const bool changed = co_await done;
  bytes_ -= bytes;
  co_return changed;
}

void SchemaWait::tell(Waiter& waiter, bool changed) {
  if (std::exchange(waiter.is_told, true)) return;
  waiting_.remove(&waiter);
  if (waiter.timer != 0) runtime_.executor.cancel(std::exchange(waiter.timer, 0));
  waiter.done.set(changed);
}

void SchemaWait::tell_all(bool changed) {
  // Some of them may wait again at once, behind the others.
  for (size_t left = waiting_.size(); left > 0 && !waiting_.empty(); --left) tell(*waiting_.front(), changed);
}

void SchemaWait::on_change() {
  if (waiting_.empty() || publishing_ != 0) return;
  publishing_ = runtime_.executor.schedule(kPublishing, [this] {
    publishing_ = 0;
    tell_all(true);
  });
}

void SchemaWait::stop() {
  stopped_ = true;
  if (publishing_ != 0) runtime_.executor.cancel(std::exchange(publishing_, 0));
  tell_all(false);
}

}  // namespace cassandra_like
