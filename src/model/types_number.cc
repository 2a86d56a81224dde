// Numbers of fixed size, and booleans.
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/java_numbers.h"
#include "model/types_internal.h"
#include "model/values.h"

namespace cassandra_like::types_internal {

namespace {

// java.lang.Integer.parseInt and its like.
template <class T>
std::optional<T> parse_integer(std::string_view s) {
  if (s.size() > 1 && s[0] == '+' && s[1] != '-') s.remove_prefix(1);
  T v = 0;
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return v;
}

struct IntegerText {
  std::string_view parse_name;   // in fromString's error
  std::string_view expectation;  // in validate's error
};

constexpr IntegerText integer_text(TypeKind kind) {
  switch (kind) {
    case TypeKind::kTinyint:
      return {"byte", "Expected 1 byte for a tinyint"};
    case TypeKind::kSmallint:
      return {"short", "Expected 2 bytes for a smallint"};
    case TypeKind::kInt:
      return {"int", "Expected 4 or 0 byte int"};
    default:
      return {"long", "Expected 8 or 0 byte long"};
  }
}

// tinyint, smallint, int, bigint. Their comparable form is the value with its sign bit flipped; bigint's is of
// variable length.
template <TypeKind kKind, class T>
class IntegerType : public SimpleType {
 public:
  IntegerType() : SimpleType(kKind) {}

  Status validate(BytesView v) const final {
    if (v.size() == sizeof(T) || (v.empty() && sizeof(T) >= 4)) [[likely]]
      return {};
    return wrong_size(integer_text(kKind).expectation, v.size());
  }
  int compare(BytesView a, BytesView b) const final {
    if (a.size() != sizeof(T) || b.size() != sizeof(T)) [[unlikely]]
      return compare_other_sizes(a, b);
    T x = load_be<T>(a.data()), y = load_be<T>(b.data());
    return (x > y) - (x < y);
  }
  void append_comparable(Bytes& out, BytesView v) const final {
    if (v.size() != sizeof(T)) [[unlikely]]
      return append_irregular(out, v);
    if constexpr (sizeof(T) == 8) {
      append_variable_integer(out, load_be<T>(v.data()));
    } else {
      constexpr T kSignBit = std::numeric_limits<T>::min();
      append_be(out, static_cast<T>(load_be<T>(v.data()) ^ kSignBit));
    }
  }
  void read_comparable(Reader& in, Bytes& out) const final {
    if constexpr (sizeof(T) == 8) {
      append_be(out, read_variable_integer(in));
    } else {
      append_be(out, static_cast<T>(in.be<T>() ^ std::numeric_limits<T>::min()));
    }
  }
  std::string to_text(BytesView v) const override {
    return v.size() == sizeof(T) ? std::to_string(load_be<T>(v.data())) : "";
  }
  std::string to_json(BytesView v) const final {
    return v.size() == sizeof(T) ? std::to_string(load_be<T>(v.data())) : "\"\"";
  }
  std::string to_cql_literal(BytesView v) const final {
    return v.size() == sizeof(T) ? std::to_string(load_be<T>(v.data())) : "null";
  }
  Result<Bytes> from_text(std::string_view text) const override {
    if (text.empty()) return Bytes();
    std::optional<T> v = parse_integer<T>(text);
    if (!v) return invalid("Unable to make " + std::string(integer_text(kKind).parse_name) + " from " + quoted(text));
    Bytes out;
    append_be(out, *v);
    return out;
  }

 private:
  // A set that SELECT makes of columns may have values of another type. The sign comes first, like that of numbers.
  static int compare_other_sizes(BytesView a, BytesView b) {
    const bool first_differs = !a.empty() && !b.empty() && a[0] != b[0];
    return first_differs ? static_cast<int8_t>(a[0]) - static_cast<int8_t>(b[0]) : compare_irregular(a, b);
  }
};

// Cassandra gives counters no order; ours, bigint's, is asked for by no statement that it accepts.
class CounterType final : public IntegerType<TypeKind::kCounter, int64_t> {
 public:
  std::string to_text(BytesView v) const override { return to_hex(v); }
  Result<Bytes> from_text(std::string_view text) const override {
    Bytes out;
    if (from_hex(text, &out)) return out;
    if (text.size() % 2 != 0) return invalid("An hex string representing bytes must have an even length");
    return invalid("Non-hex characters in " + std::string(text));
  }
};

// float and double, ordered as Java's compareTo: -0 before 0, NaN last. All NaNs are equal, and have the comparable form of
// the usual one: Cassandra keeps their sign and bits there, by which its tries contradict the order of its rows.
template <TypeKind kKind, class F, class Bits>
class FloatingType final : public SimpleType {
 public:
  FloatingType() : SimpleType(kKind) {}

  Status validate(BytesView v) const override {
    if (v.size() == sizeof(F) || v.empty()) [[likely]]
      return {};
    return wrong_size(kIsFloat ? "Expected 4 or 0 byte value for a float" : "Expected 8 or 0 byte value for a double",
                      v.size());
  }
  int compare(BytesView a, BytesView b) const override {
    if (a.size() != sizeof(F) || b.size() != sizeof(F)) [[unlikely]]
      return compare_irregular(a, b);
    Bits x = order_of(load_be<Bits>(a.data())), y = order_of(load_be<Bits>(b.data()));
    return (x > y) - (x < y);
  }
  void append_comparable(Bytes& out, BytesView v) const override {
    if (v.size() != sizeof(F)) [[unlikely]]
      return append_irregular(out, v);
    append_be(out, order_of(load_be<Bits>(v.data())));
  }
  void read_comparable(Reader& in, Bytes& out) const override {
    Bits bits = in.be<Bits>();
    append_be(out, static_cast<Bits>(bits ^ (sign_mask(~bits) | kSignBit)));
  }
  std::string to_text(BytesView v) const override { return v.size() == sizeof(F) ? text_of(decode(v)) : ""; }
  std::string to_json(BytesView v) const override {
    if (v.size() != sizeof(F)) return "\"\"";
    return std::isfinite(decode(v)) ? text_of(decode(v)) : "null";
  }
  Result<Bytes> from_text(std::string_view text) const override {
    if (text.empty()) return Bytes();
    const std::optional<F> v = parse_java_floating<F>(text);
    if (!v) return invalid((kIsFloat ? "Unable to make float from " : "Unable to make double from ") + quoted(text));
    Bytes out;
    append_be(out, std::isnan(*v) ? kNan : std::bit_cast<Bits>(*v));
    return out;
  }

 private:
  static constexpr bool kIsFloat = sizeof(F) == 4;
  static constexpr Bits kSignBit = Bits{1} << (sizeof(F) * 8 - 1);
  static constexpr Bits kInfinity =
      kIsFloat ? static_cast<Bits>(0x7F800000ULL) : static_cast<Bits>(0x7FF0000000000000ULL);
  // The one that Java makes of all of them.
  static constexpr Bits kNan = kIsFloat ? static_cast<Bits>(0x7FC00000ULL) : static_cast<Bits>(0x7FF8000000000000ULL);

  static F decode(BytesView v) { return std::bit_cast<F>(load_be<Bits>(v.data())); }
  static std::string text_of(F v) {
    if constexpr (kIsFloat)
      return float_to_text(v);
    else
      return double_to_text(v);
  }
  // All ones when the sign bit is set.
  static Bits sign_mask(Bits bits) { return static_cast<Bits>(0 - (bits >> (sizeof(F) * 8 - 1))); }
  static Bits order_of(Bits bits) {
    if ((bits & ~kSignBit) > kInfinity) return kNan | kSignBit;
    return bits ^ (sign_mask(bits) | kSignBit);
  }
};

class BooleanType final : public SimpleType {
 public:
  BooleanType() : SimpleType(TypeKind::kBoolean) {}

  Status validate(BytesView v) const override {
    if (v.size() <= 1) [[likely]]
      return {};
    return wrong_size("Expected 1 or 0 byte value", v.size());
  }
  int compare(BytesView a, BytesView b) const override {
    if (a.empty() || b.empty()) [[unlikely]]
      return compare_irregular(a, b);
    return int{a[0] != 0} - int{b[0] != 0};
  }
  void append_comparable(Bytes& out, BytesView v) const override {
    if (v.empty()) [[unlikely]]
      return;
    out.push_back(v[0] != 0 ? 1 : 0);
  }
  void read_comparable(Reader& in, Bytes& out) const override { out.push_back(in.u8() == 1 ? 1 : 0); }
  std::string to_text(BytesView v) const override { return v.empty() ? "" : v[0] != 0 ? "true" : "false"; }
  std::string to_json(BytesView v) const override { return v.empty() ? "\"\"" : to_text(v); }
  Result<Bytes> from_text(std::string_view text) const override {
    std::string lower(text);
    for (char& c : lower) c = static_cast<char>(c | 0x20);
    if (text.empty() || lower == "false") return encode_boolean(false);
    if (lower == "true") return encode_boolean(true);
    return invalid("Unable to make boolean from " + quoted(text));
  }
};

}  // namespace

TypePtr make_number(TypeKind kind) {
  switch (kind) {
    case TypeKind::kTinyint:
      return std::make_shared<IntegerType<TypeKind::kTinyint, int8_t>>();
    case TypeKind::kSmallint:
      return std::make_shared<IntegerType<TypeKind::kSmallint, int16_t>>();
    case TypeKind::kInt:
      return std::make_shared<IntegerType<TypeKind::kInt, int32_t>>();
    case TypeKind::kBigint:
      return std::make_shared<IntegerType<TypeKind::kBigint, int64_t>>();
    case TypeKind::kCounter:
      return std::make_shared<CounterType>();
    case TypeKind::kFloat:
      return std::make_shared<FloatingType<TypeKind::kFloat, float, uint32_t>>();
    case TypeKind::kDouble:
      return std::make_shared<FloatingType<TypeKind::kDouble, double, uint64_t>>();
    default:
      return std::make_shared<BooleanType>();
  }
}

}  // namespace cassandra_like::types_internal
