// GROUP BY: which rows form one row of the result, and what is computed of them (db.aggregation, cql3.selection).
//
// Groups are consecutive rows. The row of a group is computed when it ends: of its first row, which is kept, and of the
// results of the aggregates.
#pragma once

#include <optional>

#include "cql/selection/selection.h"

namespace cassandra_like {

// By partition and this many clustering columns; with a function, by its value in place of the last of them.
struct Grouping {
  size_t clustering_columns = 0;
  SelectorPtr function;
  std::optional<Error> refusal;  // of a function that does not keep the order of rows: told when the statement runs
};

class Restrictions;
Result<Grouping> prepare_grouping(const ast::Select& select, const TablePtr& table, const Restrictions& restrictions,
                                  PrepareContext& context);

class GroupCollector {
 public:
  // Without a grouping, all rows are of one group.
  GroupCollector(const TableMetadata& table, const Selection& selection, const Grouping* grouping);

  bool is_open() const { return is_open_; }
  bool is_one_group() const { return grouping_ == nullptr; }
  // Whether the row belongs to another group than the one before.
  Result<bool> begins_group(const InputRow& row);
  // Opens a group if none is.
  Status add(const InputRow& row);
  // The group as its first row and the aggregates' results; valid until the next group opens. There is one of no rows at all, too.
  Result<InputRow> close(ExecutionContext& context);

 private:
  void open(const InputRow& row);

  const TableMetadata& table_;
  const Selection& selection_;
  const Grouping* grouping_;
  bool is_open_ = false;
  std::vector<std::unique_ptr<AggregateFunction::State>> states_;

  // The first row of the group.
  Arena arena_{1024};
  std::vector<BytesView> key_;
  DecoratedKey decorated_key_;
  Row static_row_;
  std::optional<Row> row_;
  std::vector<BytesView> results_;

  // The group of the last row.
  bool seen_any_ = false;
  Bytes last_key_;
  std::optional<std::vector<Bytes>> last_clustering_;  // none: of the static row
};

}  // namespace cassandra_like
