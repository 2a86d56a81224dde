// Cuts CQL into tokens, exactly as Cassandra's lexer does, its oddities included: `abcdef12-1` starts a uuid and is an
// error, `-n` must become `-nan`, a `--` comment must end with a line break. It works on bytes; the text must be UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cql/syntax/keywords.h"

namespace cassandra_like {

struct SyntaxToken {
  Tok kind = Tok::kEnd;
  uint32_t offset = 0;
  uint32_t length = 0;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  // The next token that is not kHidden. Past the end it is kEnd, past an error kLexicalError, again and again.
  SyntaxToken next();
  // The same with kHidden tokens.
  SyntaxToken next_with_hidden();

  // For kLexicalError: the fault, without its place, and the byte at which it was noticed.
  const std::string& error() const { return error_; }
  uint32_t error_offset() const { return error_offset_; }

 private:
  // Each reads one token from start_ and leaves at_ behind it.
  Tok read_token();
  Tok read_word();
  Tok read_number();
  Tok read_after_dot(size_t digits_end);
  Tok read_uuid_or(Tok other, size_t letter);
  Tok read_minus();
  Tok read_punctuation(char c);
  Tok read_float(size_t exponent);
  Tok read_duration(size_t unit);
  Tok read_negative_iso_duration();
  bool skip_iso_parts(size_t& i, std::string_view units);
  Tok read_iso_date_time(size_t digits);
  Tok read_uuid();
  Tok read_string();
  Tok read_dollar_string();
  Tok read_quoted_name();
  Tok read_line_comment();
  Tok read_block_comment();
  Tok read_literally(size_t from, std::string_view upper, Tok token);

  Tok take(size_t length, Tok token);
  Tok fail(size_t offset, std::string_view before, std::string_view after = {});
  Tok fail_no_alternative(size_t offset);
  // NUL past the end, which no caller takes for a character that may be there.
  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  size_t skip_digits(size_t i) const;

  std::string_view text_;
  size_t start_ = 0;
  size_t at_ = 0;
  bool failed_ = false;
  uint32_t error_offset_ = 0;
  std::string error_;
};

// The value of a token: a name or string without its quotes and escapes, else its text as it is.
std::string token_value(std::string_view text, const SyntaxToken& token);

}  // namespace cassandra_like
