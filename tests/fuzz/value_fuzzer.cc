// Any bytes as a value, as text and as the comparable form of each type. A value that validates can be printed, read
// back, brought into its comparable form and back, compared, cast and computed with; what comes out of that validates
// again.
//
//   input := type:u8 split:u8 bytes      bytes[0, split) and bytes[split, …) are two values
//   input := 0xFF class name             or 0xFE CQL name of a type
#include <algorithm>

#include "cql/expressions/function.h"
#include "model/types_internal.h"
#include "model/values.h"
#include "tests/cql/function_fixture.h"
#include "tests/fuzz/fuzz_target.h"

namespace cassandra_like {
namespace {

constexpr const char* kTypes[] = {
    "AsciiType",
    "LongType",
    "BytesType",
    "BooleanType",
    "CounterColumnType",
    "SimpleDateType",
    "DecimalType",
    "DoubleType",
    "DurationType",
    "FloatType",
    "InetAddressType",
    "Int32Type",
    "ShortType",
    "UTF8Type",
    "TimeType",
    "TimestampType",
    "TimeUUIDType",
    "ByteType",
    "UUIDType",
    "IntegerType",
    "EmptyType",
    "LexicalUUIDType",
    "PartitionerDefinedOrder",
    "LegacyTimeUUIDType",
    "DateType",
    "ReversedType(Int32Type)",
    "ReversedType(UTF8Type)",
    "ReversedType(DecimalType)",
    "FrozenType(ListType(Int32Type))",
    "FrozenType(SetType(UTF8Type))",
    "FrozenType(MapType(UTF8Type,IntegerType))",
    "FrozenType(ListType(FrozenType(MapType(InetAddressType,TupleType(DoubleType,UTF8Type)))))",
    "TupleType(Int32Type,UTF8Type,FrozenType(ListType(TimestampType)))",
    "FrozenType(UserType(ks,61,62:Int32Type,63:UTF8Type,64:FrozenType(SetType(TimeUUIDType))))",
    "VectorType(FloatType,3)",
    "VectorType(UTF8Type,2)",
    "VectorType(FrozenType(ListType(Int32Type)),2)",
    "CompositeType(Int32Type,UTF8Type,ReversedType(TimeUUIDType))",
    "DynamicCompositeType(a=>UTF8Type,b=>Int32Type)",
    "ListType(SimpleDateType)",
};

const std::vector<TypePtr>& all_types() {
  static const std::vector<TypePtr> types = [] {
    std::vector<TypePtr> out;
    for (const char* name : kTypes) {
      auto type = types::parse_class(name);
      if (type.ok()) out.push_back(*type);
    }
    return out;
  }();
  return types;
}

bool has_comparable(const Type& type) {
  return type.kind() != TypeKind::kDuration && type.kind() != TypeKind::kCounter;
}
bool has_comparable(const Type& type, BytesView value) {
  // The exponent of a decimal of such a scale overflows, here as in Cassandra.
  constexpr int32_t kLargestScale = 1'000'000'000;
  if (type.kind() == TypeKind::kDecimal && value.size() > 4) {
    const auto scale = load_be<int32_t>(value.data());
    if (scale > kLargestScale || scale < -kLargestScale) return false;
  }
  return has_comparable(type) && (!value.empty() || type.encodes_empty());
}

void check_text(const Type& type, BytesView value) {
  static_cast<void>(type.to_cql_literal(value));
  static_cast<void>(type.to_json(value));
  Bytes text = type.to_text(value);
  auto back = type.from_text(text);
  if (back.ok() && !text.empty()) CHECK(type.validate(*back).ok());  // a duration of nothing is no text
}

void check_comparable(const Type& type, BytesView value) {
  if (!has_comparable(type, value)) return;
  Bytes comparable;
  type.append_comparable(comparable, value);
  Reader in(comparable);
  Bytes decoded;
  type.read_comparable(in, decoded);
  CHECK(!in.failed() && in.at_end());
  // Elements that are empty come back as null, as Cassandra's do.
  if (!type.elements().empty()) return;
  CHECK(type.validate(decoded).ok());
  CHECK(type.compare(decoded, value) == 0);
}

int sign(int v) { return (v > 0) - (v < 0); }

void check_order(const Type& type, BytesView a, BytesView b) {
  const int order = sign(type.compare(a, b));
  CHECK(sign(type.compare(b, a)) == -order);
  CHECK(type.compare(a, a) == 0);
  if (!has_comparable(type, a) || !has_comparable(type, b)) return;
  Bytes first, second;
  type.append_comparable(first, a);
  type.append_comparable(second, b);
  // Behind a component there is always something: that of a reversed text may be the beginning of another's.
  first.push_back(types_internal::kNextComponent);
  second.push_back(types_internal::kNextComponent);
  CHECK(sign(first.compare(second)) == order);
}

struct Functions {
  FunctionFixture fixture;
  CqlOptions config;
  std::vector<std::string> names;
  PrepareContext prepare{std::make_shared<Schema>(), "", "", names, config};

  void run(const Result<FunctionPtr>& function, std::span<const BytesView> arguments) {
    if (!function.ok() || *function == nullptr) return;
    const auto& scalar = static_cast<const ScalarFunction&>(**function);
    auto value = scalar.execute(fixture.context(), arguments);
    if (value.ok() && !is_null(*value)) CHECK(scalar.return_type()->validate(*value).ok());
    fixture.context().arena.reset();
  }
};

void compute(const TypePtr& type, BytesView a, BytesView b) {
  static auto& functions = *new Functions;
  const BytesView one[] = {a};
  const BytesView two[] = {a, b};
  for (const TypePtr& to : all_types()) functions.run(resolve_cast(type, to), one);
  const CallArgument operands[] = {{.type = type}, {.type = type}};
  using Op = ast::ArithmeticOperator;
  for (Op op : {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kDivide, Op::kModulo}) {
    functions.run(resolve_arithmetic(op, operands, nullptr, functions.prepare), two);
  }
  functions.run(resolve_arithmetic(Op::kNegate, {operands, 1}, nullptr, functions.prepare), one);
}

void check_name(BytesView name, bool is_class) {
  static const types::UdtLookup no_udts = [](std::string_view, std::string_view) { return UserTypePtr(); };
  auto type = is_class ? types::parse_class(name) : types::parse_cql(name, "ks", no_udts);
  if (!type.ok()) return CHECK(!type.error().message().empty());
  static_cast<void>((*type)->cql_name());
  // The type's name is read back as the same type.
  auto again = types::parse_class((*type)->class_name());
  CHECK(again.ok() && (*again)->equals(**type));
}

}  // namespace

FUZZ_TARGET(value) {
  if (input.size() < 2) return;
  const auto first = static_cast<uint8_t>(input[0]);
  if (first >= 0xFE) return check_name(input.substr(1), first == 0xFF);
  const TypePtr& type = all_types()[first % all_types().size()];
  BytesView bytes = input.substr(2);
  const size_t split = std::min<size_t>(static_cast<uint8_t>(input[1]), bytes.size());
  const BytesView a = bytes.substr(0, split), b = bytes.substr(split);

  // Texts are UTF-8; none is the empty value, of types that have none as well. A counter's is any bytes in hexadecimal, as
  // in Cassandra.
  auto from_text = type->from_text(is_valid_utf8(bytes) ? bytes : "");
  const bool is_checked = type->elements().empty() && type->kind() != TypeKind::kCounter;
  if (from_text.ok() && !from_text->empty() && is_checked) CHECK(type->validate(*from_text).ok());
  if (has_comparable(*type)) {
    Bytes ignored;
    Reader in(bytes);
    type->read_comparable(in, ignored);
  }
  const bool valid_a = type->validate(a).ok(), valid_b = type->validate(b).ok();
  for (const auto& [value, valid] : {std::pair(a, valid_a), std::pair(b, valid_b)}) {
    if (!valid) continue;
    check_text(*type, value);
    check_comparable(*type, value);
  }
  if (!valid_a || !valid_b) return;
  check_order(*type, a, b);
  if (!type->is_reversed()) compute(type, a, b);
}

}  // namespace cassandra_like
