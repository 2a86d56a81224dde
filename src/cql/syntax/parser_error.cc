// The wording of syntax errors: ANTLR's message, and the snippet that Cassandra's ErrorCollector adds to it.
//
// Lines count from 1 and columns from 0, in UTF-16 units as in Java. The end of the text has neither: it is at 0:-1, and
// a snippet that would touch it is left out. The snippet goes from ten tokens before the highlighted one to two after
// it, but no further than the parser has looked; white space and comments count as tokens there. It uses the tokens'
// texts without quotes to find their ends, so that what is highlighted of a string is two characters short.
#include <vector>

#include "cql/syntax/parser_impl.h"

namespace cassandra_like {
namespace {

constexpr size_t kTokensBefore = 10;
constexpr size_t kTokensAfter = 2;

std::u16string to_utf16(std::string_view s) {
  std::u16string out;
  out.reserve(s.size());
  for (size_t i = 0; i < s.size();) {
    uint8_t c = uint8_t(s[i]);
    size_t size = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    uint32_t code = size == 1 ? c : c & (0x7Fu >> size);
    for (size_t k = 1; k < size && i + k < s.size(); ++k) code = code << 6 | (uint8_t(s[i + k]) & 0x3F);
    if (code >= 0x10000) {
      out += char16_t(0xD7C0 + (code >> 10));
      out += char16_t(0xDC00 | (code & 0x3FF));
    } else {
      out += char16_t(code);
    }
    i += size;
  }
  return out;
}

bool is_high_surrogate(char16_t c) { return (c & 0xFC00) == 0xD800; }
bool is_low_surrogate(char16_t c) { return (c & 0xFC00) == 0xDC00; }

std::string to_utf8(std::u16string_view s) {
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    uint32_t code = s[i];
    if (is_high_surrogate(s[i]) && i + 1 < s.size() && is_low_surrogate(s[i + 1])) {
      code = 0x10000 + ((code & 0x3FF) << 10 | (s[++i] & 0x3FFu));
    } else if (is_high_surrogate(s[i]) || is_low_surrogate(s[i])) {
      code = '?';
    }
    if (code < 0x80) {
      out += char(code);
    } else if (code < 0x800) {
      out += {char(0xC0 | code >> 6), char(0x80 | (code & 0x3F))};
    } else if (code < 0x10000) {
      out += {char(0xE0 | code >> 12), char(0x80 | (code >> 6 & 0x3F)), char(0x80 | (code & 0x3F))};
    } else {
      out += {char(0xF0 | code >> 18), char(0x80 | (code >> 12 & 0x3F)), char(0x80 | (code >> 6 & 0x3F)),
              char(0x80 | (code & 0x3F))};
    }
  }
  return out;
}

struct Position {
  size_t line = 0;
  size_t column = 0;
};

Position position_of(std::string_view text, size_t offset) {
  std::string_view before = text.substr(0, offset);
  size_t line_start = before.rfind('\n') + 1;  // 0 when there is no line break
  Position position;
  for (char c : before) position.line += c == '\n';
  position.column = to_utf16(before.substr(line_start)).size();
  return position;
}

std::string header(std::string_view text, uint32_t offset) {
  Position at = position_of(text, offset);
  return "line " + std::to_string(at.line + 1) + ":" + std::to_string(at.column) + " ";
}

// Java's split("\n") leaves out empty lines at the end.
size_t count_lines(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return 1 + static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

struct SnippetToken {
  Position at;
  size_t end;  // the column behind it, by the length of its value
};

// Empty when the tokens cannot be shown in it.
std::string snippet(std::string_view text, const SyntaxToken& from_token, const SyntaxToken& to_token,
                    const SyntaxToken& highlighted_token) {
  auto locate = [&](const SyntaxToken& token) {
    Position at = position_of(text, token.offset);
    size_t size = token.kind == Tok::kEmptyQuotedName ? 2 : to_utf16(token_value(text, token)).size();
    return SnippetToken{at, at.column + size};
  };
  for (const SyntaxToken* token : {&from_token, &to_token, &highlighted_token}) {
    if (token->kind == Tok::kEnd) return "";
  }
  SnippetToken from = locate(from_token);
  SnippetToken to = locate(to_token);
  SnippetToken highlighted = locate(highlighted_token);
  const size_t lines = count_lines(text);
  if (to.at.line >= lines) return "";

  // One line after the other: there may be as many as the text has bytes.
  bool has_start = from.at.line == 0 && from.at.column == 0, has_end = false;
  std::u16string shown;
  for (size_t i = 0; i <= to.at.line; ++i) {
    const std::string_view raw = take_line(text);
    if (i < from.at.line) continue;
    std::u16string line = to_utf16(raw);
    if (i == to.at.line) {
      has_end = i + 1 == lines && to.end == line.size();
      if (to.end < line.size()) line.resize(to.end);
    }
    if (i == highlighted.at.line) {
      if (highlighted.end > line.size()) return "";
      line.insert(highlighted.end, 1, u']');
      line.insert(highlighted.at.column, 1, u'[');
    }
    if (i == from.at.line) line.erase(0, from.at.column);
    shown += line;
  }
  return std::string(" (") + (has_start ? "" : "...") + to_utf8(shown) + (has_end ? "" : "...") + ")";
}

// The tokens up to the last one looked at, white space and comments too.
std::vector<SyntaxToken> tokens_seen(std::string_view text, const SyntaxToken& last_seen) {
  std::vector<SyntaxToken> tokens;
  Lexer lexer(text);
  do {
    tokens.push_back(lexer.next_with_hidden());
  } while (tokens.back().offset < last_seen.offset && tokens.back().kind != Tok::kEnd &&
           tokens.back().kind != Tok::kLexicalError);
  return tokens;
}

}  // namespace

Error to_error(std::string_view text, const SyntaxError& error) {
  bool at_end = error.found.kind == Tok::kEnd;
  std::string found = at_end ? "<EOF>" : token_value(text, error.found);
  if (error.found.kind == Tok::kEmptyQuotedName) found = "\"\"";
  for (auto [c, escaped] : {std::pair{'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}}) {
    for (size_t i = 0; (i = found.find(c, i)) != std::string::npos; ++i) found.replace(i, 1, escaped);
  }
  std::string message = at_end ? "line 0:-1 " : header(text, error.found.offset);
  if (error.kind == SyntaxError::Kind::kNoViableAlternative) {
    message += "no viable alternative at input '" + found + "'";
  } else {
    message += "mismatched input '" + found + "' expecting ";
    message += error.kind == SyntaxError::Kind::kMismatched ? token_name(error.expected) : "set null";
  }
  std::vector<SyntaxToken> tokens = tokens_seen(text, error.last_seen);
  size_t index = 0;
  while (index + 1 < tokens.size() && tokens[index].offset < error.highlighted.offset) ++index;
  size_t from = index > kTokensBefore ? index - kTokensBefore : 0;
  size_t to = std::min(index + kTokensAfter, tokens.size() - 1);
  message += snippet(text, tokens[from], tokens[to], tokens[index]);
  return Error(ErrorCode::kSyntaxError, std::move(message));
}

Error to_error(std::string_view text, const Lexer& lexer) {
  return Error(ErrorCode::kSyntaxError, header(text, lexer.error_offset()) + lexer.error());
}

Error syntax_error_at(std::string_view text, uint32_t offset, std::string_view what) {
  return Error(ErrorCode::kSyntaxError, header(text, offset) + std::string(what));
}

}  // namespace cassandra_like
