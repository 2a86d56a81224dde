// Our offline tools on the SSTables of tests/sstable/data, against what Cassandra 5.0.9's print about them:
// data/sstable_tools.json.zst, which oracle/record_sstable_tools writes.
#include "sstable_tools.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/linux/linux_runtime.h"

namespace cassandra_like::sstable_tools {
namespace {

constexpr int64_t kNowMillis = 1900000000000;  // the oracle's clock
const std::string kFixtures = SOURCE_DIR "/tests/sstable/data";

struct Answer {
  int exit = 0;
  std::string out, err;
};

nlohmann::json recorded_answers() {
  std::ifstream file(SOURCE_DIR "/tests/tools/data/sstable_tools.json.zst", std::ios::binary);
  std::stringstream compressed;
  compressed << file.rdbuf();
  const std::string bytes = compressed.str();
  std::string text;
  std::string buffer(size_t{1} << 20, '\0');
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, 27);
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  while (in.pos < in.size) {
    ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
    if (ZSTD_isError(ZSTD_decompressStream(context, &out, &in)) != 0) break;
    text.append(buffer.data(), out.pos);
    // The rest, once all input is taken.
    while (in.pos == in.size && out.pos == out.size) {
      out.pos = 0;
      ZSTD_decompressStream(context, &out, &in);
      text.append(buffer.data(), out.pos);
    }
  }
  ZSTD_freeDCtx(context);
  return nlohmann::json::parse(text);
}

std::string without_directory(std::string text) {
  for (size_t at; (at = text.find(kFixtures)) != text.npos;) text.replace(at, kFixtures.size(), "@");
  return text;
}

class SSTableTools : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("TZ", "UTC", 1);
    tzset();
  }

  Answer run(std::vector<std::string> command) {
    static const std::map<std::string, int (*)(const std::vector<std::string>&, const ToolContext&)> kTools{
        {"sstabledump", run_sstabledump},
        {"sstablemetadata", run_sstablemetadata},
        {"sstablescrub", run_sstablescrub},
        {"sstablesplit", run_sstablesplit},
        {"sstableupgrade", run_sstableupgrade}};
    std::ostringstream out, err;
    EngineOptions nothing;
    nothing.data_directories = {kFixtures + "/no data"};
    nothing.commitlog_directory = kFixtures + "/no log";
    auto storage = [&nothing](bool) { return Result<EngineOptions>(nothing); };
    auto wait = [](Task<Status> task) { return run_to_end(std::move(task)); };
    const ToolContext context{runtime_->shard(0).disk, kNowMillis, kFixtures, out, err, storage, wait, runtime_.get()};
    const auto tool = kTools.at(command[0]);
    command.erase(command.begin());
    Answer answer;
    answer.exit = tool(command, context);
    answer.out = without_directory(out.str());
    answer.err = without_directory(err.str());
    return answer;
  }

  static Task<void> finish(Task<Status>* task, std::optional<Status>* done) { *done = co_await std::move(*task); }
  // The shard does not run: reads complete at once.
  static Status run_to_end(Task<Status> task) {
    std::optional<Status> done;
    spawn(finish(&task, &done));
    CHECK(done);
    return std::move(*done);
  }

  std::unique_ptr<LinuxRuntime> runtime_ = std::make_unique<LinuxRuntime>(1);
};

// Where an exception was thrown.
std::string without_stack(const std::string& text) {
  std::istringstream in(text);
  std::string kept;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("\tat ")) kept += line + "\n";
  }
  return kept;
}

// The first line that differs, with its number.
std::string difference(const std::string& ours, const std::string& theirs) {
  std::istringstream a(ours), b(theirs);
  std::string x, y;
  for (int line = 1;; ++line) {
    const bool has_x = static_cast<bool>(std::getline(a, x)), has_y = static_cast<bool>(std::getline(b, y));
    if (!has_x && !has_y) return "the last line's end";
    if (has_x != has_y || x != y) {
      return "line " + std::to_string(line) + "\n  ours:      " + x.substr(0, 500) +
             "\n  Cassandra: " + y.substr(0, 500);
    }
  }
}

TEST_F(SSTableTools, PrintWhatCassandrasPrint) {
  size_t compared = 0;
  for (const auto& recorded : recorded_answers()) {
    const auto command = recorded["command"].get<std::vector<std::string>>();
    std::string line;
    for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
    const Answer answer = run(command);
    EXPECT_EQ(answer.exit, recorded["exit"].get<int>()) << line << "\n" << answer.err;
    const auto out = recorded["out"].get<std::string>();
    EXPECT_TRUE(answer.out == out) << line << ": " << difference(answer.out, out);
    EXPECT_EQ(answer.err, without_stack(recorded["err"].get<std::string>())) << line;
    ++compared;
  }
  EXPECT_GT(compared, 600u);
}

TEST_F(SSTableTools, NameAFileThatTheyCannotRead) {
  namespace fs = std::filesystem;
  const fs::path directory = fs::path(testing::TempDir()) / "sstable_tools_test";
  fs::remove_all(directory);
  fs::create_directories(directory);
  const std::string unknown = directory / "mc-1-big-Data.db";
  std::ofstream(unknown) << "x";
  for (const auto& file : fs::directory_iterator(kFixtures + "/oa_plain")) {
    fs::copy_file(file, directory / file.path().filename());
  }
  std::string damaged;
  for (const auto& file : fs::directory_iterator(directory)) {
    if (file.path().filename().string().starts_with("oa") && file.path().string().ends_with("-Data.db"))
      damaged = file.path();
  }
  std::fstream data(damaged, std::ios::in | std::ios::out | std::ios::binary);
  data.seekp(5000).put('\x7F').put('\x7F').put('\x7F');
  data.close();

  for (const char* tool : {"sstabledump", "sstablemetadata"}) {
    const Answer answer = run({tool, unknown});
    EXPECT_EQ(answer.exit, 1);
    EXPECT_NE(answer.err.find("mc-1-big"), answer.err.npos) << answer.err;
  }
  const Answer answer = run({"sstabledump", damaged});
  EXPECT_EQ(answer.exit, 1);
  EXPECT_NE(answer.err.find(damaged), answer.err.npos) << answer.err;
  EXPECT_EQ(run({"sstablemetadata", damaged}).exit, 0);
  fs::remove_all(directory);
}

// Files of an index that Cassandra made with USING 'legacy_local_table', of map keys and of ints: their partitioner is
// LocalPartitioner, which has no ring.
TEST_F(SSTableTools, FindKeysOfALegacyIndex) {
  const std::string directory = SOURCE_DIR "/tests/tools/data/legacy_index";
  const std::string of_keys = directory + "/.i1m/da-3h5x_0sy3_4aqzu2f1wsejk4l2gf-bti-Data.db";
  const std::string of_ints = directory + "/.i1v/da-3h5x_0sxx_37b8q2f1wsejk4l2gf-bti-Data.db";
  auto keys_of = [](const Answer& answer) {
    std::vector<std::string> keys;
    std::istringstream in(answer.out);
    for (std::string line; std::getline(in, line);) {
      keys.push_back(nlohmann::json::parse(line)["partition"]["key"][0].get<std::string>());
    }
    return keys;
  };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(keys_of(run({"sstabledump", of_keys, "-l"})), (Keys{"k0", "k1", "k2"}));
  EXPECT_EQ(keys_of(run({"sstabledump", of_keys, "-l", "-k", "k1"})), (Keys{"k1"}));
  EXPECT_EQ(keys_of(run({"sstabledump", of_keys, "-l", "-k", "k2", "k0"})), (Keys{"k0", "k2"}));
  EXPECT_EQ(keys_of(run({"sstabledump", of_ints, "-l", "-k", "3", "0", "6", "9"})), (Keys{"0", "3", "6"}));
  EXPECT_EQ(run({"sstabledump", of_keys, "-k", "zz"}).out, "[ ]");
  const std::string of_text = run({"sstablemetadata", of_keys}).out, of_numbers = run({"sstablemetadata", of_ints}).out;
  EXPECT_NE(of_text.find("\nFirst token: k0 (k0)\nLast token: k2 (k2)\n"), of_text.npos) << of_text;
  EXPECT_NE(of_numbers.find("\nFirst token: 0 (0)\nLast token: 6 (6)\n"), of_numbers.npos) << of_numbers;
}

}  // namespace
}  // namespace cassandra_like::sstable_tools
