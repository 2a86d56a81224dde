// Merges what several replicas have answered to one question, partition by partition in ring order, into the client's answer,
// and repairs the replicas that lack a part of it (service.reads.DataResolver).
//
// A replica whose answer was cut by a limit is asked for more when the merge comes to its end and the client's limits are not
// reached (coordinator/quorum/short_read.h), and this node's own replica when its buffer was full. Memory: what the limits
// of the question admit, of each replica.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "coordinator/quorum/data_resolver.h"
#include "coordinator/quorum/short_read.h"
#include "coordinator/read/read_operation.h"

namespace cassandra_like {

// The answer of one replica, as the reader of the partition that the merge is at.
class ResolveSource final : public PartitionReader {
 public:
  // The request outlives it.
  ResolveSource(const ReadRequest& request, ReplicaData data);
  ResolveSource(const ResolveSource&) = delete;
  ResolveSource& operator=(const ResolveSource&) = delete;

  EndpointIndex endpoint() const { return endpoint_; }
  // The data is no answer to the question.
  bool is_corrupt() const { return is_corrupt_; }

  // Goes to the next partition of what is there; false: there is none.
  Result<bool> advance();
  bool has_partition() const { return at_ != nullptr; }
  // Passes over the rest of the partition.
  Status leave_partition();
  // The limits of its question have cut it: there may be more behind last_key() and last_place().
  bool is_cut() const { return sent_.rows >= limits_.rows; }
  // An error that is none when wants_rows(): it is to be called again behind add_rows().
  Result<const Unfiltered*> next() override;

  // So many rows of the partition, behind last_place().
  std::optional<uint64_t> wants_rows() const { return wanted_rows_; }
  // None: there are no more.
  Status add_rows(FetchRef fetch);
  const Bytes& last_place() const { return last_place_; }  // empty: nothing came

  // The limits of the question for more partitions behind last_key(). Nothing: the replica has no more.
  std::optional<WireLimits> more_partitions(uint64_t merged_rows);
  void add_partitions(FetchRef fetch);
  DecoratedKey last_key() const { return {last_token_, last_key_}; }

 private:
  // Data, and its reader.
  struct Part {
    FetchRef fetch;  // whose request it answers; none: that of all
    ReplicaData data;
    std::unique_ptr<ResponseReader> response;

    void open(const ReadRequest& request);
    Result<PartitionReader*> next();
  };
  void count(const Unfiltered& unfiltered);
  void count_end();

  const ReadRequest& request_;
  const DataLimits limits_;
  const EndpointIndex endpoint_;
  Part partitions_part_;
  std::vector<std::unique_ptr<Part>> rows_parts_;  // of this partition; the last one is read
  PartitionReader* at_ = nullptr;
  bool has_ended_ = false;  // the partition, as far as it was sent
  bool is_corrupt_ = false;
  SentRows sent_;
  ShortReadRows rows_;
  ShortReadPartitions partitions_;
  std::optional<uint64_t> wanted_rows_;
  Token last_token_ = kMinimumToken;
  Bytes last_key_, last_place_;
};

// Brings the answers to the operation's client. The fetch is decided and done, its kind is that of data. kReadFailure,
// kReadTimeout; those of the sink are in the sink.
Task<Status> resolve(ReadOperation* operation, FetchRef fetch);

}  // namespace cassandra_like
