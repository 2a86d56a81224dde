// A connection to a node that is nothing but a schema: DDL and DESCRIBE without storage, network or time.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "cql/schema/describe.h"
#include "cql/schema/schema_statement.h"
#include "cql/syntax/parser.h"
#include "model/values.h"
#include "schema/system_tables.h"

namespace cassandra_like {

using Lines = std::vector<std::string>;

// Configured as the Cassandra that data/ddl_answers.txt is from, which has one node in data center datacenter1.
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

  const SchemaPtr& schema() const { return schema_; }
  void use(SchemaPtr schema) { schema_ = std::move(schema); }
  // The events of the last statement that changed anything.
  const std::vector<SchemaEvent>& events() const { return events_; }

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
    input.ring = ring_;
    input.write_micros = 1700000000000000;
    input.table_id = Uuid::random(7, ++last_id_);
    auto next = statement.apply(schema_, input);
    if (!next.ok()) return error(next.error());
    Lines lines{"VOID"};
    std::vector<SchemaEvent> events = schema_events(*schema_, **next);
    if (!events.empty()) {
      statement.put_own_first(events);
      events_ = std::move(events);
      const SchemaEvent& event = events_[0];
      lines[0] = "CHANGED " + event.change + " " + event.target + " " + event.keyspace;
      if (!event.name.empty()) lines[0] += " " + event.name;
    }
    schema_ = *next;
    for (const std::string& warning : input.warnings) lines.push_back("WARNING " + warning);
    return lines;
  }

  // A ring of one node.
  static std::shared_ptr<const TokenRing> make_ring() {
    Endpoint node;
    node.datacenter = "datacenter1";
    node.tokens = {0};
    return std::make_shared<TokenRing>(std::vector<Endpoint>{node}, 0);
  }

  std::shared_ptr<const TokenRing> ring_ = make_ring();
  SchemaPtr schema_;
  std::vector<SchemaEvent> events_;
  CqlOptions options_;
  std::string keyspace_;
  uint64_t last_id_ = 0;
};

}  // namespace cassandra_like
