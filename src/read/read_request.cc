#include "read/read_request.h"

#include <algorithm>

namespace cassandra_like {

bool ReadRequest::counts_static_rows() const {
  if (!command.slices.empty()) return false;
  if (!command.wants_rows && !is_names) return false;  // no slice at all is not the whole partition
  return std::none_of(command.filter.begin(), command.filter.end(), [](const FilterExpression& e) {
    return e.column->kind == ColumnKind::kClustering || e.column->kind == ColumnKind::kRegular;
  });
}

}  // namespace cassandra_like
