// Reads the data files of the parser's tests.
#pragma once

#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cassandra_like {

inline std::string unescape(std::string_view line) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\' || i + 1 == line.size()) {
      out += line[i];
    } else {
      out += line[++i] == 'n' ? '\n' : line[i];
    }
  }
  return out;
}

// The lines of tests/cql/data/<file> but for comments, as they are.
inline std::vector<std::string> data_lines(const std::string& file) {
  std::ifstream in(SOURCE_DIR "/tests/cql/data/" + file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] != '#') lines.push_back(std::move(line));
  }
  return lines;
}

// Pairs of a statement and the tree it is parsed to.
inline std::vector<std::pair<std::string, std::string>> parsed_statements() {
  std::vector<std::string> lines = data_lines("parsed_statements.txt");
  std::vector<std::pair<std::string, std::string>> out;
  for (size_t i = 0; i + 1 < lines.size(); i += 2) out.emplace_back(unescape(lines[i]), lines[i + 1].substr(2));
  return out;
}

}  // namespace cassandra_like
