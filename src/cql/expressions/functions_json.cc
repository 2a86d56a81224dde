// to_json and from_json (cql3.functions.ToJsonFct, FromJsonFct).
#include "cql/expressions/functions_internal.h"
#include "cql/values/json.h"

namespace cassandra_like::functions {
namespace {

Result<BytesView> from_json(ExecutionContext& context, const std::string& name, const Type& type, BytesView text) {
  auto json = parse_json(text, context.config.max_values());
  if (!json.ok()) {
    return function_failure(name, {types::text()},
                            "execution of 'system." + name + "[text]' failed: Could not decode JSON string '" +
                                std::string(text) +
                                "': com.fasterxml.jackson.core.JsonParseException: " + json.error().message());
  }
  if (json->is_null()) return kNull;
  auto value = value_from_json(type, *json, context.config.max_values());
  if (value.ok()) {
    // The empty text is no bytes, also of types that have no such value.
    if (type.validate(*value).ok()) return in_arena(context, *value);
    return Error(ErrorCode::kServerError, "java.lang.RuntimeException: Return of function system." + name +
                                              " : (text) -> " + type.cql_name() + " (" + to_hex(*value) +
                                              ") is not a valid value for its declared return type " + type.cql_name());
  }
  if (value.error().code() == kDurationError) return invalid(value.error().message());
  return function_failure(name, {types::text()},
                          "org.apache.cassandra.serializers.MarshalException: " + value.error().message());
}

}  // namespace

void add_json_functions(Registry& registry) {
  using Types = std::vector<TypePtr>;
  for (const char* name : {"to_json", "tojson"}) {
    registry.add_factory(
        name, {{Parameter::Kind::kAny}},
        [](const std::string& function, const Types& arguments, const TypePtr&) -> Result<FunctionPtr> {
          Body body = [type = arguments[0]](ExecutionContext& context, Arguments values) -> Result<BytesView> {
            bool null = is_null(values[0]) || (values[0].empty() && type->is_empty_meaningless());
            return in_arena(context, null ? "null" : type->to_json(values[0]));
          };
          return FunctionPtr(
              std::make_shared<ScalarFunction>(function, arguments, types::text(), std::move(body), Nulls::kPass));
        });
  }
  for (const char* name : {"from_json", "fromjson"}) {
    registry.add_factory(
        name, {{Parameter::Kind::kText}},
        [](const std::string& function, const Types&, const TypePtr& receiver) -> Result<FunctionPtr> {
          if (receiver == nullptr) {
            return invalid(function + "() cannot be used in the selection clause of a SELECT statement");
          }
          Body body = [function, receiver](ExecutionContext& context, Arguments values) -> Result<BytesView> {
            return from_json(context, function, *receiver, values[0]);
          };
          return FunctionPtr(
              std::make_shared<ScalarFunction>(function, Types{types::text()}, receiver, std::move(body)));
        });
  }
}

}  // namespace cassandra_like::functions
