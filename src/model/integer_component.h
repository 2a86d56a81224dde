// The comparable form of clusterings that are integers, as most are: made at once, without a virtual call.
#pragma once

#include <optional>

#include "model/types_internal.h"

namespace cassandra_like {

// The component of an int or a bigint: its separator and its encoding (clustering.h tells the form).
class IntegerComponent {
 public:
  static constexpr size_t kMaxSize = 1 + types_internal::kMaxVariableInteger;

  IntegerComponent() = default;  // of a bigint
  // nullopt for another type.
  static std::optional<IntegerComponent> of(const Type& type) {
    const bool is_bigint = type.kind() == TypeKind::kBigint;
    if (!is_bigint && type.kind() != TypeKind::kInt) return std::nullopt;
    return IntegerComponent(is_bigint, type.is_reversed());
  }
  // The size of a value that is neither null nor empty, in bytes.
  size_t width() const { return is_bigint_ ? sizeof(int64_t) : sizeof(int32_t); }
  // Writes at most kMaxSize bytes; returns one past the last. value has width() bytes.
  char* write(char* p, const char* value) const {
    *p++ = types_internal::kNextComponent;
    if (is_bigint_) return p + types_internal::write_variable_integer(p, load_be<int64_t>(value), flip_);
    store_be(p, load_be<uint32_t>(value) ^ 0x80000000U ^ static_cast<uint32_t>(flip_));
    return p + sizeof(int32_t);
  }

  // A number that is smaller for what comes first: of a value, and of the value that a comparable form begins with.
  uint64_t order(const char* value) const {
    if (is_bigint_) return load_be<uint64_t>(value) ^ kSign ^ flip_;
    return (uint64_t{load_be<uint32_t>(value)} << 32) ^ kSign ^ flip_;
  }
  std::optional<uint64_t> order_of_first(BytesView comparable) const {
    if (comparable.empty() || comparable[0] != types_internal::kNextComponent) return std::nullopt;
    Bytes encoded(comparable.substr(1, types_internal::kMaxVariableInteger));
    for (char& c : encoded) c = static_cast<char>(c ^ static_cast<char>(flip_));
    Reader in(encoded);
    const uint64_t order = is_bigint_ ? static_cast<uint64_t>(types_internal::read_variable_integer(in)) ^ kSign ^ flip_
                                      : (uint64_t{in.u32()} << 32) ^ flip_;
    return in.failed() ? std::nullopt : std::optional(order);
  }

 private:
  static constexpr uint64_t kSign = uint64_t{1} << 63;

  IntegerComponent(bool is_bigint, bool is_reversed) : is_bigint_(is_bigint), flip_(is_reversed ? ~uint64_t{0} : 0) {}

  bool is_bigint_ = true;
  uint64_t flip_ = 0;
};

}  // namespace cassandra_like
