#include "cql/restrictions/restrictions.h"

#include <algorithm>
#include <set>

#include "cql/context/named_column.h"
#include "cql/expressions/term_internal.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

constexpr char kNeedsFiltering[] =
    "Cannot execute this query as it might involve data filtering and thus may have unpredictable performance. "
    "If you want to execute this query despite the performance unpredictability, use ALLOW FILTERING";

const char* use_name(Restrictions::Use use) {
  return use == Restrictions::Use::kSelect ? "SELECT" : use == Restrictions::Use::kUpdate ? "UPDATE" : "DELETE";
}

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

// Goes through Cassandra's checks in its order (StatementRestrictions' constructor), so that of several mistakes the same
// one is reported.
class RestrictionsBuilder {
 public:
  RestrictionsBuilder(const TablePtr& table, const Restrictions::Options& options, PrepareContext& context)
      : table_(*table), options_(options), context_(context), result_(new Restrictions(table)) {
    result_->use_ = options.use;
  }

  Result<std::unique_ptr<Restrictions>> build(const ast::WhereClause& where) {
    for (const ast::Relation& relation : where.relations) TRY(add(relation));
    if (!where.expressions.empty()) return invalid("Custom index expressions are not supported yet");
    if (is_select()) find_index();
    TRY(process_partition_key());
    if (options_.selects_only_static_columns && !result_->clustering_.empty()) {
      return invalid(is_select() ? "Cannot restrict clustering columns when selecting only static columns"
                                 : "Invalid restrictions on clustering columns since the " +
                                       std::string(use_name(options_.use)) + " statement modifies only static columns");
    }
    TRY(process_clustering());
    TRY(process_others());
    if (uses_index_) {
      result_->index_ = index_;
      result_->needs_filtering_ = true;
      if (result_->key_has_in()) {
        return invalid("Select on indexed columns and with IN clause for the PRIMARY KEY are not supported");
      }
    }
    result_->lacks_allow_filtering_ = lacks_allow_filtering();
    return std::unique_ptr<Restrictions>(std::move(result_));
  }

 private:
  bool is_select() const { return options_.use == Restrictions::Use::kSelect; }
  bool requires_allow_filtering() const { return !options_.allow_filtering && !table_.is_virtual; }

  Status add(const ast::Relation& relation) {
    bool contains = relation.op == ast::Operator::kContains || relation.op == ast::Operator::kContainsKey;
    if (contains && !is_select()) {
      return invalid(std::string("Cannot use ") + use_name(options_.use) + " with " +
                     (relation.op == ast::Operator::kContains ? "CONTAINS" : "CONTAINS KEY"));
    }
    if (relation.target == ast::Relation::Target::kToken) return add_token(relation);
    ASSIGN_OR_RETURN(Restriction restriction, prepare_relation(table_, relation, context_));
    switch (restriction.first()->kind) {
      case ColumnKind::kPartitionKey:
        return add_key(std::move(restriction));
      case ColumnKind::kClustering:
        return add_clustering(std::move(restriction));
      default:
        return add_other(std::move(restriction));
    }
  }

  Status add_key(Restriction restriction) {
    auto& slot = result_->key_[static_cast<size_t>(restriction.first()->position)];
    if (slot) return merge_restriction(*slot, std::move(restriction));
    slot = std::move(restriction);
    return {};
  }

  Status add_other(Restriction restriction) {
    for (Restriction& other : result_->others_) {
      if (other.first() == restriction.first()) return merge_restriction(other, std::move(restriction));
    }
    result_->others_.push_back(std::move(restriction));
    return {};
  }

  Status add_clustering(Restriction restriction) {
    auto& list = result_->clustering_;
    const Column* column = restriction.first();
    bool has_index = is_select() && restriction.supporting_index(table_) != nullptr;
    bool is_slice = restriction.is_slice();
    const Restriction* last = list.empty() ? nullptr : &list.back();
    bool last_is_slice = last != nullptr && last->is_slice();
    const Column* last_column = last == nullptr ? nullptr : last->first();
    auto same = std::find_if(list.begin(), list.end(), [&](const Restriction& r) {
      return std::any_of(restriction.columns.begin(), restriction.columns.end(),
                         [&](const Column* c) { return r.covers(c); });
    });
    if (same != list.end()) {
      TRY(merge_restriction(*same, std::move(restriction)));
    } else {
      auto after = std::find_if(list.begin(), list.end(),
                                [&](const Restriction& r) { return r.first()->position > column->position; });
      list.insert(after, std::move(restriction));
    }
    if (last == nullptr || options_.allow_filtering || has_index) return {};
    if (last_is_slice && column->position > last_column->position) {
      return invalid("Clustering column \"" + column->name + "\" cannot be restricted (preceding column \"" +
                     last_column->name + "\" is restricted by a non-EQ relation)");
    }
    if (column->position < last_column->position && is_slice) {
      auto next = std::find_if(list.begin(), list.end(),
                               [&](const Restriction& r) { return r.first()->position > column->position; });
      return invalid("PRIMARY KEY column \"" + next->first()->name + "\" cannot be restricted (preceding column \"" +
                     column->name + "\" is restricted by a non-EQ relation)");
    }
    return {};
  }

  static Status check_token_columns(const std::vector<std::string>& columns, const std::vector<std::string>& key) {
    if (columns == key) return {};
    const std::set<std::string> distinct(columns.begin(), columns.end()), wanted(key.begin(), key.end());
    if (!std::includes(distinct.begin(), distinct.end(), wanted.begin(), wanted.end()))
      return invalid("The token() function must be applied to all partition key components or none of them");
    if (distinct.size() < columns.size())
      return invalid("The token() function contains duplicate partition key components");
    if (distinct != wanted) return invalid("The token() function must contains only partition key components");
    return invalid("The token function arguments must be in the partition key order: " + join(key));
  }

  Status add_token(const ast::Relation& relation) {
    if (relation.op == ast::Operator::kNeq) {
      std::vector<std::string> names;
      for (const std::string& name : relation.columns) names.push_back(quote_identifier(name));
      return invalid("Unsupported \"!=\" relation: token(" + join(names) + ") != " + source(relation.value, context_));
    }
    std::vector<std::string> key_names;
    for (const ColumnPtr& column : table_.partition_key) key_names.push_back(column->name);
    for (const std::string& name : relation.columns) TRY(named_column(table_, name));
    TRY(check_token_columns(relation.columns, key_names));
    ColumnSpec receiver{table_.keyspace, table_.name, "partition key token", types::bigint()};
    ASSIGN_OR_RETURN(TermPtr value, prepare_term(relation.value, receiver, context_));
    TokenRestriction& token = result_->token_;
    std::string columns = join(key_names);
    if (token.equal != nullptr) {
      return invalid(columns + " cannot be restricted by more than one relation if it includes an Equal");
    }
    using Op = ast::Operator;
    if (relation.op == Op::kEq) {
      if (!token.empty())
        return invalid(columns + " cannot be restricted by more than one relation if it includes an Equal");
      token.equal = std::move(value);
      return {};
    }
    bool start = relation.op == Op::kGt || relation.op == Op::kGte;
    if (!start && relation.op != Op::kLt && relation.op != Op::kLte) {
      return invalid("IN cannot be used with the token function");
    }
    auto& bound = start ? token.start : token.end;
    if (bound) {
      return invalid(std::string("More than one restriction was found for the ") + (start ? "start" : "end") +
                     " bound on " + columns);
    }
    bound = TokenRestriction::Bound();
    bound->value = std::move(value);
    bound->inclusive = relation.op == Op::kGte || relation.op == Op::kLte;
    return {};
  }

  // The index that is used if any is: of the restrictions on other columns first.
  void find_index() {
    auto consider = [this](const Restriction& restriction) {
      if (index_ != nullptr) return;
      index_ = restriction.supporting_index(table_);
      if (index_ != nullptr) result_->indexed_ = &restriction;
    };
    for (const Restriction& restriction : result_->others_) consider(restriction);
    for (const Restriction& restriction : result_->clustering_) {
      consider(restriction);
      has_clustering_index_ = has_clustering_index_ || restriction.supporting_index(table_) != nullptr;
    }
    for (const auto& restriction : result_->key_) {
      if (restriction) consider(*restriction);
    }
  }

  Status process_partition_key() {
    std::vector<std::string> missing;
    bool any = false, slice = false, contains = false, is_one_key = true;
    for (size_t i = 0; i < result_->key_.size(); ++i) {
      const auto& restriction = result_->key_[i];
      is_one_key = is_one_key && restriction && restriction->is_one_value();
      if (!restriction) {
        missing.push_back(table_.partition_key[i]->name);
        continue;
      }
      any = true;
      slice = slice || restriction->is_slice();
      contains = contains || restriction->kind == Restriction::Kind::kContains;
    }
    result_->has_only_partition_key_ = is_one_key && result_->token_.empty();
    const char* use = use_name(options_.use);
    if (!is_select()) {
      if (!result_->token_.empty()) {
        return invalid(std::string("The token function cannot be used in WHERE clauses for ") + use + " statements");
      }
      if (!missing.empty()) return invalid("Some partition key parts are missing: " + join(missing));
      if (slice) {
        return invalid(std::string("Only EQ and IN relation are supported on the partition key (unless you use the "
                                   "token() function) for ") +
                       use + " statements");
      }
      return {};
    }
    // With every column given, the token only has a say in which of the keys are read.
    bool given = missing.empty() && !slice && !contains;
    if (!result_->token_.empty() && !given) {
      result_->is_key_range_ = true;
      result_->key_in_filter_ = any;
    }
    if (!any) {
      result_->is_key_range_ = true;
      uses_index_ = index_ != nullptr && result_->token_.empty();
      return {};
    }
    if (given) return {};
    if (requires_allow_filtering() && index_ == nullptr) return invalid(kNeedsFiltering);
    result_->is_key_range_ = true;
    result_->key_in_filter_ = true;
    result_->needs_filtering_ = true;
    uses_index_ = index_ != nullptr;
    for (const auto& restriction : result_->key_) {
      if (restriction) filtered_.push_back(&*restriction);
    }
    return {};
  }

  Status process_clustering() {
    auto& list = result_->clustering_;
    bool slice = std::any_of(list.begin(), list.end(), [](const Restriction& r) { return r.is_slice(); });
    bool contains = std::any_of(list.begin(), list.end(),
                                [](const Restriction& r) { return r.kind == Restriction::Kind::kContains; });
    if (options_.use == Restrictions::Use::kUpdate) {
      if (slice) return invalid("Slice restrictions are not supported on the clustering columns in UPDATE statements");
      std::vector<std::string> missing;
      for (const ColumnPtr& column : table_.clustering) {
        if (std::none_of(list.begin(), list.end(), [&](const Restriction& r) { return r.covers(column.get()); })) {
          missing.push_back(column->name);
        }
      }
      // Rows of tables with COMPACT STORAGE may lack their last clusterings.
      if (table_.flags.is_compact_table() && !list.empty()) return check_no_gap();
      if (!options_.selects_only_static_columns && !missing.empty()) {
        return invalid("Some clustering keys are missing: " + join(missing));
      }
      return {};
    }
    if (contains && index_ == nullptr && !options_.allow_filtering) {
      return invalid("Clustering columns can only be restricted with CONTAINS with a secondary index or filtering");
    }
    if (!list.empty() && result_->clustering_needs_filtering()) {
      if (is_select() && index_ != nullptr) {
        uses_index_ = true;
      } else if (!options_.allow_filtering) {
        TRY(check_no_gap());
      }
      result_->needs_filtering_ = true;
    }
    if (result_->is_key_range_ && has_clustering_index_) uses_index_ = true;
    if (uses_index_ || result_->clustering_needs_filtering()) {
      for (const Restriction& restriction : list) filtered_.push_back(&restriction);
    }
    return {};
  }

  Status check_no_gap() const {
    size_t i = 0;
    for (const Restriction& restriction : result_->clustering_) {
      for (const Column* column : restriction.columns) {
        const Column* expected = table_.clustering[i++].get();
        if (column == expected) continue;
        return invalid("PRIMARY KEY column \"" + column->name + "\" cannot be restricted as preceding column \"" +
                       expected->name + "\" is not restricted");
      }
    }
    return {};
  }

  Status process_others() {
    if (result_->others_.empty()) return {};
    if (!is_select()) {
      std::vector<std::string> names;
      for (const Restriction& restriction : result_->others_) names.push_back(restriction.first()->name);
      return invalid("Non PRIMARY KEY columns found in where clause: " + join(names) + " ");
    }
    if (index_ != nullptr) {
      uses_index_ = true;
    } else if (requires_allow_filtering()) {
      return invalid(kNeedsFiltering);
    }
    result_->needs_filtering_ = true;
    for (const Restriction& restriction : result_->others_) filtered_.push_back(&restriction);
    return {};
  }

  // Conditions beyond what the key, the slices and one index answer.
  bool lacks_allow_filtering() const {
    if (!is_select() || !requires_allow_filtering() || (!result_->is_key_range_ && !uses_index_)) return false;
    bool filters = filtered_.empty() && !result_->clustering_.empty();
    for (const Restriction* restriction : filtered_) {
      bool by_index = restriction->supporting_index(table_) == index_ && index_ != nullptr;
      by_index = by_index && restriction->columns.size() == 1;  // an index is of one column
      filters = filters || !by_index || restriction->contains.size() > 1;
    }
    return filters;
  }

  const TableMetadata& table_;
  const Restrictions::Options& options_;
  PrepareContext& context_;
  std::unique_ptr<Restrictions> result_;
  const IndexMetadata* index_ = nullptr;
  bool has_clustering_index_ = false;
  bool uses_index_ = false;
  std::vector<const Restriction*> filtered_;
};

Status Restrictions::check_filtering() const {
  return lacks_allow_filtering_ ? Status(invalid(kNeedsFiltering)) : Status();
}

Result<std::unique_ptr<Restrictions>> Restrictions::prepare(const TablePtr& table, const ast::WhereClause& where,
                                                            const Options& options, PrepareContext& context) {
  return RestrictionsBuilder(table, options, context).build(where);
}

}  // namespace cassandra_like
