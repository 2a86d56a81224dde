// mask_*: what hides a value (cql3.functions.masking).
#include <openssl/evp.h>

#include "base/ascii.h"
#include "cql/expressions/functions_internal.h"
#include "model/values.h"

namespace cassandra_like::functions {
namespace {

using Types = std::vector<TypePtr>;

// AbstractType.getMaskedValue.
Bytes masked_value(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kAscii:
    case TypeKind::kText:
      return "****";
    case TypeKind::kBoolean:
    case TypeKind::kTinyint:
    case TypeKind::kVarint:
      return Bytes(1, '\0');
    case TypeKind::kSmallint:
      return Bytes(2, '\0');
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kInet:
    case TypeKind::kList:
    case TypeKind::kSet:
    case TypeKind::kMap:
      return Bytes(4, '\0');
    case TypeKind::kDate:
      return encode_int(std::numeric_limits<int32_t>::min());
    case TypeKind::kDecimal:
      return Bytes(5, '\0');
    case TypeKind::kDuration:
      return encode_duration({});
    case TypeKind::kBigint:
    case TypeKind::kCounter:
    case TypeKind::kDouble:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kLegacyTimestamp:
      return Bytes(8, '\0');
    case TypeKind::kUuid:
    case TypeKind::kLexicalUuid:
      return Bytes(16, '\0');
    case TypeKind::kTimeuuid:
    case TypeKind::kLegacyTimeUuid:
      return Bytes(Uuid::time_based(kUuidEpochOffset, 0x8080808080808080).view());
    case TypeKind::kTuple:
    case TypeKind::kUdt: {
      Bytes out;
      for (const TypePtr& field : type.elements()) append_element(out, masked_value(field->base()));
      return out;
    }
    default:
      return {};
  }
}

// A vector's elements of variable length carry their length as a vint, which every masked value has in one byte.
Result<Bytes> masked_vector(const std::string& name, const VectorType& type) {
  const Type& element = *type.elements()[0];
  Bytes one = masked_value(element);
  if (element.fixed_length() < 0) one.insert(one.begin(), static_cast<char>(one.size()));
  if (type.dimension() > kMaxResult / std::max<size_t>(one.size(), 1)) return result_too_large("system." + name);
  Bytes out;
  for (size_t i = 0; i < type.dimension(); ++i) out += one;
  return out;
}

FunctionPtr make_mask(const std::string& name, Types arguments, TypePtr result, Body body) {
  return std::make_shared<ScalarFunction>(name, std::move(arguments), std::move(result), std::move(body), Nulls::kPass);
}

// In UTF-16 code units, as java.lang.String counts them.
std::u16string to_utf16(BytesView text) {
  std::u16string out;
  for (size_t i = 0; i < text.size();) {
    auto lead = static_cast<uint8_t>(text[i]);
    size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    uint32_t code = length == 1 ? lead : lead & (0xFFu >> (length + 1));
    for (size_t j = 1; j < length && i + j < text.size(); ++j)
      code = code << 6 | (static_cast<uint8_t>(text[i + j]) & 0x3F);
    i += length;
    if (code >= 0x10000) {
      out.push_back(static_cast<char16_t>(0xD7C0 + (code >> 10)));
      code = 0xDC00 + (code & 0x3FF);
    }
    out.push_back(static_cast<char16_t>(code));
  }
  return out;
}

void append_utf8(Bytes& out, uint32_t code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
    return;
  }
  int rest = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  out.push_back(static_cast<char>((0xFF00 >> (rest + 1)) | (code >> (6 * rest))));
  while (rest-- > 0) out.push_back(static_cast<char>(0x80 | ((code >> (6 * rest)) & 0x3F)));
}

Bytes to_utf8(const std::u16string& text) {
  Bytes out;
  for (size_t i = 0; i < text.size(); ++i) {
    uint32_t code = text[i];
    bool surrogate = code >= 0xD800 && code < 0xE000;
    bool pair = code >= 0xD800 && code < 0xDC00 && i + 1 < text.size() && text[i + 1] >= 0xDC00 && text[i + 1] < 0xE000;
    if (pair) {
      code = 0x10000 + ((code - 0xD800) << 10) + (text[++i] - 0xDC00u);
    } else if (surrogate) {
      code = '?';  // half a pair has no encoding
    }
    append_utf8(out, code);
  }
  return out;
}

// mask_inner hides all but the first `begin` and the last `end` characters, mask_outer these.
Factory::Make partial(bool inner) {
  return [inner](const std::string& name, const Types& types, const TypePtr&) -> Result<FunctionPtr> {
    Types arguments{types[0], types::int_(), types::int_()};
    if (types.size() == 4) arguments.push_back(types::text());
    Body body = [inner, name](ExecutionContext& context, Arguments values) -> Result<BytesView> {
      std::u16string padding = u"*";
      if (values.size() == 4 && !is_null(values[3])) padding = to_utf16(values[3]);
      if (padding.size() != 1) {
        return invalid("The padding argument for function system." + name + " should be single-character, but '" +
                       std::string(values[3]) + "' has " + std::to_string(padding.size()) + " characters.");
      }
      if (is_null(values[0])) return kNull;
      auto number = [](BytesView v) { return v.size() == 4 ? int64_t{decode_int(v)} : 0; };
      std::u16string text = to_utf16(values[0]);
      int64_t begin = number(values[1]), end = static_cast<int64_t>(text.size()) - 1 - number(values[2]);
      for (int64_t i = 0; i < static_cast<int64_t>(text.size()); ++i) {
        bool between = i >= begin && i <= end;
        if (between == inner) text[static_cast<size_t>(i)] = padding[0];
      }
      return in_arena(context, to_utf8(text));
    };
    TypePtr result = arguments[0];
    return make_mask(name, std::move(arguments), std::move(result), std::move(body));
  };
}

// OpenSSL's name of an algorithm that Java has, too; nullptr for others. OpenSSL knows more names than it has algorithms for.
const char* digest_name(std::string_view java_name) {
  static constexpr std::pair<std::string_view, const char*> kNames[] = {{"MD5", "MD5"},
                                                                        {"SHA", "SHA1"},
                                                                        {"SHA1", "SHA1"},
                                                                        {"SHA224", "SHA224"},
                                                                        {"SHA256", "SHA256"},
                                                                        {"SHA384", "SHA384"},
                                                                        {"SHA512", "SHA512"},
                                                                        {"SHA512/224", "SHA512-224"},
                                                                        {"SHA512/256", "SHA512-256"},
                                                                        {"SHA3-224", "SHA3-224"},
                                                                        {"SHA3-256", "SHA3-256"},
                                                                        {"SHA3-384", "SHA3-384"},
                                                                        {"SHA3-512", "SHA3-512"}};
  std::string name = upper(java_name);
  if (name.starts_with("SHA-")) name.erase(3, 1);
  for (const auto& [java, ours] : kNames) {
    if (name == java) return ours;
  }
  return nullptr;
}

Result<FunctionPtr> make_hash(const std::string& name, const Types& types, const TypePtr&) {
  Body body = [](ExecutionContext& context, Arguments values) -> Result<BytesView> {
    std::string algorithm = values.size() == 2 && !is_null(values[1]) ? std::string(values[1]) : "SHA-256";
    const char* known = digest_name(algorithm);
    const EVP_MD* digest = known == nullptr ? nullptr : EVP_get_digestbyname(known);
    if (digest == nullptr) return invalid("Hash algorithm not found: " + algorithm);
    if (is_null(values[0])) return kNull;
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    // An algorithm may be switched off in OpenSSL's configuration.
    if (EVP_Digest(values[0].data(), values[0].size(), hash, &size, digest, nullptr) != 1) {
      return invalid("Hash algorithm not found: " + algorithm);
    }
    return in_arena(context, BytesView(reinterpret_cast<char*>(hash), size));
  };
  Types arguments{types[0]};
  if (types.size() == 2) arguments.push_back(types::text());
  return make_mask(name, std::move(arguments), types::blob(), std::move(body));
}

}  // namespace

void add_mask_functions(Registry& registry) {
  using K = Parameter::Kind;
  registry.add_factory("mask_null", {{K::kAny}},
                       [](const std::string& name, const Types& types, const TypePtr&) -> Result<FunctionPtr> {
                         auto body = [](ExecutionContext&, Arguments) -> Result<BytesView> { return kNull; };
                         return make_mask(name, types, types[0], body);
                       });
  registry.add_factory("mask_default", {{K::kAny}},
                       [](const std::string& name, const Types& types, const TypePtr&) -> Result<FunctionPtr> {
                         const Type& type = types[0]->base();
                         bool vector = type.kind() == TypeKind::kVector;
                         ASSIGN_OR_RETURN(Bytes mask, vector ? masked_vector(name, static_cast<const VectorType&>(type))
                                                             : Result<Bytes>(masked_value(type)));
                         Body body = [mask](ExecutionContext& context, Arguments) -> Result<BytesView> {
                           return in_arena(context, mask);
                         };
                         return make_mask(name, types, types[0], std::move(body));
                       });
  Parameter any{K::kAny, true}, same{K::kAny, true};
  same.same_as = 0;
  same.prefer_other = true;
  registry.add_factory("mask_replace", {any, same},
                       [](const std::string& name, const Types& types, const TypePtr&) -> Result<FunctionPtr> {
                         auto body = [](ExecutionContext&, Arguments values) -> Result<BytesView> { return values[1]; };
                         return make_mask(name, types, types[1], body);
                       });
  Parameter optional_text{K::kText, false, true};
  registry.add_factory("mask_hash", {{K::kAny}, optional_text}, make_hash);
  registry.add_factory("mask_inner", {{K::kString}, {K::kInt}, {K::kInt}, optional_text}, partial(true));
  registry.add_factory("mask_outer", {{K::kString}, {K::kInt}, {K::kInt}, optional_text}, partial(false));
}

}  // namespace cassandra_like::functions
