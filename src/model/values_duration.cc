// Durations: months, days and nanoseconds, which cannot be turned into each other (cql3.Duration).
#include <charconv>
#include <limits>

#include "base/ascii.h"
#include "base/vint.h"
#include "model/values.h"

namespace cassandra_like {

namespace {

enum class DurationPart { kMonths, kDays, kNanos };

struct DurationUnit {
  std::string_view symbol;
  std::string_view name;
  DurationPart part;
  int64_t size;
};

constexpr int64_t kMicro = 1000;
constexpr int64_t kMilli = 1000 * kMicro;
constexpr int64_t kSecond = 1000 * kMilli;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;

// From the largest to the smallest: the order in which a duration must give them.
constexpr DurationUnit kUnits[] = {
    {"y", "years", DurationPart::kMonths, 12},
    {"mo", "months", DurationPart::kMonths, 1},
    {"w", "weeks", DurationPart::kDays, 7},
    {"d", "days", DurationPart::kDays, 1},
    {"h", "hours", DurationPart::kNanos, kHour},
    {"m", "minutes", DurationPart::kNanos, kMinute},
    {"s", "seconds", DurationPart::kNanos, kSecond},
    {"ms", "milliseconds", DurationPart::kNanos, kMilli},
    {"us", "microseconds", DurationPart::kNanos, kMicro},
    {"ns", "nanoseconds", DurationPart::kNanos, 1},
};
constexpr size_t kYears = 0, kMonths = 1, kWeeks = 2, kDays = 3, kHours = 4, kMinutes = 5, kSeconds = 6;

// Adds up the parts of a duration without its sign.
class Builder {
 public:
  Status add(size_t unit, std::string_view digits) {
    int64_t count = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), count).ec != std::errc()) {
      return invalid("For input string: \"" + std::string(digits) + "\"");
    }
    if (unit == next_ - 1) {
      return invalid("Invalid duration. The " + std::string(kUnits[unit].name) + " are specified multiple times");
    }
    if (unit < next_) {
      return invalid("Invalid duration. The " + std::string(kUnits[next_ - 1].name) + " should be after " +
                     std::string(kUnits[unit].name));
    }
    next_ = unit + 1;
    const DurationUnit& u = kUnits[unit];
    int64_t& total = totals_[static_cast<size_t>(u.part)];
    int64_t limit =
        u.part == DurationPart::kNanos ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int32_t>::max();
    if (count > (limit - total) / u.size) {
      static constexpr std::string_view kNames[] = {"months", "days", "nanoseconds"};
      return invalid("Invalid duration. The total number of " + std::string(kNames[static_cast<size_t>(u.part)]) +
                     " must be less or equal to 2147483647");
    }
    total += count * u.size;
    return {};
  }

  CqlDuration build(bool negative) const {
    int64_t sign = negative ? -1 : 1;
    return {static_cast<int32_t>(sign * totals_[0]), static_cast<int32_t>(sign * totals_[1]), sign * totals_[2]};
  }

 private:
  int64_t totals_[3] = {};
  size_t next_ = 0;  // one past the last unit added
};

Error cannot_convert(std::string_view source) {
  return invalid("Unable to convert '" + std::string(source) + "' to a duration");
}

std::string_view take_digits(std::string_view& s) {
  size_t n = 0;
  while (n < s.size() && is_digit(s[n])) ++n;
  std::string_view digits = s.substr(0, n);
  s.remove_prefix(n);
  return digits;
}

// The unit whose symbol, in any case, starts `s` (the longest such); its length. \u00B5s is a microsecond too.
size_t match_unit(std::string_view s, size_t* length) {
  std::string lower(s.substr(0, 2));
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  *length = 3;
  if (s.size() >= 3 && lower == "\xC2\xB5" && (s[2] == 's' || s[2] == 'S')) return 8;
  size_t best = std::size(kUnits);
  *length = 0;
  for (size_t i = 0; i < std::size(kUnits); ++i) {
    if (lower.starts_with(kUnits[i].symbol) && kUnits[i].symbol.size() > *length) {
      best = i;
      *length = kUnits[i].symbol.size();
    }
  }
  return best;
}

Status parse_standard(std::string_view source, Builder& builder) {
  std::string_view s = source;
  do {
    std::string_view digits = take_digits(s);
    size_t length = 0;
    size_t unit = match_unit(s, &length);
    if (digits.empty() || length == 0) return cannot_convert(source);
    s.remove_prefix(length);
    TRY(builder.add(unit, digits));
  } while (!s.empty());
  return {};
}

// P[nY][nM][nD][T[nH][nM][nS]]
Status parse_iso(std::string_view source, Builder& builder) {
  std::string_view s = source.substr(1);
  struct Designator {
    char letter;
    size_t unit;
  };
  constexpr Designator kDate[] = {{'Y', kYears}, {'M', kMonths}, {'D', kDays}};
  constexpr Designator kTime[] = {{'H', kHours}, {'M', kMinutes}, {'S', kSeconds}};
  bool in_time = false;
  size_t next = 0;
  while (!s.empty()) {
    if (s[0] == 'T' && !in_time) {
      in_time = true;
      next = 0;
      s.remove_prefix(1);
      continue;
    }
    std::string_view digits = take_digits(s);
    const Designator* designators = in_time ? kTime : kDate;
    while (next < 3 && !s.empty() && designators[next].letter != s[0]) ++next;
    if (digits.empty() || s.empty() || next == 3) return cannot_convert(source);
    TRY(builder.add(designators[next++].unit, digits));
    s.remove_prefix(1);
  }
  return {};
}

// PYYYY-MM-DDThh:mm:ss
Status parse_iso_alternative(std::string_view source, Builder& builder) {
  constexpr std::string_view kShape = "Pdddd-dd-ddTdd:dd:dd";
  bool matches = source.size() == kShape.size();
  for (size_t i = 0; matches && i < kShape.size(); ++i) {
    matches = kShape[i] == 'd' ? is_digit(source[i]) : source[i] == kShape[i];
  }
  if (!matches) return cannot_convert(source);
  TRY(builder.add(kYears, source.substr(1, 4)));
  TRY(builder.add(kMonths, source.substr(6, 2)));
  TRY(builder.add(kDays, source.substr(9, 2)));
  TRY(builder.add(kHours, source.substr(12, 2)));
  TRY(builder.add(kMinutes, source.substr(15, 2)));
  return builder.add(kSeconds, source.substr(18, 2));
}

Status parse_iso_weeks(std::string_view source, Builder& builder) {
  std::string_view s = source.substr(1);
  std::string_view digits = take_digits(s);
  if (digits.empty() || s != "W") return cannot_convert(source);
  return builder.add(kWeeks, digits);
}

// Appends how often `size` goes into *rest; negative values (only the type's minimum, which has no absolute value)
// print nothing, as in Java.
void append_units(std::string& out, int64_t* rest, int64_t size, std::string_view symbol) {
  if (*rest < size) return;
  out += std::to_string(*rest / size);
  out += symbol;
  *rest %= size;
}

int64_t absolute(int64_t v) { return v < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(v)) : v; }

}  // namespace

Bytes encode_duration(const CqlDuration& d) {
  Bytes out;
  append_vint(out, d.months);
  append_vint(out, d.days);
  append_vint(out, d.nanos);
  return out;
}

CqlDuration decode_duration(BytesView v) {
  Reader in(v);
  CqlDuration d;
  d.months = static_cast<int32_t>(read_vint(in));
  d.days = static_cast<int32_t>(read_vint(in));
  d.nanos = read_vint(in);
  return d;
}

Result<CqlDuration> parse_duration(std::string_view text) {
  bool negative = text.starts_with('-');
  std::string_view source = negative ? text.substr(1) : text;
  Builder builder;
  if (!source.starts_with('P')) {
    TRY(parse_standard(source, builder));
  } else if (source.ends_with('W')) {
    TRY(parse_iso_weeks(source, builder));
  } else if (source.find('-') != source.npos) {
    TRY(parse_iso_alternative(source, builder));
  } else {
    TRY(parse_iso(source, builder));
  }
  return builder.build(negative);
}

std::string duration_to_text(const CqlDuration& d) {
  std::string out(d.months < 0 || d.days < 0 || d.nanos < 0 ? "-" : "");
  int64_t rest = d.months == std::numeric_limits<int32_t>::min() ? d.months : absolute(d.months);
  append_units(out, &rest, 12, "y");
  append_units(out, &rest, 1, "mo");
  rest = d.days == std::numeric_limits<int32_t>::min() ? d.days : absolute(d.days);
  append_units(out, &rest, 1, "d");
  rest = absolute(d.nanos);
  for (size_t i = kHours; i < std::size(kUnits); ++i) append_units(out, &rest, kUnits[i].size, kUnits[i].symbol);
  return out;
}

}  // namespace cassandra_like
