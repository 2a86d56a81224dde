// Expected values are java.util.UUID's and Cassandra's TimeUUID's.
#include "base/uuid.h"

#include <gtest/gtest.h>

namespace cassandra_like {
namespace {

TEST(Uuid, TextAndBack) {
  auto u = Uuid::parse("5F3A9B20-3C1C-11EE-8C99-0242AC120002");
  ASSERT_TRUE(u.has_value());
  EXPECT_EQ(u->to_string(), "5f3a9b20-3c1c-11ee-8c99-0242ac120002");
  EXPECT_EQ(to_hex(u->view()), "5f3a9b203c1c11ee8c990242ac120002");
  for (const char* bad : {"", "5f3a9b203c1c11ee8c990242ac120002", "5f3a9b20-3c1c-11ee-8c99-0242ac12000",
                          "5f3a9b20-3c1c-11ee-8c99-0242ac12000g", "5f3a9b2-03c1c-11ee-8c99-0242ac120002",
                          "5f3a9b20-3c1c-11ee-8c99-0242ac1200021"}) {
    EXPECT_FALSE(Uuid::parse(bad).has_value()) << bad;
  }
}

TEST(Uuid, TimeOfVersion1) {
  Uuid u = *Uuid::parse("5f3a9b20-3c1c-11ee-8c99-0242ac120002");
  EXPECT_EQ(u.version(), 1);
  EXPECT_EQ(u.raw_timestamp(), 139114731049491232ULL);
  EXPECT_EQ(u.unix_micros(), 1692180304949123);
  EXPECT_EQ(u.unix_millis(), 1692180304949);
  EXPECT_EQ(Uuid::time_based(139114731049491232ULL, 0x8c990242ac120002ULL), u);
}

TEST(Uuid, NameBasedIsNameUuidFromBytes) {
  EXPECT_EQ(Uuid::name_based("system").to_string(), "54b53072-540e-3eb8-b8e9-343e71f28176");
}

TEST(Uuid, RandomHasItsVersionAndVariant) {
  EXPECT_EQ(Uuid::random(0, 0).to_string(), "00000000-0000-4000-8000-000000000000");
  EXPECT_EQ(Uuid::random(~0ULL, ~0ULL).to_string(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
  EXPECT_TRUE(Uuid{}.is_nil());
}

}  // namespace
}  // namespace cassandra_like
