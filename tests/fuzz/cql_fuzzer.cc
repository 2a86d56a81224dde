// Any bytes are a statement or an error with a message, and parsing ends soon.
//
//   build/fuzz/cql_fuzzer corpus/    with the statements of tests/cql/data as a start, one a file
#include "cql/syntax/parser.h"
#include "tests/cql/ast_printer.h"
#include "tests/fuzz/fuzz_target.h"

namespace cassandra_like {

FUZZ_TARGET(cql) {
  auto statement = parse_statement(input);
  if (!statement.ok()) return CHECK(!statement.error().message().empty());
  // Copying and printing visit the whole tree.
  print(ast::Statement(*statement));
}

}  // namespace cassandra_like
