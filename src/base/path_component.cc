#include "base/path_component.h"

#include <algorithm>

#include <fmt/format.h>

namespace cassandra_like {

namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

// Control bytes as \xNN, so that a log line stays one line.
std::string visible(std::string_view name) {
  constexpr size_t kMostShown = 80;
  std::string out = "\"";
  for (char c : name.substr(0, kMostShown)) {
    if (is_control(c)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out.push_back(c);
    }
  }
  return out + (name.size() > kMostShown ? "…\"" : "\"");
}

}  // namespace

Status check_path_component(std::string_view name, std::string_view what) {
  auto refuse = [&](std::string_view why) { return invalid(fmt::format("{} {} {}", what, visible(name), why)); };
  if (name.empty()) return invalid(fmt::format("{} is empty", what));
  if (name.size() > kLongestPathComponent) {
    return refuse(fmt::format("has {} bytes: at most {} are allowed", name.size(), kLongestPathComponent));
  }
  if (name.find('/') != name.npos) return refuse("cannot contain /");
  if (std::any_of(name.begin(), name.end(), is_control)) return refuse("cannot contain control characters");
  if (name.find_first_not_of('.') == name.npos) return refuse("cannot consist of dots");
  return {};
}

}  // namespace cassandra_like
