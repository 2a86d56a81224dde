// Each pair nodetool/NAME.json and NAME.txt is one run: the command line with what the node answers, and what Cassandra 5.0.9's
// nodetool printed for the same state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "nodetool.h"
#include "nodetool_format.h"

namespace cassandra_like::nodetool {
namespace {

const std::string kCases = SOURCE_DIR "/tests/tools/nodetool/";

std::string read(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Answers `METHOD PATH?name=value&...` from the case; anything else is a request that nodetool must not make.
class CannedTransport : public Transport {
 public:
  explicit CannedTransport(Json answers) : answers_(std::move(answers)) {}
  Response send(const std::string& method, const std::string& path, const Parameters& parameters) override {
    std::string key = method + " " + path;
    for (size_t i = 0; i < parameters.size(); ++i) {
      key += (i == 0 ? "?" : "&") + parameters[i].first + "=" + parameters[i].second;
    }
    auto it = answers_.find(key);
    if (it == answers_.end()) return {404, R"({"error": "not in this case: )" + key + "\"}"};
    return {it->value("status", 200), it->dump()};
  }

 private:
  Json answers_;
};

struct Outcome {
  int exit_code;
  std::string out, err;
};

Outcome run(const std::vector<std::string>& words, const Json& answers = Json::object()) {
  std::ostringstream out, err;
  const int code = run_nodetool(
      words, [&answers](const Endpoint&) { return std::make_unique<CannedTransport>(answers); }, out, err);
  return {code, out.str(), err.str()};
}

class NodetoolTest : public testing::TestWithParam<std::string> {};

TEST_P(NodetoolTest, PrintsWhatCassandraPrints) {
  setenv("TZ", "UTC", 1);
  const Json c = Json::parse(read(kCases + GetParam() + ".json"));
  const Outcome r = run(c.at("words").get<std::vector<std::string>>(), c.at("answers"));
  EXPECT_EQ(r.out, read(kCases + GetParam() + ".txt")) << r.err;
  EXPECT_EQ(r.exit_code, c.at("exit").get<int>()) << r.err;
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kCases)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Cases, NodetoolTest, testing::ValuesIn(case_names()),
                         [](const auto& info) { return info.param; });

// Its trees come in the order of Java's hash tables; the lines must be the same.
std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line.substr(0, line.find_last_not_of(',') + 1));
  std::ranges::sort(lines);
  return lines;
}

TEST(NodetoolTreeTest, HoldsWhatCassandraPrints) {
  for (const char* name : {"tablestats_json", "tablestats_yaml", "tablestats_sorted_json"}) {
    const Json c = Json::parse(read(kCases + "trees/" + name + ".json"));
    const Outcome r = run(c.at("words").get<std::vector<std::string>>(), c.at("answers"));
    EXPECT_EQ(sorted_lines(r.out), sorted_lines(read(kCases + "trees/" + name + ".txt"))) << name;
    EXPECT_EQ(r.exit_code, c.at("exit").get<int>()) << name;
  }
}

TEST(NodetoolCommandLineTest, ACommandThatIsNotThereSaysSo) {
  const Outcome r = run({"-h", "127.0.0.1", "repair", "ks"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "nodetool: repair is not supported yet\n");
}

// Standard error and exit code are Cassandra's.
TEST(NodetoolUpkeepTest, RefusesInCassandrasWords) {
  auto refusal = [](const std::vector<std::string>& words, const Json& answers = Json::object()) {
    const Outcome r = run(words, answers);
    return std::pair(r.exit_code, r.err);
  };
  using Refusal = std::pair<int, std::string>;
  EXPECT_EQ(refusal({"compact", "-st", "1", "-et", "9", "-s", "shop", "orders"}),
            Refusal(2, "error: Invalid option combination: Can not use split-output here\n"));
  EXPECT_EQ(refusal({"compact", "-s", "--user-defined", "da-3-bti-Data.db"}),
            Refusal(2, "error: Invalid option combination: Can not use split-output here\n"));
  EXPECT_EQ(refusal({"compact", "--partition", "1", "--user-defined", "da-3-bti-Data.db"}),
            Refusal(2, "error: Invalid option combination: Can not provide tokens when using user-defined\n"));
  const std::string unknown = "ColumnFamilyStore for shop/nosuch not found.";
  EXPECT_EQ(refusal({"getsstables", "shop", "nosuch", "1"},
                    {{"GET /v1/sstables?keyspace=shop&table=nosuch&key=1", {{"status", 404}, {"error", unknown}}}}),
            Refusal(1, unknown + "\n"));
}

TEST(NodetoolSettingsTest, RefusesInCassandrasWords) {
  auto refusal = [](const std::vector<std::string>& words, const Json& answers = Json::object()) {
    const Outcome r = run(words, answers);
    return std::tuple(r.exit_code, r.out, r.err);
  };
  using Refusal = std::tuple<int, std::string, std::string>;
  auto answered = [](const char* request, int status, const std::string& text) {
    return Json{{request, {{"status", status}, {"error", text}}}};
  };
  const std::string unknown = "ColumnFamilyStore for system_auth/nosuch not found.";
  EXPECT_EQ(refusal({"getcompactionthreshold", "system_auth", "nosuch"},
                    answered("GET /v1/compaction_threshold?keyspace=system_auth&table=nosuch", 404, unknown)),
            Refusal(1, "", unknown + "\n"));
  const std::string none =
      "Disabling compaction by setting min_compaction_threshold or max_compaction_threshold to 0 is deprecated, set "
      "the "
      "compaction strategy option 'enabled' to 'false' instead or use the nodetool command 'disableautocompaction'.";
  EXPECT_EQ(refusal({"setcompactionthreshold", "system_auth", "roles", "0", "0"},
                    answered("POST /v1/compaction_threshold?keyspace=system_auth&table=roles&min=0&max=0", 500, none)),
            Refusal(2, "", "error: " + none + "\n"));
  EXPECT_EQ(
      refusal({"forcecompact", "nosuch", "t", "1"},
              answered("POST /v1/force_compact?keyspace=nosuch&table=t&key=1", 500, "Keyspace nosuch does not exist")),
      Refusal(2, "", "error: Keyspace nosuch does not exist\n"));
  EXPECT_EQ(refusal({"setcolumnindexsize", "2097152"},
                    answered("POST /v1/settings?column_index_size_kib=2097152", 500,
                             "column_index_size must be positive value <= 2147483646B, but was 2147483648B")),
            Refusal(2, "", "error: column_index_size must be positive value <= 2147483646B, but was 2147483648B\n"));
  EXPECT_EQ(refusal({"import", "ks", "t", "/a", "/b", "/a"},
                    {{"POST /v1/import?keyspace=ks&table=t&directory=/a&directory=/b", {{"failed", {"/b"}}}}}),
            Refusal(1, "", "Some directories failed to import, check server logs for details:\n/b\n"));
  const Json there = {{"GET /v1/settings", Json::object()}};
  EXPECT_EQ(refusal({"setcachecapacity", "1", "2", "3"}, there),
            Refusal(2, "",
                    "error: Setting capacity of NopCache is not permitted as this cache is disabled. Check your yaml "
                    "settings if you want to enable it.\n"));
  EXPECT_EQ(refusal({"setcachecapacity", "1", "-2", "3"}, there),
            Refusal(2, "", "error: capacity should not be negative.\n"));
}

TEST(NodetoolSettingsTest, NamesWhatIsNotThere) {
  EXPECT_EQ(run({"settimeout", "cascontention", "5"},
                {{"POST /v1/timeouts?type=cascontention&millis=5",
                  {{"status", 501}, {"error", "settimeout cascontention is not supported yet"}}}})
                .err,
            "nodetool: settimeout cascontention is not supported yet\n");
  const Outcome roles = run({"getauthcacheconfig", "--cache-name", "RolesCache"});
  EXPECT_EQ(roles.exit_code, 2);
  EXPECT_EQ(roles.err, "nodetool: getauthcacheconfig of RolesCache is not supported yet\n");
  const Outcome entries =
      run({"setauthcacheconfig", "--cache-name", "CredentialsCache", "--validity-period", "5", "--max-entries", "7"});
  EXPECT_EQ(entries.exit_code, 2);
  EXPECT_EQ(entries.err, "nodetool: setauthcacheconfig --max-entries is not supported yet\n");
}

TEST(NodetoolSettingsTest, TokensThatDoNotMatch) {
  const Json answer = {
      {"GET /v1/token_mismatches",
       {{"mismatches", {{{"address", "127.0.0.2"}, {"port", 7000}, {"gossip", {"-5", "9"}}, {"ring", {"9"}}}}}}}};
  EXPECT_EQ(run({"checktokenmetadata"}, answer).out,
            "Mismatch on : /127.0.0.2:7000\n  Gossip tokens: [-5, 9]\n  TokenMetadata: [9]\n\n");
}

TEST(NodetoolSettingsTest, ImportSendsWhatItIsGiven) {
  const Json none = {{"failed", Json::array()}};
  EXPECT_EQ(run({"import", "-l", "-r", "-e", "-cd", "ks", "t", "/a"},
                {{"POST /v1/import?keyspace=ks&table=t&directory=/a&keep_level=true&keep_repaired=true&copy_data=true&"
                  "extended=true",
                  none}})
                .exit_code,
            0);
  EXPECT_EQ(run({"import", "-v", "-t", "-c", "ks", "t", "/a"},
                {{"POST /v1/import?keyspace=ks&table=t&directory=/a&no_verify=true&no_tokens=true", none}})
                .exit_code,
            0);
}

TEST(NodetoolUpkeepTest, CompactSendsWhatItIsGiven) {
  EXPECT_EQ(run({"compact", "-st", "5", "shop"},
                {{"POST /v1/compact?keyspace=shop&start_token=5&end_token=", Json::object()}})
                .exit_code,
            0);
  EXPECT_EQ(run({"compact", "--partition", "a:b", "shop", "pair"},
                {{"POST /v1/compact?keyspace=shop&table=pair&partition=a:b", Json::object()}})
                .exit_code,
            0);
  EXPECT_EQ(run({"compact", "--user-defined", "/d/a-Data.db,b-Data.db,", "c-Data.db"},
                {{"POST /v1/compact?file=/d/a-Data.db&file=b-Data.db&file=&file=c-Data.db", Json::object()}})
                .exit_code,
            0);
  EXPECT_EQ(run({"compact", "--user-defined"}, {{"POST /v1/compact?file=", Json::object()}}).exit_code, 0);
}

TEST(NodetoolSeedsTest, OfAConfigurationThatCannotBeRead) {
  const Outcome r = run({"reloadseeds"}, {{"POST /v1/seeds/reload", {{"seeds", nullptr}}}});
  EXPECT_EQ(r.out, "Failed to reload the seed node list.\n");
}

TEST(NodetoolCommandLineTest, AFailureOfTheNodeIsOneLine) {
  const Outcome r = run({"drain"}, {{"POST /v1/drain", {{"status", 500}, {"error", "disk full"}}}});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_EQ(r.err, "error: disk full\n");
}

TEST(NodetoolHistoryTest, OfNoCompactions) {
  const Json none = {{"GET /v1/compaction_history", {{"compactions", Json::array()}}}};
  EXPECT_EQ(run({"compactionhistory"}, none).out, "Compaction History: \nThere is no compaction history");
  EXPECT_EQ(run({"compactionhistory", "-F", "json"}, none).out, "{ }\n");
  EXPECT_EQ(run({"compactionhistory", "--format", "yaml"}, none).out, "{}\n\n");
}

TEST(NodetoolCommandLineTest, WhereToConnectComesBeforeTheCommand) {
  Endpoint seen;
  std::ostringstream out, err;
  run_nodetool(
      {"-h", "10.0.0.1", "--port=7200", "-u", "joe", "-pw", "secret", "drain"},
      [&seen](const Endpoint& e) {
        seen = e;
        return std::make_unique<CannedTransport>(Json{{"POST /v1/drain", Json::object()}});
      },
      out, err);
  EXPECT_EQ(seen.host, "10.0.0.1");
  EXPECT_EQ(seen.port, 7200);
  EXPECT_EQ(seen.user, "joe");
  EXPECT_EQ(seen.password, "secret");
}

TEST(NodetoolCommandLineTest, EveryCommandOfCassandraIsKnown) {
  EXPECT_EQ(commands().size(), 149u);
  EXPECT_EQ(std::ranges::count_if(commands(), [](const Command& c) { return c.run != nullptr; }), 105);
  EXPECT_EQ(find_command("cfstats"), find_command("tablestats"));
}

TEST(FormatTest, NumbersAreJavas) {
  EXPECT_EQ(java_double(64), "64.0");
  EXPECT_EQ(java_double(0.09534000000000001), "0.09534000000000001");
  EXPECT_EQ(java_double(0.0001), "1.0E-4");
  EXPECT_EQ(java_double(12345678.5), "1.23456785E7");
  EXPECT_EQ(file_size(119109), "116.32 KiB");
  EXPECT_EQ(file_size(8 << 20), "8 MiB");
  EXPECT_EQ(pretty_memory(15412), "15.051KiB");
  EXPECT_EQ(pretty_memory(707), "707B");
  EXPECT_EQ(iso_instant(1795223938722), "2026-11-21T01:18:58.722Z");
}

TEST(FormatTest, TreesAreJacksonsAndSnakeYamls) {
  const Json tree = {{"a", {{"b", 1}, {"c", Json::object()}}}, {"d", {1.0, 2.5}}, {"e", nullptr}, {"f", "0.5"}};
  EXPECT_EQ(pretty_json(tree),
            "{\n  \"a\" : {\n    \"b\" : 1,\n    \"c\" : { }\n  },\n  \"d\" : [ 1.0, 2.5 ],\n  \"e\" : null,\n  \"f\" "
            ": \"0.5\"\n}");
  EXPECT_EQ(block_yaml(tree), "a:\n  b: 1\n  c: {}\nd:\n- 1.0\n- 2.5\ne: null\nf: '0.5'\n");
}

}  // namespace
}  // namespace cassandra_like::nodetool
