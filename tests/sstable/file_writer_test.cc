// How a file that is written in pieces reaches the disk.
#include "storage/sstable/file_writer.h"

#include <gmock/gmock.h>

#include "base/checksum.h"
#include "tests/sstable/fixture/fixture.h"
#include "tests/support/forwarding_disk.h"

namespace cassandra_like::test {
namespace {

using testing::ElementsAre;

// Notes how many bytes each write has. After `room` bytes the disk is full.
class NotingDisk final : public ForwardingDisk {
 public:
  using ForwardingDisk::ForwardingDisk;
  std::vector<size_t> writes;
  uint64_t room = UINT64_MAX;

  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override;
};

class NotingFile final : public ForwardingFile {
 public:
  NotingFile(std::unique_ptr<WriteFile> file, NotingDisk* disk) : ForwardingFile(std::move(file)), disk_(disk) {}
  Status append(BytesView data) override {
    if (data.size() > disk_->room) return Error(ErrorCode::kIo, "No space left on device");
    disk_->room -= data.size();
    disk_->writes.push_back(data.size());
    return file_->append(data);
  }

 private:
  NotingDisk* disk_;
};

Result<std::unique_ptr<WriteFile>> NotingDisk::create(const std::string& path) {
  ASSIGN_OR_RETURN(auto file, disk_.create(path));
  return std::unique_ptr<WriteFile>(std::make_unique<NotingFile>(std::move(file), this));
}

class FileWriters : public testing::Test {
 protected:
  Result<std::unique_ptr<FileWriter>> create(size_t piece) { return FileWriter::create(disk_, path_, piece); }

  LinuxDisk world_;
  NotingDisk disk_{world_.disk()};
  TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/file";
};

TEST_F(FileWriters, WriteWholePiecesAndThenTheRest) {
  auto file = must(create(1024));
  Bytes all;
  for (size_t size : {1, 1022, 2, 0, 3000, 1024, 47}) {
    const Bytes data(size, static_cast<char>('a' + all.size() % 26));
    file->append(data);
    all.append(data);
    EXPECT_EQ(file->position(), all.size());
  }
  EXPECT_THAT(disk_.writes, ElementsAre(1024, 1024, 1024, 1024));

  ASSERT_TRUE(world_.run(file->sync()).ok());
  EXPECT_THAT(disk_.writes, ElementsAre(1024, 1024, 1024, 1024, 1000));
  EXPECT_EQ(must(read_file(world_.disk(), path_)), all);
  EXPECT_EQ(file->checksum(), crc32(all));
}

TEST_F(FileWriters, WriteNothingAfterAnError) {
  disk_.room = 1500;
  auto file = must(create(1024));
  file->append(Bytes(1024, 'a'));
  EXPECT_TRUE(file->status().ok());
  file->append(Bytes(1024, 'b'));
  EXPECT_EQ(file->status().error().message(), "No space left on device");
  disk_.room = 1 << 20;
  file->append(Bytes(1024, 'c'));
  EXPECT_EQ(world_.run(file->sync()).error().message(), "No space left on device");
  EXPECT_THAT(disk_.writes, ElementsAre(1024));
}

}  // namespace
}  // namespace cassandra_like::test
