// to_json; from_json is refused (cql3.functions.ToJsonFct).
#include "cql/functions_internal.h"

namespace cassandra_like::functions {

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
              std::make_shared<NativeFunction>(function, arguments, types::text(), std::move(body), Nulls::kPass));
        });
  }
  for (const char* name : {"from_json", "fromjson"}) {
    registry.add_factory(
        name, {{Parameter::Kind::kText}},
        [](const std::string& function, const Types&, const TypePtr& receiver) -> Result<FunctionPtr> {
          if (receiver == nullptr) {
            return invalid(function + "() cannot be used in the selection clause of a SELECT statement");
          }
          return invalid("Function " + function + " is not supported yet");
        });
  }
}

}  // namespace cassandra_like::functions
