// date, time, timestamp (and the legacy DateType), duration.
#include "base/vint.h"
#include "model/types_internal.h"
#include "model/values.h"

namespace cassandra_like::types_internal {

namespace {

// Types of a fixed size, ordered by their unsigned bytes, which are the comparable form too: date, time, DateType.
template <size_t kSize>
class FixedSizeType : public SimpleType {
 public:
  int compare(BytesView a, BytesView b) const final { return compare_bytes(a, b); }
  void append_comparable(Bytes& out, BytesView v) const final { out.append(v); }
  void read_comparable(Reader& in, Bytes& out) const final { out.append(in.take(kSize)); }

 protected:
  using SimpleType::SimpleType;
};

class DateType final : public FixedSizeType<4> {
 public:
  DateType() : FixedSizeType(TypeKind::kDate) {}

  Status validate(BytesView v) const override {
    if (v.size() == 4) [[likely]]
      return {};
    return wrong_size("Expected 4 byte long for date", v.size());
  }
  std::string to_text(BytesView v) const override {
    return v.size() == 4 ? date_to_text(load_be<uint32_t>(v.data())) : "";
  }
  Result<Bytes> from_text(std::string_view text) const override {
    ASSIGN_OR_RETURN(uint32_t days, parse_date(text));
    Bytes out;
    append_be(out, days);
    return out;
  }
};

class TimeType final : public FixedSizeType<8> {
 public:
  TimeType() : FixedSizeType(TypeKind::kTime) {}

  Status validate(BytesView v) const override {
    if (v.size() == 8) [[likely]]
      return {};
    return wrong_size("Expected 8 byte long for time", v.size());
  }
  std::string to_text(BytesView v) const override { return v.size() == 8 ? time_to_text(decode_bigint(v)) : "null"; }
  Result<Bytes> from_text(std::string_view text) const override {
    ASSIGN_OR_RETURN(int64_t nanos, parse_time(text));
    return encode_bigint(nanos);
  }
};

Status validate_timestamp(BytesView v) {
  if (v.size() == 8 || v.empty()) [[likely]]
    return {};
  return wrong_size("Expected 8 or 0 byte long for date", v.size());
}
std::string timestamp_text(BytesView v, char separator) {
  return v.size() == 8 ? timestamp_to_text(decode_bigint(v), separator) : "";
}
Result<Bytes> timestamp_from_text(std::string_view text) {
  if (text.empty()) return Bytes();
  ASSIGN_OR_RETURN(int64_t millis, parse_timestamp(text));
  return encode_bigint(millis);
}

class TimestampType final : public SimpleType {
 public:
  TimestampType() : SimpleType(TypeKind::kTimestamp) {}

  Status validate(BytesView v) const override { return validate_timestamp(v); }
  int compare(BytesView a, BytesView b) const override {
    if (a.size() != 8 || b.size() != 8) [[unlikely]]
      return compare_irregular(a, b);
    int64_t x = decode_bigint(a), y = decode_bigint(b);
    return (x > y) - (x < y);
  }
  void append_comparable(Bytes& out, BytesView v) const override {
    if (v.size() != 8) [[unlikely]]
      return append_irregular(out, v);
    append_be(out, static_cast<uint64_t>(decode_bigint(v)) ^ kSignBit);
  }
  void read_comparable(Reader& in, Bytes& out) const override { append_be(out, in.be<uint64_t>() ^ kSignBit); }
  std::string to_text(BytesView v) const override { return timestamp_text(v, 'T'); }
  std::string to_json(BytesView v) const override { return '"' + timestamp_text(v, ' ') + '"'; }
  Result<Bytes> from_text(std::string_view text) const override { return timestamp_from_text(text); }

 private:
  static constexpr uint64_t kSignBit = uint64_t{1} << 63;
};

class LegacyTimestampType final : public FixedSizeType<8> {
 public:
  LegacyTimestampType() : FixedSizeType(TypeKind::kLegacyTimestamp) {}

  Status validate(BytesView v) const override { return validate_timestamp(v); }
  std::string to_text(BytesView v) const override { return timestamp_text(v, 'T'); }
  std::string to_json(BytesView v) const override { return '"' + timestamp_text(v, ' ') + '"'; }
  Result<Bytes> from_text(std::string_view text) const override { return timestamp_from_text(text); }
};

class DurationType final : public SimpleType {
 public:
  DurationType() : SimpleType(TypeKind::kDuration) {}

  Status validate(BytesView v) const override {
    if (v.size() < 3) return wrong_size("Expected at least 3 bytes for a duration", v.size());
    Reader in(v);
    int64_t months = read_vint(in), days = read_vint(in), nanos = read_vint(in);
    if (in.failed()) return invalid("Not enough bytes to read a duration");
    if (months != static_cast<int32_t>(months)) {
      return invalid("The duration months must be a 32 bits integer but was: " + std::to_string(months));
    }
    if (days != static_cast<int32_t>(days)) {
      return invalid("The duration days must be a 32 bits integer but was: " + std::to_string(days));
    }
    bool not_negative = months >= 0 && days >= 0 && nanos >= 0;
    bool not_positive = months <= 0 && days <= 0 && nanos <= 0;
    if (not_negative || not_positive) return {};
    return invalid("The duration months, days and nanoseconds must be all of the same sign (" + std::to_string(months) +
                   ", " + std::to_string(days) + ", " + std::to_string(nanos) + ")");
  }
  int compare(BytesView a, BytesView b) const override { return compare_bytes(a, b); }
  void append_comparable(Bytes& out, BytesView v) const override { append_escaped(out, v); }
  void read_comparable(Reader& in, Bytes& out) const override { read_escaped(in, out); }
  bool encodes_empty() const override { return true; }
  std::string to_text(BytesView v) const override { return v.empty() ? "" : duration_to_text(decode_duration(v)); }
  Result<Bytes> from_text(std::string_view text) const override {
    if (text.empty()) return Bytes();
    ASSIGN_OR_RETURN(CqlDuration d, parse_duration(text));
    return encode_duration(d);
  }
};

}  // namespace

TypePtr make_time(TypeKind kind) {
  switch (kind) {
    case TypeKind::kDate:
      return std::make_shared<DateType>();
    case TypeKind::kTime:
      return std::make_shared<TimeType>();
    case TypeKind::kTimestamp:
      return std::make_shared<TimestampType>();
    case TypeKind::kLegacyTimestamp:
      return std::make_shared<LegacyTimestampType>();
    default:
      return std::make_shared<DurationType>();
  }
}

}  // namespace cassandra_like::types_internal
