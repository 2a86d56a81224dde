// sstablesplit (StandaloneSplitter): makes several SSTables of a large one.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/java_numbers.h"
#include "offline_rewrite.h"
#include "sstable_file.h"

namespace cassandra_like::sstable_tools {

namespace {

constexpr char kDebugOfSplit = '\1';  // options without letters
constexpr char kNoSnapshot = '\2';
constexpr int32_t kDefaultMegabytes = 50;
constexpr size_t kHexDigitsOfTableId = 32;

constexpr const char* kSplitUsage = R"(usage: sstablessplit [options] <filename> [<filename>]*
--
Split the provided sstables files in sstables of maximum provided file
size (see option --size).
--
Options are:
    --debug         display stack traces
 -h,--help          display this help message
    --no-snapshot   don't snapshot the sstables before splitting
 -s,--size <size>   maximum size in MB for the output sstables (default:
                    50)
)";

// The table that a directory is of (Descriptor.fromFileWithComponent), which may be one of its snapshots or backups.
struct TableOfDirectory {
  std::string keyspace, table;
};

std::string last_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }
std::string parent_of(const std::string& path) { return path.substr(0, std::min(path.rfind('/'), path.size())); }

TableOfDirectory table_of(std::string directory) {
  std::string index;
  if (last_name(directory).starts_with('.')) {
    index = last_name(directory);
    directory = parent_of(directory);
  }
  if (last_name(directory) == "backups") {
    directory = parent_of(directory);
  } else if (last_name(parent_of(directory)) == "snapshots") {
    directory = parent_of(parent_of(directory));
  }
  const std::string name = last_name(directory);
  const size_t dash = name.rfind('-');
  const bool has_id = dash != name.npos && name.size() - dash - 1 == kHexDigitsOfTableId;
  return {last_name(parent_of(directory)), name.substr(0, has_id ? dash : name.npos) + index};
}

class Split {
 public:
  Split(const ToolContext& context, const CommandLine& line, int32_t megabytes)
      : context_(context), line_(line), megabytes_(megabytes) {}

  // The exit code.
  Result<int> run() {
    TRY(name_files());
    if (named_.empty()) {
      context_.err << "No valid sstables to split\n";
      return 1;
    }
    ASSIGN_OR_RETURN(storage_, context_.storage(true));
    ASSIGN_OR_RETURN(const SchemaPtr schema, load_schema(context_, storage_));
    const KeyspacePtr keyspace = schema->keyspace(of_.keyspace);
    if (keyspace == nullptr || keyspace->is_virtual) {
      return fail(context_, "java.lang.AssertionError", "Unknown keyspace " + of_.keyspace);
    }
    if (of_.table.find('.') != of_.table.npos) {
      return invalid("Splitting the secondary index " + of_.table + " is not supported yet");
    }
    const TablePtr table = keyspace->table(of_.table);
    if (table == nullptr) return invalid(fmt::format("Unknown keyspace/cf pair ({}.{})", of_.keyspace, of_.table));
    OfflineTable on_disk = table_on_disk(context_, storage_, table);
    for (const SSTableDescriptor& one : named_) {
      if (!contains(on_disk.directories, one.directory)) on_disk.directories.push_back(one.directory);
    }
    ASSIGN_OR_RETURN(const auto locks, lock_table(context_, on_disk));
    TRY(finish_transactions_of(context_, on_disk));
    OfflineRewriter rewriter(context_, storage_, table);
    for (const std::string& directory : on_disk.directories) TRY(rewriter.note_ids(directory));
    ASSIGN_OR_RETURN(const auto opened, open_large(on_disk));
    if (opened.empty()) {
      context_.out << "No sstables needed splitting.\n";
      return 0;
    }
    if (!line_.has(kNoSnapshot)) TRY(take_snapshot(opened));
    return split_all(rewriter, opened);
  }

 private:
  template <class T>
  static bool contains(const std::vector<T>& all, const T& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  }

  Status name_files() {
    for (const std::string& name : line_.words) {
      const std::string path = (std::filesystem::path(context_.directory) / name).lexically_normal();
      if (!context_.disk.exists(path)) {
        context_.out << "Skipping inexisting file " << name << "\n";
        continue;
      }
      const auto descriptor = descriptor_of(path);
      if (!descriptor.ok()) {
        context_.out << "Skipping non sstable file " << name << "\n";
        continue;
      }
      TableOfDirectory of = table_of(descriptor->directory);
      if (named_.empty()) of_ = of;
      if (of.keyspace != of_.keyspace) return invalid("All sstables must be part of the same keyspace");
      if (of.table != of_.table) return invalid("All sstables must be part of the same table");
      if (!contains(named_, *descriptor)) named_.push_back(*descriptor);
    }
    return {};
  }

  Result<std::vector<OfflineSSTable>> open_large(const OfflineTable& table) {
    ASSIGN_OR_RETURN(auto all, sstables_of(context_, table));
    std::vector<OfflineSSTable> opened;
    for (const SSTableDescriptor& descriptor : named_) {
      const auto files =
          std::find_if(all.begin(), all.end(), [&](const auto& f) { return f.descriptor == descriptor; });
      auto sstable = files == all.end() ? Result<SSTablePtr>(invalid("it is not whole, or a transaction has voided it"))
                                        : SSTable::open(context_.disk, descriptor, table.table);
      if (!sstable.ok()) {
        context_.err << "Error Loading " << base_name(descriptor) << ": " << sstable.error().message() << "\n";
        continue;
      }
      const uint64_t bytes = (*sstable)->info().data_bytes;
      if (static_cast<int64_t>(bytes) <= static_cast<int64_t>(megabytes_) << 20) {
        context_.out << fmt::format("Skipping {}: it's size ({:.3f} MB) is less than the split size ({} MB)\n",
                                    descriptor.file(components::kData), static_cast<double>(bytes) / (1 << 20),
                                    megabytes_);
        continue;
      }
      opened.push_back({std::move(*files), std::move(*sstable)});
    }
    return opened;
  }

  Status take_snapshot(const std::vector<OfflineSSTable>& opened) const {
    const std::string tag = "pre-split-" + std::to_string(context_.now_millis);
    std::vector<SSTableDescriptor> descriptors;
    for (const OfflineSSTable& one : opened) descriptors.push_back(one.descriptor());
    TRY(snapshot_sstables(context_, descriptors, tag));
    context_.out << "Pre-split sstables snapshotted into snapshot " << tag << "\n";
    return {};
  }

  int split_all(OfflineRewriter& rewriter, const std::vector<OfflineSSTable>& opened) {
    for (const OfflineSSTable& one : opened) {
      const Status done = split(rewriter, one);
      if (done.ok()) continue;
      if (!is_of_sstable(done.error())) return fail_to_write(context_, done.error());
      context_.err << "Error splitting " << reader_name(one.descriptor()) << ": " << done.error().message() << "\n";
    }
    return 0;
  }

  Status split(OfflineRewriter& rewriter, const OfflineSSTable& one) const {
    if (megabytes_ <= 0) {
      return invalid(fmt::format("Invalid target size for SSTables, must be > 0 (got: {})", megabytes_));
    }
    return rewriter.split(one, static_cast<uint64_t>(megabytes_) << 20);
  }

  const ToolContext& context_;
  const CommandLine& line_;
  const int32_t megabytes_;
  std::vector<SSTableDescriptor> named_;
  TableOfDirectory of_;
  EngineOptions storage_;
};

}  // namespace

int run_sstablesplit(const std::vector<std::string>& arguments, const ToolContext& context) {
  const CommandLine line = CommandLine::parse_gnu(
      {{kDebugOfSplit, "debug"}, {'h', "help"}, {kNoSnapshot, "no-snapshot"}, {'s', "size", 1}}, arguments);
  if (line.error.empty() && line.has('h')) {
    context.out << kSplitUsage;
    return 0;
  }
  if (!line.error.empty() || line.words.empty()) {
    context.err << (line.error.empty() ? "No sstables to split" : line.error) << "\n";
    context.out << kSplitUsage;
    return 1;
  }
  int32_t megabytes = kDefaultMegabytes;
  if (line.has('s')) {
    const std::string& text = line.options.at('s').front();
    const auto parsed = parse_java_int(text);
    if (!parsed) return fail(context, "java.lang.NumberFormatException", "For input string: \"" + text + "\"");
    megabytes = *parsed;
  }
  const auto done = Split(context, line, megabytes).run();
  return done.ok() ? *done : fail_with_message(context, done.error(), line.has(kDebugOfSplit));
}

}  // namespace cassandra_like::sstable_tools
