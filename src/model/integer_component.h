// The comparable form of clusterings that are integers, as most are: made at once, without a virtual call.
#pragma once

#include <optional>

#include "model/types_internal.h"

namespace cassandra_like {

// Of an int or a bigint: its separator and its encoding (clustering.h tells the form).
class IntegerComponent {
 public:
  static constexpr size_t kMaxSize = 1 + types_internal::kMaxVariableInteger;

  // Of another type: nullopt.
  static std::optional<IntegerComponent> of(const Type& type) {
    const bool is_bigint = type.kind() == TypeKind::kBigint;
    if (!is_bigint && type.kind() != TypeKind::kInt) return std::nullopt;
    return IntegerComponent(is_bigint, type.is_reversed());
  }
  // Of a value that is neither null nor empty, in bytes.
  size_t width() const { return is_bigint_ ? sizeof(int64_t) : sizeof(int32_t); }
  // Writes at most kMaxSize bytes; returns one past the last. value has width() bytes.
  char* write(char* p, const char* value) const {
    *p++ = types_internal::kNextComponent;
    if (is_bigint_) return p + types_internal::write_variable_integer(p, load_be<int64_t>(value), flip_);
    store_be(p, load_be<uint32_t>(value) ^ 0x80000000U ^ static_cast<uint32_t>(flip_));
    return p + sizeof(int32_t);
  }

 private:
  IntegerComponent(bool is_bigint, bool is_reversed) : is_bigint_(is_bigint), flip_(is_reversed ? ~uint64_t{0} : 0) {}

  bool is_bigint_;
  uint64_t flip_;
};

}  // namespace cassandra_like
