// A byte of every component is another, while the SSTable is open: the verifier names the file. Without damage it finds none.
#include <filesystem>
#include <fstream>

#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_verifier.h"
#include "storage/sstable/statistics.h"
#include "tests/sstable/fixture/fixture.h"
#include "tests/sstable/fixture/rewrite.h"

namespace cassandra_like::test {
namespace {

struct Shape {
  const SSTableVersion* version;
  bool compressed;
};

class Verifier : public testing::TestWithParam<Shape> {
 protected:
  // Small chunks and blocks, so that there is something of every kind.
  Verifier() {
    RewriteChanges changes{500, {{"enabled", "false"}}, GetParam().version};
    if (GetParam().compressed) changes.compression = {{"class", "LZ4Compressor"}, {"chunk_length_in_kb", "4"}};
    sstable_ = rewritten(world_, fixture_, directory_.path(), changes);
  }
  Status verify(SSTableVerifyOptions options = {}) {
    SSTableVerifier verifier(&world_.disk(), sstable_, fixture_.table, std::move(options));
    Status found = verifier.run();
    EXPECT_TRUE(!found.ok() || verifier.done() == 1);
    partitions_ = verifier.partitions();
    return found;
  }
  static SSTableVerifyOptions with(bool quick, bool extended) {
    SSTableVerifyOptions options;
    options.quick = quick;
    options.extended = extended;
    return options;
  }
  // In place, so that it is what the open files have.
  void flip(const std::string& path, uint64_t at) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    char byte = 0;
    file.seekg(static_cast<std::streamoff>(at)).get(byte);
    file.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(byte ^ 1));
  }
  std::vector<std::string> components() {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  LinuxDisk world_;
  Fixture fixture_ = load_fixture(world_, "wide");
  TemporaryDirectory directory_;
  SSTablePtr sstable_;
  uint64_t partitions_ = 0;
};

TEST_P(Verifier, FindsNothingInWhatIsWhole) {
  for (bool quick : {false, true}) {
    for (bool extended : {false, true}) {
      const Status found = verify(with(quick, extended));
      EXPECT_TRUE(found.ok()) << found.error().message();
      EXPECT_EQ(partitions_, extended && !quick ? sstable_->info().partitions : 0);
    }
  }
}

TEST_P(Verifier, FindsAByteOfAnyComponent) {
  EXPECT_GE(components().size(), 9u);
  for (const std::string& path : components()) {
    const uint64_t bytes = std::filesystem::file_size(path);
    const bool is_data = path.ends_with("-Data.db");
    for (uint64_t at : {uint64_t{0}, bytes / 3, bytes / 2, bytes - 1}) {
      flip(path, at);
      for (bool quick : {false, true}) {
        const Status found = verify(with(quick, false));
        if (quick && is_data) continue;  // the keys are read, not more
        ASSERT_FALSE(found.ok()) << path << " at " << at;
        EXPECT_EQ(found.error().code(), ErrorCode::kCorruption);
        EXPECT_NE(found.error().message().find(directory_.path()), std::string::npos) << found.error().message();
      }
      flip(path, at);
    }
    EXPECT_TRUE(verify().ok()) << path;
  }
}

TEST_P(Verifier, NamesThePositionInTheData) {
  const std::string path = sstable_->info().descriptor.file(components::kData);
  const uint64_t last = std::filesystem::file_size(path) - 10;
  flip(path, last);
  const Status found = verify();
  ASSERT_FALSE(found.ok());
  const size_t chunks = sstable_->files(false).data->chunks();
  const uint64_t start = sstable_->files(false).data->piece(chunks - 1).offset;
  EXPECT_NE(found.error().message().find(path + " at " + std::to_string(start)), std::string::npos)
      << found.error().message();
}

TEST_P(Verifier, ReadsAllRowsWithoutADigest) {
  std::filesystem::remove(sstable_->info().descriptor.file(components::kDigest));
  EXPECT_TRUE(verify().ok());
  EXPECT_EQ(partitions_, sstable_->info().partitions);
}

TEST_P(Verifier, MissesWhatTheListHas) {
  const std::string path = sstable_->info().descriptor.file(components::kStatistics);
  std::filesystem::rename(path, path + ".away");
  const Status found = verify();
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message().find(path + " is missing"), std::string::npos) << found.error().message();
}

TEST_P(Verifier, KeysOfOtherNodesAreAFinding) {
  SSTableVerifyOptions options;
  options.owns = [](Token) { return true; };
  EXPECT_TRUE(verify(options).ok());
  const Token last = murmur3_token(sstable_->info().last_key);
  options.owns = [last](Token token) { return token != last; };
  const Status found = verify(options);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message().find("is not contained in the given ranges"), std::string::npos);
}

TEST_P(Verifier, TheStateOfRepairIsReplaced) {
  const SSTableDescriptor& descriptor = sstable_->info().descriptor;
  auto statistics = [&] {
    return must(Statistics::parse(must(read_file(world_.disk(), descriptor.file(components::kStatistics))),
                                  *GetParam().version));
  };
  const Statistics before = statistics();
  ASSERT_TRUE(world_.run(mutate_repaired_at(&world_.disk(), descriptor, 4711)).ok());
  Statistics after = statistics();
  EXPECT_EQ(after.repaired_at, 4711);
  after.repaired_at = before.repaired_at;
  EXPECT_EQ(after.serialize(*GetParam().version), before.serialize(*GetParam().version));
  EXPECT_TRUE(verify(with(false, true)).ok());
  EXPECT_EQ(must(SSTable::open(world_.disk(), descriptor, fixture_.table))->info().repaired_at, 4711);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Verifier,
                         testing::Values(Shape{&SSTableVersion::da(), true}, Shape{&SSTableVersion::da(), false},
                                         Shape{&SSTableVersion::nb(), true}, Shape{&SSTableVersion::nb(), false},
                                         Shape{&SSTableVersion::oa(), true}, Shape{&SSTableVersion::oa(), false}),
                         [](const auto& info) {
                           return std::string(info.param.version->letters) +
                                  (info.param.compressed ? "Compressed" : "Plain");
                         });

}  // namespace
}  // namespace cassandra_like::test
