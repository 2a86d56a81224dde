// How the fake processor writes down what it was asked.
#include "tests/transport/harness.h"

namespace cassandra_like::transport_test {

std::string FakeProcessor::values(std::span<const BytesView> values, std::span<const std::string_view> names) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) {
    out += i == 0 ? " (" : ", ";
    if (i < names.size()) out += std::string(names[i]) + "=";
    out += is_unset(values[i]) ? "unset" : is_null(values[i]) ? "null" : to_hex(values[i]);
  }
  return values.empty() ? out : out + ")";
}

std::string FakeProcessor::describe(const QueryOptions& o) {
  std::string out = values(o.values, o.value_names) + " " + std::to_string(static_cast<int>(o.consistency));
  if (o.skip_metadata) out += " skip";
  if (o.page_size != -1) out += " page=" + std::to_string(o.page_size);
  if (!is_null(o.paging_state)) out += " state=" + to_hex(o.paging_state);
  if (o.serial_consistency != Consistency::kSerial) {
    out += " serial=" + std::to_string(static_cast<int>(o.serial_consistency));
  }
  if (o.timestamp) out += " timestamp=" + std::to_string(*o.timestamp);
  if (!o.keyspace.empty()) out += " keyspace=" + std::string(o.keyspace);
  if (o.now_seconds) out += " now=" + std::to_string(*o.now_seconds);
  return out;
}

}  // namespace cassandra_like::transport_test
