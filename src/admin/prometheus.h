// Metrics as Prometheus reads them, text format 0.0.4: a family's HELP and TYPE once, then its samples.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/histogram.h"

namespace cassandra_like {

class PrometheusText {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;
  enum class Kind { kCounter, kGauge, kHistogram };

  // Begins a family; samples that follow are its own.
  void family(std::string_view name, Kind kind, std::string_view help);
  void sample(const Labels& labels, double value);
  // A histogram of microseconds, in seconds. Bounds are some of its own buckets', so that counts are exact.
  void micros(const Labels& labels, const Histogram& histogram);

  std::string take() { return std::move(out_); }

 private:
  void line(std::string_view suffix, const Labels& labels, std::string_view le, double value);

  std::string out_;
  std::string name_;
};

}  // namespace cassandra_like
