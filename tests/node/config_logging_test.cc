// The log file as ccm and operators read it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "node/logging.h"

namespace cassandra_like {
namespace {

class LoggingTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(directory_);
    ASSERT_TRUE(
        install_logging({.to_stdout = false, .directory = directory_, .max_file_bytes = 400, .max_files = 2}).ok());
  }
  void TearDown() override {
    stop_logging();
    set_log_level(LogLevel::kInfo);
    std::filesystem::remove_all(directory_);
  }
  std::string log_text() const {
    std::ifstream in(directory_ + "/system.log");
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }

  const std::string directory_ = testing::TempDir() + "logging_test";
};

TEST_F(LoggingTest, LinesAreCassandras) {
  LOG_INFO("Starting listening for CQL clients on /{}:{}", "127.0.0.1", 9042);
  LOG_DEBUG("not at this level");
  EXPECT_THAT(log_text(),
              testing::MatchesRegex(
                  "INFO  \\[[^]]+\\] [0-9-]+ [0-9:]+,[0-9][0-9][0-9] config_logging_test.cc:[0-9]+ - Starting "
                  "listening for CQL clients on /127.0.0.1:9042\n"));
}

TEST_F(LoggingTest, FilesRotateBySize) {
  for (int i = 0; i < 40; ++i) LOG_WARN("line {}", i);
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/system.2.log"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/system.3.log"));
  EXPECT_LE(std::filesystem::file_size(directory_ + "/system.log"), 400u);
}

TEST_F(LoggingTest, ALoggerMayHaveItsOwnLevel) {
  using Levels = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(logging_levels(), (Levels{{"ROOT", "INFO"}}));
  ASSERT_TRUE(set_logging_level("config_logging_test", "debug"));
  ASSERT_TRUE(set_logging_level("ROOT", "WARN"));
  EXPECT_EQ(logging_levels(), (Levels{{"ROOT", "WARN"}, {"config_logging_test.cc", "DEBUG"}}));
  LOG_DEBUG("of this file");
  log(LogLevel::kInfo, "src/x/other.cc", 1, "of another file");
  EXPECT_THAT(log_text(), testing::HasSubstr("of this file"));
  EXPECT_THAT(log_text(), testing::Not(testing::HasSubstr("of another file")));
  EXPECT_FALSE(set_logging_level("ROOT", "LOUD"));
  ASSERT_TRUE(set_logging_level("", ""));
  EXPECT_EQ(logging_levels(), (Levels{{"ROOT", "INFO"}}));
}

TEST(LoggingInstallTest, AnUnusableDirectoryIsNamed) {
  const Status status = install_logging({.to_stdout = false, .directory = "/proc/nowhere"});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message(), testing::StartsWith("/proc/nowhere/system.log: cannot be written: "));
}

}  // namespace
}  // namespace cassandra_like
