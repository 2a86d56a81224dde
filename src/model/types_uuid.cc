// uuid, timeuuid, and the legacy LexicalUUIDType and LegacyTimeUUIDType.
//
// Time-based UUIDs are ordered by their timestamp, whose lowest bits come first in the value: the comparable form has
// the high half turned around, version and high bits first.
#include <charconv>

#include "base/uuid.h"
#include "model/types_internal.h"
#include "model/values.h"

namespace cassandra_like::types_internal {

namespace {

constexpr uint64_t kSignBit = uint64_t{1} << 63;
constexpr uint64_t kSignBits = 0x8080808080808080ULL;

struct Halves {
  uint64_t high;
  uint64_t low;
  auto operator<=>(const Halves&) const = default;
};

Halves load(BytesView v) { return {load_be<uint64_t>(v.data()), load_be<uint64_t>(v.data() + 8)}; }
void append(Bytes& out, Halves h) {
  append_be(out, h.high);
  append_be(out, h.low);
}

uint64_t time_first(uint64_t high) { return high << 48 | (high << 16 & 0xFFFF00000000ULL) | high >> 32; }
uint64_t time_last(uint64_t high) { return high << 32 | (high >> 16 & 0xFFFF0000ULL) | high >> 48; }

// kOrder turns a value into a number pair that is ordered like the type, and whose bytes are the comparable form.
template <TypeKind kKind>
class UuidTypeBase : public SimpleType {
 public:
  UuidTypeBase() : SimpleType(kKind) {}

  Status validate(BytesView v) const override {
    if (v.size() == 16 || v.empty()) [[likely]]
      return {};
    return wrong_size("UUID should be 16 or 0 bytes", v.size());
  }
  int compare(BytesView a, BytesView b) const final {
    if (a.size() != 16 || b.size() != 16) [[unlikely]]
      return compare_irregular(a, b);
    Halves x = ordered(load(a)), y = ordered(load(b));
    return (x > y) - (x < y);
  }
  void append_comparable(Bytes& out, BytesView v) const final {
    if (v.size() != 16) [[unlikely]]
      return append_irregular(out, v);
    append(out, ordered(load(v)));
  }
  void read_comparable(Reader& in, Bytes& out) const final {
    BytesView v = in.take(16);
    if (!in.failed()) append(out, unordered(load(v)));
  }
  std::string to_text(BytesView v) const final { return v.size() == 16 ? Uuid::from_bytes(v).to_string() : ""; }

 protected:
  // A value whose big-endian bytes have the type's order, and back.
  static Halves ordered(Halves h) {
    if constexpr (kKind == TypeKind::kLexicalUuid) return {h.high ^ kSignBit, h.low ^ kSignBit};
    if constexpr (kKind == TypeKind::kTimeuuid || kKind == TypeKind::kLegacyTimeUuid) {
      return {time_first(h.high), h.low ^ kSignBits};
    }
    uint64_t version = h.high >> 12 & 0xF;
    if (version == 1) return {time_first(h.high), h.low};
    return {version << 60 | (h.high >> 4 & 0x0FFFFFFFFFFFF000ULL) | (h.high & 0xFFF), h.low};
  }
  static Halves unordered(Halves h) {
    if constexpr (kKind == TypeKind::kLexicalUuid) return {h.high ^ kSignBit, h.low ^ kSignBit};
    if constexpr (kKind == TypeKind::kTimeuuid || kKind == TypeKind::kLegacyTimeUuid) {
      return {time_last(h.high), h.low ^ kSignBits};
    }
    uint64_t version = h.high >> 60;
    if (version == 1) return {time_last(h.high), h.low};
    return {(h.high << 4 & 0xFFFFFFFFFFFF0000ULL) | version << 12 | (h.high & 0xFFF), h.low};
  }
};

class UuidType final : public UuidTypeBase<TypeKind::kUuid> {
 public:
  Result<Bytes> from_text(std::string_view text) const override {
    if (text.empty()) return Bytes();
    if (auto uuid = Uuid::parse(text)) return encode_uuid(*uuid);
    return invalid("Unable to make UUID from '" + std::string(text) + "'");
  }
};

template <TypeKind kKind>
class TimeUuidType final : public UuidTypeBase<kKind> {
 public:
  Status validate(BytesView v) const override {
    if constexpr (kKind == TypeKind::kTimeuuid) {
      if (v.size() == 16 && (v[6] & 0xF0) != 0x10) [[unlikely]] {
        // The digit is the first of the value, not the version: so says Cassandra.
        return invalid("Invalid version for TimeUUID type: 0x" + to_hex(v.substr(0, 1)).substr(0, 1));
      }
    }
    return UuidTypeBase<kKind>::validate(v);
  }
  Result<Bytes> from_text(std::string_view text) const override {
    if (text.empty()) return Bytes();
    auto uuid = Uuid::parse(text);
    if (!uuid) return invalid("Unknown timeuuid representation: " + std::string(text));
    if (uuid->version() != 1) return invalid("TimeUUID supports only version 1 UUIDs");
    return encode_uuid(*uuid);
  }
};

class LexicalUuidType final : public UuidTypeBase<TypeKind::kLexicalUuid> {
 public:
  std::string to_cql_literal(BytesView v) const override { return blob_literal(v); }

  // java.util.UUID.fromString: five hexadecimal numbers, of which only the low bits count.
  Result<Bytes> from_text(std::string_view text) const override {
    if (text.empty()) return Bytes();
    uint64_t parts[5] = {};
    const char* p = text.data();
    const char* end = p + text.size();
    for (int i = 0; i < 5; ++i) {
      auto [next, error] = std::from_chars(p, end, parts[i], 16);
      bool ends_well = i < 4 ? next != end && *next == '-' : next == end;
      if (error != std::errc() || !ends_well || parts[i] >> 63 != 0 || text.size() > 36) {
        return invalid("unable to make UUID from '" + std::string(text) + "'");
      }
      p = next + 1;
    }
    Bytes out;
    append(out, {(parts[0] & 0xFFFFFFFF) << 32 | (parts[1] & 0xFFFF) << 16 | (parts[2] & 0xFFFF),
                 (parts[3] & 0xFFFF) << 48 | (parts[4] & 0xFFFFFFFFFFFFULL)});
    return out;
  }
};

}  // namespace

TypePtr make_uuid(TypeKind kind) {
  switch (kind) {
    case TypeKind::kTimeuuid:
      return std::make_shared<TimeUuidType<TypeKind::kTimeuuid>>();
    case TypeKind::kLegacyTimeUuid:
      return std::make_shared<TimeUuidType<TypeKind::kLegacyTimeUuid>>();
    case TypeKind::kLexicalUuid:
      return std::make_shared<LexicalUuidType>();
    default:
      return std::make_shared<UuidType>();
  }
}

}  // namespace cassandra_like::types_internal
