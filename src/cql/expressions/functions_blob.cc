// blob_as_X and X_as_blob: the same bytes under another type (cql3.functions.BytesConversionFcts).
#include "cql/expressions/functions_internal.h"

namespace cassandra_like::functions {

void add_blob_functions(Registry& registry) {
  constexpr auto kOldToo = Registry::OldName::kWithoutUnderscores;
  const std::pair<const char*, TypePtr> kinds[] = {
      {"ascii", types::ascii()},       {"bigint", types::bigint()},     {"boolean", types::boolean()},
      {"counter", types::counter()},   {"date", types::date()},         {"decimal", types::decimal()},
      {"double", types::double_()},    {"duration", types::duration()}, {"float", types::float_()},
      {"inet", types::inet()},         {"int", types::int_()},          {"smallint", types::smallint()},
      {"text", types::text()},         {"time", types::time()},         {"timestamp", types::timestamp()},
      {"timeuuid", types::timeuuid()}, {"tinyint", types::tinyint()},   {"uuid", types::uuid()},
      {"varchar", types::text()},      {"varint", types::varint()},
  };
  for (const auto& [name, type] : kinds) {
    registry.add(
        std::string(name) + "_as_blob", {type}, types::blob(),
        [](ExecutionContext&, Arguments arguments) -> Result<BytesView> { return arguments[0]; }, Nulls::kPass,
        kOldToo);
    auto from_blob = [cql_type = std::string(name), type = type](const std::string& function) {
      return [function, cql_type, type](ExecutionContext&, Arguments arguments) -> Result<BytesView> {
        BytesView value = arguments[0];
        if (is_null(value) || type->validate(value).ok()) return value;
        return invalid("In call to function system." + function + ", value 0x" + to_hex(value) +
                       " is not a valid binary representation for type " + cql_type);
      };
    };
    for (const std::string& function : {std::string("blob_as_") + name, std::string("blobas") + name}) {
      registry.add(function, {types::blob()}, type, from_blob(function), Nulls::kPass);
    }
  }
}

}  // namespace cassandra_like::functions
