#include "messaging/wire/handshake.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/checksum.h"

namespace cassandra_like {

namespace {

constexpr int kFirstSupportedVersion = 12;  // MessagingService.VERSION_40
constexpr size_t kInitiateHead = 8;
constexpr char kTlsHandshake = 0x16;

Error handshake_error(std::string text) { return Error(ErrorCode::kProtocolError, std::move(text)); }

Error wrong_magic(BytesView data) {
  if (data.front() == kTlsHandshake) {
    return handshake_error("it begins a TLS handshake, and server_encryption_options is none here");
  }
  return handshake_error(fmt::format("Read {}, Expected {}: these bytes are no internode handshake",
                                     load_be<int32_t>(data.data()), static_cast<int32_t>(kInternodeMagic)));
}

Error wrong_crc(uint32_t read, uint32_t computed) {
  return handshake_error(fmt::format("its CRC is wrong: Read {}, Computed {}", static_cast<int32_t>(read),
                                     static_cast<int32_t>(computed)));
}

uint32_t bits(uint32_t packed, int start, int count) { return packed >> start & ((1u << count) - 1); }

}  // namespace

void append_initiate(Bytes& out, const Initiate& initiate) {
  const size_t begin = out.size();
  const bool streaming = initiate.type == ConnectionType::kStreaming;
  const auto framing = static_cast<uint32_t>(initiate.framing);
  const auto min = static_cast<uint32_t>(initiate.versions.min);
  uint32_t flags = streaming ? 1u << 3 : static_cast<uint32_t>(initiate.type);
  flags |= (framing & 1) << 2 | (framing & 2) << 3;
  flags |= min << 8 | min << 16 | static_cast<uint32_t>(initiate.versions.max) << 24;
  append_be(out, kInternodeMagic);
  append_be(out, flags);
  append_endpoint(out, initiate.from);
  append_be(out, crc32_of_frame(BytesView(out).substr(begin)));
}

void append_accept(Bytes& out, const Accept& accept) {
  const size_t begin = out.size();
  append_be(out, static_cast<uint32_t>(accept.max_version));
  append_be(out, static_cast<uint32_t>(accept.use_version));
  append_be(out, crc32_of_frame(BytesView(out).substr(begin)));
}

Result<size_t> decode_initiate(BytesView data, Initiate* initiate) {
  if (data.size() >= 4 && load_be<uint32_t>(data.data()) != kInternodeMagic) return wrong_magic(data);
  if (data.size() < kInitiateHead) return size_t{0};
  const auto flags = load_be<uint32_t>(data.data() + 4);
  initiate->versions = {static_cast<int>(bits(flags, 16, 8)), static_cast<int>(bits(flags, 24, 8))};
  const auto legacy = static_cast<int>(bits(flags, 8, 8));
  if (legacy < kFirstSupportedVersion || initiate->versions.max < kFirstSupportedVersion) {
    return handshake_error(
        fmt::format("it speaks messaging version {}; {} (Cassandra 4.0) is the first that this node speaks",
                    std::max(legacy, initiate->versions.max), kFirstSupportedVersion));
  }
  const uint32_t framing = bits(flags, 2, 1) | bits(flags, 4, 1) << 1;
  if (framing > static_cast<uint32_t>(Framing::kCrc)) {
    return handshake_error(fmt::format("it asks for the unknown framing {}", framing));
  }
  initiate->framing = static_cast<Framing>(framing);
  const bool streaming = bits(flags, 3, 1) == 1;
  initiate->type = streaming ? ConnectionType::kStreaming : static_cast<ConnectionType>(bits(flags, 0, 2));
  if (data.size() == kInitiateHead) return size_t{0};
  const auto address_size = static_cast<uint8_t>(data[kInitiateHead]);
  if (address_size != 6 && address_size != 18) {
    return handshake_error(fmt::format("its address has {} bytes, which must be 6 or 18", address_size));
  }
  const size_t crc_at = kInitiateHead + 1 + address_size;
  if (data.size() < crc_at + 4) return size_t{0};
  Reader in(data.substr(kInitiateHead));
  initiate->from = read_endpoint(in);
  const uint32_t read = in.u32();
  const uint32_t computed = crc32_of_frame(data.substr(0, crc_at));
  if (read != computed) return wrong_crc(read, computed);
  return crc_at + 4;
}

Result<size_t> decode_accept(BytesView data, Accept* accept) {
  if (data.size() < kAcceptSize) return size_t{0};
  Reader in(data);
  accept->max_version = in.i32();
  accept->use_version = in.i32();
  const uint32_t read = in.u32();
  const uint32_t computed = crc32_of_frame(data.substr(0, kAcceptSize - 4));
  if (read != computed) return wrong_crc(read, computed);
  if (accept->max_version < kFirstSupportedVersion) {
    return handshake_error(
        fmt::format("it speaks messaging version {}; {} (Cassandra 4.0) is the first that this node speaks",
                    accept->max_version, kFirstSupportedVersion));
  }
  return kAcceptSize;
}

Accept choose_version(AcceptVersions ours, AcceptVersions theirs) {
  return {ours.max, std::max(ours.min, std::min(ours.max, theirs.max))};
}

std::string version_conflict(AcceptVersions ours, AcceptVersions theirs, std::string_view peer) {
  if (theirs.min > ours.max) {
    return fmt::format("peer {} only supports messaging versions higher ({}) than this node supports ({})", peer,
                       theirs.min, ours.max);
  }
  if (theirs.max < ours.min) {
    return fmt::format("peer {} only supports messaging versions lower ({}) than this node supports ({})", peer,
                       theirs.max, ours.min);
  }
  return {};
}

Result<int> accepted_version(AcceptVersions ours, const Accept& accept, std::string_view peer) {
  if (accept.use_version >= ours.min && accept.use_version <= ours.max) return accept.use_version;
  return handshake_error(fmt::format("Incompatible peer: {}, messaging version: {}", peer, accept.max_version));
}

}  // namespace cassandra_like
