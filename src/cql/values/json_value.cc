// Values of CQL types out of JSON (AbstractType.fromJSONObject).
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "cql/values/json.h"
#include "cql/values/serialize_elements.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

using Kind = JsonValue::Kind;

bool fits(const std::string& digits, int64_t low, int64_t high) {
  errno = 0;
  long long value = std::strtoll(digits.c_str(), nullptr, 10);
  return errno == 0 && value >= low && value <= high;
}

// The class of the Java object that Cassandra has for it.
std::string java_class(const JsonValue& json) {
  switch (json.kind) {
    case Kind::kBoolean:
      return "Boolean";
    case Kind::kInteger:
      if (fits(json.text, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max())) return "Integer";
      return fits(json.text, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()) ? "Long"
                                                                                                       : "BigInteger";
    case Kind::kFloat:
      return "Double";
    case Kind::kString:
      return "String";
    case Kind::kList:
      return "ArrayList";
    case Kind::kMap:
      return "LinkedHashMap";
    case Kind::kNull:
      break;
  }
  return "null";
}

Error expected(const std::string& what, const JsonValue& json) {
  return invalid("Expected " + what + ", but got a " + java_class(json) + ": " + java_text(json));
}

bool is_number(const JsonValue& json) { return json.kind == Kind::kInteger || json.kind == Kind::kFloat; }

Result<Bytes> integer(const Type& type, const JsonValue& json, const char* what, const char* widest) {
  if (json.kind == Kind::kString) return type.from_text(json.text);
  std::string found = java_class(json);
  if (found != "Integer" && found != widest) return expected(what, json);
  return type.from_text(json.text);
}

Result<Bytes> small_integer(const Type& type, const JsonValue& json, const char* what) {
  if (json.kind != Kind::kString && !is_number(json)) return expected(what, json);
  return type.from_text(java_text(json));
}

Result<Bytes> text_of(const Type& type, const JsonValue& json, const char* what) {
  if (json.kind != Kind::kString) return expected(what, json);
  return type.from_text(json.text);
}

Result<Bytes> of_simple(const Type& type, const JsonValue& json) {
  switch (type.kind()) {
    case TypeKind::kAscii:
      return text_of(type, json, "an ascii string");
    case TypeKind::kText:
      return text_of(type, json, "a UTF-8 string");
    case TypeKind::kInet:
      return text_of(type, json, "a string representation of an inet value");
    case TypeKind::kDate:
      return text_of(type, json, "a string representation of a date value");
    case TypeKind::kTime:
      return text_of(type, json, "a string representation of a time value");
    case TypeKind::kDuration: {
      auto value = text_of(type, json, "a string representation of a duration");
      if (!value.ok() && json.kind == Kind::kString) return Error(kDurationError, value.error().message());
      return value;
    }
    case TypeKind::kUuid:
      return text_of(type, json, "a string representation of a uuid");
    case TypeKind::kTimeuuid:
      return text_of(type, json, "a string representation of a timeuuid");
    case TypeKind::kTimestamp:
      if (java_class(json) == "Long") return type.from_text(json.text);
      return text_of(type, json, "a long or a datestring representation of a timestamp value");
    case TypeKind::kBoolean:
      if (json.kind == Kind::kString) return type.from_text(json.text);
      if (json.kind != Kind::kBoolean) return expected("a boolean value", json);
      return encode_boolean(json.text == "true");
    case TypeKind::kTinyint:
      return small_integer(type, json, "a byte value");
    case TypeKind::kSmallint:
      return small_integer(type, json, "a short value");
    case TypeKind::kInt:
      return integer(type, json, "an int value", "Integer");
    case TypeKind::kBigint:
      return integer(type, json, "a bigint value", "Long");
    case TypeKind::kFloat:
    case TypeKind::kDouble:
      if (json.kind == Kind::kString || is_number(json)) return type.from_text(json.text);
      return expected(type.kind() == TypeKind::kFloat ? "a float value" : "a double value", json);
    case TypeKind::kDecimal: {
      auto value = type.from_text(java_text(json));
      if (value.ok()) return value;
      return invalid("Value '" + java_text(json) + "' is not a valid representation of a decimal value");
    }
    case TypeKind::kVarint: {
      auto value = encode_varint(java_text(json));
      if (value.ok()) return value;
      return invalid("Value '" + java_text(json) + "' is not a valid representation of a varint value");
    }
    case TypeKind::kBlob: {
      std::string text = java_text(json), complaint;
      if (json.kind == Kind::kString && text.rfind("0x", 0) == 0) {
        auto value = type.from_text(std::string_view(text).substr(2));
        if (value.ok()) return value;
        complaint = value.error().message();
      } else if (json.kind == Kind::kString) {
        complaint = "String representation of blob is missing 0x prefix: " + text;
      } else {
        complaint = java_class(json) + " cannot be cast to String";
      }
      return invalid("Value '" + text + "' is not a valid blob representation: " + complaint);
    }
    default:
      return invalid("JSON values of type " + type.cql_name() + " are not supported");
  }
}

Result<std::vector<Bytes>> elements_of(const Type& element, const JsonValue& json, const char* what,
                                       uint64_t max_values) {
  std::vector<Bytes> values;
  for (const JsonValue& item : json.list) {
    if (item.is_null()) return invalid(std::string("Invalid null element in ") + what);
    ASSIGN_OR_RETURN(Bytes value, value_from_json(element, item, max_values));
    values.push_back(std::move(value));
  }
  return values;
}

Result<Bytes> of_map(const Type& type, const JsonValue& json, uint64_t max_values) {
  if (json.kind != Kind::kMap) return expected("a map", json);
  std::vector<Bytes> values;
  for (const auto& [key, item] : json.entries) {
    if (item.is_null()) return invalid("Invalid null value in map");
    JsonValue name;
    name.kind = Kind::kString;
    name.text = key;
    ASSIGN_OR_RETURN(Bytes serialized_key, value_from_json(*type.elements()[0], name, max_values));
    ASSIGN_OR_RETURN(Bytes value, value_from_json(*type.elements()[1], item, max_values));
    values.push_back(std::move(serialized_key));
    values.push_back(std::move(value));
  }
  return serialize_sorted(*type.elements()[0], {values.begin(), values.end()}, 2);
}

Result<Bytes> of_tuple(const Type& type, const JsonValue& json, uint64_t max_values) {
  if (json.kind != Kind::kList) return expected("a list representation of a tuple", json);
  size_t wanted = type.elements().size();
  if (json.list.size() != wanted) {
    return invalid(std::string("Tuple ") + (json.list.size() > wanted ? "contains extra" : "is missing") +
                   " items (expected " + std::to_string(wanted) + "): " + java_text(json));
  }
  Bytes out;
  for (size_t i = 0; i < wanted; ++i) {
    if (json.list[i].is_null()) {
      append_element(out, kNull);
      continue;
    }
    ASSIGN_OR_RETURN(Bytes value, value_from_json(*type.elements()[i], json.list[i], max_values));
    append_element(out, value);
  }
  return out;
}

Result<Bytes> of_udt(const UserType& type, JsonValue json, uint64_t max_values) {
  if (json.kind != Kind::kMap) return expected("a map", json);
  fold_keys(json);
  Bytes out;
  for (size_t i = 0; i < type.field_names().size(); ++i) {
    auto field = std::find_if(json.entries.begin(), json.entries.end(),
                              [&](const auto& entry) { return entry.key == type.field_names()[i]; });
    if (field == json.entries.end() || field->value.is_null()) {
      append_element(out, kNull);
      continue;
    }
    ASSIGN_OR_RETURN(Bytes value, value_from_json(*type.elements()[i], field->value, max_values));
    append_element(out, value);
  }
  for (const auto& [name, value] : json.entries) {
    if (type.field_index(name)) continue;
    return invalid("Unknown field '" + name + "' in value of user defined type " + type.name());
  }
  return out;
}

Result<Bytes> of_vector(const VectorType& type, const JsonValue& json, uint64_t max_values) {
  if (json.kind != Kind::kList) return expected("a list", json);
  if (json.list.size() != type.dimension()) {
    return invalid("List had incorrect size: expected " + std::to_string(type.dimension()) + " but given " +
                   std::to_string(json.list.size()) + "; " + java_text(json));
  }
  ASSIGN_OR_RETURN(auto values, elements_of(*type.elements()[0], json, "list", max_values));
  return serialize_vector(*type.elements()[0], {values.begin(), values.end()});
}

}  // namespace

Result<Bytes> value_from_json(const Type& type, const JsonValue& given, uint64_t max_values) {
  const Type& base = type.base();
  bool structured = base.is_collection() || base.is_tuple() || base.kind() == TypeKind::kVector;
  if (!structured) return of_simple(base, given);
  JsonValue decoded;
  // In a map's key, or in the older form, the JSON of a structure stands in a string.
  if (given.kind == Kind::kString) {
    auto parsed = parse_json(given.text, max_values);
    if (!parsed.ok()) return invalid("Error decoding JSON string: " + parsed.error().message());
    decoded = std::move(*parsed);
  }
  const JsonValue& json = given.kind == Kind::kString ? decoded : given;
  switch (base.kind()) {
    case TypeKind::kMap:
      return of_map(base, json, max_values);
    case TypeKind::kTuple:
      return of_tuple(base, json, max_values);
    case TypeKind::kUdt:
      return of_udt(static_cast<const UserType&>(base), json, max_values);
    case TypeKind::kVector:
      return of_vector(static_cast<const VectorType&>(base), json, max_values);
    default:
      break;
  }
  bool set = base.kind() == TypeKind::kSet;
  if (json.kind != Kind::kList) return expected(set ? "a list (representing a set)" : "a list", json);
  ASSIGN_OR_RETURN(auto values, elements_of(*base.elements()[0], json, set ? "set" : "list", max_values));
  std::vector<BytesView> views(values.begin(), values.end());
  return set ? serialize_sorted(*base.elements()[0], std::move(views), 1) : serialize_list(views);
}

}  // namespace cassandra_like
