// C++ values of CQL's simple types to and from their serialized form, and the text forms of dates, durations and
// numbers. encode_* append nothing but the value; decode_* expect a validated value.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/uuid.h"

namespace cassandra_like {

Bytes encode_int(int32_t v);
Bytes encode_bigint(int64_t v);
Bytes encode_smallint(int16_t v);
Bytes encode_tinyint(int8_t v);
Bytes encode_boolean(bool v);
Bytes encode_float(float v);
Bytes encode_double(double v);
Bytes encode_uuid(const Uuid& v);
inline int32_t decode_int(BytesView v) { return load_be<int32_t>(v.data()); }
inline int64_t decode_bigint(BytesView v) { return load_be<int64_t>(v.data()); }
float decode_float(BytesView v);
double decode_double(BytesView v);

// An arbitrary-precision integer in two's complement, big-endian, minimal length: java.math.BigInteger.toByteArray().
Result<Bytes> encode_varint(std::string_view decimal_digits);  // [-]digits
std::string varint_to_text(BytesView v);
// int scale, then the unscaled varint. Text as java.math.BigDecimal's (exponents accepted and printed likewise).
Result<Bytes> encode_decimal(std::string_view text);
std::string decimal_to_text(BytesView v);

// CQL duration: months, days, nanoseconds, each a zig-zag vint. Text: 1y2mo3d4h5m6s7ms8us9ns, ISO 8601 accepted.
struct CqlDuration {
  int32_t months = 0;
  int32_t days = 0;
  int64_t nanos = 0;
};
Bytes encode_duration(const CqlDuration& d);
CqlDuration decode_duration(BytesView v);
Result<CqlDuration> parse_duration(std::string_view text);
std::string duration_to_text(const CqlDuration& d);

// Dates are days since 1970-01-01 as unsigned int with 2^31 as the epoch; times nanoseconds of the day; timestamps
// milliseconds since 1970, signed.
Result<int64_t> parse_timestamp(std::string_view text);  // any of Cassandra's formats, or a number
// 2015-03-07 00:59:59.999Z, as in JSON; with 'T' as the separator: as in CQL literals and in casts to text.
std::string timestamp_to_text(int64_t millis, char separator = ' ');
Result<uint32_t> parse_date(std::string_view text);  // yyyy-mm-dd or a number
std::string date_to_text(uint32_t days);
Result<int64_t> parse_time(std::string_view text);  // hh:mm:ss[.fffffffff] or a number
std::string time_to_text(int64_t nanos);

// double and float as Java's Double.toString and Float.toString print them.
std::string double_to_text(double v);
std::string float_to_text(float v);

Result<Bytes> parse_inet(std::string_view text);
std::string inet_to_text(BytesView v);

bool is_valid_utf8(BytesView v);
// A JSON string with quotes, escaped as Cassandra's JsonUtils does.
std::string json_quote(std::string_view text);
// An identifier as CQL prints it: in double quotes unless it is lower case and not a reserved word.
std::string quote_identifier(std::string_view name);
std::string quote_string(std::string_view text);  // 'it''s'

}  // namespace cassandra_like
