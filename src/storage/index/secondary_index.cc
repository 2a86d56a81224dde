// The hidden table's metadata, and the form of its entries.
#include "storage/index/secondary_index.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/path_component.h"

namespace cassandra_like {

namespace {

Result<IndexShape> shape_of(const Column& column, const IndexTarget& target, const std::string& index) {
  if (column.kind == ColumnKind::kClustering) return IndexShape::kClustering;
  if (column.kind == ColumnKind::kPartitionKey) return IndexShape::kPartitionKey;
  if (!column.is_complex()) return IndexShape::kRegular;
  switch (column.type->kind()) {
    case TypeKind::kList:
      return IndexShape::kCollectionValue;
    case TypeKind::kSet:
      return IndexShape::kCollectionKey;
    case TypeKind::kMap:
      if (target.type == IndexTargetType::kKeys) return IndexShape::kCollectionKey;
      if (target.type == IndexTargetType::kEntries) return IndexShape::kCollectionEntry;
      return IndexShape::kCollectionValue;
    default:
      return invalid(
          fmt::format("Index {} on a column of type {} is not supported yet", index, column.type->cql_name()));
  }
}

// The keys of its cells (CollectionType.nameComparator).
TypePtr path_type(const Type& collection) {
  return collection.kind() == TypeKind::kList ? types::timeuuid() : collection.elements()[0];
}
TypePtr element_type(const Type& collection) { return collection.elements().back(); }

TypePtr indexed_type(IndexShape shape, const Column& column) {
  switch (shape) {
    case IndexShape::kCollectionKey:
      return path_type(*column.type);
    case IndexShape::kCollectionValue:
      return element_type(*column.type);
    case IndexShape::kCollectionEntry:
      return types::composite({path_type(*column.type), element_type(*column.type)});
    default:
      return column.type;
  }
}

ColumnPtr clustering_column(const std::string& name, const TypePtr& type, size_t position) {
  return std::make_shared<Column>(Column{name, type, ColumnKind::kClustering, static_cast<int>(position), {}});
}

TablePtr hidden_table(const TableMetadata& base, const IndexMetadata& metadata, const Column& column,
                      IndexShape shape) {
  std::vector<ColumnPtr> partition_key{
      std::make_shared<Column>(Column{column.name, indexed_type(shape, column), ColumnKind::kPartitionKey, 0, {}})};
  static const TypePtr ring_order =
      std::move(types::parse_class("PartitionerDefinedOrder(org.apache.cassandra.dht.Murmur3Partitioner)")).value();
  std::vector<ColumnPtr> clustering{clustering_column("partition_key", ring_order, 0)};
  for (const ColumnPtr& c : base.clustering) {
    if (c->name != column.name) clustering.push_back(clustering_column(c->name, c->type, clustering.size()));
  }
  if (shape == IndexShape::kCollectionValue) {
    clustering.push_back(clustering_column("cell_path", path_type(*column.type), clustering.size()));
  }
  auto table =
      std::make_shared<TableMetadata>(base.keyspace, base.name + "." + metadata.name, base.id, std::move(partition_key),
                                      std::move(clustering), std::vector<ColumnPtr>{});
  table->params = base.params;
  table->params.gc_grace_seconds = 0;
  table->is_index = true;
  table->local_only = base.local_only;
  return table;
}

}  // namespace

Result<std::unique_ptr<IndexStore>> make_index(const TableMetadata& base, const IndexMetadata& metadata,
                                               const std::string& base_directory, CommitLogPosition lower) {
  if (metadata.kind != IndexKind::kComposites) {
    return invalid(
        fmt::format("Index {} of {} is of a kind that is not supported yet", metadata.name, base.qualified_name()));
  }
  auto target = metadata.options.find("target");
  if (target == metadata.options.end()) return invalid(fmt::format("Index {} has no target", metadata.name));
  TRY(check_path_component("." + metadata.name, "The directory of an index"));
  auto index = std::make_unique<IndexStore>();
  index->metadata = metadata;
  index->target = parse_index_target(target->second);
  index->column_name = index->target.column;
  const Column* column = index->column(base);
  if (column == nullptr) {
    return invalid(fmt::format("Index {} is on column {}, which {} does not have", metadata.name, index->column_name,
                               base.qualified_name()));
  }
  ASSIGN_OR_RETURN(index->shape, shape_of(*column, index->target, metadata.name));
  index->store = std::make_shared<TableStore>(hidden_table(base, metadata, *column, index->shape),
                                              base_directory + "/." + metadata.name, lower);
  return index;
}

IndexEntry decode_entry(const IndexStore& index, const TableMetadata& base, const DecoratedKey& value, const Row& row,
                        Arena& arena) {
  IndexEntry entry;
  entry.row = copy_row(row, arena);
  std::span<const BytesView> values = entry.row.clustering.values;
  entry.base_key = values[0];
  if (index.is_static(base)) return entry;
  auto clustering = arena.make_span<BytesView>(base.clustering.size());
  size_t next = 1;
  for (size_t i = 0; i < clustering.size(); ++i) {
    bool indexed = index.shape == IndexShape::kClustering && base.clustering[i]->name == index.column_name;
    clustering[i] = indexed ? arena.copy(value.key) : values[next++];
  }
  entry.base_clustering = clustering;
  return entry;
}

Bytes index_key(const IndexStore& index, const FilterExpression& expression) {
  if (index.shape != IndexShape::kCollectionEntry) return expression.value;
  BytesView components[] = {expression.map_key, expression.value};
  return serialize_partition_key(components);
}

Slice entries_of_key(const IndexStore& index, BytesView base_key) {
  return Slice::of_prefix(*index.store->table, {&base_key, 1});
}

namespace {

bool has_value(const IndexStore& index, const Column& column, const Cell& cell, BytesView value) {
  switch (index.shape) {
    case IndexShape::kCollectionKey:
      return cell.path == value;
    case IndexShape::kCollectionValue:
      return element_type(*column.type)->compare(value, cell.value) == 0;
    case IndexShape::kCollectionEntry: {
      Reader in(value);
      BytesView path = in.take(in.u16());
      in.skip(1);
      BytesView element = in.take(in.u16());
      return cell.path == path && element_type(*column.type)->compare(element, cell.value) == 0;
    }
    default:
      return column.type->compare(value, cell.value) == 0;
  }
}

}  // namespace

bool is_stale(const IndexStore& index, const TableMetadata& base, const Row& row, BytesView value,
              int64_t now_seconds) {
  if (index.shape == IndexShape::kClustering || index.shape == IndexShape::kPartitionKey) {
    return !row.has_live_data(now_seconds);
  }
  const Column& column = *index.column(base);
  return std::none_of(row.cells.begin(), row.cells.end(), [&](const Cell& cell) {
    return cell.column == &column && cell.is_live(now_seconds) && has_value(index, column, cell, value);
  });
}

}  // namespace cassandra_like
