// Where Jackson's DefaultPrettyPrinter and MinimalPrettyPrinter put spaces.
#include "jackson_writer.h"

#include <fmt/format.h>

namespace cassandra_like::sstable_tools {

void JacksonWriter::indent(bool compact) {
  if (!pretty_) return;
  if (compact) {
    out_.push_back(' ');
  } else {
    out_.push_back('\n');
    out_.append(2 * levels_.size(), ' ');
  }
}

void JacksonWriter::before_value() {
  if (levels_.empty()) {
    if (roots_++ > 0) out_.push_back(pretty_ ? ' ' : '\n');
    return;
  }
  if (levels_.back().is_object) return;
  if (levels_.back().entries++ > 0) out_.push_back(',');
  indent(compact_arrays);
}

void JacksonWriter::start(char bracket, bool is_object) {
  before_value();
  out_.push_back(bracket);
  levels_.push_back({is_object});
}

void JacksonWriter::end(char bracket, bool compact) {
  const bool is_empty = levels_.back().entries == 0;
  levels_.pop_back();
  indent(compact || is_empty);
  out_.push_back(bracket);
}

void JacksonWriter::name(std::string_view name) {
  if (levels_.back().entries++ > 0) out_.push_back(',');
  indent(compact_objects);
  quote(name);
  out_ += pretty_ ? " : " : ":";
}

void JacksonWriter::string(std::string_view text) {
  before_value();
  quote(text);
}

void JacksonWriter::raw(std::string_view json) {
  before_value();
  out_ += json;
}

void JacksonWriter::quote(std::string_view text) {
  out_.push_back('"');
  for (const char c : text) {
    constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
    constexpr std::string_view kLetters = "\"\\bfnrt";
    if (const size_t i = kEscaped.find(c); i != kEscaped.npos) {
      out_.push_back('\\');
      out_.push_back(kLetters[i]);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out_ += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      out_.push_back(c);
    }
  }
  out_.push_back('"');
}

}  // namespace cassandra_like::sstable_tools
