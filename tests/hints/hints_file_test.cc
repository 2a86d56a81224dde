// The files: byte for byte those of Cassandra's HintsWriter (data/, written by oracle/HintsOracle.java), and damaged ones.
#include "hints/hints_file.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "base/checksum.h"
#include "gmock/gmock.h"
#include "hints/hints_parameters.h"

namespace cassandra_like::hints_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kHost = "a1b2c3d4-e5f6-4708-890a-0b0c0d0e0fff";

Bytes data_file(const std::string& name) {
  std::ifstream in(std::string(SOURCE_DIR) + "/tests/hints/data/" + name, std::ios::binary);
  EXPECT_TRUE(in.good()) << name;
  std::stringstream content;
  content << in.rdbuf();
  return content.str();
}

// A file in memory.
class TestFile final : public ReadFile {
 public:
  explicit TestFile(Bytes content) : content_(std::move(content)) {}
  const std::string& path() const override { return path_; }
  uint64_t size() const override { return content_.size(); }
  Status read(uint64_t offset, std::span<char> out) const override {
    if (offset > content_.size() || out.size() > content_.size() - offset) return Error(ErrorCode::kIo, "past the end");
    std::copy_n(content_.data() + offset, out.size(), out.data());
    return {};
  }
  Result<BytesView> map() const override { return BytesView(content_); }

 private:
  std::string path_ = "h.hints";
  Bytes content_;
};

Result<std::unique_ptr<HintsFileReader>> open_bytes(Bytes content) {
  return HintsFileReader::open(std::make_unique<TestFile>(std::move(content)));
}

struct TestHint {
  int64_t created = 0;
  int32_t gc_grace = 0;
  Bytes mutation;
  bool operator==(const TestHint&) const = default;
};

// The hints that each file of data/ holds.
std::vector<TestHint> recorded_hints() {
  std::vector<TestHint> out;
  std::istringstream lines(data_file("hints.txt"));
  std::string hex;
  for (TestHint hint; lines >> hint.created >> hint.gc_grace >> hex;) {
    EXPECT_TRUE(from_hex(hex, &hint.mutation));
    out.push_back(hint);
  }
  return out;
}

TestHint hint_of(const HintsFileReader::Hint& hint) {
  Bytes whole;
  append_hint_entry(whole, hint.created_millis, hint.gc_grace_seconds, {});
  const size_t head = whole.size() - 12;
  return {hint.created_millis, hint.gc_grace_seconds, Bytes(hint.encoded.substr(head))};
}

// All hints, and how the file ended: "end", "torn end", or the error.
std::pair<std::vector<TestHint>, std::string> read_all(HintsFileReader& reader) {
  std::vector<TestHint> out;
  HintsFileReader::Hint hint;
  for (;;) {
    auto more = reader.next(hint);
    if (!more.ok()) return {out, more.error().message()};
    if (!*more) return {out, reader.is_torn() ? "torn end" : "end"};
    out.push_back(hint_of(hint));
  }
}

Bytes three_hints() {
  Bytes out = HintsDescriptor{.host_id = *Uuid::parse(kHost), .timestamp = 5}.serialize();
  append_hint_entry(out, 1, 10, "one");
  append_hint_entry(out, 2, 20, "two");
  append_hint_entry(out, 3, 30, "three");
  return out;
}

std::string read_text(Bytes content) {
  auto reader = open_bytes(std::move(content));
  if (!reader.ok()) return reader.error().message();
  auto [hints, end] = read_all(**reader);
  std::string out;
  for (const TestHint& hint : hints) out += hint.mutation + ", ";
  return out + end;
}

TEST(HintsFile, HasCassandrasBytes) {
  for (int32_t version : {kHintsVersion40, kHintsVersion50}) {
    const int64_t timestamp = 1700000000098 + version;
    const HintsDescriptor descriptor{.host_id = *Uuid::parse(kHost), .timestamp = timestamp, .version = version};
    Bytes ours = descriptor.serialize();
    for (const TestHint& hint : recorded_hints()) {
      const size_t before = ours.size();
      append_hint_entry(ours, hint.created, hint.gc_grace, hint.mutation);
      EXPECT_EQ(ours.size() - before, hint_entry_size(hint.gc_grace, hint.mutation.size()));
    }
    EXPECT_EQ(ours, data_file(descriptor.file_name()));
    EXPECT_EQ(fmt::format("{:x}", crc32(ours)), data_file(hints_checksum_name(descriptor.file_name())));
  }
}

class CassandrasFiles : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, CassandrasFiles, testing::Values("100-2", "101-3", "102-2", "103-2", "104-2", "105-2"),
                         [](const auto& info) { return std::string(info.param).replace(3, 1, "v"); });

TEST_P(CassandrasFiles, AreReadFromTheBeginningAndFromEachHint) {
  const std::string name = std::string(kHost) + "-1700000000" + GetParam() + ".hints";
  const std::vector<TestHint> expected = recorded_hints();
  auto reader = open_bytes(data_file(name));
  ASSERT_TRUE(reader.ok()) << reader.error().message();
  EXPECT_EQ((*reader)->descriptor().file_name(), name);
  std::vector<uint64_t> positions;
  HintsFileReader::Hint hint;
  for (const TestHint& one : expected) {
    ASSERT_TRUE(*(*reader)->next(hint));
    EXPECT_EQ(hint_of(hint), one);
    positions.push_back(hint.position);
  }
  ASSERT_FALSE(*(*reader)->next(hint));
  positions.push_back((*reader)->position());

  for (size_t from = positions.size(); from-- > 0;) {
    ASSERT_TRUE((*reader)->seek(positions[from]).ok());
    auto [hints, end] = read_all(**reader);
    EXPECT_EQ(hints, std::vector<TestHint>(expected.begin() + static_cast<std::ptrdiff_t>(from), expected.end()));
    EXPECT_EQ(end, "end");
  }
  EXPECT_FALSE((*reader)->seek(positions.back() + 1).ok());
}

TEST(HintsFile, NamesTellTheirParts) {
  const std::string host = kHost;
  auto name = parse_hints_file_name(host + "-1700000000100-2.hints");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->host_id, *Uuid::parse(host));
  EXPECT_EQ(name->timestamp, 1700000000100);
  for (const std::string& other : {host + "-1700000000100-2.crc32", host + "-1700000000100.hints", host + "-x-2.hints",
                                   host + "-1700000000100-2.corrupt.hints", std::string(".hints"), host + ".hints",
                                   host + "-99999999999999999999-2.hints"}) {
    EXPECT_FALSE(parse_hints_file_name(other).has_value()) << other;
  }
}

TEST(HintsFile, CutAnywhereEndsThere) {
  const Bytes whole = three_hints();
  const size_t header = HintsDescriptor{.host_id = *Uuid::parse(kHost), .timestamp = 5}.serialize().size();
  std::vector<size_t> ends{header};
  for (size_t size : {3u, 3u, 5u}) ends.push_back(ends.back() + hint_entry_size(10, size));
  ASSERT_EQ(ends.back(), whole.size());
  const std::vector<std::string> texts{"", "one, ", "one, two, ", "one, two, three, "};
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    SCOPED_TRACE(cut);
    const std::string got = read_text(whole.substr(0, cut));
    if (cut < header) {
      EXPECT_EQ(got, "Corrupt file of hints h.hints: it ends within its descriptor");
      continue;
    }
    const auto at = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), cut) - ends.begin()) - 1;
    EXPECT_EQ(got, texts[at] + (ends[at] == cut ? "end" : "torn end"));
    // A machine that lost power leaves zeros.
    EXPECT_EQ(read_text(whole.substr(0, ends[at]) + Bytes(600'000, '\0')), texts[at] + "torn end");
  }
}

TEST(HintsFile, DamageIsPassedOverWhereTheNextEntryIsToBeFound) {
  const Bytes whole = three_hints();
  const size_t header = whole.size() - 2 * hint_entry_size(10, 3) - hint_entry_size(10, 5);
  const size_t second = header + hint_entry_size(10, 3);
  for (size_t at = 0; at < whole.size(); ++at) {
    SCOPED_TRACE(at);
    Bytes damaged = whole;
    damaged[at] ^= 0x10;
    const std::string got = read_text(damaged);
    if (at < header) {
      EXPECT_THAT(got, HasSubstr("Corrupt file of hints h.hints: the checksum of its"));
    } else if (at >= second && at < second + 8) {
      EXPECT_EQ(got, "one, Corrupt file of hints h.hints: the size of an entry is wrong");
    } else if (at >= second + 8 && at < second + hint_entry_size(20, 3)) {
      EXPECT_EQ(got, "one, three, end");
    }
  }
  Bytes zeros = whole;
  zeros.replace(second, 8, Bytes(8, '\0'));
  EXPECT_EQ(read_text(zeros), "one, Corrupt file of hints h.hints: an entry has no size");
}

TEST(HintsFile, CutOrDamagedCompressedOnesEnd) {
  const Bytes whole = data_file(std::string(kHost) + "-1700000000102-2.hints");
  const size_t expected = recorded_hints().size();
  for (size_t cut = 130; cut < whole.size(); ++cut) {
    auto reader = open_bytes(whole.substr(0, cut));
    ASSERT_TRUE(reader.ok());
    EXPECT_LT(read_all(**reader).first.size(), expected);
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    Bytes damaged = whole;
    damaged[at] ^= 0x41;
    auto reader = open_bytes(damaged);
    if (!reader.ok()) continue;
    EXPECT_LE(read_all(**reader).first.size(), expected);
  }
}

TEST(HintsFile, NamesWhatIsNotRead) {
  auto opened = [](int32_t version, const Bytes& parameters) {
    auto reader = open_bytes(HintsDescriptor{.version = version, .parameters = parameters}.serialize());
    return reader.ok() ? "ok" : reader.error().message();
  };
  EXPECT_EQ(opened(2, R"({ "x" : [1, {"y": null}], "z": "\"}" })"), "ok");
  EXPECT_EQ(opened(4, "{}"), "The hints in h.hints are of version 4: versions 1 to 3 are read");
  EXPECT_EQ(opened(2, R"({"encryption":{"key_alias":"a","iv":"00"}})"),
            "The hints in h.hints are encrypted, which is not read");
  EXPECT_EQ(opened(2, R"({"compression":{"class_name":"BrotliCompressor"}})"),
            "The hints in h.hints are not read: Could not create Compression for type BrotliCompressor");
  for (const char* bad : {"", "{", "[]", "{\"a\"}", "{} {}", "{\"a\":}", "{\"a\":1,}", "null"}) {
    EXPECT_EQ(opened(2, bad), "Corrupt file of hints h.hints: its parameters are no JSON object") << bad;
  }
  EXPECT_EQ(opened(2, Bytes(5000, '[')), "Corrupt file of hints h.hints: its parameters are no JSON object");
}

TEST(HintsFile, ParametersNameTheCompressor) {
  auto parameters = parse_hints_parameters(
      R"({"compression":{"class_name":"ZstdCompressor","parameters":{"compression_level":"5","b":"\\"}},"other":{"class_name":"x"}})");
  ASSERT_TRUE(parameters.has_value());
  EXPECT_EQ(parameters->compressor, "ZstdCompressor");
  EXPECT_EQ(parameters->compressor_options, (StringPairs{{"compression_level", "5"}, {"b", "\\"}}));
  EXPECT_FALSE(parameters->is_encrypted);
}

TEST(HintsFile, HintsLiveUntilTheirGcGraceHasPassed) {
  EXPECT_TRUE(hint_is_live(1'000'000, 10, 1'000'000));
  EXPECT_TRUE(hint_is_live(1'000'000, 10, 1'009'999));
  EXPECT_FALSE(hint_is_live(1'000'000, 10, 1'010'000));
  EXPECT_FALSE(hint_is_live(1'000'000, 0, 1'000'000));
}

}  // namespace
}  // namespace cassandra_like::hints_test
