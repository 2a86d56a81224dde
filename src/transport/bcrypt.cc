// Provos and Mazières' bcrypt over Schneier's Blowfish, whose tables are the fractional digits of pi.
#include "transport/bcrypt.h"

#include <algorithm>
#include <vector>

namespace cassandra_like {

namespace {

constexpr char kAlphabet[] = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
constexpr size_t kHashSize = 60;  // $2a$10$, 22 characters of salt, 31 of digest
constexpr size_t kSaltAt = 7;
constexpr size_t kDigestAt = 29;
constexpr size_t kMaxPassword = 72;
constexpr size_t kWords = 18 + 1024;

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

}  // namespace

void BcryptCheck::Blowfish::encrypt(uint32_t& left, uint32_t& right) const {
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

void BcryptCheck::Blowfish::expand(const std::array<uint32_t, 18>& key, const std::array<uint32_t, 4>& salt) {
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

const BcryptCheck::Blowfish& BcryptCheck::initial_state() {
  static const Blowfish state = [] {
    Blowfish b;
    std::vector<uint32_t> words = digits_of_pi();
    std::copy_n(words.begin(), b.p.size(), b.p.begin());
    std::copy_n(words.begin() + b.p.size(), b.s.size(), b.s.begin());
    return b;
  }();
  return state;
}

void BcryptCheck::warm_up() { initial_state(); }

std::optional<BcryptCheck> BcryptCheck::begin(std::string_view password, std::string_view hash) {
  if (hash.size() != kHashSize || !hash.starts_with("$2") || hash[3] != '$' || hash[6] != '$') return std::nullopt;
  if (hash[2] != 'a' && hash[2] != 'b' && hash[2] != 'y') return std::nullopt;
  const int cost = (hash[4] - '0') * 10 + (hash[5] - '0');
  std::array<uint8_t, 16> salt{};
  if (cost < 4 || cost > 31 || !decode_salt(hash.substr(kSaltAt, kDigestAt - kSaltAt), &salt)) return std::nullopt;

  BcryptCheck check;
  std::string key(password.substr(0, kMaxPassword));
  if (key.size() < kMaxPassword) key.push_back('\0');
  check.key_ = cyclic_words<18>(key);
  check.salt_ = cyclic_words<4>(salt);
  check.salt_as_key_ = cyclic_words<18>(salt);
  check.expected_ = hash.substr(kDigestAt);
  check.rounds_left_ = uint64_t{1} << cost;
  check.state_ = std::make_unique<Blowfish>(initial_state());
  check.state_->expand(check.key_, check.salt_);
  return check;
}

bool BcryptCheck::step(uint32_t rounds) {
  static constexpr std::array<uint32_t, 4> kNoSalt{};
  for (; rounds > 0 && rounds_left_ > 0; --rounds, --rounds_left_) {
    state_->expand(key_, kNoSalt);
    state_->expand(salt_as_key_, kNoSalt);
  }
  if (rounds_left_ > 0) return false;
  // Every character is looked at, so that the time tells nothing.
  const std::string got = digest();
  unsigned difference = got.size() == expected_.size() ? 0 : 1;
  for (size_t i = 0; i < got.size() && i < expected_.size(); ++i) {
    difference |= static_cast<unsigned char>(got[i] ^ expected_[i]);
  }
  matches_ = difference == 0;
  return true;
}

std::string BcryptCheck::digest() const {
  static constexpr char kText[] = "OrpheanBeholderScryDoubt";
  std::array<uint8_t, 24> bytes{};
  for (size_t block = 0; block < 24; block += 8) {
    uint32_t words[2] = {0, 0};
    for (size_t i = 0; i < 8; ++i) words[i / 4] = words[i / 4] << 8 | static_cast<uint8_t>(kText[block + i]);
    for (int i = 0; i < 64; ++i) state_->encrypt(words[0], words[1]);
    for (size_t i = 0; i < 8; ++i) bytes[block + i] = static_cast<uint8_t>(words[i / 4] >> (24 - 8 * (i % 4)));
  }
  return encode(bytes.data(), 23);
}

}  // namespace cassandra_like
