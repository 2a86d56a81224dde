// Hashes of passwords: those of jBCrypt 0.4, which Cassandra 5.0.9 has, were recorded from it.
#include "cql/auth/password_hash.h"

#include <gtest/gtest.h>

#include "runtime/sim/sim_runtime.h"

namespace cassandra_like {
namespace {

class PasswordHash : public testing::Test {
 protected:
  PasswordHash() : world_(SimWorld::create(1)), runtime_(world_->add_machine("10.0.0.1").boot(1).shard(0)) {}

  std::string hash(const std::string& password, const std::string& salt) {
    std::string out;
    auto task = [](Blocking& blocking, std::string password, std::string salt, std::string* out) -> Task<void> {
      *out = co_await hash_password(blocking, std::move(password), std::move(salt));
    };
    spawn(task(runtime_.blocking, password, salt, &out));
    world_->run_until([&out] { return !out.empty(); }, std::chrono::seconds(1));
    return out;
  }
  std::string repeated(const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  }

  std::unique_ptr<SimWorld> world_;
  ShardRuntime& runtime_;
};

TEST_F(PasswordHash, IsThatOfJbcrypt) {
  struct Recorded {
    std::string password;
    const char* digest;
  };
  const std::string salt = "$2a$04$abcdefghijklmnopqrstuu";
  for (const auto& [password, digest] : std::vector<Recorded>{
           {"", "byCG3zY1GIXMyxfivm.ClDiInHzxjiq"},
           {"a", "MFdJu9yVgmagVAIC24fOZkaFqd3s9JC"},
           {"cassandra", "pECqE3.KFtytTZJFI/DU/4Xz5o6X3TG"},
           {"gr\xc3\xbc\xc3\x9f dich", "99.GtRxdHR066AvkA2v0ZsZR9IFtVuq"},
           {"\xc3\xbf\xc2\xa3 345", "Plq.0myI05S/oMq33eg4jN9auWx25bm"},
           {std::string(71, 'x'), ".gc7UY/21CSNJGJg21jJzx9QiOpJ9bO"},
           {std::string(72, 'x'), "bzadhGtS2zEF.gu0yd0opP6cVzb.e0i"},
           {std::string(73, 'x'), "bzadhGtS2zEF.gu0yd0opP6cVzb.e0i"},
           {std::string(600, 'p'), "Nt.0ah97gHY3F7JC1Z6EXmQc0bQBhIO"},
           {repeated("\xc3\xbf", 40), "4RJ/BY/fgaky6IFFrhxITY0dhRDmvzC"},
       }) {
    EXPECT_EQ(hash(password, salt), salt + digest) << password;
  }
  EXPECT_EQ(hash("cassandra", "$2a$05$./ABCDEFGHIJKLMNOPQRSO"),
            "$2a$05$./ABCDEFGHIJKLMNOPQRSOU0GBEgHmqCV6jFyYqV0WCnoAiqT3Ua6");
}

TEST_F(PasswordHash, HasARandomSaltAndTheCostOfCassandra) {
  const std::string salt = password_salt(runtime_.random);
  EXPECT_EQ(salt.substr(0, 7), "$2a$10$");
  EXPECT_NE(salt, password_salt(runtime_.random));
  const std::string hashed = hash("secret", salt);
  EXPECT_TRUE(is_bcrypt_hash(hashed));
  EXPECT_EQ(password_cost(hashed), 10);
  EXPECT_EQ(hash("secret", hashed), hashed);  // a hash has the salt that checks a password
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
