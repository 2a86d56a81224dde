// The recursive-descent parser behind parser.h. Private to the parser*.cc files: each has the rules of one area.
//
// A rule is a method that reads its part of the text into the struct it is given and says whether it could; once one
// says no, the parse is over and error_ says why. Rules are named after those of Cassandra's grammar where they are
// alike, and decide by the same tokens as its generated parser: which of two errors a text has, and which token it
// points at, depends on how far the parser had looked ahead.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/result.h"
#include "cql/syntax/ast.h"
#include "cql/syntax/keywords.h"
#include "cql/syntax/lexer.h"
#include "cql/syntax/parser.h"

namespace cassandra_like {

// The complaint of an ANTLR parser about a token that does not fit.
struct SyntaxError {
  enum class Kind : uint8_t { kNoViableAlternative, kMismatched, kMismatchedSet };
  Kind kind = Kind::kNoViableAlternative;
  SyntaxToken found;
  Tok expected = Tok::kEnd;  // kMismatched
  SyntaxToken highlighted;   // where the failed decision began
  SyntaxToken last_seen;     // the last token looked at so far
};
Error to_error(std::string_view text, const SyntaxError& error);
Error to_error(std::string_view text, const Lexer& lexer);
// For what no grammar rule is about: "line 1:7 <what>".
Error syntax_error_at(std::string_view text, uint32_t offset, std::string_view what);

class Parser {
 public:
  Parser(std::string_view text, Dialect dialect);

  bool query(ast::Statement& out);
  template <class T>
  bool whole(bool (Parser::*rule)(T&), T& out) {
    return (this->*rule)(out) && expect(Tok::kEnd) && !error_;
  }
  Error take_error() { return std::move(*error_); }

  void check_custom_type(const std::string& class_name);
  bool comparator_type(ast::TypeName& out);
  bool term(ast::Term& out);
  bool where_clause(ast::WhereClause& out);

 private:
  // --- Tokens (parser.cc) ---
  void take_using_timeout();
  Tok peek(size_t k = 0) {
    size_t i = std::min(pos_ + k, tokens_.size() - 1);
    if (i > seen_) seen_ = i;
    return tokens_[i].kind;
  }
  const SyntaxToken& current() const { return tokens_[pos_]; }
  void advance() {
    if (pos_ + 1 < tokens_.size()) ++pos_;
    if (pos_ > seen_) seen_ = pos_;
  }
  // Cassandra's parser, when it needs more than a glance to choose between rules, steps over all tokens it has looked
  // at, and so sees one more. The text behind them is part of an error's snippet, and an error itself if it is no token.
  bool decided(size_t tokens) {
    peek(tokens);
    return true;
  }
  bool at(Tok token) { return peek() == token; }
  bool accept(Tok token) {
    if (peek() != token) return false;
    advance();
    return true;
  }
  bool expect(Tok token) { return accept(token) || fail_mismatched(token); }
  bool expect(Tok first, Tok second) { return expect(first) && expect(second); }
  // The value of the current token, which must be `token`.
  bool expect_value(Tok token, std::string& out);
  std::string value() const { return token_value(text_, current()); }
  // Items with commas between them.
  template <class F>
  bool list(F item) {
    do {
      if (!item()) return false;
    } while (accept(Tok::kComma));
    return true;
  }

  // --- Errors (parser.cc); all return false ---
  bool fail_no_viable(size_t k = 0);        // at the token k further on, in a decision that began here
  bool fail_no_viable_since(size_t start);  // here, in a decision that began at token `start`
  bool fail_mismatched(Tok expected);
  bool fail_mismatched_set();
  bool has_seen_lexical_error() const { return tokens_[seen_].kind == Tok::kLexicalError; }
  bool fail_syntax(SyntaxError::Kind kind, size_t found, Tok expected, size_t highlighted);
  // Fails whatever else was found: Cassandra throws it.
  bool fail_with(Error error);
  // The text is wrong, but parsing goes on: the first error is the one reported.
  void note(std::string message);

  // --- Attempts: rules that may fail, after which another reads the same tokens ---
  struct Attempt {
    size_t pos;
    size_t markers;
    bool had_error;
  };
  Attempt begin_attempt();
  bool end_attempt(const Attempt& attempt, bool success);

  // --- Nesting ---
  class Nested {
   public:
    explicit Nested(Parser& parser) : parser_(parser) { ++parser_.depth_; }
    ~Nested() { --parser_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Parser& parser_;
  };
  bool fail_limit(const char* what);
  bool check_depth();
  // Counts an operator or modifier of the outermost term or selectable.
  bool count_operator();
  // Counts a term or selectable of the statement.
  bool count_term();

  // --- Statements (parser.cc) ---
  bool statement(ast::Statement::Body& out);
  bool create_statement(ast::Statement::Body& out);
  bool alter_statement(ast::Statement::Body& out);
  bool drop_statement(ast::Statement::Body& out);
  bool list_statement(ast::Statement::Body& out);
  bool grant_or_revoke_statement(ast::Statement::Body& out);
  // Chosen by so many tokens.
  template <class S>
  bool read(bool (Parser::*rule)(S&), ast::Statement::Body& out, size_t tokens = 2) {
    return decided(tokens) && (this->*rule)(out.emplace<S>());
  }
  bool if_not_exists(bool& out);
  bool if_exists(bool& out);

  // --- Names (parser_name.cc) ---
  bool name(const TokenSet& allowed, std::string& out);
  bool ident(std::string& out) { return name(kNames, out); }
  bool column_ident(std::string& out) { return name(kColumnNames, out); }
  bool bindable_name(const char* kind, std::string& out);
  bool keyspace_name(std::string& out) { return bindable_name("keyspace", out); }
  bool qualified_name(const TokenSet& follow, const char* kind, ast::QualifiedName& out);
  bool table_name(ast::QualifiedName& out);
  bool index_name(ast::QualifiedName& out);
  bool user_type_name(ast::QualifiedName& out);
  bool type_ident(std::string& out);
  bool function_name(ast::QualifiedName& out);
  bool local_function_name(std::string& out);
  bool role_name(std::string& out);
  bool deprecated_name(const char* complaint, std::string& out);

  // --- Types (parser_name.cc) ---
  bool native_type(ast::TypeName& out);
  bool parametrized_type(ast::TypeName::Kind kind, ast::TypeName& out);
  bool frozen_type(ast::TypeName& out);
  bool type_list(std::vector<ast::TypeName>& out);
  bool starts_type();

  // --- Terms (parser_term.cc) ---
  bool term_addition(ast::Term& out);
  bool term_multiplication(ast::Term& out);
  bool term_group(ast::Term& out);
  bool simple_term(ast::Term& out);
  bool cast_term(ast::Term& out);
  bool type_hint_term(ast::Term& out);
  bool value_term(ast::Term& out);
  bool function(ast::Term& out);
  bool constant(ast::Literal& out);
  bool bind_marker(ast::BindMarker& out);
  bool marker_term(ast::Term& out);
  bool array_literal(ast::Term& out);
  bool brace_literal(ast::Term& out);
  bool udt_literal(ast::Term& out);
  bool tuple_literal(ast::Term& out);
  bool full_map_literal(ast::MapLiteral& out);
  bool int_value(ast::Term& out);
  bool continues_addition(bool& out);
  enum class TermKind : uint8_t { kValue, kFunction, kTypeHint, kCast };
  bool decide_simple_term(TermKind& out);
  bool decide_parenthesized(TermKind& out);
  bool decide_after_string(TermKind& out);
  bool decide_after_name(Tok first, TermKind& out);
  bool decide_function(bool& has_arguments);
  bool term_list(std::vector<ast::Term>& out);
  bool starts_term(size_t k = 0);
  void locate(size_t first_token, uint32_t& offset, uint32_t& length) const;

  // --- SELECT (parser_select.cc) ---
  bool select_statement(ast::Select& out);
  bool select_clause(bool& distinct, std::vector<ast::Selector>& out);
  bool selectors(std::vector<ast::Selector>& out);
  bool selector(ast::Selector& out);
  bool selectable(ast::Selectable& out);
  bool selection_multiplication(ast::Selectable& out);
  bool selection_group(ast::Selectable& out);
  bool selection_group_without_field(ast::Selectable& out);
  bool selector_modifiers(size_t first_token, ast::Selectable& out);
  bool collection_sub_selection(ast::Selectable& out);
  bool selection_type_hint(ast::Selectable& out);
  bool selection_parentheses(ast::Selectable& out);
  bool selection_list(ast::Selectable& out);
  bool selection_map_or_set(ast::Selectable& out);
  bool simple_unaliased_selector(ast::Selectable& out);
  bool selection_literal(ast::Selectable& out);
  bool selection_function(ast::Selectable& out);
  bool writetime_or_ttl(ast::WritetimeOrTtlSelectable::Kind kind, ast::Selectable& out);
  enum class SelectorKind : uint8_t { kColumn, kLiteral, kFunction };
  bool decide_simple_selector(SelectorKind& out);
  bool order_by_clause(ast::OrderBy& out);

  // --- WHERE and IF (parser_where.cc) ---
  bool relation_or_expression(ast::WhereClause& out);
  bool custom_index_expression(ast::CustomIndexExpression& out);
  bool relation(ast::Relation& out);
  bool column_relation(ast::Relation& out);
  bool token_relation(ast::Relation& out);
  bool tuple_relation(ast::Relation& out);
  bool tuple_in_values(ast::Relation& out);
  bool tuple_or_marker(ast::Term& out);
  bool decide_parenthesized_relation(bool& is_tuple);
  bool relation_type(ast::Operator& out);
  bool contains_operator(ast::Operator& out);
  bool in_values(ast::InValues& out);
  bool tuple_of_identifiers(std::vector<std::string>& out);
  bool update_conditions(ast::UpdateConditions& out);
  bool column_condition(ast::ColumnCondition& out);

  // --- INSERT, UPDATE, DELETE, BATCH (parser_modification.cc) ---
  bool modification(ast::Modification& out);
  bool insert_statement(ast::Modification& out);
  bool insert_columns(ast::Insert& out);
  bool insert_json(ast::InsertJson& out);
  bool using_clause(ast::Attributes& out);
  bool update_statement(ast::Update& out);
  bool column_operation(ast::Update& out);
  bool normal_column_operation(ast::Assignment& out);
  bool prefix_column_operation(ast::Assignment& out);
  void check_compatible(const ast::Assignment& assignment);
  bool delete_statement(ast::Delete& out);
  bool delete_operation(ast::Deletion& out);
  bool batch_statement(ast::Batch& out);
  bool truncate_statement(ast::Truncate& out);
  bool use_statement(ast::Use& out);

  // --- Schema (parser_schema.cc, parser_table.cc) ---
  bool property(ast::Properties& out);
  bool properties(ast::Properties& out);
  bool property_map(ast::Property::Map& out);
  bool create_keyspace(ast::CreateKeyspace& out);
  bool alter_keyspace(ast::AlterKeyspace& out);
  bool drop_keyspace(ast::DropKeyspace& out);
  bool create_table(ast::CreateTable& out);
  bool table_columns(ast::CreateTable& out);
  bool table_primary_key(ast::CreateTable& out);
  bool set_partition_key(ast::CreateTable& out, std::vector<std::string> key);
  bool partition_key(std::vector<std::string>& out);
  bool column_mask(ast::ColumnMask& out);
  bool decide_column_mask(bool& is_default);
  enum class TableProperty : uint8_t { kProperty, kCompactStorage, kClusteringOrder };
  bool decide_table_property(TableProperty& out);
  bool table_property(ast::CreateTable& out);
  bool view_property(ast::CreateView& out);
  bool clustering_orders(const char* kind, const ast::QualifiedName& owner, std::vector<ast::ClusteringOrder>& out);
  bool alter_table(ast::AlterTable& out);
  bool alter_table_change(ast::AlterTable& out);
  bool alter_column(ast::AlterTable& out);
  bool alter_column_mask(ast::AlterColumnMask& out);
  bool add_columns(ast::AddColumns& out);
  bool added_column(ast::ColumnDefinition& out);
  bool drop_columns(ast::DropColumns& out);
  bool drop_timestamp(ast::DropColumns& out);
  bool rename_columns(ast::RenameColumns& out);
  bool drop_table(ast::DropTable& out);
  bool create_type(ast::CreateType& out);
  bool alter_type(ast::AlterType& out);
  bool drop_type(ast::DropType& out);
  bool create_index(ast::CreateIndex& out);
  bool index_target(ast::IndexTarget& out);
  bool drop_index(ast::DropIndex& out);
  bool create_view(ast::CreateView& out);
  bool alter_view(ast::AlterView& out);
  bool drop_view(ast::DropView& out);
  bool create_trigger(ast::CreateTrigger& out);
  bool drop_trigger(ast::DropTrigger& out);
  bool create_function(ast::CreateFunction& out);
  bool drop_function(ast::DropFunction& out);
  bool create_aggregate(ast::CreateAggregate& out);

  // --- Roles and permissions (parser_role.cc) ---
  bool create_role(ast::CreateRole& out);
  bool alter_role(ast::AlterRole& out);
  bool drop_role(ast::DropRole& out);
  bool create_user(ast::CreateRole& out);
  bool alter_user(ast::AlterRole& out);
  bool drop_user(ast::DropRole& out);
  bool user_options(ast::RoleOptions& out);
  bool role_options(ast::RoleOptions& out);
  bool role_option(ast::RoleOptions& out);
  bool role_access(ast::RoleOptions& out);
  bool access_list(Tok what, const char* names, std::optional<std::vector<std::string>>& out);
  bool password(bool hashed, bool with_equals, ast::RoleOptions& out);
  bool boolean_option(const char* option, std::optional<bool>& out);
  bool check_passwords(const ast::RoleOptions& options);
  template <class T>
  bool set_option(const char* option, std::optional<T>& slot, T value);
  bool add_identity(ast::AddIdentity& out);
  bool drop_identity(ast::DropIdentity& out);
  bool grant_role(ast::GrantRole& out);
  bool revoke_role(ast::RevokeRole& out);
  bool list_roles(ast::ListRoles& out);
  bool list_users(ast::ListRoles& out);
  bool list_permissions(ast::ListPermissions& out);
  bool grant_permissions(ast::GrantPermissions& out);
  bool permission_or_all(std::vector<ast::Permission>& out);
  bool permission(ast::Permission& out);
  bool resource(ast::Resource& out);
  bool all_resource(ast::Resource& out);
  bool all_functions_resource(ast::Resource& out);
  bool mbean_resource(ast::Resource& out);

  // --- DESCRIBE (parser_describe.cc) ---
  bool describe_statement(ast::Describe& out);
  bool describe_target(ast::Describe& out);
  bool describe_generic(ast::Describe& out);

  std::string_view text_;
  Lexer lexer_;
  std::optional<std::string> timeout_;
  std::vector<SyntaxToken> tokens_;  // the last is kEnd or kLexicalError
  size_t pos_ = 0;
  size_t seen_ = 0;  // the furthest token looked at
  std::vector<std::string> markers_;
  // Columns that an UPDATE has set so far. A client chooses how many: they are looked up, not searched for.
  struct Assigned {
    bool whole = false;
    absl::flat_hash_set<std::string> fields;
  };
  absl::flat_hash_map<std::string, Assigned> assigned_;
  std::optional<Error> error_;
  bool exceeded_ = false;  // a limit: no attempt at something else helps
  int attempts_ = 0;       // open ones; errors are not worded meanwhile
  int depth_ = 0;
  int operators_ = 0;
  const size_t max_terms_;
  size_t terms_ = 0;
  bool has_structured_literals_ = false;
};

}  // namespace cassandra_like
