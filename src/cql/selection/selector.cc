// The kinds of Selectors, and how the clause's tree becomes them.
#include "cql/selection/selector.h"

#include <algorithm>
#include <map>

#include "base/vint.h"
#include "cql/context/named_column.h"
#include "cql/expressions/term_internal.h"
#include "cql/selection/selector_type.h"
#include "cql/syntax/type_name.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

class ValueSelector : public Selector {
 public:
  explicit ValueSelector(const Column* column) : Selector(column->type), column_(column) {}
  Result<BytesView> evaluate(const InputRow& input) const override { return column_value(*column_, input); }
  std::optional<std::span<const Cell>> cells(const InputRow& input) const override {
    if (!column_->is_complex() || column_->type->is_udt()) return std::nullopt;
    return stored_cells(*column_, input);
  }
  Result<CellTimes> cell_times(const InputRow& input, bool ttl) const override {
    CellTimes out;
    const Row* row = column_->kind == ColumnKind::kStatic ? input.static_row : input.row;
    if (row == nullptr) return out;
    out.of_one = !column_->is_complex();
    const bool by_field =
        column_->is_complex() && column_->type->is_udt();  // then those that have no cell have no time
    for (const Cell& cell : row->cells) {
      if (compare_columns(cell.column, column_) != 0) continue;
      int64_t time = ttl ? remaining(cell, input.context->now_seconds) : cell.timestamp;
      if (!by_field) {
        out.times.push_back(time);
        continue;
      }
      out.times.resize(column_->type->elements().size(), CellTimes::kNone);
      const size_t field = load_be<uint16_t>(cell.path.data());
      if (field < out.times.size()) out.times[field] = time;
    }
    return out;
  }

 private:
  static int64_t remaining(const Cell& cell, int64_t now_seconds) {
    return cell.is_expiring() ? cell.local_deletion_time - now_seconds : CellTimes::kNone;
  }
  const Column* column_;
};

class TermSelector : public Selector {
 public:
  TermSelector(TypePtr type, TermPtr term) : Selector(std::move(type)), term_(std::move(term)) {}
  Result<BytesView> evaluate(const InputRow& input) const override { return term_->bind(*input.context); }

 private:
  TermPtr term_;
};

// (type)selected: the same bytes.
class HintSelector : public Selector {
 public:
  HintSelector(TypePtr type, SelectorPtr selected) : Selector(std::move(type)), selected_(std::move(selected)) {}
  Result<BytesView> evaluate(const InputRow& input) const override { return selected_->evaluate(input); }

 private:
  SelectorPtr selected_;
};

class FunctionSelector : public Selector {
 public:
  FunctionSelector(std::shared_ptr<const ScalarFunction> function, std::vector<SelectorPtr> arguments)
      : Selector(function->return_type()), function_(std::move(function)), arguments_(std::move(arguments)) {}
  Result<BytesView> evaluate(const InputRow& input) const override {
    auto values = input.context->arena.make_span<BytesView>(arguments_.size());
    for (size_t i = 0; i < arguments_.size(); ++i) {
      ASSIGN_OR_RETURN(values[i], arguments_[i]->evaluate(input));
    }
    return function_->execute(*input.context, values);
  }

 private:
  std::shared_ptr<const ScalarFunction> function_;
  std::vector<SelectorPtr> arguments_;
};

class AggregateSelector : public Selector {
 public:
  AggregateSelector(TypePtr type, size_t index) : Selector(std::move(type)), index_(index) {}
  Result<BytesView> evaluate(const InputRow& input) const override { return input.aggregates[index_]; }
  bool is_aggregate() const override { return true; }

 private:
  size_t index_;
};

// writetime, maxwritetime and ttl of a value: of several cells a list, or the maximum for the second.
class CellTimeSelector : public Selector {
 public:
  using Kind = ast::WritetimeOrTtlSelectable::Kind;
  CellTimeSelector(SelectorPtr selected, Kind kind, bool is_list)
      : Selector(result_type(kind, is_list)), selected_(std::move(selected)), kind_(kind), is_list_(is_list) {}
  Result<BytesView> evaluate(const InputRow& input) const override {
    ASSIGN_OR_RETURN(CellTimes found, selected_->cell_times(input, kind_ == Kind::kTtl));
    if (found.times.empty()) return kNull;
    Arena& arena = input.context->arena;
    if (!is_list_) {
      int64_t time = *std::max_element(found.times.begin(), found.times.end());
      return time == CellTimes::kNone ? kNull : arena.copy(encode(time));
    }
    Bytes list;
    append_be<int32_t>(list, static_cast<int32_t>(found.times.size()));
    for (int64_t time : found.times) {
      Bytes value = time == CellTimes::kNone ? Bytes() : encode(time);
      append_element(list, value.empty() ? kNull : BytesView(value));
    }
    return arena.copy(list);
  }

 private:
  static TypePtr result_type(Kind kind, bool is_list) {
    TypePtr one = kind == Kind::kTtl ? types::int_() : types::bigint();
    return is_list ? types::list(one, false) : one;
  }
  Bytes encode(int64_t time) const {
    return kind_ == Kind::kTtl ? encode_int(static_cast<int32_t>(time)) : encode_bigint(time);
  }
  SelectorPtr selected_;
  Kind kind_;
  bool is_list_;
};

class FieldSelector : public Selector {
 public:
  FieldSelector(SelectorPtr receiver, size_t field)
      : Selector(receiver->type()->elements()[field]), receiver_(std::move(receiver)), field_(field) {}
  Result<BytesView> evaluate(const InputRow& input) const override {
    ASSIGN_OR_RETURN(BytesView value, receiver_->evaluate(input));
    if (is_null(value)) return kNull;
    auto fields = ElementReader::tuple(value);
    BytesView field = kNull;
    for (size_t i = 0; i <= field_; ++i) {
      if (!fields.next(&field)) return kNull;
    }
    return field;
  }
  Result<CellTimes> cell_times(const InputRow& input, bool ttl) const override {
    ASSIGN_OR_RETURN(BytesView field, evaluate(input));
    if (is_null(field)) return CellTimes();
    ASSIGN_OR_RETURN(CellTimes all, receiver_->cell_times(input, ttl));
    if (all.of_one) return all;
    CellTimes one;
    if (field_ < all.times.size()) one.times.push_back(all.times[field_]);
    return one;
  }

 private:
  SelectorPtr receiver_;
  size_t field_;
};

// m[k], s[v]; with a range m[a..b], s[a..b] the elements in it.
class ElementSelector : public Selector {
 public:
  ElementSelector(TypePtr type, SelectorPtr receiver, TermPtr from, TermPtr to, bool range)
      : Selector(std::move(type)),
        receiver_(std::move(receiver)),
        from_(std::move(from)),
        to_(std::move(to)),
        range_(range) {}
  Result<BytesView> evaluate(const InputRow& input) const override {
    Bytes out;
    int32_t count = 0;
    BytesView found = kNull;
    ASSIGN_OR_RETURN(bool exists, for_each(input, [&](size_t, BytesView key, BytesView mapped) {
                       found = is_map() ? mapped : key;
                       if (!range_) return;
                       append_element(out, key);
                       if (is_map()) append_element(out, mapped);
                       ++count;
                     }));
    if (!range_) return found;
    if (!exists || (count == 0 && receiver_->type()->is_multi_cell())) return kNull;
    Bytes head;
    append_be<int32_t>(head, count);
    return input.context->arena.copy(head + out);
  }
  Result<CellTimes> cell_times(const InputRow& input, bool ttl) const override {
    ASSIGN_OR_RETURN(CellTimes all, receiver_->cell_times(input, ttl));
    CellTimes out;
    out.of_one = !range_ || all.of_one;
    ASSIGN_OR_RETURN(bool exists, for_each(input, [&](size_t index, BytesView, BytesView) {
                       if (all.of_one) {
                         out.times = all.times;
                       } else if (index < all.times.size()) {
                         out.times.push_back(all.times[index]);
                       }
                     }));
    return exists ? out : CellTimes();
  }

 private:
  bool is_map() const { return receiver_->type()->base().kind() == TypeKind::kMap; }
  // Calls found(index, key, mapped) for what is selected; false: there is no collection.
  template <class Found>
  Result<bool> for_each(const InputRow& input, Found found) const {
    // A large collection is not put together for an element.
    const std::optional<std::span<const Cell>> cells = receiver_->cells(input);
    BytesView value = kNull;
    if (!cells) {
      ASSIGN_OR_RETURN(value, receiver_->evaluate(input));
    }
    BytesView from = kNull, to = kNull;
    if (from_ != nullptr) {
      ASSIGN_OR_RETURN(from, from_->bind(*input.context));
    }
    if (to_ != nullptr) {
      ASSIGN_OR_RETURN(to, to_->bind(*input.context));
    }
    // A bound that is unset is none.
    if (is_unset(from)) from = kNull;
    if (is_unset(to)) to = kNull;
    const Type& key_type = *receiver_->type()->base().elements()[0];
    // False: nothing that follows can be selected.
    auto look_at = [&](size_t index, BytesView key, BytesView mapped) {
      if (!range_) {
        if (is_null(from) || key_type.compare(key, from) != 0) return true;
        found(index, key, mapped);
        return false;
      }
      const bool is_selected =
          (is_null(from) || key_type.compare(key, from) >= 0) && (is_null(to) || key_type.compare(key, to) <= 0);
      if (is_selected) found(index, key, mapped);
      return true;
    };
    if (cells) {
      for (size_t index = 0; index < cells->size(); ++index) {
        const Cell& cell = (*cells)[index];
        if (!look_at(index, cell.path, cell.value)) break;
      }
      return !cells->empty();
    }
    if (is_null(value)) return false;
    auto elements = ElementReader::collection(value);
    BytesView key, mapped;
    for (size_t index = 0; elements.next(&key); ++index) {
      if (is_map() && !elements.next(&mapped)) break;
      if (!look_at(index, key, mapped)) break;
    }
    return true;
  }

  SelectorPtr receiver_;
  TermPtr from_, to_;
  bool range_;
};

// Elements of a fixed length stand one after the other, others behind their length as a vint.
class VectorSelector : public Selector {
 public:
  VectorSelector(TypePtr type, std::vector<SelectorPtr> parts) : Selector(std::move(type)), parts_(std::move(parts)) {}
  Result<BytesView> evaluate(const InputRow& input) const override {
    Bytes out;
    for (const SelectorPtr& part : parts_) {
      ASSIGN_OR_RETURN(BytesView value, part->evaluate(input));
      if (is_null(value)) return invalid("null is not supported inside vectors");
      if (part->type()->fixed_length() < 0) append_unsigned_vint(out, value.size());
      out.append(value);
    }
    return input.context->arena.copy(out);
  }

 private:
  std::vector<SelectorPtr> parts_;
};

// A list, which has its size at the beginning, a tuple or a user type. A part that is nullptr is null.
class TupleSelector : public Selector {
 public:
  TupleSelector(TypePtr type, std::vector<SelectorPtr> parts, bool counted)
      : Selector(std::move(type)), parts_(std::move(parts)), counted_(counted) {}
  Result<BytesView> evaluate(const InputRow& input) const override {
    Bytes out;
    if (counted_) append_be<int32_t>(out, static_cast<int32_t>(parts_.size()));
    for (const SelectorPtr& part : parts_) {
      BytesView value = kNull;
      if (part != nullptr) {
        ASSIGN_OR_RETURN(value, part->evaluate(input));
      }
      append_element(out, value);
    }
    return input.context->arena.copy(out);
  }

 private:
  std::vector<SelectorPtr> parts_;
  bool counted_;
};

// A set or a map: sorted; of equal keys the first counts, with the last value. The values of a map may be null.
class SortedSelector : public Selector {
 public:
  struct Entry {
    SelectorPtr key, mapped;  // of a set without `mapped`
  };
  SortedSelector(TypePtr type, std::vector<Entry> entries) : Selector(std::move(type)), entries_(std::move(entries)) {}
  Result<BytesView> evaluate(const InputRow& input) const override {
    const Type& key_type = *type()->elements()[0];
    auto before = [&](BytesView a, BytesView b) { return key_type.compare(a, b) < 0; };
    std::map<BytesView, BytesView, decltype(before)> sorted(before);
    for (const Entry& entry : entries_) {
      ASSIGN_OR_RETURN(BytesView key, entry.key->evaluate(input));
      if (is_null(key)) return invalid("null is not supported inside collections");
      BytesView mapped = kNull;
      if (is_map()) {
        ASSIGN_OR_RETURN(mapped, entry.mapped->evaluate(input));
      }
      sorted.insert_or_assign(key, mapped);
    }
    Bytes out;
    append_be<int32_t>(out, static_cast<int32_t>(sorted.size()));
    for (const auto& [key, mapped] : sorted) {
      append_element(out, key);
      if (is_map()) append_element(out, mapped);
    }
    return input.context->arena.copy(out);
  }

 private:
  bool is_map() const { return type()->kind() == TypeKind::kMap; }

  std::vector<Entry> entries_;
};

}  // namespace

Result<const Column*> SelectorBuilder::column(const std::string& name) {
  ASSIGN_OR_RETURN(const Column* found, named_column(table_, name));
  if (std::find(used_.begin(), used_.end(), found) == used_.end()) used_.push_back(found);
  return found;
}

Result<size_t> SelectorBuilder::field(const ast::MapOrUdtEntry& entry, const Type& type) {
  const auto& user_type = static_cast<const UserType&>(type.base());
  const auto* name_of_field = std::get_if<ast::ColumnSelectable>(&entry.key.value);
  if (name_of_field == nullptr)
    return invalid(name(entry.key) + " is not a valid field identifier of type " + user_type.name() + " ");
  auto index = user_type.field_index(name_of_field->name);
  if (index) return *index;
  return invalid("Unknown field '" + name_of_field->name + "' in value of user defined type " + user_type.name());
}

Result<TypePtr> SelectorBuilder::type_when_built(const ast::Selectable& selectable) {
  if (auto known = built_types_.find(&selectable); known != built_types_.end()) return known->second;
  size_t aggregates = aggregates_.size(), bounds = bounds_.size();
  Result<SelectorPtr> selector = build(selectable, nullptr);
  aggregates_.resize(aggregates);
  bounds_.resize(bounds);
  Result<TypePtr> type = selector.ok() ? Result<TypePtr>((*selector)->type()) : Result<TypePtr>(selector.error());
  return built_types_.emplace(&selectable, std::move(type)).first->second;
}

namespace {

struct ResolveNames {
  SelectorBuilder& builder;
  bool entries;

  Status operator()(const ast::ColumnSelectable& s) const { return found(builder.column(s.name)); }
  Status operator()(const ast::WritetimeOrTtlSelectable& s) const { return found(builder.column(s.column)); }
  Status operator()(const ast::FunctionSelectable& s) const {
    std::vector<const ast::Selectable*> arguments;
    for (const auto& argument : s.arguments) {
      TRY(resolve(argument));
      arguments.push_back(&argument);
    }
    return found(builder.resolve(s.function, arguments));
  }
  Status operator()(const ast::ArithmeticSelectable& s) const {
    std::vector<const ast::Selectable*> operands{&*s.left};
    if (s.right) operands.push_back(&**s.right);
    for (const ast::Selectable* operand : operands) TRY(resolve(*operand));
    ASSIGN_OR_RETURN(auto call, builder.call_arguments(operands));
    return found(resolve_arithmetic(s.op, call, nullptr, builder.context()));
  }
  Status operator()(const ast::CastSelectable& s) const { return resolve(*s.argument); }
  Status operator()(const ast::FieldSelectable& s) const { return resolve(*s.receiver); }
  Status operator()(const ast::ElementSelectable& s) const { return resolve(*s.receiver); }
  Status operator()(const ast::SliceSelectable& s) const { return resolve(*s.receiver); }
  Status operator()(const ast::TypeHintSelectable& s) const {
    TRY(resolve(*s.selectable));
    return found(builder.context().type(s.type, builder.table().keyspace));
  }
  Status operator()(const ast::ParenthesesSelectable& s) const { return all(s.elements); }
  Status operator()(const ast::ArraySelectable& s) const { return all(s.elements); }
  Status operator()(const ast::SetSelectable& s) const { return all(s.elements); }
  Status operator()(const ast::MapOrUdtSelectable& s) const {
    if (!entries) return {};
    for (const auto& [key, value] : s.entries) {
      if (!std::holds_alternative<ast::ColumnSelectable>(key.value)) TRY(resolve(key));
      TRY(resolve(value));
    }
    return {};
  }
  template <class Other>
  Status operator()(const Other&) const {
    return {};
  }

 private:
  Status resolve(const ast::Selectable& part) const { return builder.resolve_names(part, entries); }
  template <class T>
  static Status found(const Result<T>& result) {
    return result.ok() ? Status() : Status(result.error());
  }
  Status all(const std::vector<ast::Selectable>& selectables) const {
    for (const auto& one : selectables) TRY(resolve(one));
    return {};
  }
};

}  // namespace

Status SelectorBuilder::resolve_names(const ast::Selectable& selectable, bool entries) {
  return std::visit(ResolveNames{*this, entries}, selectable.value);
}

Result<std::vector<CallArgument>> SelectorBuilder::call_arguments(
    const std::vector<const ast::Selectable*>& selectables) {
  std::vector<CallArgument> arguments;
  for (const ast::Selectable* selectable : selectables) {
    CallArgument argument;
    ASSIGN_OR_RETURN(argument.type, type_of(*selectable));
    argument.text = [this, selectable] { return name(*selectable); };
    argument.fits = [this, selectable](const TypePtr& receiver) { return passable(*selectable, receiver); };
    if (const auto* term = std::get_if<ast::TermSelectable>(&selectable->value)) argument.term = &term->term;
    if (const auto* array = std::get_if<ast::ArraySelectable>(&selectable->value))
      argument.array_size = array->elements.size();
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

Result<FunctionPtr> SelectorBuilder::resolve(const ast::QualifiedName& name,
                                             const std::vector<const ast::Selectable*>& arguments) {
  ASSIGN_OR_RETURN(auto call, call_arguments(arguments));
  ASSIGN_OR_RETURN(FunctionPtr function, resolve_function(name, call, nullptr, &table_, context_));
  if (function != nullptr) {
    is_pure_ = is_pure_ && function->is_pure();
    return function;
  }
  return invalid("Unknown function '" + (name.keyspace.empty() ? "" : name.keyspace + ".") + name.name + "'");
}

Result<std::vector<SelectorPtr>> SelectorBuilder::arguments(const Function& function,
                                                            const std::vector<const ast::Selectable*>& arguments) {
  std::vector<SelectorPtr> result;
  for (size_t i = 0; i < arguments.size(); ++i) {
    ASSIGN_OR_RETURN(SelectorPtr selector, build(*arguments[i], function.arguments()[i]));
    result.push_back(std::move(selector));
  }
  return result;
}

Result<SelectorPtr> SelectorBuilder::aggregate(const FunctionPtr& function,
                                               const std::vector<const ast::Selectable*>& arguments) {
  if (in_aggregate_) return invalid("aggregate functions cannot be used as arguments of aggregate functions");
  AggregateCall call;
  call.function = std::static_pointer_cast<const AggregateFunction>(function);
  in_aggregate_ = true;
  auto prepared = this->arguments(*function, arguments);
  in_aggregate_ = false;
  if (!prepared.ok()) return std::move(prepared.error());
  call.arguments = std::move(*prepared);
  aggregates_.push_back(std::move(call));
  return SelectorPtr(std::make_unique<AggregateSelector>(function->return_type(), aggregates_.size() - 1));
}

namespace {

struct BuildSelector {
  SelectorBuilder& builder;
  const ast::Selectable& selectable;
  const TypePtr& wanted;

  static Error cannot_infer(const std::string& term) {
    return invalid("Cannot infer type for term " + term + " in selection clause (try using a cast to force a type)");
  }

  Result<SelectorPtr> operator()(const ast::ColumnSelectable& s) const {
    ASSIGN_OR_RETURN(const Column* column, builder.column(s.name));
    return SelectorPtr(std::make_unique<ValueSelector>(column));
  }
  Result<SelectorPtr> operator()(const ast::TermSelectable& s) const { return term(s.term, wanted); }
  Result<SelectorPtr> operator()(const ast::CountAllSelectable&) const {
    ASSIGN_OR_RETURN(FunctionPtr function, builder.resolve({"", "count_rows"}, {}));
    return builder.aggregate(function, {});
  }
  Result<SelectorPtr> operator()(const ast::WritetimeOrTtlSelectable& s) const {
    using Kind = ast::WritetimeOrTtlSelectable::Kind;
    const char* name = s.kind == Kind::kTtl ? "ttl" : s.kind == Kind::kMaxWritetime ? "maxwritetime" : "writetime";
    ASSIGN_OR_RETURN(const Column* column, builder.column(s.column));
    if (column->is_primary_key()) {
      return invalid(std::string("Cannot use selection function ") + name + " on PRIMARY KEY part " + column->name);
    }
    ASSIGN_OR_RETURN(SelectorPtr selected, builder.build(*s.selected, nullptr));
    // A slice of several cells is several cells; an element or a field is one.
    const ast::Selectable* whole = &*s.selected;
    while (const auto* slice = std::get_if<ast::SliceSelectable>(&whole->value)) whole = &*slice->receiver;
    bool has_several = column->is_complex() && std::holds_alternative<ast::ColumnSelectable>(whole->value);
    bool is_list = has_several && s.kind != Kind::kMaxWritetime;
    return SelectorPtr(std::make_unique<CellTimeSelector>(std::move(selected), s.kind, is_list));
  }
  Result<SelectorPtr> operator()(const ast::FunctionSelectable& s) const {
    std::vector<const ast::Selectable*> arguments;
    for (const auto& argument : s.arguments) arguments.push_back(&argument);
    ASSIGN_OR_RETURN(FunctionPtr function, builder.resolve(s.function, arguments));
    if (function->is_aggregate()) return builder.aggregate(function, arguments);
    return call(function, arguments);
  }
  Result<SelectorPtr> operator()(const ast::CastSelectable& s) const {
    // The argument's type decides which cast it is, so the type must be known.
    ASSIGN_OR_RETURN(SelectorPtr argument, builder.build(*s.argument, nullptr));
    ASSIGN_OR_RETURN(TypePtr to, builder.context().type(s.type, builder.table().keyspace));
    ASSIGN_OR_RETURN(FunctionPtr function, resolve_cast(argument->type(), to));
    // Text and its other name differ in nothing: the cast changes nothing.
    const bool same_text = s.type.name == "varchar" && argument->type()->base().kind() == TypeKind::kText;
    if (function == nullptr || (s.type.name != to->cql_name() && !same_text)) return cannot_cast(s);
    std::vector<SelectorPtr> arguments;
    arguments.push_back(std::move(argument));
    auto scalar = std::static_pointer_cast<const ScalarFunction>(function);
    return SelectorPtr(std::make_unique<FunctionSelector>(std::move(scalar), std::move(arguments)));
  }
  // Named is the first column of the whole clause.
  Error cannot_cast(const ast::CastSelectable& s) const {
    const auto& used = builder.used();
    return invalid((used.empty() ? builder.name(*s.argument) : used[0]->name) + " cannot be cast to " + s.type.name);
  }
  Result<SelectorPtr> operator()(const ast::ArithmeticSelectable& s) const {
    std::vector<const ast::Selectable*> arguments{&*s.left};
    if (s.right) arguments.push_back(&**s.right);
    ASSIGN_OR_RETURN(auto operands, builder.call_arguments(arguments));
    ASSIGN_OR_RETURN(FunctionPtr function, resolve_arithmetic(s.op, operands, wanted, builder.context()));
    return call(function, arguments);
  }
  Result<SelectorPtr> operator()(const ast::FieldSelectable& s) const {
    // In parentheses it is no tuple, as that has no fields.
    TypePtr type;
    if (const auto* inner = std::get_if<ast::ParenthesesSelectable>(&s.receiver->value)) {
      ASSIGN_OR_RETURN(type, builder.exact_type(inner->elements[0]));
    }
    ASSIGN_OR_RETURN(SelectorPtr receiver, builder.build(*s.receiver, type));
    if (!receiver->type()->is_udt()) {
      return invalid("Invalid field selection: " + builder.name(*s.receiver) + " of type " +
                     receiver->type()->cql_name() + " is not a user type");
    }
    auto field = static_cast<const UserType&>(receiver->type()->base()).field_index(s.field);
    if (!field)
      return invalid(builder.name(*s.receiver) + " of type " + receiver->type()->cql_name() + " has no field " +
                     s.field);
    return SelectorPtr(std::make_unique<FieldSelector>(std::move(receiver), *field));
  }
  Result<SelectorPtr> operator()(const ast::ElementSelectable& s) const {
    ASSIGN_OR_RETURN(SelectorPtr receiver, collection(*s.receiver, "element selection"));
    const Type& type = receiver->type()->base();
    ASSIGN_OR_RETURN(TermPtr key, prepare_term(s.element, key_spec(*s.receiver, type), builder.context()));
    TypePtr result = type.elements().back();
    builder.add_bound({key.get(), "element selection on " + builder.name(*s.receiver), false});
    return SelectorPtr(std::make_unique<ElementSelector>(result, std::move(receiver), std::move(key), nullptr, false));
  }
  Result<SelectorPtr> operator()(const ast::SliceSelectable& s) const {
    ASSIGN_OR_RETURN(SelectorPtr receiver, collection(*s.receiver, "slice selection"));
    const Type& type = receiver->type()->base();
    TermPtr from, to;
    if (s.from) {
      ASSIGN_OR_RETURN(from, prepare_term(*s.from, key_spec(*s.receiver, type), builder.context()));
      builder.add_bound({from.get(), "slice selection on " + builder.name(*s.receiver), true});
    }
    if (s.to) {
      ASSIGN_OR_RETURN(to, prepare_term(*s.to, key_spec(*s.receiver, type), builder.context()));
      builder.add_bound({to.get(), "slice selection on " + builder.name(*s.receiver), true});
    }
    TypePtr result = types::freeze(receiver->type());
    return SelectorPtr(
        std::make_unique<ElementSelector>(result, std::move(receiver), std::move(from), std::move(to), true));
  }
  Result<SelectorPtr> operator()(const ast::TypeHintSelectable& s) const {
    ASSIGN_OR_RETURN(TypePtr type, builder.exact_type(selectable));
    TRY(builder.resolve_names(*s.selectable, true));
    ASSIGN_OR_RETURN(Assignable fit, builder.assignable(*s.selectable, type));
    if (fit == Assignable::kNo) {
      // The literal as it was written: it is of no user type.
      const std::string name =
          "(" + type_name_text(s.type, builder.table().keyspace) + ")" + builder.name(*s.selectable);
      return invalid("Cannot assign value " + name + " to " + name + " of type " + type->cql_name());
    }
    ASSIGN_OR_RETURN(SelectorPtr hinted, builder.build(*s.selectable, type));
    return SelectorPtr(std::make_unique<HintSelector>(std::move(type), std::move(hinted)));
  }
  Result<SelectorPtr> operator()(const ast::ParenthesesSelectable& s) const {
    ASSIGN_OR_RETURN(TypePtr type, exact_or_wanted());
    if (s.elements.size() == 1 && type->kind() != TypeKind::kTuple) return builder.build(s.elements[0], wanted);
    if (!type->is_tuple()) return invalid("Invalid tuple literal: not of type " + type->cql_name());
    const auto& fields = type->base().elements();
    if (s.elements.size() > fields.size()) {
      return invalid("Invalid tuple literal: too many elements. Type " + type->cql_name() + " expects " +
                     std::to_string(fields.size()) + " but got " + std::to_string(s.elements.size()));
    }
    std::vector<SelectorPtr> parts;
    for (size_t i = 0; i < s.elements.size(); ++i) {
      ASSIGN_OR_RETURN(SelectorPtr part, builder.build(s.elements[i], fields[i]));
      parts.push_back(std::move(part));
    }
    return SelectorPtr(std::make_unique<TupleSelector>(std::move(type), std::move(parts), false));
  }
  Result<SelectorPtr> operator()(const ast::ArraySelectable& s) const {
    const TypeKind kind = wanted == nullptr ? TypeKind::kList : wanted->kind();
    if (kind != TypeKind::kList && kind != TypeKind::kVector) return unsupported_array(wanted);
    ASSIGN_OR_RETURN(TypePtr type, exact_or_wanted());
    if (kind == TypeKind::kVector && type->kind() == TypeKind::kList) {
      type = types::vector(type->elements()[0], s.elements.size());
    }
    if (kind == TypeKind::kVector && static_cast<const VectorType&>(type->base()).dimension() != s.elements.size()) {
      return invalid("Unable to create a vector selector of type " + type->cql_name() + " from " +
                     std::to_string(s.elements.size()) + " elements");
    }
    std::vector<SelectorPtr> parts;
    for (const auto& element : s.elements) {
      ASSIGN_OR_RETURN(SelectorPtr part, builder.build(element, type->elements()[0]));
      parts.push_back(std::move(part));
    }
    if (kind == TypeKind::kVector) return SelectorPtr(std::make_unique<VectorSelector>(type, std::move(parts)));
    return SelectorPtr(std::make_unique<TupleSelector>(std::move(type), std::move(parts), true));
  }
  Result<SelectorPtr> operator()(const ast::SetSelectable& s) const {
    ASSIGN_OR_RETURN(TypePtr type, exact_or_wanted());
    // {} is the empty map, too.
    if (type->kind() == TypeKind::kMap) return map(std::move(type), {});
    if (type->elements()[0]->kind() == TypeKind::kDuration)
      return invalid("Durations are not allowed inside sets: " + type->cql_name());
    std::vector<SortedSelector::Entry> entries;
    for (const auto& element : s.elements) {
      ASSIGN_OR_RETURN(SelectorPtr selected, builder.build(element, type->elements()[0]));
      entries.push_back({std::move(selected), nullptr});
    }
    return SelectorPtr(std::make_unique<SortedSelector>(std::move(type), std::move(entries)));
  }
  Result<SelectorPtr> operator()(const ast::MapOrUdtSelectable& s) const {
    if (wanted == nullptr) {
      TRY(builder.resolve_names(selectable, true));
      return cannot_infer(builder.name(selectable));
    }
    return wanted->is_udt() ? user_type(s) : map(wanted, s.entries);
  }

 private:
  Result<TypePtr> exact_or_wanted() const {
    ASSIGN_OR_RETURN(TypePtr type, builder.exact_type(selectable));
    if (type == nullptr) type = wanted;
    if (type == nullptr) return cannot_infer(builder.name(selectable));
    return type;
  }
  Result<SelectorPtr> map(TypePtr type, const std::vector<ast::MapOrUdtEntry>& literal) const {
    if (type->elements()[0]->kind() == TypeKind::kDuration)
      return invalid("Durations are not allowed as map keys: " + type->cql_name());
    std::vector<SortedSelector::Entry> entries;
    for (const auto& [key, mapped] : literal) {
      auto& entry = entries.emplace_back();
      ASSIGN_OR_RETURN(entry.key, builder.build(key, type->elements()[0]));
      ASSIGN_OR_RETURN(entry.mapped, builder.build(mapped, type->elements()[1]));
    }
    return SelectorPtr(std::make_unique<SortedSelector>(std::move(type), std::move(entries)));
  }
  Result<SelectorPtr> user_type(const ast::MapOrUdtSelectable& s) const {
    std::vector<SelectorPtr> parts(wanted->elements().size());
    for (const auto& entry : s.entries) {
      ASSIGN_OR_RETURN(size_t field, builder.field(entry, *wanted));
      ASSIGN_OR_RETURN(parts[field], builder.build(entry.value, wanted->elements()[field]));
    }
    return SelectorPtr(std::make_unique<TupleSelector>(wanted, std::move(parts), false));
  }
  Result<SelectorPtr> term(const ast::Term& term, TypePtr type) const {
    // Neither literals nor markers have a type of their own here.
    if (type == nullptr) return cannot_infer(source(term, builder.context()));
    ColumnSpec receiver{builder.table().keyspace, builder.table().name, "[selection]", type};
    ASSIGN_OR_RETURN(TermPtr prepared, prepare_term(term, receiver, builder.context()));
    builder.add_term(*prepared);
    return SelectorPtr(std::make_unique<TermSelector>(type, std::move(prepared)));
  }
  Result<SelectorPtr> call(const FunctionPtr& function, const std::vector<const ast::Selectable*>& arguments) const {
    ASSIGN_OR_RETURN(auto prepared, builder.arguments(*function, arguments));
    auto scalar = std::static_pointer_cast<const ScalarFunction>(function);
    return SelectorPtr(std::make_unique<FunctionSelector>(std::move(scalar), std::move(prepared)));
  }
  Result<SelectorPtr> collection(const ast::Selectable& selectable, const std::string& what) const {
    ASSIGN_OR_RETURN(SelectorPtr receiver, builder.build(selectable, nullptr));
    TypeKind kind = receiver->type()->kind();
    if (kind == TypeKind::kList) {
      return invalid((what[0] == 's' ? "Slice" : "Element") +
                     (" selection is only allowed on sets and maps, but " + builder.name(selectable)) + " is a list");
    }
    if (kind != TypeKind::kMap && kind != TypeKind::kSet) {
      return invalid("Invalid " + what + ": " + builder.name(selectable) +
                     (what[0] == 's' ? " of type " : " is of type ") + receiver->type()->cql_name() +
                     " is not a collection");
    }
    return receiver;
  }
  ColumnSpec key_spec(const ast::Selectable& selectable, const Type& type) const {
    std::string part = type.kind() == TypeKind::kSet ? "value(" : "key(";
    return {builder.table().keyspace, builder.table().name, part + builder.name(selectable) + ")", type.elements()[0]};
  }
};

}  // namespace

Result<SelectorPtr> SelectorBuilder::build(const ast::Selectable& selectable, const TypePtr& wanted) {
  return std::visit(BuildSelector{*this, selectable, wanted}, selectable.value);
}

}  // namespace cassandra_like
