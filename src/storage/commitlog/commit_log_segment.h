// A segment while its log is open; used by commit_log*.cc alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/commitlog/commit_log.h"

namespace cassandra_like {

struct CommitLog::Segment {
  int64_t id = 0;
  std::string path;
  uint64_t bytes = 0;
  std::unique_ptr<MappedFile> file;  // nullptr: adopted, only waits to be clean
  std::span<char> memory;
  uint32_t marker = 0;        // of the open section
  uint32_t end = 0;           // behind the last record
  uint32_t sync_from = 0;     // the first byte, a marker's, that was stored after the last sync of it
  bool in_directory = false;  // the directory was synced after the file was made
  bool closed = false;
  bool removed = false;
  bool damaged = false;    // adopted, with records that cannot be read
  bool abandoned = false;  // a sync of it failed: what it holds beyond is not acknowledged
  std::vector<LogTable*> dirty;

  bool has_unsynced() const { return file && !abandoned && !removed && end > marker + kMarkerSize; }
};

}  // namespace cassandra_like
