// The JSON document of INSERT … JSON, as one term for each column (cql3.Json).
#pragma once

#include <memory>

#include "cql/expressions/term.h"

namespace cassandra_like {

class JsonColumns {
 public:
  // A literal is parsed at once, and its values checked.
  static Result<JsonColumns> prepare(const TablePtr& table, const ast::InsertJson& insert, PrepareContext& context);

  // Binds to the document's value for the column; where it has none, to null or, with DEFAULT UNSET, to unset.
  TermPtr term(const Column* column) const;

 private:
  class Document;
  class ColumnTerm;
  JsonColumns(std::shared_ptr<const Document> document, bool default_unset);

  std::shared_ptr<const Document> document_;
  bool default_unset_;
};

}  // namespace cassandra_like
