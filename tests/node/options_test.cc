// From cassandra.yaml to the options of the parts.
#include <gtest/gtest.h>

#include "node/options.h"

namespace cassandra_like::options_test {
namespace {

Config parsed(std::string_view text) {
  HostFacts host;
  host.cores = 2;
  auto config = parse_config(text, "cassandra.yaml", host);
  EXPECT_TRUE(config.ok()) << config.error().message();
  return config.ok() ? std::move(*config) : Config();
}

// Cassandra 5.0.9 writes the same into system_schema.tables for a table that names none.
TEST(OptionsTest, DefaultCompaction) {
  EXPECT_EQ(cql_options(parsed("")).default_compaction, StringPairs());
  EXPECT_EQ(cql_options(parsed("default_compaction:\n  class_name: UnifiedCompactionStrategy\n  parameters:\n"
                               "    scaling_parameters: T4\n    target_sstable_size: 1GiB\n"))
                .default_compaction,
            (StringPairs{{"class", "org.apache.cassandra.db.compaction.UnifiedCompactionStrategy"},
                         {"scaling_parameters", "T4"},
                         {"target_sstable_size", "1GiB"}}));
  EXPECT_EQ(cql_options(parsed("default_compaction:\n  class_name: LeveledCompactionStrategy\n")).default_compaction,
            (StringPairs{{"class", "org.apache.cassandra.db.compaction.LeveledCompactionStrategy"},
                         {"max_threshold", "32"},
                         {"min_threshold", "4"}}));
}

TEST(OptionsTest, TheSnitchThatDescribeClusterNames) {
  EXPECT_EQ(cql_options(parsed("endpoint_snitch: SimpleSnitch\n")).snitch,
            "org.apache.cassandra.locator.DynamicEndpointSnitch");
  EXPECT_EQ(cql_options(parsed("endpoint_snitch: SimpleSnitch\ndynamic_snitch: false\n")).snitch,
            "org.apache.cassandra.locator.SimpleSnitch");
}

TEST(OptionsTest, ANodeThatIsRemovedIsInQuarantineForTwiceTheRingDelay) {
  auto quarantine = [](std::string_view text) {
    auto options = membership_options(parsed(text), LocalNode(), Uuid());
    EXPECT_TRUE(options.ok());
    return options.ok() ? options->gossip.quarantine_delay_ms : 0;
  };
  EXPECT_EQ(quarantine(""), 60'000);
  EXPECT_EQ(quarantine("ring_delay: 2000ms\n"), 4000);
}

TEST(OptionsTest, GuardrailsOnSSTables) {
  EXPECT_FALSE(engine_options(parsed("")).guardrails.any());
  const SSTableGuardrails guardrails =
      engine_options(parsed("partition_size_warn_threshold: 100MiB\npartition_tombstones_fail_threshold: 7\n"
                            "collection_size_fail_threshold: 1KiB\nitems_per_collection_warn_threshold: 3\n"))
          .guardrails;
  EXPECT_EQ(guardrails.partition_size, (GuardrailPair{100 << 20, 0}));
  EXPECT_EQ(guardrails.partition_tombstones, (GuardrailPair{0, 7}));
  EXPECT_EQ(guardrails.collection_size, (GuardrailPair{0, 1024}));
  EXPECT_EQ(guardrails.items_per_collection, (GuardrailPair{3, 0}));
  // The names of Cassandra 4.0.
  const SSTableGuardrails old = engine_options(parsed("compaction_large_partition_warning_threshold: 5MiB\n"
                                                      "compaction_tombstone_warning_threshold: 9\n"))
                                    .guardrails;
  EXPECT_EQ(old.partition_size, (GuardrailPair{5 << 20, 0}));
  EXPECT_EQ(old.partition_tombstones, (GuardrailPair{9, 0}));
}

TEST(OptionsTest, ShardAwareDrivers) {
  EXPECT_FALSE(transport_options(parsed("")).shard_aware);
  TransportOptions options =
      transport_options(parsed("enable_shard_aware_drivers: true\nnative_shard_aware_transport_port: 19043\n"));
  EXPECT_TRUE(options.shard_aware);
  EXPECT_EQ(options.shard_aware_port, 19043);
}

TEST(OptionsTest, GuardrailsReachCql) {
  CqlOptions options = cql_options(parsed("tables_fail_threshold: 7\ngroup_by_enabled: false\n"));
  EXPECT_EQ(options.guardrails.tables_fail_threshold, 7);
  EXPECT_FALSE(options.guardrails.group_by_enabled);
}

TEST(OptionsTest, RequestsOfOtherNodes) {
  PeerRequestsOptions options = peer_requests_options(parsed(""));
  EXPECT_TRUE(options.log_out_of_token_range);
  EXPECT_FALSE(options.reject_out_of_token_range);
  EXPECT_EQ(options.max_answer_bytes, PeerRequestsOptions().max_answer_bytes);
  options =
      peer_requests_options(parsed("log_out_of_token_range_requests: false\n"
                                   "reject_out_of_token_range_requests: true\n"
                                   "internode_max_message_size: 1MiB\n"));
  EXPECT_FALSE(options.log_out_of_token_range);
  EXPECT_TRUE(options.reject_out_of_token_range);
  EXPECT_EQ(options.max_answer_bytes, 983'040u);
}

TEST(OptionsTest, TimesOfConnections) {
  EXPECT_EQ(link_options(parsed("")).user_timeout, std::chrono::seconds(30));
  const LinkOptions options =
      link_options(parsed("internode_tcp_connect_timeout: 3s\ninternode_tcp_user_timeout: 7s\n"));
  EXPECT_EQ(options.connect_timeout, std::chrono::seconds(3));
  EXPECT_EQ(options.user_timeout, std::chrono::seconds(7));
}

TEST(OptionsTest, SnapshotsBeforeDropAndTruncate) {
  EngineOptions options = engine_options(parsed("auto_snapshot_ttl: 2h\n"));
  EXPECT_EQ(options.auto_snapshot_ttl_millis, 7'200'000);
}

TEST(OptionsTest, KeysWithoutEffectAreNamed) {
  Config config = parsed(
      "slow_query_log_timeout: 5s\nread_request_timeout: 5s\nsnapshot_before_compaction: "
      "true\nbatch_size_warn_threshold: "
      "5KiB\n");
  EXPECT_EQ(config.ignored_keys, (std::vector<std::string>{"slow_query_log_timeout", "snapshot_before_compaction"}));
  EXPECT_TRUE(config.warnings.empty());
  for (const auto& [key, value] : parsed("").settings()) EXPECT_FALSE(key.empty());
  EXPECT_TRUE(parsed("sstable:\n  selected_format: bti\nuuid_sstable_identifiers_enabled: true\n").warnings.empty());
}

// DatabaseDescriptor.getAndValidateWriteFormat; without either key it is this node's own choice.
TEST(Options, WhatNewSSTablesAreFollowsFormatAndCompatibility) {
  const std::string big = "sstable:\n  selected_format: big\n", bti = "sstable:\n  selected_format: bti\n";
  const std::string cassandra_4 = "storage_compatibility_mode: CASSANDRA_4\n",
                    none = "storage_compatibility_mode: NONE\n";
  auto written = [](const std::string& text) {
    const SSTableVersion& version = written_version(parsed(text));
    return std::string(version.format_name) + "-" + std::string(version.letters);
  };
  EXPECT_EQ(written(""), "bti-da");
  EXPECT_EQ(written(bti), "bti-da");
  EXPECT_EQ(written(bti + none), "bti-da");
  EXPECT_EQ(written(cassandra_4), "big-nb");
  EXPECT_EQ(written(big), "big-nb");
  EXPECT_EQ(written(big + cassandra_4), "big-nb");
  EXPECT_EQ(written(none), "big-oa");
  EXPECT_EQ(written(big + none), "big-oa");
  EXPECT_EQ(written("storage_compatibility_mode: UPGRADING\n"), "big-oa");

  EXPECT_EQ(engine_options(parsed("")).column_index_bytes, std::nullopt);
  EXPECT_EQ(engine_options(parsed(big)).column_index_bytes, std::nullopt);
  EXPECT_EQ(engine_options(parsed(big + "column_index_size: 8KiB\n")).column_index_bytes, 8192u);
  EXPECT_EQ(cql_options(parsed(big)).max_deletion_time, kMaxDeletionTime2038);
  EXPECT_EQ(cql_options(parsed("")).max_deletion_time, kMaxDeletionTime);
}

// Cassandra with this configuration would refuse a directory that this node has written to.
TEST(Options, WhatForbidsTheSSTablesOfThisNodeIsRefused) {
  auto refusal = [](const char* text) { return parse_config(text, "c.yaml", {}).error().message(); };
  EXPECT_EQ(refusal("storage_compatibility_mode: CASSANDRA_4\nsstable:\n  selected_format: bti\n"),
            "c.yaml:3: sstable.selected_format: bti is not available in storage_compatibility_mode CASSANDRA_4");
}

TEST(Options, IdsOfSSTablesAreAsGiven) {
  EXPECT_FALSE(parsed("").uuid_sstable_identifiers_given);
  const Config numbers = parsed("uuid_sstable_identifiers_enabled: false\n");
  EXPECT_TRUE(numbers.uuid_sstable_identifiers_given);
  EXPECT_FALSE(numbers.uuid_sstable_identifiers_enabled);
}

}  // namespace
}  // namespace cassandra_like::options_test
