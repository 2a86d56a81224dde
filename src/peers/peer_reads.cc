// Reads of other nodes: data, or a digest of it.
#include <utility>

#include "base/log.h"
#include "messaging/read_response.h"
#include "peers/peer_requests.h"
#include "read/read_digest.h"
#include "read/response_writer.h"

namespace cassandra_like {

namespace {

constexpr size_t kPiece = size_t{64} << 10;

// The part of an answer that has been found takes room of the messages to the node that it is for. The first piece is free, so
// most answers take none. Gives the room back when it ends: the answer takes its own when it is to be sent.
class AnswerRoom {
 public:
  AnswerRoom(NodeReserves& node, const InetAddressAndPort& to) : node_(node), to_(to) {}
  bool fits(size_t bytes) {
    if (bytes <= granted_) return true;
    if (budget_ == nullptr) {
      peer_ = node_.of(to_);
      budget_ = std::make_unique<QueueBudget>(0, peer_->send, node_.send);
    }
    const size_t more = (bytes - granted_ + kPiece - 1) / kPiece * kPiece;
    if (budget_->take(more) != QueueBudget::Outcome::kTaken) return false;
    granted_ += more;
    return true;
  }
  void give_back() {
    budget_.reset();
    granted_ = kPiece;
  }

 private:
  NodeReserves& node_;
  const InetAddressAndPort to_;
  std::shared_ptr<PeerReserves> peer_;
  std::unique_ptr<QueueBudget> budget_;
  size_t granted_ = kPiece;
};

// Shards read ahead for a range. When there is no room for that they read a piece ahead, and are asked more often.
class ReadAhead {
 public:
  ReadAhead(ByteLimit& room, ReadRequest& request) : room_(room) {
    if (!request.command.range) return;
    if (room.try_take(request.read_ahead)) {
      taken_ = request.read_ahead;
    } else {
      request.read_ahead = kPiece;
    }
  }
  ~ReadAhead() {
    if (taken_ > 0) room_.give_back(taken_);
  }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

 private:
  ByteLimit& room_;
  size_t taken_ = 0;
};

// Data up to a limit. Behind it nothing is kept, and the read ends.
class BoundedWriter final : public UnfilteredSink {
 public:
  BoundedWriter(const ReadRequest& request, Bytes& out, size_t max_bytes, AnswerRoom& room)
      : writer_(request, out), out_(out), max_bytes_(max_bytes), room_(room) {}
  void begin_partition(const Partition& partition) override {
    if (!is_full_) writer_.begin_partition(partition);
  }
  void unfiltered(const Unfiltered& unfiltered) override {
    if (is_full_) return;
    writer_.unfiltered(unfiltered);
    check();
  }
  bool end_partition() override {
    if (is_full_ || !writer_.end_partition()) return false;
    check();
    return !is_full_;
  }
  void finish() { writer_.finish(); }
  // It has more bytes than a message may have, or there is no room for so many.
  bool is_full() const { return is_full_; }
  bool is_too_large() const { return is_too_large_; }

 private:
  void check() {
    is_too_large_ = out_.size() > max_bytes_;
    is_full_ = is_too_large_ || !room_.fits(out_.size());
    if (!is_full_) return;
    want_more(false);
    Bytes().swap(out_);
    room_.give_back();
  }

  ResponseWriter writer_;
  Bytes& out_;
  const size_t max_bytes_;
  AnswerRoom& room_;
  bool is_full_ = false, is_too_large_ = false;
};

void warn(VerbResult& answer, ParamType type, uint64_t number) {
  Bytes value;
  append_be(value, static_cast<uint32_t>(number));
  ParamsBuilder params;
  params.add(type, value);
  answer.params = SharedBytes::copy_of(params.get().entries);
  answer.params_count = params.get().count;
}

}  // namespace

// A read that is under way: what it is of, and what it has found.
struct PeerRequests::Reading {
  Reading(std::unique_ptr<ReceivedReadRequest> r, const InboundMessage& message, size_t max_bytes, NodeReserves& node)
      : room(node, message.respond_to()),
        received(std::move(r)),
        read_ahead(node.read_ahead, received->request),
        from(message.from),
        verb(message.header.verb),
        trace(message.trace),
        tracks_warnings((message.header.flags & kTrackWarnings) != 0) {
    begin(max_bytes);
  }
  void begin(size_t max_bytes) {
    if (request().is_digest) {
      digest.emplace(request());
    } else {
      writer.reset();
      response.emplace();
      writer.emplace(request(), response->data(), max_bytes, room);
    }
  }
  const ReadRequest& request() const { return received->request; }
  UnfilteredSink& sink() {
    if (digest) return *digest;
    return *writer;
  }
  VerbResult finish() {
    room.give_back();
    if (!digest) {
      writer->finish();
      return VerbResult::answer(SharedBytes::copy_of(response->finish()));
    }
    Bytes body;
    append_digest_response(body, digest->finish());
    return VerbResult::answer(SharedBytes::copy_of(body));
  }

  AnswerRoom room;
  std::unique_ptr<ReceivedReadRequest> received;
  ReadAhead read_ahead;
  InetAddressAndPort from;
  Verb verb;
  TracePtr trace;
  bool tracks_warnings = false;
  std::optional<ReadDigest> digest;
  std::optional<DataResponse> response;
  std::optional<BoundedWriter> writer;
};

std::optional<Task<VerbResult>> PeerRequests::read(InboundMessage& message) {
  auto received = decode_read_request(message.payload, message.version, find_shared_table_);
  if (!received.ok()) return not_decoded(message, received.error());
  ++statistics_.reads;
  auto reading =
      std::make_unique<Reading>(std::move(*received), message, options_.max_answer_bytes, messenger_.reserves());
  const ReadRequest& request = reading->request();
  const ReadCommand& command = request.command;
  // Ranges are not looked at, as in Cassandra.
  if (!command.keys.empty()) {
    const Token token = command.keys[0].token;
    if (!is_replica(*command.table, token, false) &&
        is_rejected(message.from, "read(s)", *command.table, token, statistics_.out_of_range_reads)) {
      return Task<VerbResult>(VerbResult::nothing());
    }
  }
  if (message.trace != nullptr) trace_read(*message.trace, command);
  Task<Result<ReadStatistics>> task = replica_.read_unfiltered(request, reading->sink(), message.deadline);
  if (task.ready()) return Task<VerbResult>(answer(*reading, task.value()));
  return finish_read(shared_from_this(), std::move(reading), std::move(task));
}

Task<VerbResult> PeerRequests::finish_read(std::shared_ptr<PeerRequests> self, std::unique_ptr<Reading> reading,
                                           Task<Result<ReadStatistics>> task) {
  Result<ReadStatistics> result = co_await task;
  co_return self->answer(*reading, result);
}

// Who asked for warnings gets an empty answer that says why (db.ReadCommandVerbHandler, RejectException).
VerbResult PeerRequests::aborted(Reading& reading) {
  reading.begin(options_.max_answer_bytes);
  VerbResult answer = reading.finish();
  warn(answer, ParamType::kTombstoneFail, options_.tombstone_failure_threshold + 1);
  return answer;
}

VerbResult PeerRequests::answer(Reading& reading, const Result<ReadStatistics>& result) {
  if (result.ok() && reading.trace != nullptr) {
    trace_rows(*reading.trace, *result);
    reading.trace->event("Enqueuing response to " + reading.from.to_string());
  }
  if (result.ok() && (reading.digest || !reading.writer->is_full())) {
    VerbResult answer = reading.finish();
    const bool warns = options_.tombstone_warn_threshold > 0 &&
                       result->tombstones > options_.tombstone_warn_threshold &&
                       !is_local_system_keyspace(reading.request().command.table->keyspace);
    if (warns && reading.tracks_warnings) warn(answer, ParamType::kTombstoneWarning, result->tombstones);
    return answer;
  }
  RequestFailureReason reason = RequestFailureReason::kUnknown;
  std::string why;
  if (result.ok()) {
    why = "its answer from " + reading.request().command.table->qualified_name();
    if (reading.writer->is_too_large()) {
      ++statistics_.too_large;
      reason = RequestFailureReason::kReadSize;
      why += " has more bytes than a message may have";
    } else {
      why +=
          " found no room beside those that wait for being sent "
          "(internode_application_send_queue_reserve_endpoint_capacity "
          "and _global_capacity)";
    }
  } else {
    const Error& error = result.error();
    why = error.message();
    if (error.code() == ErrorCode::kReadTimeout) {
      ++statistics_.expired;
      return VerbResult::nothing();  // its sender has given up by now
    }
    if (is_unknown_table(error)) reason = RequestFailureReason::kIncompatibleSchema;
    if (error.code() == ErrorCode::kReadFailure) {
      ++statistics_.tombstone_failures;
      reason = RequestFailureReason::kReadTooManyTombstones;
      if (reading.tracks_warnings) return aborted(reading);
    }
  }
  if (auto more = quota(failure_log_)) {
    LOG_WARN("{} of {} failed: {}{}", verb_name(reading.verb), reading.from.to_string(), why, *more);
  }
  return VerbResult::failure(reason);
}

}  // namespace cassandra_like
