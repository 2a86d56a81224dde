// A read for a client lists here what it did not find in memory, so that it can wait for the disk without its shard.
//
// A read has one of these and hands it to its readers. A reader that needs bytes that are not in memory notes them here
// and fails with kDiskWait, and so does everything above it, up to the engine. That has the bytes brought into the page
// cache, elsewhere (Disk::bring_in), and reads again from the place where the read got to.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/disk.h"

namespace cassandra_like {

class ColdReads {
 public:
  struct Missing {
    std::shared_ptr<const ReadFile> file;
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };

  // Notes what is missing. The more a read has missed of a file, the more is brought in behind it.
  Error miss(const std::shared_ptr<const ReadFile>& file, uint64_t offset, uint64_t bytes) {
    if (state_ == nullptr) state_ = std::make_unique<State>();
    uint64_t& ahead = state_->ahead_in(file.get());
    state_->missing.push_back({file, offset, std::max(bytes, ahead)});
    ahead = std::min(kMostAhead, std::max(bytes, ahead) * 2);
    return {ErrorCode::kDiskWait, "bytes that are not in memory"};
  }
  bool waits() const { return state_ != nullptr && !state_->missing.empty(); }
  std::vector<Missing> take() { return std::exchange(state_->missing, {}); }

  // The reader that missed something says where it was: behind the unfiltered with this comparable form, which it
  // returned last. Empty: it had returned nothing of its partition.
  void set_place(BytesView place) { state_->place.assign(place); }
  const Bytes& place() const { return state_->place; }

  // Bytes that were brought in may be gone again when the read looks for them. A read that got nowhere so often waits in
  // place.
  void count_turn(bool got_on) {
    if (state_ != nullptr) state_->fruitless = got_on ? 0 : state_->fruitless + 1;
  }
  bool has_to_block() const { return state_ != nullptr && state_->fruitless >= kMostFruitless; }

 private:
  static constexpr uint64_t kMostAhead = 256 << 10;
  static constexpr uint32_t kMostFruitless = 100;

  struct State {
    std::vector<Missing> missing;
    std::vector<std::pair<const ReadFile*, uint64_t>> ahead;  // bytes, by file
    Bytes place;
    uint32_t fruitless = 0;

    uint64_t& ahead_in(const ReadFile* file) {
      auto found = std::find_if(ahead.begin(), ahead.end(), [file](const auto& entry) { return entry.first == file; });
      return found != ahead.end() ? found->second : ahead.emplace_back(file, 0).second;
    }
  };
  std::unique_ptr<State> state_;  // of a read that missed something
};

inline bool is_disk_wait(const Error& error) { return error.code() == ErrorCode::kDiskWait; }
inline bool is_disk_wait(const Status& status) { return !status.ok() && is_disk_wait(status.error()); }

}  // namespace cassandra_like
