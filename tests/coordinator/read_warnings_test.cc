// Warnings of replicas, told to the client of a read, and the reads that they have given up.
#include "coordinator/read/read_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messaging/read_response.h"
#include "tests/coordinator/replicated_read_fixture.h"

namespace cassandra_like::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

InetAddressAndPort peer(int n) { return *InetAddressAndPort::parse("10.0.0." + std::to_string(n), 7000); }

ParamsBuilder with(ParamType type, uint64_t number, bool is_long = false) {
  Bytes value;
  if (is_long) {
    append_be(value, number);
  } else {
    append_be(value, static_cast<uint32_t>(number));
  }
  ParamsBuilder params;
  params.add(type, value);
  return params;
}

struct Noted {
  ReadWarnings warnings;
  ReadCommand command;

  Noted() { command.table = test_table(); }
  static TablePtr test_table() {
    static CoordinatorCluster cluster(1, 1);
    return cluster.table("t");
  }
  std::optional<RequestFailureReason> add(int from, const ParamsBuilder& params) {
    return warnings.add(params.get(), peer(from));
  }
};

TEST(ReadWarnings, CountNodesAndTheLargestNumber) {
  Noted noted;
  EXPECT_EQ(noted.add(1, with(ParamType::kTombstoneWarning, 1500)), std::nullopt);
  EXPECT_EQ(noted.add(2, with(ParamType::kTombstoneWarning, 2500)), std::nullopt);
  EXPECT_EQ(noted.add(2, with(ParamType::kTombstoneWarning, 2000)), std::nullopt);
  EXPECT_EQ(noted.warnings.abort_text(noted.command), "");
  EXPECT_THAT(noted.warnings.texts(noted.command),
              ElementsAre("2 nodes scanned up to 2500 tombstones and issued tombstone warnings for query SELECT * FROM "
                          "ks.t (see tombstone_warn_threshold)"));
}

TEST(ReadWarnings, EachKindHasItsWordsAndItsReason) {
  const struct {
    ParamType type;
    bool is_long;
    RequestFailureReason reason;
    std::string text;
  } kinds[] = {
      {ParamType::kTombstoneFail, false, RequestFailureReason::kReadTooManyTombstones,
       "1 nodes scanned over 7 tombstones and aborted the query SELECT * FROM ks.t (see tombstone_failure_threshold)"},
      {ParamType::kLocalReadSizeFail, true, RequestFailureReason::kReadSize,
       "1 nodes loaded over 7 bytes and aborted the query SELECT * FROM ks.t (see local_read_size_fail_threshold)"},
      {ParamType::kRowIndexReadSizeFail, true, RequestFailureReason::kReadSize,
       "1 nodes loaded over 7 bytes in RowIndexEntry and aborted the query SELECT * FROM ks.t (see "
       "row_index_size_fail_threshold)"},
      {ParamType::kTooManyReferencedIndexesFail, false, RequestFailureReason::kReadTooManyIndexes,
       "1 nodes referenced 7 SSTable indexes for a query without restrictions on partition key and aborted the query "
       "SELECT * FROM ks.t (see sai_sstable_indexes_per_query_fail_threshold)"},
  };
  for (const auto& kind : kinds) {
    Noted noted;
    EXPECT_EQ(noted.add(1, with(kind.type, 7, kind.is_long)), kind.reason);
    EXPECT_EQ(noted.warnings.abort_text(noted.command), kind.text);
    EXPECT_THAT(noted.warnings.texts(noted.command), ElementsAre(kind.text));
  }
}

TEST(ReadWarnings, OtherParamsAreNone) {
  Noted noted;
  ParamsBuilder params;
  params.trace(Uuid(), TraceType::kQuery);
  EXPECT_EQ(noted.add(1, params), std::nullopt);
  EXPECT_TRUE(noted.warnings.empty());
  EXPECT_THAT(noted.warnings.texts(noted.command), IsEmpty());
}

// Node 0 asks; nodes 1 and 2 answer with nothing and these params.
struct Reading {
  explicit Reading(bool tracks) : cluster(3, 3, 1, options(tracks)) {}
  static CoordinatorOptions options(bool tracks) {
    CoordinatorOptions out;
    out.tracks_warnings = tracks;
    return out;
  }
  void answer(size_t node, ParamsBuilder params) {
    cluster.node(node).answers(Verb::kReadReq, [this, params](InboundMessage message) -> Task<VerbResult> {
      flags |= message.header.flags;
      DataResponse response;
      VerbResult result = VerbResult::answer(SharedBytes::copy_of(response.finish()));
      result.params = SharedBytes::copy_of(params.get().entries);
      result.params_count = params.get().count;
      return result;
    });
  }
  std::string read() {
    ReadCommand command;
    command.table = cluster.table("t");
    command.now_seconds = storage_test::kNow;
    command.keys.push_back(DecoratedKey::of("a"));
    TextSink sink(*command.table);
    Coordinator& coordinator = cluster.node(0).coordinator();
    auto task = [&] { return coordinator.read(command, Consistency::kAll, sink, kUntraced, &warnings); };
    auto result = cluster.run<Result<ReadStatistics>>(0, task);
    return result.ok() ? "ok" : result.error().message();
  }

  CoordinatorCluster cluster;
  std::vector<std::string> warnings;
  uint32_t flags = 0;
};

TEST(ReadWarnings, AnAbortedReadSaysWhyInPlaceOfTheCounts) {
  Reading reading(true);
  for (size_t node : {1u, 2u}) reading.answer(node, with(ParamType::kTombstoneFail, 100'001));
  EXPECT_THAT(reading.read(),
              testing::MatchesRegex("Operation failed - [12] nodes scanned over 100001 tombstones and "
                                    "aborted the query SELECT .* \\(see tombstone_failure_threshold\\): "
                                    "READ_TOO_MANY_TOMBSTONES from /10.0.0.[23]:7000.*"));
  ASSERT_EQ(reading.warnings.size(), 1u);
  EXPECT_THAT(reading.warnings[0], testing::HasSubstr("tombstones and aborted the query"));
  EXPECT_THAT(reading.warnings[0], testing::HasSubstr(" with token="));
  EXPECT_NE(reading.flags & kTrackWarnings, 0u);
}

TEST(ReadWarnings, AreAskedForOnlyWithReadThresholds) {
  Reading reading(false);
  for (size_t node : {1u, 2u}) reading.answer(node, ParamsBuilder());
  reading.read();
  EXPECT_EQ(reading.flags & kTrackWarnings, 0u);
  EXPECT_THAT(reading.warnings, IsEmpty());
}

}  // namespace
}  // namespace cassandra_like::test
