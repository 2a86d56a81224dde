// Numbers as text: varint and decimal of any precision, and Java's notation of floating point.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "base/ascii.h"
#include "model/values.h"
#include "model/values_internal.h"

namespace cassandra_like {

namespace values_internal {

namespace {

constexpr uint32_t kBillion = 1000000000;

int64_t sign_extend(BytesView v) {
  int64_t r = static_cast<signed char>(v[0]) < 0 ? -1 : 0;
  for (char c : v) r = static_cast<int64_t>(static_cast<uint64_t>(r) << 8 | static_cast<unsigned char>(c));
  return r;
}

// The magnitude as big-endian base 2^32.
std::vector<uint32_t> magnitude_limbs(BytesView v, bool negative) {
  std::vector<uint32_t> limbs((v.size() + 3) / 4);
  for (size_t i = 0; i < limbs.size() * 4; ++i) {
    size_t skipped = limbs.size() * 4 - v.size();
    uint8_t byte = i < skipped ? (negative ? 0xFF : 0) : static_cast<uint8_t>(v[i - skipped]);
    limbs[i / 4] = limbs[i / 4] << 8 | byte;
  }
  if (!negative) return limbs;
  bool carry = true;
  for (size_t i = limbs.size(); i-- > 0;) {
    limbs[i] = ~limbs[i] + (carry ? 1 : 0);
    carry = carry && limbs[i] == 0;
  }
  if (carry) limbs.insert(limbs.begin(), 1);
  return limbs;
}

std::string decimal_of(std::vector<uint32_t> limbs) {
  std::string reversed;
  size_t first = 0;
  while (first < limbs.size()) {
    uint64_t rest = 0;
    for (size_t i = first; i < limbs.size(); ++i) {
      rest = rest << 32 | limbs[i];
      limbs[i] = static_cast<uint32_t>(rest / kBillion);
      rest %= kBillion;
    }
    while (first < limbs.size() && limbs[first] == 0) ++first;
    for (int i = 0; i < 9; ++i, rest /= 10) reversed.push_back(static_cast<char>('0' + rest % 10));
  }
  while (reversed.size() > 1 && reversed.back() == '0') reversed.pop_back();
  return {reversed.rbegin(), reversed.rend()};
}

// Little-endian bytes of the magnitude.
std::string magnitude_bytes(std::string_view digits) {
  std::vector<uint32_t> limbs;  // little-endian
  for (size_t i = 0; i < digits.size();) {
    size_t n = (digits.size() - i - 1) % 9 + 1;
    uint32_t scale = 1;
    uint64_t carry = 0;
    for (size_t end = i + n; i < end; ++i) {
      carry = carry * 10 + static_cast<uint64_t>(digits[i] - '0');
      scale *= 10;
    }
    for (uint32_t& limb : limbs) {
      carry += static_cast<uint64_t>(limb) * scale;
      limb = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) limbs.push_back(static_cast<uint32_t>(carry));
  }
  std::string out;
  for (uint32_t limb : limbs) {
    for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(limb >> shift));
  }
  return out;
}

}  // namespace

IntegerDigits::IntegerDigits(BytesView v) {
  if (v.empty()) {
    digits_ = "0";
    return;
  }
  negative_ = static_cast<signed char>(v[0]) < 0;
  if (v.size() <= 8) {
    auto bits = static_cast<uint64_t>(sign_extend(v));
    char* end = std::to_chars(small_, small_ + sizeof small_, negative_ ? 0 - bits : bits).ptr;
    digits_ = std::string_view(small_, static_cast<size_t>(end - small_));
  } else {
    big_ = decimal_of(magnitude_limbs(v, negative_));
    digits_ = big_;
  }
}

void append_integer(Bytes& out, bool negative, std::string_view digits) {
  std::string bytes = magnitude_bytes(digits);
  if (negative) {
    bool carry = true;
    for (char& c : bytes) {
      c = static_cast<char>(~c + (carry ? 1 : 0));
      carry = carry && c == 0;
    }
    negative = !carry;  // still set only for zero
  }
  const char sign = negative ? '\xFF' : '\0';
  bytes.push_back(sign);
  auto high_bit = [](char c) { return c & 0x80; };
  while (bytes.size() > 1 && bytes.back() == sign && high_bit(bytes[bytes.size() - 2]) == high_bit(sign)) {
    bytes.pop_back();
  }
  out.append(bytes.rbegin(), bytes.rend());
}

DecimalDigits::DecimalDigits(BytesView serialized)
    : unscaled_(serialized.substr(std::min<size_t>(4, serialized.size()))) {
  if (serialized.size() <= 4 || unscaled_.is_zero()) return;
  digits_ = unscaled_.digits();
  magnitude_ = static_cast<int64_t>(digits_.size()) - load_be<int32_t>(serialized.data());
  digits_ = digits_.substr(0, digits_.find_last_not_of('0') + 1);
}

}  // namespace values_internal

namespace {

bool all_digits(std::string_view s) { return !s.empty() && std::all_of(s.begin(), s.end(), is_digit); }

// Reading takes time by the square of them.
Status check_digits(size_t digits) {
  constexpr size_t kMostDigits = 100'000;
  if (digits <= kMostDigits) return {};
  return invalid("A number of more than " + std::to_string(kMostDigits) + " digits is not supported yet");
}

// Takes an optional sign off the front; true for minus.
bool take_sign(std::string_view& s) {
  bool negative = !s.empty() && s[0] == '-';
  if (negative || (!s.empty() && s[0] == '+')) s.remove_prefix(1);
  return negative;
}

// The exponent as java.math.BigDecimal reads it: an int, of at most ten digits after leading zeros.
bool parse_exponent(std::string_view s, int64_t* out) {
  bool negative = take_sign(s);
  if (!all_digits(s)) return false;
  while (s.size() > 10 && s[0] == '0') s.remove_prefix(1);
  if (s.size() > 10) return false;
  std::from_chars(s.data(), s.data() + s.size(), *out);
  if (negative) *out = -*out;
  return *out == static_cast<int32_t>(*out);
}

// `digits` and the power of ten of its first digit in Java's notation of floating point.
std::string java_notation(bool negative, std::string digits, int exponent) {
  std::string out(negative ? "-" : "");
  if (exponent >= -3 && exponent < 7) {
    if (exponent < 0) return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
    auto whole = static_cast<size_t>(exponent) + 1;
    if (digits.size() <= whole) digits.resize(whole + 1, '0');
    return out + digits.insert(whole, 1, '.');
  }
  if (digits.size() == 1) digits.push_back('0');
  return out + digits.insert(1, 1, '.') + "E" + std::to_string(exponent);
}

template <class F>
std::string floating_to_text(F v) {
  if (std::isnan(v)) return "NaN";
  bool negative = std::signbit(v);
  if (std::isinf(v)) return negative ? "-Infinity" : "Infinity";
  if (v == 0) return negative ? "-0.0" : "0.0";
  v = std::fabs(v);
  char buffer[40];
  char* end = std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::scientific).ptr;
  if (buffer[1] != '.') {
    // Java prints two digits at least, so it takes the closest two that read back as v: 4.9E-324, not 5.0E-324.
    char closer[40];
    char* closer_end = std::to_chars(closer, closer + sizeof closer, v, std::chars_format::scientific, 1).ptr;
    F read = 0;
    std::from_chars(closer, closer_end, read);
    if (read == v) end = std::copy(closer, closer_end, buffer);
  }
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  size_t e = text.find('e');
  std::string digits(1, text[0]);
  if (e > 1) digits += text.substr(2, e - 2);
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  int exponent = 0;
  bool below_one = text[e + 1] == '-';
  std::from_chars(text.data() + e + 2, text.data() + text.size(), exponent);
  return java_notation(negative, std::move(digits), below_one ? -exponent : exponent);
}

}  // namespace

Result<Bytes> encode_varint(std::string_view text) {
  std::string_view digits = text;
  bool negative = take_sign(digits);
  if (!all_digits(digits)) return invalid("unable to make int from '" + std::string(text) + "'");
  TRY(check_digits(digits.size()));
  Bytes out;
  values_internal::append_integer(out, negative, digits);
  return out;
}

std::string varint_to_text(BytesView v) {
  values_internal::IntegerDigits n(v);
  return (n.negative() ? "-" : "") + std::string(n.digits());
}

Result<Bytes> encode_decimal(std::string_view text) {
  auto fail = [&] { return invalid("unable to make BigDecimal from '" + std::string(text) + "'"); };
  std::string_view rest = text;
  bool negative = take_sign(rest);
  int64_t exponent = 0;
  if (size_t e = rest.find_first_of("eE"); e != rest.npos) {
    if (!parse_exponent(rest.substr(e + 1), &exponent)) return fail();
    rest = rest.substr(0, e);
  }
  std::string digits(rest);
  int64_t scale = -exponent;
  if (size_t dot = digits.find('.'); dot != digits.npos) {
    scale += static_cast<int64_t>(digits.size() - dot - 1);
    digits.erase(dot, 1);
  }
  if (!all_digits(digits) || scale != static_cast<int32_t>(scale)) return fail();
  TRY(check_digits(digits.size()));
  Bytes out = encode_int(static_cast<int32_t>(scale));
  values_internal::append_integer(out, negative, digits);
  return out;
}

std::string decimal_to_text(BytesView v) {
  if (v.size() < 4) return "";
  values_internal::IntegerDigits unscaled(v.substr(4));
  int64_t scale = decode_int(v);
  std::string out(unscaled.negative() ? "-" : "");
  std::string digits(unscaled.digits());
  if (scale == 0) return out + digits;
  auto n = static_cast<int64_t>(digits.size());
  int64_t exponent = n - 1 - scale;
  if (scale > 0 && exponent >= -6) {
    if (scale >= n) digits.insert(0, static_cast<size_t>(scale - n + 1), '0');
    digits.insert(digits.size() - static_cast<size_t>(scale), 1, '.');
    return out + digits;
  }
  if (n > 1) digits.insert(1, 1, '.');
  out += digits;
  if (exponent != 0) out += (exponent > 0 ? "E+" : "E") + std::to_string(exponent);
  return out;
}

std::string double_to_text(double v) { return floating_to_text(v); }
std::string float_to_text(float v) { return floating_to_text(v); }

}  // namespace cassandra_like
