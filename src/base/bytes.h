// Byte strings and the two cursors that every codec is written with.
//
// Bytes own, BytesView borrows. All multi-byte integers are big-endian, as on every Cassandra wire and file.
// A BytesView whose data() is nullptr is CQL's null; an empty one that points somewhere is the empty value.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace cassandra_like {

using Bytes = std::string;
using BytesView = std::string_view;

inline constexpr BytesView kNull{};
inline bool is_null(BytesView v) { return v.data() == nullptr; }

template <class T>
T load_be(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(v));
  if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(v));
  if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(v));
  return v;
}

template <class T>
void store_be(char* p, T v) {
  if constexpr (sizeof(T) == 2) v = static_cast<T>(__builtin_bswap16(v));
  if constexpr (sizeof(T) == 4) v = static_cast<T>(__builtin_bswap32(v));
  if constexpr (sizeof(T) == 8) v = static_cast<T>(__builtin_bswap64(v));
  std::memcpy(p, &v, sizeof v);
}

template <class T>
void append_be(Bytes& out, T v) {
  char b[sizeof v];
  store_be(b, v);
  out.append(b, sizeof b);
}

// A bounded cursor. Reading past the end returns zeros and sets failed(), which stays set: decode a whole
// structure, then ask once.
class Reader {
 public:
  explicit Reader(BytesView data) : p_(data.data()), end_(data.data() + data.size()) {}

  template <class T>
  T be() {
    if (!need(sizeof(T))) return T{};
    T v = load_be<T>(p_);
    p_ += sizeof(T);
    return v;
  }
  uint8_t u8() { return be<uint8_t>(); }
  uint16_t u16() { return be<uint16_t>(); }
  uint32_t u32() { return be<uint32_t>(); }
  int32_t i32() { return be<int32_t>(); }
  int64_t i64() { return be<int64_t>(); }

  BytesView take(size_t n) {
    if (!need(n)) return BytesView("", 0);
    BytesView v(p_, n);
    p_ += n;
    return v;
  }
  void skip(size_t n) {
    if (need(n)) p_ += n;
  }
  // Marks the input as bad, for a decoder that finds an impossible value.
  void fail() {
    failed_ = true;
    p_ = end_;
  }

  bool failed() const { return failed_; }
  bool at_end() const { return p_ == end_; }
  size_t remaining() const { return static_cast<size_t>(end_ - p_); }
  const char* position() const { return p_; }
  BytesView rest() const { return BytesView(p_, remaining()); }

 private:
  bool need(size_t n) {
    if (remaining() >= n) return true;
    fail();
    return false;
  }

  const char* p_;
  const char* end_;
  bool failed_ = false;
};

// "0a1b…" in lower case, and back; from_hex returns false on an odd length or a non-digit.
Bytes to_hex(BytesView data);
bool from_hex(BytesView hex, Bytes* out);

}  // namespace cassandra_like
