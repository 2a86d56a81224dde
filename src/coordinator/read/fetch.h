// One question to several replicas, and their answers (service.reads.ReadCallback): this node's own replica and others are
// asked, one more when they are slow, until the level is reached or cannot be.
//
// The read that asks holds a FetchRef. A local read that goes on after the decision holds another. Later answers of other
// nodes only tell how slow these nodes are. Fetches are reused: a read allocates none once there are enough.
#pragma once

#include <memory>
#include <vector>

#include "base/log_quota.h"
#include "base/shared_bytes.h"
#include "coordinator/context/request_context.h"
#include "coordinator/quorum/read_quorum.h"
#include "coordinator/read/alarms.h"
#include "coordinator/read/read_warnings.h"
#include "read/read_digest.h"
#include "read/response_reader.h"
#include "read/unfiltered_buffer.h"

namespace cassandra_like {

class Fetch;
class FetchPool;

class FetchRef {
 public:
  FetchRef() = default;
  explicit FetchRef(Fetch* fetch);
  FetchRef(const FetchRef& o) : FetchRef(o.fetch_) {}
  FetchRef(FetchRef&& o) noexcept : fetch_(std::exchange(o.fetch_, nullptr)) {}
  FetchRef& operator=(FetchRef o) noexcept {
    std::swap(fetch_, o.fetch_);
    return *this;
  }
  ~FetchRef();
  Fetch* operator->() const { return fetch_; }
  Fetch& operator*() const { return *fetch_; }
  explicit operator bool() const { return fetch_ != nullptr; }

 private:
  Fetch* fetch_ = nullptr;
};

// The data of one replica: of this node, or the body of a message.
struct ReplicaData {
  EndpointIndex endpoint = 0;
  std::unique_ptr<UnfilteredBuffer> buffer;  // null: of another node
  Bytes message;
  size_t from = 0, size = 0;  // of the partitions in the message

  BytesView partitions() const { return BytesView(message).substr(from, size); }
};

// A replica that was asked. It outlives the fetch that it belongs to, for the answer that comes too late.
class FetchContact final : public ResponseHandler {
 public:
  explicit FetchContact(FetchPool& pool) : pool_(pool) {}
  void on_response(InboundMessage& response) override;
  void on_failure(const InetAddressAndPort& from, RequestFailureReason reason) override;

 private:
  friend class Fetch;
  friend class FetchPool;
  // Back to the pool. Returns the fetch that still waits, if any.
  Fetch* end();

  FetchPool& pool_;
  Fetch* fetch_ = nullptr;  // null: nobody waits
  EndpointIndex endpoint_ = 0;
  bool wants_data_ = false;
  int64_t sent_at_ = 0, deadline_ = 0;
  uint32_t id_ = 0;
};

class Fetch final : Alarms::Listener {
 public:
  explicit Fetch(FetchPool& pool) : pool_(pool) {}
  Fetch(const Fetch&) = delete;
  Fetch& operator=(const Fetch&) = delete;

  // --- Before start(). The command may refer to `key`, and to nothing else that the caller does not keep longer than this.
  ReadRequest request;
  Bytes key;
  // Data that came before, in place of asking that replica.
  void adopt(ReplicaData data) { data_.push_back(std::move(data)); }

  enum class Kind { kDigests, kData };
  struct Options {
    Kind kind = Kind::kData;
    Speculation speculation = Speculation::kNever;
    int64_t speculate_at = 0;  // monotonic nanoseconds; 0: not
    int64_t deadline = 0;
    std::shared_ptr<TableRequests> requests;  // where speculation is counted; null: it is not (reads for repairs)
    size_t local_bytes = std::numeric_limits<size_t>::max();  // this node's own data has enough with so many
    bool tracks_warnings = false;
    TracePtr trace;
  };
  void start(ClusterSnapshotPtr cluster, ReadPlan plan, Options options);

  // The state is not kWaiting any more when it completes. Once.
  Task<void> decided();
  // Nobody wants the answers any more: the fetch is decided as if its time were over.
  void abandon();

  // --- Afterwards
  QuorumState state() const { return quorum_->state(); }
  // kReadFailure or kReadTimeout.
  Error error() const;
  std::span<const EndpointIndex> contacted() const { return quorum_->contacted(); }
  const ReadPlan& plan() const { return plan_; }
  // Whether all answers are the same; kCorruption when data is none.
  Result<bool> answers_match();
  // The data that has come.
  std::vector<ReplicaData>& data() { return data_; }
  uint64_t tombstones() const { return tombstones_; }
  const ReadWarnings& warnings() const { return warnings_; }

 private:
  friend class FetchContact;
  friend class FetchPool;
  friend class FetchRef;

  void ring(uint64_t generation) override;
  void ask(const ReadTarget& target);
  void trace(const ReadTarget& target);
  void ask_remote(const ReadTarget& target);
  void ask_local(bool wants_data);
  static Task<void> finish_local(FetchRef self, Task<Result<ReadStatistics>> read);
  void local_done(Result<ReadStatistics> result);
  void warn_locally(const Result<ReadStatistics>& result);
  void on_response(EndpointIndex from, bool asked_for_data, InboundMessage& response);
  void failed(EndpointIndex from, RequestFailureReason reason);
  void settle();
  bool is_local(EndpointIndex endpoint) const { return cluster_->is_local(endpoint); }
  Result<ReadQuorum::Digest> digest_of(ReplicaData& data);
  void release();

  FetchPool& pool_;
  size_t holds_ = 0;
  uint64_t generation_ = 0;

  ClusterSnapshotPtr cluster_;
  ReadPlan plan_;
  Options options_;
  std::optional<ReadQuorum> quorum_;
  std::optional<Promise<bool>> decided_;
  bool settled_ = false;
  bool speculated_ = false;
  int busy_ = 0;                                                   // within a call that ends with settle()
  absl::InlinedVector<FetchContact*, kInlinedReplicas> contacts_;  // that have not answered
  SharedBytes data_body_, digest_body_;
  std::vector<ReplicaData> data_;
  ReadWarnings warnings_;

  // The local read.
  std::unique_ptr<UnfilteredBuffer> buffer_;
  std::optional<ReadDigest> local_digest_;
  // The rows of the buffer may refer to columns of the tables that are in these.
  SchemaPtr schema_before_, schema_after_;
  int64_t local_began_ = 0;
  uint64_t tombstones_ = 0;
};

// The fetches of a shard and what they need. Ends after all of its tasks.
class FetchPool {
 public:
  explicit FetchPool(RequestContext& context) : context(context), alarms(context.runtime) {}
  ~FetchPool();

  FetchRef take();
  std::unique_ptr<UnfilteredBuffer> take_buffer(size_t enough_bytes);
  void give_back(std::unique_ptr<UnfilteredBuffer> buffer);
  // A line that names the peer.
  void complain(const InetAddressAndPort& peer, const std::string& what);

  RequestContext& context;
  Alarms alarms;
  LogQuota warning_log;  // of replicas
  LogQuota local_log;    // of reads that fail on this node

 private:
  friend class Fetch;
  friend class FetchContact;

  FetchContact* take_contact();

  Bytes scratch_;
  std::vector<std::unique_ptr<Fetch>> fetches_;
  std::vector<Fetch*> free_fetches_;
  std::vector<std::unique_ptr<FetchContact>> contacts_;
  std::vector<FetchContact*> free_contacts_;
  std::vector<std::unique_ptr<UnfilteredBuffer>> buffers_;
  LogQuota complaints_;
};

}  // namespace cassandra_like
