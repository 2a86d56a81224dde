// The states that a node tells of itself.
#include "gossip/local_states.h"

#include <gtest/gtest.h>

#include "tests/gossip/gossip_testing.h"

namespace cassandra_like {
namespace {

using namespace gossip_testing;

const std::vector<Token> kTwo = {7, 9};

// "STATE=value", in order; TOKENS without its bytes.
std::vector<std::string> told(const LocalStates& states) {
  std::vector<std::string> out;
  for (const auto& [state, value] : states) {
    const bool is_binary = state == ApplicationState::kTokens;
    out.push_back(std::string(application_state_name(state)) + (is_binary ? "" : "=" + value));
  }
  return out;
}
using Told = std::vector<std::string>;

TEST(LocalStates, AStartingNodeTellsAllThatAPeerMustSee) {
  InetAddressAndPort native = node(1);
  native.port = 9042;
  const AdvertisedNode local{host_id_of(1),        node(1),       native, {"dc1", "r1"}, "5.0.9", 12,
                             {"big-nb", "bti-da"}, host_id_of(2), 1234.5};
  EXPECT_EQ(told(starting_states(local)),
            (Told{"NET_VERSION=12", "HOST_ID=" + host_id_of(1).to_string(), "NATIVE_ADDRESS_AND_PORT=10.0.0.1:9042",
                  "RPC_ADDRESS=10.0.0.1", "RELEASE_VERSION=5.0.9", "SSTABLE_VERSIONS=big-nb,bti-da", "DC=dc1",
                  "RACK=r1", "INTERNAL_ADDRESS_AND_PORT=10.0.0.1:7000", "INTERNAL_IP=10.0.0.1",
                  "SCHEMA=" + host_id_of(2).to_string(), "LOAD=1234.5", "SEVERITY=0.0", "RPC_READY=false"}));
}

TEST(LocalStates, EachStepIsToldWithAndWithoutPort) {
  EXPECT_EQ(told(bootstrapping_states(kTwo)), (Told{"TOKENS", "STATUS_WITH_PORT=BOOT,7", "STATUS=BOOT,7"}));
  EXPECT_EQ(told(replacing_states(kTwo, node(3))),
            (Told{"TOKENS", "STATUS_WITH_PORT=BOOT_REPLACE,10.0.0.3:7000", "STATUS=BOOT_REPLACE,10.0.0.3"}));
  EXPECT_EQ(told(cassandra_like::normal_states(kTwo)),
            (Told{"TOKENS", "STATUS_WITH_PORT=NORMAL,7", "STATUS=NORMAL,7"}));
  EXPECT_EQ(told(leaving_states(kTwo)), (Told{"STATUS_WITH_PORT=LEAVING,7", "STATUS=LEAVING,7"}));
  EXPECT_EQ(told(left_states(kTwo, 55)), (Told{"STATUS_WITH_PORT=LEFT,7,55", "STATUS=LEFT,7,55"}));
  EXPECT_EQ(told(moving_states(5)), (Told{"STATUS_WITH_PORT=MOVING,5", "STATUS=MOVING,5"}));
  EXPECT_EQ(told(hibernating_states(kTwo)),
            (Told{"TOKENS", "STATUS_WITH_PORT=hibernate,true", "STATUS=hibernate,true"}));
  EXPECT_EQ(*state_values::parse_tokens(cassandra_like::normal_states(kTwo)[0].second), kTwo);
}

}  // namespace
}  // namespace cassandra_like
