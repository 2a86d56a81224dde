// Promises of every Disk while nothing crashes, in the real and in the simulated world.
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/runtime/worlds.h"

namespace cassandra_like {
namespace {

class DiskTest : public BothWorlds {
 protected:
  // Runs body on shard 0, given its disk and the empty directory.
  void on_disk(Task<void> (*body)(Disk*, std::string)) {
    TestWorld& w = world();
    w.run(0, [&w, body] { return body(&w.shard(0).disk, w.directory()); });
  }
};
INSTANTIATE_TEST_SUITE_P(Worlds, DiskTest, testing::Values(WorldKind::kLinux, WorldKind::kSim), world_name);

std::string names(const std::vector<DirectoryEntry>& entries) {
  std::string out;
  for (const auto& e : entries) {
    out += e.name + (e.is_directory ? "/" : ":" + std::to_string(e.size)) + " ";
  }
  return out;
}

Task<void> write(Disk* disk, std::string path, Bytes data) {
  auto file = disk->create(path);
  EXPECT_TRUE(file.ok());
  EXPECT_TRUE((*file)->append(data).ok());
  return {};
}

Task<void> append_and_read(Disk* disk, std::string dir) {
  auto out = disk->create(dir + "/f");
  EXPECT_TRUE(out.ok());
  EXPECT_TRUE((*out)->append("hello ").ok());
  EXPECT_TRUE((*out)->append("world").ok());
  EXPECT_EQ((*out)->size(), 11u);
  EXPECT_EQ((*out)->path(), dir + "/f");
  Status synced = co_await (*out)->sync();
  EXPECT_TRUE(synced.ok());

  auto in = disk->open(dir + "/f");
  EXPECT_TRUE(in.ok());
  EXPECT_EQ((*in)->size(), 11u);
  char word[5];
  EXPECT_TRUE((*in)->read(6, word).ok());
  EXPECT_EQ(BytesView(word, 5), "world");
  EXPECT_EQ(*(*in)->map(), "hello world");
  Status past_the_end = (*in)->read(7, word);
  EXPECT_EQ(past_the_end.error().code(), ErrorCode::kIo);
  EXPECT_EQ(past_the_end.error().message(), "cannot read " + dir + "/f: 5 bytes at 7 are past its end at 11");
}
TEST_P(DiskTest, AppendsAndReads) { on_disk(append_and_read); }

Task<void> truncate(Disk* disk, std::string dir) {
  auto file = disk->create(dir + "/f");
  EXPECT_TRUE((*file)->append("kept, gone").ok());
  EXPECT_TRUE((*file)->truncate(4).ok());
  EXPECT_EQ((*file)->size(), 4u);
  EXPECT_TRUE((*file)->append("!").ok());
  Status synced = co_await (*file)->sync();
  EXPECT_TRUE(synced.ok());
  EXPECT_EQ(*(*disk->open(dir + "/f"))->map(), "kept!");
}
TEST_P(DiskTest, TruncatesAndAppends) { on_disk(truncate); }

Task<void> find_real_paths(Disk* disk, std::string dir) {
  co_await write(disk, dir + "/f", "x");
  EXPECT_EQ(*disk->real_path(dir + "/f"), *disk->real_path(dir) + "/f");
  EXPECT_EQ(disk->real_path(dir + "/none").error().code(), ErrorCode::kIo);
}
TEST_P(DiskTest, FindsRealPaths) { on_disk(find_real_paths); }

// Takes a file of the real world out of the page cache. False: there is none, or the file system keeps it.
bool forget(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  char byte;
  iovec into{&byte, 1};
  const bool is_gone = ::preadv2(fd, &into, 1, 0, RWF_NOWAIT) < 0 && errno == EAGAIN;
  ::close(fd);
  return is_gone;
}

Task<void> bring_in(Disk* disk, std::string dir) {
  const std::string path = dir + "/large";
  auto out = disk->create(path);
  EXPECT_TRUE(out.ok());
  constexpr size_t kPieces = 24, kPiece = 128 << 10;
  for (size_t i = 0; i < kPieces; ++i) EXPECT_TRUE((*out)->append(Bytes(kPiece, static_cast<char>('a' + i))).ok());
  Status synced = co_await (*out)->sync();
  EXPECT_TRUE(synced.ok());
  auto opened = disk->open(path);
  EXPECT_TRUE(opened.ok());
  const std::shared_ptr<const ReadFile> in = std::move(*opened);
  char piece[16384];
  const bool was_gone = forget(path);
  if (was_gone) {
    EXPECT_FALSE(*in->read_at_once(3 * kPiece, piece));
  }
  Status there = co_await disk->bring_in(in, 3 * kPiece, sizeof piece);
  EXPECT_TRUE(there.ok());
  EXPECT_TRUE(*in->read_at_once(3 * kPiece, piece));
  EXPECT_EQ(BytesView(piece, sizeof piece), Bytes(sizeof piece, 'd'));
  // The end of the file, and what is behind it.
  there = co_await disk->bring_in(in, in->size() - 10, 1 << 20);
  EXPECT_TRUE(there.ok());
  there = co_await disk->bring_in(in, in->size() + 10, 1 << 20);
  EXPECT_TRUE(there.ok());
  EXPECT_TRUE(*in->read_at_once(in->size() - 10, {piece, 10}));

  const BytesView memory = *in->map();
  if (forget(path)) {
    EXPECT_FALSE(in->is_in_memory(5 * kPiece, kPiece));
  }
  there = co_await disk->bring_in(in, 5 * kPiece, 2 * kPiece);
  EXPECT_TRUE(there.ok());
  EXPECT_TRUE(in->is_in_memory(5 * kPiece, 2 * kPiece));
  EXPECT_EQ(memory[5 * kPiece], 'f');
  EXPECT_TRUE(*in->read_at_once(5 * kPiece, piece));
}
TEST_P(DiskTest, BringsInWhatIsNotInMemory) { on_disk(bring_in); }

Task<void> mapped(Disk* disk, std::string dir) {
  auto file = disk->create_mapped(dir + "/log", 100'000);
  EXPECT_TRUE(file.ok());
  std::span<char> memory = (*file)->memory();
  EXPECT_EQ(memory.size(), 100'000u);
  EXPECT_EQ(memory[99'999], 0);
  std::memcpy(memory.data() + 5000, "record", 6);
  Status synced = co_await (*file)->sync(5000, 6);
  EXPECT_TRUE(synced.ok());
  auto in = disk->open(dir + "/log");
  EXPECT_EQ((*in)->size(), 100'000u);
  char got[6];
  EXPECT_TRUE((*in)->read(5000, got).ok());
  EXPECT_EQ(BytesView(got, 6), "record");
  std::memcpy(memory.data() + 5000, "RECORD", 6);
  EXPECT_EQ((*in)->map()->substr(5000, 6), "RECORD");
  (*file)->forget(0, 100'000);  // also what was not synced stays as it is
  EXPECT_EQ(BytesView(memory.data() + 5000, 6), "RECORD");
}
TEST_P(DiskTest, AMappedFileIsWrittenAsMemory) { on_disk(mapped); }

Task<void> rewrite(Disk* disk, std::string dir) {
  Bytes content;
  for (int i = 0; i < 100'000; ++i) content += std::to_string(i);
  auto file = disk->create(dir + "/f");
  EXPECT_TRUE((*file)->append(content).ok());
  Status stored = co_await disk->rewrite(dir + "/f", 17, content.size());  // more than there is
  EXPECT_TRUE(stored.ok());
  Bytes got(content.size(), '\0');
  auto in = disk->open(dir + "/f");
  EXPECT_EQ((*in)->size(), content.size());
  EXPECT_TRUE((*in)->read(0, got).ok());
  EXPECT_EQ(got, content);
  Status missing = co_await disk->rewrite(dir + "/g", 0, 1);
  EXPECT_NE(missing.error().message().find(dir + "/g"), std::string::npos);
  EXPECT_FALSE(disk->exists(dir + "/g"));
}
TEST_P(DiskTest, WritesOnceMoreWhatIsThere) { on_disk(rewrite); }

Task<void> names_of_files(Disk* disk, std::string dir) {
  EXPECT_TRUE(disk->make_directories(dir + "/a/b/c").ok());
  EXPECT_TRUE(disk->make_directories(dir + "/a/b").ok());
  co_await write(disk, dir + "/a/z", "12345");
  co_await write(disk, dir + "/a/y", "1");
  EXPECT_EQ(names(*disk->list(dir + "/a")), "b/ y:1 z:5 ");
  EXPECT_TRUE(disk->rename(dir + "/a/z", dir + "/a/b/moved").ok());
  EXPECT_TRUE(disk->link(dir + "/a/y", dir + "/a/b/c/linked").ok());
  EXPECT_EQ(names(*disk->list(dir + "/a")), "b/ y:1 ");
  EXPECT_EQ(names(*disk->list(dir + "/a/b")), "c/ moved:5 ");
  EXPECT_TRUE(disk->remove(dir + "/a/y").ok());
  EXPECT_TRUE(disk->exists(dir + "/a/b/c/linked"));
  EXPECT_FALSE(disk->exists(dir + "/a/y"));
  EXPECT_TRUE(disk->rename(dir + "/a/b", dir + "/d").ok());
  EXPECT_EQ(names(*disk->list(dir + "/d/c")), "linked:1 ");
  Status synced = co_await disk->sync_directory(dir);
  EXPECT_TRUE(synced.ok());
  // Nothing is removed recursively.
  EXPECT_EQ(disk->remove(dir + "/d").error().message(), "cannot remove " + dir + "/d: Directory not empty");
  EXPECT_EQ(names(*disk->list(dir + "/d/c")), "linked:1 ");
  EXPECT_TRUE(disk->remove(dir + "/d/c/linked").ok());
  EXPECT_TRUE(disk->remove(dir + "/d/c").ok());
  EXPECT_TRUE(disk->remove(dir + "/d/c").ok());
  EXPECT_EQ(names(*disk->list(dir + "/d")), "moved:5 ");
}
TEST_P(DiskTest, KeepsNames) { on_disk(names_of_files); }

Task<void> errors(Disk* disk, std::string dir) {
  auto expect = [](const Error& e, const std::string& message) {
    EXPECT_EQ(e.code(), ErrorCode::kIo);
    EXPECT_EQ(e.message(), message);
  };
  std::string missing = dir + "/missing";
  expect(disk->open(missing).error(), "cannot open " + missing + ": No such file or directory");
  expect(disk->open(dir).error(), "cannot open " + dir + ": Is a directory");
  expect(disk->list(missing).error(), "cannot list " + missing + ": No such file or directory");
  expect(disk->create(missing + "/f").error(), "cannot create " + missing + "/f: No such file or directory");
  co_await write(disk, dir + "/f", "x");
  expect(disk->create(dir + "/f").error(), "cannot create " + dir + "/f: File exists");
  expect(disk->create_mapped(dir + "/f", 10).error(), "cannot create " + dir + "/f: File exists");
  expect(disk->make_directories(dir + "/f/g").error(), "cannot create the directory " + dir + "/f/g: Not a directory");
  Status synced = co_await disk->sync_directory(missing);
  expect(synced.error(), "cannot sync the directory " + missing + ": No such file or directory");
}
TEST_P(DiskTest, ErrorsNameThePath) { on_disk(errors); }

Task<void> locks(Disk* disk, std::string dir) {
  auto first = disk->lock(dir);
  EXPECT_TRUE(first.ok());
  auto second = disk->lock(dir);
  EXPECT_FALSE(second.ok());
  EXPECT_EQ(second.error().message(), "cannot lock " + dir + ": another process uses this directory");
  first->reset();
  EXPECT_TRUE(disk->lock(dir).ok());
  return {};
}
TEST_P(DiskTest, ADirectoryIsLockedOnce) { on_disk(locks); }

Task<void> space(Disk* disk, std::string dir) {
  auto s = disk->space(dir);
  EXPECT_TRUE(s.ok());
  EXPECT_GT(s->available, 0u);
  EXPECT_GE(s->total, s->available);
  return {};
}
TEST_P(DiskTest, KnowsItsSpace) { on_disk(space); }

Task<void> empty_files(Disk* disk, std::string dir) {
  co_await write(disk, dir + "/empty", "");
  auto in = disk->open(dir + "/empty");
  EXPECT_EQ(*(*in)->map(), "");
  EXPECT_FALSE(is_null(*(*in)->map()));
}
TEST_P(DiskTest, AnEmptyFileMapsToNothing) { on_disk(empty_files); }

}  // namespace
}  // namespace cassandra_like
