// Dates, times of day and timestamps as text: serializers.TimestampSerializer, SimpleDateSerializer, TimeSerializer.
//
// A timestamp without a zone is in UTC, whatever the zone of the machine. Zones are offsets, Z, UTC, UT and GMT; names
// that need a time zone database (PST, Europe/Paris) are refused like any other unreadable text.
#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "base/ascii.h"
#include "model/values.h"

namespace cassandra_like {

namespace {

constexpr int64_t kMillisPerDay = 86400000;
constexpr int64_t kNanosPerSecond = 1000000000;
constexpr int64_t kNanosPerDay = 86400 * kNanosPerSecond;
constexpr int64_t kMaxYear = 999999999;  // java.time.Year.MAX_VALUE

bool is_integer(std::string_view s) {
  if (s.starts_with('-')) s.remove_prefix(1);
  return !s.empty() && std::all_of(s.begin(), s.end(), is_digit);
}

std::optional<int64_t> to_int64(std::string_view s) {
  int64_t v = 0;
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return v;
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

bool is_leap(int64_t y) { return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0; }

int64_t length_of_month(int64_t year, int64_t month) {
  constexpr int kLengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kLengths[month - 1];
}

// Proleptic Gregorian calendar, in years that begin in March, so that the leap day is the last.
int64_t days_since_1970(int64_t year, int64_t month, int64_t day) {
  year -= month <= 2 ? 1 : 0;
  int64_t era = floor_div(year, 400);
  int64_t year_of_era = year - era * 400;
  int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

struct Date {
  int64_t year;
  int64_t month;
  int64_t day;
};

Date date_of(int64_t days) {
  days += 719468;
  int64_t era = floor_div(days, 146097);
  int64_t day_of_era = days - era * 146097;
  int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  int64_t m = (5 * day_of_year + 2) / 153;
  int64_t month = m < 10 ? m + 3 : m - 9;
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day_of_year - (153 * m + 2) / 5 + 1};
}

void append_padded(std::string& out, int64_t v, size_t width) {
  std::string digits = std::to_string(v);
  if (digits.size() < width) out.append(width - digits.size(), '0');
  out += digits;
}

// java.time's SignStyle.EXCEEDS_PAD: four digits, a plus before more.
void append_date(std::string& out, const Date& d) {
  if (d.year < 0) out.push_back('-');
  if (d.year > 9999) out.push_back('+');
  append_padded(out, d.year < 0 ? -d.year : d.year, 4);
  out.push_back('-');
  append_padded(out, d.month, 2);
  out.push_back('-');
  append_padded(out, d.day, 2);
}

// Reads what java.time.format patterns describe; a failed step leaves the scanner failed.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool failed() const { return failed_; }
  std::string_view rest() const { return rest_; }
  bool at(char c) const { return !rest_.empty() && rest_[0] == c; }

  bool take(char c) {
    if (!at(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) failed_ = true;
  }
  // A number of `min` to `max` digits between low and high.
  int64_t number(size_t min, size_t max, int64_t low, int64_t high) {
    size_t n = 0;
    int64_t v = 0;
    for (; n < max && n < rest_.size() && is_digit(rest_[n]); ++n)
      v = std::min(v * 10 + (rest_[n] - '0'), kMaxYear + 1);
    rest_.remove_prefix(n);
    if (n < min || v < low || v > high) failed_ = true;
    return v;
  }
  // A year of four digits, or of more after a sign.
  int64_t signed_year(size_t max) {
    bool plus = take('+');
    bool minus = !plus && take('-');
    size_t before = rest_.size();
    int64_t v = number(4, max, minus ? 1 : 0, kMaxYear);
    if ((before - rest_.size() > 4) != plus && !minus) failed_ = true;
    return minus ? -v : v;
  }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

// ±HH:MM[:SS], ±HH or ±HHMM, as far as allowed; seconds east of UTC, nothing when it is not all of `s`.
enum OffsetForm { kColons = 1, kColonsAndSeconds = 2, kPlain = 4 };
std::optional<int64_t> parse_offset(std::string_view s, int forms) {
  if (s.empty() || (s[0] != '+' && s[0] != '-')) return std::nullopt;
  Scanner in(s.substr(1));
  int64_t hours = in.number(2, 2, 0, 18), minutes = 0, seconds = 0;
  if (in.take(':')) {
    if ((forms & (kColons | kColonsAndSeconds)) == 0) return std::nullopt;
    minutes = in.number(2, 2, 0, 59);
    if ((forms & kColonsAndSeconds) != 0 && in.take(':')) seconds = in.number(2, 2, 0, 59);
  } else {
    if ((forms & kPlain) == 0) return std::nullopt;
    if (!in.rest().empty()) minutes = in.number(2, 2, 0, 59);
  }
  int64_t offset = hours * 3600 + minutes * 60 + seconds;
  if (in.failed() || !in.rest().empty() || offset > 18 * 3600) return std::nullopt;
  return s[0] == '-' ? -offset : offset;
}

// The zone behind a date or a time: nothing, X, XXX, or a space and X, z or zzzz.
std::optional<int64_t> parse_zone(std::string_view s) {
  if (s.empty() || s == "Z") return 0;
  if (s[0] != ' ') return parse_offset(s, kColons | kPlain);
  s.remove_prefix(1);
  if (s == "Z" || s == "GMT0" || s == "Coordinated Universal Time") return 0;
  for (std::string_view name : {"UTC", "GMT", "UT"}) {
    if (!s.starts_with(name)) continue;
    s.remove_prefix(name.size());
    return s.empty() ? 0 : parse_offset(s, kColonsAndSeconds);
  }
  return parse_offset(s, kColonsAndSeconds | kPlain);
}

// Seconds since 1970, without the offset; a day past the end of its month is the last (ResolverStyle.SMART).
int64_t seconds_of(const Date& d) {
  return days_since_1970(d.year, d.month, std::min(d.day, length_of_month(d.year, d.month))) * 86400;
}

struct Instant {
  int64_t seconds;
  int64_t millis;
};

// y-M-d'T'H:m[:s[.f]] or with a space, and a zone.
std::optional<Instant> parse_date_time(std::string_view text) {
  Scanner in(text);
  Date date{in.number(1, 19, 1, kMaxYear), 0, 0};
  in.expect('-');
  date.month = in.number(1, 19, 1, 12);
  in.expect('-');
  date.day = in.number(1, 19, 1, 31);
  if (!in.take('T')) in.expect(' ');
  int64_t hour = in.number(1, 19, 0, 24);
  in.expect(':');
  int64_t minute = in.number(1, 19, 0, 59), second = 0, millis = 0;
  if (in.take(':')) {
    second = in.number(1, 19, 0, 59);
    if (in.take('.')) {
      int64_t scale = 100;
      for (int digits = 0; digits < 9 && !in.rest().empty() && is_digit(in.rest()[0]); ++digits, scale /= 10) {
        millis += in.number(1, 1, 0, 9) * scale;
      }
    }
  }
  if (in.failed() || (hour == 24 && (minute != 0 || second != 0 || millis != 0))) return std::nullopt;
  std::optional<int64_t> offset = parse_zone(in.rest());
  if (!offset) return std::nullopt;
  return Instant{seconds_of(date) + hour * 3600 + minute * 60 + second - *offset, millis};
}

// yyyy-MM-dd and a zone.
std::optional<Instant> parse_date_only(std::string_view text) {
  Scanner in(text);
  Date date{in.signed_year(19), 0, 0};
  in.expect('-');
  date.month = in.number(2, 2, 1, 12);
  in.expect('-');
  date.day = in.number(2, 2, 1, 31);
  if (in.failed()) return std::nullopt;
  std::string_view zone = in.rest();
  // Only ISO_DATE knows years before 1 and offsets with seconds; it has no other zones.
  std::optional<int64_t> offset = zone.empty() ? 0 : zone == "Z" ? 0 : parse_offset(zone, kColonsAndSeconds);
  if (!offset && date.year > 0) offset = parse_zone(zone);
  if (!offset) return std::nullopt;
  return Instant{seconds_of(date) - *offset, 0};
}

// A number with an optional plus, as java.lang.Integer.parseInt reads the parts of a time.
int64_t time_part(std::string_view s, int64_t limit) {
  if (s.starts_with('+')) s.remove_prefix(1);
  std::optional<int64_t> v = is_integer(s) ? to_int64(s) : std::nullopt;
  return v && *v >= 0 && *v < limit ? *v : -1;
}

// hh:mm:ss[.fffffffff], each as short as it likes; -1 when it is not.
int64_t parse_time_of_day(std::string_view s) {
  auto is_space = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  size_t first = s.find(':');
  size_t second = first == s.npos ? s.npos : s.find(':', first + 1);
  if (second == s.npos) return -1;
  std::string_view seconds = s.substr(second + 1);
  int64_t nanos = 0;
  if (size_t dot = seconds.find('.'); dot != seconds.npos) {
    std::string fraction(seconds.substr(dot + 1));
    if (fraction.empty() || fraction.size() > 9 || !std::all_of(fraction.begin(), fraction.end(), is_digit)) return -1;
    fraction.resize(9, '0');
    nanos = *to_int64(fraction);
    seconds = seconds.substr(0, dot);
  }
  int64_t h = time_part(s.substr(0, first), 24);
  int64_t m = time_part(s.substr(first + 1, second - first - 1), 60);
  int64_t sec = time_part(seconds, 60);
  if (h < 0 || m < 0 || sec < 0) return -1;
  return ((h * 60 + m) * 60 + sec) * kNanosPerSecond + nanos;
}

}  // namespace

Result<int64_t> parse_timestamp(std::string_view text) {
  if (is_integer(text)) {
    if (std::optional<int64_t> v = to_int64(text)) return *v;
    return invalid("Unable to make long (for date) from: " + quoted(text));
  }
  std::string lower(text.substr(0, 4));
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return static_cast<char>(c | 0x20); });
  if (lower == "now") return invalid("The timestamp 'now' is not supported yet: use currentTimestamp()");
  std::optional<Instant> instant = parse_date_time(text);
  if (!instant) instant = parse_date_only(text);
  if (!instant) return invalid("Unable to parse a date/time from " + quoted(text));
  int64_t millis = 0;
  if (__builtin_mul_overflow(instant->seconds, 1000, &millis) ||
      __builtin_add_overflow(millis, instant->millis, &millis)) {
    return invalid("long overflow");
  }
  return millis;
}

std::string timestamp_to_text(int64_t millis, char separator) {
  int64_t days = floor_div(millis, kMillisPerDay);
  int64_t rest = (millis % kMillisPerDay + kMillisPerDay) % kMillisPerDay;
  Date date = date_of(days);
  if (date.year < 1) date.year = 1 - date.year;  // the pattern has no sign: 1 BC prints as 1
  std::string out;
  append_date(out, date);
  out.push_back(separator);
  append_padded(out, rest / 3600000, 2);
  out.push_back(':');
  append_padded(out, rest / 60000 % 60, 2);
  out.push_back(':');
  append_padded(out, rest / 1000 % 60, 2);
  out.push_back('.');
  append_padded(out, rest % 1000, 3);
  out.push_back('Z');
  return out;
}

Result<uint32_t> parse_date(std::string_view text) {
  constexpr int64_t kEpoch = int64_t{1} << 31;
  if (is_integer(text)) {
    std::optional<int64_t> v = to_int64(text);
    if (v && *v >= 0 && *v <= std::numeric_limits<uint32_t>::max()) return static_cast<uint32_t>(*v);
    return invalid("Unable to make unsigned int (for date) from: " + quoted(text));
  }
  Scanner in(text);
  Date date{in.signed_year(10), 0, 0};
  in.expect('-');
  date.month = in.number(2, 2, 1, 12);
  in.expect('-');
  date.day = in.number(2, 2, 1, 31);
  // Beyond this, milliseconds overflow and Cassandra cannot say more.
  constexpr int64_t kLastYearOfMillis = 292278994;
  if (in.failed() || !in.rest().empty() || date.day > length_of_month(date.year, date.month) ||
      date.year > kLastYearOfMillis || date.year < -kLastYearOfMillis) {
    return invalid("Unable to coerce " + quoted(text) + " to a formatted date (long)");
  }
  int64_t days = days_since_1970(date.year, date.month, date.day) + kEpoch;
  if (days < 0) {
    return invalid("Input date " + std::string(text) + " is less than min supported date -5877641-06-23T00:00Z");
  }
  if (days >= 2 * kEpoch) {
    return invalid("Input date " + std::string(text) + " is greater than max supported date +5881580-07-11T00:00Z");
  }
  return static_cast<uint32_t>(days);
}

std::string date_to_text(uint32_t days) {
  std::string out;
  append_date(out, date_of(static_cast<int64_t>(days) - (int64_t{1} << 31)));
  return out;
}

Result<int64_t> parse_time(std::string_view text) {
  if (is_integer(text)) {
    std::optional<int64_t> v = to_int64(text);
    if (v && *v >= 0 && *v < kNanosPerDay) return *v;
    return invalid("Unable to make long (for time) from: " + quoted(text));
  }
  int64_t nanos = parse_time_of_day(text);
  if (nanos < 0) return invalid("(TimeType) Unable to coerce " + quoted(text) + " to a formatted time (long)");
  return nanos;
}

std::string time_to_text(int64_t nanos) {
  std::string out;
  append_padded(out, nanos / (3600 * kNanosPerSecond) % 24, 2);
  out.push_back(':');
  append_padded(out, nanos / (60 * kNanosPerSecond) % 60, 2);
  out.push_back(':');
  append_padded(out, nanos / kNanosPerSecond % 60, 2);
  out.push_back('.');
  append_padded(out, nanos % kNanosPerSecond, 9);
  return out;
}

}  // namespace cassandra_like
