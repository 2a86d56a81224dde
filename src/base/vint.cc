// The part of reading a vint that is not worth inlining.
#include "base/vint.h"

namespace cassandra_like {

uint64_t read_long_unsigned_vint(uint8_t first, Reader& in) {
  auto extra = static_cast<size_t>(std::countl_one(first));
  if (in.remaining() < extra) {
    in.fail();
    return 0;
  }
  uint64_t v = extra == 8 ? 0 : first & (0xFFu >> extra);
  if (in.remaining() >= sizeof(uint64_t)) {
    const uint64_t rest = load_be<uint64_t>(in.position()) >> (64 - 8 * extra);
    in.skip(extra);
    return extra == 8 ? rest : v << (8 * extra) | rest;
  }
  for (char c : in.take(extra)) v = v << 8 | static_cast<uint8_t>(c);
  return v;
}

}  // namespace cassandra_like
