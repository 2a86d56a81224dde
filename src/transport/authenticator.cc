// AllowAllAuthenticator, and PasswordAuthenticator over the salted hashes of system_auth.roles.
//
// Hashing is slow by intent and runs beside the shards. Each shard has one check under way, and a bounded number that wait
// for it, so that a flood of wrong passwords takes little. A wrong password is answered late. The role is read at every
// login, so a changed password or a dropped role counts at once.
#include "transport/authenticator.h"

#include <algorithm>
#include <deque>
#include <map>

#include <fmt/format.h>
#include <openssl/crypto.h>

#include "base/checksum.h"
#include "base/log.h"
#include "base/log_quota.h"
#include "cql/auth/password_hash.h"
#include "cql/auth/roles.h"

namespace cassandra_like {

namespace {

constexpr size_t kMaxWaiting = 128;
constexpr char kNobodysHash[] = "$2a$10$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";
constexpr Duration kWrongPasswordDelay = std::chrono::milliseconds(250);

class AllowAllAuthenticator : public Authenticator {
 public:
  bool required() const override { return false; }
  std::string class_name() const override { return "org.apache.cassandra.auth.AllowAllAuthenticator"; }
  Task<Result<AuthOutcome>> evaluate(Bytes) override { return Result<AuthOutcome>(AuthOutcome{}); }
  void invalidate_credentials(const std::vector<std::string>&) override {}
  void set_credentials_validity(Duration) override {}
};

struct Credentials {
  std::string user;
  std::string password;
};

// SASL PLAIN: authorization id, NUL, user, NUL, password; read from the end as Cassandra does.
Result<Credentials> decode_plain(BytesView token) {
  if (std::count(token.begin(), token.end(), '\0') > 2) {
    return Error(ErrorCode::kBadCredentials,
                 "Credential format error: username or password is empty or contains NUL(\\0) character");
  }
  Credentials out;
  const size_t before_password = token.rfind('\0');
  if (before_password != BytesView::npos) out.password = token.substr(before_password + 1);
  if (out.password.empty()) return Error(ErrorCode::kBadCredentials, "Password must not be null");
  token = token.substr(0, before_password);
  const size_t before_user = token.rfind('\0');
  if (before_user != BytesView::npos) out.user = token.substr(before_user + 1);
  if (out.user.empty()) return Error(ErrorCode::kBadCredentials, "Authentication ID must not be null");
  return out;
}

struct LoginRole {
  std::string salted_hash;  // empty: none
  bool can_login = false;
  bool is_superuser = false;
};

class PasswordAuthenticator : public Authenticator {
 public:
  PasswordAuthenticator(ShardRuntime& runtime, QueryProcessor& processor, Duration validity)
      : runtime_(runtime), processor_(processor), validity_(validity) {
    secret_.resize(16);
    runtime.random.fill(secret_.data(), secret_.size());
  }

  bool required() const override { return true; }
  std::string class_name() const override { return "org.apache.cassandra.auth.PasswordAuthenticator"; }

  Task<Result<AuthOutcome>> evaluate(Bytes token) override {
    CO_ASSIGN_OR_RETURN(Credentials given, decode_plain(token));
    Result<LoginRole> role = co_await read_role(given.user);
    if (!role.ok()) co_return std::move(role.error());
    Result<bool> right = co_await check(given, role->salted_hash);
    if (!right.ok()) co_return std::move(right.error());
    if (!*right) {
      co_await runtime_.executor.sleep(kWrongPasswordDelay);
      co_return Error(ErrorCode::kBadCredentials,
                      fmt::format("Provided username {} and/or password are incorrect", given.user));
    }
    if (!role->can_login) {
      co_return Error(ErrorCode::kBadCredentials, fmt::format("{} is not permitted to log in", given.user));
    }
    bool is_superuser = role->is_superuser;
    if (!is_superuser) {
      Task<Result<bool>> asked = has_superuser_status(&processor_, given.user);
      Result<bool> inherited = co_await asked;
      if (!inherited.ok()) {
        co_return Error(ErrorCode::kBadCredentials, "Unable to perform authentication: " + inherited.error().message());
      }
      is_superuser = *inherited;
    }
    co_return AuthOutcome{.token = {}, .user = given.user, .is_superuser = is_superuser};
  }

  void invalidate_credentials(const std::vector<std::string>& roles) override {
    if (roles.empty()) verified_.clear();
    for (const std::string& role : roles) verified_.erase(role);
  }
  void set_credentials_validity(Duration validity) override { validity_ = validity; }

 private:
  struct Verified {
    std::array<uint8_t, 16> digest;
    std::string salted_hash;
    int64_t until_nanos;
  };

  Task<Result<LoginRole>> read_role(std::string user) {
    std::vector<Bytes> values;
    values.push_back(std::move(user));
    std::string text = "SELECT salted_hash, can_login, is_superuser FROM system_auth.roles WHERE role = ?";
    Result<QueryResult> result = co_await processor_.execute_internal(std::move(text), std::move(values), kAuthRead);
    if (!result.ok()) {
      co_return Error(ErrorCode::kBadCredentials, "Unable to perform authentication: " + result.error().message());
    }
    LoginRole role;
    const auto* rows = std::get_if<RowsResult>(&result->value);
    if (rows == nullptr || rows->row_count == 0) co_return role;
    Reader in(rows->rows);
    auto cell = [&in] {
      int32_t size = in.i32();
      return size < 0 ? BytesView() : in.take(static_cast<size_t>(size));
    };
    role.salted_hash = cell();
    role.can_login = cell() == BytesView("\1", 1);
    role.is_superuser = cell() == BytesView("\1", 1);
    co_return role;
  }

  // Without a hash the work is done all the same, so that a name's existence cannot be timed.
  Task<Result<bool>> check(Credentials given, std::string salted_hash) {
    const std::array<uint8_t, 16> digest = digest_of(given);
    if (is_verified(given.user, digest, salted_hash)) co_return true;
    if (waiting_.size() >= kMaxWaiting) co_return Error(ErrorCode::kOverloaded, "Too many logins are waiting");
    if (checking_) {
      Promise<bool> turn;
      waiting_.push_back(&turn);
      co_await turn;
    }
    checking_ = true;
    // A client's connections come together, with the same password.
    if (is_verified(given.user, digest, salted_hash)) {
      pass_turn();
      co_return true;
    }
    const bool real = is_bcrypt_hash(salted_hash) && password_cost(salted_hash) <= kMaxPasswordCost;
    if (!real && !salted_hash.empty()) {
      if (auto more = invalid_hashes_.take(runtime_.clock.monotonic_nanos())) {
        LOG_WARN("Error: invalid password hash encountered, rejecting user {}{}", given.user, *more);
      }
    }
    std::string expected = real ? salted_hash : kNobodysHash;
    const std::string hash = co_await hash_password(runtime_.blocking, given.password, expected);
    // Every character is looked at, so that the time tells nothing.
    const bool right = real && CRYPTO_memcmp(hash.data(), expected.data(), hash.size()) == 0;
    if (right) remember(given.user, digest, std::move(salted_hash));
    pass_turn();
    co_return right;
  }

  bool is_verified(const std::string& user, const std::array<uint8_t, 16>& digest,
                   const std::string& salted_hash) const {
    auto known = verified_.find(user);
    return known != verified_.end() && known->second.digest == digest && known->second.salted_hash == salted_hash &&
           runtime_.clock.monotonic_nanos() < known->second.until_nanos;
  }

  void pass_turn() {
    checking_ = false;
    if (waiting_.empty()) return;
    Promise<bool>* next = waiting_.front();
    waiting_.pop_front();
    checking_ = true;
    next->set(true);
  }

  void remember(const std::string& user, const std::array<uint8_t, 16>& digest, std::string salted_hash) {
    const int64_t now = runtime_.clock.monotonic_nanos();
    if (verified_.size() >= kMostVerifiedPasswords) {
      std::erase_if(verified_, [now](const auto& entry) { return entry.second.until_nanos <= now; });
      if (verified_.size() >= kMostVerifiedPasswords) verified_.clear();
    }
    verified_[user] = {digest, std::move(salted_hash), now + validity_.count()};
  }

  std::array<uint8_t, 16> digest_of(const Credentials& given) const {
    Bytes keyed = secret_ + given.user;
    keyed.push_back('\0');
    keyed += given.password;
    return md5(keyed);
  }

  ShardRuntime& runtime_;
  QueryProcessor& processor_;
  Duration validity_;
  Bytes secret_;  // so that digests in memory say nothing without it
  std::map<std::string, Verified> verified_;
  LogQuota invalid_hashes_;
  bool checking_ = false;
  std::deque<Promise<bool>*> waiting_;
};

}  // namespace

Result<std::unique_ptr<Authenticator>> Authenticator::create(const std::string& name, ShardRuntime& runtime,
                                                             QueryProcessor& processor, Duration validity) {
  const std::string short_name = name.substr(name.rfind('.') + 1);
  std::unique_ptr<Authenticator> out;
  if (short_name == "AllowAllAuthenticator") out = std::make_unique<AllowAllAuthenticator>();
  if (short_name == "PasswordAuthenticator") {
    out = std::make_unique<PasswordAuthenticator>(runtime, processor, validity);
  }
  if (!out) return Error(ErrorCode::kConfigError, fmt::format("authenticator {} is not supported yet", name));
  return out;
}

}  // namespace cassandra_like
