// The hashes of passwords in system_auth.roles: bcrypt in the form of jBCrypt, `$2a$`, two digits of cost, `$`, 22
// characters of salt, 31 of digest. libxcrypt computes them.
#pragma once

#include <string>
#include <string_view>

#include "runtime/blocking.h"
#include "runtime/executor.h"

namespace cassandra_like {

// 60 characters of that form, with a cost of 4 to 31. jBCrypt, and so Cassandra, knows no `$2b$` and no `$2y$`.
bool is_bcrypt_hash(std::string_view text);

// A hash takes twice as long for each step of cost: 60 ms at 10, a minute at 20.
inline constexpr int kMaxPasswordCost = 20;
// The cost that a hash or a salt has.
int password_cost(std::string_view hash);

// The begin of a hash: the cost of Cassandra's own and a random salt.
std::string password_salt(Random& random);

// The hash of a password with the cost and the salt with which `salt`, a hash or a password_salt(), begins. Bytes
// of the password beyond the 72nd do not count; it has no NUL.
Task<std::string> hash_password(Blocking& blocking, std::string password, std::string salt);

}  // namespace cassandra_like
