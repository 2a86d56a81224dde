// Command lines of offline tools against Commons CLI 1.5, whose answers are in data/command_lines.txt: oracle/
// CommandLinesOracle.java writes them.
#include "command_line.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

namespace cassandra_like::sstable_tools {
namespace {

using Words = std::vector<std::string>;

const std::vector<OptionOfTool> kOptionsOfVerify{
    {'\1', "debug"}, {'e', "extended"},      {'v', "verbose"},
    {'h', "help"},   {'c', "check_version"}, {'r', "mutate_repair_status"},
    {'q', "quick"},  {'f', "force"},         {'t', "token_range", kAnyNumber}};
const std::vector<OptionOfTool> kOptionsOfUtil{{'c', "cleanup"}, {'d', "debug"},   {'h', "help"},
                                               {'o', "oplog"},   {'t', "type", 1}, {'v', "verbose"}};
const std::vector<OptionOfTool> kOptionsOfMetadata{
    {'c', "colors"}, {'u', "unicode"}, {'g', "gc_grace_seconds", 1, true}, {'t', "timestamp_unit", 1, true},
    {'h', "help"},   {'s', "scan"}};
const std::vector<OptionOfTool> kOptionsOfDump{{'d', ""}, {'e', ""}, {'l', ""}, {'t', ""}, {'k', "", 3}, {'x', "", 3}};
const std::vector<OptionOfTool> kOptionsOfSplit{
    {'\1', "debug"}, {'h', "help"}, {'\2', "no-snapshot"}, {'s', "size", 1}};

std::string joined(const Words& words, const std::string& separator) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : separator) + words[i];
  return text;
}

Words split_at_tabs(const std::string& text) {
  Words parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t tab = std::min(text.find('\t', at), text.size());
    parts.push_back(text.substr(at, tab - at));
    at = tab + 1;
  }
  return parts;
}

// The text that the oracle prints.
std::string text_of(const CommandLine& line, const std::vector<OptionOfTool>& known) {
  if (!line.error.empty()) return "error\t" + line.error;
  std::set<std::string> options;
  for (const OptionOfTool& option : known) {
    if (!line.has(option.letter)) continue;
    const Words& values = line.options.at(option.letter);
    options.insert((option.letter < ' ' ? option.name : std::string(1, option.letter)) +
                   (values.empty() ? "" : ":" + joined(values, "|")));
  }
  std::string text;
  for (const std::string& option : options) text += option + "\t";
  return text + "words\t" + joined(line.words, "|");
}

TEST(CommandLine, IsReadAsCommonsCliReadsIt) {
  const std::map<std::string, const std::vector<OptionOfTool>*> tools{{"verify", &kOptionsOfVerify},
                                                                      {"util", &kOptionsOfUtil},
                                                                      {"metadata", &kOptionsOfMetadata},
                                                                      {"dump", &kOptionsOfDump},
                                                                      {"split", &kOptionsOfSplit}};
  std::ifstream file(SOURCE_DIR "/tests/tools/data/command_lines.txt");
  size_t compared = 0;
  for (std::string recorded; std::getline(file, recorded); ++compared) {
    Words parts = split_at_tabs(recorded);
    const auto arrow = std::find(parts.begin(), parts.end(), "=>");
    ASSERT_NE(arrow, parts.end()) << recorded;
    const std::string& tool = parts[0];
    const bool is_gnu = tool != "metadata" && tool != "dump";
    const auto parse = is_gnu ? CommandLine::parse_gnu : CommandLine::parse;
    const auto& known = *tools.at(tool);
    EXPECT_EQ(text_of(parse(known, {parts.begin() + 1, arrow}), known), joined({arrow + 1, parts.end()}, "\t"))
        << recorded;
  }
  EXPECT_EQ(compared, 1500u);
}

TEST(CommandLine, LettersTogetherAreNoneOfGnuParser) {
  const CommandLine line = CommandLine::parse_gnu(kOptionsOfUtil, {"-dc", "ks", "t"});
  EXPECT_TRUE(line.has('d'));
  EXPECT_FALSE(line.has('c'));
  EXPECT_EQ(line.words, (Words{"c", "ks", "t"}));
}

TEST(CommandLine, AnOptionTakesAllValuesUpToTheNext) {
  const CommandLine line = CommandLine::parse_gnu(kOptionsOfVerify, {"ks", "-t=1,2", "-5,6", "-f", "t"});
  EXPECT_EQ(line.options.at('t'), (Words{"1,2", "-5,6"}));
  EXPECT_EQ(line.words, (Words{"ks", "t"}));
}

TEST(CommandLine, AValueMayBeLacking) {
  for (const Words& words : {Words{"FILE", "-g"}, Words{"-g", "-s", "FILE"}}) {
    const CommandLine line = CommandLine::parse(kOptionsOfMetadata, words);
    EXPECT_EQ(line.error, "");
    EXPECT_TRUE(line.has('g') && !line.has_argument('g'));
    EXPECT_EQ(line.words, Words{"FILE"});
  }
}

}  // namespace
}  // namespace cassandra_like::sstable_tools
