// The data directory that each token of a table belongs to (db.DiskBoundaries).
//
// Each directory has one part of the ring, in the order of data_file_directories. So a deletion and the data that it hides lie on one
// disk: compactions bring them together, and the loss of a disk does not bring the data back. The parts have as many tokens
// of those that the node owns. A node with vnodes cuts none of its ranges, as long as each directory gets one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "storage/compaction/strategy/strategy.h"

namespace cassandra_like {

class DiskBoundaries {
 public:
  // All tokens belong to the first directory.
  DiskBoundaries() = default;
  // The last token of each directory but the last one; ascending.
  explicit DiskBoundaries(std::vector<Token> ends) : ends_(std::move(ends)) {}
  // Splitter.splitOwnedRanges for so many directories, at least one. owned: ascending, disjoint and not around the end of the ring;
  // none: the node owns nothing, and the whole ring is divided. keeps_ranges: the node has vnodes. Directories at the end may
  // get nothing, when there are fewer tokens than directories.
  static DiskBoundaries divide(std::span<const OwnedRange> owned, size_t directories, bool keeps_ranges);

  size_t directory_of(Token token) const;
  // All tokens from one to another are in this directory.
  bool has(size_t directory, Token first, Token last) const {
    return directory_of(first) == directory && directory_of(last) == directory;
  }
  const std::vector<Token>& ends() const { return ends_; }
  bool operator==(const DiskBoundaries&) const = default;

 private:
  std::vector<Token> ends_;
};

// Where the outputs of one flush or compaction go. It stays the same while they are written: a directory that takes nothing at the
// moment is replaced by another.
class OutputPlacement {
 public:
  // directories: for each of the table's, itself or the one that stands for it.
  OutputPlacement(DiskBoundaries boundaries, std::vector<std::string> directories)
      : boundaries_(std::move(boundaries)), directories_(std::move(directories)) {}
  // An output goes where its first token belongs.
  const std::string& directory_of(Token token) const { return directories_[boundaries_.directory_of(token)]; }
  const std::string& directory(size_t place) const { return directories_[place]; }
  const std::vector<std::string>& directories() const { return directories_; }
  // No output is to lie on both sides of a boundary.
  void cut(OutputLimits* limits) const;

 private:
  DiskBoundaries boundaries_;
  std::vector<std::string> directories_;
};

}  // namespace cassandra_like
