// Encoding requests and decoding responses, as a driver does.
#include "transport/client_codec.h"

#include <fmt/format.h>

#include "transport/segment.h"

namespace cassandra_like {

namespace {

void append_bound_value(Bytes& out, BytesView value) {
  if (is_unset(value)) {
    append_be(out, int32_t{-2});
  } else {
    append_value(out, value);
  }
}

void append_options(Bytes& out, int version, const ClientQueryOptions& o) {
  append_be(out, static_cast<uint16_t>(o.consistency));
  const uint32_t flags = (o.values.empty() ? 0u : 1u) | (o.skip_metadata ? 2u : 0u) | (o.page_size ? 4u : 0u) |
                         (o.paging_state ? 8u : 0u) | (o.serial_consistency ? 0x10u : 0u) | (o.timestamp ? 0x20u : 0u) |
                         (o.names.empty() ? 0u : 0x40u) | (o.keyspace ? 0x80u : 0u) | (o.now_seconds ? 0x100u : 0u);
  if (version >= 5) {
    append_be(out, flags);
  } else {
    out.push_back(static_cast<char>(flags));
  }
  if (!o.values.empty()) append_be(out, static_cast<uint16_t>(o.values.size()));
  for (size_t i = 0; i < o.values.size(); ++i) {
    if (!o.names.empty()) append_string(out, o.names[i]);
    append_bound_value(out, o.values[i]);
  }
  if (o.page_size) append_be(out, *o.page_size);
  if (o.paging_state) append_value(out, *o.paging_state);
  if (o.serial_consistency) append_be(out, static_cast<uint16_t>(*o.serial_consistency));
  if (o.timestamp) append_be(out, *o.timestamp);
  if (o.keyspace) append_string(out, *o.keyspace);
  if (o.now_seconds) append_be(out, *o.now_seconds);
}

std::string read_string(Reader& in) { return std::string(in.take(in.u16())); }

std::optional<Bytes> read_value(Reader& in) {
  int32_t size = in.i32();
  if (size < 0) return std::nullopt;
  return Bytes(in.take(static_cast<size_t>(size)));
}

std::vector<std::string> read_string_list(Reader& in) {
  std::vector<std::string> out;
  for (size_t n = in.u16(); n > 0 && !in.failed(); --n) out.push_back(read_string(in));
  return out;
}

ClientType read_type(Reader& in, int depth = 0) {
  ClientType type;
  type.id = in.u16();
  if (depth > 32) in.fail();
  size_t elements = 0;
  switch (type.id) {
    case 0:
      type.name = read_string(in);
      break;
    case 32:
    case 34:
      elements = 1;
      break;
    case 33:
      elements = 2;
      break;
    case 48:
      type.name = read_string(in);
      type.name += "." + read_string(in);
      for (size_t n = in.u16(); n > 0 && !in.failed(); --n) {
        type.fields.push_back(read_string(in));
        type.elements.push_back(read_type(in, depth + 1));
      }
      break;
    case 49:
      elements = in.u16();
      break;
    default:
      break;
  }
  for (; elements > 0 && !in.failed(); --elements) type.elements.push_back(read_type(in, depth + 1));
  return type;
}

std::vector<ClientColumn> read_columns(Reader& in, int32_t count, bool global) {
  std::vector<ClientColumn> columns;
  ClientColumn column;
  if (global) {
    column.keyspace = read_string(in);
    column.table = read_string(in);
  }
  for (int32_t i = 0; i < count && !in.failed(); ++i) {
    if (!global) {
      column.keyspace = read_string(in);
      column.table = read_string(in);
    }
    column.name = read_string(in);
    column.type = read_type(in);
    columns.push_back(column);
  }
  return columns;
}

ClientRows read_rows(Reader& in) {
  ClientRows rows;
  rows.flags = in.i32();
  rows.column_count = in.i32();
  if ((rows.flags & 2) != 0) rows.paging_state = read_value(in);
  if ((rows.flags & 8) != 0) rows.metadata_id = read_string(in);
  if ((rows.flags & 4) == 0) rows.columns = read_columns(in, rows.column_count, (rows.flags & 1) != 0);
  const int32_t count = in.i32();
  // Rows without columns have no bytes, so nothing would bound their number.
  if (count > 0 && rows.column_count <= 0) in.fail();
  for (int32_t n = count; n > 0 && !in.failed(); --n) {
    std::vector<std::optional<Bytes>> row;
    for (int32_t i = 0; i < rows.column_count && !in.failed(); ++i) row.push_back(read_value(in));
    rows.rows.push_back(std::move(row));
  }
  return rows;
}

ClientPrepared read_prepared(Reader& in, int version) {
  ClientPrepared p;
  p.id = read_string(in);
  if (version >= 5) p.result_metadata_id = read_string(in);
  int32_t flags = in.i32();
  int32_t count = in.i32();
  if (version >= 4) {
    for (int32_t n = in.i32(); n > 0 && !in.failed(); --n) p.partition_key_indexes.push_back(in.u16());
  }
  p.variables = read_columns(in, count, (flags & 1) != 0);
  flags = in.i32();
  count = in.i32();
  if ((flags & 4) == 0) p.columns = read_columns(in, count, (flags & 1) != 0);
  return p;
}

SchemaEvent read_schema_event(Reader& in) {
  SchemaEvent event;
  event.change = read_string(in);
  event.target = read_string(in);
  event.keyspace = read_string(in);
  if (event.target != "KEYSPACE") event.name = read_string(in);
  if (event.target == "FUNCTION" || event.target == "AGGREGATE") event.arg_types = read_string_list(in);
  return event;
}

void read_counts(Reader& in, uint16_t* consistency, int32_t* first, int32_t* second) {
  *consistency = in.u16();
  *first = in.i32();
  *second = in.i32();
}

void read_failures(Reader& in, int version, ErrorInfo& e) {
  e.failures = in.i32();
  if (version < 5) return;
  for (int32_t i = 0; i < e.failures && !in.failed(); ++i) {
    Bytes address(in.take(in.u8()));
    e.failure_reasons.emplace_back(std::move(address), in.u16());
  }
}

ErrorInfo read_error(Reader& in, int version) {
  ErrorInfo e;
  e.code = static_cast<ErrorCode>(in.u32());
  e.message = read_string(in);
  switch (e.code) {
    case ErrorCode::kUnavailable:
      read_counts(in, &e.consistency, &e.required, &e.received);
      break;
    case ErrorCode::kWriteTimeout:
      read_counts(in, &e.consistency, &e.received, &e.required);
      e.write_type = read_string(in);
      if (version >= 5 && e.write_type == "CAS") e.contentions = in.u16();
      break;
    case ErrorCode::kReadTimeout:
      read_counts(in, &e.consistency, &e.received, &e.required);
      e.data_present = in.u8() != 0;
      break;
    case ErrorCode::kWriteFailure:
      read_counts(in, &e.consistency, &e.received, &e.required);
      read_failures(in, version, e);
      e.write_type = read_string(in);
      break;
    case ErrorCode::kReadFailure:
      read_counts(in, &e.consistency, &e.received, &e.required);
      read_failures(in, version, e);
      e.data_present = in.u8() != 0;
      break;
    case ErrorCode::kFunctionFailure:
      e.keyspace = read_string(in);
      e.table = read_string(in);
      e.arg_types = read_string_list(in);
      break;
    case ErrorCode::kUnprepared:
      e.unprepared_id = read_string(in);
      break;
    case ErrorCode::kAlreadyExists:
      e.keyspace = read_string(in);
      e.table = read_string(in);
      break;
    case ErrorCode::kCasWriteUnknown:
      read_counts(in, &e.consistency, &e.received, &e.required);
      break;
    default:
      break;
  }
  return e;
}

void read_result(Reader& in, ClientResponse& response) {
  switch (in.i32()) {
    case 1:
      response.body = ClientVoid{};
      break;
    case 2:
      response.body = read_rows(in);
      break;
    case 3:
      response.body = ClientSetKeyspace{read_string(in)};
      break;
    case 4:
      response.body = read_prepared(in, response.header.version);
      break;
    case 5:
      response.body = read_schema_event(in);
      break;
    default:
      in.fail();
  }
}

void read_event(Reader& in, ClientResponse& response) {
  std::string kind = read_string(in);
  if (kind == "SCHEMA_CHANGE") {
    response.body = read_schema_event(in);
    return;
  }
  ClientNodeEvent event;
  event.kind = std::move(kind);
  event.change = read_string(in);
  event.address = Bytes(in.take(in.u8()));
  event.port = in.i32();
  response.body = std::move(event);
}

ClientSupported read_supported(Reader& in) {
  ClientSupported out;
  for (size_t n = in.u16(); n > 0 && !in.failed(); --n) {
    std::string name = read_string(in);
    out.options[std::move(name)] = read_string_list(in);
  }
  return out;
}

}  // namespace

Bytes startup_body(const std::map<std::string, std::string>& options) {
  Bytes out;
  append_be(out, static_cast<uint16_t>(options.size()));
  for (const auto& [name, value] : options) {
    append_string(out, name);
    append_string(out, value);
  }
  return out;
}

Bytes query_body(int version, std::string_view text, const ClientQueryOptions& options) {
  Bytes out;
  append_long_string(out, text);
  append_options(out, version, options);
  return out;
}

Bytes prepare_body(int version, std::string_view text, std::optional<std::string> keyspace) {
  Bytes out;
  append_long_string(out, text);
  if (version >= 5) append_be(out, keyspace ? uint32_t{1} : uint32_t{0});
  if (version >= 5 && keyspace) append_string(out, *keyspace);
  return out;
}

Bytes execute_body(int version, BytesView id, BytesView result_metadata_id, const ClientQueryOptions& options) {
  Bytes out;
  append_short_bytes(out, id);
  if (version >= 5) append_short_bytes(out, result_metadata_id);
  append_options(out, version, options);
  return out;
}

Bytes batch_body(int version, uint8_t type, const std::vector<ClientBatchEntry>& entries,
                 const ClientQueryOptions& options) {
  Bytes out;
  out.push_back(static_cast<char>(type));
  append_be(out, static_cast<uint16_t>(entries.size()));
  for (const ClientBatchEntry& entry : entries) {
    out.push_back(entry.is_prepared ? 1 : 0);
    if (entry.is_prepared) {
      append_short_bytes(out, entry.id_or_text);
    } else {
      append_long_string(out, entry.id_or_text);
    }
    append_be(out, static_cast<uint16_t>(entry.values.size()));
    for (BytesView value : entry.values) append_bound_value(out, value);
  }
  append_options(out, version, options);
  return out;
}

Bytes register_body(const std::vector<std::string>& events) {
  Bytes out;
  append_string_list(out, events);
  return out;
}

Bytes auth_response_body(BytesView token) {
  Bytes out;
  append_value(out, token);
  return out;
}

std::string ClientType::to_string() const {
  if (id == 0) return "'" + name + "'";
  std::string out = std::to_string(id);
  if (id == 48) {
    out += " " + name + "(";
    for (size_t i = 0; i < elements.size(); ++i) {
      out += fmt::format("{}{} {}", i == 0 ? "" : ", ", fields[i], elements[i].to_string());
    }
    return out + ")";
  }
  for (size_t i = 0; i < elements.size(); ++i) out += (i == 0 ? "<" : ", ") + elements[i].to_string();
  return elements.empty() ? out : out + ">";
}

std::optional<ClientResponse> decode_response(const FrameHeader& header, BytesView body) {
  ClientResponse response;
  response.header = header;
  Reader in(body);
  if ((header.flags & kFlagTracing) != 0) {
    BytesView id = in.take(16);
    if (in.failed()) return std::nullopt;
    response.tracing_id = Uuid::from_bytes(id);
  }
  if ((header.flags & kFlagWarning) != 0) response.warnings = read_string_list(in);
  if ((header.flags & kFlagCustomPayload) != 0) {
    for (size_t n = in.u16(); n > 0 && !in.failed(); --n) {
      read_string(in);
      read_value(in);
    }
  }
  switch (response.opcode()) {
    case Opcode::kError:
      response.body = read_error(in, header.version);
      break;
    case Opcode::kReady:
      response.body = ClientReady{};
      break;
    case Opcode::kAuthenticate:
      response.body = ClientAuthenticate{read_string(in)};
      break;
    case Opcode::kSupported:
      response.body = read_supported(in);
      break;
    case Opcode::kResult:
      read_result(in, response);
      break;
    case Opcode::kEvent:
      read_event(in, response);
      break;
    case Opcode::kAuthChallenge:
    case Opcode::kAuthSuccess:
      response.body = ClientAuthToken{read_value(in)};
      break;
    default:
      return std::nullopt;
  }
  if (in.failed() || !in.at_end()) return std::nullopt;
  return response;
}

void ClientCodec::append(Bytes& out, Opcode opcode, int16_t stream, BytesView body, uint8_t flags) {
  const bool compress = negotiated_ && version_ < 5 && compression_ != Compression::kNone;
  const bool segmented = negotiated_ && version_ >= 5;
  Bytes frame;
  const size_t begin =
      begin_frame(frame, version_, opcode, stream, static_cast<uint8_t>(flags | (compress ? kFlagCompressed : 0)));
  if (compress) {
    compress_body(compression_, body, frame);
  } else {
    frame.append(body);
  }
  end_frame(frame, begin);
  if (segmented) {
    append_segments(out, frame, framing_of(compression_));
  } else {
    out.append(frame);
  }
}

bool ClientCodec::feed(BytesView data) {
  received_.append(data);
  size_t at = 0;
  while (!failed_) {
    const BytesView rest = BytesView(received_).substr(at);
    const size_t n = negotiated_ && version_ >= 5 ? feed_segment(rest) : feed_frame(rest);
    if (n == 0) break;
    at += n;
  }
  received_.erase(0, at);
  return !failed_;
}

size_t ClientCodec::feed_frame(BytesView data) {
  if (data.size() < kFrameHeaderSize) return 0;
  const FrameHeader header = read_frame_header(data.data());
  if (header.length < 0 || !header.response) {
    failed_ = true;
    return 0;
  }
  const size_t size = kFrameHeaderSize + static_cast<size_t>(header.length);
  if (data.size() < size) return 0;
  BytesView body = data.substr(kFrameHeaderSize, size - kFrameHeaderSize);
  Bytes uncompressed;
  if ((header.flags & kFlagCompressed) != 0) {
    if (compression_ == Compression::kNone || !decompress_body(compression_, body, uncompressed)) {
      failed_ = true;
      return 0;
    }
    body = uncompressed;
  }
  std::optional<ClientResponse> response = decode_response(header, body);
  if (!response) {
    failed_ = true;
    return 0;
  }
  if (response->opcode() == Opcode::kReady || response->opcode() == Opcode::kAuthenticate) negotiated_ = true;
  responses_.push_back(std::move(*response));
  return size;
}

size_t ClientCodec::feed_segment(BytesView data) {
  Segment segment;
  const SegmentStatus status = read_segment(data, framing_of(compression_), scratch_, &segment);
  if (status == SegmentStatus::kIncomplete) return 0;
  if (status != SegmentStatus::kIntact || (segment.self_contained && !large_.empty())) {
    failed_ = true;
    return 0;
  }
  large_.append(segment.payload);
  size_t at = 0;
  while (!failed_ && at < large_.size()) {
    const size_t n = feed_frame(BytesView(large_).substr(at));
    if (n == 0) break;
    at += n;
  }
  large_.erase(0, at);
  if (segment.self_contained && !large_.empty()) failed_ = true;
  return segment.size;
}

std::optional<ClientResponse> ClientCodec::next() {
  if (responses_.empty()) return std::nullopt;
  ClientResponse response = std::move(responses_.front());
  responses_.pop_front();
  return response;
}

}  // namespace cassandra_like
