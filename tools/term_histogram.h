// Histograms as sstablemetadata draws them (tools.Util.TermHistogram): a line with a bar for each point, then percentiles.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cassandra_like::sstable_tools {

struct Colors {
  bool ansi = false;
  bool unicode = false;  // of bars

  std::string blue() const { return ansi ? "\x1B[34m" : ""; }
  std::string cyan() const { return ansi ? "\x1B[36m" : ""; }
  std::string white() const { return ansi ? "\x1B[37m" : ""; }
  std::string reset() const { return ansi ? "\x1B[0m" : ""; }
  // In parentheses; nothing for nothing.
  std::string quiet(const std::string& text) const { return text.empty() ? "" : white() + "(" + text + ")" + reset(); }
};

// points: ascending, with their counts. name: how a point is printed.
std::string draw_histogram(const std::vector<std::pair<int64_t, uint64_t>>& points, const std::string& title,
                           const std::function<std::string(int64_t)>& name, const Colors& colors);

}  // namespace cassandra_like::sstable_tools
