#include "tests/strategy/recorded.h"

#include <fstream>

namespace cassandra_like::strategy_test {

Fields split(const std::string& text, char separator) {
  Fields fields;
  size_t from = 0;
  for (size_t at; (at = text.find(separator, from)) != std::string::npos; from = at + 1) {
    fields.push_back(text.substr(from, at - from));
  }
  fields.push_back(text.substr(from));
  return fields;
}

std::vector<Fields> recorded_lines(const std::string& file) {
  std::vector<Fields> lines;
  std::ifstream in(std::string(SOURCE_DIR "/tests/strategy/data/") + file);
  for (std::string line; std::getline(in, line);) lines.push_back(split(line, '\t'));
  CHECK(!lines.empty());
  return lines;
}

StringPairs recorded_map(const std::string& text) {
  StringPairs map;
  for (const std::string& pair : split(text, ';')) {
    const size_t equals = pair.find('=');
    map[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return map;
}

OwnedRanges recorded_ranges(const std::string& text) {
  std::vector<OwnedRange> ranges;
  for (const std::string& pair : split(text, ',')) {
    const Fields ends = split(pair, ':');
    ranges.push_back({std::stoll(ends[0]), std::stoll(ends[1])});
  }
  return OwnedRanges(std::move(ranges));
}

}  // namespace cassandra_like::strategy_test
