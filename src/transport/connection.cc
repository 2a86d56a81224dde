// A connection's framing: from bytes to frames, and from answers to bytes.
#include "transport/connection.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/log.h"
#include "transport/look_ahead.h"
#include "transport/respond.h"

namespace cassandra_like {

namespace {
// Few bytes may decompress to many: other connections have their turn when so many have.
constexpr size_t kUnpackedInTurn = size_t{256} << 10;
constexpr uint32_t kErrorsInARow = 1;  // consecutive_message_errors_threshold
constexpr size_t kKeptBuffer = 64 * 1024;

bool is_supported(int version) { return version >= kMinProtocolVersion && version <= kMaxProtocolVersion; }

bool lacks_beta_flag(const FrameHeader& header) {
  return header.version == kBetaProtocolVersion && (header.flags & kFlagUseBeta) == 0;
}

// Cassandra takes the byte for a negative number, and ends the connection on that.
bool is_no_opcode(const FrameHeader& header) { return header.opcode > 0x7F; }

std::string beta_message() {
  return fmt::format("Beta version of the protocol used ({}), but USE_BETA flag is unset",
                     version_name(kBetaProtocolVersion));
}

std::string too_early(const FrameHeader& header) {
  return fmt::format(
      "The connection is not yet in a valid state to process multi frame CQL Messages, usually thismeans that "
      "authentication is still pending. type = {}, size = {}",
      opcode_name(static_cast<Opcode>(header.opcode)), header.length);
}
}  // namespace

ServerConnection::ServerConnection(std::shared_ptr<ServerShard> core, Connection& connection, uint64_t id,
                                   HostUsage& usage)
    : core_(std::move(core)), connection_(&connection), id_(id), usage_(usage), unread_(core_->request_memory.get()) {
  client_.address = connection.remote_address();
  client_.abandonment = &abandonment_;
  throw_on_overload_ = core_->options.throw_on_overload;
  received_nanos_ = active_nanos_ = core_->now();
}

size_t ServerConnection::on_received(BytesView data) {
  if (closing_) return data.size();
  received_nanos_ = active_nanos_ = core_->now();
  DCHECK(!receiving_ && connection_ != nullptr);
  receiving_ = true;
  answered_in_read_ = 0;
  const size_t consumed = receive(data);
  receiving_ = false;
  core_->metrics.bytes_received += consumed;
  if (answered_in_read_ > 0) {
    const auto micros = static_cast<uint64_t>((core_->now() - received_nanos_) / 1000);
    for (; answered_in_read_ > 0; --answered_in_read_) core_->metrics.request_micros.record(micros);
  }
  seal();
  // If everything can be sent at once, nothing else will say so.
  if ((paused_ & kSlowReader) != 0 || unread_.held() > 0) {
    core_->runtime.executor.post([self = shared_from_this()] { self->look_whether_all_is_sent(); });
  }
  return closing_ ? data.size() : consumed;
}

size_t ServerConnection::receive(BytesView data) {
  size_t at = 0, looked_at = 0;
  unpacked_ = 0;
  while (at < data.size() && may_continue()) {
    BytesView rest = data.substr(at);
    const bool begins_frame = large_missing_ == 0 && discard_ == 0;
    if (!segmented_ && begins_frame && at >= looked_at) looked_at = at + look_at(rest);
    size_t n = segmented_ ? receive_segment(rest) : receive_frame(rest);
    if (n == 0) break;
    at += n;
  }
  inside_frame_ = (at < data.size() && paused_ == 0) || large_missing_ > 0 || discard_ > 0;
  return at;
}

// Looks at the frames behind the first; returns how much it looked at.
size_t ServerConnection::look_at(BytesView frames) {
  return stage_ == ConnectionStage::kReady ? look_ahead(frames, version_, core_->processor) : 0;
}

bool ServerConnection::may_continue() {
  if (closing_ || paused_ != 0) return false;
  if (unpacked_ > kUnpackedInTurn) {
    pause(kTurn);
    core_->runtime.executor.post([self = shared_from_this()] { self->resume(kTurn); });
    return false;
  }
  const size_t unread = connection_->unsent() + pending_.size();
  const RequestMemory* memory = core_->request_memory.get();
  const bool there_is_room = unread <= RequestShare::kSmall || memory == nullptr || !memory->is_full();
  if (there_is_room && unread <= core_->options.max_unsent_bytes) return true;
  pause(kSlowReader);
  return false;
}

// ---- v3, v4, and v5 until its STARTUP

size_t ServerConnection::receive_frame(BytesView data) {
  if (discard_ > 0) {
    const size_t n = std::min<uint64_t>(discard_, data.size());
    discard_ -= n;
    if (discard_ == 0) {
      respond_too_big(discarded_.stream, uint64_t{static_cast<uint32_t>(discarded_.length)} + kFrameHeaderSize);
    }
    return n;
  }
  if (large_missing_ > 0) return receive_more(data);
  const int version = data[0] & 0x7F;
  const bool acceptable = is_supported(version) && (core_->options.allow_older_protocols || version >= 5);
  if (data.size() < kFrameHeaderSize) {
    // Without a stream id there is nobody to answer to.
    if (!acceptable) close();
    return 0;
  }
  const FrameHeader header = read_frame_header(data.data());
  if (!acceptable || lacks_beta_flag(header)) {
    respond_version_error(header, data.data());
    return data.size();
  }
  if (is_no_opcode(header)) {
    close();
    return 0;
  }
  const uint64_t size = uint64_t{static_cast<uint32_t>(header.length)} + kFrameHeaderSize;
  if (size > core_->options.max_frame_size) {
    discard_ = size;
    discarded_ = header;
    return receive_frame(data);
  }
  if (stage_ != ConnectionStage::kReady && size > kKeptBuffer) {
    refuse_stranger(header);
    return 0;
  }
  if (data.size() < size) {
    if (size <= kKeptBuffer || !expect(size)) return 0;
    large_header_ = header;
    large_missing_ = static_cast<uint64_t>(header.length);
    large_.reserve(static_cast<size_t>(header.length));
    return kFrameHeaderSize;
  }
  serve_frame(header, data.substr(kFrameHeaderSize, static_cast<size_t>(header.length)), nullptr);
  return size;
}

// Whoever has not logged in has nothing to say that takes so much room.
void ServerConnection::refuse_stranger(const FrameHeader& header) {
  const std::string wrong = what_is_wrong(header);
  if (!started_) version_ = header.version;
  fail(header.stream, wrong.empty() ? too_early(header) : wrong);
}

// The body of a large frame is gathered as it comes: the socket's buffer does not have to grow for it.
size_t ServerConnection::receive_more(BytesView data) {
  const size_t n = std::min<uint64_t>(large_missing_, data.size());
  large_.append(data.substr(0, n));
  large_missing_ -= n;
  if (large_missing_ > 0) return n;
  expected_came();
  Bytes body = std::exchange(large_, Bytes());
  serve_frame(large_header_, body, &body);
  return n;
}

// Counts a large frame before it is here, or stops reading until there is room for it; false then.
bool ServerConnection::expect(uint64_t size) {
  if (expected_ > 0 || size <= kKeptBuffer) return true;
  if (!core_->request_limits.may_expect(usage_, size)) {
    wanted_ = size;
    pause(kBytes);
    return false;
  }
  core_->request_limits.hold(usage_, size);
  expected_ = size;
  return true;
}

// From here on the request counts by itself.
void ServerConnection::expected_came() {
  if (expected_ > 0) core_->release_bytes(usage_, std::exchange(expected_, 0));
}

// `whole`: what the body is all of, to be taken; or nullptr.
void ServerConnection::serve_frame(const FrameHeader& header, BytesView body, Bytes* whole) {
  const std::string wrong = what_is_wrong(header);
  if (!wrong.empty()) {
    ++core_->metrics.protocol_errors;
    return respond_protocol_error(header.stream, wrong);
  }
  const auto opcode = static_cast<Opcode>(header.opcode);
  if (!started_) {
    if (opcode == Opcode::kOptions) return respond_supported(header.version, header.stream);
    if (opcode == Opcode::kStartup) return startup(header, body);
    version_ = header.version;
    return fail(header.stream, fmt::format("Unexpected message {}, expecting STARTUP or OPTIONS", opcode_name(opcode)));
  }
  std::unique_ptr<Request> request = core_->pool.take();
  request->header = header;
  request->body.clear();
  if ((header.flags & kFlagCompressed) != 0 && compression_ != Compression::kNone) {
    if (decompressed_size(compression_, body) + kFrameHeaderSize > core_->options.max_frame_size) {
      core_->pool.give_back(std::move(request));
      return respond_too_big(header.stream, decompressed_size(compression_, body) + kFrameHeaderSize);
    }
    if (!decompress_body(compression_, body, request->body)) {
      return fail(header.stream, fmt::format("Provided frame does not appear to be {} compressed",
                                             compression_ == Compression::kLz4 ? "LZ4" : "Snappy"));
    }
  } else if (whole != nullptr) {
    request->body = std::move(*whole);
  } else {
    request->body.assign(body);
  }
  dispatch(std::move(request));
}

std::string ServerConnection::what_is_wrong(const FrameHeader& header) const {
  if (!is_supported(header.version)) return invalid_version_message(header.version);
  if (lacks_beta_flag(header)) return beta_message();
  if (header.opcode >= kOpcodeCount) return fmt::format("Unknown opcode {}", header.opcode);
  const auto opcode = static_cast<Opcode>(header.opcode);
  if (is_request(opcode) == header.response) {
    return fmt::format("Wrong protocol direction (expected {}, got {}) for opcode {} ({})",
                       is_request(opcode) ? "REQUEST" : "RESPONSE", header.response ? "RESPONSE" : "REQUEST",
                       header.opcode, opcode_name(opcode));
  }
  if (started_ && !is_request(opcode)) {
    return fmt::format("Unexpected RESPONSE message {}, expecting REQUEST", opcode_name(opcode));
  }
  if (started_ && header.version != version_) {
    return fmt::format("Invalid message version. Got {} but previous{}messages on this connection had version {}",
                       version_name(header.version), segmented_ ? "" : " ", version_name(version_));
  }
  return {};
}

void ServerConnection::respond_version_error(const FrameHeader& header, const char* data) {
  ++core_->metrics.protocol_errors;
  Bytes& out = connection_->output();
  const int version = header.version;
  int answer_version = version_;
  uint8_t flags = 0;
  std::string message = invalid_version_message(version);
  if (lacks_beta_flag(header)) {
    answer_version = kBetaProtocolVersion;
    flags = kFlagUseBeta;
    message = beta_message();
  } else if (is_supported(version)) {
    message = fmt::format("Rejecting Protocol Version {} < {}.", version_name(version),
                          version_name(kCurrentProtocolVersion));
  }
  ErrorInfo error;
  error.code = ErrorCode::kProtocolError;
  error.message = std::move(message);
  if (version == 1 || version == 2) {  // headers of 8 bytes, as the client's own, with one for the stream id
    Bytes body;
    append_error(body, kMinProtocolVersion, error);
    const char head[4] = {static_cast<char>(0x80 | version), 0, data[2], static_cast<char>(Opcode::kError)};
    out.append(head, sizeof head);
    append_be(out, static_cast<int32_t>(body.size()));
    out.append(body);
    return;
  }
  const auto stream = version < kMinProtocolVersion ? static_cast<int16_t>(data[2]) : header.stream;
  const size_t begin = begin_frame(out, 0x80 | answer_version, Opcode::kError, stream, flags);
  append_error(out, kMinProtocolVersion, error);
  end_frame(out, begin);
}

// ---- v5

size_t ServerConnection::receive_segment(BytesView data) {
  Segment segment;
  const SegmentStatus status = read_segment(data, framing_of(compression_), core_->segment, &segment);
  if (status == SegmentStatus::kIncomplete) return 0;
  if (status != SegmentStatus::kIntact) {
    fail(0, fmt::format("{:08x} invalid, unrecoverable CRC mismatch detected in frame {}. Read {}, Computed {}", id_,
                        status == SegmentStatus::kCorruptHeader ? "header" : "body",
                        static_cast<int32_t>(segment.read_crc), static_cast<int32_t>(segment.computed_crc)));
    return 0;
  }
  unpacked_ += segment.payload.size();
  if (!segment.self_contained) {
    if (large_missing_ == 0 && segment.payload.size() >= kFrameHeaderSize) {
      const int32_t length = read_frame_header(segment.payload.data()).length;
      const bool too_big = length < 0 || static_cast<uint64_t>(length) > core_->options.max_message_size;
      if (!too_big && !expect(kFrameHeaderSize + static_cast<uint64_t>(length))) return 0;
    }
    receive_large(segment);
  } else if (large_missing_ > 0) {
    fail(large_header_.stream, "A message that spans segments was interrupted by another");
  } else if (!serve_segment(segment.payload)) {
    return 0;
  }
  return segment.size;
}

// False when reading had to stop within the segment.
bool ServerConnection::serve_segment(BytesView payload) {
  if (served_of_segment_ == 0) errors_in_a_row_ = 0;
  size_t looked_at = served_of_segment_;
  while (served_of_segment_ < payload.size()) {
    if (!may_continue()) return false;
    if (served_of_segment_ >= looked_at) looked_at = served_of_segment_ + look_at(payload.substr(served_of_segment_));
    served_of_segment_ += serve_enveloped(payload.substr(served_of_segment_));
  }
  served_of_segment_ = 0;
  return true;
}

// Serves the frame at the front; returns its size.
size_t ServerConnection::serve_enveloped(BytesView rest) {
  if (rest.size() < kFrameHeaderSize) {
    fail(0, fmt::format("A segment ends with {} bytes of a frame's header", rest.size()));
    return rest.size();
  }
  const FrameHeader header = read_frame_header(rest.data());
  if (header.length < 0) {
    fail(header.stream, fmt::format("Invalid value for envelope header body length field: {}", header.length));
    return rest.size();
  }
  const size_t size = kFrameHeaderSize + static_cast<size_t>(header.length);
  const std::string wrong = what_is_wrong(header);
  if (!wrong.empty()) {
    if (++errors_in_a_row_ > kErrorsInARow || is_no_opcode(header)) {
      fail(header.stream, wrong);
    } else {
      ++core_->metrics.protocol_errors;
      respond_protocol_error(header.stream, wrong);
    }
    return std::min(size, rest.size());
  }
  if (size > rest.size()) {
    fail(header.stream, fmt::format("Frame of {} bytes in a segment that has {} left", size, rest.size()));
    return rest.size();
  }
  std::unique_ptr<Request> request = core_->pool.take();
  request->header = header;
  request->body.assign(rest.substr(kFrameHeaderSize, static_cast<size_t>(header.length)));
  dispatch(std::move(request));
  return size;
}

void ServerConnection::start_large(const FrameHeader& header) {
  const std::string wrong = what_is_wrong(header);
  if (header.length < 0) {
    return fail(header.stream, fmt::format("Invalid value for envelope header body length field: {}", header.length));
  }
  if (!wrong.empty()) return fail(header.stream, wrong);
  if (stage_ != ConnectionStage::kReady) {
    return fail(header.stream, too_early(header));
  }
  large_header_ = header;
  large_missing_ = kFrameHeaderSize + static_cast<uint64_t>(header.length);
  large_too_big_ = static_cast<uint64_t>(header.length) > core_->options.max_message_size;
  if (!large_too_big_) large_.reserve(static_cast<size_t>(header.length));
}

void ServerConnection::receive_large(const Segment& segment) {
  BytesView payload = segment.payload;
  if (large_missing_ == 0) {
    if (payload.size() < kFrameHeaderSize) return close();
    start_large(read_frame_header(payload.data()));
    if (closing_) return;
    payload.remove_prefix(kFrameHeaderSize);
    large_missing_ -= kFrameHeaderSize;
  }
  if (payload.size() > large_missing_) {
    return fail(large_header_.stream, "A message that spans segments is longer than its header says");
  }
  large_missing_ -= payload.size();
  if (!large_too_big_) large_.append(payload);
  if (large_missing_ > 0) return;
  expected_came();

  if (large_too_big_) {
    ++core_->metrics.requests_discarded;
    return respond_error(large_header_.stream,
                         invalid(fmt::format("CQL Message of size {} bytes exceeds allowed maximum of {} bytes",
                                             large_header_.length, core_->options.max_message_size)));
  }
  std::unique_ptr<Request> request = core_->pool.take();
  request->header = large_header_;
  request->body = std::move(large_);
  large_ = Bytes();
  errors_in_a_row_ = 0;
  dispatch(std::move(request));
}

// ---- answers

void ServerConnection::respond_error(int16_t stream, const Error& error) {
  respond(Opcode::kError, stream, {}, [&](Bytes& out) { append_error(out, version_, error.info()); });
}

void ServerConnection::respond_too_big(int16_t stream, uint64_t size) {
  ++core_->metrics.requests_discarded;
  respond_error(stream, invalid(fmt::format("Request is too big: length {} exceeds maximum allowed length {}.", size,
                                            core_->options.max_frame_size)));
}

void ServerConnection::respond_protocol_error(int16_t stream, std::string message) {
  respond_error(stream, Error(ErrorCode::kProtocolError, std::move(message)));
}

void ServerConnection::fail(int16_t stream, std::string message) {
  ++core_->metrics.protocol_errors;
  LOG_DEBUG("Protocol error of client {}: {}", client_.address.to_string(), message);
  respond_protocol_error(stream, std::move(message));
  close();
}

void ServerConnection::send_schema_event(const SchemaEvent& event) {
  ++core_->metrics.events_sent;
  respond(Opcode::kEvent, kEventStream, {},
          [&](Bytes& out) { cassandra_like::append_schema_event(out, version_, event); });
  answered_later();
}

void ServerConnection::send_node_event(std::string_view kind, std::string_view change, const SocketAddress& node) {
  ++core_->metrics.events_sent;
  respond(Opcode::kEvent, kEventStream, {}, [&](Bytes& out) { append_node_event(out, kind, change, node); });
  answered_later();
}

void ServerConnection::seal() {
  if (pending_.empty() || connection_ == nullptr) return;
  Bytes& out = connection_->output();
  append_segments(out, pending_, framing_of(compression_));
  unread_.hold(out.size());
  if (pending_.capacity() > kKeptBuffer) {
    pending_ = Bytes();
  } else {
    pending_.clear();
  }
}

// Within on_received() answers leave when it returns; otherwise once for all that completes in this turn of the loop.
void ServerConnection::answered_later() {
  if (receiving_ || flush_posted_ || connection_ == nullptr) return;
  flush_posted_ = true;
  core_->runtime.executor.post([self = shared_from_this()] {
    self->flush_posted_ = false;
    if (self->connection_ == nullptr || self->closing_) return;
    self->active_nanos_ = self->core_->now();
    self->seal();
    self->connection_->flush();
    if (self->connection_ != nullptr && self->connection_->unsent() > self->core_->options.max_unsent_bytes) {
      self->pause(kSlowReader);
    }
    self->look_whether_all_is_sent();
  });
}

// With what was sent of them already: the buffers keep their memory until they are empty.
void ServerConnection::count_unread() { unread_.hold(connection_->output().size() + pending_.size()); }

void ServerConnection::look_whether_all_is_sent() {
  if ((paused_ & kSlowReader) == 0 && unread_.held() == 0) return;
  if (connection_ == nullptr || connection_->unsent() + pending_.size() > 0) return;
  unread_.release();
  resume(kSlowReader);
}

// ---- pausing and closing

void ServerConnection::pause(PauseReason reason) {
  if ((paused_ & reason) != 0 || connection_ == nullptr) return;
  if (reason == kBytes) ++core_->waiting_for_bytes;
  if (paused_ == 0) {
    ++core_->metrics.paused_connections;
    connection_->pause();
  }
  paused_ |= reason;
}

void ServerConnection::resume(PauseReason reason) {
  if ((paused_ & reason) == 0 || connection_ == nullptr) return;
  DCHECK(reason != kBytes || core_->waiting_for_bytes > 0);
  if (reason == kBytes) --core_->waiting_for_bytes;
  paused_ &= static_cast<uint8_t>(~reason);
  if (paused_ != 0) return;
  --core_->metrics.paused_connections;
  // Silence was ours, not the client's.
  received_nanos_ = core_->now();
  connection_->resume();
}

void ServerConnection::reconsider_bytes() {
  if ((paused_ & kBytes) == 0) return;
  if (wanted_ > 0 && !core_->request_limits.may_expect(usage_, wanted_)) return;
  wanted_ = 0;
  if (bytes_in_flight_ == 0 || core_->request_limits.fits(usage_, 1)) resume(kBytes);
}

void ServerConnection::on_drained() { look_whether_all_is_sent(); }

void ServerConnection::close() {
  if (connection_ == nullptr || closing_) return;
  seal();
  closing_ = true;
  connection_->close();
}

void ServerConnection::close_now() {
  closing_ = true;
  if (connection_ != nullptr) connection_->close_now();
}

void ServerConnection::check_idle(int64_t now) {
  if (connection_ == nullptr || closing_) return;
  const TransportOptions& options = core_->options;
  const int64_t idle = options.idle_timeout.count();
  const int64_t stall = options.stall_timeout.count();
  if (idle > 0 && in_flight_ == 0 && now - active_nanos_ >= idle) {
    LOG_INFO("Closing client connection {} after timeout of {}ms", client_.address.to_string(), idle / 1'000'000);
    return close_now();
  }
  if (stall > 0 && inside_frame_ && paused_ == 0 && now - received_nanos_ >= stall) {
    LOG_INFO("Closing client connection {}: half a frame, and nothing for {}ms", client_.address.to_string(),
             stall / 1'000'000);
    close_now();
  }
}

void ServerConnection::on_closed(const Status&) {
  DCHECK(connection_ != nullptr);
  auto self = shared_from_this();
  if (paused_ != 0) --core_->metrics.paused_connections;
  if ((paused_ & kBytes) != 0) --core_->waiting_for_bytes;
  paused_ = 0;
  connection_ = nullptr;
  closing_ = true;
  events_ = 0;
  large_ = Bytes();
  pending_ = Bytes();
  unread_.release();
  expected_came();
  DCHECK(core_->connections.contains(id_));
  core_->connections.erase(id_);
  core_->connection_limits.closed(client_.address.host);
  if (core_->on_connection_closed) core_->on_connection_closed(client_.address.host);
  abandonment_.set();
  core_->progressed();
}

ClientInfo ServerConnection::info() const {
  ClientInfo out;
  out.address = client_.address;
  out.stage = stage_;
  out.user = client_.user;
  if (out.user.empty() && stage_ == ConnectionStage::kReady) out.user = "anonymous";
  out.keyspace = client_.keyspace;
  out.protocol_version = version_;
  out.driver_name = client_.driver_name;
  out.driver_version = client_.driver_version;
  out.options = startup_options_;
  out.compression = compression_name(compression_);
  out.requests = requests_;
  out.requests_in_flight = in_flight_;
  return out;
}

}  // namespace cassandra_like
