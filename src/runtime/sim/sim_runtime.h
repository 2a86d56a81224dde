// The simulated world: one scheduler for any number of nodes and clients, one virtual clock, one seed.
//
// Every callback that becomes ready is an event (time, sequence number drawn with the seed's jitter); step() runs the
// next one. Each event is folded into trace_hash(), so that two runs of one seed can be compared to the step.
//
// SimWorld and SimMachine are interfaces so that a test sees what it may do to a world, and not the parts that move it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/runtime.h"

namespace cassandra_like {

// Chances are per operation, in parts per million.
struct SimFaults {
  uint32_t io_error_ppm = 0;            // a read, append or sync fails with kIo
  std::string unreadable;               // a read of a file whose path contains this fails with kIo; empty: none
  uint32_t disk_full_ppm = 0;           // an append, create or create_mapped fails with kDiskFull
  uint32_t reset_ppm = 0;               // a connection is reset when data is sent on it
  Duration max_network_delay{500'000};  // ns; each chunk is delayed by up to this, in order
  uint32_t read_miss_ppm = 0;           // what read_at_once() and is_in_memory() ask for is not in memory
  Duration max_sync_delay{5'000'000};   // ns; each sync takes up to this
  Duration max_read_delay{10'000'000};  // ns; each Disk::bring_in() takes up to this
  Duration max_io_delay{0};             // ns; each read or write keeps its shard from its next callback for up to this
  bool split_chunks = true;             // received data arrives in pieces of any size
  bool tear_on_crash = true;            // unsynced 512-byte sectors survive a crash each by its own chance
  Duration max_blocking{60'000'000};    // ns; each work of Blocking takes up to this
  // For enumerations: the operation on the disk that comes after so many others fails, and with kAllAfter all that follow.
  // Operations that change something are counted: create, append, truncate, remove, rename, link, make_directories, and syncs.
  std::optional<uint64_t> operations_until_fault;
  enum class Fault : uint8_t { kOne, kOneDiskFull, kAllAfter } fault = Fault::kOne;
};

// One direction between two machines. TCP hides what a wire loses: bytes that do not get through come later or never.
struct SimLink {
  enum class Cut : uint8_t {
    kNone,
    // Nothing gets through, and nobody is told. Bytes, news of an end and attempts to connect wait at the cut, and go on when it
    // is mended: an open connection hangs, an attempt to connect hangs and is given up after kConnectTimeout. A connection needs
    // both directions to be made, and the reader's direction for a writer's window to open again.
    kSilent,
    // A firewall that answers: open connections of the two machines are reset, bytes that are sent reset theirs, attempts to
    // connect are refused.
    kReset,
  };
  static constexpr Duration kConnectTimeout = std::chrono::seconds(130);  // Linux's, about

  Cut cut = Cut::kNone;
  Duration delay{0};              // of each chunk, beside the sender's max_network_delay
  uint64_t bytes_per_second = 0;  // all connections share them; 0: no limit
  uint32_t loss_ppm = 0;  // a chunk and what follows it on the connection come 200 ms later, each loss after the other
};

class SimWorld;

// One machine: its disk outlives crashes, its shards do not. Ports, locks and callbacks of a life end with it; call
// crash() or shut_down() first and destroy the node after, whose handles (files, listeners, timers) are then harmless.
// A coroutine that is suspended in a life that ends is abandoned: its frame is not freed, what is in it not destroyed.
class SimMachine {
 public:
  virtual ~SimMachine() = default;
  // A Runtime for a node's life; destroying the node and calling crash() or shut_down() ends it. Everything that it
  // had posted or scheduled is dropped.
  virtual Runtime& boot(unsigned shards) = 0;
  // Loses what was not synced (in whole or in torn parts), resets all connections, drops all callbacks.
  virtual void crash() = 0;
  // A clean stop: nothing on the disk is lost.
  virtual void shut_down() = 0;
  // SIGKILL: the disk has all that was written, synced or not. Peers see the end of a stream, or a reset.
  virtual void kill() = 0;
  // SIGSTOP and SIGCONT: no callback runs in between, while clocks go on. Connections stay open and new ones are made, bytes pile
  // up. Timers that were due meanwhile are late. The end of a life ends its pause.
  virtual void pause() = 0;
  virtual void resume() = 0;
  virtual bool is_paused() const = 0;
  virtual SimFaults& faults() = 0;
  // Free space of the disk, in bytes; appends beyond it fail with kDiskFull.
  virtual void set_disk_capacity(uint64_t bytes) = 0;
  // Other bytes stand in a file than were written: a bit that flipped, a write that went to the wrong place. False: the file has no
  // such bytes.
  virtual bool damage(const std::string& path, uint64_t offset, BytesView bytes) = 0;
  // Sets the wall clock of this machine forward, or back; the monotonic clock goes on.
  virtual void shift_wall_clock(Duration by) = 0;
};

class SimWorld {
 public:
  static std::unique_ptr<SimWorld> create(uint64_t seed);
  virtual ~SimWorld() = default;
  // address is the host that its listeners use.
  virtual SimMachine& add_machine(const std::string& address) = 0;
  // The direction from `from` to `to`. All links are whole at first.
  virtual void set_link(SimMachine& from, SimMachine& to, const SimLink& link) = 0;
  virtual SimLink link(SimMachine& from, SimMachine& to) const = 0;
  virtual Clock& clock() = 0;
  virtual Random& random() = 0;
  // Runs the next event; false when none is left.
  virtual bool step() = 0;
  virtual void run_for(Duration virtual_time) = 0;
  // Runs until done() or until limit of virtual time has passed; returns done().
  virtual bool run_until(absl::AnyInvocable<bool()> done, Duration limit) = 0;
  virtual uint64_t steps() const = 0;
  virtual uint64_t trace_hash() const = 0;
};

}  // namespace cassandra_like
