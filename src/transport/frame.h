// The envelope of every message of the native protocol, v3 to v6:
//
//   u8 version (0x80 set in responses) | u8 flags | i16 stream | u8 opcode | i32 length | body
//
// A response's body begins with what its flags announce: the tracing id, then warnings, then the custom payload.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/uuid.h"

namespace cassandra_like {

inline constexpr size_t kFrameHeaderSize = 9;
inline constexpr int kMinProtocolVersion = 3;
inline constexpr int kMaxProtocolVersion = 6;
inline constexpr int kCurrentProtocolVersion = 5;
// In 5.0 the same as v5, but for USE_BETA, which every frame must have.
inline constexpr int kBetaProtocolVersion = 6;
inline constexpr int16_t kEventStream = -1;

enum class Opcode : uint8_t {
  kError = 0,
  kStartup = 1,
  kReady = 2,
  kAuthenticate = 3,
  kCredentials = 4,
  kOptions = 5,
  kSupported = 6,
  kQuery = 7,
  kResult = 8,
  kPrepare = 9,
  kExecute = 10,
  kRegister = 11,
  kEvent = 12,
  kBatch = 13,
  kAuthChallenge = 14,
  kAuthResponse = 15,
  kAuthSuccess = 16,
};
inline constexpr int kOpcodeCount = 17;
const char* opcode_name(Opcode opcode);  // QUERY
bool is_request(Opcode opcode);

enum FrameFlag : uint8_t {
  kFlagCompressed = 0x01,
  kFlagTracing = 0x02,
  kFlagCustomPayload = 0x04,
  kFlagWarning = 0x08,
  kFlagUseBeta = 0x10,
};

struct FrameHeader {
  uint8_t version = 0;  // without the direction
  bool response = false;
  uint8_t flags = 0;
  int16_t stream = 0;
  uint8_t opcode = 0;  // any number: what the peer sent
  int32_t length = 0;
};
FrameHeader read_frame_header(const char* nine_bytes);

// "4/v4", as errors and SUPPORTED name versions.
std::string version_name(int version);
// The words that drivers match to step down.
std::string invalid_version_message(int version);

// Appends a header whose length is filled in by end_frame(), which takes what begin_frame() returned.
size_t begin_frame(Bytes& out, int version_byte, Opcode opcode, int16_t stream, uint8_t flags = 0);
inline void end_frame(Bytes& out, size_t begin) {
  store_be(out.data() + begin + 5, static_cast<int32_t>(out.size() - begin - kFrameHeaderSize));
}

// [string], [long string], [string list], [short bytes], [bytes] (null: -1).
void append_string(Bytes& out, std::string_view s);
void append_long_string(Bytes& out, std::string_view s);
void append_string_list(Bytes& out, std::span<const std::string> strings);
inline void append_short_bytes(Bytes& out, BytesView b) { append_string(out, b); }
void append_value(Bytes& out, BytesView value);

}  // namespace cassandra_like
