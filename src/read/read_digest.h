// The digest of unfiltered partitions that replicas send instead of data (db.partitions.UnfilteredPartitionIterators.digest
// into db.Digest.forReadResponse): MD5 of, for each partition,
//
//   key, deletion, names of the regular columns that are fetched, names of the static ones if there is a static row,
//   reversed, the static row (also when there is none), rows and markers
//
//   row       := 0x00, clustering, deletion, false, liveness: timestamp [expiration:u32 ttl:i32 when expiring], columns
//   column    := [deletion of a complex column, if it has one], cells
//   cell      := value (of a counter without its header), timestamp, ttl:i32, whether it is a counter, path
//   marker    := clustering, deletions (of a boundary: of what comes before it, then of what comes behind)
//   clustering := the values that are not null, one after the other, kind:u8
//   deletion  := timestamp. When it was deleted is each replica's own affair.
//
// A boolean is the byte 0x00 for true and 0x01 for false. Integers are big-endian.
#pragma once

#include "base/checksum.h"
#include "read/read_request.h"
#include "read/unfiltered_sink.h"

namespace cassandra_like {

class ReadDigest final : public UnfilteredSink {
 public:
  // The request outlives it.
  explicit ReadDigest(const ReadRequest& request) : request_(request) {}
  void begin_partition(const Partition& partition) override;
  void unfiltered(const Unfiltered& unfiltered) override;
  bool end_partition() override { return true; }
  // 16 bytes; once.
  Bytes finish();

 private:
  template <class T>
  void number(T v);
  void boolean(bool v) { number<uint8_t>(v ? 0 : 1); }
  void names(const ColumnFilter::Columns& columns);
  void clustering(const ClusteringPrefix& prefix);
  void row(const Row& row);
  void cell(const Cell& cell);
  void flush();

  const ReadRequest& request_;
  Md5 md5_;
  bool is_reversed_ = false;  // the partition
  Bytes pending_;             // gathered, so that the hash is called rarely
};

}  // namespace cassandra_like
