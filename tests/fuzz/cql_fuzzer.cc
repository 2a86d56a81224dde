// Any bytes are a statement or an error with a message, and parsing ends soon.
//
//   build/fuzz/cql_fuzzer corpus/    with the statements of tests/cql/data as a start, one a file
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cql/parser.h"
#include "tests/cql/ast_printer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cassandra_like;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto statement = parse_statement(text);
  if (!statement && statement.error().message().empty()) std::abort();
  // Copying and printing visit the whole tree.
  if (statement) print(ast::Statement(*statement));
  return 0;
}
