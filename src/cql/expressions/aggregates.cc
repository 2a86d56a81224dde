// Sums and averages stay in the type of their argument: integers wrap around, an average is as exact as the type.
#include "cql/expressions/aggregates.h"

#include <cmath>

#include "cql/expressions/functions_internal.h"
#include "cql/values/arithmetic_number.h"
#include "model/values.h"

namespace cassandra_like::functions {
namespace {

using State = AggregateFunction::State;

// The sums of other types are rounded at each step, or equal values have several forms.
bool is_integer(const TypePtr& type) {
  switch (type->base().kind()) {
    case TypeKind::kTinyint:
    case TypeKind::kSmallint:
    case TypeKind::kInt:
    case TypeKind::kBigint:
      return true;
    default:
      return false;
  }
}

class CountState : public State {
 public:
  explicit CountState(bool rows) : rows_(rows) {}
  Status add(Arguments arguments) override {
    if (rows_ || !is_null(arguments[0])) ++count_;
    return {};
  }
  Result<Bytes> result(bool* is_null) const override {
    *is_null = false;
    return encode_bigint(count_);
  }

 private:
  bool rows_;
  int64_t count_ = 0;
};

class ExtremeState : public State {
 public:
  ExtremeState(TypePtr type, int sign) : type_(std::move(type)), sign_(sign) {}
  Status add(Arguments arguments) override {
    BytesView value = arguments[0];
    if (is_null(value) || (is_counter() && value.empty())) return {};
    if (none_ || compare(value) * sign_ > 0) extreme_ = Bytes(value);
    none_ = false;
    return {};
  }
  Result<Bytes> result(bool* is_null) const override {
    *is_null = none_;
    return extreme_;
  }

 private:
  bool is_counter() const { return type_->is_counter(); }
  // Counters are added up before functions see them.
  int compare(BytesView value) const {
    return is_counter() ? types::bigint()->compare(value, extreme_) : type_->compare(value, extreme_);
  }

  TypePtr type_;
  int sign_;
  bool none_ = true;
  Bytes extreme_;
};

// The parts of sum and avg that do not depend on the type: nulls and empty values do not count.
class NumberState : public State {
 public:
  explicit NumberState(TypeKind kind) : kind_(kind) {}
  Status add(Arguments arguments) override {
    if (arguments[0].empty()) return {};
    ++count_;
    add_number(Number::of(kind_, arguments[0]));
    return {};
  }
  Result<Bytes> result(bool* is_null) const override {
    *is_null = false;
    return compute();
  }

 protected:
  virtual void add_number(const Number& n) = 0;
  virtual Bytes compute() const = 0;
  TypeKind kind_;
  int64_t count_ = 0;
};

class IntegerSum : public NumberState {
  using NumberState::NumberState;
  void add_number(const Number& n) override { sum_ += static_cast<uint64_t>(n.integer); }
  Bytes compute() const override { return encode_integer(kind_, static_cast<int64_t>(sum_)); }
  uint64_t sum_ = 0;
};

class IntegerAverage : public NumberState {
  using NumberState::NumberState;
  void add_number(const Number& n) override { sum_ += n.integer; }
  Bytes compute() const override {
    return encode_integer(kind_, count_ == 0 ? 0 : static_cast<int64_t>(sum_ / count_));
  }
  __extension__ __int128 sum_ = 0;  // no number of rows makes it overflow
};

// Kahan's sum, which keeps the error of each addition.
struct KahanSum {
  double sum = 0, compensation = 0, plain = 0;
  void add(double d) {
    plain += d;
    double corrected = d - compensation;
    double rounded = sum + corrected;
    compensation = (rounded - sum) - corrected;
    sum = rounded;
  }
  double total() const {
    double total = sum + compensation;
    return std::isnan(total) && std::isinf(plain) ? plain : total;
  }
};

Bytes encode_real(TypeKind kind, double value) {
  return kind == TypeKind::kFloat ? encode_float(static_cast<float>(value)) : encode_double(value);
}

class RealSum : public NumberState {
  using NumberState::NumberState;
  void add_number(const Number& n) override { sum_.add(n.real); }
  Bytes compute() const override { return encode_real(kind_, sum_.total()); }
  KahanSum sum_;
};

// Goes on with decimals when the sum overflows.
class RealAverage : public NumberState {
 public:
  using NumberState::NumberState;
  Status add(Arguments arguments) override {
    if (overflown_ && !arguments[0].empty()) {
      const double real = Number::of(kind_, arguments[0]).real;
      if (!std::isfinite(real)) return no_decimal(double_to_text(real));
    }
    return NumberState::add(arguments);
  }

 private:
  void add_number(const Number& n) override {
    if (overflown_) {
      big_ = functions::add(big_, Decimal::from_text(double_to_text(n.real)));
      return;
    }
    double before = sum_.sum;
    sum_.add(n.real);
    if (!std::isinf(sum_.sum) || std::isinf(n.real) || !std::isfinite(before)) return;
    overflown_ = true;
    big_ = functions::add(Decimal::from_text(double_to_text(before)), Decimal::from_text(double_to_text(n.real)));
  }
  Bytes compute() const override {
    if (count_ == 0) return encode_real(kind_, 0);
    if (!overflown_) return encode_real(kind_, sum_.total() / static_cast<double>(count_));
    return encode_real(kind_, divide(big_, {BigInt(count_), 0}, big_.scale, Rounding::kHalfEven).to_double());
  }
  KahanSum sum_;
  bool overflown_ = false;
  Decimal big_;
};

class VarintSum : public NumberState {
 public:
  VarintSum(TypeKind kind, bool average) : NumberState(kind), average_(average) {}

 private:
  void add_number(const Number& n) override { sum_ = sum_ + n.big; }
  Bytes compute() const override {
    return average_ && count_ > 0 ? sum_.divide(BigInt(count_)).to_bytes() : sum_.to_bytes();
  }
  bool average_;
  BigInt sum_;
};

class DecimalSum : public NumberState {
  using NumberState::NumberState;
  void add_number(const Number& n) override { sum_ = functions::add(sum_, {n.big, n.scale}); }
  Bytes compute() const override { return sum_.to_bytes(); }
  Decimal sum_;
};

// A running average: each step rounds to the scale that it has.
class DecimalAverage : public NumberState {
  using NumberState::NumberState;
  void add_number(const Number& n) override {
    Decimal difference = subtract({n.big, n.scale}, average_);
    average_ = functions::add(average_, divide(difference, {BigInt(count_), 0}, difference.scale, Rounding::kHalfEven));
  }
  Bytes compute() const override { return average_.to_bytes(); }
  Decimal average_;
};

std::unique_ptr<State> start_sum(TypeKind kind, bool average) {
  switch (kind) {
    case TypeKind::kFloat:
    case TypeKind::kDouble:
      if (average) return std::make_unique<RealAverage>(kind);
      return std::make_unique<RealSum>(kind);
    case TypeKind::kVarint:
      return std::make_unique<VarintSum>(kind, average);
    case TypeKind::kDecimal:
      if (average) return std::make_unique<DecimalAverage>(kind);
      return std::make_unique<DecimalSum>(kind);
    default:
      if (average) return std::make_unique<IntegerAverage>(kind);
      return std::make_unique<IntegerSum>(kind);
  }
}

FunctionPtr extreme(const char* name, const TypePtr& type, int sign) {
  return std::make_shared<AggregateFunction>(name, std::vector<TypePtr>{type}, type, is_integer(type),
                                             [type, sign] { return std::make_unique<ExtremeState>(type, sign); });
}

FunctionPtr sum_or_average(const char* name, const TypePtr& type, bool average) {
  return std::make_shared<AggregateFunction>(name, std::vector<TypePtr>{type}, type, is_integer(type),
                                             [kind = type->kind(), average] { return start_sum(kind, average); });
}

}  // namespace

FunctionPtr min_aggregate(const TypePtr& type) { return extreme("min", type, -1); }
FunctionPtr max_aggregate(const TypePtr& type) { return extreme("max", type, 1); }
FunctionPtr sum_aggregate(const TypePtr& type) { return sum_or_average("sum", type, false); }
FunctionPtr avg_aggregate(const TypePtr& type) { return sum_or_average("avg", type, true); }

FunctionPtr count_rows_aggregate(std::string name, std::vector<TypePtr> arguments) {
  return std::make_shared<AggregateFunction>(std::move(name), std::move(arguments), types::bigint(), true,
                                             [] { return std::make_unique<CountState>(true); });
}

void add_aggregates(Registry& registry) {
  using Types = std::vector<TypePtr>;
  registry.add(count_rows_aggregate("count_rows", {}));
  registry.add(count_rows_aggregate("countRows", {}));
  registry.add(std::make_shared<AggregateFunction>("count", Types{types::blob()}, types::bigint(), true,
                                                   [] { return std::make_unique<CountState>(false); }));
  for (const TypePtr& type : numeric_types()) {
    registry.add(sum_aggregate(type));
    registry.add(avg_aggregate(type));
  }
  Parameter any{Parameter::Kind::kAny, true};
  registry.add_factory("min", {any}, [](const std::string&, const Types& types, const TypePtr&) -> Result<FunctionPtr> {
    return min_aggregate(types[0]);
  });
  registry.add_factory("max", {any}, [](const std::string&, const Types& types, const TypePtr&) -> Result<FunctionPtr> {
    return max_aggregate(types[0]);
  });
}

}  // namespace cassandra_like::functions
