#include "cql/auth/password_hash.h"

#include <crypt.h>

#include <algorithm>
#include <memory>

#include "base/ascii.h"
#include "base/result.h"

namespace cassandra_like {
namespace {

constexpr char kPrefix[] = "$2a$";
constexpr int kCost = 10;  // Cassandra's without -Dcassandra.auth_bcrypt_gensalt_log2_rounds
constexpr int kMinCost = 4, kMaxCost = 31;
constexpr size_t kPrefixSize = 4, kHashSize = 60, kSaltBytes = 16;
constexpr size_t kMaxPasswordSize = 72;

bool is_base64(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '/';
}

// libxcrypt gives some passwords under $2a$ a hash that differs on purpose. Under $2y$ all have jBCrypt's.
std::string bcrypt(const std::string& password, std::string salt) {
  constexpr size_t kRevision = 2;
  CHECK(salt.size() > kRevision);
  salt[kRevision] = 'y';
  auto work = std::make_unique<crypt_data>();
  const char* hash = ::crypt_rn(password.c_str(), salt.c_str(), work.get(), sizeof(crypt_data));
  CHECK(hash != nullptr);
  std::string out(hash);
  out[kRevision] = 'a';
  return out;
}

}  // namespace

bool is_bcrypt_hash(std::string_view text) {
  if (text.size() != kHashSize || !text.starts_with(kPrefix) || text[6] != '$') return false;
  if (!is_digit(text[4]) || !is_digit(text[5])) return false;
  const int cost = password_cost(text);
  return cost >= kMinCost && cost <= kMaxCost && std::all_of(text.begin() + 7, text.end(), is_base64);
}

int password_cost(std::string_view hash) { return 10 * (hash[kPrefixSize] - '0') + (hash[kPrefixSize + 1] - '0'); }

std::string password_salt(Random& random) {
  char bytes[kSaltBytes];
  random.fill(bytes, sizeof bytes);
  char salt[CRYPT_GENSALT_OUTPUT_SIZE];
  CHECK(::crypt_gensalt_rn(kPrefix, kCost, bytes, sizeof bytes, salt, sizeof salt) != nullptr);
  return salt;
}

Task<std::string> hash_password(Blocking& blocking, std::string password, std::string salt) {
  password.resize(std::min(password.size(), kMaxPasswordSize));
  std::string hash;
  absl::AnyInvocable<void()> work = [&hash, &password, &salt] { hash = bcrypt(password, salt); };
  Task<void> done = blocking.run(std::move(work));
  co_await done;
  co_return hash;
}

}  // namespace cassandra_like
