// Points in time and durations: what floor() and `timestamp + duration` compute with (cql3.Duration). All in UTC.
#pragma once

#include "cql/expressions/functions_internal.h"
#include "model/values.h"

namespace cassandra_like::functions {

inline constexpr int64_t kMillisPerDay = 86400000;
inline constexpr int64_t kNanosPerMilli = 1000000;

// A timestamp, a date or a timeuuid as milliseconds since 1970 (TemporalType.toTimeInMillis).
int64_t to_millis(TypeKind kind, BytesView value);
// To a timestamp or a date (TemporalType.fromTimeInMillis).
Bytes from_millis(TypeKind kind, int64_t millis);

// Months first (the day of the month is kept where the month has it), then days and nanoseconds.
int64_t add_duration(int64_t millis, const CqlDuration& duration);
CqlDuration negated(const CqlDuration& duration);
// The latest start + n * duration that is not after millis.
Result<int64_t> floor_millis(int64_t millis, const CqlDuration& duration, int64_t start);
Result<int64_t> floor_time(int64_t nanos, const CqlDuration& duration);

}  // namespace cassandra_like::functions
