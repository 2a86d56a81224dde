// vector<T, n>: n elements without a count. Elements of a fixed length follow each other; others have their length, an
// unsigned vint, in front. Compared element by element.
#include <algorithm>
#include <limits>

#include "base/vint.h"
#include "model/types_internal.h"

namespace cassandra_like {

namespace {

using namespace types_internal;

class VectorTypeImpl final : public VectorType {
 public:
  VectorTypeImpl(TypePtr element, size_t dimension)
      : VectorType(TypeKind::kVector, length_of(*element, dimension), {element}),
        element_(*elements_[0]),
        dimension_(dimension) {}

  size_t dimension() const override { return dimension_; }
  bool allows_empty() const override { return false; }

  std::string cql_name(bool) const override {
    return "vector<" + element_.cql_name() + ", " + std::to_string(dimension_) + ">";
  }
  std::string class_name(bool ignore_freezing) const override {
    return class_name_of(kind_, element_.class_name(ignore_freezing) + " , " + std::to_string(dimension_));
  }

  Status validate(BytesView value) const override {
    if (value.empty()) return invalid("Invalid empty vector value");
    auto too_short = [&] { return invalid("Not enough bytes to read a " + cql_name(true)); };
    if (fixed_length_ >= 0 && value.size() < static_cast<size_t>(fixed_length_)) return too_short();
    Reader in(value);
    for (size_t i = 0; i < dimension_; ++i) {
      BytesView element = next(in);
      if (in.failed()) return too_short();
      TRY(element_.validate(element));
    }
    if (in.at_end()) return {};
    return invalid("Unexpected " + std::to_string(in.remaining()) + " extraneous bytes after " + cql_name(true) +
                   " value");
  }

  int compare(BytesView a, BytesView b) const override {
    if (a.empty() || b.empty()) return compare_irregular(a, b);
    Reader x(a), y(b);
    for (size_t i = 0; i < dimension_ && !x.failed() && !y.failed(); ++i) {
      if (int c = element_.compare(next(x), next(y)); c != 0) return c;
    }
    return 0;
  }

  void append_comparable(Bytes& out, BytesView value) const override {
    Reader in(value);
    for (size_t i = 0; i < dimension_ && !in.failed(); ++i) append_component(out, element_, next(in));
    out.push_back(kTerminator);
  }

  void read_comparable(Reader& in, Bytes& out) const override {
    Bytes element;
    for (size_t i = 0; i < dimension_ && !in.failed(); ++i) {
      element.clear();
      if (!is_separator_of_nothing(in.u8())) element_.read_comparable(in, element);
      if (fixed_length_ < 0) append_unsigned_vint(out, element.size());
      out += element;
    }
    if (static_cast<char>(in.u8()) != kTerminator) in.fail();
  }

  std::string to_cql_literal(BytesView value) const override {
    if (is_null(value)) return "null";
    return print(value, [](const Type& type, BytesView element) { return type.to_cql_literal(element); });
  }
  std::string to_text(BytesView value) const override { return to_hex(value); }
  Result<Bytes> from_text(std::string_view text) const override { return parse_hex(text); }
  std::string to_json(BytesView value) const override {
    return print(value, [](const Type& type, BytesView element) { return type.to_json(element); });
  }

 private:
  // No value can have the length of the largest vectors: for them, any number that no value has will do.
  static int length_of(const Type& element, size_t dimension) {
    if (element.fixed_length() < 0) return -1;
    constexpr size_t kLongest = std::numeric_limits<int>::max();
    return static_cast<int>(std::min(static_cast<size_t>(element.fixed_length()) * dimension, kLongest));
  }

  BytesView next(Reader& in) const {
    if (fixed_length_ >= 0) return in.take(static_cast<size_t>(element_.fixed_length()));
    Reader length(in.rest());
    const uint64_t size = read_unsigned_vint(length);
    // Cassandra passes over a length as if it had its shortest form.
    length.failed() ? in.fail() : in.skip(unsigned_vint_size(size));
    return in.take(size);
  }

  template <class PrintElement>
  std::string print(BytesView value, PrintElement print_element) const {
    std::string out = "[";
    Reader in(value);
    for (size_t i = 0; i < dimension_; ++i) {
      BytesView element = next(in);
      if (in.failed()) break;
      if (i > 0) out += ", ";
      out += print_element(element_, element);
    }
    return out += ']';
  }

  const Type& element_;
  size_t dimension_;
};

}  // namespace

TypePtr types::vector(TypePtr element, size_t dimension) {
  return std::make_shared<VectorTypeImpl>(std::move(element), dimension);
}

}  // namespace cassandra_like
