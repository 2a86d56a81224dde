// bcrypt over Schneier's Blowfish, whose tables are the fractional digits of pi.
#include "cql/auth/bcrypt.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

namespace cassandra_like {

namespace {

constexpr char kAlphabet[] = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view kPrefix = "$2a$";
constexpr int kCost = 10;  // of Cassandra's own hashes
constexpr size_t kHashSize = 60;
constexpr size_t kSaltAt = 7;
constexpr size_t kDigestAt = 29;
constexpr size_t kMaxPassword = 72;
constexpr size_t kWords = 18 + 1024;
constexpr uint32_t kRoundsPerSlice = 8;  // of about 50 µs
constexpr Duration kBetweenSlices = std::chrono::milliseconds(1);

// A fixed-point number: [0] is the integer part, then 64 bits of fraction each.
using Fixed = std::vector<uint64_t>;
__extension__ using Wide = unsigned __int128;
constexpr size_t kLimbs = 1 + kWords / 2 + 2;

// Divides in place; limbs before `first` are zero. Returns the first that is not.
size_t divide(Fixed& x, uint64_t divisor, size_t first, Fixed* out) {
  Wide remainder = 0;
  for (size_t i = first; i < x.size(); ++i) {
    remainder = remainder << 64 | x[i];
    (*out)[i] = static_cast<uint64_t>(remainder / divisor);
    remainder %= divisor;
  }
  while (first < x.size() && (*out)[first] == 0) ++first;
  return first;
}

void add(Fixed& x, const Fixed& y, size_t first) {
  uint64_t carry = 0;
  for (size_t i = x.size(); i-- > 0 && (i >= first || carry != 0);) {
    Wide sum = static_cast<Wide>(x[i]) + (i >= first ? y[i] : 0) + carry;
    x[i] = static_cast<uint64_t>(sum);
    carry = static_cast<uint64_t>(sum >> 64);
  }
}

void subtract(Fixed& x, const Fixed& y, size_t first) {
  uint64_t borrow = 0;
  for (size_t i = x.size(); i-- > 0 && (i >= first || borrow != 0);) {
    Wide difference = static_cast<Wide>(x[i]) - (i >= first ? y[i] : 0) - borrow;
    x[i] = static_cast<uint64_t>(difference);
    borrow = static_cast<uint64_t>(difference >> 64) & 1;
  }
}

// sum += multiple * atan(1/x), or -= when negative.
void accumulate_arctangent(Fixed& sum, uint64_t multiple, uint64_t x, bool negative) {
  Fixed power(kLimbs, 0);
  Fixed term(kLimbs, 0);
  power[0] = multiple;
  size_t first = divide(power, x, 0, &power);
  for (uint64_t k = 1; first < kLimbs; k += 2, negative = !negative) {
    divide(power, k, first, &term);
    negative ? subtract(sum, term, first) : add(sum, term, first);
    first = divide(power, x * x, first, &power);
  }
}

// The first 32-bit words of pi's fraction.
std::vector<uint32_t> digits_of_pi() {
  Fixed pi(kLimbs, 0);
  accumulate_arctangent(pi, 16, 5, false);
  accumulate_arctangent(pi, 4, 239, true);
  std::vector<uint32_t> words(kWords);
  for (size_t i = 0; i < kWords; ++i) {
    words[i] = static_cast<uint32_t>(pi[1 + i / 2] >> (i % 2 == 0 ? 32 : 0));
  }
  return words;
}

// 4 characters hold 3 bytes, the first character the highest bits.
bool decode_salt(std::string_view text, std::array<uint8_t, 16>* out) {
  uint32_t bits = 0;
  int count = 0;
  size_t at = 0;
  for (char c : text) {
    const char* found = std::find(kAlphabet, kAlphabet + 64, c);
    if (found == kAlphabet + 64) return false;
    bits = bits << 6 | static_cast<uint32_t>(found - kAlphabet);
    count += 6;
    if (count >= 8 && at < out->size()) {
      count -= 8;
      (*out)[at++] = static_cast<uint8_t>(bits >> count);
    }
  }
  return at == out->size();
}

std::string encode(const uint8_t* data, size_t size) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (size_t i = 0; i < size; ++i) {
    bits = bits << 8 | data[i];
    for (count += 8; count >= 6;) {
      count -= 6;
      out.push_back(kAlphabet[bits >> count & 63]);
    }
  }
  if (count > 0) out.push_back(kAlphabet[bits << (6 - count) & 63]);
  return out;
}

template <size_t N, class Container>
std::array<uint32_t, N> cyclic_words(const Container& bytes) {
  std::array<uint32_t, N> words{};
  size_t at = 0;
  for (uint32_t& word : words) {
    for (int i = 0; i < 4; ++i) {
      word = word << 8 | static_cast<uint8_t>(bytes[at]);
      at = at + 1 == bytes.size() ? 0 : at + 1;
    }
  }
  return words;
}

struct Blowfish {
  std::array<uint32_t, 18> p;
  std::array<uint32_t, 1024> s;  // four boxes of 256

  void encrypt(uint32_t& left, uint32_t& right) const;
  void expand(const std::array<uint32_t, 18>& key, const std::array<uint32_t, 4>& salt);
};

void Blowfish::encrypt(uint32_t& left, uint32_t& right) const {
  uint32_t l = left;
  uint32_t r = right;
  auto f = [this](uint32_t x) {
    return ((s[x >> 24] + s[256 + (x >> 16 & 0xFF)]) ^ s[512 + (x >> 8 & 0xFF)]) + s[768 + (x & 0xFF)];
  };
  for (size_t i = 0; i < 16; i += 2) {
    l ^= p[i];
    r ^= f(l);
    r ^= p[i + 1];
    l ^= f(r);
  }
  left = r ^ p[17];
  right = l ^ p[16];
}

void Blowfish::expand(const std::array<uint32_t, 18>& key, const std::array<uint32_t, 4>& salt) {
  for (size_t i = 0; i < p.size(); ++i) p[i] ^= key[i];
  uint32_t left = 0;
  uint32_t right = 0;
  size_t at = 0;
  auto fill = [&](auto& table) {
    for (size_t i = 0; i < table.size(); i += 2, at = (at + 2) % 4) {
      left ^= salt[at];
      right ^= salt[at + 1];
      encrypt(left, right);
      table[i] = left;
      table[i + 1] = right;
    }
  };
  fill(p);
  fill(s);
}

const Blowfish& initial_state() {
  static const Blowfish state = [] {
    Blowfish b;
    std::vector<uint32_t> words = digits_of_pi();
    std::copy_n(words.begin(), b.p.size(), b.p.begin());
    std::copy_n(words.begin() + b.p.size(), b.s.size(), b.s.begin());
    return b;
  }();
  return state;
}

std::string digest_of(const Blowfish& state) {
  static constexpr char kText[] = "OrpheanBeholderScryDoubt";
  std::array<uint8_t, 24> bytes{};
  for (size_t block = 0; block < 24; block += 8) {
    uint32_t words[2] = {0, 0};
    for (size_t i = 0; i < 8; ++i) words[i / 4] = words[i / 4] << 8 | static_cast<uint8_t>(kText[block + i]);
    for (int i = 0; i < 64; ++i) state.encrypt(words[0], words[1]);
    for (size_t i = 0; i < 8; ++i) bytes[block + i] = static_cast<uint8_t>(words[i / 4] >> (24 - 8 * (i % 4)));
  }
  return encode(bytes.data(), 23);
}

std::optional<std::array<uint8_t, 16>> decode_salt_of(std::string_view hash) {
  std::array<uint8_t, 16> salt{};
  if (!decode_salt(hash.substr(kSaltAt, kDigestAt - kSaltAt), &salt)) return std::nullopt;
  return salt;
}

int cost_of(std::string_view hash) { return (hash[4] - '0') * 10 + (hash[5] - '0'); }

}  // namespace

bool is_bcrypt_hash(std::string_view text) {
  if (text.size() != kHashSize || !text.starts_with(kPrefix) || text[6] != '$') return false;
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!is_digit(text[4]) || !is_digit(text[5])) return false;
  return cost_of(text) >= 4 && cost_of(text) <= 31 && decode_salt_of(text);
}

std::string bcrypt_salt(Random& random) {
  std::array<uint8_t, 16> salt;
  random.fill(reinterpret_cast<char*>(salt.data()), salt.size());
  return fmt::format("{}{:02}${}", kPrefix, kCost, encode(salt.data(), salt.size()));
}

void warm_up_bcrypt() { initial_state(); }

Task<std::string> bcrypt_hash(Executor& executor, std::string password, std::string salt) {
  static constexpr std::array<uint32_t, 4> kNoSalt{};
  const std::array<uint8_t, 16> salt_bytes = *decode_salt_of(salt);
  const auto salt_as_key = cyclic_words<18>(salt_bytes);
  password.resize(std::min(password.size(), kMaxPassword));
  if (password.size() < kMaxPassword) password.push_back('\0');
  const auto key = cyclic_words<18>(password);

  auto state = std::make_unique<Blowfish>(initial_state());
  state->expand(key, cyclic_words<4>(salt_bytes));
  for (uint64_t left = uint64_t{1} << cost_of(salt); left > 0; --left) {
    state->expand(key, kNoSalt);
    state->expand(salt_as_key, kNoSalt);
    if (left % kRoundsPerSlice == 0) co_await executor.sleep(kBetweenSlices);
  }
  co_return salt.substr(0, kDigestAt) + digest_of(*state);
}

}  // namespace cassandra_like
