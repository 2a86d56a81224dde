#include "model/schema.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/bytes.h"

namespace cassandra_like {

namespace {

// The first six bytes of the name, zero-padded, with the top bit flipped: Cassandra packs ColumnIdentifier's
// prefixComparison, which is meant for a signed comparison, into the low bits of an unsigned one.
uint64_t name_prefix(std::string_view name) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < 6; ++i) {
    prefix = prefix << 8 | (i < name.size() ? static_cast<uint8_t>(name[i]) : 0);
  }
  return prefix ^ (1ULL << 47);
}

int compare_names(std::string_view a, std::string_view b) {
  uint64_t pa = name_prefix(a), pb = name_prefix(b);
  if (pa != pb) return pa < pb ? -1 : 1;
  int c = a.compare(b);
  return c < 0 ? -1 : c > 0;
}

bool signed_bytes_less(std::string_view a, std::string_view b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return static_cast<signed char>(x) < static_cast<signed char>(y);
  });
}

// Simple and complex columns, each in cell order, merged as ByteBuffer.compareTo orders their names. Cassandra takes
// complex columns with names that sort before the empty one (see name_prefix) for simple ones here.
void append_in_select_order(const std::vector<ColumnPtr>& columns, std::vector<const Column*>* out) {
  auto first_complex = std::find_if(columns.begin(), columns.end(), [](const ColumnPtr& c) {
    return c->is_complex() && compare_names(c->name, "") >= 0;
  });
  auto simple = columns.begin();
  auto complex = first_complex;
  while (simple != first_complex || complex != columns.end()) {
    bool take_simple =
        complex == columns.end() || (simple != first_complex && !signed_bytes_less((*complex)->name, (*simple)->name));
    out->push_back((take_simple ? *simple++ : *complex++).get());
  }
}

// The keyspace's types that `type` is made of, dependencies first.
void collect_udts(const KeyspaceMetadata& keyspace, const Type& type, std::vector<UserTypePtr>* out) {
  for (const TypePtr& element : type.elements()) collect_udts(keyspace, *element, out);
  if (!type.is_udt()) return;
  UserTypePtr own = keyspace.type(static_cast<const UserType&>(type).name());
  if (own && std::find(out->begin(), out->end(), own) == out->end()) out->push_back(std::move(own));
}

}  // namespace

int compare_columns(const Column* a, const Column* b) {
  if (a == b) return 0;
  bool a_complex = a->is_complex(), b_complex = b->is_complex();
  if (a_complex != b_complex) return a_complex ? 1 : -1;
  return compare_names(a->name, b->name);
}

IndexTarget parse_index_target(std::string_view target) {
  IndexTarget out{std::string(target), IndexTargetType::kSimple};
  static constexpr std::pair<std::string_view, IndexTargetType> kFunctions[] = {{"keys(", IndexTargetType::kKeys},
                                                                                {"values(", IndexTargetType::kValues},
                                                                                {"entries(", IndexTargetType::kEntries},
                                                                                {"full(", IndexTargetType::kFull}};
  for (const auto& [prefix, type] : kFunctions) {
    if (target.starts_with(prefix) && target.ends_with(')') && target.size() > prefix.size() + 1) {
      out.type = type;
      out.column = target.substr(prefix.size(), target.size() - prefix.size() - 1);
    }
  }
  if (out.column.size() >= 2 && out.column.front() == '"') {
    std::string unquoted;
    for (size_t i = 1; i + 1 < out.column.size(); ++i) {
      if (out.column[i] == '"' && out.column[i + 1] == '"' && i + 2 < out.column.size()) ++i;
      unquoted += out.column[i];
    }
    out.column = std::move(unquoted);
  }
  return out;
}

TableMetadata::TableMetadata(std::string keyspace, std::string name, Uuid id, std::vector<ColumnPtr> partition_key,
                             std::vector<ColumnPtr> clustering, std::vector<ColumnPtr> others)
    : keyspace(std::move(keyspace)),
      name(std::move(name)),
      id(id),
      partition_key(std::move(partition_key)),
      clustering(std::move(clustering)) {
  for (ColumnPtr& c : others) {
    (c->kind == ColumnKind::kStatic ? static_columns : regular_columns).push_back(std::move(c));
  }
  auto in_cell_order = [](const ColumnPtr& a, const ColumnPtr& b) { return compare_columns(a.get(), b.get()) < 0; };
  std::sort(static_columns.begin(), static_columns.end(), in_cell_order);
  std::sort(regular_columns.begin(), regular_columns.end(), in_cell_order);
  for (const auto* columns : {&this->partition_key, &this->clustering, &static_columns, &regular_columns}) {
    for (const ColumnPtr& c : *columns) by_name_.emplace(c->name, c.get());
  }
  for (const ColumnPtr& c : this->clustering) clustering_types_.push_back(c->type.get());
  if (this->partition_key.size() == 1) {
    partition_key_type_ = this->partition_key[0]->type;
  } else {
    std::vector<TypePtr> components;
    for (const ColumnPtr& c : this->partition_key) components.push_back(c->type);
    partition_key_type_ = types::composite(std::move(components));
  }
}

const Column* TableMetadata::column(std::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

bool TableMetadata::is_hidden(const Column& column) const {
  if (flags.is_static_compact()) return column.kind == ColumnKind::kClustering || column.kind == ColumnKind::kRegular;
  return flags.dense && column.kind == ColumnKind::kRegular && regular_columns.size() == 1 &&
         column.type->kind() == TypeKind::kEmpty;
}

std::vector<const Column*> TableMetadata::all_columns_in_select_order() const {
  std::vector<const Column*> out;
  for (const ColumnPtr& c : partition_key) out.push_back(c.get());
  for (const ColumnPtr& c : clustering) out.push_back(c.get());
  append_in_select_order(static_columns, &out);
  append_in_select_order(regular_columns, &out);
  return out;
}

bool TableMetadata::has_same_columns(const TableMetadata& other) const {
  auto same = [](const std::vector<ColumnPtr>& a, const std::vector<ColumnPtr>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const ColumnPtr& x, const ColumnPtr& y) { return x == y || *x == *y; });
  };
  return id == other.id && same(partition_key, other.partition_key) && same(clustering, other.clustering) &&
         same(static_columns, other.static_columns) && same(regular_columns, other.regular_columns);
}

std::string TableMetadata::directory_name() const {
  std::string hex = to_hex(id.view());
  size_t dot = name.find('.');
  if (dot == std::string::npos) return name + "-" + hex;
  // An index's table has its base table's id and lives in a folder of that table's.
  return name.substr(0, dot) + "-" + hex + "/" + name.substr(dot);
}

std::string ReplicationParams::short_class() const {
  auto it = options.find("class");
  if (it == options.end()) return "";
  return it->second.substr(it->second.rfind('.') + 1);
}

TablePtr KeyspaceMetadata::table(std::string_view name) const {
  auto it = tables.find(name);
  return it == tables.end() ? nullptr : it->second;
}

UserTypePtr KeyspaceMetadata::type(std::string_view name) const {
  auto it = types.find(std::string(name));
  return it == types.end() ? nullptr : it->second;
}

ViewPtr KeyspaceMetadata::view(std::string_view name) const {
  auto it = views.find(std::string(name));
  return it == views.end() ? nullptr : it->second;
}

std::vector<ViewPtr> KeyspaceMetadata::views_of(const TableMetadata& base) const {
  std::vector<ViewPtr> out;
  for (const auto& [name, view] : views) {
    if (view->base_table_id == base.id) out.push_back(view);
  }
  return out;
}

std::vector<UserTypePtr> KeyspaceMetadata::types_in_dependency_order() const {
  std::vector<UserTypePtr> out;
  for (const auto& [name, type] : types) collect_udts(*this, *type, &out);
  return out;
}

KeyspacePtr Schema::keyspace(std::string_view name) const {
  auto it = keyspaces_.find(name);
  return it == keyspaces_.end() ? nullptr : it->second;
}

TablePtr Schema::table(std::string_view keyspace, std::string_view name) const {
  KeyspacePtr k = this->keyspace(keyspace);
  return k ? k->table(name) : nullptr;
}

const TablePtr& Schema::table(const Uuid& id) const {
  static const TablePtr kNone;
  auto it = by_id_.find(id);
  return it == by_id_.end() ? kNone : it->second;
}

void Schema::index(const KeyspacePtr& before, const KeyspacePtr& after) {
  static const KeyspaceMetadata kNone;
  auto forget = [this](const TableMetadata& table) {
    auto found = by_id_.find(table.id);
    if (found != by_id_.end() && found->second.get() == &table) by_id_.erase(table.id);
  };
  auto know = [&](const TableMetadata& table) { by_id_.set(table.id, after->table(table.name)); };
  compare_maps(before == nullptr ? kNone.tables : before->tables, after == nullptr ? kNone.tables : after->tables,
               forget, know, [&](const TableMetadata& old, const TableMetadata& table) {
                 if (old.id != table.id) forget(old);
                 know(table);
               });
}

std::shared_ptr<const Schema> Schema::with_keyspace(KeyspacePtr keyspace) const {
  auto copy = std::make_shared<Schema>(*this);
  copy->index(this->keyspace(keyspace->name), keyspace);
  copy->keyspaces_.set(keyspace->name, keyspace);
  return copy;
}

std::shared_ptr<const Schema> Schema::without_keyspace(const std::string& name) const {
  auto copy = std::make_shared<Schema>(*this);
  copy->index(this->keyspace(name), nullptr);
  copy->keyspaces_.erase(name);
  return copy;
}

std::shared_ptr<const Schema> Schema::with_version(Uuid version) const {
  auto copy = std::make_shared<Schema>(*this);
  copy->version_ = version;
  return copy;
}

KeyspacePtr with_table(const KeyspaceMetadata& keyspace, TablePtr table) {
  auto copy = std::make_shared<KeyspaceMetadata>(keyspace);
  std::string name = table->name;
  copy->tables[name] = std::move(table);
  return copy;
}

KeyspacePtr without_table(const KeyspaceMetadata& keyspace, const std::string& name) {
  auto copy = std::make_shared<KeyspaceMetadata>(keyspace);
  copy->tables.erase(name);
  return copy;
}

KeyspacePtr with_type(const KeyspaceMetadata& keyspace, UserTypePtr type) {
  auto copy = std::make_shared<KeyspaceMetadata>(keyspace);
  std::string name = type->name();
  copy->types[name] = std::move(type);
  return copy;
}

KeyspacePtr without_type(const KeyspaceMetadata& keyspace, const std::string& name) {
  auto copy = std::make_shared<KeyspaceMetadata>(keyspace);
  copy->types.erase(name);
  return copy;
}

KeyspacePtr without_view(const KeyspaceMetadata& keyspace, const std::string& name) {
  auto copy = std::make_shared<KeyspaceMetadata>(keyspace);
  copy->views.erase(name);
  return copy;
}

bool is_local_system_keyspace(std::string_view name) {
  std::string n = lower(name);
  return n == "system" || n == "system_schema";
}

bool is_virtual_keyspace(std::string_view name) {
  std::string n = lower(name);
  return n == "system_views" || n == "system_virtual_schema";
}

bool is_system_keyspace(std::string_view name) {
  std::string n = lower(name);
  return is_local_system_keyspace(n) || is_virtual_keyspace(n) || n == "system_auth" || n == "system_distributed" ||
         n == "system_traces";
}

}  // namespace cassandra_like
