// SELECT: its clause, with fields, elements, functions, arithmetic and literals, and all that follows but WHERE.
#include "cql/syntax/parser_impl.h"

namespace cassandra_like {
namespace {

using ast::ArithmeticOperator;

constexpr TokenSet kSelectableStart =
    kNames | TokenSet{Tok::kBooleanLiteral, Tok::kDurationLiteral, Tok::kFloatLiteral,
                      Tok::kHexLiteral,     Tok::kIntegerLiteral,  Tok::kNegativeInfinity,
                      Tok::kNegativeNan,    Tok::kInfinity,        Tok::kNan,
                      Tok::kStringLiteral,  Tok::kUuidLiteral,     Tok::kNull,
                      Tok::kToken,          Tok::kQuestionMark,    Tok::kLeftParen,
                      Tok::kMinus,          Tok::kColon,           Tok::kLeftBracket,
                      Tok::kLeftBrace};
// The tokens that can follow a selectable in some statement.
constexpr TokenSet kSelectableFollow = {
    Tok::kAllow, Tok::kAs,    Tok::kFrom,        Tok::kLimit,        Tok::kOrder,     Tok::kPer,   Tok::kPercent,
    Tok::kPlus,  Tok::kComma, Tok::kRightParen,  Tok::kMinus,        Tok::kSlash,     Tok::kColon, Tok::kSemicolon,
    Tok::kStar,  Tok::kEnd,   Tok::kLeftBracket, Tok::kRightBracket, Tok::kRightBrace};

}  // namespace

bool Parser::select_statement(ast::Select& out) {
  if (!expect(Tok::kSelect)) return false;
  if (!kSelectableStart.contains(peek()) && !at(Tok::kStar)) return fail_no_viable();
  if (at(Tok::kJson)) {
    // JSON and DISTINCT are columns too: they are keywords if a selection can be read after them.
    decided(2);
    Attempt attempt = begin_attempt();
    advance();
    out.json = end_attempt(attempt, select_clause(out.distinct, out.selectors));
  }
  if (!out.json) {
    decided(1);
    out.selectors.clear();
    if (!select_clause(out.distinct, out.selectors)) return false;
  }
  if (!expect(Tok::kFrom) || !table_name(out.table)) return false;
  if (accept(Tok::kWhere) && !where_clause(out.where)) return false;
  if (accept(Tok::kGroup)) {
    if (!expect(Tok::kBy)) return false;
    if (!list([&] { return selectable(out.group_by.emplace_back()); })) return false;
  }
  if (accept(Tok::kOrder)) {
    if (!expect(Tok::kBy)) return false;
    if (!list([&] { return order_by_clause(out.order_by.emplace_back()); })) return false;
  }
  if (accept(Tok::kPer)) {
    if (!expect(Tok::kPartition, Tok::kLimit) || !int_value(out.per_partition_limit.emplace())) return false;
  }
  if (accept(Tok::kLimit) && !int_value(out.limit.emplace())) return false;
  out.timeout = std::move(timeout_);
  out.allow_filtering = accept(Tok::kAllow);
  return !out.allow_filtering || expect(Tok::kFiltering);
}

bool Parser::select_clause(bool& distinct, std::vector<ast::Selector>& out) {
  distinct = false;
  if (!kSelectableStart.contains(peek()) && !at(Tok::kStar)) return fail_no_viable();
  decided(1);
  if (at(Tok::kDistinct)) {
    decided(2);
    Attempt attempt = begin_attempt();
    advance();
    distinct = end_attempt(attempt, selectors(out));
    if (distinct) return true;
    out.clear();
  }
  return selectors(out);
}

bool Parser::selectors(std::vector<ast::Selector>& out) {
  if (accept(Tok::kStar)) return true;
  if (!kSelectableStart.contains(peek())) return fail_no_viable();
  return list([&] { return selector(out.emplace_back()); });
}

bool Parser::selector(ast::Selector& out) {
  if (!selectable(out.selectable)) return false;
  return !accept(Tok::kAs) || ident(out.alias.emplace());
}

bool Parser::selectable(ast::Selectable& out) {
  if (depth_ == 0) operators_ = 0;
  size_t first = pos_;
  if (!selection_multiplication(out)) return false;
  while (at(Tok::kPlus) || at(Tok::kMinus)) {
    ArithmeticOperator op = at(Tok::kPlus) ? ArithmeticOperator::kAdd : ArithmeticOperator::kSubtract;
    advance();
    ast::Selectable right;
    if (!count_operator() || !selection_multiplication(right)) return false;
    out.value = ast::ArithmeticSelectable{op, std::exchange(out, {}), std::move(right)};
    locate(first, out.offset, out.length);
  }
  return true;
}

bool Parser::selection_multiplication(ast::Selectable& out) {
  size_t first = pos_;
  if (!selection_group(out)) return false;
  while (at(Tok::kStar) || at(Tok::kSlash) || at(Tok::kPercent)) {
    ArithmeticOperator op = at(Tok::kStar)    ? ArithmeticOperator::kMultiply
                            : at(Tok::kSlash) ? ArithmeticOperator::kDivide
                                              : ArithmeticOperator::kModulo;
    advance();
    ast::Selectable right;
    if (!count_operator() || !selection_group(right)) return false;
    out.value = ast::ArithmeticSelectable{op, std::exchange(out, {}), std::move(right)};
    locate(first, out.offset, out.length);
  }
  return true;
}

bool Parser::selection_group(ast::Selectable& out) {
  size_t first = pos_;
  if (!kSelectableStart.contains(peek())) return fail_no_viable();
  decided(at(Tok::kMinus) ? 1 : 2);
  if (accept(Tok::kMinus)) {
    Nested nested(*this);
    ast::Selectable operand;
    if (!check_depth() || !selection_group(operand)) return false;
    out.value = ast::ArithmeticSelectable{ArithmeticOperator::kNegate, std::move(operand), std::nullopt};
    locate(first, out.offset, out.length);
    return true;
  }
  if (!selection_group_without_field(out)) return false;
  if (!at(Tok::kDot) && !at(Tok::kLeftBracket)) return true;
  // Modifiers that cannot be read are left to whoever comes next, who will not like them either.
  Attempt attempt = begin_attempt();
  end_attempt(attempt, selector_modifiers(first, out));
  return true;
}

bool Parser::selection_group_without_field(ast::Selectable& out) {
  Nested nested(*this);
  size_t first = pos_;
  if (!check_depth() || !count_term()) return false;
  bool ok = false;
  has_structured_literals_ |= at(Tok::kLeftBracket) || at(Tok::kLeftBrace);
  if (!kSelectableStart.contains(peek()) || at(Tok::kMinus)) return fail_no_viable();
  decided(at(Tok::kLeftParen) ? 2 : 1);
  switch (peek()) {
    case Tok::kLeftParen:
      ok = selection_type_hint(out) || selection_parentheses(out);
      break;
    case Tok::kLeftBracket:
      ok = selection_list(out);
      break;
    case Tok::kLeftBrace:
      ok = selection_map_or_set(out);
      break;
    default:
      ok = simple_unaliased_selector(out);
      break;
  }
  if (ok) locate(first, out.offset, out.length);
  return ok;
}

// Any number of .field, [element] and [from..to].
bool Parser::selector_modifiers(size_t first_token, ast::Selectable& out) {
  while (true) {
    if (accept(Tok::kDot)) {
      std::string field;
      if (!count_operator() || !ident(field)) return false;
      out.value = ast::FieldSelectable{std::exchange(out, {}), std::move(field)};
    } else if (accept(Tok::kLeftBracket)) {
      if (!count_operator() || !collection_sub_selection(out) || !expect(Tok::kRightBracket)) return false;
    } else {
      // A semicolon may follow a column in GROUP BY, but not a part of one.
      return (kSelectableFollow.contains(peek()) && !at(Tok::kSemicolon)) || fail_no_viable();
    }
    locate(first_token, out.offset, out.length);
  }
}

bool Parser::collection_sub_selection(ast::Selectable& out) {
  std::optional<ast::Term> from;
  std::optional<ast::Term> to;
  if (!at(Tok::kRange) && !term(from.emplace())) return false;
  bool range = accept(Tok::kRange);
  if (!range) {
    out.value = ast::ElementSelectable{std::exchange(out, {}), std::move(*from)};
    return true;
  }
  if ((!from || starts_term()) && !term(to.emplace())) return false;
  out.value = ast::SliceSelectable{std::exchange(out, {}), std::move(from), std::move(to)};
  return true;
}

// (type) selectable. The same text may also be a name in parentheses.
bool Parser::selection_type_hint(ast::Selectable& out) {
  Attempt attempt = begin_attempt();
  ast::TypeName type;
  ast::Selectable operand;
  advance();
  bool ok = comparator_type(type) && expect(Tok::kRightParen) && selection_group_without_field(operand);
  if (!end_attempt(attempt, ok)) return false;
  out.value = ast::TypeHintSelectable{std::move(type), std::move(operand)};
  return true;
}

bool Parser::selection_parentheses(ast::Selectable& out) {
  auto& parentheses = out.value.emplace<ast::ParenthesesSelectable>();
  if (!expect(Tok::kLeftParen)) return false;
  if (!list([&] { return selectable(parentheses.elements.emplace_back()); })) return false;
  return expect(Tok::kRightParen);
}

bool Parser::selection_list(ast::Selectable& out) {
  auto& array = out.value.emplace<ast::ArraySelectable>();
  if (!expect(Tok::kLeftBracket)) return false;
  if (accept(Tok::kRightBracket)) return true;
  if (!kSelectableStart.contains(peek())) return fail_mismatched(Tok::kRightBracket);
  if (!list([&] { return selectable(array.elements.emplace_back()); })) return false;
  return expect(Tok::kRightBracket);
}

bool Parser::selection_map_or_set(ast::Selectable& out) {
  Tok second = peek(1);
  if (second != Tok::kRightBrace && !kSelectableStart.contains(second)) return fail_no_viable(1);
  advance();
  if (accept(Tok::kRightBrace)) {
    out.value = ast::SetSelectable{};
    return true;
  }
  ast::Selectable first;
  if (!selectable(first)) return false;
  if (accept(Tok::kColon)) {
    auto& map = out.value.emplace<ast::MapOrUdtSelectable>();
    auto& first_entry = map.entries.emplace_back();
    first_entry.key = std::move(first);
    if (!selectable(first_entry.value)) return false;
    while (accept(Tok::kComma)) {
      auto& [key, value] = map.entries.emplace_back();
      if (!selectable(key) || !expect(Tok::kColon) || !selectable(value)) return false;
    }
    return expect(Tok::kRightBrace);
  }
  if (!at(Tok::kComma) && !at(Tok::kRightBrace)) return fail_no_viable();
  auto& set = out.value.emplace<ast::SetSelectable>();
  set.elements.push_back(std::move(first));
  while (accept(Tok::kComma)) {
    if (!selectable(set.elements.emplace_back())) return false;
  }
  return expect(Tok::kRightBrace);
}

bool Parser::simple_unaliased_selector(ast::Selectable& out) {
  SelectorKind kind = SelectorKind::kColumn;
  if (!decide_simple_selector(kind)) return false;
  switch (kind) {
    case SelectorKind::kColumn:
      return ident(out.value.emplace<ast::ColumnSelectable>().name);
    case SelectorKind::kLiteral:
      return selection_literal(out);
    case SelectorKind::kFunction:
      return selection_function(out);
  }
  return false;
}

// c.f may be a field, or the name of a function: the token after it tells.
bool Parser::decide_simple_selector(SelectorKind& out) {
  Tok first = peek();
  bool is_marker = first == Tok::kQuestionMark;
  out = SelectorKind::kLiteral;
  if (first == Tok::kToken) {
    out = SelectorKind::kFunction;
    return decided(1);
  }
  if (!kNames.contains(first) && !is_marker) return decided(1);
  if (!is_marker) out = SelectorKind::kColumn;
  Tok second = peek(1);
  bool can_call = !is_marker && first != Tok::kDistinct && first != Tok::kJson && first != Tok::kKey;
  if (second == Tok::kLeftParen && can_call) {
    out = SelectorKind::kFunction;
    return decided(2);
  }
  if (second != Tok::kDot) return kSelectableFollow.contains(second) ? decided(2) : fail_no_viable(1);
  Tok third = peek(2);
  if (third == Tok::kToken) {
    out = SelectorKind::kFunction;
    return decided(3);
  }
  if (!kFunctionNames.contains(third)) return kNames.contains(third) ? decided(3) : fail_no_viable(2);
  Tok fourth = peek(3);
  if (fourth == Tok::kLeftParen) out = SelectorKind::kFunction;
  bool known = fourth == Tok::kLeftParen || fourth == Tok::kDot || kSelectableFollow.contains(fourth);
  return known ? decided(4) : fail_no_viable(3);
}

bool Parser::selection_literal(ast::Selectable& out) {
  size_t first = pos_;
  ast::Term& term = out.value.emplace<ast::TermSelectable>().term;
  if (at(Tok::kColon) || at(Tok::kQuestionMark)) return marker_term(term);
  if (accept(Tok::kNull)) {
    term.value = ast::NullLiteral{};
  } else if (!constant(term.value.emplace<ast::Literal>())) {
    return false;
  }
  locate(first, term.offset, term.length);
  return true;
}

bool Parser::selection_function(ast::Selectable& out) {
  using Kind = ast::WritetimeOrTtlSelectable::Kind;
  constexpr TokenSet kSpecial = {Tok::kCount, Tok::kMaxwritetime, Tok::kWritetime, Tok::kTtl, Tok::kCast};
  bool called = peek(1) == Tok::kLeftParen;
  Tok first = peek();
  decided(kSpecial.contains(first) ? 2 : 1);
  if (called && first == Tok::kMaxwritetime) return writetime_or_ttl(Kind::kMaxWritetime, out);
  if (called && first == Tok::kWritetime) return writetime_or_ttl(Kind::kWritetime, out);
  if (called && first == Tok::kTtl) return writetime_or_ttl(Kind::kTtl, out);
  if (called && first == Tok::kCast) {
    ast::Selectable argument;
    ast::TypeName type;
    if (!expect(Tok::kCast, Tok::kLeftParen) || !selectable(argument) || !expect(Tok::kAs)) return false;
    if (!native_type(type) || !expect(Tok::kRightParen)) return false;
    out.value = ast::CastSelectable{std::move(argument), std::move(type)};
    return true;
  }
  if (called && first == Tok::kCount) {
    Tok argument = peek(2);
    decided(argument == Tok::kStar || argument == Tok::kRightParen || kSelectableStart.contains(argument) ? 3 : 2);
    if (argument == Tok::kStar) {
      out.value = ast::CountAllSelectable{};
      return expect(Tok::kCount, Tok::kLeftParen) && expect(Tok::kStar, Tok::kRightParen);
    }
    if (argument != Tok::kRightParen && !kSelectableStart.contains(argument)) return fail_no_viable(2);
  }
  auto& function = out.value.emplace<ast::FunctionSelectable>();
  if (!function_name(function.function) || !expect(Tok::kLeftParen)) return false;
  if (accept(Tok::kRightParen)) return true;
  if (!kSelectableStart.contains(peek())) return fail_mismatched(Tok::kRightParen);
  if (!list([&] { return selectable(function.arguments.emplace_back()); })) return false;
  return expect(Tok::kRightParen);
}

bool Parser::writetime_or_ttl(ast::WritetimeOrTtlSelectable::Kind kind, ast::Selectable& out) {
  advance();
  if (!expect(Tok::kLeftParen)) return false;
  size_t first = pos_;
  ast::Selectable selected;
  std::string& column = selected.value.emplace<ast::ColumnSelectable>().name;
  if (!ident(column)) return false;
  locate(first, selected.offset, selected.length);
  std::string name = column;
  if (!selector_modifiers(first, selected) || !expect(Tok::kRightParen)) return false;
  out.value = ast::WritetimeOrTtlSelectable{kind, std::move(name), std::move(selected)};
  return true;
}

bool Parser::order_by_clause(ast::OrderBy& out) {
  if (!column_ident(out.column)) return false;
  if (accept(Tok::kAnn)) {
    if (!expect(Tok::kOf) || !term(out.ann_of.emplace())) return false;
  }
  out.descending = accept(Tok::kDesc);
  if (!out.descending) accept(Tok::kAsc);
  return true;
}

}  // namespace cassandra_like
