// When a read asks one replica more because the others are slow (service.reads.SpeculativeRetryPolicy): what a table's
// speculative_retry and additional_write_policy mean.
//
// The texts are the normal forms that a schema holds: ALWAYS, NEVER, 99p, 5ms, MIN(99p,5ms), MAX(99p,5ms). Who reads
// them from a statement (cql/schema/table_options.h) has checked them.
#pragma once

#include <limits>
#include <optional>
#include <string_view>

#include "base/histogram.h"
#include "base/result.h"

namespace cassandra_like {

class SpeculativeRetry {
 public:
  enum class Kind : uint8_t { kNever, kAlways, kPercentile, kFixed, kMin, kMax };
  static constexpr int64_t kNeverMicros = std::numeric_limits<int64_t>::max();

  // kInvalid when the text is no normal form.
  static Result<SpeculativeRetry> parse(std::string_view text);

  Kind kind() const { return kind_; }
  // Microseconds after a request has begun. Policies with a percentile keep `current` while there are no latencies; a
  // table begins with half of read_request_timeout.
  int64_t threshold_micros(const Histogram& latencies_micros, int64_t current) const;

 private:
  int64_t percentile_micros(const Histogram& latencies_micros) const;

  Kind kind_ = Kind::kNever;
  double percentile_ = 0;  // 0 < p < 100
  int64_t fixed_micros_ = 0;
};

}  // namespace cassandra_like
