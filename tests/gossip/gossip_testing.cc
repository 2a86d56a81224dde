#include "tests/gossip/gossip_testing.h"

#include <fstream>
#include <sstream>

#include "base/log.h"
#include "base/result.h"

namespace cassandra_like::gossip_testing {
namespace {

constexpr int64_t kEpochSeconds = 1'700'000'000;
constexpr int64_t kBootNanos = 5'000'000'000'000;

// A run of gossip writes a line for each node that each node meets.
[[maybe_unused]] const bool kIsQuiet = [] {
  set_log_level(LogLevel::kOff);
  return true;
}();

Bytes unhex(std::string_view hex) {
  Bytes out;
  CHECK(from_hex(hex, &out));
  return out;
}

OracleLines read_lines() {
  OracleLines out;
  std::ifstream file(std::string(SOURCE_DIR) + "/tests/gossip/data/gossip.txt");
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> fields;
    std::istringstream in(line);
    for (std::string field; std::getline(in, field, '\t');) fields.push_back(field);
    fields.resize(std::max<size_t>(fields.size(), 4));
    if (fields[0] == "value") out.values[fields[1]] = unhex(fields[2]);
    if (fields[0] == "message") out.messages[{fields[1], std::stoi(fields[2])}] = unhex(fields[3]);
    if (fields[0] == "arrival") out.silence.emplace_back(std::stoll(fields[1]), std::nullopt);
    if (fields[0] == "phi") out.silence.emplace_back(std::stoll(fields[1]), std::stod(fields[2]));
    if (fields[0] == "order") out.order.assign(fields.begin() + 1, fields.end());
  }
  CHECK(!out.values.empty());
  return out;
}

}  // namespace

InetAddressAndPort node(int n) { return *InetAddressAndPort::parse("10.0.0." + std::to_string(n)); }

Uuid host_id_of(int n) { return Uuid::random(0x1000, static_cast<uint64_t>(n)); }

LocalStates normal_states(int n, const std::vector<Token>& tokens) {
  InetAddressAndPort native = node(n);
  native.port = 9042;
  return {{ApplicationState::kHostId, host_id_of(n).to_string()},
          {ApplicationState::kDc, "dc1"},
          {ApplicationState::kRack, "r1"},
          {ApplicationState::kReleaseVersion, "5.0.9"},
          {ApplicationState::kSchema, host_id_of(0).to_string()},
          {ApplicationState::kNativeAddressAndPort, state_values::address_and_port(native)},
          {ApplicationState::kRpcReady, state_values::boolean(true)},
          {ApplicationState::kTokens, state_values::tokens(tokens)},
          {ApplicationState::kStatusWithPort, state_values::normal(tokens)}};
}

EndpointState state_of(int32_t generation, int32_t heart_beat, const LocalStates& states) {
  EndpointState out;
  out.heart_beat = {generation, heart_beat};
  int32_t version = 0;
  for (const auto& [state, value] : states) out.states[state] = {value, ++version};
  return out;
}

GossipTime at(int64_t seconds) { return {kBootNanos + seconds * kSecond, (kEpochSeconds + seconds) * 1000}; }
int32_t generation_at(int64_t seconds) { return static_cast<int32_t>(kEpochSeconds + seconds); }

void SeededRandom::fill(char* out, size_t size) {
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<char>(next());
}

void WritingSubscriber::on_change(const InetAddressAndPort& e, ApplicationState state, const VersionedValue& value) {
  write("change", e);
  written_.back() += " " + std::string(application_state_name(state)) + "=" + value.value;
}

LocalStates WritingSubscriber::saved_states(const InetAddressAndPort& e) const {
  auto found = saved.find(e);
  return found == saved.end() ? LocalStates{} : found->second;
}

void WritingSubscriber::write(const std::string& what, const InetAddressAndPort& e) {
  written_.push_back(what + " " + std::to_string(e.bytes[3]));
}

const OracleLines& oracle() {
  static const OracleLines lines = read_lines();
  return lines;
}

}  // namespace cassandra_like::gossip_testing
