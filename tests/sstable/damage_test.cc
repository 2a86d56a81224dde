// Damaged files: every answer is an error that names a file, or the right one; never a crash, never an endless read.
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/sstable/fixture/fixture.h"
#include "tests/sstable/fixture/json_dump.h"
#include "tests/sstable/fixture/rewrite.h"
#include "tests/support/sanitized.h"

namespace cassandra_like::test {
namespace {

// A fixture and a component.
class Damage : public testing::TestWithParam<std::pair<std::string, std::string>> {
 protected:
  void SetUp() override {
    // Small chunks and blocks, so that there is something of every kind to damage.
    rewritten(world_, fixture_, original_.path(), {500, {}});
    undamaged_ = nlohmann::json::parse(fixture_.dump);
  }

  // Everything that can be asked of an SSTable. Returns the error, or fails when an answer is wrong.
  Status use(const SSTableDescriptor& descriptor, bool answers_must_be_right) {
    ASSIGN_OR_RETURN(SSTablePtr sstable, SSTable::open(world_.disk(), descriptor, fixture_.table));
    Status verified = sstable->verify();
    auto dump = dump_json(*sstable, fixture_.table);
    auto backwards = sstable->scan(fixture_.table, KeyRange(), {{}, true, true});
    if (backwards.ok()) {
      for (;;) {
        auto partition = (*backwards)->next();
        if (!partition.ok() || *partition == nullptr) break;
        for (;;) {
          auto unfiltered = (*partition)->next();
          if (!unfiltered.ok() || *unfiltered == nullptr) break;
        }
      }
    }
    std::vector<Slice> slices{{Bytes("\x40\x80\x00\x00\x20\x20", 6), Bytes("\x40\x80\x00\x00\x30\x20", 6)}};
    for (const char* key : {"wide", "small", "no such key"}) {
      auto reader = sstable->read(fixture_.table, DecoratedKey::of(key), {slices, false, true});
      if (!reader.ok() || *reader == nullptr) continue;
      for (;;) {
        auto unfiltered = (*reader)->next();
        if (!unfiltered.ok() || *unfiltered == nullptr) break;
      }
    }
    if (answers_must_be_right && verified.ok() && dump.ok()) {
      EXPECT_EQ(*dump, undamaged_);
    }
    TRY(std::move(verified));
    TRY(std::move(dump));
    return {};
  }

  LinuxDisk world_;
  Fixture fixture_ = load_fixture(world_, GetParam().first);
  TemporaryDirectory original_;
  nlohmann::json undamaged_;
};

TEST_P(Damage, IsFoundOrHarmless) {
  SSTableDescriptor descriptor = fixture_.descriptor;
  descriptor.directory = original_.path();
  const std::string& component = GetParam().second;
  std::string path = descriptor.file(component);
  Bytes content = must(read_file(world_.disk(), path));
  ASSERT_FALSE(content.empty());
  // Names and sizes in CompressionInfo.db and Filter.db have no checksum, in Cassandra neither.
  bool checksummed = component == "Data.db" || component == "Statistics.db" || component == "Digest.crc32";
  std::mt19937 random(11);
  int found = 0;
  const int rounds = test::kIsSanitized ? 30 : 150;
  for (int round = 0; round < rounds; ++round) {
    Bytes damaged = content;
    switch (round % 3) {
      case 0:
        damaged[random() % damaged.size()] ^= static_cast<char>(1u << random() % 8);
        break;
      case 1:
        damaged.resize(random() % damaged.size());
        break;
      default:
        for (int i = 0; i < 8; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << damaged;
    Status status = use(descriptor, checksummed);
    if (status.ok()) continue;
    ++found;
    EXPECT_NE(status.error().message().find(original_.path()), std::string::npos) << status.error().message();
  }
  if (checksummed) {
    EXPECT_GE(found, rounds - 2);
  }
}

std::vector<std::pair<std::string, std::string>> components_of_all() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const char* fixture : {"wide", "nb_wide", "oa_wide"}) {
    for (const char* component :
         {"Data.db", "Statistics.db", "Filter.db", "CompressionInfo.db", "Digest.crc32", "Partitions.db", "Rows.db"}) {
      std::string name = component;
      if (fixture[0] != 'w' && name == "Partitions.db") name = "Index.db";
      if (fixture[0] != 'w' && name == "Rows.db") name = "Summary.db";
      all.emplace_back(fixture, name);
    }
  }
  all.emplace_back("plain", "Data.db");
  all.emplace_back("plain", "CRC.db");
  return all;
}

INSTANTIATE_TEST_SUITE_P(Components, Damage, testing::ValuesIn(components_of_all()), [](const auto& info) {
  const std::string& component = info.param.second;
  return component.substr(0, component.find('.')) + "Of" + info.param.first;
});

// Cassandra's compactions append them.
TEST(PlainFile, MayHaveChecksumsOfEmptyChunksAndNoOthersMore) {
  LinuxDisk world;
  TemporaryDirectory directory;
  Fixture fixture = load_fixture(world, "plain");
  std::filesystem::copy(fixture.directory, directory.path());
  fixture.descriptor.directory = directory.path();
  const auto opens = [&](std::string_view appended) {
    std::ofstream(fixture.descriptor.file("CRC.db"), std::ios::binary | std::ios::app) << appended;
    return SSTable::open(world.disk(), fixture.descriptor, fixture.table).ok();
  };
  const std::string_view empty("\0\0\0\0", 4);
  EXPECT_TRUE(opens(empty));
  EXPECT_TRUE(opens(empty));
  EXPECT_FALSE(opens(empty.substr(1)));
  EXPECT_FALSE(opens("\1"));
}

}  // namespace
}  // namespace cassandra_like::test
