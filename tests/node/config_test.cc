// The configuration as a user meets it: what a file means, and the one line that a mistake gets.
#include "node/config.h"

#include <gtest/gtest.h>

#include "node/config_keys.h"

namespace cassandra_like {
namespace {

const HostFacts kHost{.cores = 4, .memory_bytes = 16 * kGiB, .storage_directory = "data"};

Config parsed(std::string_view text) {
  auto config = parse_config(text, "cassandra.yaml", kHost);
  EXPECT_TRUE(config.ok()) << config.error().message();
  return config.ok() ? *config : Config{};
}

std::string refusal(std::string_view text) {
  auto config = parse_config(text, "cassandra.yaml", kHost);
  EXPECT_FALSE(config.ok());
  return config.ok() ? "" : config.error().message();
}

std::string setting(const Config& config, const std::string& name) {
  for (const auto& [key, value] : config.settings()) {
    if (key == name) return value;
  }
  return "(none)";
}

TEST(ConfigTest, AnEmptyFileHasCassandrasDefaults) {
  const Config c = parsed("");
  EXPECT_EQ(c.cluster_name, "Test Cluster");
  EXPECT_EQ(c.num_tokens, 1);
  EXPECT_EQ(c.native_transport_port, 9042);
  EXPECT_EQ(c.data_file_directories, std::vector<std::string>{"data/data"});
  EXPECT_EQ(c.commitlog_directory, "data/commitlog");
  EXPECT_EQ(c.periodic_commitlog_sync_lag_block, Millis{15000});
  EXPECT_EQ(c.max_mutation_size, 16 * kMiB);
  EXPECT_EQ(c.seeds, std::vector<std::string>{"127.0.0.1"});
  EXPECT_EQ(c.shards, 4u);
  EXPECT_EQ(c.admin_port, 7199);
  EXPECT_EQ(c.memtable_space(), kGiB);
  EXPECT_TRUE(c.ignored_keys.empty());
}

TEST(ConfigTest, MemtablesGetAQuarterOfSmallMachinesAndChunksAnEighth) {
  auto config = parse_config("", "cassandra.yaml", {.cores = 1, .memory_bytes = 2 * kGiB, .storage_directory = "data"});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->memtable_space(), 512 * kMiB);
  EXPECT_EQ(config->file_cache_size, 256 * kMiB);
}

TEST(ConfigTest, UnitsAreCassandras) {
  const Config c = parsed(R"(
read_request_timeout: 7s
write_request_timeout: 1500ms
truncate_request_timeout: 1m
commitlog_segment_size: 64MiB
column_index_size: 4KiB
compaction_throughput: 512KiB/s
trace_type_query_ttl: 2d
)");
  EXPECT_EQ(c.read_request_timeout, Millis{7000});
  EXPECT_EQ(c.write_request_timeout, Millis{1500});
  EXPECT_EQ(c.truncate_request_timeout, Millis{60000});
  EXPECT_EQ(c.commitlog_segment_size, 64 * kMiB);
  EXPECT_EQ(c.column_index_size, 4 * kKiB);
  EXPECT_EQ(c.compaction_throughput, 512 * kKiB);
  EXPECT_EQ(c.trace_type_query_ttl, Seconds{172800});
}

TEST(ConfigTest, NamesOfOlderVersionsKeepTheirUnits) {
  const Config c = parsed(R"(
read_request_timeout_in_ms: 7000
commitlog_segment_size_in_mb: 16
column_index_size_in_kb: 64
native_transport_max_concurrent_requests_in_bytes: -1
enable_materialized_views: true
compaction_throughput_mb_per_sec: 16
commitlog_sync: group
commitlog_sync_group_window_in_ms: 2.5
table_count_warn_threshold: 150
)");
  EXPECT_EQ(c.read_request_timeout, Millis{7000});
  EXPECT_EQ(c.commitlog_segment_size, 16 * kMiB);
  EXPECT_EQ(c.column_index_size, 64 * kKiB);
  EXPECT_EQ(c.native_transport_max_request_data_in_flight, 4 * kGiB / 10);
  EXPECT_TRUE(c.materialized_views_enabled);
  EXPECT_EQ(c.compaction_throughput, 16 * kMiB);
  EXPECT_EQ(c.commitlog_sync_group_window, Millis{3});
  EXPECT_EQ(c.guardrails.tables_warn_threshold, 102);
  EXPECT_EQ(c.old_names.size(), 8u);
}

TEST(ConfigTest, TheShapesOfARealFile) {
  const Config c = parsed(R"(
cluster_name: 'Test Cluster'
num_tokens: 16
initial_token:
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "127.0.0.1:7000, 10.0.0.2"
listen_address: localhost
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
authenticator:
  class_name: PasswordAuthenticator
role_manager:
  class_name: CassandraRoleManager
  parameters:
    # none
data_file_directories:
  - /var/lib/cassandra/data
memtable:
  configurations:
    skiplist:
      class_name: SkipListMemtable
    trie:
      class_name: TrieMemtable
      parameters:
        shards: 4
    default:
      inherits: trie
sstable:
  selected_format: bti
  format:
    bti:
      row_index_granularity: 4KiB
default_compaction:
  class_name: UnifiedCompactionStrategy
  parameters:
    scaling_parameters: T4
    max_sstables_to_compact: 64
server_encryption_options:
  internode_encryption: none
  legacy_ssl_storage_port_enabled: false
  keystore: conf/.keystore
client_encryption_options:
  enabled: false
  keystore: conf/.keystore
storage_compatibility_mode: NONE
hints_flush_period: 10000ms
stream_throughput_outbound_megabits_per_sec: 200
)");
  EXPECT_EQ(c.num_tokens, 16);
  EXPECT_EQ(c.seeds, (std::vector<std::string>{"127.0.0.1:7000", "10.0.0.2"}));
  EXPECT_EQ(c.listen_address, "127.0.0.1");
  EXPECT_EQ(c.authenticator.short_name(), "PasswordAuthenticator");
  EXPECT_EQ(c.data_file_directories, std::vector<std::string>{"/var/lib/cassandra/data"});
  EXPECT_EQ(c.memtable_configurations.at("trie").parameters.at("shards"), "4");
  EXPECT_EQ(c.memtable_configurations.at("default").inherits, "trie");
  EXPECT_EQ(c.sstable_selected_format, "bti");
  EXPECT_EQ(c.default_compaction.parameters.at("max_sstables_to_compact"), "64");
  EXPECT_EQ(c.storage_compatibility_mode, StorageCompatibilityMode::kNone);
  EXPECT_EQ(c.ignored_keys,
            (std::vector<std::string>{"sstable.format", "server_encryption_options.legacy_ssl_storage_port_enabled",
                                      "server_encryption_options.keystore", "client_encryption_options.keystore",
                                      "hints_flush_period", "stream_throughput_outbound"}));
}

TEST(ConfigTest, DottedNamesReachNestedKeys) {
  EXPECT_EQ(parsed("sstable.selected_format: bti\n").sstable_selected_format, "bti");
}

TEST(ConfigTest, EveryKeyOfCassandraIsKnown) {
  EXPECT_EQ(cassandra_keys().size(), 409u);
  for (std::string_view key : cassandra_keys()) {
    auto config = parse_config(std::string(key) + ": {}\n", "cassandra.yaml", kHost);
    if (!config.ok()) {
      EXPECT_EQ(config.error().message().find("Invalid yaml"), std::string::npos) << config.error().message();
    }
  }
  for (const ReplacedKey& old : replaced_keys()) EXPECT_TRUE(is_cassandra_key(old.new_name)) << old.old_name;
}

TEST(ConfigTest, OverridesGoBeforeTheFile) {
  HostFacts host = kHost;
  host.overrides = {{"native_transport_port", "9043"}, {"data_file_directories", "[/tmp/a, /tmp/b]"}, {"shards", "2"}};
  auto config = parse_config("native_transport_port: 9042\nshards: 1\n", "cassandra.yaml", host);
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_EQ(config->native_transport_port, 9043);
  EXPECT_EQ(config->data_file_directories, (std::vector<std::string>{"/tmp/a", "/tmp/b"}));
  EXPECT_EQ(config->shards, 2u);
  host.overrides = {{"shards", "many"}};
  auto refused = parse_config("", "cassandra.yaml", host);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(
      refused.error().message(),
      "command line:1: shards: cannot read 'many' as a whole number of 0 or more: write a whole number of 0 or more");
}

struct Mistake {
  const char* text;
  const char* error;
};

TEST(ConfigTest, AMistakeIsOneLineWithFileAndLine) {
  for (const Mistake& m : std::initializer_list<Mistake>{
           {"cluster_name: a\nfoo: 1\n",
            "cassandra.yaml:2: Invalid yaml. Please remove properties [foo] from your cassandra.yaml: no such key is "
            "known"},
           {"read_request_timeout: 5x\n",
            "cassandra.yaml:1: read_request_timeout: cannot read '5x' as a duration: write a whole number and one of "
            "ms, s, "
            "m, h, d (case matters), as in 10s"},
           {"read_request_timeout: 5000\n",
            "cassandra.yaml:1: read_request_timeout: cannot read '5000' as a duration: write a whole number and one of "
            "ms, "
            "s, m, h, d (case matters), as in 10s"},
           {"commitlog_segment_size: 64KiB\n",
            "cassandra.yaml:1: commitlog_segment_size: cannot read '64KiB' as a size: write a whole number and one of "
            "MiB, "
            "GiB (case matters), as in 32MiB"},
           {"\n\nnative_transport_port: 70000\n",
            "cassandra.yaml:3: native_transport_port: cannot read '70000' as a port from 0 to 65535: write a port from "
            "0 to "
            "65535"},
           {"auto_snapshot: maybe\n",
            "cassandra.yaml:1: auto_snapshot: cannot read 'maybe' as true or false: write true or false"},
           {"commitlog_sync: often\n",
            "cassandra.yaml:1: commitlog_sync: cannot read 'often': write one of periodic, batch, group"},
           {"read_request_timeout:\n",
            "cassandra.yaml:1: read_request_timeout: has no value: write one, or remove the line for the default"},
           {"num_tokens: 4\nnum_tokens: 8\n", "cassandra.yaml:2: num_tokens: stands here a second time: remove one"},
           {"range_request_timeout: 1s\nrange_request_timeout_in_ms: 5\n",
            "cassandra.yaml:2: Config contains both old and new keys for the same configuration parameters, migrate "
            "old -> "
            "new: [range_request_timeout_in_ms -> range_request_timeout]: remove the old one"},
           {"range_request_timeout_in_ms: 5\nrange_request_timeout: 1s\n",
            "cassandra.yaml:2: Config contains both old and new keys for the same configuration parameters, migrate "
            "old -> "
            "new: [range_request_timeout_in_ms -> range_request_timeout]: remove the old one"},
           {"range_request_timeout_in_ms: -5\n",
            "cassandra.yaml:1: range_request_timeout_in_ms: must not be negative: write 0 or more"},
           {"cluster_name: a\nrack: \"b\n", "cassandra.yaml:2: Invalid yaml, illegal EOF in scalar: correct the line"},
           {"cluster_name: a\n---\ncluster_name: b\n",
            "cassandra.yaml:3: Invalid yaml, a second document begins: remove the line '---'"},
           {"\nlisten_address: no.such.host\n",
            "cassandra.yaml:2: listen_address: Unknown host 'no.such.host': write an address, or a name that this "
            "machine knows"},
           {"default_compaction:\n  class_name: NoStrategy\n",
            "cassandra.yaml:1: default_compaction: Unable to find compaction strategy class "
            "'org.apache.cassandra.db.compaction.NoStrategy': write what CREATE TABLE takes for compaction"},
           {"a: [1, 2\nb: 3\n", "cassandra.yaml:2: Invalid yaml, end of sequence flow not found: correct the line"},
           {"commitlog_sync: batch\ncommitlog_sync_period: 10s\n",
            "cassandra.yaml:2: commitlog_sync_period: Batch sync specified, but commitlog_sync_period found: remove "
            "it"},
           {"rpc_address: 0.0.0.0\n",
            "cassandra.yaml:1: rpc_address: is a wildcard address (0.0.0.0): set broadcast_rpc_address to the address "
            "that "
            "clients use"},
           {"partitioner: RandomPartitioner\n",
            "cassandra.yaml:1: partitioner: RandomPartitioner is not supported yet: write Murmur3Partitioner"},
           {"client_encryption_options:\n  enabled: true\n",
            "cassandra.yaml:2: client_encryption_options.enabled: TLS for clients is not supported yet: write false"},
           {"initial_token: 1,2\nnum_tokens: 3\n",
            "cassandra.yaml:1: initial_token: The number of initial tokens (by initial_token) specified (2) is "
            "different from "
            "num_tokens value (3): make them equal"},
           {"commitlog_directory: data/data\n",
            "cassandra.yaml:1: commitlog_directory: must not be the same as data_file_directories: write another"},
           {"shards: 65\n",
            "cassandra.yaml:1: shards: must be from 1 to 64, but was 65: leave it out for one a core"}}) {
    EXPECT_EQ(refusal(m.text), m.error);
  }
}

TEST(ConfigTest, ADirectoryHasNoControlCharacters) {
  EXPECT_EQ(refusal("hints_directory: \"a\\0b\"\n"),
            "cassandra.yaml:1: hints_directory: must not contain control characters: write another");
}

TEST(ConfigTest, EncryptionAndAuthenticationBetweenNodesAreRefusedByName) {
  EXPECT_EQ(refusal("server_encryption_options:\n  internode_encryption: all\n"),
            "cassandra.yaml:2: server_encryption_options.internode_encryption: all is not supported yet: write none");
  EXPECT_EQ(refusal("internode_authenticator: org.example.Strict\n"),
            "cassandra.yaml:1: internode_authenticator: org.example.Strict is not supported yet: write "
            "AllowAllInternodeAuthenticator");
}

TEST(ConfigTest, AddressesAreOfOneHost) {
  const std::string why = " is a multicast or broadcast address (", write = "): write the address of one host";
  EXPECT_EQ(refusal("rpc_address: 224.0.0.1\n"), "cassandra.yaml:1: rpc_address:" + why + "224.0.0.1" + write);
  EXPECT_EQ(refusal("listen_address: 255.255.255.255\n"),
            "cassandra.yaml:1: listen_address:" + why + "255.255.255.255" + write);
  EXPECT_EQ(refusal("broadcast_rpc_address: ff02::1\n"),
            "cassandra.yaml:1: broadcast_rpc_address:" + why + "ff02::1" + write);
  EXPECT_EQ(parsed("listen_address: 223.255.255.255\nbroadcast_rpc_address: fe80::1\n").listen_address,
            "223.255.255.255");
}

TEST(ConfigTest, SettingsShowGuardrailsAsTheyAreNow) {
  const Config c = parsed("tables_warn_threshold: 5\ncolumn_value_size_warn_threshold: 10KiB\n");
  Guardrails now = c.guardrails;
  now.tables_warn_threshold = -1;
  now.group_by_enabled = false;
  std::map<std::string, std::string> shown;
  for (const auto& [name, value] : c.settings_with(now)) shown[name] = value;
  EXPECT_EQ(shown["tables_warn_threshold"], "-1");
  EXPECT_EQ(shown["group_by_enabled"], "false");
  EXPECT_EQ(shown["column_value_size_warn_threshold"], "10KiB");  // as the file has it
}

TEST(ConfigTest, GuardrailsMakeSense) {
  for (const Mistake& m : std::initializer_list<Mistake>{
           {"tables_fail_threshold: 5\ntables_warn_threshold: 10\n",
            "cassandra.yaml:2: tables_warn_threshold: The warn threshold 10 should be lower than the fail threshold 5: "
            "lower it"},
           {"minimum_replication_factor_fail_threshold: 3\nminimum_replication_factor_warn_threshold: 2\n"
            "default_keyspace_rf: 3\n",
            "cassandra.yaml:2: minimum_replication_factor_warn_threshold: The warn threshold 2 should be greater than "
            "the fail threshold 3: raise it"},
           {"maximum_replication_factor_fail_threshold: 2\ndefault_keyspace_rf: 3\n",
            "cassandra.yaml:1: maximum_replication_factor_fail_threshold: 2 cannot be lesser than default_keyspace_rf "
            "(3): raise it"},
           {"keyspaces_warn_threshold: 0\n",
            "cassandra.yaml:1: keyspaces_warn_threshold: 0 is not allowed: write -1 to switch it off"},
           {"keyspaces_fail_threshold: -2\n",
            "cassandra.yaml:1: keyspaces_fail_threshold: Invalid value -2, negative values are not allowed: write -1 "
            "to switch it off"},
           {"data_disk_usage_percentage_warn_threshold: 101\n",
            "cassandra.yaml:1: data_disk_usage_percentage_warn_threshold: Invalid value 101: maximum allowed value is "
            "100"},
           {"collection_size_warn_threshold: 2KiB\ncollection_size_fail_threshold: 1KiB\n",
            "cassandra.yaml:1: collection_size_warn_threshold: The warn threshold 2048B should be lower than the fail "
            "threshold 1024B: lower it"},
           {"write_consistency_levels_warned: [ONE, TOO]\n",
            "cassandra.yaml:1: write_consistency_levels_warned: 'TOO' is no consistency level: write one as "
            "LOCAL_QUORUM"}}) {
    EXPECT_EQ(refusal(m.text), m.error);
  }
  EXPECT_TRUE(refusal("table_properties_disallowed: [nope]\n")
                  .starts_with("cassandra.yaml:1: table_properties_disallowed: 'nope' is no table property: write one "
                               "of additional_write_policy, "));
  const Config c = parsed("tables_warn_threshold: 5\ntables_fail_threshold: -1\ntable_properties_warned: [COMMENT]\n");
  EXPECT_EQ(c.guardrails.tables_warn_threshold, 5);
}

TEST(ConfigTest, HostNamesAreResolved) {
  HostFacts host = kHost;
  host.resolve = [](const std::string& name) { return name == "db1" ? "10.0.0.1" : ""; };
  auto config = parse_config("listen_address: db1\nadmin_address: localhost\n", "cassandra.yaml", host);
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_EQ(config->listen_address, "10.0.0.1");
  EXPECT_EQ(config->rpc_address, "10.0.0.1");  // as Cassandra's, when it is not given
  EXPECT_EQ(config->admin_address, "127.0.0.1");
  EXPECT_EQ(config->seeds, std::vector<std::string>{"10.0.0.1"});
}

TEST(ConfigTest, TimeoutsUnderTenMillisecondsAreRaised) {
  const Config c = parsed("read_request_timeout: 1ms\n");
  EXPECT_EQ(c.read_request_timeout, Millis{10});
  EXPECT_EQ(c.warnings,
            std::vector<std::string>{"found read_request_timeout::1ms less than lowest acceptable value 10ms, "
                                     "continuing with 10ms"});
}

// The values beside these names are those that Cassandra 5.0.9's system_views.settings shows.
TEST(ConfigTest, SettingsAreShownAsCassandraShowsThem) {
  const Config c = parsed("commitlog_sync_period: 10000ms\n");
  for (auto [name, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"cluster_name", "Test Cluster"},
                                                                  {"read_request_timeout", "5000ms"},
                                                                  {"commitlog_sync", "periodic"},
                                                                  {"commitlog_sync_period", "10000ms"},
                                                                  {"commitlog_sync_group_window", "0ms"},
                                                                  {"commitlog_segment_size", "32MiB"},
                                                                  {"max_value_size", "256MiB"},
                                                                  {"native_transport_max_frame_size", "16MiB"},
                                                                  {"native_transport_max_concurrent_connections", "-1"},
                                                                  {"phi_convict_threshold", "8.0"},
                                                                  {"auto_snapshot", "true"},
                                                                  {"authenticator", "AllowAllAuthenticator"},
                                                                  {"batch_size_fail_threshold", "50KiB"},
                                                                  {"column_value_size_warn_threshold", "null"}}) {
    EXPECT_EQ(setting(c, name), value) << name;
  }
}

TEST(ConfigTest, ThePartitionDenylistHasLimitsThatMakeSense) {
  const Config c = parsed("partition_denylist_enabled: true\ndenylist_refresh: 60s\ndenylist_consistency_level: ONE\n");
  EXPECT_TRUE(c.partition_denylist_enabled && c.denylist_reads_enabled);
  EXPECT_EQ(c.denylist_refresh, Seconds(60));
  EXPECT_EQ(c.denylist_consistency_level, Consistency::kOne);
  EXPECT_EQ(setting(c, "denylist_consistency_level"), "ONE");
  EXPECT_EQ(setting(c, "denylist_initial_load_retry"), "5s");
  EXPECT_EQ(refusal("denylist_max_keys_total: 0\n"),
            "cassandra.yaml:1: denylist_max_keys_total: must be a positive integer, but was 0: write 1000");
  EXPECT_EQ(refusal("denylist_refresh: 0s\n"),
            "cassandra.yaml:1: denylist_refresh: must be positive, but was 0s: write 5s or more");
}

TEST(ConfigTest, RackAndDataCentreComeFromTheirFile) {
  Config c;
  ASSERT_TRUE(
      apply_rackdc(c, "# mine\ndc=dc1\nrack = r2\ndc_suffix=_a\nprefer_local=true\n", "cassandra-rackdc.properties")
          .ok());
  EXPECT_EQ(c.data_center, "dc1");  // the suffix is for the snitches of clouds
  EXPECT_EQ(c.rack, "r2");
  const Status bad = apply_rackdc(c, "dc=dc1\n", "cassandra-rackdc.properties");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message(),
            "cassandra-rackdc.properties:1: DC or rack not found in snitch properties, check your configuration in: "
            "cassandra-rackdc.properties: write dc=NAME and rack=NAME");
}

}  // namespace
}  // namespace cassandra_like
