// The hashes of passwords in system_auth.roles: Provos and Mazières' bcrypt ("A Future-Adaptable Password Scheme", 1999)
// in the form of jBCrypt, `$2a$`, two digits of cost, `$`, 22 characters of salt, 31 of digest.
#pragma once

#include <string>
#include <string_view>

#include "runtime/executor.h"

namespace cassandra_like {

// 60 characters of that form, with a cost of 4 to 31. jBCrypt, and so Cassandra, knows no `$2b$` and no `$2y$`.
bool is_bcrypt_hash(std::string_view text);

// The beginning of a hash: the cost of Cassandra's own and a random salt.
std::string bcrypt_salt(Random& random);

// The hash of a password with the cost and the salt with which `salt`, a hash or what bcrypt_salt() made, begins. It is
// meant to take tens of milliseconds, which a shard's loop cannot spare in one piece: it is computed in slices, which
// take a quarter of the shard's time. Bytes of the password beyond the 72nd do not count.
Task<std::string> bcrypt_hash(Executor& executor, std::string password, std::string salt);

// Computes tables that all hashes begin with, once (3 ms); the first hash does it otherwise.
void warm_up_bcrypt();

}  // namespace cassandra_like
