// Who may keep how many bytes waiting.
#include "messaging/link/byte_limit.h"

#include "gtest/gtest.h"
#include "messaging/link/link_options.h"

namespace cassandra_like {
namespace {

using Outcome = QueueBudget::Outcome;

// Its own share first, then what its peer has in common, then what all have.
TEST(QueueBudget, BorrowsWhatItsShareDoesNotHold) {
  ByteLimit peer(100), other_peer(1000), node(150);
  QueueBudget first(10, peer, node), second(10, peer, node), third(10, other_peer, node);
  EXPECT_EQ(first.take(10), Outcome::kTaken);
  EXPECT_EQ(peer.used(), 0u);
  EXPECT_EQ(first.take(70), Outcome::kTaken);
  EXPECT_EQ(second.take(41), Outcome::kEndpointFull);
  EXPECT_EQ(second.take(40), Outcome::kTaken);
  EXPECT_EQ(peer.used(), 100u);
  EXPECT_EQ(node.used(), 100u);
  EXPECT_EQ(third.take(61), Outcome::kGlobalFull);
  EXPECT_EQ(other_peer.used(), 0u);
  EXPECT_EQ(third.take(60), Outcome::kTaken);
  EXPECT_EQ(third.take(1, false), Outcome::kEndpointFull);
  first.give_back(75);
  EXPECT_EQ(first.used(), 5u);
  EXPECT_EQ(peer.used(), 30u);
  EXPECT_EQ(node.used(), 80u);
  // Borrowed bytes go back first.
  second.give_back(30);
  EXPECT_EQ(peer.used(), 0u);
  EXPECT_EQ(second.take(SIZE_MAX / 2), Outcome::kEndpointFull);
}

TEST(QueueBudget, LeavesNothingBehind) {
  ByteLimit peer(100), node(100);
  {
    QueueBudget queue(10, peer, node);
    EXPECT_EQ(queue.take(90), Outcome::kTaken);
    EXPECT_EQ(node.used(), 80u);
  }
  EXPECT_EQ(peer.used(), 0u);
  EXPECT_EQ(node.used(), 0u);
}

// All queues of a peer share one reserve as long as there is one.
TEST(NodeReserves, AreSharedByThoseWhoHoldThem) {
  NodeReserves node{LinkOptions()};
  const auto peer = *InetAddressAndPort::parse("10.0.0.1", 7000);
  auto first = node.of(peer);
  auto second = node.of(peer);
  EXPECT_EQ(first, second);
  EXPECT_NE(node.of(*InetAddressAndPort::parse("10.0.0.1", 7001)), first);
  EXPECT_TRUE(first->send.try_take(1));
  first.reset();
  EXPECT_EQ(node.of(peer)->send.used(), 1u);
  second.reset();
  EXPECT_EQ(node.of(peer)->send.used(), 0u);
}

}  // namespace
}  // namespace cassandra_like
