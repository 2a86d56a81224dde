// INSERT, UPDATE, DELETE, BATCH, and the two smallest statements, TRUNCATE and USE.
#include "cql/syntax/parser_impl.h"

namespace cassandra_like {

bool Parser::modification(ast::Modification& out) {
  switch (peek()) {
    case Tok::kInsert:
      return insert_statement(out);
    case Tok::kUpdate:
      return update_statement(out.emplace<ast::Update>());
    case Tok::kDelete:
      return delete_statement(out.emplace<ast::Delete>());
    default:
      return fail_no_viable();
  }
}

bool Parser::insert_statement(ast::Modification& out) {
  ast::QualifiedName table;
  if (!expect(Tok::kInsert, Tok::kInto) || !table_name(table)) return false;
  if (at(Tok::kLeftParen)) {
    auto& insert = out.emplace<ast::Insert>();
    insert.table = std::move(table);
    return insert_columns(insert);
  }
  if (!at(Tok::kJson)) return fail_no_viable();
  auto& insert = out.emplace<ast::InsertJson>();
  insert.table = std::move(table);
  return insert_json(insert);
}

bool Parser::insert_columns(ast::Insert& out) {
  if (!expect(Tok::kLeftParen) || !list([&] { return column_ident(out.columns.emplace_back()); })) return false;
  if (!expect(Tok::kRightParen, Tok::kValues) || !expect(Tok::kLeftParen)) return false;
  out.values.reserve(out.columns.size());
  if (!term_list(out.values) || !expect(Tok::kRightParen)) return false;
  return if_not_exists(out.if_not_exists) && (!at(Tok::kUsing) || using_clause(out.using_));
}

bool Parser::insert_json(ast::InsertJson& out) {
  if (!expect(Tok::kJson)) return false;
  if (at(Tok::kStringLiteral)) {
    size_t first = pos_;
    if (!constant(out.value.value.emplace<ast::Literal>())) return false;
    locate(first, out.value.offset, out.value.length);
  } else if (!marker_term(out.value)) {
    return false;
  }
  if (accept(Tok::kDefault)) {
    out.default_unset = accept(Tok::kUnset);
    if (!out.default_unset && !accept(Tok::kNull)) return fail_no_viable();
  }
  return if_not_exists(out.if_not_exists) && (!at(Tok::kUsing) || using_clause(out.using_));
}

bool Parser::using_clause(ast::Attributes& out) {
  if (!expect(Tok::kUsing)) return false;
  do {
    if (accept(Tok::kTimestamp)) {
      if (!int_value(out.timestamp.emplace())) return false;
    } else if (accept(Tok::kTtl)) {
      if (!int_value(out.ttl.emplace())) return false;
    } else {
      return fail_no_viable();
    }
  } while (accept(Tok::kAnd));
  return true;
}

bool Parser::update_statement(ast::Update& out) {
  if (!expect(Tok::kUpdate) || !table_name(out.table)) return false;
  if (at(Tok::kUsing) && !using_clause(out.using_)) return false;
  assigned_.clear();
  if (!expect(Tok::kSet) || !list([&] { return column_operation(out); })) return false;
  if (!expect(Tok::kWhere) || !where_clause(out.where)) return false;
  return !accept(Tok::kIf) || update_conditions(out.if_);
}

bool Parser::column_operation(ast::Update& out) {
  using Kind = ast::Assignment::Kind;
  ast::Assignment assignment;
  if (!column_ident(assignment.column)) return false;
  bool ok = false;
  switch (peek()) {
    case Tok::kEqual:
      advance();
      ok = normal_column_operation(assignment);
      break;
    case Tok::kPlusEqual:
    case Tok::kMinusEqual:
      assignment.kind = at(Tok::kPlusEqual) ? Kind::kAdd : Kind::kSubtract;
      advance();
      ok = term(assignment.value);
      break;
    case Tok::kLeftBracket:
      assignment.kind = Kind::kSetElement;
      advance();
      ok = term(assignment.element.emplace()) && expect(Tok::kRightBracket) && expect(Tok::kEqual) &&
           term(assignment.value);
      break;
    case Tok::kDot:
      assignment.kind = Kind::kSetField;
      advance();
      ok = ident(assignment.field) && expect(Tok::kEqual) && term(assignment.value);
      break;
    default:
      return fail_no_viable();
  }
  if (!ok) return false;
  check_compatible(assignment);
  out.assignments.push_back(std::move(assignment));
  return true;
}

// c = term, c = term + c, c = c + term, c = c - term, and c = c -1, where the minus belongs to the number.
bool Parser::normal_column_operation(ast::Assignment& out) {
  constexpr TokenSet kOperators = {Tok::kPlus, Tok::kMinus, Tok::kIntegerLiteral};
  Tok first = peek();
  if (kColumnNames.contains(first)) {
    Tok second = peek(1);
    if (kOperators.contains(second)) return decided(2) && prefix_column_operation(out);
    bool call = second == Tok::kDot || (second == Tok::kLeftParen && kFunctionNames.contains(first)) ||
                (second == Tok::kLeftParen && first == Tok::kCast);
    if (!call || first == Tok::kEmptyQuotedName) return fail_no_viable(1);
    decided(2);
  } else if (!starts_term()) {
    return fail_no_viable();
  }
  decided(1);
  if (!term(out.value)) return false;
  if (!accept(Tok::kPlus)) return true;
  std::string column;
  if (!column_ident(column)) return false;
  out.kind = ast::Assignment::Kind::kPrepend;
  if (column != out.column) note("Only expressions of the form X = <value> + X are supported.");
  return true;
}

bool Parser::prefix_column_operation(ast::Assignment& out) {
  std::string column;
  if (!column_ident(column)) return false;
  bool same = column == out.column;
  if (at(Tok::kIntegerLiteral)) {
    size_t first = pos_;
    ast::Literal number{ast::Literal::Kind::kInteger, value()};
    advance();
    const char* sign = number.text[0] == '-' ? "-" : "+";
    if (!same) note("Only expressions of the form X = X " + std::string(sign) + " <value> are supported.");
    out.kind = ast::Assignment::Kind::kAdd;
    out.value.value = std::move(number);
    locate(first, out.value.offset, out.value.length);
    return true;
  }
  bool add = at(Tok::kPlus);
  advance();
  out.kind = add ? ast::Assignment::Kind::kAdd : ast::Assignment::Kind::kSubtract;
  if (!term(out.value)) return false;
  if (!same) note("Only expressions of the form X = X " + std::string(add ? "+" : "-") + "<value> are supported.");
  return true;
}

// One column may be changed in several places, but set as a whole only once.
void Parser::check_compatible(const ast::Assignment& assignment) {
  using Kind = ast::Assignment::Kind;
  const bool whole = assignment.kind == Kind::kSet;
  auto [column, is_new] = assigned_.try_emplace(assignment.column);
  const bool same_field = assignment.kind == Kind::kSetField && !column->second.fields.insert(assignment.field).second;
  if ((!is_new && (whole || column->second.whole)) || same_field) {
    note("Multiple incompatible setting of column " + assignment.column);
  }
  column->second.whole = column->second.whole || whole;
}

bool Parser::delete_statement(ast::Delete& out) {
  if (!expect(Tok::kDelete)) return false;
  if (kColumnNames.contains(peek()) && !list([&] { return delete_operation(out.deletions.emplace_back()); })) {
    return false;
  }
  if (!expect(Tok::kFrom) || !table_name(out.table)) return false;
  if (accept(Tok::kUsing)) {
    if (!expect(Tok::kTimestamp) || !int_value(out.using_.timestamp.emplace())) return false;
  }
  if (!expect(Tok::kWhere) || !where_clause(out.where)) return false;
  return !accept(Tok::kIf) || update_conditions(out.if_);
}

bool Parser::delete_operation(ast::Deletion& out) {
  constexpr TokenSet kFollow = {Tok::kFrom, Tok::kComma, Tok::kLeftBracket, Tok::kDot};
  if (!kColumnNames.contains(peek())) return fail_no_viable();
  if (!kFollow.contains(peek(1))) return fail_no_viable(1);
  decided(2);
  if (!column_ident(out.column)) return false;
  if (accept(Tok::kLeftBracket)) return term(out.part.emplace<ast::Term>()) && expect(Tok::kRightBracket);
  return !accept(Tok::kDot) || ident(out.part.emplace<std::string>());
}

bool Parser::batch_statement(ast::Batch& out) {
  constexpr TokenSet kModifications = {Tok::kInsert, Tok::kUpdate, Tok::kDelete};
  if (!expect(Tok::kBegin)) return false;
  if (accept(Tok::kUnlogged)) {
    out.kind = ast::Batch::Kind::kUnlogged;
  } else if (accept(Tok::kCounter)) {
    out.kind = ast::Batch::Kind::kCounter;
  }
  if (!expect(Tok::kBatch) || (at(Tok::kUsing) && !using_clause(out.using_))) return false;
  while (kModifications.contains(peek())) {
    if (!modification(out.statements.emplace_back())) return false;
    accept(Tok::kSemicolon);
  }
  return expect(Tok::kApply, Tok::kBatch);
}

bool Parser::truncate_statement(ast::Truncate& out) {
  if (!expect(Tok::kTruncate)) return false;
  accept(Tok::kColumnfamily);
  return table_name(out.table);
}

bool Parser::use_statement(ast::Use& out) { return expect(Tok::kUse) && keyspace_name(out.keyspace); }

}  // namespace cassandra_like
