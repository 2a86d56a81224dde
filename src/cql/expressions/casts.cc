// CAST(x AS type): also callable as cast_as_type(x) (cql3.functions.CastFcts).
#include <cctype>

#include "cql/expressions/functions_temporal.h"
#include "cql/values/arithmetic_number.h"
#include "model/values.h"

namespace cassandra_like {
namespace functions {
namespace {

// BigDecimal.valueOf and the like: integers exactly, a float by its own shortest text.
Result<Bytes> to_decimal(const Number& n) {
  if (n.form == Number::Form::kInteger) return Decimal{BigInt(n.integer), 0}.to_bytes();
  if (n.form == Number::Form::kReal) {
    auto text = n.is_float ? float_to_text(n.to_float()) : double_to_text(n.real);
    auto value = encode_decimal(text);
    if (value.ok()) return value;
    return no_decimal(text);
  }
  return Decimal{n.big, n.form == Number::Form::kDecimal ? n.scale : 0}.to_bytes();
}

Result<Bytes> convert(const Number& n, TypeKind to) {
  switch (to) {
    case TypeKind::kTinyint:
    case TypeKind::kSmallint:
    case TypeKind::kInt:
      return encode_integer(to, n.to_int());
    case TypeKind::kFloat:
      return encode_float(n.to_float());
    case TypeKind::kDouble:
      return encode_double(n.to_double());
    case TypeKind::kDecimal:
      return to_decimal(n);
    case TypeKind::kVarint:
      return BigInt(n.to_long()).to_bytes();
    default:
      return encode_bigint(n.to_long());
  }
}

// The old name is castAs and the type's name capitalized.
void add_cast(Registry& registry, const TypePtr& from, const TypePtr& to, const Body& body) {
  std::string type = to->cql_name();
  std::string capitalized = type;
  capitalized[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(type[0])));
  registry.add("cast_as_" + type, {from}, to, body);
  registry.add("castAs" + capitalized, {from}, to, body);
}

void add_number_casts(Registry& registry) {
  for (const TypePtr& from : numeric_types()) {
    for (const TypePtr& to : numeric_types()) {
      if (from->kind() == to->kind() || to->is_counter()) continue;
      Body body = [from = from->kind(), to = to->kind()](ExecutionContext& context,
                                                         Arguments arguments) -> Result<BytesView> {
        ASSIGN_OR_RETURN(Bytes value, convert(Number::of(from, arguments[0]), to));
        return in_arena(context, value);
      };
      add_cast(registry, from, to, body);
    }
  }
}

// The value's literal without quotes.
void add_text_casts(Registry& registry) {
  std::vector<TypePtr> sources = numeric_types();
  for (const TypePtr& type : {types::inet(), types::boolean(), types::timeuuid(), types::timestamp(), types::date(),
                              types::time(), types::uuid()}) {
    sources.push_back(type);
  }
  for (const TypePtr& from : sources) {
    Body body = [from](ExecutionContext& context, Arguments arguments) -> Result<BytesView> {
      if (from->kind() == TypeKind::kTimestamp) {
        return in_arena(context, timestamp_to_text(decode_bigint(arguments[0]), 'T'));
      }
      return in_arena(context, (from->is_counter() ? types::bigint() : from)->to_text(arguments[0]));
    };
    add_cast(registry, from, types::ascii(), body);
    add_cast(registry, from, types::text(), body);
  }
  add_cast(registry, types::ascii(), types::text(),
           [](ExecutionContext&, Arguments arguments) -> Result<BytesView> { return arguments[0]; });
}

void add_temporal_cast(Registry& registry, const TypePtr& from, const TypePtr& to) {
  Body body = [from = from->kind(), to = to->kind()](ExecutionContext& context,
                                                     Arguments arguments) -> Result<BytesView> {
    return in_arena(context, from_millis(to, to_millis(from, arguments[0])));
  };
  add_cast(registry, from, to, body);
}

}  // namespace

void add_casts(Registry& registry) {
  add_number_casts(registry);
  add_text_casts(registry);
  add_temporal_cast(registry, types::timeuuid(), types::date());
  add_temporal_cast(registry, types::timeuuid(), types::timestamp());
  add_temporal_cast(registry, types::timestamp(), types::date());
  add_temporal_cast(registry, types::date(), types::timestamp());
}

}  // namespace functions

Result<FunctionPtr> resolve_cast(const TypePtr& from, const TypePtr& to) {
  TypePtr source = functions::value_type(from);
  const std::string name = "cast_as_" + to->cql_name();
  if (source->equals(*to)) {
    return FunctionPtr(std::make_shared<ScalarFunction>(
        name, std::vector<TypePtr>{source}, to,
        [](ExecutionContext&, functions::Arguments arguments) -> Result<BytesView> { return arguments[0]; },
        functions::Nulls::kPass));
  }
  const auto* casts = functions::Registry::native().overloads(name);
  if (casts == nullptr) return FunctionPtr();
  std::string signatures;
  for (const FunctionPtr& cast : *casts) {
    if (cast->arguments()[0]->kind() == source->kind()) return cast;
    signatures += (signatures.empty() ? "" : ", ") + functions::signature(*cast);
  }
  return invalid("Invalid call to function system." + name +
                 ", none of its type signatures match (known type signatures: " + signatures + ")");
}

}  // namespace cassandra_like
