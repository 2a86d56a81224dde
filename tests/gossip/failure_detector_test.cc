#include "gossip/failure_detector.h"

#include <gtest/gtest.h>

#include "tests/gossip/gossip_testing.h"

namespace cassandra_like {
namespace {

using namespace gossip_testing;

const InetAddressAndPort kPeer = node(2);

// A detector that has seen a heartbeat each second, the last at the returned time.
int64_t beat(FailureDetector& detector, int64_t from, int count) {
  for (int i = 0; i < count; ++i) {
    detector.report(kPeer, from + i * kSecond);
    detector.interpret(kPeer, from + i * kSecond);
  }
  return from + (count - 1) * kSecond;
}

// The first second of silence after which the peer is convicted.
int silence_to_conviction(FailureDetector& detector, int64_t last) {
  for (int second = 1; second < 1000; ++second) {
    if (detector.interpret(kPeer, last + second * kSecond)) return second;
  }
  return 1000;
}

TEST(FailureDetector, PhiIsCassandras) {
  FailureDetector::Config config;
  config.phi_convict_threshold = -1;  // every phi is told
  config.max_local_pause = std::numeric_limits<int64_t>::max();
  FailureDetector detector(config, 0);
  int phis = 0;
  for (const auto& [time, phi] : oracle().silence) {
    if (!phi) {
      detector.report(kPeer, time);
      continue;
    }
    ++phis;
    EXPECT_DOUBLE_EQ(*detector.interpret(kPeer, time), *phi) << time;
  }
  EXPECT_EQ(phis, 39);
}

TEST(FailureDetector, ANodeThatBeatsEachSecondIsConvictedAfterNineteenSecondsOfSilence) {
  FailureDetector detector({}, 0);
  const int64_t last = beat(detector, kSecond, 1100);
  EXPECT_EQ(silence_to_conviction(detector, last), 19);  // 8 * ln 10 = 18.4 means
}

TEST(FailureDetector, AHigherThresholdIsMorePatient) {
  FailureDetector detector({}, 0);
  const int64_t last = beat(detector, kSecond, 1100);
  detector.set_phi_convict_threshold(12);
  EXPECT_EQ(silence_to_conviction(detector, last), 28);
}

TEST(FailureDetector, ANodeThatWasNeverReportedIsNotJudged) {
  FailureDetector detector({}, 0);
  EXPECT_EQ(detector.interpret(kPeer, 1000 * kSecond), std::nullopt);
  EXPECT_TRUE(detector.phi_values().empty());
}

TEST(FailureDetector, TheFirstIntervalIsTakenForTwoSeconds) {
  FailureDetector detector({}, 0);
  detector.report(kPeer, kSecond);
  EXPECT_DOUBLE_EQ(detector.mean_interval(kPeer), 2e9);
  detector.report(kPeer, 2 * kSecond);
  EXPECT_DOUBLE_EQ(detector.mean_interval(kPeer), 1.5e9);
}

TEST(FailureDetector, AnIntervalAboveTheGreatestDoesNotEnterTheMean) {
  FailureDetector detector({}, 0);
  detector.report(kPeer, kSecond);
  detector.report(kPeer, 60 * kSecond);
  EXPECT_DOUBLE_EQ(detector.mean_interval(kPeer), 2e9);
}

TEST(FailureDetector, AfterALocalPauseNobodyIsConvictedForAsLongAgain) {
  FailureDetector detector({}, 0);
  const int64_t last = beat(detector, kSecond, 1100);
  EXPECT_EQ(detector.interpret(kPeer, last + 60 * kSecond), std::nullopt);  // it was this process that slept
  EXPECT_EQ(detector.interpret(kPeer, last + 64 * kSecond), std::nullopt);
  EXPECT_NE(detector.interpret(kPeer, last + 65 * kSecond), std::nullopt);
}

TEST(FailureDetector, ARemovedNodeIsLearnedAnew) {
  FailureDetector detector({}, 0);
  beat(detector, kSecond, 100);
  EXPECT_EQ(detector.phi_values().size(), 1u);
  detector.remove(kPeer);
  EXPECT_FALSE(detector.knows(kPeer));
  detector.report(kPeer, 200 * kSecond);
  EXPECT_DOUBLE_EQ(detector.mean_interval(kPeer), 2e9);
}

TEST(FailureDetector, PhiValuesAreOnTheScaleOfTheThreshold) {
  FailureDetector detector({}, 0);
  const int64_t last = beat(detector, kSecond, 1100);
  detector.interpret(kPeer, last + 2 * kSecond);
  EXPECT_NEAR(detector.phi_values().at(kPeer), 2 * 0.4342944819, 1e-9);
}

}  // namespace
}  // namespace cassandra_like
