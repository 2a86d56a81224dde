// Unfiltered partitions as bytes, for another node (db.partitions.UnfilteredPartitionIterators.Serializer):
//
//   partitions := 0x00 (0x01 partition)* 0x00
//   partition  := vint key length, key, flags:u8 [header [deletion] [static row] unfiltereds 0x01], by
//                 db.rows.UnfilteredRowIteratorSerializer
//   flags      := 0x01 empty: nothing follows, 0x02 reversed, 0x04 has deletion, 0x08 has a static row
//   header     := EncodingStats, [static columns], regular columns; each a subset of those that the request fetches, here
//                 always the byte 0x00: all of them
//   deletion   := timestamp and local deletion time, as vints relative to the header's stats
//
// Rows and markers have the form of messages (model/row_codec.h). Messaging versions 12 and 13 differ in how a reader takes
// times after 2038, not in bytes.
//
// EncodingStats are the sender's choice, and only make vints short. Cassandra gathers them while it writes memtables and
// files; here they are those of the partition's deletion, its static row, and its first row or marker.
#pragma once

#include "model/row_codec.h"
#include "read/read_request.h"
#include "read/unfiltered_sink.h"

namespace cassandra_like {

class ResponseWriter final : public UnfilteredSink {
 public:
  // Appends to `out`. Both outlive it.
  ResponseWriter(const ReadRequest& request, Bytes& out);
  void begin_partition(const Partition& partition) override;
  void unfiltered(const Unfiltered& unfiltered) override;
  bool end_partition() override;
  // Behind the last partition.
  void finish();

 private:
  void append(const Row& row);

  Bytes& out_;
  std::vector<HeaderColumn> statics_, regulars_;
  SerializationHeader header_;
  bool is_empty_ = false, is_reversed_ = false;  // the partition
};

}  // namespace cassandra_like
