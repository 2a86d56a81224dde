// Writes that a replica missed, kept here until it can take them (hints.HintsService, HintsDispatchExecutor).
//
// One object a shard. It is told who lives; a node that comes back gets its hints at once, oldest first, as HINT_REQ.
// A hint is kept only within max_hint_window after its node went down, and while the hints of the node are below
// max_hints_size_per_host. It is sent no later than the smallest gc_grace_seconds of its tables allows: an older one could
// bring deleted rows back. The mutation of a table that was truncated or dropped after the hint was made is left out by the
// receiver.
//
// Files are those of Cassandra, in hints_directory; hints/hints_file.h has their layout. A hint is in the file when write()
// completes, so that kill -9 loses none; it is on the disk when its file is complete, and after sync().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messaging/link/messenger.h"
#include "model/serialized_mutation.h"
#include "runtime/runtime.h"

namespace cassandra_like {

// cassandra.yaml's keys, with its defaults.
struct HintsOptions {
  std::string directory;                             // hints_directory
  bool enabled = true;                               // hinted_handoff_enabled
  std::vector<std::string> disabled_datacenters;     // hinted_handoff_disabled_datacenters
  int64_t window_millis = 10'800'000;                // max_hint_window
  uint64_t throttle_bytes_per_second = 1024 * 1024;  // hinted_handoff_throttle; 0: no limit
  uint64_t max_file_bytes = uint64_t{128} << 20;     // max_hints_file_size
  uint64_t max_bytes_per_host = 0;                   // max_hints_size_per_host; 0: no limit
  uint64_t max_entry_bytes = uint64_t{16} << 20;     // no smaller than max_mutation_size: a larger hint is not kept
  bool window_persistent = true;                     // hint_window_persistent_enabled
  bool auto_cleanup = false;                         // auto_hints_cleanup_enabled
  // The version of the files that are written: 2 in storage_compatibility_mode CASSANDRA_4, 3 otherwise.
  int32_t file_version = 2;
};

// The settings that nodetool may change while the node runs. Shared by all shards.
struct HintsControl;

// A node with hints, for listpendinghints.
struct PendingHints {
  Uuid host_id;
  uint64_t files = 0;
  uint64_t bytes = 0;
  int64_t oldest_millis = 0;  // since 1970
  int64_t newest_millis = 0;
};

struct HintsStatistics {
  uint64_t written = 0;     // TotalHints
  uint64_t succeeded = 0;   // HintsSucceeded
  uint64_t failed = 0;      // HintsFailed
  uint64_t timed_out = 0;   // HintsTimedOut
  uint64_t overflowed = 0;  // not kept: window, size or disk
  uint64_t expired = 0;     // not sent: older than their tables' gc_grace_seconds
  uint64_t damaged = 0;     // not sent: the checksum in their file is wrong
};

class Hints {
 public:
  // `control` is that of all shards, from make_hints_control().
  static std::unique_ptr<Hints> create(ShardRuntime& runtime, unsigned shard, Messenger& messenger,
                                       std::shared_ptr<HintsControl> control);
  virtual ~Hints() = default;

  // Finds the files of earlier lives; a node's files belong to the shard that its host id chooses. On all shards before any
  // of them writes.
  virtual Task<Status> open() = 0;
  // Ends sending, brings what is written to the disk. Before the messenger closes. Once.
  virtual Task<Status> stop() = 0;

  // --- Membership, told to every shard. A node that is told for the first time, and lives, gets its hints, too.
  virtual void node_up(const Uuid& host_id, const InetAddressAndPort& address) = 0;
  virtual void node_down(const Uuid& host_id) = 0;
  // Its hints go.
  virtual void node_left(const Uuid& host_id) = 0;

  // Whether a hint for the node would be kept now (StorageProxy.shouldHint). Counts those that would not.
  virtual bool should_hint(const Uuid& host_id, std::string_view datacenter) = 0;
  // Keeps one hint for each of the nodes. The mutation is held until the Task completes. kOverloaded: too many hints wait
  // to be written; kIo, kDiskFull: they were not kept, and a line in the log says so.
  virtual Task<Status> write(std::vector<Uuid> host_ids, SerializedMutation mutation, int64_t created_millis,
                             int32_t gc_grace_seconds) = 0;
  // Brings the hints of these nodes to the disk, for a caller that removes the other copy of a mutation (batchlog replay).
  virtual Task<Status> sync(std::vector<Uuid> /*host_ids*/) { return Status(); }

  // --- Orders of an operator, each for this shard.
  // nullopt: of all nodes. Files that are being sent or written to go, too.
  virtual Task<Status> remove_all(std::optional<Uuid> host_id) = 0;
  virtual std::vector<PendingHints> pending() const = 0;
  virtual const HintsStatistics& statistics() const = 0;
  // Hints that wait to be written (TotalHintsInProgress).
  virtual size_t in_progress() const { return 0; }
};

std::shared_ptr<HintsControl> make_hints_control(HintsOptions options, unsigned shards);

// nodetool pausehandoff, resumehandoff, disablehandoff, sethintedhandoffthrottlekb, setmaxhintwindow and their pairs. From any
// shard.
struct HintsControlView {
  bool enabled = true;
  bool paused = false;
  uint64_t throttle_bytes_per_second = 0;
  int64_t window_millis = 0;
  std::vector<std::string> disabled_datacenters;
};
HintsControlView view(const HintsControl& control);
void set_enabled(HintsControl& control, bool enabled);
void set_paused(HintsControl& control, bool paused);
void set_throttle(HintsControl& control, uint64_t bytes_per_second);
void set_window(HintsControl& control, int64_t millis);
void set_datacenter_enabled(HintsControl& control, const std::string& datacenter, bool enabled);

// The schema versions of this node and of the others, as gossip tells them. A node that returns may not know a table that was made
// while it was away, and would drop that table's hints. So hints for a node wait until its version is this one's, or unknown,
// but no longer than a minute: versions differ by design between releases.
void note_schema_version(HintsControl& control, const Uuid& version);
void note_schema_version_of(HintsControl& control, const InetAddressAndPort& node, const Uuid& version);

}  // namespace cassandra_like
