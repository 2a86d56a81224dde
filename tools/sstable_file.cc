// Opens an SSTable without its table's schema.
#include "sstable_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/sstable/component_set.h"
#include "storage/sstable/compression.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like::sstable_tools {

namespace {

Result<TablePtr> table_of(const Statistics& statistics) {
  auto column = [](std::string name, const std::string& class_name, ColumnKind kind,
                   int position) -> Result<ColumnPtr> {
    ASSIGN_OR_RETURN(TypePtr type, types::parse_class(class_name));
    return ColumnPtr(std::make_shared<Column>(Column{std::move(name), std::move(type), kind, position, ""}));
  };
  ASSIGN_OR_RETURN(ColumnPtr key, column("PartitionKey", statistics.key_type, ColumnKind::kPartitionKey, 0));
  std::vector<ColumnPtr> clustering, others;
  for (const std::string& type : statistics.clustering_types) {
    const int i = static_cast<int>(clustering.size());
    ASSIGN_OR_RETURN(ColumnPtr c,
                     column("clustering" + (i > 0 ? std::to_string(i) : ""), type, ColumnKind::kClustering, i));
    clustering.push_back(std::move(c));
  }
  for (const HeaderColumnType& written : statistics.static_columns) {
    ASSIGN_OR_RETURN(ColumnPtr c, column(written.name, written.type, ColumnKind::kStatic, -1));
    others.push_back(std::move(c));
  }
  for (const HeaderColumnType& written : statistics.regular_columns) {
    ASSIGN_OR_RETURN(ColumnPtr c, column(written.name, written.type, ColumnKind::kRegular, -1));
    others.push_back(std::move(c));
  }
  return TablePtr(std::make_shared<TableMetadata>("keyspace", "table", Uuid(), std::vector<ColumnPtr>{std::move(key)},
                                                  std::move(clustering), std::move(others)));
}

std::shared_ptr<const ResolvedHeader> header_of(const SSTableFile& file, const TablePtr& table) {
  auto header = std::make_shared<ResolvedHeader>();
  header->table = table;
  auto add = [&](const std::vector<HeaderColumnType>& from, std::vector<HeaderColumn>& to) {
    for (const HeaderColumnType& written : from) to.push_back(HeaderColumn::of(table->column(written.name)));
  };
  add(file.statistics.static_columns, header->static_columns);
  add(file.statistics.regular_columns, header->regular_columns);
  header->header = {file.statistics.encoding_stats, table->clustering_types(), header->static_columns,
                    header->regular_columns, file.version->max_deletion_time()};
  return header;
}

}  // namespace

Result<SSTableDescriptor> descriptor_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string name = path.substr(slash + 1);
  size_t dash = 0;
  for (int i = 0; i < 3 && dash != name.npos; ++i) dash = name.find('-', dash + 1);
  std::optional<SSTableDescriptor> descriptor;
  if (dash != name.npos) {
    descriptor =
        SSTableDescriptor::parse(path.substr(0, slash), name.substr(0, dash + 1) + std::string(components::kData));
  }
  if (descriptor) return *descriptor;
  return invalid(
      fmt::format("Invalid sstable file {}: the name doesn't look like a supported sstable file name", name));
}

Result<SSTableFile> SSTableFile::open(Disk& disk, const SSTableDescriptor& descriptor) {
  SSTableFile file;
  file.descriptor = descriptor;
  file.version = descriptor.known_version();
  if (file.version == nullptr) return unsupported_format(descriptor);
  ASSIGN_OR_RETURN(const ComponentSet components, ComponentSet::open(disk, descriptor, true));
  ASSIGN_OR_RETURN(const Bytes content, components.read(components::kStatistics));
  auto statistics = Statistics::parse(content, *file.version);
  if (!statistics.ok()) {
    return Error(ErrorCode::kCorruption,
                 components.path(components::kStatistics) + ": " + statistics.error().message());
  }
  file.statistics = std::move(*statistics);
  if (!components.has(components::kCompressionInfo)) return file;
  ASSIGN_OR_RETURN(const Bytes info, components.read(components::kCompressionInfo));
  ASSIGN_OR_RETURN(const auto data, disk.open(components.path(components::kData)));
  const auto compression = CompressionInfo::parse(info, data->size(), *file.version);
  if (!compression) {
    return Error(ErrorCode::kCorruption, components.path(components::kCompressionInfo) + " is malformed");
  }
  file.compressor = compression->params.class_name;
  return file;
}

Result<OpenSSTableFile> OpenSSTableFile::open(Disk& disk, const SSTableDescriptor& descriptor) {
  ASSIGN_OR_RETURN(const SSTableFile file, SSTableFile::open(disk, descriptor));
  OpenSSTableFile opened;
  ASSIGN_OR_RETURN(opened.table, table_of(file.statistics));
  ASSIGN_OR_RETURN(opened.sstable, SSTable::open(disk, descriptor, opened.table));
  return opened;
}

Result<std::unique_ptr<SSTableData>> SSTableData::open(Disk& disk, const SSTableFile& file) {
  std::unique_ptr<SSTableData> self(new SSTableData());
  ASSIGN_OR_RETURN(const ComponentSet components, ComponentSet::open(disk, file.descriptor, true));
  ASSIGN_OR_RETURN(const TablePtr table, table_of(file.statistics));
  const std::string path = components.path(components::kData);
  if (file.compressor.empty()) {
    ASSIGN_OR_RETURN(Bytes crcs, components.read(components::kCrc));
    ASSIGN_OR_RETURN(self->data_, DataFile::open_plain(disk, path, std::move(crcs)));
  } else {
    ASSIGN_OR_RETURN(const Bytes info, components.read(components::kCompressionInfo));
    ASSIGN_OR_RETURN(self->data_, DataFile::open_compressed(disk, path, info, *file.version, nullptr));
  }
  ASSIGN_OR_RETURN(self->lookup_, PartitionLookup::open(components, *table, *file.version));
  self->header_ = header_of(file, table);
  const SSTableFiles files{nullptr, file.version, self->data_.get(), self->lookup_.get(), false};
  self->reader_ = std::make_unique<SSTablePartitionReader>(files, self->header_, SliceSelection());
  self->walk_ = self->lookup_->walk(RingPosition::minimum());
  self->is_in_ring_order_ = file.statistics.partitioner.ends_with(".Murmur3Partitioner");
  const std::string& directory = file.descriptor.directory;
  self->is_index_ = directory.substr(directory.rfind('/') + 1).starts_with('.');
  return self;
}

void SSTableData::only(std::vector<Bytes> keys) {
  if (!is_in_ring_order_) {
    keys_ = std::set<Bytes>(keys.begin(), keys.end());
    return;
  }
  tokens_.emplace();
  for (const Bytes& key : keys) tokens_->push_back(murmur3_token(key));
  std::sort(tokens_->begin(), tokens_->end());
  token_ = 0;
  walk_ = nullptr;
}

Result<bool> SSTableData::next() {
  if (tokens_) return next_of_tokens();
  if (keys_) return next_of_keys();
  return read_next();
}

// From the partition's first byte, without its row index.
Result<bool> SSTableData::read_next() {
  PartitionPlace place;
  ASSIGN_OR_RETURN(const bool found, walk_->next(&place));
  if (!found) return false;
  PartitionPlace beginning;
  beginning.data_position = place.data_position;
  ASSIGN_OR_RETURN([[maybe_unused]] const bool is_there, reader_->begin(beginning, nullptr));
  return true;
}

Result<bool> SSTableData::next_of_tokens() {
  while (token_ < tokens_->size()) {
    const Token token = (*tokens_)[token_];
    if (walk_ == nullptr) walk_ = lookup_->walk(RingPosition::before(token));
    ASSIGN_OR_RETURN(const bool found, read_next());
    if (found && reader_->key().token == token) return true;
    if (found && reader_->key().token < token) continue;
    walk_ = nullptr;
    ++token_;
  }
  return false;
}

Result<bool> SSTableData::next_of_keys() {
  for (;;) {
    ASSIGN_OR_RETURN(const bool found, read_next());
    if (!found || keys_->contains(Bytes(reader_->key().key))) return found;
  }
}

}  // namespace cassandra_like::sstable_tools
