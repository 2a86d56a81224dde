// Terms: literals, markers, function calls, arithmetic, casts and type hints.
#include "cql/syntax/parser_impl.h"

namespace cassandra_like {
namespace {

using ast::ArithmeticOperator;

constexpr TokenSet kConstants = {Tok::kBooleanLiteral, Tok::kDurationLiteral, Tok::kFloatLiteral,
                                 Tok::kHexLiteral,     Tok::kIntegerLiteral,  Tok::kNegativeInfinity,
                                 Tok::kNegativeNan,    Tok::kInfinity,        Tok::kNan,
                                 Tok::kStringLiteral,  Tok::kUuidLiteral};
// The tokens that can only start a term: no identifiers, which can also name a column or a type.
constexpr TokenSet kTermStart = kConstants | TokenSet{Tok::kNull,  Tok::kToken, Tok::kQuestionMark, Tok::kLeftParen,
                                                      Tok::kMinus, Tok::kColon, Tok::kLeftBracket,  Tok::kLeftBrace};
constexpr TokenSet kSimpleTermStart = (kTermStart | kNames);
// The tokens that can follow a whole term in some statement.
constexpr TokenSet kTermFollow = {Tok::kAllow,     Tok::kAnd,          Tok::kApply,     Tok::kAsc,    Tok::kDelete,
                                  Tok::kDesc,      Tok::kGroup,        Tok::kIf,        Tok::kInsert, Tok::kLimit,
                                  Tok::kOrder,     Tok::kPer,          Tok::kPrimary,   Tok::kUpdate, Tok::kWhere,
                                  Tok::kRange,     Tok::kComma,        Tok::kColon,     Tok::kEnd,    Tok::kRightParen,
                                  Tok::kSemicolon, Tok::kRightBracket, Tok::kRightBrace};
constexpr TokenSet kArithmetic = {Tok::kPlus, Tok::kMinus, Tok::kStar, Tok::kSlash, Tok::kPercent};
constexpr TokenSet kSimpleTermFollow = kTermFollow | kArithmetic | TokenSet{Tok::kAs};

ArithmeticOperator arithmetic_operator(Tok token) {
  switch (token) {
    case Tok::kPlus:
      return ArithmeticOperator::kAdd;
    case Tok::kMinus:
      return ArithmeticOperator::kSubtract;
    case Tok::kStar:
      return ArithmeticOperator::kMultiply;
    case Tok::kSlash:
      return ArithmeticOperator::kDivide;
    default:
      return ArithmeticOperator::kModulo;
  }
}

}  // namespace

// The text of the tokens from `first_token` up to the last one read.
void Parser::locate(size_t first_token, uint32_t& offset, uint32_t& length) const {
  offset = tokens_[first_token].offset;
  const SyntaxToken& last = tokens_[pos_ > first_token ? pos_ - 1 : first_token];
  length = last.offset + last.length - offset;
}

bool Parser::term(ast::Term& out) {
  if (depth_ == 0) operators_ = 0;
  return term_addition(out);
}

bool Parser::term_addition(ast::Term& out) {
  size_t first = pos_;
  if (!term_multiplication(out)) return false;
  while (true) {
    bool more = false;
    if (!continues_addition(more)) return false;
    if (!more) return true;
    ArithmeticOperator op = arithmetic_operator(peek());
    advance();
    ast::Term right;
    if (!count_operator() || !term_multiplication(right)) return false;
    out.value = ast::Arithmetic{op, std::exchange(out, {}), std::move(right)};
    locate(first, out.offset, out.length);
  }
}

// Whether a + or - goes on with the term. `c = 1 + c` is no sum but prepends: the + is left to the assignment when the
// name of a column follows.
bool Parser::continues_addition(bool& out) {
  Tok token = peek();
  out = token == Tok::kMinus;
  if (token != Tok::kPlus) return out || kTermFollow.contains(token) ? decided(1) : fail_no_viable();
  Tok second = peek(1);
  if (second == Tok::kEmptyQuotedName) return decided(2);
  if (kNames.contains(second)) {
    Tok third = peek(2);
    out = third == Tok::kDot || (third == Tok::kLeftParen && (kFunctionNames.contains(second) || second == Tok::kCast));
    return out || third == Tok::kWhere || third == Tok::kComma ? decided(3) : fail_no_viable(2);
  }
  out = kTermStart.contains(second);
  return out ? decided(2) : fail_no_viable(1);
}

bool Parser::term_multiplication(ast::Term& out) {
  size_t first = pos_;
  if (!term_group(out)) return false;
  while (at(Tok::kStar) || at(Tok::kSlash) || at(Tok::kPercent)) {
    ArithmeticOperator op = arithmetic_operator(peek());
    advance();
    ast::Term right;
    if (!count_operator() || !term_group(right)) return false;
    out.value = ast::Arithmetic{op, std::exchange(out, {}), std::move(right)};
    locate(first, out.offset, out.length);
  }
  return true;
}

bool Parser::term_group(ast::Term& out) {
  size_t first = pos_;
  if (!accept(Tok::kMinus)) {
    if (!kSimpleTermStart.contains(peek())) return fail_no_viable();
    return simple_term(out);
  }
  ast::Term operand;
  if (!simple_term(operand)) return false;
  out.value = ast::Arithmetic{ArithmeticOperator::kNegate, std::move(operand), std::nullopt};
  locate(first, out.offset, out.length);
  return true;
}

bool Parser::simple_term(ast::Term& out) {
  Nested nested(*this);
  size_t first = pos_;
  TermKind kind = TermKind::kValue;
  if (!check_depth() || !count_term() || !decide_simple_term(kind)) return false;
  bool ok = kind == TermKind::kValue      ? value_term(out)
            : kind == TermKind::kFunction ? function(out)
            : kind == TermKind::kTypeHint ? type_hint_term(out)
                                          : cast_term(out);
  if (ok) locate(first, out.offset, out.length);
  return ok;
}

bool Parser::decide_simple_term(TermKind& out) {
  Tok token = peek();
  if (token == Tok::kLeftParen) return decide_parenthesized(out);
  if (token == Tok::kQuestionMark) {
    Tok second = peek(1);
    out = second == Tok::kDot ? TermKind::kFunction : TermKind::kValue;
    return second == Tok::kDot || kSimpleTermFollow.contains(second) ? decided(2) : fail_no_viable(1);
  }
  if (token == Tok::kCast) {
    Tok second = peek(1);
    out = second == Tok::kDot ? TermKind::kFunction : TermKind::kCast;
    return second == Tok::kDot || second == Tok::kLeftParen ? decided(2) : fail_no_viable(1);
  }
  out = token == Tok::kToken || kNames.contains(token) ? TermKind::kFunction : TermKind::kValue;
  return kSimpleTermStart.contains(token) && token != Tok::kMinus ? decided(1) : fail_no_viable();
}

// After a ( comes a tuple's first term, or the type of a hint.
bool Parser::decide_parenthesized(TermKind& out) {
  Tok token = peek(1);
  if (token == Tok::kSet) {
    out = TermKind::kTypeHint;
    return decided(2);
  }
  if (token == Tok::kStringLiteral) return decide_after_string(out);
  if (kNames.contains(token)) return decide_after_name(token, out);
  out = TermKind::kValue;
  return kTermStart.contains(token) ? decided(2) : fail_no_viable(1);
}

// ('a') is a tuple, unless it is a type followed by a term.
bool Parser::decide_after_string(TermKind& out) {
  Tok third = peek(2);
  out = TermKind::kValue;
  if (third != Tok::kRightParen) {
    return third == Tok::kComma || kArithmetic.contains(third) ? decided(3) : fail_no_viable(2);
  }
  Tok next = peek(3);
  bool hint = false;
  if (next == Tok::kPer || next == Tok::kGroup || next == Tok::kAs) {
    Tok after = peek(4);
    hint = after == Tok::kLeftParen || after == Tok::kDot;
    bool clause = next == Tok::kPer     ? after == Tok::kPartition
                  : next == Tok::kGroup ? after == Tok::kBy
                                        : kNativeTypes.contains(after);
    if (!hint && !clause) return fail_no_viable(4);
    decided(5);
  } else if (next == Tok::kColon) {
    // A marker, or the value of a map's entry whose key this is.
    Tok after = peek(4);
    if (kNames.contains(after)) {
      Tok last = peek(5);
      bool call = last == Tok::kDot || (last == Tok::kLeftParen && kFunctionNames.contains(after)) ||
                  (last == Tok::kLeftParen && after == Tok::kCast);
      hint = !call;
      if (!call && !kSimpleTermFollow.contains(last)) return fail_no_viable(5);
      decided(6);
    } else if (!kTermStart.contains(after)) {
      return fail_no_viable(4);
    }
    decided(5);
  } else {
    // - after it is arithmetic, since no hint has a sign.
    hint = kSimpleTermStart.contains(next) && next != Tok::kMinus;
    if (!hint && !kSimpleTermFollow.contains(next)) return fail_no_viable(3);
  }
  decided(4);
  if (hint) out = TermKind::kTypeHint;
  return true;
}

// (name: a type, or a function that is called.
bool Parser::decide_after_name(Tok first, TermKind& out) {
  Tok third = peek(2);
  bool can_call = kFunctionNames.contains(first) || first == Tok::kCast;
  bool is_type = kNativeTypes.contains(first) || kTypeNames.contains(first);
  bool is_template = first == Tok::kMap || first == Tok::kList || first == Tok::kTuple || first == Tok::kVector ||
                     first == Tok::kFrozen;
  out = TermKind::kTypeHint;
  if (is_type && third == Tok::kRightParen) return decided(3);
  if (is_template && third == Tok::kLess) return decided(3);
  if (can_call && third == Tok::kLeftParen) {
    out = TermKind::kValue;
    return decided(3);
  }
  if (third != Tok::kDot) return fail_no_viable(2);
  Tok fourth = peek(3);
  if (kNativeTypes.contains(fourth) || fourth == Tok::kCount || fourth == Tok::kToken) {
    out = TermKind::kValue;
    return decided(4);
  }
  if (fourth == Tok::kKey) return decided(4);
  if (!kFunctionNames.contains(fourth)) return fail_no_viable(3);
  Tok fifth = peek(4);
  if (fifth == Tok::kLeftParen) out = TermKind::kValue;
  return fifth == Tok::kLeftParen || fifth == Tok::kRightParen ? decided(5) : fail_no_viable(4);
}

bool Parser::type_hint_term(ast::Term& out) {
  ast::TypeName type;
  ast::Term operand;
  if (!expect(Tok::kLeftParen) || !comparator_type(type) || !expect(Tok::kRightParen) || !simple_term(operand)) {
    return false;
  }
  out.value = ast::TypeHint{std::move(type), std::move(operand)};
  return true;
}

bool Parser::cast_term(ast::Term& out) {
  ast::Term operand;
  ast::TypeName type;
  if (!expect(Tok::kCast, Tok::kLeftParen) || !simple_term(operand) || !expect(Tok::kAs)) return false;
  if (!native_type(type) || !expect(Tok::kRightParen)) return false;
  out.value = ast::Cast{std::move(operand), std::move(type)};
  return true;
}

bool Parser::value_term(ast::Term& out) {
  decided(1);
  has_structured_literals_ |= at(Tok::kLeftBracket) || at(Tok::kLeftBrace) || at(Tok::kLeftParen);
  switch (peek()) {
    case Tok::kNull:
      advance();
      out.value = ast::NullLiteral{};
      return true;
    case Tok::kColon:
    case Tok::kQuestionMark:
      return bind_marker(out.value.emplace<ast::BindMarker>());
    case Tok::kLeftBracket:
      return array_literal(out);
    case Tok::kLeftBrace:
      return brace_literal(out);
    case Tok::kLeftParen:
      return tuple_literal(out);
    default:
      return constant(out.value.emplace<ast::Literal>());
  }
}

bool Parser::constant(ast::Literal& out) {
  using Kind = ast::Literal::Kind;
  Tok token = peek();
  switch (token) {
    case Tok::kStringLiteral:
      out.kind = Kind::kString;
      break;
    case Tok::kIntegerLiteral:
      out.kind = Kind::kInteger;
      break;
    case Tok::kBooleanLiteral:
      out.kind = Kind::kBoolean;
      break;
    case Tok::kUuidLiteral:
      out.kind = Kind::kUuid;
      break;
    case Tok::kDurationLiteral:
      out.kind = Kind::kDuration;
      break;
    case Tok::kHexLiteral:
      out.kind = Kind::kHex;
      break;
    case Tok::kFloatLiteral:
    case Tok::kNan:
    case Tok::kNegativeNan:
    case Tok::kInfinity:
    case Tok::kNegativeInfinity:
      out.kind = Kind::kFloat;
      break;
    default:
      return fail_no_viable();
  }
  if (token == Tok::kNan || token == Tok::kNegativeNan) {
    out.text = "NaN";
  } else if (token == Tok::kInfinity || token == Tok::kNegativeInfinity) {
    out.text = token == Tok::kInfinity ? "Infinity" : "-Infinity";
  } else {
    out.text = value();
  }
  advance();
  return true;
}

bool Parser::bind_marker(ast::BindMarker& out) {
  std::string name;
  if (!accept(Tok::kQuestionMark)) {
    if (!accept(Tok::kColon)) return fail_no_viable();
    if (!ident(name)) return false;
  }
  if (markers_.size() >= max_terms_) return fail_limit("too many terms");
  out.index = uint32_t(markers_.size());
  markers_.push_back(std::move(name));
  return true;
}

bool Parser::marker_term(ast::Term& out) {
  size_t first = pos_;
  if (!bind_marker(out.value.emplace<ast::BindMarker>())) return false;
  locate(first, out.offset, out.length);
  return true;
}

bool Parser::term_list(std::vector<ast::Term>& out) {
  return list([&] { return term(out.emplace_back()); });
}

bool Parser::starts_term(size_t k) { return kSimpleTermStart.contains(peek(k)); }

bool Parser::array_literal(ast::Term& out) {
  auto& array = out.value.emplace<ast::ArrayLiteral>();
  if (!expect(Tok::kLeftBracket)) return false;
  if (accept(Tok::kRightBracket)) return true;
  if (!kSimpleTermStart.contains(peek())) return fail_mismatched(Tok::kRightBracket);
  return term_list(array.elements) && expect(Tok::kRightBracket);
}

// {…}: a UDT if a plain name and a colon come first, else a set or a map.
bool Parser::brace_literal(ast::Term& out) {
  Tok second = peek(1);
  if (kNames.contains(second)) {
    Tok third = peek(2);
    if (third == Tok::kColon) return decided(3) && udt_literal(out);
    bool call = third == Tok::kDot || (third == Tok::kLeftParen && kFunctionNames.contains(second)) ||
                (third == Tok::kLeftParen && second == Tok::kCast);
    if (!call) return fail_no_viable(2);
    decided(3);
  } else if (second != Tok::kRightBrace && !kTermStart.contains(second)) {
    return fail_no_viable(1);
  }
  decided(2);
  advance();
  if (accept(Tok::kRightBrace)) {
    out.value = ast::SetLiteral{};
    return true;
  }
  ast::Term first;
  if (!term(first)) return false;
  if (accept(Tok::kColon)) {
    auto& map = out.value.emplace<ast::MapLiteral>();
    auto& first_entry = map.entries.emplace_back();
    first_entry.key = std::move(first);
    if (!term(first_entry.value)) return false;
    while (accept(Tok::kComma)) {
      auto& [key, value] = map.entries.emplace_back();
      if (!term(key) || !expect(Tok::kColon) || !term(value)) return false;
    }
    return expect(Tok::kRightBrace);
  }
  if (!at(Tok::kComma) && !at(Tok::kRightBrace)) return fail_no_viable();
  auto& set = out.value.emplace<ast::SetLiteral>();
  set.elements.push_back(std::move(first));
  while (accept(Tok::kComma)) {
    if (!term(set.elements.emplace_back())) return false;
  }
  return expect(Tok::kRightBrace);
}

bool Parser::udt_literal(ast::Term& out) {
  auto& udt = out.value.emplace<ast::UdtLiteral>();
  absl::flat_hash_map<std::string, size_t> places;
  advance();
  bool ok = list([&] {
    std::string field;
    ast::Term value;
    if (!ident(field) || !expect(Tok::kColon) || !term(value)) return false;
    const auto [place, is_new] = places.try_emplace(field, udt.fields.size());
    if (is_new) udt.fields.push_back({std::move(field), {}});
    udt.fields[place->second].value = std::move(value);
    return true;
  });
  return ok && expect(Tok::kRightBrace);
}

bool Parser::tuple_literal(ast::Term& out) {
  auto& tuple = out.value.emplace<ast::TupleLiteral>();
  if (!expect(Tok::kLeftParen) || !term_list(tuple.elements) || !expect(Tok::kRightParen)) return false;
  return true;
}

// {term: term, …}, possibly empty: the value of an option.
bool Parser::full_map_literal(ast::MapLiteral& out) {
  if (!expect(Tok::kLeftBrace)) return false;
  if (accept(Tok::kRightBrace)) return true;
  if (!kSimpleTermStart.contains(peek())) return fail_mismatched(Tok::kRightBrace);
  bool ok = list([&] {
    auto& [key, value] = out.entries.emplace_back();
    return term(key) && expect(Tok::kColon) && term(value);
  });
  return ok && expect(Tok::kRightBrace);
}

bool Parser::function(ast::Term& out) {
  auto& call = out.value.emplace<ast::FunctionCall>();
  bool has_arguments = false;
  if (!decide_function(has_arguments) || !function_name(call.function) || !expect(Tok::kLeftParen)) return false;
  return (!has_arguments || term_list(call.arguments)) && expect(Tok::kRightParen);
}

// Looks ahead over the whole name, since f() and f(a) are different rules.
bool Parser::decide_function(bool& has_arguments) {
  Tok first = peek();
  size_t paren = 1;
  if (first != Tok::kToken && peek(1) == Tok::kDot) {
    if (!kFunctionNames.contains(peek(2))) return fail_no_viable(2);
    paren = 3;
  } else if (!kFunctionNames.contains(first)) {
    return fail_no_viable(1);
  }
  if (peek(paren) != Tok::kLeftParen) return fail_no_viable(paren);
  Tok next = peek(paren + 1);
  has_arguments = next != Tok::kRightParen;
  return !has_arguments || kSimpleTermStart.contains(next) ? decided(paren + 2) : fail_no_viable(paren + 1);
}

// LIMIT, TTL and TIMESTAMP take an integer or a marker.
bool Parser::int_value(ast::Term& out) {
  if (!at(Tok::kIntegerLiteral)) return marker_term(out);
  size_t first = pos_;
  out.value = ast::Literal{ast::Literal::Kind::kInteger, value()};
  advance();
  locate(first, out.offset, out.length);
  return true;
}

}  // namespace cassandra_like
