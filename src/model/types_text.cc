// Types whose comparable form is their escaped bytes: ascii, text, blob, inet.
#include <algorithm>

#include "model/types_internal.h"
#include "model/values.h"

namespace cassandra_like::types_internal {

namespace {

class ByteOrderedType : public SimpleType {
 public:
  int compare(BytesView a, BytesView b) const final { return compare_bytes(a, b); }
  void append_comparable(Bytes& out, BytesView v) const final { append_escaped(out, v); }
  void read_comparable(Reader& in, Bytes& out) const final { read_escaped(in, out); }
  bool encodes_empty() const final { return true; }

 protected:
  using SimpleType::SimpleType;
};

// ascii and text.
class StringType : public ByteOrderedType {
 public:
  std::string to_cql_literal(BytesView v) const final { return is_null(v) ? "null" : quote_string(v); }
  std::string to_text(BytesView v) const final { return is_null(v) ? "null" : std::string(v); }
  std::string to_json(BytesView v) const final { return json_quote(v); }

 protected:
  using ByteOrderedType::ByteOrderedType;
};

class AsciiType final : public StringType {
 public:
  AsciiType() : StringType(TypeKind::kAscii) {}

  Status validate(BytesView v) const override {
    auto bad = std::find_if(v.begin(), v.end(), is_not_ascii);
    if (bad == v.end()) [[likely]]
      return {};
    return invalid("Invalid byte for ascii: " + std::to_string(static_cast<signed char>(*bad)));
  }
  Result<Bytes> from_text(std::string_view text) const override {
    auto bad = std::find_if(text.begin(), text.end(), is_not_ascii);
    if (bad == text.end()) return Bytes(text);
    // Java counts UTF-16 units: two for characters of four bytes.
    int length = static_cast<unsigned char>(*bad) >= 0xF0 ? 2 : 1;
    return invalid(
        "Invalid ASCII character in string literal: java.nio.charset.UnmappableCharacterException: "
        "Input length = " +
        std::to_string(length));
  }

 private:
  static bool is_not_ascii(char c) { return (c & 0x80) != 0; }
};

class TextType final : public StringType {
 public:
  TextType() : StringType(TypeKind::kText) {}

  Status validate(BytesView v) const override {
    if (is_valid_utf8(v)) [[likely]]
      return {};
    return invalid("String didn't validate.");
  }
  Result<Bytes> from_text(std::string_view text) const override { return Bytes(text); }
};

class BlobType final : public ByteOrderedType {
 public:
  BlobType() : ByteOrderedType(TypeKind::kBlob) {}

  Status validate(BytesView) const override { return {}; }
  std::string to_cql_literal(BytesView v) const override { return blob_literal(v); }
  std::string to_text(BytesView v) const override { return to_hex(v); }
  std::string to_json(BytesView v) const override { return "\"0x" + to_hex(v) + '"'; }
  Result<Bytes> from_text(std::string_view text) const override { return parse_hex(text); }
};

class InetType final : public ByteOrderedType {
 public:
  InetType() : ByteOrderedType(TypeKind::kInet) {}

  Status validate(BytesView v) const override {
    if (v.size() == 4 || v.size() == 16 || v.empty()) [[likely]]
      return {};
    return invalid("Expected 4 or 16 byte inetaddress; got " + to_hex(v));
  }
  std::string to_text(BytesView v) const override { return inet_to_text(v); }
  Result<Bytes> from_text(std::string_view text) const override {
    return text.empty() ? Result<Bytes>(Bytes()) : parse_inet(text);
  }
};

}  // namespace

TypePtr make_text(TypeKind kind) {
  switch (kind) {
    case TypeKind::kAscii:
      return std::make_shared<AsciiType>();
    case TypeKind::kText:
      return std::make_shared<TextType>();
    case TypeKind::kInet:
      return std::make_shared<InetType>();
    default:
      return std::make_shared<BlobType>();
  }
}

}  // namespace cassandra_like::types_internal
