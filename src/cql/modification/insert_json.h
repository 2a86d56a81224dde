// The JSON document of INSERT … JSON, as one term for each column (cql3.Json).
#pragma once

#include <memory>

#include "cql/expressions/term.h"

namespace cassandra_like {

class JsonColumns {
 public:
  virtual ~JsonColumns() = default;
  // Binds to the document's value for the column; where it has none, to null or, with DEFAULT UNSET, to unset.
  virtual TermPtr term(const Column* column) const = 0;

  // A literal is parsed at once, and its values checked.
  static Result<std::unique_ptr<JsonColumns>> prepare(const TablePtr& table, const ast::InsertJson& insert,
                                                      PrepareContext& context);
};

}  // namespace cassandra_like
