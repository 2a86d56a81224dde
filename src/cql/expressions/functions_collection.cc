// map_keys, map_values and collection_*: aggregates over the elements of one value (cql3.functions.CollectionFcts).
#include "cql/expressions/aggregates.h"
#include "cql/expressions/functions_internal.h"
#include "model/values.h"

namespace cassandra_like::functions {
namespace {

// Every second element of a map, from `first` on.
Body map_part(int first) {
  return [first](ExecutionContext& context, Arguments arguments) -> Result<BytesView> {
    auto elements = ElementReader::collection(arguments[0]);
    Bytes out;
    append_be<int32_t>(out, elements.count());
    BytesView element;
    for (int i = 0; elements.next(&element); ++i) {
      if (i % 2 == first) append_element(out, element);
    }
    return in_arena(context, out);
  };
}

FunctionPtr make(const std::string& name, const std::vector<TypePtr>& arguments, TypePtr result, Body body) {
  return std::make_shared<ScalarFunction>(name, arguments, std::move(result), std::move(body));
}

// The aggregate of the same kind, applied to the elements.
Factory::Make aggregate_of(FunctionPtr (*aggregate)(const TypePtr&)) {
  return [aggregate](const std::string& name, const std::vector<TypePtr>& arguments,
                     const TypePtr&) -> Result<FunctionPtr> {
    auto function = std::static_pointer_cast<const AggregateFunction>(aggregate(arguments[0]->elements()[0]));
    Body body = [function](ExecutionContext& context, Arguments values) -> Result<BytesView> {
      auto state = function->start();
      auto elements = ElementReader::collection(values[0]);
      BytesView element;
      while (elements.next(&element)) TRY(state->add({&element, 1}));
      bool none = false;
      ASSIGN_OR_RETURN(Bytes result, state->result(&none));
      return none ? Result<BytesView>(kNull) : in_arena(context, result);
    };
    return make(name, arguments, function->return_type(), std::move(body));
  };
}

}  // namespace

void add_collection_functions(Registry& registry) {
  using K = Parameter::Kind;
  using Types = std::vector<TypePtr>;
  registry.add_factory("map_keys", {{K::kMap}},
                       [](const std::string& name, const Types& types, const TypePtr&) -> Result<FunctionPtr> {
                         return make(name, types, types::set(types[0]->elements()[0], false), map_part(0));
                       });
  registry.add_factory("map_values", {{K::kMap}},
                       [](const std::string& name, const Types& types, const TypePtr&) -> Result<FunctionPtr> {
                         return make(name, types, types::list(types[0]->elements()[1], false), map_part(1));
                       });
  registry.add_factory("collection_count", {{K::kCollection}},
                       [](const std::string& name, const Types& types, const TypePtr&) -> Result<FunctionPtr> {
                         auto body = [](ExecutionContext& context, Arguments arguments) -> Result<BytesView> {
                           return in_arena(context, encode_int(ElementReader::collection(arguments[0]).count()));
                         };
                         return make(name, types, types::int_(), body);
                       });
  registry.add_factory("collection_min", {{K::kSetOrList}}, aggregate_of(min_aggregate));
  registry.add_factory("collection_max", {{K::kSetOrList}}, aggregate_of(max_aggregate));
  registry.add_factory("collection_sum", {{K::kNumericSetOrList}}, aggregate_of(sum_aggregate));
  registry.add_factory("collection_avg", {{K::kNumericSetOrList}}, aggregate_of(avg_aggregate));
}

}  // namespace cassandra_like::functions
