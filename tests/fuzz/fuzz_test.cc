// Every fuzz target on its kept corpus: corpus/<target>/, found by libFuzzer and minimised. A file named finding-… broke
// something once.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/log.h"
#include "gtest/gtest.h"
#include "tests/fuzz/fuzz_target.h"

namespace cassandra_like {
namespace {

std::vector<std::filesystem::path> inputs_of(const std::string& target) {
  std::vector<std::filesystem::path> out;
  std::filesystem::path folder = std::filesystem::path(SOURCE_DIR) / "tests/fuzz/corpus" / target;
  if (!std::filesystem::exists(folder)) return out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

// In memory of exactly its size, so that a sanitizer sees a read past the end.
struct Input {
  explicit Input(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream content;
    content << in.rdbuf();
    size = content.str().size();
    data = std::make_unique<char[]>(size);
    std::copy_n(content.str().data(), size, data.get());
  }
  BytesView view() const { return BytesView(data.get(), size); }

  std::unique_ptr<char[]> data;
  size_t size = 0;
};

class CorpusTest : public testing::TestWithParam<FuzzTarget> {};

TEST_P(CorpusTest, Replays) {
  set_log_level(LogLevel::kOff);
  auto inputs = inputs_of(GetParam().name);
  EXPECT_FALSE(inputs.empty()) << "no corpus";
  for (const auto& path : inputs) {
    SCOPED_TRACE(path.filename().string());
    Input input(path);
    GetParam().run(input.view());
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, CorpusTest, testing::ValuesIn(fuzz_targets()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace cassandra_like
