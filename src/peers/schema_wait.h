// Requests that name a table or column which this shard does not know yet: they wait until its schema changes. Bounded in
// number, bytes and time.
#pragma once

#include <list>

#include "base/result.h"
#include "runtime/runtime.h"

namespace cassandra_like {

// Errors of decoders that another schema would not have made.
bool is_unknown_table(const Error& error);
bool is_unknown_schema(const Error& error);  // a table or a column

class SchemaWait {
 public:
  // Other shards learn of a change at about the same time: whoever waits goes on so much later.
  static constexpr Duration kPublishing = std::chrono::milliseconds(5);

  SchemaWait(ShardRuntime& runtime, size_t max_waiting, size_t max_bytes)
      : runtime_(runtime), max_waiting_(max_waiting), max_bytes_(max_bytes) {}
  ~SchemaWait();
  SchemaWait(const SchemaWait&) = delete;
  SchemaWait& operator=(const SchemaWait&) = delete;

  // True: the schema has changed. False: it did not until then (monotonic, nanoseconds), or there is no room to wait.
  Task<bool> changed(size_t bytes, int64_t until);
  void on_change();
  // Nobody waits any more.
  void stop();

 private:
  struct Waiter {
    Promise<bool> done;
    TimerId timer = 0;
    bool is_told = false;
  };
  void tell(Waiter& waiter, bool changed);
  void tell_all(bool changed);

  ShardRuntime& runtime_;
  const size_t max_waiting_, max_bytes_;
  std::list<Waiter*> waiting_;
  size_t bytes_ = 0;
  TimerId publishing_ = 0;
  bool stopped_ = false;
};

}  // namespace cassandra_like
