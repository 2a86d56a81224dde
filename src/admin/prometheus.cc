#include "admin/prometheus.h"

#include <fmt/format.h>

namespace cassandra_like {
namespace {

// Every fourth bucket (a factor of about 2), up to a minute.
constexpr size_t kStep = 4;
constexpr uint64_t kLargestMicros = 60'000'000;

void append_escaped(std::string& out, std::string_view value) {
  for (char c : value) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\\' || c == '"') out.push_back('\\');
      out.push_back(c);
    }
  }
}

}  // namespace

void PrometheusText::family(std::string_view name, Kind kind, std::string_view help) {
  constexpr const char* kKinds[] = {"counter", "gauge", "histogram"};
  name_ = name;
  out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, kKinds[static_cast<size_t>(kind)]);
}

void PrometheusText::line(std::string_view suffix, const Labels& labels, std::string_view le, double value) {
  out_ += name_;
  out_ += suffix;
  char separator = '{';
  auto label = [&](std::string_view name, std::string_view text) {
    out_ += fmt::format("{}{}=\"", separator, name);
    append_escaped(out_, text);
    out_ += '"';
    separator = ',';
  };
  for (const auto& [name, text] : labels) label(name, text);
  if (!le.empty()) label("le", le);
  if (separator == ',') out_ += '}';
  out_ += fmt::format(" {}\n", value);
}

void PrometheusText::sample(const Labels& labels, double value) { line("", labels, "", value); }

void PrometheusText::micros(const Labels& labels, const Histogram& histogram) {
  const auto& offsets = Histogram::offsets();
  const auto counts = histogram.counts();
  uint64_t seen = 0;
  for (size_t i = 0; i < offsets.size() && offsets[i] <= kLargestMicros; ++i) {
    seen += counts[i];
    if (i % kStep != 0) continue;
    line("_bucket", labels, fmt::format("{}", static_cast<double>(offsets[i]) / 1e6), static_cast<double>(seen));
  }
  line("_bucket", labels, "+Inf", static_cast<double>(histogram.count()));
  line("_sum", labels, "", static_cast<double>(histogram.sum()) / 1e6);
  line("_count", labels, "", static_cast<double>(histogram.count()));
}

}  // namespace cassandra_like
