// Nodes that join a ring, or are refused.
#include <gmock/gmock.h>

#include <algorithm>

#include "base/log.h"
#include "tests/simulation/simulated_node.h"

namespace cassandra_like {
namespace {

class Joining : public testing::Test {
 protected:
  Joining() {
    set_log_sink([this](const LogRecord& record) { log_.push_back(record.text); });
  }
  ~Joining() override {
    for (auto& node : nodes_) node->kill();
    set_log_sink([](const LogRecord&) {});
  }

  // The first one is the seed.
  SimulatedNode& add(const std::string& tokens, const std::string& network = "10.0.0", bool bootstraps = false) {
    SimulatedNodeOptions options;
    options.auto_bootstrap = bootstraps;
    options.address = fmt::format("{}.{}", network, nodes_.size() + 1);
    options.seeds = network + ".1";
    options.commitlog_sync = "batch";
    options.more = fmt::format("initial_token: {}\n", tokens);
    nodes_.push_back(std::make_unique<SimulatedNode>(story_, options));
    return *nodes_.back();
  }
  // How its start ends: "up", or the error.
  std::string start(SimulatedNode& node) {
    node.start();
    auto has_ended = [&] { return node.is_up() || !node.start_error().empty(); };
    story_.world().run_until(has_ended, std::chrono::minutes(3));
    node.tend();
    return node.is_up() ? "up" : node.start_error();
  }
  size_t lines(const std::string& text) const {
    return static_cast<size_t>(
        std::ranges::count_if(log_, [&](const std::string& line) { return line.find(text) != line.npos; }));
  }

 private:
  Story story_{1, false};
  std::vector<std::string> log_;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
};

// The token would be the younger node's, and the rows of the other one would not be found any more.
TEST_F(Joining, ATokenThatAnotherNodeHasIsRefusedAtEachStart) {
  EXPECT_EQ(start(add("100,200,300,400")), "up");
  SimulatedNode& second = add("50,350,200,450");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(start(second), testing::HasSubstr("Bootstrapping to existing token 200 is not allowed"));
  }
  SimulatedNode& third = add("350,250,150,50");
  EXPECT_EQ(start(third), "up");
  third.kill();
  EXPECT_EQ(start(third), "up");
}

TEST_F(Joining, ANodeThatWouldHaveToFetchDataIsRefused) {
  EXPECT_EQ(start(add("100,200,300,400", "10.0.0", true)), "up");
  SimulatedNode& second = add("50,350,250,450", "10.0.0", true);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(start(second), testing::HasSubstr("auto_bootstrap: the cluster has a member already (/10.0.0.1:7000)"));
  }
}

TEST_F(Joining, AListenerOnAPrivateAddressIsNotNamed) {
  EXPECT_EQ(start(add("100,200,300,400")), "up");
  EXPECT_EQ(lines("is not private"), 0u);
}

TEST_F(Joining, AListenerOnAnAddressThatIsNotPrivateIsNamed) {
  EXPECT_EQ(start(add("100,200,300,400", "198.51.100")), "up");
  EXPECT_EQ(lines("listen_address 198.51.100.1 is not private, and messages between nodes are not encrypted"), 1u);
}

}  // namespace
}  // namespace cassandra_like
