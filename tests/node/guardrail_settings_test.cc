// Guardrails that change while the node runs. The refusals are what `nodetool setguardrailsconfig` of Cassandra 5.0.9 says.
#include "node/guardrail_settings.h"

#include <gtest/gtest.h>

#include <set>

namespace cassandra_like {
namespace {

using Values = std::vector<std::string>;

Values shown(const Guardrails& guardrails, const std::string& name) {
  for (const AdminGuardrail& each : show_guardrails(guardrails)) {
    if (each.name == name) return each.values;
  }
  return {"there is none"};
}

struct Refusal {
  const char* name;
  Values values;
  const char* text;
};

const std::vector<Refusal> kRefusals{
    {"tables_threshold",
     {"10", "20"},
     "The warn threshold 20 for tables_warn_threshold should be lower than the fail threshold 10"},
    {"tables_threshold",
     {"0", "0"},
     "Invalid value for tables_warn_threshold: 0 is not allowed; if attempting to disable use -1"},
    {"tables_threshold",
     {"-5", "-5"},
     "Invalid value -5 for tables_warn_threshold: negative values are not allowed, outside of -1 which disables the "
     "guardrail"},
    {"tables_threshold", {"x", "y"}, "For input string: \"x\""},
    {"column_value_size_threshold",
     {"10KiB", "20KiB"},
     "The warn threshold 20KiB for column_value_size_warn_threshold should be lower than the fail threshold 10KiB"},
    {"column_value_size_threshold",
     {"x", "y"},
     "Invalid data storage: y Accepted units:[BYTES, KIBIBYTES, MEBIBYTES, GIBIBYTES] where case matters and only "
     "non-negative values are accepted"},
    {"column_value_size_threshold",
     {"0B", "0B"},
     "Invalid value for column_value_size_warn_threshold: 0 is not allowed; if attempting to disable use an empty "
     "value"},
    {"group_by_enabled", {"maybe"}, "Use 'true' or 'false' values for booleans"},
    {"table_properties_warned",
     {"nosuch"},
     "Invalid value for table_properties_warned: '[nosuch]' do not parse as valid table properties"},
    {"read_consistency_levels_warned", {"nosuch"}, "No enum constant org.apache.cassandra.db.ConsistencyLevel.nosuch"},
    {"data_disk_usage_percentage_threshold",
     {"101", "100"},
     "Invalid value 101 for data_disk_usage_percentage_fail_threshold: maximum allowed value is 100"},
    {"data_disk_usage_max_disk_size",
     {"100000TiB"},
     "Invalid data storage: 100000TiB Accepted units:[BYTES, KIBIBYTES, MEBIBYTES, GIBIBYTES] where case matters and "
     "only non-negative values are accepted"},
    {"minimum_replication_factor_threshold",
     {"3", "4"},
     "minimum_replication_factor_fail_threshold to be set (3) cannot be greater than default_keyspace_rf (1)"},
    {"maximum_replication_factor_threshold",
     {"0", "0"},
     "Invalid value for maximum_replication_factor_warn_threshold: 0 is not allowed; if attempting to disable use -1"},
    {"maximum_timestamp_threshold",
     {"1x", "30m"},
     "Invalid duration: 1x Accepted units:[MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS, DAYS] where case "
     "matters and only non-negative values."},
    {"partition_tombstones_threshold",
     {"0", "0"},
     "Invalid value for partition_tombstones_warn_threshold: 0 is not allowed; if attempting to disable use -1"},
    {"maximum_timestamp_threshold",
     {"1m", "1h"},
     "The warn threshold 3600000000 for maximum_timestamp_warn_threshold should be lower than the fail threshold "
     "60000000"},
    {"nosuch", {"1"}, "Guardrail nosuch not found."},
    {"tables_threshold", {"1"}, "tables_threshold is expecting 2 argument values. Getting 1 instead."},
    {"materialized_views_per_table_threshold",
     {"1", "1"},
     "materialized_views_per_table_threshold is not supported yet"},
};

TEST(GuardrailSettings, ValuesThatMakeNoSenseAreRefusedAndChangeNothing) {
  for (const Refusal& each : kRefusals) {
    Guardrails guardrails;
    const Status changed = change_guardrail(&guardrails, each.name, each.values, 1);
    ASSERT_FALSE(changed.ok()) << each.name;
    EXPECT_EQ(changed.error().message(), each.text) << each.name;
    EXPECT_EQ(guardrails, Guardrails()) << each.name;
  }
}

TEST(GuardrailSettings, EachCanBeSetAndSwitchedOff) {
  const std::vector<std::tuple<const char*, Values, Values>> changes{
      {"tables_threshold", {"20", "10"}, {"-1", "-1"}},
      {"partition_tombstones_threshold", {"5000000000", "10"}, {"null", "null"}},
      {"column_value_size_threshold", {"20KiB", "10KiB"}, {"null", "null"}},
      {"partition_size_threshold", {"3GiB", "100MiB"}, {"", ""}},
      {"maximum_timestamp_threshold", {"1h", "30m"}, {"null", "null"}},
      {"minimum_timestamp_threshold", {"2d", "90s"}, {"null", "null"}},
      {"data_disk_usage_max_disk_size", {"500GiB"}, {"null"}},
      {"group_by_enabled", {"false"}, {"true"}},
      {"table_properties_warned", {"[comment, gc_grace_seconds]"}, {"[]"}},
      {"read_consistency_levels_disallowed", {"[ONE, QUORUM]"}, {"null"}},
  };
  for (const auto& [name, values, off] : changes) {
    Guardrails guardrails;
    Values given = values;
    // Sets are shown in brackets and given without them.
    if (given[0].starts_with('[')) given[0] = given[0].substr(1, given[0].size() - 2);
    std::erase(given[0], ' ');
    const Status changed = change_guardrail(&guardrails, name, given, 1);
    ASSERT_TRUE(changed.ok()) << name << ": " << changed.error().message();
    EXPECT_EQ(shown(guardrails, name), values);
    EXPECT_NE(guardrails, Guardrails());
    ASSERT_TRUE(change_guardrail(&guardrails, name, off, 1).ok()) << name;
    EXPECT_EQ(guardrails, Guardrails()) << name;
  }
}

// A set takes the names of table properties in any case.
TEST(GuardrailSettings, PropertiesAreKeptInLowerCase) {
  Guardrails guardrails;
  ASSERT_TRUE(change_guardrail(&guardrails, "table_properties_ignored", {"COMMENT"}, 1).ok());
  EXPECT_EQ(guardrails.table_properties_ignored, std::set<std::string>{"comment"});
}

TEST(GuardrailSettings, AreShownInOrderOfName) {
  const std::vector<AdminGuardrail> all = show_guardrails(Guardrails());
  EXPECT_EQ(all.size(), 45u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; }));
  EXPECT_EQ(shown(Guardrails(), "tables_threshold"), (Values{"-1", "-1"}));
  EXPECT_EQ(shown(Guardrails(), "collection_size_threshold"), (Values{"null", "null"}));
}

}  // namespace
}  // namespace cassandra_like
