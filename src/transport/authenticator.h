// Finds out who a client is. The exchange is SASL's: the client's tokens are evaluated until it is complete.
#pragma once

#include <memory>
#include <string>

#include "cql/query_processor.h"
#include "runtime/runtime.h"

namespace cassandra_like {

struct AuthOutcome {
  bool complete = true;
  Bytes token;  // of AUTH_CHALLENGE; of AUTH_SUCCESS when it is not empty
  std::string user;
  bool is_superuser = false;
};

inline constexpr size_t kMostVerifiedPasswords = 1000;

class Authenticator {
 public:
  virtual ~Authenticator() = default;
  virtual bool required() const = 0;
  virtual std::string class_name() const = 0;  // as AUTHENTICATE sends it: drivers choose their mechanism by it
  // kBadCredentials when it is refused. The authenticator outlives the Task.
  virtual Task<Result<AuthOutcome>> evaluate(Bytes token) = 0;
  // The next passwords of these roles are hashed again; of all roles where none is named.
  virtual void invalidate_credentials(const std::vector<std::string>& roles) = 0;
  // See create(). For the passwords that are found right from now on.
  virtual void set_credentials_validity(Duration validity) = 0;

  // AllowAllAuthenticator and PasswordAuthenticator, with or without their package; kConfigError for others.
  // validity: how long a password that was right is taken for right without being hashed again, as long as the
  // role's hash stays the same.
  static Result<std::unique_ptr<Authenticator>> create(const std::string& name, ShardRuntime& runtime,
                                                       QueryProcessor& processor, Duration validity);
};

}  // namespace cassandra_like
