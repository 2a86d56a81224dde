#include "cql/values/arithmetic_decimal.h"

#include <openssl/bn.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "base/result.h"
#include "model/values.h"

namespace cassandra_like::functions {

// --- Integers ---

namespace {

struct Context {
  Context() : value(BN_CTX_new()) {}
  ~Context() { BN_CTX_free(value); }
  BN_CTX* value;
};

BN_CTX* scratch() {
  thread_local Context context;
  return context.value;
}

const unsigned char* unsigned_bytes(BytesView v) { return reinterpret_cast<const unsigned char*>(v.data()); }

}  // namespace

void BigInt::Free::operator()(bignum_st* p) const { BN_free(p); }

BigInt::BigInt(int64_t value) : value_(BN_new()) {
  uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  BN_set_word(value_.get(), magnitude);
  BN_set_negative(value_.get(), value < 0);
}

BigInt::BigInt(const BigInt& other) : value_(BN_dup(other.value_.get())) {}

BigInt BigInt::from_bytes(BytesView v) {
  BigInt result;
  if (v.empty()) return result;
  BN_bin2bn(unsigned_bytes(v), static_cast<int>(v.size()), result.value_.get());
  if (v[0] >= 0) return result;
  BigInt modulus(1);
  BN_lshift(modulus.value_.get(), modulus.value_.get(), static_cast<int>(v.size()) * 8);
  return result - modulus;
}

BigInt BigInt::power_of_ten(uint64_t exponent) {
  BigInt result, base(10), power(static_cast<int64_t>(exponent));
  BN_exp(result.value_.get(), base.value_.get(), power.value_.get(), scratch());
  return result;
}

Bytes BigInt::to_bytes() const {
  // A negative number is the complement of its magnitude less one.
  bool negative = sign() < 0;
  BigInt magnitude = negative ? -(*this + BigInt(1)) : *this;
  Bytes out(static_cast<size_t>(BN_num_bytes(magnitude.value_.get())), '\0');
  BN_bn2bin(magnitude.value_.get(), reinterpret_cast<unsigned char*>(out.data()));
  if (out.empty() || out[0] < 0) out.insert(out.begin(), '\0');
  if (negative) {
    for (char& c : out) c = static_cast<char>(~c);
  }
  return out;
}

std::string BigInt::to_text() const {
  char* text = BN_bn2dec(value_.get());
  std::string out(text);
  OPENSSL_free(text);
  return out;
}

int64_t BigInt::low_64_bits() const {
  Bytes bytes = to_bytes();
  uint64_t value = bytes[0] < 0 ? ~uint64_t{0} : 0;
  for (char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
  return static_cast<int64_t>(value);
}

double BigInt::to_double() const { return std::strtod(to_text().c_str(), nullptr); }
float BigInt::to_float() const { return std::strtof(to_text().c_str(), nullptr); }
int BigInt::sign() const { return BN_is_zero(value_.get()) ? 0 : BN_is_negative(value_.get()) ? -1 : 1; }
bool BigInt::is_odd() const { return BN_is_odd(value_.get()); }

int64_t BigInt::digits() const {
  if (sign() == 0) return 1;
  // log10(2) times the bits is right or one too many.
  auto estimate = static_cast<int64_t>(static_cast<double>(BN_num_bits(value_.get()) - 1) * 0.30102999566398120);
  return abs().compare(power_of_ten(static_cast<uint64_t>(estimate + 1))) >= 0 ? estimate + 2 : estimate + 1;
}

BigInt operator+(const BigInt& a, const BigInt& b) {
  BigInt r;
  BN_add(r.value_.get(), a.value_.get(), b.value_.get());
  return r;
}
BigInt operator-(const BigInt& a, const BigInt& b) {
  BigInt r;
  BN_sub(r.value_.get(), a.value_.get(), b.value_.get());
  return r;
}
BigInt operator*(const BigInt& a, const BigInt& b) {
  BigInt r;
  BN_mul(r.value_.get(), a.value_.get(), b.value_.get(), scratch());
  return r;
}

BigInt BigInt::divide(const BigInt& by, BigInt* remainder) const {
  BigInt quotient, rest;
  BN_div(quotient.value_.get(), rest.value_.get(), value_.get(), by.value_.get(), scratch());
  if (remainder != nullptr) *remainder = std::move(rest);
  return quotient;
}

int BigInt::compare(const BigInt& other) const { return BN_cmp(value_.get(), other.value_.get()); }

// --- Decimals ---

namespace {

constexpr int64_t kMaxDigits = 10000;   // of sums and products
constexpr int64_t kMaxShift = 200'000;  // digits that a change of scale may add; a larger one is not made
constexpr int64_t kMinDigits = 32;      // of quotients and logarithms
constexpr int64_t kMaxScale = 1000;     // of quotients

BigInt power_of_ten(int64_t exponent) { return BigInt::power_of_ten(static_cast<uint64_t>(exponent)); }

BigInt divide_rounded(const BigInt& a, const BigInt& b, Rounding rounding) {
  BigInt rest;
  BigInt quotient = a.divide(b, &rest);
  if (rounding == Rounding::kDown || rest.sign() == 0) return quotient;
  int half = (rest.abs() + rest.abs()).compare(b.abs());
  bool away = half > 0 || (half == 0 && (rounding == Rounding::kHalfUp || quotient.is_odd()));
  if (!away) return quotient;
  return quotient + BigInt(a.sign() * b.sign());
}

// Two decimals at one scale; a difference of scales beyond all digits that can matter is cut short, so that a tiny value
// cannot demand a huge number.
void align(Decimal& a, Decimal& b) {
  Decimal& coarse = a.scale < b.scale ? a : b;
  Decimal& fine = a.scale < b.scale ? b : a;
  int64_t gap = fine.scale - coarse.scale;
  if (gap > fine.digits() + coarse.digits() + kMaxDigits + 2 && coarse.sign() != 0) {
    // The rest of the finer one only decides how the result is rounded.
    fine = {BigInt(fine.sign()), coarse.scale + kMaxDigits + 3};
    gap = kMaxDigits + 3;
  }
  if (coarse.sign() != 0 && gap > 0) coarse.unscaled = coarse.unscaled * power_of_ten(gap);
  coarse.scale = fine.scale;
}

}  // namespace

Decimal Decimal::from_bytes(BytesView v) { return {BigInt::from_bytes(v.substr(4)), load_be<int32_t>(v.data())}; }

Decimal Decimal::from_text(std::string_view text) {
  auto encoded = encode_decimal(text);
  CHECK(encoded.ok());
  return from_bytes(*encoded);
}

Bytes Decimal::to_bytes() const {
  Bytes out;
  append_be<int32_t>(out, static_cast<int32_t>(scale));
  return out + unscaled.to_bytes();
}

Decimal Decimal::rescaled(int64_t new_scale, Rounding rounding) const {
  if (new_scale == scale) return *this;
  if (sign() == 0) return {BigInt(0), new_scale};
  if (new_scale - scale > kMaxShift) return *this;
  if (new_scale > scale) return {unscaled * power_of_ten(new_scale - scale), new_scale};
  if (scale - new_scale > digits() + 1) return {BigInt(0), new_scale};
  return {divide_rounded(unscaled, power_of_ten(scale - new_scale), rounding), new_scale};
}

Decimal Decimal::rounded(int64_t wanted, Rounding rounding) const {
  Decimal result = *this;
  // Rounding 999 up gives a digit more, which the second pass takes off.
  for (int64_t extra = result.digits() - wanted; extra > 0; extra = result.digits() - wanted) {
    result = result.rescaled(result.scale - extra, rounding);
  }
  return result;
}

Decimal Decimal::stripped(int64_t preferred_scale) const {
  if (sign() == 0) return preferred_scale == INT64_MIN ? Decimal{BigInt(0), 0} : Decimal{BigInt(0), preferred_scale};
  // Zeros to take off at most. Halves of that at a time, since a division costs as much for one digit as for many.
  int64_t room = preferred_scale > scale - digits() ? scale - preferred_scale : digits();
  Decimal result = *this;
  for (auto zeros = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(room, 0)))); zeros > 0;
       zeros /= 2) {
    if (zeros > room || result.unscaled.is_odd()) continue;
    BigInt rest;
    BigInt quotient = result.unscaled.divide(power_of_ten(zeros), &rest);
    if (rest.sign() != 0) continue;
    result = {std::move(quotient), result.scale - zeros};
    room -= zeros;
  }
  return result;
}

// std::strto* round correctly whatever the length.
double Decimal::to_double() const {
  return std::strtod((unscaled.to_text() + "e" + std::to_string(-scale)).c_str(), nullptr);
}
float Decimal::to_float() const {
  return std::strtof((unscaled.to_text() + "e" + std::to_string(-scale)).c_str(), nullptr);
}

Decimal add(const Decimal& a, const Decimal& b) {
  Decimal x = a, y = b;
  align(x, y);
  return Decimal{x.unscaled + y.unscaled, x.scale}.rounded(kMaxDigits, Rounding::kHalfUp);
}

Decimal subtract(const Decimal& a, const Decimal& b) { return add(a, {-b.unscaled, b.scale}); }

Decimal multiply(const Decimal& a, const Decimal& b) {
  return Decimal{a.unscaled * b.unscaled, a.scale + b.scale}.rounded(kMaxDigits, Rounding::kHalfUp);
}

Decimal divide(const Decimal& a, const Decimal& b, int64_t scale, Rounding rounding) {
  int64_t shift = scale - a.scale + b.scale;
  // Far apart, the quotient is nothing at this scale, or has more digits than anybody can want: those are left out.
  if (-shift > a.digits() - b.digits() + 1) return {BigInt(0), scale};
  if (shift > kMaxShift) {
    scale -= shift - kMaxShift;
    shift = kMaxShift;
  }
  if (shift >= 0) return {divide_rounded(a.unscaled * power_of_ten(shift), b.unscaled, rounding), scale};
  return {divide_rounded(a.unscaled, b.unscaled * power_of_ten(-shift), rounding), scale};
}

Decimal divide(const Decimal& a, const Decimal& b) {
  int64_t first_digit = (a.digits() - a.scale) - (b.digits() - b.scale);
  int64_t scale = std::max({kMinDigits - first_digit, a.scale, b.scale, kMinDigits});
  return divide(a, b, std::min(scale, kMaxScale), Rounding::kHalfUp).stripped();
}

Decimal remainder(const Decimal& a, const Decimal& b) {
  int64_t preferred = a.scale - b.scale;
  Decimal quotient = divide(a, b, 0, Rounding::kDown);
  if (preferred >= 0 || quotient.sign() == 0) {
    quotient = quotient.rescaled(preferred, Rounding::kDown);
  } else {
    quotient = quotient.stripped(preferred);
  }
  return subtract(a, multiply(quotient, b));
}

// --- Exponential and logarithm, in fixed point ---

namespace {

constexpr int64_t kGuardDigits = 20;

// A fixed-point number has `point` digits after the point.
BigInt fixed(const Decimal& x, int64_t point) { return x.rescaled(point, Rounding::kHalfEven).unscaled; }

BigInt times(const BigInt& a, const BigInt& b, const BigInt& one) { return (a * b).divide(one); }

// e^x for a small x, by the series after halving x eight times.
BigInt fixed_exponential(const BigInt& x, const BigInt& one) {
  constexpr int kHalvings = 8;
  BigInt reduced = x.divide(BigInt(1 << kHalvings));
  BigInt term = one, sum = one;
  for (int64_t k = 1; term.sign() != 0; ++k) {
    term = times(term, reduced, one).divide(BigInt(k));
    sum = sum + term;
  }
  for (int i = 0; i < kHalvings; ++i) sum = times(sum, sum, one);
  return sum;
}

// 2 artanh(n/d) = ln((d+n)/(d-n)).
BigInt twice_artanh(const BigInt& n, const BigInt& d, const BigInt& one) {
  BigInt x = (n * one).divide(d);
  BigInt square = times(x, x, one), power = x, sum = x;
  for (int64_t k = 3; power.sign() != 0; k += 2) {
    power = times(power, square, one);
    sum = sum + power.divide(BigInt(k));
  }
  return sum + sum;
}

// ln 10 = 3 ln 2 + ln 1.25, ln 2 = ln((1 + 1/3) / (1 - 1/3)).
BigInt fixed_ln_10(const BigInt& one) {
  return BigInt(3) * twice_artanh(BigInt(1), BigInt(3), one) + twice_artanh(BigInt(1), BigInt(9), one);
}

// ln x for x in [1, 10): Newton's method on e^y = x, from a double.
BigInt fixed_ln(const BigInt& x, const BigInt& one, int64_t point) {
  double start = std::log(Decimal{x, point}.to_double());
  BigInt y = fixed(Decimal::from_text(double_to_text(start)), point);
  // Each round at least doubles the 15 digits that are right.
  for (int64_t right = 15; right < 2 * point; right *= 2) {
    BigInt power = fixed_exponential(y, one);
    y = y + (BigInt(2) * (x - power) * one).divide(x + power);
  }
  return y;
}

int64_t wanted_digits(const Decimal& x) { return std::min(std::max(kMinDigits, x.digits()), kMaxDigits); }

Decimal logarithm(const Decimal& x, int64_t wanted) {
  // x = m * 10^e with 1 <= m < 10. Near 1 the logarithm has as many leading zeros as x - 1.
  int64_t exponent = x.digits() - x.scale - 1;
  int64_t point = wanted + kGuardDigits + x.digits();
  BigInt one = power_of_ten(point);
  BigInt ln = fixed_ln(fixed({x.unscaled, x.digits() - 1}, point), one, point);
  if (exponent != 0) ln = ln + BigInt(exponent) * fixed_ln_10(one);
  return Decimal{ln, point}.rounded(wanted, Rounding::kHalfEven);
}

}  // namespace

Decimal exponential(const Decimal& x) {
  if (x.sign() == 0) return {BigInt(1), 0};
  int64_t wanted = wanted_digits(x);
  // e^x = 10^n * e^r with n = x / ln 10: r needs as many digits more as n has.
  int64_t point = wanted + kGuardDigits + std::max<int64_t>(0, x.digits() - x.scale);
  BigInt one = power_of_ten(point);
  BigInt ln_10 = fixed_ln_10(one), rest;
  BigInt exponent = fixed(x, point).divide(ln_10, &rest);
  Decimal result{fixed_exponential(rest, one), point};
  result.scale -= exponent.low_64_bits();
  return result.rounded(wanted, Rounding::kHalfEven);
}

Decimal logarithm(const Decimal& x) {
  if (x.stripped().unscaled.compare(BigInt(1)) == 0 && x.stripped().scale == 0) return {BigInt(0), 0};
  return logarithm(x, wanted_digits(x));
}

Decimal logarithm_10(const Decimal& x) {
  int64_t wanted = wanted_digits(x);
  bool is_one = x.stripped().unscaled.compare(BigInt(1)) == 0 && x.stripped().scale == 0;
  Decimal ln = is_one ? Decimal{} : logarithm(x.stripped(), wanted + 2);
  if (ln.sign() == 0) return {BigInt(0), -(wanted + 1)};  // the scale of 0 / ln 10
  Decimal ln_10 = logarithm({BigInt(10), 0}, wanted + 2);
  int64_t scale = wanted + 3 - ((ln.digits() - ln.scale) - (ln_10.digits() - ln_10.scale));
  Decimal quotient = divide(ln, ln_10, scale, Rounding::kHalfEven).rounded(wanted + 2, Rounding::kHalfEven);
  bool exact = subtract(multiply(quotient, ln_10), ln).sign() == 0;
  if (exact) quotient = quotient.stripped(ln.scale - ln_10.scale);
  return quotient.rounded(wanted, Rounding::kHalfEven);
}

}  // namespace cassandra_like::functions
