// JSON as Jackson's generator writes it for Cassandra's sstabledump: pretty-printed, where each object and array that is
// marked compact stays on its line; or without any space.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cassandra_like::sstable_tools {

class JacksonWriter {
 public:
  JacksonWriter(std::string* out, bool pretty) : out_(*out), pretty_(pretty) {}

  // Whether what comes next in an object, or an array, is on the same line.
  bool compact_objects = false;
  bool compact_arrays = false;

  void start_object() { start('{', true); }
  void end_object() { end('}', compact_objects); }
  void start_array() { start('[', false); }
  void end_array() { end(']', compact_arrays); }
  void name(std::string_view name);
  void string(std::string_view text);
  void number(int64_t v) { raw(std::to_string(v)); }
  void boolean(bool v) { raw(v ? "true" : "false"); }
  void raw(std::string_view json);  // a value in JSON

 private:
  struct Level {
    bool is_object;
    size_t entries = 0;
  };
  void start(char bracket, bool is_object);
  void end(char bracket, bool compact);
  void before_value();
  void indent(bool compact);
  void quote(std::string_view text);

  std::string& out_;
  bool pretty_;
  size_t roots_ = 0;
  std::vector<Level> levels_;
};

}  // namespace cassandra_like::sstable_tools
