// Cassandra's own bytes of handshakes, frames, messages and their bodies: data/wire.txt, written by oracle/WireOracle.java.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"

namespace cassandra_like::messaging_test {

using WireCase = std::vector<std::string>;

// The lines of a group, without its name; aborts when there is none.
const std::vector<WireCase>& wire_cases(const std::string& group);
// The bytes of a case of the group "payload".
Bytes wire_payload(const std::string& name);
Bytes wire_bytes(const std::string& hex);

}  // namespace cassandra_like::messaging_test
