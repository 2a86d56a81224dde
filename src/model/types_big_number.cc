// varint and decimal: numbers of any precision.
#include <bit>
#include <cstdlib>
#include <limits>

#include "model/types_internal.h"
#include "model/values.h"
#include "model/values_internal.h"

namespace cassandra_like::types_internal {

namespace {

using values_internal::DecimalDigits;

// Integers of fewer bytes than this are encoded like bigints.
constexpr size_t kFullFormThreshold = 7;

class VarintType final : public SimpleType {
 public:
  VarintType() : SimpleType(TypeKind::kVarint) {}

  Status validate(BytesView) const override { return {}; }

  int compare(BytesView a, BytesView b) const override {
    if (a.empty() || b.empty()) [[unlikely]]
      return compare_irregular(a, b);
    a = shortest(a);
    b = shortest(b);
    bool negative = is_negative(a);
    if (negative != is_negative(b)) return negative ? -1 : 1;
    if (a.size() != b.size()) return (a.size() < b.size()) == negative ? 1 : -1;
    return compare_bytes(a, b);
  }

  // One byte of sign (00, FF), the length less the threshold, and the bytes without leading sign bytes; or, for short
  // integers, the form of bigints, which begins with 01 to FE.
  void append_comparable(Bytes& out, BytesView v) const override {
    if (v.empty()) [[unlikely]]
      return;
    const char sign = is_negative(v) ? '\xFF' : '\0';
    size_t start = 0;
    while (start + 1 < v.size() && v[start] == sign) ++start;
    size_t size = v.size() - start;
    if (size < kFullFormThreshold) {
      int64_t n = sign;
      for (char c : v.substr(start)) n = static_cast<int64_t>(static_cast<uint64_t>(n) << 8 | static_cast<uint8_t>(c));
      append_variable_integer(out, n);
      return;
    }
    out.push_back(static_cast<char>(~sign));
    append_length(out, size - kFullFormThreshold, sign);
    out.append(v.substr(start));
  }

  void read_comparable(Reader& in, Bytes& out) const override {
    if (in.at_end()) return in.fail();
    const char sign = static_cast<char>(~in.rest()[0]);
    if (sign != '\0' && sign != '\xFF') {
      char buffer[8];
      store_be(buffer, read_variable_integer(in));
      out.append(shortest(BytesView(buffer, sizeof buffer)));
      return;
    }
    in.skip(1);
    size_t size = read_length(in, sign) + kFullFormThreshold;
    BytesView bytes = in.take(size);
    if (bytes.empty()) return in.fail();
    if (is_negative(bytes) != (sign != 0)) out.push_back(sign);
    out.append(bytes);
  }

  std::string to_text(BytesView v) const override { return v.empty() ? "" : varint_to_text(v); }
  std::string to_json(BytesView v) const override { return v.empty() ? "\"\"" : varint_to_text(v); }
  Result<Bytes> from_text(std::string_view text) const override {
    return text.empty() ? Result<Bytes>(Bytes()) : encode_varint(text);
  }

 private:
  static bool is_negative(BytesView v) { return (v[0] & 0x80) != 0; }
  // Without the bytes that only repeat the sign.
  static BytesView shortest(BytesView v) {
    const char sign = is_negative(v) ? '\xFF' : '\0';
    while (v.size() > 1 && v[0] == sign && ((v[1] ^ sign) & 0x80) == 0) v.remove_prefix(1);
    return v;
  }
  // An unsigned vint, complemented for negative integers.
  static void append_length(Bytes& out, uint64_t length, char sign) {
    int bytes = (std::bit_width(length | 1) - 1) / 7 + 1;
    uint64_t header = ((~uint64_t{0xFF} >> (bytes - 1)) & 0xFF) << (8 * (bytes - 1));
    for (int i = bytes; i-- > 0;)
      out.push_back(static_cast<char>((header | length) >> (8 * i) ^ static_cast<uint8_t>(sign)));
  }
  static size_t read_length(Reader& in, char sign) {
    auto first = static_cast<uint8_t>(in.u8() ^ sign);
    int more = std::countl_one(first);
    uint64_t length = more >= 8 ? 0 : first & (0xFFu >> more);
    for (int i = 0; i < more; ++i) length = length << 8 | static_cast<uint8_t>(in.u8() ^ sign);
    return length > std::numeric_limits<int32_t>::max() ? in.fail(), 0 : length;
  }
};

// A decimal is ±0.d1d2d3… × 100^exponent. Its encoding: a byte 0x80 (positive) or 0x00 (negative) + 0x40 + the length
// of the exponent (negated for negative exponents), the exponent (negated for negative decimals), then pairs of digits,
// each 0x80 + 0..99, and 0x00. The pairs of negative decimals are those of the floor, so that only the first is
// negative: -12.34 is -13, 66. Zero is 0x80.
class DecimalType final : public SimpleType {
 public:
  DecimalType() : SimpleType(TypeKind::kDecimal) {}

  Status validate(BytesView v) const override {
    if (v.size() >= 4 || v.empty()) [[likely]]
      return {};
    return wrong_size("Expected 0 or at least 4 bytes", v.size());
  }

  int compare(BytesView a, BytesView b) const override {
    if (a.size() < 4 || b.size() < 4) [[unlikely]]
      return compare_irregular(a, b);
    DecimalDigits x(a), y(b);
    if (x.is_zero() || y.is_zero()) return sign(x) - sign(y);
    if (x.negative() != y.negative()) return x.negative() ? -1 : 1;
    int c = x.magnitude() != y.magnitude() ? (x.magnitude() < y.magnitude() ? -1 : 1)
                                           : compare_bytes(x.digits(), y.digits());
    return x.negative() ? -c : c;
  }

  void append_comparable(Bytes& out, BytesView v) const override {
    DecimalDigits n(v);
    if (n.is_zero()) {
      out.push_back('\x80');
      return;
    }
    auto exponent = static_cast<int32_t>((n.magnitude() + 1) >> 1);
    append_exponent(out, n.negative() ? -exponent : exponent, n.negative());
    std::string_view digits = n.digits();
    // An odd magnitude: the first pair is one digit.
    bool half = (n.magnitude() & 1) != 0;
    int borrow = 0;
    for (size_t i = 0; i < digits.size();) {
      int pair = half ? 0 : 10 * (digits[i++] - '0');
      if (i < digits.size()) pair += digits[i++] - '0';
      half = false;
      if (n.negative()) {
        bool last = i >= digits.size();
        pair = borrow * 100 - pair - (last ? 0 : 1);
        borrow = 1;
      }
      out.push_back(static_cast<char>(0x80 + pair));
    }
    out.push_back('\0');
  }

  void read_comparable(Reader& in, Bytes& out) const override {
    int header = in.u8();
    if (header == 0x80) return void(out.append(5, '\0'));
    const bool negative = header < 0x80;
    int length = header - (negative ? 0x40 : 0xC0);
    if (std::abs(length) > 4) return in.fail();
    int64_t exponent = length < 0 ? -1 : 0;
    for (int i = std::abs(length); i > 0; --i)
      exponent = static_cast<int64_t>(static_cast<uint64_t>(exponent) << 8 | in.u8());
    if (negative) exponent = -exponent;
    std::string digits = read_digits(in, negative);
    exponent = 2 * exponent - static_cast<int64_t>(digits.size());
    // Scales go no lower than this; what lies beyond goes into the digits.
    constexpr int64_t kMaxExponent = std::numeric_limits<int32_t>::max();
    constexpr int64_t kMostZeros = 16;
    if (exponent > kMaxExponent && exponent <= kMaxExponent + kMostZeros) {
      digits.append(static_cast<size_t>(exponent - kMaxExponent), '0');
      exponent = kMaxExponent;
    }
    if (digits.empty() || exponent != static_cast<int32_t>(exponent)) return in.fail();
    append_be(out, static_cast<int32_t>(-exponent));
    values_internal::append_integer(out, negative, digits);
  }

  std::string to_text(BytesView v) const override { return v.empty() ? "" : decimal_to_text(v); }
  std::string to_json(BytesView v) const override { return v.empty() ? "\"\"" : decimal_to_text(v); }
  Result<Bytes> from_text(std::string_view text) const override {
    return text.empty() ? Result<Bytes>(Bytes()) : encode_decimal(text);
  }

 private:
  static int sign(const DecimalDigits& n) { return n.is_zero() ? 0 : n.negative() ? -1 : 1; }

  static void append_exponent(Bytes& out, int32_t exponent, bool negative) {
    int length = (std::bit_width(static_cast<uint32_t>(std::abs(exponent))) + 7) / 8;
    out.push_back(static_cast<char>((negative ? 0x40 : 0xC0) + (exponent < 0 ? -length : length)));
    for (int i = length; i-- > 0;) out.push_back(static_cast<char>(exponent >> (8 * i)));
  }

  // The pairs as decimal digits of the magnitude; none when they are malformed.
  static std::string read_digits(Reader& in, bool negative) {
    std::string digits;
    int next = in.u8();
    for (bool first = true; next != 0 && !in.failed(); first = false) {
      int pair = next - 0x80;
      next = in.u8();
      if (negative) pair = (first ? 0 : 100) - pair - (next == 0 ? 0 : 1);
      if (pair < 0 || pair > 99) return {};
      digits.push_back(static_cast<char>('0' + pair / 10));
      digits.push_back(static_cast<char>('0' + pair % 10));
    }
    return digits;
  }
};

}  // namespace

TypePtr make_big_number(TypeKind kind) {
  if (kind == TypeKind::kVarint) return std::make_shared<VarintType>();
  return std::make_shared<DecimalType>();
}

}  // namespace cassandra_like::types_internal
