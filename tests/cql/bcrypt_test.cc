// Hashes of passwords, beside those of libxcrypt.
#include "cql/auth/bcrypt.h"

#include <crypt.h>
#include <gtest/gtest.h>

#include "runtime/sim/sim_runtime.h"

namespace cassandra_like {
namespace {

class Bcrypt : public testing::Test {
 protected:
  Bcrypt() : world_(SimWorld::create(1)), runtime_(world_->add_machine("10.0.0.1").boot(1).shard(0)) {}

  std::string hash(const std::string& password, const std::string& salt) {
    std::string out;
    auto task = [](Executor& executor, std::string password, std::string salt, std::string* out) -> Task<void> {
      *out = co_await bcrypt_hash(executor, std::move(password), std::move(salt));
    };
    spawn(task(runtime_.executor, password, salt, &out));
    world_->run_until([&out] { return !out.empty(); }, std::chrono::seconds(1));
    return out;
  }
  static std::string hash_of_libxcrypt(const std::string& password, const std::string& salt) {
    crypt_data data{};
    return crypt_r(password.c_str(), salt.c_str(), &data);
  }

  std::unique_ptr<SimWorld> world_;
  ShardRuntime& runtime_;
};

TEST_F(Bcrypt, AgreesWithLibxcrypt) {
  for (const std::string& password :
       {std::string(), std::string("a"), std::string("cassandra"), std::string("gr\xc3\xbc\xc3\x9f dich"),
        std::string(71, 'x'), std::string(72, 'x'), std::string(100, 'p')}) {
    for (const char* salt :
         {"$2a$04$abcdefghijklmnopqrstuu", "$2a$05$./ABCDEFGHIJKLMNOPQRSO", "$2a$04$zzzzzzzzzzzzzzzzzzzzzO"}) {
      EXPECT_EQ(hash(password, salt), hash_of_libxcrypt(password, salt)) << password;
    }
  }
}

TEST_F(Bcrypt, HasARandomSaltAndTheCostOfCassandra) {
  const std::string salt = bcrypt_salt(runtime_.random);
  EXPECT_EQ(salt.substr(0, 7), "$2a$10$");
  EXPECT_NE(salt, bcrypt_salt(runtime_.random));
  const std::string hashed = hash("secret", salt);
  EXPECT_TRUE(is_bcrypt_hash(hashed));
  EXPECT_EQ(hashed, hash_of_libxcrypt("secret", salt));
  EXPECT_EQ(hash("secret", hashed), hashed);  // a hash has the salt that checks a password
}

TEST_F(Bcrypt, CountsAPasswordBeyondANul) {
  const std::string salt = "$2a$04$abcdefghijklmnopqrstuu";
  EXPECT_NE(hash(std::string("a\0b", 3), salt), hash("a", salt));
}

// A timer that ticks each millisecond would not tick during one long callback.
TEST_F(Bcrypt, LeavesTheShardToOthersMeanwhile) {
  int others = 0;
  auto tick = [](Executor& executor, int* others) -> Task<void> {
    for (;; ++*others) co_await executor.sleep(std::chrono::milliseconds(1));
  };
  spawn(tick(runtime_.executor, &others));
  hash("secret", bcrypt_salt(runtime_.random));
  EXPECT_GE(others, 100);
}

TEST(BcryptHash, HasTheFormOfJbcrypt) {
  EXPECT_TRUE(is_bcrypt_hash("$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"));
  EXPECT_FALSE(is_bcrypt_hash(""));
  EXPECT_FALSE(is_bcrypt_hash("$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOe"));  // short
  EXPECT_FALSE(is_bcrypt_hash("$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"));
  EXPECT_FALSE(is_bcrypt_hash("$2a$0:$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"));
  EXPECT_FALSE(is_bcrypt_hash("$2a$99$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"));
  EXPECT_FALSE(is_bcrypt_hash("$2a$05$CCCCC!CCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"));
}

}  // namespace
}  // namespace cassandra_like
