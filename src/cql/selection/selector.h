// Builds Selectors for one SELECT clause and remembers which columns it uses.
#pragma once

#include <unordered_map>

#include "cql/selection/selection.h"

namespace cassandra_like {

class SelectorBuilder {
 public:
  SelectorBuilder(const TableMetadata& table, PrepareContext& context) : table_(table), context_(context) {}

  const TableMetadata& table() const { return table_; }
  PrepareContext& context() const { return context_; }
  const std::vector<const Column*>& used() const { return used_; }

  // Finds columns and functions, which Cassandra does before it looks at anything else of the clause.
  // entries: also in literals that may be of user types. A possible name of a field is no column there.
  Status resolve_names(const ast::Selectable& selectable, bool entries = false);

  // The field of a user type that an entry names.
  Result<size_t> field(const ast::MapOrUdtEntry& entry, const Type& type);

  Result<const Column*> column(const std::string& name);
  // wanted: the type it is for, where that is known (a function's argument, a hint), else nullptr.
  Result<SelectorPtr> build(const ast::Selectable& selectable, const TypePtr& wanted);
  // The type that it fits best: of a literal the one that it would have by itself. nullptr: none, as of markers and null.
  Result<TypePtr> type_of(const ast::Selectable& selectable);
  // The only type that it can be of: nullptr for literals, too, and for what is made of nothing else.
  Result<TypePtr> exact_type(const ast::Selectable& selectable);
  // The type of a selectable that has the same one wherever it stands.
  Result<TypePtr> type_when_built(const ast::Selectable& selectable);
  // kInvalid when such a selectable cannot be of that kind of type at all.
  Result<Assignable> assignable(const ast::Selectable& selectable, const TypePtr& receiver);
  // The same for an argument of a function. Their parameters are frozen here, which columns need not be.
  Result<Assignable> passable(const ast::Selectable& selectable, const TypePtr& parameter);
  // The arguments as the resolution of functions wants them.
  Result<std::vector<CallArgument>> call_arguments(const std::vector<const ast::Selectable*>& selectables);
  Result<FunctionPtr> resolve(const ast::QualifiedName& name, const std::vector<const ast::Selectable*>& arguments);
  Result<std::vector<SelectorPtr>> arguments(const Function& function,
                                             const std::vector<const ast::Selectable*>& arguments);
  // A call of an aggregate as the place of its result.
  Result<SelectorPtr> aggregate(const FunctionPtr& function, const std::vector<const ast::Selectable*>& arguments);
  std::vector<AggregateCall> take_aggregates() { return std::move(aggregates_); }
  void add_bound(SelectedBound bound) {
    is_pure_ = is_pure_ && bound.term->is_pure();
    bounds_.push_back(std::move(bound));
  }
  std::vector<SelectedBound> take_bounds() { return std::move(bounds_); }
  // Nothing that was built depends on more than the row and the bound values.
  bool is_pure() const { return is_pure_; }
  void add_term(const Term& term) { is_pure_ = is_pure_ && term.is_pure(); }
  // Cassandra's text for it: the name of the result column without an alias, and in error messages.
  std::string name(const ast::Selectable& selectable);

 private:
  const TableMetadata& table_;
  PrepareContext& context_;
  std::vector<const Column*> used_;
  std::vector<AggregateCall> aggregates_;
  std::vector<SelectedBound> bounds_;
  bool is_pure_ = true;
  bool in_aggregate_ = false;
  // Each call asks for the types of its arguments, and these ask for theirs. Without this memory a type would be
  // computed once for each path through the calls.
  std::unordered_map<const ast::Selectable*, Result<TypePtr>> built_types_;
};

}  // namespace cassandra_like
