// One client's connection: finds the frames in what arrives, runs them in order, and writes the answers, those that
// are ready at once in one write.
//
// A request that must wait is answered when it completes; answers then leave in the order of completion, and those of
// one turn of the loop in one write. Reading stops while there is a reason to (PauseReason); what was not consumed
// is offered again. A large frame counts as in flight from its first bytes on, so that many halves of frames cannot
// fill the memory, and its body is gathered here as it comes. Before the login there are no large frames.
//
// Answers that wait to be read count in RequestMemory until all of them have been sent. When that is full, large answers
// are refused, and a connection on which more than a small answer waits is not read from.
//
// Until a STARTUP arrives, frames may be of any version. It fixes the version, and after its answer v5 continues in
// segments. Errors in frames are answered and survived as Cassandra does it: v3 and v4 go on with the next frame,
// v5 closes on the second error in a row within a segment, and on everything that makes it lose its place.
#pragma once

#include <memory>
#include <string>

#include "cql/context/client_state.h"
#include "read/abandonment.h"
#include "transport/compression.h"
#include "transport/response.h"
#include "transport/segment.h"
#include "transport/server_shard.h"

namespace cassandra_like {

class ServerConnection : public ConnectionHandler, public std::enable_shared_from_this<ServerConnection> {
 public:
  ServerConnection(std::shared_ptr<ServerShard> core, Connection& connection, uint64_t id, HostUsage& usage);

  size_t on_received(BytesView data) override;
  void on_closed(const Status& reason) override;
  void on_drained() override;

  // From the server, between requests.
  bool wants(EventMask event) const { return (events_ & event) != 0; }
  void send_schema_event(const SchemaEvent& event);
  void send_node_event(std::string_view kind, std::string_view change, const SocketAddress& node);
  void stop_reading() { pause(kDraining); }
  void close();
  void close_now();
  // Bytes in flight were released: may go on reading if it waited for that.
  void reconsider_bytes();
  // Closes what has been idle, or stalled within a frame, for too long.
  void check_idle(int64_t now);
  ClientInfo info() const;

 private:
  enum PauseReason : uint8_t {
    kBytes = 1,
    kRate = 2,
    kConcurrency = 4,
    kSlowReader = 8,
    kAuth = 16,
    kDraining = 32,
    kTurn = 64
  };
  struct Extras {  // of a response
    const Uuid* tracing_id = nullptr;
    const std::vector<std::string>* warnings = nullptr;
    const std::vector<std::string>* more_warnings = nullptr;
  };
  enum class Overload : uint8_t { kNone, kBytes, kRate, kConcurrency };

  // Framing (connection.cc). Each returns how much it consumed.
  size_t receive(BytesView data);
  size_t receive_frame(BytesView data);
  size_t receive_segment(BytesView data);
  void receive_large(const Segment& segment);
  bool expect(uint64_t size);
  void expected_came();
  bool serve_segment(BytesView payload);
  size_t serve_enveloped(BytesView rest);
  size_t receive_more(BytesView data);
  void refuse_stranger(const FrameHeader& header);
  void serve_frame(const FrameHeader& header, BytesView body, Bytes* whole);
  bool check_version(const FrameHeader& header);
  void start_large(const FrameHeader& header);
  std::string what_is_wrong(const FrameHeader& header) const;
  size_t look_at(BytesView frames);
  bool may_continue();

  // Requests (connection_requests.cc).
  bool dispatch(std::unique_ptr<Request> request);
  void startup(const FrameHeader& header, BytesView body);
  Status apply_startup(const Request& request);
  Status check_stage(Opcode opcode) const;
  bool admit(Request& request, Overload* overload);
  void run(std::unique_ptr<Request> request, Overload overload);
  void run_statement(std::unique_ptr<Request> request, Overload overload);
  Task<Result<QueryResult>> execute(Request& request, TraceSession* trace);
  bool is_traced_by_chance();
  std::map<std::string, std::string> trace_parameters(const Request& request) const;
  void hold(Request& request, Overload overload);
  void finish(std::unique_ptr<Request> request);
  void answer(const Request& request, Result<QueryResult>& result, const Uuid* tracing_id);
  RowsMetadata rows_metadata(const Request& request, const QueryResult& result) const;
  void authenticated(Request& request, Result<AuthOutcome> outcome);
  static Task<void> wait_for_statement(std::shared_ptr<ServerConnection> self, std::unique_ptr<Request> request,
                                       Task<Result<QueryResult>> task);
  static Task<void> run_traced(std::shared_ptr<ServerConnection> self, std::unique_ptr<Request> request);
  static Task<void> wait_for_authentication(std::shared_ptr<ServerConnection> self, std::unique_ptr<Request> request,
                                            Task<Result<AuthOutcome>> task);

  // Answers.
  template <class AppendBody>
  void respond(Opcode opcode, int16_t stream, const Extras& extras, AppendBody&& append_body);
  void respond_error(int16_t stream, const Error& error);
  void respond_protocol_error(int16_t stream, std::string message);
  void respond_too_big(int16_t stream, uint64_t size);
  // Answers in another version than the connection's: a client that speaks none of ours must be able to read it.
  void respond_version_error(const FrameHeader& header, const char* data);
  void respond_supported(int version, int16_t stream);
  void seal();
  void answered_later();
  void count_unread();
  void look_whether_all_is_sent();

  void pause(PauseReason reason);
  void resume(PauseReason reason);
  void fail(int16_t stream, std::string message);

  std::shared_ptr<ServerShard> core_;
  Connection* connection_;  // nullptr once it is closed
  const uint64_t id_;
  HostUsage& usage_;

  Abandonment abandonment_;
  ClientState client_;
  ConnectionStage stage_ = ConnectionStage::kEstablished;
  int version_ = kCurrentProtocolVersion;
  bool started_ = false;    // a STARTUP came
  bool segmented_ = false;  // v5 after it
  bool closing_ = false;
  bool receiving_ = false;
  bool flush_posted_ = false;
  bool throw_on_overload_ = false;
  bool inside_frame_ = false;  // an incomplete one has arrived
  uint8_t paused_ = 0;
  uint8_t events_ = 0;
  Compression compression_ = Compression::kNone;
  std::map<std::string, std::string> startup_options_;

  uint64_t discard_ = 0;          // bytes of a frame that is too big
  FrameHeader discarded_;         // whose header this was
  uint64_t expected_ = 0;         // bytes held for a large frame of which a part has come
  uint64_t wanted_ = 0;           // for one that has to wait for room
  size_t unpacked_ = 0;           // bytes of segments, since on_received() was called
  size_t served_of_segment_ = 0;  // of the front segment's payload, when reading stopped within it
  uint32_t errors_in_a_row_ = 0;
  Bytes large_;  // a large frame, or a message spread over segments: its body so far
  FrameHeader large_header_;
  uint64_t large_missing_ = 0;  // 0: none is being received
  bool large_too_big_ = false;

  Bytes pending_;        // frames for the next segments
  RequestShare unread_;  // of what the client has yet to take
  uint64_t requests_ = 0;
  uint32_t in_flight_ = 0;
  size_t bytes_in_flight_ = 0;
  uint32_t answered_in_read_ = 0;
  int64_t received_nanos_ = 0;
  int64_t active_nanos_ = 0;
};

}  // namespace cassandra_like
