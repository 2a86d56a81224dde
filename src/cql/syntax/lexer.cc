#include "cql/syntax/lexer.h"

#include <algorithm>

#include "base/ascii.h"

namespace cassandra_like {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

constexpr size_t kUuidSize = 36;

bool is_uuid_char(size_t index, char c) {
  bool dash = index == 8 || index == 13 || index == 18 || index == 23;
  return index < kUuidSize && (dash ? c == '-' : is_hex(c));
}

// The size of the unit at the front of `s` (`mo`, `us`…), 0 if there is none, npos if there is half of one.
size_t duration_unit(std::string_view s) {
  if (s.empty()) return 0;
  char second = s.size() > 1 ? lower(s[1]) : '\0';
  switch (lower(s[0])) {
    case 'y':
    case 'w':
    case 'd':
    case 'h':
    case 's':
      return 1;
    case 'm':
      return second == 'o' || second == 's' ? 2 : 1;
    case 'u':
    case 'n':
      return second == 's' ? 2 : std::string_view::npos;
    case '\xC2':  // µ
      if (second != '\xB5') return 0;
      return s.size() > 2 && lower(s[2]) == 's' ? 3 : std::string_view::npos;
    default:
      return 0;
  }
}

// Digits and one of `units` at the front of `s`: removes both and returns the unit, NUL if it is not so.
char take_designator(std::string_view& s, std::string_view units) {
  size_t i = 0;
  while (i < s.size() && is_digit(s[i])) ++i;
  if (i == 0 || i == s.size() || units.find(s[i]) == std::string_view::npos) return '\0';
  char unit = s[i];
  s.remove_prefix(i + 1);
  return unit;
}

// T1H2M3S with at least one part, in this order, and nothing after it.
bool is_iso_time(std::string_view s) {
  if (s.size() < 3) return false;
  s.remove_prefix(1);
  std::string_view units = "HMS";
  while (!s.empty()) {
    char unit = take_designator(s, units);
    if (unit == '\0') return false;
    units.remove_prefix(units.find(unit) + 1);
  }
  return true;
}

// P1Y2M3DT4H5M6S, P1W: a whole word that is an ISO 8601 duration.
bool is_iso_duration(std::string_view s) {
  s.remove_prefix(1);
  if (s.empty()) return false;
  std::string_view week = s;
  if (take_designator(week, "W") != '\0') return week.empty();
  std::string_view units = "YMD";
  while (!s.empty() && s[0] != 'T') {
    char unit = take_designator(s, units);
    if (unit == '\0') return false;
    units.remove_prefix(units.find(unit) + 1);
  }
  return s.empty() || is_iso_time(s);
}

}  // namespace

SyntaxToken Lexer::next() {
  SyntaxToken token;
  do {
    token = next_with_hidden();
  } while (token.kind == Tok::kHidden);
  return token;
}

SyntaxToken Lexer::next_with_hidden() {
  start_ = at_;
  if (failed_) return {Tok::kLexicalError, uint32_t(start_), 0};
  if (start_ >= text_.size()) return {Tok::kEnd, uint32_t(text_.size()), 0};
  Tok kind = read_token();
  return {kind, uint32_t(start_), uint32_t(at_ - start_)};
}

Tok Lexer::read_token() {
  char c = text_[start_];
  if (is_letter(c)) return read_word();
  if (is_digit(c)) return read_number();
  switch (c) {
    case ' ':
    case '\t':
    case '\n':
    case '\r':
      at_ = start_ + 1;
      while (at_ < text_.size() && is_space(text_[at_])) ++at_;
      return Tok::kHidden;
    case '\'':
      return read_string();
    case '$':
      return read_dollar_string();
    case '"':
      return read_quoted_name();
    case '-':
      return read_minus();
    case '/':
      if (at(start_ + 1) == '/') return read_line_comment();
      if (at(start_ + 1) == '*') return read_block_comment();
      return take(1, Tok::kSlash);
    default:
      return read_punctuation(c);
  }
}

Tok Lexer::read_word() {
  size_t end = start_ + 1;
  while (end < text_.size() && is_word(text_[end])) ++end;
  std::string_view word = text_.substr(start_, end - start_);
  if (word.size() == 8 && at(end) == '-' && std::all_of(word.begin(), word.end(), is_hex)) return read_uuid();
  if (word[0] == 'P') {
    if (word.size() == 5 && at(end) == '-' && std::all_of(word.begin() + 1, word.end(), is_digit)) {
      return read_iso_date_time(start_ + 1);
    }
    if (is_iso_duration(word)) return take(word.size(), Tok::kDurationLiteral);
  }
  if (word == "expr" && at(end) == '(') return take(word.size() + 1, Tok::kExpr);
  at_ = end;
  return classify_word(word);
}

size_t Lexer::skip_digits(size_t i) const {
  while (i < text_.size() && is_digit(text_[i])) ++i;
  return i;
}

Tok Lexer::read_number() {
  bool negative = text_[start_] == '-';
  size_t end = skip_digits(start_ + negative);
  size_t size = end - start_;
  char c = at(end);
  if (c == '.') return read_after_dot(end);
  if (!negative && size == 1 && text_[start_] == '0' && lower(c) == 'x') {
    ++end;
    while (end < text_.size() && is_hex(text_[end])) ++end;
    return take(end - start_, Tok::kHexLiteral);
  }
  if (!negative && size <= 8 && is_uuid_char(size, c)) {
    if (lower(c) == 'e') return read_uuid_or(Tok::kFloatLiteral, end);
    if (lower(c) == 'd') return read_uuid_or(Tok::kDurationLiteral, end);
    return read_uuid();
  }
  if (lower(c) == 'e') return read_float(end);
  if (duration_unit(text_.substr(end)) != 0) return read_duration(end);
  return take(size, Tok::kIntegerLiteral);
}

// 1.5, but 1..2 is a range of integers and 1...2 one that starts with 1.
Tok Lexer::read_after_dot(size_t digits_end) {
  if (at(digits_end + 1) == '.') {
    return at(digits_end + 2) == '.' ? take(digits_end + 1 - start_, Tok::kFloatLiteral)
                                     : take(digits_end - start_, Tok::kIntegerLiteral);
  }
  size_t end = skip_digits(digits_end + 1);
  if (lower(at(end)) == 'e') return read_float(end);
  return take(end - start_, Tok::kFloatLiteral);
}

// Digits and `e` or `d`: reads on for as long as it may be a uuid as well as the other, then settles for one of them.
Tok Lexer::read_uuid_or(Tok other, size_t letter) {
  bool is_float = other == Tok::kFloatLiteral;
  auto read_other = [&] { return is_float ? read_float(letter) : read_duration(letter); };
  bool complete = !is_float;       // whether the other may end here
  bool needs_more_digits = false;  // after its sign, or after digits that lack a unit
  for (size_t i = letter + 1;; ++i) {
    char c = at(i);
    bool uuid = is_uuid_char(i - start_, c);
    bool sign = is_float && (c == '-' || c == '+') && i == letter + 1;
    bool unit = !is_float && is_digit(text_[i - 1]) && duration_unit(text_.substr(i)) != 0;
    if (!is_digit(c) && !sign && !unit) {
      if (uuid) return read_uuid();
      if (complete && !needs_more_digits) return read_other();
      return fail_no_alternative(i);
    }
    if (!uuid) return read_other();
    complete = is_float ? is_digit(c) : unit;
    needs_more_digits = sign;
  }
}

// The rest of a number from its exponent on.
Tok Lexer::read_float(size_t exponent) {
  size_t digits = exponent + 1;
  if (at(digits) == '+' || at(digits) == '-') ++digits;
  size_t end = skip_digits(digits);
  if (end == digits) return fail(digits, "required (...)+ loop did not match anything at character ");
  return take(end - start_, Tok::kFloatLiteral);
}

// The rest of a duration from its first unit on.
Tok Lexer::read_duration(size_t unit) {
  while (true) {
    size_t size = duration_unit(text_.substr(unit));
    if (size == 0) return fail_no_alternative(unit);
    if (size == std::string_view::npos) {
      return fail(unit + (text_[unit] == '\xC2' ? 2 : 1), "mismatched character ", " expecting set null");
    }
    size_t end = skip_digits(unit + size);
    if (end == unit + size) return take(end - start_, Tok::kDurationLiteral);
    unit = end;
  }
}

Tok Lexer::read_minus() {
  char c = at(start_ + 1);
  if (is_digit(c)) return read_number();
  switch (c) {
    case '-':
      return read_line_comment();
    case '=':
      return take(2, Tok::kMinusEqual);
    case 'n':
    case 'N':
      return read_literally(start_ + 1, "NAN", Tok::kNegativeNan);
    case 'i':
    case 'I':
      return read_literally(start_ + 1, "INFINITY", Tok::kNegativeInfinity);
    case 'P':
      return read_negative_iso_duration();
    default:
      return take(1, Tok::kMinus);
  }
}

Tok Lexer::read_literally(size_t from, std::string_view upper, Tok token) {
  for (size_t i = 0; i < upper.size(); ++i) {
    if (lower(at(from + i)) != lower(upper[i])) {
      return fail(from + i, "mismatched character ", " expecting set null");
    }
  }
  return take(from + upper.size() - start_, token);
}

// Unlike without the minus, nothing but a duration can start with -P, so it has errors of its own.
Tok Lexer::read_negative_iso_duration() {
  size_t i = start_ + 2;
  if (at(i) != 'T') {
    size_t end = skip_digits(i);
    if (end - i == 4 && at(end) == '-') return read_iso_date_time(i);
    if (end > i && at(end) == 'W') return take(end + 1 - start_, Tok::kDurationLiteral);
    if (!skip_iso_parts(i, "YMD")) return Tok::kLexicalError;
  }
  if (at(i) == 'T' && !skip_iso_parts(++i, "HMS")) return Tok::kLexicalError;
  return take(i - start_, Tok::kDurationLiteral);
}

// Moves `i` behind at least one part, a number and a unit, in the order of the units; fails if there is none.
bool Lexer::skip_iso_parts(size_t& i, std::string_view units) {
  bool first = true;
  while (first || (!units.empty() && is_digit(at(i)))) {
    size_t end = skip_digits(i);
    size_t unit = end > i && end < text_.size() ? units.find(text_[end]) : std::string_view::npos;
    if (unit == std::string_view::npos) {
      if (first || units.size() > 1) {
        fail_no_alternative(end);
      } else {
        fail(end, "mismatched character ", " expecting '" + std::string(units) + "'");
      }
      return false;
    }
    units.remove_prefix(unit + 1);
    i = end + 1;
    first = false;
  }
  return true;
}

// P2020-01-01T10:00:00 from its first digit on.
Tok Lexer::read_iso_date_time(size_t digits) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00";
  for (size_t i = 0; i < kShape.size(); ++i) {
    char c = at(digits + i);
    if (kShape[i] == '0') {
      if (!is_digit(c)) return fail(digits + i, "mismatched character ", " expecting set null");
    } else if (c != kShape[i]) {
      return fail(digits + i, "mismatched character ", " expecting '" + std::string(1, kShape[i]) + "'");
    }
  }
  return take(digits + kShape.size() - start_, Tok::kDurationLiteral);
}

Tok Lexer::read_uuid() {
  for (size_t i = 0; i < kUuidSize; ++i) {
    if (is_uuid_char(i, at(start_ + i))) continue;
    return fail(start_ + i, "mismatched character ", is_uuid_char(i, '-') ? " expecting '-'" : " expecting set null");
  }
  return take(kUuidSize, Tok::kUuidLiteral);
}

Tok Lexer::read_string() {
  size_t i = start_ + 1;
  while (true) {
    i = text_.find('\'', i);
    if (i == std::string_view::npos) return fail(text_.size(), "mismatched character ", " expecting '''");
    if (at(i + 1) != '\'') return take(i + 1 - start_, Tok::kStringLiteral);
    i += 2;
  }
}

Tok Lexer::read_dollar_string() {
  if (at(start_ + 1) != '$') return fail(start_ + 1, "mismatched character ", " expecting '$'");
  size_t end = text_.find("$$", start_ + 2);
  if (end != std::string_view::npos) return take(end + 2 - start_, Tok::kStringLiteral);
  // Cassandra leaves the last character to the closing $$.
  size_t last = text_.size();
  if (last > start_ + 2 && text_[last - 1] != '$') {
    do {
      --last;
    } while ((text_[last] & 0xC0) == 0x80);
  }
  return fail(last, "mismatched character ", " expecting '$'");
}

Tok Lexer::read_quoted_name() {
  if (at(start_ + 1) == '"' && at(start_ + 2) != '"') return take(2, Tok::kEmptyQuotedName);
  if (start_ + 1 == text_.size()) return fail_no_alternative(start_ + 1);
  size_t i = start_ + 1;
  while (true) {
    i = text_.find('"', i);
    if (i == std::string_view::npos) return fail(text_.size(), "mismatched character ", " expecting '\"'");
    if (at(i + 1) != '"') return take(i + 1 - start_, Tok::kQuotedName);
    i += 2;
  }
}

Tok Lexer::read_line_comment() {
  size_t end = text_.find_first_of("\n\r", start_ + 2);
  if (end == std::string_view::npos) {
    return fail(text_.size(), "mismatched character ", " expecting set null");
  }
  return take(end + 1 - start_, Tok::kHidden);
}

Tok Lexer::read_block_comment() {
  size_t end = text_.find("*/", start_ + 2);
  if (end == std::string_view::npos) {
    bool star = text_.size() > start_ + 2 && text_.back() == '*';
    return fail(text_.size(), "mismatched character ", star ? " expecting '/'" : " expecting '*'");
  }
  return take(end + 2 - start_, Tok::kHidden);
}

Tok Lexer::read_punctuation(char c) {
  char second = at(start_ + 1);
  switch (c) {
    case '(':
      return take(1, Tok::kLeftParen);
    case ')':
      return take(1, Tok::kRightParen);
    case '[':
      return take(1, Tok::kLeftBracket);
    case ']':
      return take(1, Tok::kRightBracket);
    case '{':
      return take(1, Tok::kLeftBrace);
    case '}':
      return take(1, Tok::kRightBrace);
    case ',':
      return take(1, Tok::kComma);
    case ';':
      return take(1, Tok::kSemicolon);
    case ':':
      return take(1, Tok::kColon);
    case '?':
      return take(1, Tok::kQuestionMark);
    case '=':
      return take(1, Tok::kEqual);
    case '*':
      return take(1, Tok::kStar);
    case '%':
      return take(1, Tok::kPercent);
    case '.':
      return second == '.' ? take(2, Tok::kRange) : take(1, Tok::kDot);
    case '<':
      return second == '=' ? take(2, Tok::kLessEqual) : take(1, Tok::kLess);
    case '>':
      return second == '=' ? take(2, Tok::kGreaterEqual) : take(1, Tok::kGreater);
    case '+':
      return second == '=' ? take(2, Tok::kPlusEqual) : take(1, Tok::kPlus);
    case '!':
      if (second == '=') return take(2, Tok::kNotEqual);
      return fail(start_ + 1, "mismatched character ", " expecting '='");
    default:
      return fail_no_alternative(start_);
  }
}

Tok Lexer::take(size_t length, Tok token) {
  at_ = start_ + length;
  return token;
}

// Names the character at `offset` between the two parts, as Cassandra displays it.
Tok Lexer::fail(size_t offset, std::string_view before, std::string_view after) {
  failed_ = true;
  at_ = start_;
  error_offset_ = uint32_t(offset);
  error_ = before;
  error_ += '\'';
  char c = at(offset);
  size_t size = (c & 0xF8) == 0xF0 ? 4 : (c & 0xF0) == 0xE0 ? 3 : (c & 0xE0) == 0xC0 ? 2 : 1;
  if (offset >= text_.size()) {
    error_ += "<EOF>";
  } else if (c == '\n') {
    error_ += "\\n";
  } else if (c == '\t') {
    error_ += "\\t";
  } else if (c == '\r') {
    error_ += "\\r";
  } else if (size == 4) {
    error_ += '?';  // half of a surrogate pair there
  } else {
    error_ += text_.substr(offset, size);
  }
  error_ += '\'';
  error_ += after;
  return Tok::kLexicalError;
}

Tok Lexer::fail_no_alternative(size_t offset) { return fail(offset, "no viable alternative at character "); }

std::string token_value(std::string_view text, const SyntaxToken& token) {
  std::string_view s = text.substr(token.offset, token.length);
  if (token.kind == Tok::kStringLiteral && s[0] == '$') return std::string(s.substr(2, s.size() - 4));
  if (token.kind != Tok::kStringLiteral && token.kind != Tok::kQuotedName && token.kind != Tok::kEmptyQuotedName) {
    return std::string(s);
  }
  char quote = s[0];
  s = s.substr(1, s.size() - 2);
  std::string value;
  value.reserve(s.size());
  for (size_t i = 0; i < s.size(); ++i) {
    value += s[i];
    if (s[i] == quote) ++i;  // the second of two
  }
  return value;
}

}  // namespace cassandra_like
