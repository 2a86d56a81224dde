// DDL and DESCRIBE against what a real Cassandra answered: data/ddl_answers.txt, made by oracle/ddl_oracle.py.
#include "cql/schema_statements.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "cql/describe.h"
#include "cql/parser.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

using Lines = std::vector<std::string>;

// A connection to a node that is nothing but a schema; configured as the node that was asked.
class SchemaSession {
 public:
  SchemaSession() : schema_(builtin_schema()) {
    options_.default_compaction = {{"class", "org.apache.cassandra.db.compaction.UnifiedCompactionStrategy"},
                                   {"max_sstables_to_compact", "64"},
                                   {"min_sstable_size", "100MiB"},
                                   {"scaling_parameters", "T4"},
                                   {"sstable_growth", "0.3333333333333333"},
                                   {"target_sstable_size", "1GiB"}};
    options_.memtable_configurations = {"default", "skiplist", "trie"};
  }

  // In the form of the data file, without the leading bars.
  Lines answer(const std::string& text) {
    auto tree = parse_statement(text);
    if (!tree.ok()) return error(tree.error());
    if (const auto* use = std::get_if<ast::Use>(&tree->body)) {
      keyspace_ = use->keyspace;
      return {"USED " + keyspace_};
    }
    if (const auto* describe = std::get_if<ast::Describe>(&tree->body)) return rows(*describe);
    return change(*tree, text);
  }

 private:
  static Lines split(const std::string& text) {
    Lines lines;
    size_t start = 0;
    for (size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
      lines.push_back(text.substr(start, end - start));
    }
    lines.push_back(text.substr(start));
    return lines;
  }

  static Lines error(const Error& error) {
    char code[8];
    std::snprintf(code, sizeof code, "%04x", static_cast<unsigned>(error.code()));
    std::string where =
        error.code() == ErrorCode::kAlreadyExists ? " {" + error.info().keyspace + ", " + error.info().table + "}" : "";
    return split("ERROR " + std::string(code) + where + " " + error.message());
  }

  static std::string normalized(std::string text) {
    static const std::regex kId("ID = [0-9a-f]{8}-[0-9a-f-]{27}"), kTime("USING TIMESTAMP 1[0-9]{15}\\b");
    text = std::regex_replace(text, kId, "ID = <id>");
    return std::regex_replace(text, kTime, "USING TIMESTAMP <time>");
  }

  Lines rows(const ast::Describe& describe) {
    using Kind = ast::Describe::Kind;
    auto elements = described_elements(describe, *schema_, keyspace_);
    if (!elements.ok()) return error(elements.error());
    bool listing = describe.kind == Kind::kTables || describe.kind == Kind::kTypes ||
                   describe.kind == Kind::kFunctions || describe.kind == Kind::kAggregates;
    Lines lines{listing ? "ROWS keyspace_name, type, name" : "ROWS keyspace_name, type, name, create_statement"};
    for (const SchemaElement& element : *elements) {
      lines.push_back(quote_identifier(element.keyspace->name));
      lines.push_back(element.type_name());
      lines.push_back(quote_identifier(element.name()));
      if (listing) continue;
      for (std::string& line : split(normalized(element.create_statement(describe.with_internals)))) {
        lines.push_back(std::move(line));
      }
    }
    return lines;
  }

  Lines change(const ast::Statement& tree, const std::string& text) {
    PrepareContext context(schema_, keyspace_, text, tree.bind_variables, options_);
    auto prepared = prepare_schema_statement(tree, context);
    if (!prepared.ok()) return error(prepared.error());
    const auto& statement = static_cast<const SchemaStatement&>(**prepared);
    Status checked = statement.check(false, *schema_);
    if (!checked.ok()) return error(checked.error());
    SchemaChangeInput input;
    input.options = &options_;
    input.nodes = {{"datacenter1", 1}};
    input.timestamp_micros = 1700000000000000;
    input.table_id = Uuid::random(7, ++last_id_);
    auto diff = statement.apply(schema_, input);
    if (!diff.ok()) return error(diff.error());
    Lines lines{"VOID"};
    if (!diff->events.empty()) {
      const SchemaEvent& event = diff->events[0];
      lines[0] = "CHANGED " + event.change + " " + event.target + " " + event.keyspace;
      if (!event.name.empty()) lines[0] += " " + event.name;
    }
    schema_ = diff->schema;
    for (const std::string& warning : input.warnings) lines.push_back("WARNING " + warning);
    return lines;
  }

  SchemaPtr schema_;
  CqlOptions options_;
  std::string keyspace_;
  uint64_t last_id_ = 0;
};

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(SchemaStatements, AnswerAsCassandra) {
  std::ifstream in(SOURCE_DIR "/tests/cql/data/ddl_answers.txt");
  ASSERT_TRUE(in.good());
  SchemaSession session;
  std::string statement;
  Lines expected;
  size_t count = 0;
  auto compare = [&] {
    if (statement.empty()) return;
    ++count;
    EXPECT_EQ(joined(session.answer(statement)), joined(expected)) << statement;
    expected.clear();
    statement.clear();
  };
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("> ")) {
      compare();
      statement = line.substr(2);
    } else if (line.starts_with("|")) {
      expected.push_back(line.size() > 2 ? line.substr(2) : "");
    }
  }
  compare();
  EXPECT_GT(count, 400u);
}

}  // namespace
}  // namespace cassandra_like
