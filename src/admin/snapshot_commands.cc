// snapshots: list, take, clear.
#include <algorithm>
#include <charconv>
#include <set>

#include "admin/api.h"
#include "admin/selection.h"
#include "model/schema_text.h"
#include "model/values.h"

namespace cassandra_like::admin {
namespace {

using Tables = std::vector<TablePtr>;

constexpr int64_t kLeastTtlMillis = 60'000;

// A tag becomes a directory's name.
std::optional<Answer> check_tag(const std::string& tag) {
  constexpr size_t kLongestName = 255;
  if (tag.empty()) return refuse(400, "You must supply a snapshot name.");
  auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
  if (std::any_of(tag.begin(), tag.end(), is_control)) {
    return refuse(400, "Snapshot name cannot contain control characters");
  }
  if (tag.size() > kLongestName) return refuse(400, "Snapshot name cannot be longer than 255 bytes");
  if (tag.find('/') != std::string::npos) return refuse(400, "Snapshot name cannot contain /");
  if (tag.find_first_not_of('.') == std::string::npos) return refuse(400, "Snapshot name cannot consist of dots");
  return std::nullopt;
}

std::optional<Answer> add_table(const Schema& schema, const std::string& keyspace, const std::string& name,
                                Tables& tables) {
  TablePtr table = schema.table(keyspace, name);
  if (table == nullptr || table->is_virtual) {
    return refuse(400, "Unknown keyspace/cf pair (" + keyspace + "." + name + ")");
  }
  tables.push_back(std::move(table));
  return std::nullopt;
}

std::optional<Answer> add_keyspace(const Schema& schema, const std::string& name, Tables& tables) {
  KeyspacePtr keyspace = schema.keyspace(name);
  if (keyspace == nullptr || keyspace->is_virtual) return refuse(400, "Keyspace " + name + " does not exist");
  for (const auto& [table_name, table] : keyspace->tables) tables.push_back(table);
  return std::nullopt;
}

std::optional<Answer> add_list_entry(const Schema& schema, const std::string& entry, Tables& tables) {
  size_t dot = entry.find('.');
  if (dot == std::string::npos) {
    return refuse(400,
                  "Cannot take a snapshot on secondary index or invalid column family name. You must supply a column "
                  "family name in the form of keyspace.columnfamily");
  }
  return add_table(schema, entry.substr(0, dot), entry.substr(dot + 1), tables);
}

// The tables that the arguments name, or why there are none.
std::optional<Answer> select(const Schema& schema, const Parameters& parameters, Tables& tables) {
  std::vector<std::string> keyspaces = parameters.all("keyspace"), list = parameters.all("ktlist");
  if (parameters.has("table")) {
    if (keyspaces.size() != 1) {
      return refuse(400, "When specifying the table for a snapshot, you must specify one and only one keyspace");
    }
    return add_table(schema, keyspaces[0], parameters.get("table"), tables);
  }
  for (const std::string& entry : list) {
    if (auto refusal = add_list_entry(schema, entry, tables)) return refusal;
  }
  if (keyspaces.empty() && list.empty()) {
    for (const auto& [name, keyspace] : schema.keyspaces()) {
      if (!keyspace->is_virtual) keyspaces.push_back(name);
    }
  }
  for (const std::string& name : keyspaces) {
    if (auto refusal = add_keyspace(schema, name, tables)) return refusal;
  }
  return std::nullopt;
}

Result<std::vector<SnapshotInfo>> list(const AdminContext& context) {
  return list_snapshots(context.runtime().disk, context.node.engine_options);
}

// A duration in days, hours, minutes or seconds, in milliseconds.
std::optional<int64_t> parse_millis(const std::string& text) {
  int64_t count = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < 0 || count > 1'000'000'000) return std::nullopt;
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  for (auto [name, millis] : {std::pair{"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}) {
    if (unit == name) return count * millis;
  }
  return std::nullopt;
}

std::string invalid_duration(const std::string& text) {
  return "Invalid duration: " + text +
         " Accepted units:[SECONDS, MINUTES, HOURS, DAYS] where case matters and only non-negative values.";
}

// Snapshots made before this go, in milliseconds; without an argument all of them.
std::optional<Answer> parse_limit(const AdminContext& context, const Parameters& parameters, int64_t* before) {
  *before = std::numeric_limits<int64_t>::max();
  if (const std::string& text = parameters.get("older_than"); !text.empty()) {
    auto millis = parse_millis(text);
    if (!millis) {
      return refuse(400, invalid_duration(text));
    }
    *before = context.runtime().clock.wall_millis() - *millis;
  } else if (const std::string& stamp = parameters.get("older_than_timestamp"); !stamp.empty()) {
    auto millis = parse_timestamp(stamp);
    if (!millis.ok()) return refuse(400, millis.error().message());
    *before = *millis;
  }
  return std::nullopt;
}

}  // namespace

// They share the snapshot's directory.
Task<Status> snapshot_table(AdminContextPtr context, TablePtr table, SnapshotRequest request) {
  KeyspacePtr keyspace = context->schema()->keyspace(table->keyspace);
  if (keyspace == nullptr) co_return Status();
  request.schema_cql = snapshot_schema_text(*keyspace, *table);
  for (unsigned shard = 0; shard < context->node.runtime->shard_count() && !context->stopped; ++shard) {
    Replica* replica = context->node.replicas[shard];
    Task<Status> hop =
        run_on<Status>(context->here(), context->node.runtime->shard(shard).executor, [replica, table, request] {
          return replica->maintenance().snapshot({table->keyspace, table->name}, request);
        });
    CO_TRY(co_await hop);
  }
  co_return Status();
}

Task<Answer> snapshots(AdminContextPtr context, Parameters) {
  auto found = list(*context);
  if (!found.ok()) return failure(found.error());
  Json all = Json::array();
  uint64_t total = 0;
  for (const SnapshotInfo& each : *found) {
    total += each.true_bytes;
    all.push_back({{"name", each.tag},
                   {"keyspace", each.keyspace},
                   {"table", each.table},
                   {"true_size_bytes", each.true_bytes},
                   {"size_on_disk_bytes", each.total_bytes},
                   {"created_millis", each.created_millis > 0 ? Json(each.created_millis) : Json(nullptr)},
                   {"expires_millis", each.expires_millis > 0 ? Json(each.expires_millis) : Json(nullptr)},
                   {"ephemeral", false}});
  }
  Answer answer;
  answer.json = {{"snapshots", std::move(all)}, {"true_total_bytes", total}};
  return answer;
}

Task<Answer> take_snapshot(AdminContextPtr context, Parameters parameters) {
  const std::string& tag = parameters.get("tag");
  if (auto refusal = check_tag(tag)) co_return std::move(*refusal);
  SnapshotRequest request(tag);
  request.skip_flush = parameters.is_true("skip_flush");
  if (parameters.has("ttl")) {
    auto ttl = parse_millis(parameters.get("ttl"));
    if (!ttl) co_return refuse(400, invalid_duration(parameters.get("ttl")));
    if (*ttl < kLeastTtlMillis) co_return refuse(400, "ttl for snapshot must be at least 60 seconds");
    request.ttl_millis = *ttl;
  }
  Tables tables;
  if (auto refusal = select(*context->schema(), parameters, tables)) co_return std::move(*refusal);
  const bool conflicts = std::any_of(tables.begin(), tables.end(), [&](const TablePtr& table) {
    return has_snapshot(context->runtime().disk, context->node.engine_options, *table, tag);
  });
  if (conflicts) co_return refuse(409, "Snapshot " + tag + " already exists.");
  for (const TablePtr& table : tables) {
    Task<Status> task = snapshot_table(context, table, request);
    Status status = co_await task;
    if (!status.ok()) co_return failure(status.error());
  }
  co_return Answer{};
}

Task<Answer> clear_snapshots(AdminContextPtr context, Parameters parameters) {
  const std::string& tag = parameters.get("tag");
  std::vector<std::string> keyspaces = parameters.all("keyspace");
  int64_t before = 0;
  if (auto refusal = parse_limit(*context, parameters, &before)) return std::move(*refusal);
  auto found = list(*context);
  if (!found.ok()) return failure(found.error());
  std::set<std::pair<std::string, std::string>> doomed;
  for (const SnapshotInfo& each : *found) {
    bool wanted = keyspaces.empty() || std::find(keyspaces.begin(), keyspaces.end(), each.keyspace) != keyspaces.end();
    if (wanted && (tag.empty() || each.tag == tag) && each.created_millis < before) {
      doomed.insert({each.keyspace, each.tag});
    }
  }
  Status first;
  for (const auto& [keyspace, name] : doomed) {
    Status status = clear_snapshot(context->runtime().disk, context->node.engine_options, keyspace, name);
    if (first.ok()) first = std::move(status);
  }
  return first.ok() ? Answer{} : failure(first.error());
}

}  // namespace cassandra_like::admin
