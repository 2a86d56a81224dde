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
  EXPECT_EQ(std::ranges::count_if(commands(), [](const Command& c) { return c.run != nullptr; }), 68);
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
