// Bars and percentiles.
#include "term_histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace cassandra_like::sstable_tools {

namespace {

constexpr double kBarLength = 30;

// Without escape sequences of colors.
size_t visible_size(const std::string& text) {
  size_t size = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1B') {
      i = text.find('m', i);
    } else {
      ++size;
    }
  }
  return size;
}

std::string padded(const std::string& text, size_t width) {
  return text + std::string(width - std::min(width, visible_size(text)), ' ');
}

std::string bar(uint64_t count, uint64_t max, const Colors& colors) {
  struct Part {
    double from;
    const char* text;
  };
  static constexpr std::array kUnicode{Part{1.0, "\u2589"},     Part{7.0 / 8, "\u2589"}, Part{3.0 / 4, "\u258A"},
                                       Part{5.0 / 8, "\u258B"}, Part{3.0 / 8, "\u258D"}, Part{1.0 / 4, "\u258E"},
                                       Part{1.0 / 8, "\u258F"}};
  static constexpr std::array kAscii{Part{1.0, "O"}, Part{0.75, "o"}, Part{0.3, "."}};
  const std::span<const Part> parts = colors.unicode ? std::span<const Part>(kUnicode) : std::span<const Part>(kAscii);
  const double length = static_cast<double>(count) * 1.0 / static_cast<double>(max) * kBarLength;
  const int whole = static_cast<int>(length);
  std::string text = colors.white();
  for (int i = 0; i < whole; ++i) text += parts[0].text;
  for (const Part& part : parts) {
    if (length - whole >= part.from) {
      text += part.text;
      break;
    }
  }
  return text + colors.reset();
}

// EstimatedHistogram(165): each bucket's upper bound is a fifth more than the last.
class Percentiles {
 public:
  explicit Percentiles(const std::vector<std::pair<int64_t, uint64_t>>& points) {
    offsets_[0] = 1;
    for (size_t i = 1; i < offsets_.size(); ++i) {
      offsets_[i] = std::max(offsets_[i - 1] + 1, std::llround(static_cast<double>(offsets_[i - 1]) * 1.2));
    }
    for (const auto& [point, count] : points) {
      counts_[static_cast<size_t>(std::lower_bound(offsets_.begin(), offsets_.end(), point) - offsets_.begin())] +=
          count;
      total_ += count;
    }
  }

  int64_t percentile(double share) const {
    const auto wanted = static_cast<uint64_t>(std::ceil(static_cast<double>(total_) * share));
    uint64_t seen = 0;
    for (size_t i = 0; i < offsets_.size() && wanted > 0; ++i) {
      seen += counts_[i];
      if (seen >= wanted) return offsets_[i];
    }
    return 0;
  }
  int64_t min() const {
    const auto first = static_cast<size_t>(
        std::find_if(counts_.begin(), counts_.end(), [](uint64_t count) { return count > 0; }) - counts_.begin());
    return first == 0 || first == counts_.size() ? 0 : 1 + offsets_[first - 1];
  }
  int64_t max() const {
    if (counts_.back() > 0) return std::numeric_limits<int64_t>::max();
    for (size_t i = offsets_.size(); i-- > 0;) {
      if (counts_[i] > 0) return offsets_[i];
    }
    return 0;
  }

 private:
  std::array<long long, 165> offsets_;
  std::array<uint64_t, 166> counts_{};
  uint64_t total_ = 0;
};

}  // namespace

std::string draw_histogram(const std::vector<std::pair<int64_t, uint64_t>>& points, const std::string& title,
                           const std::function<std::string(int64_t)>& name, const Colors& colors) {
  uint64_t max = 0;
  double sum = 0;
  size_t name_width = title.size(), count_width = 5;
  for (const auto& [point, count] : points) {
    max = std::max(max, count);
    sum += static_cast<double>(count);
    name_width = std::max(name_width, visible_size(name(point)));
    count_width = std::max(count_width, std::to_string(count).size());
  }
  std::string text = fmt::format("   {} {} {:<{}}  {}  {}Histogram{} \n", padded(colors.blue() + title, name_width),
                                 colors.cyan() + "|" + colors.blue(), "Count", count_width, colors.quiet("%"),
                                 colors.blue(), colors.reset());
  for (const auto& [point, count] : points) {
    text += fmt::format("   {} {} {:>{}} {} {}\n", padded(name(point), name_width),
                        colors.cyan() + "|" + colors.reset(), count, count_width,
                        colors.quiet(fmt::format("{:>3}", static_cast<int>(100 * (static_cast<double>(count) / sum)))),
                        bar(count, max, colors));
  }
  const Percentiles percentiles(points);
  const std::array<std::pair<const char*, int64_t>, 7> rows{{{"50th", percentiles.percentile(.5)},
                                                             {"75th", percentiles.percentile(.75)},
                                                             {"95th", percentiles.percentile(.95)},
                                                             {"98th", percentiles.percentile(.98)},
                                                             {"99th", percentiles.percentile(.99)},
                                                             {"Min", percentiles.min()},
                                                             {"Max", percentiles.max()}}};
  text += colors.blue() + "   Percentiles" + colors.reset() + "\n";
  for (const auto& [label, value] : rows) {
    text += fmt::format("   {}{:<10}{}{}\n", colors.blue(), label, colors.reset(), name(value));
  }
  return text;
}

}  // namespace cassandra_like::sstable_tools
