// WHERE and IF: relations and conditions.
#include "cql/syntax/parser_impl.h"

namespace cassandra_like {
namespace {

constexpr TokenSet kComparisons = {Tok::kEqual,   Tok::kLess,         Tok::kLessEqual,
                                   Tok::kGreater, Tok::kGreaterEqual, Tok::kNotEqual};
constexpr TokenSet kMarkers = {Tok::kQuestionMark, Tok::kColon};
constexpr TokenSet kRelationStart = kColumnNames | TokenSet{Tok::kToken, Tok::kLeftParen};
constexpr TokenSet kRelationOperators =
    kComparisons | TokenSet{Tok::kLike, Tok::kIs, Tok::kIn, Tok::kContains, Tok::kLeftBracket};

}  // namespace

bool Parser::where_clause(ast::WhereClause& out) {
  do {
    if (!relation_or_expression(out)) return false;
  } while (accept(Tok::kAnd));
  return true;
}

bool Parser::relation_or_expression(ast::WhereClause& out) {
  if (at(Tok::kExpr)) return custom_index_expression(out.expressions.emplace_back());
  return relation(out.relations.emplace_back());
}

bool Parser::custom_index_expression(ast::CustomIndexExpression& out) {
  return expect(Tok::kExpr) && bindable_name("index", out.index.name) && expect(Tok::kComma) && term(out.value) &&
         expect(Tok::kRightParen);
}

bool Parser::relation(ast::Relation& out) {
  if (!kRelationStart.contains(peek())) return fail_no_viable();
  if (at(Tok::kToken)) return decided(1) && token_relation(out);
  if (!at(Tok::kLeftParen)) return column_relation(out);
  bool is_tuple = false;
  if (!decide_parenthesized_relation(is_tuple)) return false;
  if (is_tuple) return tuple_relation(out);
  Nested nested(*this);
  return check_depth() && expect(Tok::kLeftParen) && relation(out) && expect(Tok::kRightParen);
}

// (a, b) = …, or a relation in parentheses.
bool Parser::decide_parenthesized_relation(bool& is_tuple) {
  Tok second = peek(1);
  if (second == Tok::kLeftParen || second == Tok::kToken) return decided(2);
  if (!kColumnNames.contains(second)) return fail_no_viable(1);
  Tok third = peek(2);
  is_tuple = third == Tok::kComma || third == Tok::kRightParen;
  return is_tuple || kRelationOperators.contains(third) ? decided(3) : fail_no_viable(2);
}

bool Parser::column_relation(ast::Relation& out) {
  Tok op = peek(1);
  if (!kRelationOperators.contains(op)) return fail_no_viable(1);
  if (op == Tok::kIn) {
    Tok third = peek(2);
    if (!kMarkers.contains(third) && third != Tok::kLeftParen) return fail_no_viable(2);
  }
  decided(op == Tok::kIn ? 3 : 2);
  if (!column_ident(out.columns.emplace_back())) return false;
  switch (op) {
    case Tok::kLike:
      out.op = ast::Operator::kLike;
      return expect(Tok::kLike) && term(out.value);
    case Tok::kIs:
      out.op = ast::Operator::kIsNot;
      return expect(Tok::kIs, Tok::kNot) && expect(Tok::kNull);
    case Tok::kIn:
      out.op = ast::Operator::kIn;
      return expect(Tok::kIn) && in_values(out.in_values);
    case Tok::kContains:
      return contains_operator(out.op) && term(out.value);
    case Tok::kLeftBracket:
      out.target = ast::Relation::Target::kElement;
      if (!expect(Tok::kLeftBracket) || !term(out.key.emplace()) || !expect(Tok::kRightBracket)) return false;
      return relation_type(out.op) && term(out.value);
    default:
      return relation_type(out.op) && term(out.value);
  }
}

bool Parser::token_relation(ast::Relation& out) {
  out.target = ast::Relation::Target::kToken;
  return expect(Tok::kToken) && tuple_of_identifiers(out.columns) && relation_type(out.op) && term(out.value);
}

bool Parser::tuple_relation(ast::Relation& out) {
  out.target = ast::Relation::Target::kTuple;
  if (!tuple_of_identifiers(out.columns)) return false;
  if (at(Tok::kIn)) return decided(1) && tuple_in_values(out);
  if (!kComparisons.contains(peek())) return fail_no_viable();
  if (peek(1) != Tok::kLeftParen && !kMarkers.contains(peek(1))) return fail_no_viable(1);
  return decided(2) && relation_type(out.op) && tuple_or_marker(out.value);
}

bool Parser::tuple_or_marker(ast::Term& out) {
  if (!at(Tok::kLeftParen)) return marker_term(out);
  size_t first = pos_;
  if (!tuple_literal(out)) return false;
  locate(first, out.offset, out.length);
  return true;
}

// IN ?, IN (), IN ((1, 2), (3, 4)) or IN (?, ?).
bool Parser::tuple_in_values(ast::Relation& out) {
  out.op = ast::Operator::kIn;
  advance();
  if (kMarkers.contains(peek())) return bind_marker(out.in_values.emplace<ast::BindMarker>());
  if (!at(Tok::kLeftParen)) return fail_no_viable();
  Tok second = peek(1);
  if (second != Tok::kRightParen && second != Tok::kLeftParen && !kMarkers.contains(second)) return fail_no_viable(1);
  advance();
  auto& values = out.in_values.emplace<std::vector<ast::Term>>();
  if (accept(Tok::kRightParen)) return true;
  // All are tuples, or all are markers.
  bool ok = list([&] {
    if (second == Tok::kLeftParen && !at(Tok::kLeftParen)) return fail_mismatched(Tok::kLeftParen);
    if (second != Tok::kLeftParen && !kMarkers.contains(peek())) return fail_no_viable();
    return tuple_or_marker(values.emplace_back());
  });
  return ok && expect(Tok::kRightParen);
}

bool Parser::relation_type(ast::Operator& out) {
  switch (peek()) {
    case Tok::kEqual:
      out = ast::Operator::kEq;
      break;
    case Tok::kLess:
      out = ast::Operator::kLt;
      break;
    case Tok::kLessEqual:
      out = ast::Operator::kLte;
      break;
    case Tok::kGreater:
      out = ast::Operator::kGt;
      break;
    case Tok::kGreaterEqual:
      out = ast::Operator::kGte;
      break;
    case Tok::kNotEqual:
      out = ast::Operator::kNeq;
      break;
    default:
      return fail_no_viable();
  }
  advance();
  return true;
}

// CONTAINS KEY, unless no term follows KEY: then it starts one itself.
bool Parser::contains_operator(ast::Operator& out) {
  if (!expect(Tok::kContains)) return false;
  bool key = at(Tok::kKey) && starts_term(1);
  out = key ? ast::Operator::kContainsKey : ast::Operator::kContains;
  if (key) advance();
  return true;
}

bool Parser::in_values(ast::InValues& out) {
  if (kMarkers.contains(peek())) return bind_marker(out.emplace<ast::BindMarker>());
  if (!at(Tok::kLeftParen)) return fail_no_viable();
  advance();
  auto& values = out.emplace<std::vector<ast::Term>>();
  if (accept(Tok::kRightParen)) return true;
  if (!starts_term()) return fail_mismatched(Tok::kRightParen);
  return term_list(values) && expect(Tok::kRightParen);
}

bool Parser::tuple_of_identifiers(std::vector<std::string>& out) {
  return expect(Tok::kLeftParen) && list([&] { return column_ident(out.emplace_back()); }) && expect(Tok::kRightParen);
}

// The part behind IF: EXISTS, which may also be a column, or conditions.
bool Parser::update_conditions(ast::UpdateConditions& out) {
  if (at(Tok::kExists)) {
    constexpr TokenSet kStatementEnd = {Tok::kEnd,    Tok::kApply,  Tok::kDelete,
                                        Tok::kInsert, Tok::kUpdate, Tok::kSemicolon};
    constexpr TokenSet kConditionOperators =
        kComparisons | TokenSet{Tok::kContains, Tok::kIn, Tok::kDot, Tok::kLeftBracket};
    Tok second = peek(1);
    if (kStatementEnd.contains(second)) {
      out.if_exists = true;
      advance();
      return true;
    }
    if (!kConditionOperators.contains(second)) return fail_no_viable(1);
  } else if (!kColumnNames.contains(peek())) {
    return fail_no_viable();
  }
  do {
    if (!column_condition(out.conditions.emplace_back())) return false;
  } while (accept(Tok::kAnd));
  return true;
}

bool Parser::column_condition(ast::ColumnCondition& out) {
  if (!column_ident(out.column)) return false;
  bool whole_column = false;
  if (accept(Tok::kLeftBracket)) {
    if (!term(out.part.emplace<ast::Term>()) || !expect(Tok::kRightBracket)) return false;
  } else if (accept(Tok::kDot)) {
    if (!ident(out.part.emplace<std::string>())) return false;
  } else {
    whole_column = true;
  }
  if (whole_column && at(Tok::kContains)) return contains_operator(out.op) && term(out.value);
  if (accept(Tok::kIn)) {
    out.op = ast::Operator::kIn;
    return in_values(out.in_values);
  }
  return relation_type(out.op) && term(out.value);
}

}  // namespace cassandra_like
