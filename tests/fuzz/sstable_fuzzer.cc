// Damaged SSTables: one component of a good one (plain and nb_plain of tests/sstable/data, whose data has no checksums that
// reads check) is replaced, and all that can be asked of an SSTable is asked. Any answer will do but a crash or an endless
// read.
//
//   input := component:u8 (of plain: 0 Data.db, 1 Partitions.db, 2 Rows.db, 3 Filter.db, 4 CompressionInfo.db, 5 to 8 the
//            components of Statistics.db, whose checksums are made to match; of nb_plain: 9 Index.db, 10 Summary.db, 11 the
//            figures of Statistics.db), its content
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/checksum.h"
#include "storage/sstable/sstable.h"
#include "storage/sstable/sstable_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/sstable/fixture/schema_file.h"

namespace cassandra_like {
namespace {

const std::string kFixtures = std::string(SOURCE_DIR) + "/tests/sstable/data/";

using Files = std::map<std::string, Bytes>;

class MemoryFile : public ReadFile {
 public:
  MemoryFile(std::string path, const Bytes* content) : path_(std::move(path)), content_(content) {}
  const std::string& path() const override { return path_; }
  uint64_t size() const override { return content_->size(); }
  Status read(uint64_t offset, std::span<char> out) const override {
    if (offset > content_->size() || out.size() > content_->size() - offset) return Error(ErrorCode::kIo, path_);
    std::copy_n(content_->data() + offset, out.size(), out.data());
    return {};
  }
  Result<BytesView> map() const override { return BytesView(*content_); }

 private:
  std::string path_;
  const Bytes* content_;
};

// Only reads.
class MemoryDisk : public Disk {
 public:
  explicit MemoryDisk(const Files* files) : files_(files) {}
  Result<std::unique_ptr<ReadFile>> open(const std::string& path) override {
    auto it = files_->find(path);
    if (it == files_->end()) return Error(ErrorCode::kIo, path);
    return std::unique_ptr<ReadFile>(std::make_unique<MemoryFile>(path, &it->second));
  }
  bool exists(const std::string& path) override { return files_->contains(path); }
  Result<std::string> real_path(const std::string& path) override { return path; }
  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override { return refused(path); }
  Result<std::unique_ptr<MappedFile>> create_mapped(const std::string& path, uint64_t) override {
    return refused(path);
  }
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override { return refused(path); }
  Status make_directories(const std::string& path) override { return refused(path); }
  Status remove(const std::string& path) override { return refused(path); }
  Status rename(const std::string& from, const std::string&) override { return refused(from); }
  Status link(const std::string& from, const std::string&) override { return refused(from); }
  Task<Status> sync_directory(std::string path) override { return Status(refused(path)); }
  Task<Status> sync_file(std::string path) override { return Status(refused(path)); }
  Task<Status> rewrite(std::string path, uint64_t, uint64_t) override { return Status(refused(path)); }
  Result<DiskSpace> space(const std::string& path) override { return refused(path); }
  Result<std::unique_ptr<DirectoryLock>> lock(const std::string& path) override { return refused(path); }

 private:
  static Error refused(const std::string& path) { return Error(ErrorCode::kIo, path); }
  const Files* files_;
};

struct Original {
  Files files;
  SSTableDescriptor descriptor;
  TablePtr table;

  explicit Original(const std::string& directory) {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      std::ifstream in(entry.path(), std::ios::binary);
      std::stringstream content;
      content << in.rdbuf();
      files[entry.path()] = content.str();
      if (auto d = SSTableDescriptor::parse(directory, entry.path().filename().string())) descriptor = *d;
    }
    table = test::parse_schema(files.at(directory + "/schema"));
  }
};

// The original's Statistics.db with one component replaced.
Bytes statistics_with(const Bytes& original, uint32_t replaced, BytesView content) {
  constexpr uint32_t kComponents = 4;
  auto start_of = [&](uint32_t i) -> size_t {
    return i == kComponents ? original.size() : load_be<uint32_t>(original.data() + 8 + 8 * i + 4);
  };
  Bytes out;
  append_be(out, kComponents);
  uint32_t crc = crc32(out);
  append_be(out, crc);
  Bytes toc, bodies;
  size_t head = 8 + 8 * kComponents + 4;
  for (uint32_t i = 0; i < kComponents; ++i) {
    append_be(toc, i);
    append_be(toc, static_cast<uint32_t>(head + bodies.size()));
    Bytes body = original.substr(start_of(i), start_of(i + 1) - start_of(i) - 4);
    if (i == replaced) body = content;
    bodies.append(body);
    append_be(bodies, crc32(body));
  }
  out.append(toc);
  append_be(out, crc32(toc, crc));
  return out + bodies;
}

void read_out(PartitionReader& reader) {
  for (;;) {
    auto unfiltered = reader.next();
    if (!unfiltered.ok() || *unfiltered == nullptr) return;
  }
}

void use(const SSTable& sstable, const TablePtr& table) {
  static_cast<void>(sstable.verify());
  auto backwards = sstable.scan(table, KeyRange(), {{}, true, true});
  while (backwards.ok()) {
    auto partition = (*backwards)->next();
    if (!partition.ok() || *partition == nullptr) break;
    read_out(**partition);
  }
  const std::vector<Slice> slices{{Bytes("\x40\x80\x00\x00\x08\x20", 6), Bytes("\x40\x80\x00\x00\x0c\x60", 6)},
                                  {Bytes("\x40\x80\x00\x00\x10\x60", 6), {}}};
  for (bool reversed : {false, true}) {
    for (const char* key : {"wide", "small", "no such key"}) {
      auto reader = sstable.read(table, DecoratedKey::of(key), {slices, reversed, true});
      if (reader.ok() && *reader != nullptr) read_out(**reader);
    }
  }
}

}  // namespace

FUZZ_TARGET(sstable) {
  static const Original bti(kFixtures + "plain"), big(kFixtures + "nb_plain");
  // Empty: a component of Statistics.db.
  constexpr std::string_view kComponents[] = {components::kData,
                                              components::kPartitions,
                                              components::kRows,
                                              components::kFilter,
                                              components::kCompressionInfo,
                                              "",
                                              "",
                                              "",
                                              "",
                                              components::kPrimaryIndex,
                                              components::kSummary,
                                              ""};
  constexpr uint8_t kFirstOfBig = 9, kFigures = 2;
  if (input.empty() || static_cast<uint8_t>(input[0]) >= std::size(kComponents)) return;
  const auto component = static_cast<uint8_t>(input[0]);
  const Original& original = component < kFirstOfBig ? bti : big;
  BytesView content = input.substr(1);
  Files files = original.files;
  if (!kComponents[component].empty()) {
    files[original.descriptor.file(kComponents[component])] = content;
  } else {
    Bytes& statistics = files[original.descriptor.file(components::kStatistics)];
    statistics = statistics_with(statistics, component < kFirstOfBig ? component - 5u : kFigures, content);
  }
  MemoryDisk disk(&files);
  auto sstable = SSTable::open(disk, original.descriptor, original.table);
  if (sstable.ok()) use(**sstable, original.table);
}

}  // namespace cassandra_like
