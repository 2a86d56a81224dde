// UUIDs: text, time and the three ways of making one.
#include "base/uuid.h"

#include "base/checksum.h"
#include "base/result.h"

namespace cassandra_like {

namespace {

constexpr int kDashes[] = {8, 13, 18, 23};

void set_version(Uuid& u, int version) {
  u.bytes[6] = static_cast<uint8_t>((u.bytes[6] & 0x0F) | version << 4);
  u.bytes[8] = static_cast<uint8_t>((u.bytes[8] & 0x3F) | 0x80);
}

Uuid from_halves(uint64_t high, uint64_t low) {
  char b[16];
  store_be(b, high);
  store_be(b + 8, low);
  return Uuid::from_bytes(BytesView(b, 16));
}

int64_t ticks_since_1970(const Uuid& u) { return static_cast<int64_t>(u.raw_timestamp() - kUuidEpochOffset); }

// Java divides towards zero here too.
constexpr int64_t kTicksPerMicro = 10;
constexpr int64_t kTicksPerMilli = 10000;

}  // namespace

uint64_t Uuid::raw_timestamp() const {
  auto high = load_be<uint64_t>(view().data());
  uint64_t time_low = high >> 32;
  uint64_t time_mid = (high >> 16) & 0xFFFF;
  uint64_t time_high = high & 0x0FFF;
  return time_high << 48 | time_mid << 32 | time_low;
}

int64_t Uuid::unix_millis() const { return ticks_since_1970(*this) / kTicksPerMilli; }
int64_t Uuid::unix_micros() const { return ticks_since_1970(*this) / kTicksPerMicro; }

std::string Uuid::to_string() const {
  std::string out = to_hex(view());
  for (int at : kDashes) out.insert(static_cast<size_t>(at), 1, '-');
  return out;
}

Uuid Uuid::from_bytes(BytesView sixteen) {
  CHECK(sixteen.size() == 16);
  Uuid u;
  std::memcpy(u.bytes.data(), sixteen.data(), 16);
  return u;
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  std::string hex;
  hex.reserve(32);
  size_t next_dash = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (next_dash < 4 && i == static_cast<size_t>(kDashes[next_dash])) {
      if (text[i] != '-') return std::nullopt;
      ++next_dash;
    } else {
      hex.push_back(text[i]);
    }
  }
  Bytes bytes;
  if (!from_hex(hex, &bytes)) return std::nullopt;
  return from_bytes(bytes);
}

Uuid Uuid::random(uint64_t high, uint64_t low) {
  Uuid u = from_halves(high, low);
  set_version(u, 4);
  return u;
}

Uuid Uuid::time_based(uint64_t raw_timestamp, uint64_t clock_and_node) {
  uint64_t high = raw_timestamp << 32 | (raw_timestamp >> 16 & 0xFFFF0000) | (raw_timestamp >> 48 & 0x0FFF) | 0x1000;
  return from_halves(high, clock_and_node);
}

Uuid Uuid::name_based(BytesView name) {
  Uuid u;
  u.bytes = md5(name);
  set_version(u, 3);
  return u;
}

}  // namespace cassandra_like
