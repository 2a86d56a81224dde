// Tries of random keys: what was written is found, in order, and no node crosses a page.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/checksum.h"
#include "storage/sstable/partition_index.h"
#include "storage/sstable/trie_reader.h"
#include "storage/sstable/trie_writer.h"
#include "tests/sstable/fixture/fixture.h"
#include "tests/sstable/fixture/rewrite.h"

namespace cassandra_like::test {
namespace {

struct Written {
  Bytes file;
  uint64_t root = 0;
};

class Tries : public testing::Test {
 protected:
  Written write(const std::map<std::string, std::string>& entries, uint64_t offset) {
    std::string path = directory_.path() + "/" + std::to_string(files_++);
    auto file = must(FileWriter::create(world_.disk(), path));
    file->append(Bytes(offset, '\0'));
    TrieWriter trie(*file);
    for (const auto& [key, payload] : entries) trie.add(key, static_cast<uint8_t>(payload.size()), payload);
    uint64_t root = trie.complete();
    EXPECT_TRUE(world_.run(file->sync()).ok());
    return {must(read_file(world_.disk(), path)), root};
  }

  static void expect_pages(const Written& trie, uint64_t position) {
    TrieNode node;
    ASSERT_TRUE(node.load(trie.file, position));
    uint64_t end = static_cast<uint64_t>(node.payload().data.data() - trie.file.data()) + node.payload().bits;
    ASSERT_EQ(position / kTriePageBytes, (end - 1) / kTriePageBytes);
    for (int i = 0; i < node.count(); ++i) {
      uint64_t child = node.child(i);
      if (child == TrieNode::kNone) continue;
      ASSERT_LT(child, position);
      expect_pages(trie, child);
    }
  }

  static void expect_contents(const Written& trie, const std::map<std::string, std::string>& entries,
                              std::mt19937& random) {
    TrieWalk walk;
    TriePayload payload;
    walk.seek_first(trie.file, trie.root);
    for (const auto& [key, value] : entries) {
      ASSERT_TRUE(walk.next(&payload));
      ASSERT_EQ(payload.data.substr(0, payload.bits), value);
    }
    ASSERT_FALSE(walk.next(&payload));
    walk.seek_last(trie.file, trie.root);
    for (auto it = entries.rbegin(); it != entries.rend(); ++it) {
      ASSERT_TRUE(walk.previous(&payload));
      ASSERT_EQ(payload.data.substr(0, payload.bits), it->second);
    }
    ASSERT_FALSE(walk.previous(&payload));
    for (int i = 0; i < 200; ++i) {
      auto it = std::next(entries.begin(), static_cast<std::ptrdiff_t>(random() % entries.size()));
      std::string key = it->first;
      if (random() % 2 == 0) key.push_back(static_cast<char>(random()));
      if (random() % 2 == 0 && !key.empty()) key.back() = static_cast<char>(random());
      if (random() % 4 == 0) key.resize(key.size() / 2);
      auto floor = entries.upper_bound(key);
      walk.seek_floor(trie.file, trie.root, key);
      ASSERT_EQ(walk.previous(&payload), floor != entries.begin());
      if (floor != entries.begin()) {
        ASSERT_EQ(payload.data.substr(0, payload.bits), std::prev(floor)->second);
      }
    }
    ASSERT_FALSE(walk.failed());
  }

  LinuxDisk world_;
  TemporaryDirectory directory_;
  int files_ = 0;
};

TEST_F(Tries, OfRandomKeys) {
  std::mt19937 random(1);
  for (size_t count : {1u, 2u, 10u, 300u, 5000u, 15000u}) {
    for (unsigned alphabet : {2u, 40u, 256u}) {
      for (size_t length : {3u, 12u, 80u}) {
        std::map<std::string, std::string> entries;
        for (size_t i = 0; i < count; ++i) {
          std::string key(1 + random() % length, '\0');
          for (char& c : key) c = static_cast<char>(random() % alphabet * (256 / alphabet));
          entries[key] = std::string(1 + random() % 15, static_cast<char>(random()));
        }
        Written trie = write(entries, random() % 10000);
        expect_pages(trie, trie.root);
        expect_contents(trie, entries, random);
      }
    }
  }
}

TEST_F(Tries, OfLongKeysWithLongCommonPrefixes) {
  std::mt19937 random(2);
  std::map<std::string, std::string> entries;
  for (int i = 0; i < 50; ++i) {
    std::string key(3000 + random() % 30000, 'x');
    key[random() % key.size()] = static_cast<char>(random());
    entries[key] = std::string(1 + random() % 15, static_cast<char>(i));
  }
  Written trie = write(entries, 0);
  expect_contents(trie, entries, random);
}

TEST_F(Tries, OfPartitionKeysThatShareTheirTokens) {
  const std::vector<DecoratedKey> keys{{-5, "a"}, {7, "b"}, {7, "bb"}, {7, "c"}, {8, "a"}, {9, ""}, {9, "d"}};
  const std::string path = directory_.path() + "/partitions";
  auto file = must(FileWriter::create(world_.disk(), path));
  PartitionIndexWriter writer(*file);
  for (uint64_t i = 0; i < keys.size(); ++i) writer.add(keys[i], murmur3_128(keys[i].key), {false, 100 * i});
  writer.finish();
  ASSERT_TRUE(world_.run(file->sync()).ok());
  const Bytes content = must(read_file(world_.disk(), path));
  const auto index = PartitionIndex::open(content);
  ASSERT_TRUE(index);
  for (uint64_t i = 0; i < keys.size(); ++i) {
    Bytes comparable;
    append_comparable_key(comparable, keys[i]);
    IndexPosition found;
    EXPECT_EQ(index->find(comparable, murmur3_128(keys[i].key), &found), PartitionIndex::Found::kMaybe) << i;
    EXPECT_EQ(found.position, 100 * i);
  }
}

TEST_F(Tries, TellWherePartitionsOfManyKeysAre) {
  std::vector<std::string> keys;
  for (int i = 0; i < 3000; ++i) keys.push_back("key" + std::to_string(i));
  std::vector<DecoratedKey> sorted;
  for (const std::string& key : keys) sorted.push_back(DecoratedKey::of(key));
  std::sort(sorted.begin(), sorted.end());
  const std::string path = directory_.path() + "/partitions";
  auto file = must(FileWriter::create(world_.disk(), path));
  PartitionIndexWriter writer(*file);
  // Every tenth has an entry in Rows.db, which knows where the partition begins.
  for (uint64_t i = 0; i < sorted.size(); ++i)
    writer.add(sorted[i], murmur3_128(sorted[i].key), {i % 10 == 0, 100 * i});
  writer.finish();
  ASSERT_TRUE(world_.run(file->sync()).ok());
  Bytes content = must(read_file(world_.disk(), path));

  std::vector<KeyHash> looked_for;
  std::vector<uint64_t> expected, found;
  for (uint64_t i = 0; i < sorted.size(); i += 7) {
    looked_for.push_back(murmur3_128(sorted[i].key));
    if (i % 10 != 0) expected.push_back(100 * i);
  }
  PartitionIndex::open(content)->prefetch(looked_for, &found);
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(expected));

  // Whatever the bytes are, the way down ends.
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    content[random() % content.size()] = static_cast<char>(random());
    if (const auto index = PartitionIndex::open(content)) index->prefetch(looked_for, &found);
  }
}

TEST(SizedInts, TakeAsFewBytesAsTheirSignAllows) {
  std::vector<std::pair<int64_t, std::string>> cases{{0, "00"},
                                                     {127, "7f"},
                                                     {128, "0080"},
                                                     {-1, "ff"},
                                                     {-128, "80"},
                                                     {-129, "ff7f"},
                                                     {32768, "008000"},
                                                     {int64_t{1} << 40, "010000000000"},
                                                     {~int64_t{1} << 40, "fe0000000000"},
                                                     {INT64_MAX, "7fffffffffffffff"},
                                                     {INT64_MIN, "8000000000000000"}};
  for (const auto& [value, hex] : cases) {
    Bytes out;
    append_sized_int(out, value, sized_int_size(value));
    EXPECT_EQ(to_hex(out), hex) << value;
    EXPECT_EQ(read_sized_int(out.data(), static_cast<int>(out.size())), value);
  }
}

}  // namespace
}  // namespace cassandra_like::test
