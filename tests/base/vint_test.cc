// Encodings printed by Cassandra 5.0.9's utils.vint.VIntCoding.
#include "base/vint.h"

#include <gtest/gtest.h>

#include <limits>

namespace cassandra_like {
namespace {

TEST(Vint, UnsignedIsCassandras) {
  struct Case {
    uint64_t value;
    const char* hex;
  };
  for (const Case& c :
       {Case{0, "00"}, Case{1, "01"}, Case{0x7f, "7f"}, Case{0x80, "8080"}, Case{0x3fff, "bfff"},
        Case{0x4000, "c04000"}, Case{0x1fffff, "dfffff"}, Case{0x200000, "e0200000"}, Case{0xfffffff, "efffffff"},
        Case{0x10000000, "f010000000"}, Case{0x800000000, "f80800000000"}, Case{0x40000000000, "fc040000000000"},
        Case{0x2000000000000, "fe02000000000000"}, Case{0xffffffffffffff, "feffffffffffffff"},
        Case{0x100000000000000, "ff0100000000000000"}, Case{0x7fffffffffffffff, "ff7fffffffffffffff"},
        Case{0xffffffffffffffff, "ffffffffffffffffff"}}) {
    Bytes out;
    append_unsigned_vint(out, c.value);
    EXPECT_EQ(to_hex(out), c.hex);
    EXPECT_EQ(unsigned_vint_size(c.value), out.size()) << c.hex;
    Reader in(out);
    EXPECT_EQ(read_unsigned_vint(in), c.value);
    EXPECT_TRUE(in.at_end() && !in.failed()) << c.hex;
    for (size_t cut = 0; cut < out.size(); ++cut) {
      Reader torn(BytesView(out).substr(0, cut));
      EXPECT_EQ(read_unsigned_vint(torn), 0u);
      EXPECT_TRUE(torn.failed()) << c.hex << " cut at " << cut;
    }
  }
}

TEST(Vint, SignedIsZigzag) {
  struct Case {
    int64_t value;
    const char* hex;
  };
  for (const Case& c : {Case{0, "00"}, Case{-1, "01"}, Case{1, "02"}, Case{-64, "7f"}, Case{64, "8080"},
                        Case{-65, "8081"}, Case{1000000, "de8480"}, Case{-1000000, "de847f"},
                        Case{std::numeric_limits<int64_t>::max(), "fffffffffffffffffe"},
                        Case{std::numeric_limits<int64_t>::min(), "ffffffffffffffffff"}}) {
    Bytes out;
    append_vint(out, c.value);
    EXPECT_EQ(to_hex(out), c.hex);
    EXPECT_EQ(vint_size(c.value), out.size());
    Reader in(out);
    EXPECT_EQ(read_vint(in), c.value);
  }
}

}  // namespace
}  // namespace cassandra_like
