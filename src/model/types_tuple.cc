// Tuples and user-defined types: each field as an int length and bytes, -1 for null. Trailing fields may be missing,
// which is the same as null: a type that gained a field reads its old values.
#include "model/types_internal.h"
#include "model/values.h"

namespace cassandra_like {

namespace {

using namespace types_internal;

constexpr std::string_view kNullField = "@";

bool rest_is_null(ElementReader& in) {
  for (BytesView field; in.next(&field);) {
    if (!is_null(field)) return false;
  }
  return !in.failed();
}

// Base is Type for tuples, UserType for UDTs.
template <class Base>
class FieldsType : public Base {
 public:
  int compare(BytesView a, BytesView b) const final {
    if (a.empty() || b.empty()) return compare_irregular(a, b);
    ElementReader x = ElementReader::tuple(a), y = ElementReader::tuple(b);
    BytesView left, right;
    for (size_t i = 0; i < fields().size() && !x.at_end() && !y.at_end(); ++i) {
      if (!x.next(&left) || !y.next(&right)) return compare_bytes(a, b);
      if (is_null(left) || is_null(right)) {
        if (is_null(left) != is_null(right)) return is_null(left) ? -1 : 1;
      } else if (int c = fields()[i]->compare(left, right); c != 0) {
        return c;
      }
    }
    return int{rest_is_null(y)} - int{rest_is_null(x)};
  }

  void append_comparable(Bytes& out, BytesView value) const final {
    ElementReader in = ElementReader::tuple(value);
    size_t end = out.size();  // after the last field that is not null
    BytesView field;
    for (size_t i = 0; i < fields().size() && in.next(&field); ++i) {
      append_component(out, *fields()[i], field);
      if (!is_null(field)) end = out.size();
    }
    out.resize(end);
    out.push_back(kTerminator);
  }

  void read_comparable(Reader& in, Bytes& out) const final {
    bool ended = false;
    for (const TypePtr& type : fields()) {
      ended = ended || (!in.at_end() && in.rest()[0] == kTerminator);
      const size_t length_at = out.size();
      append_be(out, int32_t{-1});
      if (ended || is_separator_of_nothing(in.u8())) continue;
      type->read_comparable(in, out);
      store_be(out.data() + length_at, static_cast<int32_t>(out.size() - length_at - sizeof(int32_t)));
    }
    if (static_cast<char>(in.u8()) != kTerminator) in.fail();
  }

  std::string to_text(BytesView value) const final {
    if (is_null(value)) return "null";
    std::string out;
    ElementReader in = ElementReader::tuple(value);
    BytesView field;
    for (size_t i = 0; i < fields().size() && in.next(&field); ++i) {
      if (i > 0) out += ':';
      out += is_null(field) ? std::string(kNullField)
                            : replace_all(replace_all(fields()[i]->to_text(field), ":", "\\:"), "@", "\\@");
    }
    return out;
  }

  Result<Bytes> from_text(std::string_view text) const final {
    std::vector<std::string_view> parts = split_at_colons(text);
    if (parts.size() > fields().size()) {
      return invalid("Invalid tuple literal: too many elements. Type " + this->cql_name() + " expects " +
                     std::to_string(fields().size()) + " but got " + std::to_string(parts.size()));
    }
    Bytes out;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] == kNullField) {
        append_element(out, kNull);
        continue;
      }
      std::string part = replace_all(replace_all(parts[i], "\\:", ":"), "\\@", "@");
      ASSIGN_OR_RETURN(Bytes field, fields()[i]->from_text(part));
      append_element(out, field);
    }
    return out;
  }

 protected:
  using Base::Base;

  const std::vector<TypePtr>& fields() const { return this->elements_; }

  // The name of a field in the errors of validate().
  virtual std::string size_of_field(size_t i) const = 0;
  virtual std::string field(size_t i) const = 0;
  virtual Status describe(size_t, Status status) const { return status; }

  Status validate_fields(BytesView value, std::string_view value_name) const {
    Reader in(value);
    for (size_t i = 0; i < fields().size() && !in.at_end(); ++i) {
      if (in.remaining() < sizeof(int32_t)) return invalid("Not enough bytes to read size of " + size_of_field(i));
      int32_t size = in.i32();
      if (size < 0) continue;
      if (in.remaining() < static_cast<size_t>(size)) return invalid("Not enough bytes to read " + field(i));
      if (Status s = fields()[i]->validate(in.take(static_cast<size_t>(size))); !s.ok())
        return describe(i, std::move(s));
    }
    if (!in.at_end()) return invalid("Invalid remaining data after end of " + std::string(value_name) + " value");
    return {};
  }
};

class TupleType final : public FieldsType<Type> {
 public:
  explicit TupleType(std::vector<TypePtr> fields) : FieldsType(TypeKind::kTuple, -1, std::move(fields)) {}

  std::string cql_name(bool with_frozen) const override {
    std::string name = "tuple<";
    for (size_t i = 0; i < fields().size(); ++i) name += (i > 0 ? ", " : "") + fields()[i]->cql_name();
    name += '>';
    return with_frozen ? frozen_cql_name(name) : name;
  }
  std::string class_name(bool) const override { return class_name_of(kind_, class_names(fields(), true)); }

  Status validate(BytesView value) const override { return validate_fields(value, "tuple"); }

  std::string to_cql_literal(BytesView value) const override {
    if (is_null(value)) return "null";
    std::string out = "(";
    ElementReader in = ElementReader::tuple(value);
    BytesView f;
    for (size_t i = 0; i < fields().size() && in.next(&f); ++i) {
      if (i > 0) out += ", ";
      out += is_null(f) ? "null" : fields()[i]->to_cql_literal(f);
    }
    return out += ')';
  }

  std::string to_json(BytesView value) const override {
    std::string out = "[";
    ElementReader in = ElementReader::tuple(value);
    for (size_t i = 0; i < fields().size(); ++i) {
      BytesView f = kNull;
      if (i > 0) out += ", ";
      out += !in.next(&f) || is_null(f) ? "null" : fields()[i]->to_json(f);
    }
    return out += ']';
  }

 private:
  std::string size_of_field(size_t i) const override { return field(i); }
  std::string field(size_t i) const override { return std::to_string(i) + "th component"; }
};

// Cassandra leaves the quotes away, and takes the user type "int" for an int when it reads its schema again.
std::string name_in_cql(const std::string& name) {
  const bool is_taken = types::by_cql_name(name) != nullptr || types::is_reserved_name(name);
  return is_taken ? '"' + name + '"' : quote_identifier(name);
}

class UserTypeImpl final : public FieldsType<UserType> {
 public:
  UserTypeImpl(std::string keyspace, std::string name, std::vector<std::string> field_names,
               std::vector<TypePtr> fields, bool multi_cell)
      : FieldsType(TypeKind::kUdt, -1, std::move(fields), multi_cell),
        keyspace_(std::move(keyspace)),
        name_(std::move(name)),
        field_names_(std::move(field_names)) {}

  const std::string& keyspace() const override { return keyspace_; }
  const std::string& name() const override { return name_; }
  const std::vector<std::string>& field_names() const override { return field_names_; }

  std::string cql_name(bool with_frozen) const override {
    std::string name = name_in_cql(name_);
    return with_frozen && !multi_cell_ ? frozen_cql_name(name) : name;
  }
  std::string class_name(bool ignore_freezing) const override {
    std::string parameters = keyspace_ + "," + to_hex(name_);
    for (size_t i = 0; i < fields().size(); ++i) {
      parameters += "," + to_hex(field_names_[i]) + ":" + fields()[i]->class_name(ignore_freezing || !multi_cell_);
    }
    std::string name = class_name_of(kind_, parameters);
    return ignore_freezing || multi_cell_ ? name : frozen_class_name(name);
  }

  Status validate(BytesView value) const override { return validate_fields(value, "UDT"); }

  std::string to_cql_literal(BytesView value) const override {
    if (is_null(value)) return "null";
    std::string out = "{";
    ElementReader in = ElementReader::tuple(value);
    BytesView f;
    for (size_t i = 0; i < fields().size() && in.next(&f); ++i) {
      if (i > 0) out += ", ";
      out += quote_identifier(field_names_[i]) + ": " + (is_null(f) ? "null" : fields()[i]->to_cql_literal(f));
    }
    return out += '}';
  }

  std::string to_json(BytesView value) const override {
    std::string out = "{";
    ElementReader in = ElementReader::tuple(value);
    for (size_t i = 0; i < fields().size(); ++i) {
      BytesView f = kNull;
      if (i > 0) out += ", ";
      out += json_quote(json_name(field_names_[i])) + ": ";
      out += !in.next(&f) || is_null(f) ? "null" : fields()[i]->to_json(f);
    }
    return out += '}';
  }

 private:
  // A name with capitals is put in quotes of its own, so that fromJson finds it again.
  static std::string json_name(const std::string& name) {
    bool capitals = name.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != name.npos;
    return capitals ? '"' + name + '"' : name;
  }
  std::string size_of_field(size_t i) const override { return field(i); }
  std::string field(size_t i) const override { return std::to_string(i) + "th field " + field_names_[i]; }
  Status describe(size_t i, Status status) const override {
    return invalid("Failure validating the " + field(i) + "; " + status.error().message());
  }

  std::string keyspace_;
  std::string name_;
  std::vector<std::string> field_names_;
};

}  // namespace

namespace types {

TypePtr tuple(std::vector<TypePtr> fields) {
  for (TypePtr& field : fields) field = freeze(field);
  return std::make_shared<TupleType>(std::move(fields));
}

UserTypePtr udt(std::string keyspace, std::string name, std::vector<std::string> field_names,
                std::vector<TypePtr> fields, bool multi_cell) {
  CHECK(field_names.size() == fields.size());
  return std::make_shared<UserTypeImpl>(std::move(keyspace), std::move(name), std::move(field_names), std::move(fields),
                                        multi_cell);
}

}  // namespace types

}  // namespace cassandra_like
