// sstabledump (SSTableExport).
#include <set>

#include "command_line.h"
#include "sstable_file.h"
#include "sstable_text.h"
#include "sstable_tools.h"

namespace cassandra_like::sstable_tools {

namespace {

constexpr const char* kDumpUsage = R"(usage: sstabledump <sstable file path> <options>
Dump contents of given SSTable to standard output in JSON format.
 -d         CQL row per line internal representation
 -e         enumerate partition keys only
 -k <arg>   List of included partition keys
 -l         Output json lines, by partition
 -t         Print raw timestamps instead of iso8601 date strings
 -x <arg>   List of excluded partition keys
)";
constexpr size_t kMaxKeys = 500;
constexpr size_t kFlushBytes = 1 << 16;

class Dump {
 public:
  Dump(const ToolContext& context, const CommandLine& line, SSTableData& data)
      : context_(context),
        line_(line),
        data_(data),
        json_(&text_, *data.table(), {line.has('t'), line.has('l') && !line.has('e'), context.now_millis / 1000}) {
    if (const auto it = line.options.find('x'); it != line.options.end())
      excluded_ = {it->second.begin(), it->second.end()};
  }

  Status run() {
    if (line_.has('e')) return keys();
    if (line_.has('k')) TRY(select_keys());
    if (line_.has('d')) return debug_lines();
    if (!line_.has('l')) json_.start_array();
    for (;;) {
      ASSIGN_OR_RETURN(const bool found, next());
      if (!found) break;
      TRY(partition());
    }
    if (!line_.has('l')) json_.end_array();
    flush(0);
    return {};
  }

 private:
  void flush(size_t limit) {
    if (text_.size() <= limit) return;
    context_.out << text_;
    text_.clear();
  }

  std::string key_text() { return data_.table()->partition_key_type()->to_text(data_.partition().key().key); }

  Result<bool> next() {
    for (;;) {
      ASSIGN_OR_RETURN(const bool found, data_.next());
      if (!found || excluded_.empty() || !excluded_.contains(key_text())) return found;
    }
  }

  Status select_keys() {
    std::vector<Bytes> keys;
    for (const std::string& key : line_.options.at('k')) {
      if (excluded_.contains(key)) continue;
      ASSIGN_OR_RETURN(Bytes bytes, data_.table()->partition_key_type()->from_text(key));
      keys.push_back(std::move(bytes));
    }
    data_.only(std::move(keys));
    return {};
  }

  Status keys() {
    json_.start_array();
    for (;;) {
      ASSIGN_OR_RETURN(const bool found, data_.next());
      if (!found) break;
      json_.key(data_.partition().key().key);
      flush(kFlushBytes);
    }
    json_.end_array();
    flush(0);
    return {};
  }

  Status partition() {
    SSTablePartitionReader& partition = data_.partition();
    uint64_t position = data_.position();
    json_.start_partition(data_.is_index(), partition.key().key, position, partition.partition_deletion());
    if (!partition.static_row().is_empty()) json_.row(partition.static_row(), position);
    for (;;) {
      ASSIGN_OR_RETURN(const Unfiltered* unfiltered, partition.next());
      if (unfiltered == nullptr) break;
      if (unfiltered->is_row) {
        json_.row(unfiltered->row, position);
      } else {
        json_.marker(unfiltered->marker);
      }
      position = data_.position();
      flush(kFlushBytes);
    }
    json_.end_partition();
    return {};
  }

  Status debug_lines() {
    for (;;) {
      ASSIGN_OR_RETURN(const bool found, next());
      if (!found) break;
      SSTablePartitionReader& partition = data_.partition();
      const std::string start = "[" + key_text() + "]@";
      uint64_t position = data_.position();
      auto line = [&](const std::string& text) {
        text_.append(start).append(std::to_string(position)).append(" ").append(text).append("\n");
      };
      if (!partition.partition_deletion().is_live()) line(to_debug_text(partition.partition_deletion()));
      if (!partition.static_row().is_empty()) line(to_debug_text(*data_.table(), partition.static_row()));
      for (;;) {
        ASSIGN_OR_RETURN(const Unfiltered* unfiltered, partition.next());
        if (unfiltered == nullptr) break;
        line(to_debug_text(*data_.table(), *unfiltered));
        position = data_.position();
        flush(kFlushBytes);
      }
    }
    flush(0);
    return {};
  }

  const ToolContext& context_;
  const CommandLine& line_;
  SSTableData& data_;
  std::set<std::string> excluded_;
  std::string text_;
  SSTableJson json_;
};

int dump_usage(const ToolContext& context, const std::string& error) {
  context.err << error << "\n";
  context.out << kDumpUsage;
  return 1;
}

Status dump(const ToolContext& context, const CommandLine& line, const SSTableFile& file) {
  ASSIGN_OR_RETURN(const auto data, SSTableData::open(context.disk, file));
  Dump dump(context, line, *data);
  return dump.run();
}

}  // namespace

int fail(const ToolContext& context, const std::string& exception, const std::string& message) {
  context.err << "Exception in thread \"main\" " << exception << ": " << message << "\n";
  return 1;
}

int run_sstabledump(const std::vector<std::string>& arguments, const ToolContext& context) {
  const CommandLine line = CommandLine::parse(
      {{'d', ""}, {'e', ""}, {'k', "", kMaxKeys}, {'l', ""}, {'t', ""}, {'x', "", kMaxKeys}}, arguments);
  if (!line.error.empty()) return dump_usage(context, line.error);
  if (line.words.size() != 1) {
    std::string error = "You must supply exactly one sstable";
    if (line.words.empty() && (line.has('k') || line.has('x'))) {
      error += ", which should be before the -k/-x options so it's not interpreted as a partition key.";
    }
    return dump_usage(context, error);
  }
  const std::string path = line.words[0].starts_with('/') ? line.words[0] : context.directory + "/" + line.words[0];
  if (!context.disk.exists(path)) {
    context.err << "Cannot find file " << path << "\n";
    return 1;
  }
  const auto descriptor = descriptor_of(path);
  if (!descriptor.ok()) return fail(context, "java.lang.IllegalArgumentException", descriptor.error().message());
  const auto file = SSTableFile::open(context.disk, *descriptor);
  if (!file.ok()) return fail(context, "java.io.IOException", file.error().message());
  const Status status = dump(context, line, *file);
  if (status.ok()) return 0;
  if (status.error().code() == ErrorCode::kInvalid) {
    return fail(context, "org.apache.cassandra.serializers.MarshalException", status.error().message());
  }
  return fail(context, "org.apache.cassandra.io.sstable.CorruptSSTableException", status.error().message());
}

}  // namespace cassandra_like::sstable_tools
