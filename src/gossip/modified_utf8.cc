#include "gossip/modified_utf8.h"

#include <utility>

#include "base/result.h"

namespace cassandra_like {
namespace {

constexpr uint32_t kFirstSupplementary = 0x10000;

void append_three(std::string& out, uint32_t unit) {
  out.push_back(static_cast<char>(0xE0 | unit >> 12));
  out.push_back(static_cast<char>(0x80 | (unit >> 6 & 0x3F)));
  out.push_back(static_cast<char>(0x80 | (unit & 0x3F)));
}

// The next UTF-16 code unit as DataInput.readUTF finds it; -1 when the bytes are none.
int32_t next_unit(Reader& in) {
  const uint8_t first = in.u8();
  if (first < 0x80) return first;
  const int more = first >> 5 == 0b110 ? 1 : first >> 4 == 0b1110 ? 2 : 0;
  if (more == 0) return -1;
  int32_t unit = first & (more == 1 ? 0x1F : 0x0F);
  for (int i = 0; i < more; ++i) {
    const uint8_t next = in.u8();
    if (next >> 6 != 0b10) return -1;
    unit = unit << 6 | (next & 0x3F);
  }
  return in.failed() ? -1 : unit;
}

// So many bytes at the front are the same in UTF-8. The few characters of three bytes that may be surrogates or too long count
// as others.
size_t plain_prefix(BytesView bytes) {
  auto continues = [&](size_t at) { return at < bytes.size() && static_cast<uint8_t>(bytes[at]) >> 6 == 0b10; };
  size_t at = 0;
  while (at < bytes.size()) {
    const auto first = static_cast<uint8_t>(bytes[at]);
    if (first < 0x80) {
      ++at;
    } else if (first >= 0xC2 && first < 0xE0 && continues(at + 1)) {
      at += 2;
    } else if (first > 0xE0 && first < 0xF0 && first != 0xED && continues(at + 1) && continues(at + 2)) {
      at += 3;
    } else {
      break;
    }
  }
  return at;
}

bool is_high(uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

}  // namespace

void append_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xC0 | c >> 6));
    out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else if (c < kFirstSupplementary) {
    append_three(out, c);
  } else {
    out.push_back(static_cast<char>(0xF0 | c >> 18));
    append_three(out, c & 0x3FFFF);
    out[out.size() - 3] = static_cast<char>(0x80 | (c >> 12 & 0x3F));
  }
}

size_t modified_utf8_size(std::string_view text) {
  size_t size = text.size();
  for (char c : text) {
    if (c == '\0') ++size;
    if (static_cast<unsigned char>(c) >= 0xF0) size += 2;
  }
  return size;
}

void append_utf(Bytes& out, std::string_view text) {
  CHECK(modified_utf8_size(text) <= kMaxUtfBytes);
  const size_t start = out.size();
  append_be<uint16_t>(out, 0);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == 0) {
      out += "\xC0\x80";
    } else if (c < 0xF0 || text.size() - i < 4) {
      out.push_back(text[i]);
    } else {
      uint32_t character = c & 0x07;
      for (int k = 0; k < 3; ++k) character = character << 6 | (static_cast<unsigned char>(text[++i]) & 0x3F);
      character -= kFirstSupplementary;
      append_three(out, 0xD800 | (character >> 10 & 0x3FF));
      append_three(out, 0xDC00 | (character & 0x3FF));
    }
  }
  store_be<uint16_t>(out.data() + start, static_cast<uint16_t>(out.size() - start - sizeof(uint16_t)));
}

std::string read_utf(Reader& in) {
  Reader bytes(in.take(in.u16()));
  std::string out;
  out.reserve(bytes.remaining());
  uint32_t high = 0;  // a high surrogate that waits for its partner
  while (!bytes.at_end()) {
    const BytesView plain = bytes.take(plain_prefix(bytes.rest()));
    if (high != 0 && !plain.empty()) append_three(out, std::exchange(high, 0));
    out += plain;
    if (bytes.at_end()) break;
    const int32_t read = next_unit(bytes);
    if (read < 0) {
      in.fail();
      return {};
    }
    const auto unit = static_cast<uint32_t>(read);
    if (high != 0 && is_low(unit)) {
      append_utf8(out, kFirstSupplementary + ((high & 0x3FF) << 10) + (unit & 0x3FF));
      high = 0;
      continue;
    }
    if (high != 0) append_three(out, high);
    high = is_high(unit) ? unit : 0;
    if (high == 0) append_utf8(out, unit);
  }
  if (high != 0) append_three(out, high);
  // A character takes at most twice as many bytes there.
  if (out.size() > kMaxUtfBytes / 2 && modified_utf8_size(out) > kMaxUtfBytes) {
    in.fail();
    return {};
  }
  return out;
}

}  // namespace cassandra_like
