// The versions of SSTables that this node knows, and the facts in which they differ, under the names that Cassandra gives
// them (io.sstable.format.big.BigFormat.BigVersion, bti.BtiFormat.BtiVersion). A codec asks for a fact, never for a
// format's name.
//
//   big ma  3.0: rows as they are since
//   big mb  3.0.7: the lowest commit log position
//   big mc  3.0.8: commit log intervals
//   big md  3.0.18: the least and the greatest clustering can be trusted
//   big me  3.0.25: the host that wrote it
//   big na  4.0: uncompressed chunks, pending repair, transience, checksums in Statistics.db, bloom filters byte by byte
//   big nb  4.0: and the host that wrote it
//   big oa  5.0: deletion times until 2106, keys and covered clusterings in Statistics.db
//   bti da  5.0: what oa says, under a trie instead of Index.db and Summary.db
#pragma once

#include <span>
#include <string_view>

#include "model/row_codec.h"

namespace cassandra_like {

enum class SSTableFormat : uint8_t { kBig, kBti };

struct SSTableVersion {
  SSTableFormat format;
  std::string_view format_name;  // "big"
  std::string_view letters;      // "nb"
  // Chunks that do not compress well enough are not compressed: CompressionInfo.db has a limit for that.
  bool has_max_compressed_length;
  // Filter.db has its bits in words that are big-endian.
  bool has_old_bf_format;
  // Statistics.db.
  bool has_metadata_checksum;
  bool has_commit_log_lower_bound;
  bool has_commit_log_intervals;
  bool has_pending_repair;
  bool has_is_transient;
  bool has_originating_host_id;
  bool has_accurate_min_max;  // otherwise has_legacy_min_max says nothing
  bool has_legacy_min_max;    // the values of the least and the greatest clustering
  bool has_improved_min_max;  // the slice that covers all clusterings, and their types
  bool has_partition_level_deletions_presence_marker;
  bool has_key_range;
  bool has_token_space_coverage;
  // Deletion times are unsigned, until 2106; otherwise they end in 2038.
  bool has_uint_deletion_time;

  int64_t max_deletion_time() const { return has_uint_deletion_time ? kMaxDeletionTime : kMaxDeletionTime2038; }

  // nullptr: one that this node does not know.
  static const SSTableVersion* find(std::string_view format_name, std::string_view letters);
  static const SSTableVersion& da();
  static const SSTableVersion& nb();
  static const SSTableVersion& oa();
};

// A deletion as it stands in Data.db before a partition, and in indexes (DeletionTime.getSerializer).
inline void append_deletion(Bytes& out, const DeletionTime& deletion, const SSTableVersion& version) {
  if (version.has_uint_deletion_time) {
    append_partition_deletion(out, deletion);
  } else {
    append_legacy_partition_deletion(out, deletion);
  }
}
inline DeletionTime read_deletion(Reader& in, const SSTableVersion& version) {
  return version.has_uint_deletion_time ? read_partition_deletion(in) : read_legacy_partition_deletion(in);
}

}  // namespace cassandra_like
