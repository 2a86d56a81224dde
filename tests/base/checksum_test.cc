// Known answers, printed by Cassandra 5.0.9's own classes (net.Crc, utils.MurmurHash) and the JDK's.
#include "base/checksum.h"

#include <gtest/gtest.h>

namespace cassandra_like {
namespace {

std::string hex(const std::array<uint8_t, 16>& digest) {
  return to_hex(BytesView(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

TEST(Checksum, Crc24OfSegmentHeaders) {
  struct Case {
    uint64_t header;
    int size;
    uint32_t expected;
  };
  for (const Case& c : {Case{0x0, 3, 0x7de777}, Case{0x20000, 3, 0xc4366a}, Case{0x1ffff, 3, 0xfe9138},
                        Case{0x123456789aULL, 5, 0x40d313}, Case{0x7fffffffffULL, 5, 0x14bad2},
                        Case{0x102030405060708ULL, 8, 0xf42882}, Case{0xff, 1, 0x13bf41}}) {
    EXPECT_EQ(crc24(c.header, c.size), c.expected) << std::hex << c.header;
  }
}

TEST(Checksum, Crc32AndAdler32AreJavas) {
  BytesView text = "The quick brown fox";
  EXPECT_EQ(crc32(text), 0xb74574deU);
  EXPECT_EQ(crc32(text.substr(4), crc32(text.substr(0, 4))), 0xb74574deU);
  EXPECT_EQ(crc32(BytesView(), 0x1234), 0x1234U);
  EXPECT_EQ(adler32(text), 0x452e0714U);
  EXPECT_EQ(adler32(text.substr(4), adler32(text.substr(0, 4))), 0x452e0714U);
}

TEST(Checksum, Crc32OfFramesStartsWithCassandrasSeed) {
  EXPECT_EQ(crc32_of_frame(""), 0x44777ed3U);
  EXPECT_EQ(crc32_of_frame("The quick brown fox"), 0xbe647381U);
}

TEST(Checksum, Md5) {
  EXPECT_EQ(hex(md5("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hex(md5("SELECT * FROM system.local")), "7526e68bbdece565d27c79432bb4b722");
}

TEST(Checksum, Murmur3SignExtendsTailsAsCassandraDoes) {
  Bytes data;
  ASSERT_TRUE(from_hex("789dc2e70c31567ba0c5ea0f34597ea3c8ed12375c81a6cbf0153a5f84a9cef3183d6287acd1f61b", &data));
  struct Case {
    size_t size;
    uint64_t h1, h2;
  };
  for (const Case& c :
       {Case{0, 0x0000000000000000ULL, 0x0000000000000000ULL}, Case{1, 0x6d16e801ba1afee7ULL, 0xd7ed6d966bae788cULL},
        Case{2, 0xa2e3b44936ab9856ULL, 0x30182ba85184659dULL}, Case{3, 0xfe87b100a0b4a78eULL, 0xae61be721bcc88c9ULL},
        Case{7, 0x7d48405a82cf3cf0ULL, 0x0a603ff04acc148dULL}, Case{8, 0x7bd37e36f67f972eULL, 0x18d2406255f5a911ULL},
        Case{9, 0x4ade1136fe78edcdULL, 0x624f50fda3196929ULL}, Case{15, 0x6ff9e8c8cf13dd27ULL, 0x0836ef095b56de17ULL},
        Case{16, 0xbe0f31e549f0a973ULL, 0x236f15a490376befULL}, Case{17, 0x4d5046674c4d716eULL, 0x161b223c1da38d11ULL},
        Case{24, 0x98a9fc518ecea983ULL, 0xb1e86799a8797a02ULL}, Case{31, 0xe1f471ee6b94b4d8ULL, 0xbce7e56ac07500f2ULL},
        Case{32, 0x52d5a5bef88497ebULL, 0x40da150eacf61e76ULL},
        Case{40, 0xf62f9062c2c7f37eULL, 0x4945d94d135a297bULL}}) {
    auto h = murmur3_128(BytesView(data).substr(0, c.size));
    EXPECT_EQ(h[0], c.h1) << c.size;
    EXPECT_EQ(h[1], c.h2) << c.size;
  }
  auto seeded = murmur3_128(data, 77);
  EXPECT_EQ(seeded[0], 0x13c71dbe8ae0bccfULL);
  EXPECT_EQ(seeded[1], 0x6151e3152d25538fULL);
}

}  // namespace
}  // namespace cassandra_like
