// One shard's files of hints for one node (hints.HintsStore): the one that is written to, and those that wait to be sent.
#pragma once

#include <deque>
#include <memory>

#include "hints/hints_control.h"
#include "hints/hints_file.h"

namespace cassandra_like {

// A complete file.
struct HintsFile {
  std::string name;
  int64_t timestamp = 0;
  uint64_t size = 0;
  uint64_t position = 0;       // what is before it has arrived: see HintsFileReader
  int64_t expires_millis = 0;  // no hint in it may be sent after this; 0: not known
};

// A file that is no longer written to, before its sync and its checksum file. It may be sent and removed meanwhile.
struct ClosingHintsFile {
  std::shared_ptr<WriteFile> file;
  std::string name;
  uint32_t crc = 0;
};

class HintsStore {
 public:
  HintsStore(ShardRuntime& runtime, unsigned shard, HintsControl& control, const Uuid& host_id);
  ~HintsStore();

  const Uuid& host_id() const { return host_id_; }
  HintsTarget& node() { return *node_; }
  std::string path_of(std::string_view name) const { return control_.options.directory + "/" + std::string(name); }

  // Appends entries to the file that is written to; begins one if there is none. After an error the next entries go to another
  // file.
  Status append(BytesView entries, int64_t expires_millis);
  bool is_writing() const { return writer_ != nullptr; }
  // The size of the file that is written to, in bytes.
  uint64_t written_size() const { return writing_.size; }
  // The file that is written to becomes the last of those that wait. The caller finishes it, with finish().
  ClosingHintsFile close_writer();
  static Task<Status> finish(ShardRuntime* runtime, std::string directory, ClosingHintsFile closing);
  // Brings what has been written to the disk.
  Task<Status> sync();

  // --- Complete files.
  void add(HintsFile file);             // in any order
  void add_unreadable(HintsFile file);  // stays on the disk, and counts, until it is removed
  bool has_files() const { return !files_.empty(); }
  HintsFile& oldest() { return files_.front(); }
  const std::deque<HintsFile>& files() const { return files_; }
  // The oldest file goes: from the disk, or to those that cannot be read.
  void remove_oldest();
  void give_up_oldest();
  HintsFile* find(std::string_view name);
  void remove(const HintsFile& file);  // one of files()
  // All files go, also the one that is written to.
  void remove_all();

  // files == 0: it has none.
  PendingHints pending() const;

 private:
  Status open_writer();
  static Task<Status> sync_file(ShardRuntime* runtime, std::string directory, std::shared_ptr<WriteFile> file);
  void remove_from_disk(const HintsFile& file);
  void files_changed();

  ShardRuntime& runtime_;
  const unsigned shard_;
  HintsControl& control_;
  const Uuid host_id_;
  const std::shared_ptr<HintsTarget> node_;

  std::shared_ptr<WriteFile> writer_;
  HintsFile writing_;
  uint32_t crc_ = 0;             // of what is in the writer's file
  std::deque<HintsFile> files_;  // oldest first
  std::vector<HintsFile> unreadable_;
};

}  // namespace cassandra_like
