#include "cql/syntax/parser.h"

#include <utility>

#include "absl/strings/match.h"
#include "cql/syntax/parser_impl.h"

namespace cassandra_like {
namespace {

// The offset of the first byte that is no UTF-8, or npos.
size_t find_invalid_utf8(std::string_view s) {
  size_t i = 0;
  while (i < s.size()) {
    uint8_t c = uint8_t(s[i]);
    if (c < 0x80) {
      ++i;
      continue;
    }
    size_t size = c >= 0xC2 && c < 0xE0 ? 2 : (c & 0xF0) == 0xE0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
    if (size == 0 || i + size > s.size()) return i;
    uint32_t code = c & (0x7Fu >> size);
    for (size_t k = 1; k < size; ++k) {
      if ((uint8_t(s[i + k]) & 0xC0) != 0x80) return i;
      code = code << 6 | (uint8_t(s[i + k]) & 0x3F);
    }
    bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
    if (overlong || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return i;
    i += size;
  }
  return std::string_view::npos;
}

template <class T>
Result<T> parse_whole(std::string_view text, bool (Parser::*rule)(T&), Dialect dialect = {}) {
  if (size_t at = find_invalid_utf8(text); at != std::string_view::npos) {
    return syntax_error_at(text, uint32_t(at), "invalid UTF-8");
  }
  Parser parser(text, dialect);
  T out;
  if (!parser.whole(rule, out)) return parser.take_error();
  return out;
}

}  // namespace

Result<ast::Statement> parse_statement(std::string_view text, Dialect dialect) {
  return parse_whole(text, &Parser::query, dialect);
}
Result<ast::TypeName> parse_type(std::string_view text) { return parse_whole(text, &Parser::comparator_type); }
Result<ast::Term> parse_term(std::string_view text) { return parse_whole(text, &Parser::term); }
Result<ast::WhereClause> parse_where_clause(std::string_view text) { return parse_whole(text, &Parser::where_clause); }

Parser::Parser(std::string_view text, Dialect dialect) : text_(text), lexer_(text), max_terms_(dialect.max_terms) {
  tokens_.reserve(text.size() / 4 + 2);
  do {
    tokens_.push_back(lexer_.next());
  } while (tokens_.back().kind != Tok::kEnd && tokens_.back().kind != Tok::kLexicalError);
  if (dialect.using_timeout && tokens_.front().kind == Tok::kSelect) take_using_timeout();
}

// From the statement's end, before any rule reads it: so the grammar stays Cassandra's, with the errors that it has.
void Parser::take_using_timeout() {
  size_t end = tokens_.size() - 1;
  while (end > 0 && tokens_[end - 1].kind == Tok::kSemicolon) --end;
  if (end < 3 || tokens_[end - 3].kind != Tok::kUsing || tokens_[end - 1].kind != Tok::kDurationLiteral) return;
  if (!absl::EqualsIgnoreCase(token_value(text_, tokens_[end - 2]), "timeout")) return;
  timeout_ = token_value(text_, tokens_[end - 1]);
  tokens_.erase(tokens_.begin() + static_cast<ptrdiff_t>(end - 3), tokens_.begin() + static_cast<ptrdiff_t>(end));
}

bool Parser::query(ast::Statement& out) {
  if (!statement(out.body)) return false;
  while (accept(Tok::kSemicolon)) continue;
  if (!at(Tok::kEnd)) return fail_mismatched(Tok::kEnd);
  out.bind_variables = std::move(markers_);
  out.terms = terms_;
  out.has_structured_literals = has_structured_literals_;
  return true;
}

bool Parser::expect_value(Tok token, std::string& out) {
  if (!at(token)) return fail_mismatched(token);
  out = value();
  advance();
  return true;
}

bool Parser::fail_no_viable(size_t k) {
  peek(k);
  size_t found = std::min(pos_ + k, tokens_.size() - 1);
  return fail_syntax(SyntaxError::Kind::kNoViableAlternative, found, Tok::kEnd, pos_);
}

bool Parser::fail_no_viable_since(size_t start) {
  return fail_syntax(SyntaxError::Kind::kNoViableAlternative, pos_, Tok::kEnd, start);
}

bool Parser::fail_mismatched(Tok expected) { return fail_syntax(SyntaxError::Kind::kMismatched, pos_, expected, pos_); }

bool Parser::fail_mismatched_set() { return fail_syntax(SyntaxError::Kind::kMismatchedSet, pos_, Tok::kEnd, pos_); }

bool Parser::fail_syntax(SyntaxError::Kind kind, size_t found, Tok expected, size_t highlighted) {
  if (error_ || attempts_ > 0) return false;
  if (has_seen_lexical_error()) {
    error_ = to_error(text_, lexer_);
  } else {
    error_ = to_error(text_, SyntaxError{kind, tokens_[found], expected, tokens_[highlighted], tokens_[seen_]});
  }
  return false;
}

bool Parser::fail_with(Error error) {
  error_ = std::move(error);
  return false;
}

void Parser::note(std::string message) {
  if (error_) return;
  error_ = has_seen_lexical_error() ? to_error(text_, lexer_) : Error(ErrorCode::kSyntaxError, std::move(message));
}

Parser::Attempt Parser::begin_attempt() {
  ++attempts_;
  return {pos_, markers_.size(), error_.has_value()};
}

bool Parser::end_attempt(const Attempt& attempt, bool success) {
  --attempts_;
  if (success) return true;
  pos_ = attempt.pos;
  markers_.resize(attempt.markers);
  if (!attempt.had_error && !exceeded_) error_.reset();
  return false;
}

bool Parser::fail_limit(const char* what) {
  exceeded_ = true;
  if (!error_) error_ = syntax_error_at(text_, current().offset, what);
  return false;
}

bool Parser::check_depth() { return depth_ <= kMaxNesting || fail_limit("nested too deeply"); }

bool Parser::count_operator() { return ++operators_ <= kMaxOperators || fail_limit("too many operators"); }

bool Parser::count_term() { return ++terms_ <= max_terms_ || fail_limit("too many terms"); }

bool Parser::statement(ast::Statement::Body& out) {
  switch (peek()) {
    case Tok::kSelect:
      return read(&Parser::select_statement, out, 1);
    case Tok::kInsert:
    case Tok::kUpdate:
    case Tok::kDelete: {
      ast::Modification modification;
      if (!decided(1) || !this->modification(modification)) return false;
      std::visit([&out](auto& statement) { out = std::move(statement); }, modification);
      return true;
    }
    case Tok::kBegin:
      return read(&Parser::batch_statement, out, 1);
    case Tok::kUse:
      return read(&Parser::use_statement, out, 1);
    case Tok::kTruncate:
      return read(&Parser::truncate_statement, out, 1);
    case Tok::kCreate:
      return create_statement(out);
    case Tok::kDrop:
      return drop_statement(out);
    case Tok::kAlter:
      return alter_statement(out);
    case Tok::kGrant:
    case Tok::kRevoke:
      return grant_or_revoke_statement(out);
    case Tok::kList:
      return list_statement(out);
    case Tok::kAdd:
      return read(&Parser::add_identity, out, 1);
    case Tok::kDesc:
    case Tok::kDescribe:
      return read(&Parser::describe_statement, out, 1);
    default:
      return fail_no_viable();
  }
}

bool Parser::create_statement(ast::Statement::Body& out) {
  switch (peek(1)) {
    case Tok::kKeyspace:
      return read(&Parser::create_keyspace, out);
    case Tok::kColumnfamily:
      return read(&Parser::create_table, out);
    case Tok::kUser:
      return read(&Parser::create_user, out);
    case Tok::kTrigger:
      return read(&Parser::create_trigger, out);
    case Tok::kType:
      return read(&Parser::create_type, out);
    case Tok::kRole:
      return read(&Parser::create_role, out);
    case Tok::kMaterialized:
      return read(&Parser::create_view, out);
    case Tok::kCustom:
    case Tok::kIndex:
      return read(&Parser::create_index, out);
    case Tok::kFunction:
      return read(&Parser::create_function, out);
    case Tok::kAggregate:
      return read(&Parser::create_aggregate, out);
    case Tok::kOr:
      break;
    default:
      return fail_no_viable(1);
  }
  if (peek(2) != Tok::kReplace) return fail_no_viable(2);
  if (peek(3) == Tok::kFunction) return read(&Parser::create_function, out, 4);
  if (peek(3) == Tok::kAggregate) return read(&Parser::create_aggregate, out, 4);
  return fail_no_viable(3);
}

bool Parser::drop_statement(ast::Statement::Body& out) {
  switch (peek(1)) {
    case Tok::kKeyspace:
      return read(&Parser::drop_keyspace, out);
    case Tok::kColumnfamily:
      return read(&Parser::drop_table, out);
    case Tok::kIndex:
      return read(&Parser::drop_index, out);
    case Tok::kUser:
      return read(&Parser::drop_user, out);
    case Tok::kTrigger:
      return read(&Parser::drop_trigger, out);
    case Tok::kType:
      return read(&Parser::drop_type, out);
    case Tok::kFunction:
    case Tok::kAggregate:
      return read(&Parser::drop_function, out);
    case Tok::kRole:
      return read(&Parser::drop_role, out);
    case Tok::kMaterialized:
      return read(&Parser::drop_view, out);
    case Tok::kIdentity:
      return read(&Parser::drop_identity, out);
    default:
      return fail_no_viable(1);
  }
}

bool Parser::alter_statement(ast::Statement::Body& out) {
  switch (peek(1)) {
    case Tok::kColumnfamily:
      return read(&Parser::alter_table, out);
    case Tok::kKeyspace:
      return read(&Parser::alter_keyspace, out);
    case Tok::kUser:
      return read(&Parser::alter_user, out);
    case Tok::kType:
      return read(&Parser::alter_type, out);
    case Tok::kRole:
      return read(&Parser::alter_role, out);
    case Tok::kMaterialized:
      return read(&Parser::alter_view, out);
    default:
      return fail_no_viable(1);
  }
}

bool Parser::if_not_exists(bool& out) {
  out = accept(Tok::kIf);
  return !out || expect(Tok::kNot, Tok::kExists);
}

bool Parser::if_exists(bool& out) {
  out = accept(Tok::kIf);
  return !out || expect(Tok::kExists);
}

}  // namespace cassandra_like
