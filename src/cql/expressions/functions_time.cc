// now() and its kin, uuid(), conversions between timeuuid, timestamp and date, floor() (cql3.functions.TimeFcts).
#include <chrono>

#include "cql/context/query_services.h"
#include "cql/expressions/functions_temporal.h"

namespace cassandra_like::functions {

int64_t to_millis(TypeKind kind, BytesView value) {
  if (kind == TypeKind::kTimestamp) return decode_bigint(value);
  if (kind == TypeKind::kDate) {
    return static_cast<int64_t>(static_cast<int32_t>(load_be<uint32_t>(value.data()) + 0x80000000u)) * kMillisPerDay;
  }
  return Uuid::from_bytes(value).unix_millis();
}

Bytes from_millis(TypeKind kind, int64_t millis) {
  if (kind == TypeKind::kTimestamp) return encode_bigint(millis);
  // Rounded down to seconds, then towards 1970 to days, as java.time.Duration does it.
  int64_t seconds = millis / 1000 - (millis % 1000 < 0 ? 1 : 0);
  return encode_int(static_cast<int32_t>(static_cast<uint32_t>(seconds / 86400) + 0x80000000u));
}

CqlDuration negated(const CqlDuration& duration) { return {-duration.months, -duration.days, -duration.nanos}; }

namespace {

int64_t milliseconds_without_months(const CqlDuration& duration) {
  return duration.days * kMillisPerDay + duration.nanos / kNanosPerMilli;
}

std::chrono::year_month_day date_of(int64_t millis) {
  using std::chrono::sys_time;
  return std::chrono::floor<std::chrono::days>(sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(millis)));
}

int64_t add_months(int64_t millis, int64_t months) {
  using namespace std::chrono;
  auto date = date_of(millis);
  int64_t time_of_day = millis - duration_cast<milliseconds>(sys_days(date).time_since_epoch()).count();
  int64_t month = static_cast<int>(date.year()) * int64_t{12} + static_cast<unsigned>(date.month()) - 1 + months;
  int64_t year_number = month / 12 - (month % 12 < 0 ? 1 : 0);
  year_month target =
      year(static_cast<int>(year_number)) / std::chrono::month(static_cast<unsigned>(month - year_number * 12) + 1);
  day last = (target / std::chrono::last).day();
  year_month_day result = target / std::min(date.day(), last);
  return duration_cast<milliseconds>(sys_days(result).time_since_epoch()).count() + time_of_day;
}

int64_t months_between(int64_t from, int64_t to) {
  auto a = date_of(from), b = date_of(to);
  return (static_cast<int>(b.year()) - static_cast<int>(a.year())) * int64_t{12} +
         (static_cast<int>(static_cast<unsigned>(b.month())) - static_cast<int>(static_cast<unsigned>(a.month())));
}

bool is_negative(const CqlDuration& d) { return d.months < 0 || d.days < 0 || d.nanos < 0; }

Status check_floor(const CqlDuration& duration) {
  if (!is_negative(duration)) return {};
  return invalid("Negative durations are not supported by the floor function");
}

}  // namespace

int64_t add_duration(int64_t millis, const CqlDuration& duration) {
  if (duration.months == 0) return millis + milliseconds_without_months(duration);
  // java.util.Calendar takes the milliseconds as an int.
  auto rest = static_cast<int32_t>(duration.nanos / kNanosPerMilli);
  return add_months(millis, duration.months) + duration.days * kMillisPerDay + rest;
}

Result<int64_t> floor_millis(int64_t millis, const CqlDuration& duration, int64_t start) {
  if (start > millis) return invalid("The floor function starting time is greater than the provided time");
  TRY(check_floor(duration));
  int64_t step = milliseconds_without_months(duration);
  if (duration.months == 0) return step == 0 ? millis : millis - (millis - start) % step;
  // Estimated by the months alone, which may be too much.
  int64_t multiplier = months_between(start, millis) / duration.months;
  int64_t moved = add_months(start, multiplier * duration.months);
  // Cassandra does not check months alone either: from the 31st, this may be after millis.
  if (step == 0) return moved;
  while (moved + multiplier * step > millis) {
    --multiplier;
    moved = add_months(moved, -duration.months);
  }
  return std::max(start, moved + multiplier * step);
}

Result<int64_t> floor_time(int64_t nanos, const CqlDuration& duration) {
  TRY(check_floor(duration));
  if (duration.months != 0 || duration.days != 0 || duration.nanos > kMillisPerDay * kNanosPerMilli) {
    return invalid("For time values, the floor can only be computed for durations smaller that a day");
  }
  return duration.nanos == 0 ? nanos : nanos - nanos % duration.nanos;
}

namespace {

constexpr auto kOldToo = Registry::OldName::kWithoutUnderscores;
constexpr uint64_t kMinClockAndNode = 0x8080808080808080;
constexpr uint64_t kMaxClockAndNode = 0x7f7f7f7f7f7f7f7f;

Uuid boundary_uuid(int64_t millis, bool last) {
  uint64_t raw = kUuidEpochOffset + static_cast<uint64_t>(last ? millis + 1 : millis) * 10000 - (last ? 1 : 0);
  return Uuid::time_based(raw, last ? kMaxClockAndNode : kMinClockAndNode);
}

void add_current(Registry& registry) {
  auto add = [&registry](const char* name, const TypePtr& type, Body body) {
    registry.add(name, {}, type, std::move(body), Nulls::kPass, kOldToo, false);
  };
  auto time_uuid = [](ExecutionContext& context, Arguments) -> Result<BytesView> {
    return in_arena(context, context.services.next_time_uuid().view());
  };
  registry.add("now", {}, types::timeuuid(), time_uuid, Nulls::kPass, Registry::OldName::kNone, false);
  add("current_timeuuid", types::timeuuid(), time_uuid);
  add("current_timestamp", types::timestamp(), [](ExecutionContext& context, Arguments) -> Result<BytesView> {
    return in_arena(context, from_millis(TypeKind::kTimestamp, context.runtime.clock.wall_millis()));
  });
  add("current_date", types::date(), [](ExecutionContext& context, Arguments) -> Result<BytesView> {
    return in_arena(context, from_millis(TypeKind::kDate, context.runtime.clock.wall_millis()));
  });
  add("current_time", types::time(), [](ExecutionContext& context, Arguments) -> Result<BytesView> {
    return in_arena(context, encode_bigint(context.runtime.clock.wall_micros() % (kMillisPerDay * 1000) * 1000));
  });
  registry.add(
      "uuid", {}, types::uuid(),
      [](ExecutionContext& context, Arguments) -> Result<BytesView> {
        Random& random = context.runtime.random;
        uint64_t high = random.next();
        return in_arena(context, Uuid::random(high, random.next()).view());
      },
      Nulls::kPass, Registry::OldName::kNone, false);
}

// name(from) for one type of argument and what it makes of the milliseconds.
void add_conversion(Registry& registry, const char* name, const TypePtr& from, const TypePtr& to,
                    std::function<Bytes(int64_t)> convert) {
  TypeKind kind = from->kind();
  registry.add(
      name, {from}, to,
      [kind, convert = std::move(convert)](ExecutionContext& context, Arguments arguments) -> Result<BytesView> {
        return in_arena(context, convert(to_millis(kind, arguments[0])));
      },
      Nulls::kReturnNull, kOldToo);
}

void add_conversions(Registry& registry) {
  auto as_bigint = [](int64_t millis) { return encode_bigint(millis); };
  auto as_date = [](int64_t millis) { return from_millis(TypeKind::kDate, millis); };
  add_conversion(registry, "min_timeuuid", types::timestamp(), types::timeuuid(),
                 [](int64_t millis) { return Bytes(boundary_uuid(millis, false).view()); });
  add_conversion(registry, "max_timeuuid", types::timestamp(), types::timeuuid(),
                 [](int64_t millis) { return Bytes(boundary_uuid(millis, true).view()); });
  for (const TypePtr& from : {types::timeuuid(), types::timestamp()}) {
    add_conversion(registry, "to_date", from, types::date(), as_date);
  }
  for (const TypePtr& from : {types::timeuuid(), types::date()}) {
    add_conversion(registry, "to_timestamp", from, types::timestamp(), as_bigint);
  }
  for (const TypePtr& from : {types::timeuuid(), types::timestamp(), types::date()}) {
    add_conversion(registry, "to_unix_timestamp", from, types::bigint(), as_bigint);
  }
}

Status check_floor_precision(TypeKind result, const CqlDuration& duration) {
  if (result == TypeKind::kDate && duration.nanos != 0) {
    return invalid("The floor on date values cannot be computed for the " + duration_to_text(duration) +
                   " duration as precision is below 1 day");
  }
  if (duration.nanos % kNanosPerMilli != 0) {
    return invalid("The floor cannot be computed for the " + duration_to_text(duration) +
                   " duration as precision is below 1 millisecond");
  }
  return {};
}

void add_floor(Registry& registry, const TypePtr& from, const TypePtr& result, const TypePtr& start_type) {
  TypeKind kind = from->kind(), to = result->kind(), start_kind = start_type->kind();
  auto body = [kind, to, start_kind](ExecutionContext& context, Arguments arguments) -> Result<BytesView> {
    CqlDuration duration = decode_duration(arguments[1]);
    TRY(check_floor_precision(to, duration));
    int64_t start = arguments.size() == 3 ? to_millis(start_kind, arguments[2]) : 0;
    ASSIGN_OR_RETURN(int64_t floor, floor_millis(to_millis(kind, arguments[0]), duration, start));
    return in_arena(context, from_millis(to, floor));
  };
  registry.add("floor", {from, types::duration()}, result, body);
  registry.add("floor", {from, types::duration(), start_type}, result, body);
}

}  // namespace

void add_time_functions(Registry& registry) {
  add_current(registry);
  add_conversions(registry);
  add_floor(registry, types::timestamp(), types::timestamp(), types::timestamp());
  add_floor(registry, types::timeuuid(), types::timestamp(), types::timestamp());
  add_floor(registry, types::date(), types::date(), types::date());
  registry.add("floor", {types::time(), types::duration()}, types::time(),
               [](ExecutionContext& context, Arguments arguments) -> Result<BytesView> {
                 ASSIGN_OR_RETURN(int64_t floor,
                                  floor_time(decode_bigint(arguments[0]), decode_duration(arguments[1])));
                 return in_arena(context, encode_bigint(floor));
               });
}

}  // namespace cassandra_like::functions
