#include "tests/messaging/wire_oracle.h"

#include <fstream>
#include <map>

#include "base/result.h"

namespace cassandra_like::messaging_test {

namespace {

std::map<std::string, std::vector<WireCase>> read_wire_cases() {
  std::map<std::string, std::vector<WireCase>> groups;
  std::ifstream in(SOURCE_DIR "/tests/messaging/data/wire.txt");
  for (std::string line; std::getline(in, line);) {
    WireCase fields;
    size_t from = 0;
    for (size_t tab; (tab = line.find('\t', from)) != std::string::npos; from = tab + 1) {
      fields.push_back(line.substr(from, tab - from));
    }
    fields.push_back(line.substr(from));
    const std::string group = fields.front();
    fields.erase(fields.begin());
    groups[group].push_back(std::move(fields));
  }
  return groups;
}

}  // namespace

const std::vector<WireCase>& wire_cases(const std::string& group) {
  static const auto groups = read_wire_cases();
  return groups.at(group);
}

Bytes wire_bytes(const std::string& hex) {
  Bytes out;
  CHECK(from_hex(hex, &out));
  return out;
}

Bytes wire_payload(const std::string& name) {
  for (const WireCase& c : wire_cases("payload")) {
    if (c[0] == name) return wire_bytes(c[1]);
  }
  CHECK(false);
}

}  // namespace cassandra_like::messaging_test
