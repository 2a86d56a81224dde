// More files than descriptors.
#include "runtime/linux/open_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "gtest/gtest.h"
#include "runtime/linux/linux_runtime.h"

namespace cassandra_like {
namespace {

// Makes the process as poor as a test wants it.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit lower{limit, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

size_t open_descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

class OpenFilesTest : public testing::Test {
 protected:
  static constexpr int kFiles = 300;

  void SetUp() override {
    std::filesystem::create_directories(directory_);
    for (int i = 0; i < kFiles; ++i) std::ofstream(path(i)) << "content of " << i;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string path(int i) const { return (directory_ / std::to_string(i)).string(); }
  // "" when the file cannot be read.
  static std::string content_of(const ReadFile& file) {
    std::string content(file.size(), '\0');
    return file.read(0, content).ok() ? content : "";
  }

  const std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / fmt::format("open_files_test_{}", ::getpid());
};

TEST_F(OpenFilesTest, ManyFilesAreReadWithFewDescriptors) {
  auto runtime = std::make_unique<LinuxRuntime>(1);
  Disk& disk = runtime->shard(0).disk;
  const DescriptorLimit limit(open_descriptors() + 40);
  std::vector<std::unique_ptr<ReadFile>> files;
  for (int i = 0; i < kFiles; ++i) {
    auto file = disk.open(path(i));
    ASSERT_TRUE(file.ok()) << file.error().message();
    files.push_back(std::move(*file));
  }
  for (int i = 0; i < kFiles; ++i)
    EXPECT_EQ(content_of(*files[static_cast<size_t>(i)]), fmt::format("content of {}", i));
  // Other work finds descriptors, too.
  EXPECT_TRUE(disk.list(directory_).ok());
  EXPECT_TRUE(disk.create(path(kFiles)).ok());
  // A file that is removed while somebody reads it.
  ASSERT_TRUE(disk.remove(path(7)).ok());
  EXPECT_EQ(content_of(*files[7]), "content of 7");
  for (int i = 20; i < kFiles; ++i) EXPECT_NE(content_of(*files[static_cast<size_t>(i)]), "");
  EXPECT_EQ(content_of(*files[7]), "content of 7");
  // A name that another file has taken is not read.
  std::filesystem::remove(path(9));
  std::ofstream(path(9)) << "other content";
  EXPECT_EQ(content_of(*files[9]), "");
}

TEST_F(OpenFilesTest, MappedFilesNeedNoDescriptor) {
  auto runtime = std::make_unique<LinuxRuntime>(1);
  Disk& disk = runtime->shard(0).disk;
  const size_t before = open_descriptors();
  std::vector<std::unique_ptr<ReadFile>> files;
  for (int i = 0; i < 100; ++i) {
    files.push_back(std::move(*disk.open(path(i))));
    EXPECT_EQ(*files.back()->map(), fmt::format("content of {}", i));
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(content_of(*files[3]), "content of 3");
  char byte;
  EXPECT_FALSE(files[3]->read(12, {&byte, 1}).ok());
}

// A small one is copied, so that no page of the file is needed. A large one is not.
TEST_F(OpenFilesTest, MappedFilesOfAnySizeHaveTheirContent) {
  auto runtime = std::make_unique<LinuxRuntime>(1);
  Disk& disk = runtime->shard(0).disk;
  const size_t before = open_descriptors();
  for (const size_t size : {1u, 4095u, 4096u, 4097u, 100'000u}) {
    const std::string content(size, static_cast<char>('a' + size % 26));
    std::ofstream(path(0), std::ios::trunc) << content;
    auto file = disk.open(path(0));
    ASSERT_TRUE(file.ok());
    const BytesView mapped = (*file)->map().value();
    EXPECT_EQ(mapped, content);
    EXPECT_EQ((*file)->map().value().data(), mapped.data());
    EXPECT_TRUE((*file)->bring_in(0, size).ok());
    EXPECT_TRUE((*file)->is_in_memory(0, size));
    std::string read(size, '\0');
    EXPECT_TRUE((*file)->read_at_once(0, read).ok());
    EXPECT_EQ(read, content);
    if (size > 4096) continue;
    std::filesystem::resize_file(path(0), 0);
    EXPECT_EQ(mapped, content);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(OpenFilesTest, AShortageIsAnErrorOfItsOwn) {
  auto runtime = std::make_unique<LinuxRuntime>(1);
  Disk& disk = runtime->shard(0).disk;
  const DescriptorLimit none(0);
  auto made = disk.create(path(kFiles));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::kOverloaded);
  EXPECT_EQ(made.error().message(),
            "cannot create " + path(kFiles) + ": Too many open files: raise the limit of open files (ulimit -n)");
}

TEST(DescriptorLimits, AreRaisedToTheHardLimit) {
  rlimit hard{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &hard), 0);
  const DescriptorLimit low(256);
  EXPECT_EQ(raise_descriptor_limit(), hard.rlim_max);
  rlimit now{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, hard.rlim_max);
}

}  // namespace
}  // namespace cassandra_like
