#include "cql/syntax/type_name.h"

#include "model/types.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

std::string unfrozen_text(const ast::TypeName& type, const std::string& keyspace) {
  using Kind = ast::TypeName::Kind;
  auto parameter = [&](size_t i) { return type_name_text(type.parameters[i], keyspace); };
  switch (type.kind) {
    case Kind::kNative:
      return type.name;
    case Kind::kUdt: {
      const std::string& owner = type.keyspace.empty() ? keyspace : type.keyspace;
      return owner.empty() ? type.name : owner + "." + type.name;
    }
    case Kind::kCustom: {
      auto parsed = types::parse_class(type.name);
      return quote_string(parsed.ok() ? (*parsed)->class_name() : type.name);
    }
    case Kind::kList:
      return "list<" + parameter(0) + ">";
    case Kind::kSet:
      return "set<" + parameter(0) + ">";
    case Kind::kMap:
      return "map<" + parameter(0) + ", " + parameter(1) + ">";
    case Kind::kVector:
      return "vector<" + parameter(0) + ", " + std::to_string(type.dimension) + ">";
    case Kind::kTuple:
      break;
  }
  std::string text = "tuple<";
  for (size_t i = 0; i < type.parameters.size(); ++i) text += (i > 0 ? ", " : "") + parameter(i);
  return text + ">";
}

}  // namespace

std::string type_name_text(const ast::TypeName& type, const std::string& keyspace) {
  using Kind = ast::TypeName::Kind;
  bool implicitly_frozen = type.kind == Kind::kTuple || type.kind == Kind::kVector;
  std::string text = unfrozen_text(type, keyspace);
  return type.frozen && !implicitly_frozen ? "frozen<" + text + ">" : text;
}

}  // namespace cassandra_like
