// Envelope headers and the protocol's primitive notations.
#include "transport/frame.h"

#include <fmt/format.h>

namespace cassandra_like {

namespace {
constexpr const char* kNames[kOpcodeCount] = {"ERROR",         "STARTUP",     "READY", "AUTHENTICATE", "CREDENTIALS",
                                              "OPTIONS",       "SUPPORTED",   "QUERY", "RESULT",       "PREPARE",
                                              "EXECUTE",       "REGISTER",    "EVENT", "BATCH",        "AUTH_CHALLENGE",
                                              "AUTH_RESPONSE", "AUTH_SUCCESS"};
constexpr uint32_t kRequests =
    1u << 1 | 1u << 4 | 1u << 5 | 1u << 7 | 1u << 9 | 1u << 10 | 1u << 11 | 1u << 13 | 1u << 15;
}  // namespace

const char* opcode_name(Opcode opcode) { return kNames[static_cast<uint8_t>(opcode)]; }
bool is_request(Opcode opcode) { return (kRequests >> static_cast<uint8_t>(opcode) & 1) != 0; }

FrameHeader read_frame_header(const char* p) {
  FrameHeader h;
  h.version = static_cast<uint8_t>(p[0]) & 0x7F;
  h.response = (p[0] & 0x80) != 0;
  h.flags = static_cast<uint8_t>(p[1]);
  h.stream = load_be<int16_t>(p + 2);
  h.opcode = static_cast<uint8_t>(p[4]);
  h.length = load_be<int32_t>(p + 5);
  return h;
}

std::string version_name(int version) { return fmt::format("{}/v{}{}", version, version, version == 6 ? "-beta" : ""); }

std::string invalid_version_message(int version) {
  return fmt::format(
      "Invalid or unsupported protocol version ({}); supported versions are (3/v3, 4/v4, 5/v5, 6/v6-beta)", version);
}

size_t begin_frame(Bytes& out, int version_byte, Opcode opcode, int16_t stream, uint8_t flags) {
  size_t begin = out.size();
  char header[kFrameHeaderSize];
  header[0] = static_cast<char>(version_byte);
  header[1] = static_cast<char>(flags);
  store_be(header + 2, stream);
  header[4] = static_cast<char>(opcode);
  store_be(header + 5, int32_t{0});
  out.append(header, sizeof header);
  return begin;
}

namespace {

// At most so many bytes, and no half of a character: clients would not decode it.
std::string_view first_characters(std::string_view s, size_t most) {
  if (s.size() <= most) return s;
  size_t end = most;
  while (end > 0 && (s[end] & 0xC0) == 0x80) --end;
  return s.substr(0, end);
}

}  // namespace

void append_string(Bytes& out, std::string_view s) {
  s = first_characters(s, 0xFFFF);
  append_be(out, static_cast<uint16_t>(s.size()));
  out.append(s);
}

void append_long_string(Bytes& out, std::string_view s) {
  append_be(out, static_cast<int32_t>(s.size()));
  out.append(s);
}

void append_string_list(Bytes& out, std::span<const std::string> strings) {
  append_be(out, static_cast<uint16_t>(strings.size()));
  for (const std::string& s : strings) append_string(out, s);
}

void append_value(Bytes& out, BytesView value) {
  append_be(out, is_null(value) ? int32_t{-1} : static_cast<int32_t>(value.size()));
  out.append(value);
}

}  // namespace cassandra_like
