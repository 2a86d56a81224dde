// Tracing of a request at every node that has a part in it (tracing.Tracing, tracing.TraceState).
//
// The session's id travels in the params of each message (TRACE_SESSION, TRACE_TYPE). A node notes what it does for the
// session; coordinator/tracing.h writes the notes into system_traces, which is replicated. A request that is not traced
// carries a null TracePtr and pays for a comparison.
//
// Belongs to one shard.
#pragma once

#include <memory>
#include <string>

#include "messaging/wire/message.h"
#include "model/mutation.h"
#include "read/read_command.h"

namespace cassandra_like {

// One request's part at this node.
class Trace {
 public:
  Trace(const Uuid& session, TraceType type) : session_(session), type_(type) {}
  virtual ~Trace() = default;
  const Uuid& session() const { return session_; }
  TraceType type() const { return type_; }

  virtual void event(std::string activity) = 0;
  // The part is over, and its notes are written. An event that comes later is written by itself.
  virtual void end() = 0;

 private:
  const Uuid session_;
  const TraceType type_;
};
using TracePtr = std::shared_ptr<Trace>;
inline const TracePtr kUntraced;

// The sessions that a shard takes part in, as its messenger needs them.
class Traces {
 public:
  virtual ~Traces() = default;
  // For a request of another node.
  virtual TracePtr join(const Uuid& session, TraceType type, Verb verb) = 0;
  // For an answer of another node: of the session that asked, which may have ended.
  virtual TracePtr of_response(const Uuid& session, TraceType type) = 0;
};

// A replica is about to apply the mutation.
inline void trace_mutation(Trace& trace, const Mutation& mutation) {
  trace.event("Appending to commitlog");
  for (const PartitionUpdate& update : mutation.updates) trace.event("Adding to " + update.table->name + " memtable");
}

// A replica is about to read, and what it has found.
inline void trace_read(Trace& trace, const ReadCommand& command) {
  const char* what = command.range ? "Executing seq scan on " : "Executing single-partition query on ";
  trace.event(what + command.table->name);
}
inline void trace_rows(Trace& trace, const ReadStatistics& read) {
  if (read.sstables > 0) {
    trace.event("Merged data from memtables and " + std::to_string(read.sstables) + " sstables");
  }
  trace.event("Read " + std::to_string(read.rows) + " live rows and " + std::to_string(read.tombstones) +
              " tombstone cells");
}

}  // namespace cassandra_like
