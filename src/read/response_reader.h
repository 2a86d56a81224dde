// The partitions of another node's answer (read/response_writer.h has their form), as readers of them. Nothing is decoded
// before it is asked for, and nothing is copied but clusterings.
//
// The bytes are a stranger's: kCorruption tells of whatever does not decode, of keys and clusterings that are not in the order
// of the request, and of range tombstones that do not pair up.
#pragma once

#include <optional>
#include <vector>

#include "model/row_codec.h"
#include "read/partition_reader.h"
#include "read/read_request.h"

namespace cassandra_like {

class ResponseReader final : public PartitionScanner {
 public:
  // Both outlive it.
  ResponseReader(const ReadRequest& request, BytesView partitions);
  // A partition that was not read to its end is passed over.
  Result<PartitionReader*> next() override;
  // To the first partition again.
  void rewind();

 private:
  class Partition final : public PartitionReader {
   public:
    explicit Partition(ResponseReader& response) : response_(response) {}
    Status begin(Reader& in);
    Result<const Unfiltered*> next() override;

   private:
    friend class ResponseReader;
    Status check_order(const Unfiltered& unfiltered);

    ResponseReader& response_;
    bool ended_ = true;
    bool is_reversed_ = false;
    std::vector<HeaderColumn> statics_, regulars_;
    SerializationHeader header_;
    std::optional<RowDecoder> decoder_;
    Arena static_arena_{64};
    Arena arena_{1024};
    Unfiltered current_;
    Bytes last_;  // the place of the unfiltered before
    bool has_last_ = false;
    bool is_behind_end_ = false;  // that one closed a range tombstone and opened none
    DeletionTime open_;
  };

  Status read_columns(Reader& in, const ColumnFilter::Columns& fetched, std::vector<HeaderColumn>& out) const;

  const ReadRequest& request_;
  const BytesView partitions_;
  Reader in_;
  bool begun_ = false, ended_ = false;
  Token last_token_ = kMinimumToken;
  BytesView last_key_ = kNull;
  Partition partition_;
};

}  // namespace cassandra_like
