// generatetokens against Cassandra 5.0.9's, whose answers are in data/generatetokens.txt: a command, then what it printed.
#include "generatetokens.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "runtime/linux/linux_runtime.h"
#include "sstable_tools.h"

namespace cassandra_like::sstable_tools {
namespace {

class OneNumber : public Random {
 public:
  explicit OneNumber(uint64_t number) : number_(number) {}
  uint64_t next() override { return number_; }
  void fill(char* out, size_t size) override { std::fill_n(out, size, '\0'); }

 private:
  uint64_t number_;
};

class RuntimeWithRandom : public Runtime {
 public:
  explicit RuntimeWithRandom(Random& random)
      : shard_{linux_.shard(0).executor, linux_.shard(0).clock, linux_.shard(0).network, linux_.shard(0).disk, random,
               linux_.shard(0).blocking} {}
  unsigned shard_count() const override { return 1; }
  ShardRuntime& shard(unsigned) override { return shard_; }

 private:
  LinuxRuntime linux_{1};
  ShardRuntime shard_;
};

struct PrintedPlan {
  int exit = 0;
  std::string out, err;
};

// The command's first word is the program.
PrintedPlan generate(const std::string& command, Token first = 0) {
  std::istringstream in(command);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  words.erase(words.begin());
  OneNumber random(static_cast<uint64_t>(first));
  RuntimeWithRandom runtime(random);
  std::ostringstream out, err;
  PrintedPlan answer;
  answer.exit = run_generatetokens(words, {runtime.shard(0).disk, 0, "/", out, err, {}, {}, &runtime});
  answer.out = out.str();
  answer.err = err.str();
  return answer;
}

struct RecordedPlan {
  std::string command, out;
};

std::vector<RecordedPlan> recorded_plans() {
  std::ifstream file(SOURCE_DIR "/tests/tools/data/generatetokens.txt");
  std::vector<RecordedPlan> answers;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("generatetokens ")) {
      answers.push_back({line, ""});
    } else {
      answers.back().out += line + "\n";
    }
  }
  return answers;
}

std::vector<Token> tokens_of_the_first_node(const std::string& out) {
  const size_t from = out.find('[') + 1;
  std::istringstream in(out.substr(from, out.find(']') - from));
  std::vector<Token> tokens;
  for (std::string token; std::getline(in, token, ',');) tokens.push_back(std::stoll(token));
  return tokens;
}

TEST(GenerateTokens, ChoosesWhatCassandrasChooses) {
  const auto answers = recorded_plans();
  ASSERT_EQ(answers.size(), 6u);
  for (const RecordedPlan& recorded : answers) {
    // Cassandra began with a random token, which is one of the first node's. All others follow from it.
    std::vector<std::string> ours;
    for (Token first : tokens_of_the_first_node(recorded.out)) ours.push_back(generate(recorded.command, first).out);
    EXPECT_EQ(std::count(ours.begin(), ours.end(), recorded.out), 1) << recorded.command << "\n" << recorded.out;
  }
}

TEST(GenerateTokens, RefusesInCassandrasWords) {
  struct Refusal {
    std::string arguments, reason;
  };
  for (const Refusal& refusal : std::vector<Refusal>{
           {"", "Missing required options: n, t, rf"},
           {"-n 4 -t 3", "Missing required option: rf"},
           {"-n 4 -t 3 --rf", "Missing argument for option: rf"},
           {"-n 4 -t x --rf 3", "Invalid integer For input string: \"x\""},
           {"-n 4 -t 3 --rf 99999999999", "Invalid integer For input string: \"99999999999\""},
           {"-n 2 -t 4 --rf 1 --racks 2,1", "The sum of nodes in each rack 2,1 must equal total node count 2."},
           {"-n 2 -t 4 --rf 1 -p RandomPartitioner",
            "The partitioner RandomPartitioner is not there: Murmur3Partitioner is."},  // Cassandra has it
       }) {
    const PrintedPlan answer = generate("generatetokens " + refusal.arguments);
    EXPECT_EQ(answer.exit, 1) << refusal.arguments;
    EXPECT_EQ(answer.err, refusal.reason + "\n");
    EXPECT_TRUE(answer.out.starts_with("\nusage: generatetokens -n NODES")) << answer.out;
  }
  const std::string head = "generatetokens -n 2 -t ";
  EXPECT_EQ(generate(head + "4 --rf 3").err, "not enough nodes 2 for rf 3 in [2]\n");
  EXPECT_EQ(generate(head + "0 --rf 1").err, "num_tokens must be greater than zero\n");
  EXPECT_EQ(generate(head + "4 --rf 0").err, "rf must be greater than zero\n");
  EXPECT_EQ(generate("generatetokens -n -1 -t 4 --rf 1").err, "not enough nodes -1 for rf 1 in [-1]\n");
}

}  // namespace
}  // namespace cassandra_like::sstable_tools
