#include "coordinator/denylist.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/log.h"
#include "schema/internal_table.h"

namespace cassandra_like {
namespace {

// The cluster would not work without these (PartitionDenylist.canDenylistKeyspace).
bool may_be_denied(std::string_view keyspace) {
  constexpr std::array<std::string_view, 6> kNever{"system_distributed",    "system",       "system_traces",
                                                   "system_virtual_schema", "system_views", "system_auth"};
  return std::find(kNever.begin(), kNever.end(), keyspace) == kNever.end();
}

// DecoratedKey.toString
std::string to_text(const DecoratedKey& key) { return fmt::format("DecoratedKey({}, {})", key.token, to_hex(key.key)); }

// AbstractBounds as the pager of a range makes it: a range of the ring, or what lies behind a row or a partition of it.
// Without a condition on tokens and keys, the bounds are not part of the range.
std::string to_text(const ReadCommand& command) {
  const KeyRange& range = *command.range;
  const bool has_end = range.end.compare(RingPosition::maximum()) < 0;
  const bool is_continued = range.start.kind == RingPosition::Kind::kKey;
  const bool is_whole = !has_end && (is_continued || range.start.compare(RingPosition::minimum()) == 0);
  const bool has_condition = std::any_of(command.filter.begin(), command.filter.end(), [](const FilterExpression& f) {
    return f.column->kind == ColumnKind::kPartitionKey;
  });
  return fmt::format("token range: {}{}, {}{}", is_continued && range.start_inclusive ? '[' : '(', range.start.token,
                     has_end ? range.end.token : kMinimumToken, is_whole && !has_condition ? ')' : ']');
}

size_t count_in(const std::vector<Token>& tokens, const KeyRange& range) {
  using Kind = RingPosition::Kind;
  const Token from = range.start.token, to = range.end.token;
  auto first = range.start.kind == Kind::kTokenStart ? std::lower_bound(tokens.begin(), tokens.end(), from)
                                                     : std::upper_bound(tokens.begin(), tokens.end(), from);
  auto last = range.end.kind == Kind::kTokenEnd ? std::upper_bound(tokens.begin(), tokens.end(), to)
                                                : std::lower_bound(tokens.begin(), tokens.end(), to);
  return first < last ? static_cast<size_t>(last - first) : 0;
}

ReadCommand read_of(TablePtr table, int64_t now_seconds) {
  ReadCommand command;
  command.table = std::move(table);
  command.now_seconds = now_seconds;
  command.wants_static = false;
  return command;
}

}  // namespace

// ---- Requests

Task<Status> Denylist::check(std::span<const Mutation> mutations) {
  if (!options_.writes) return Status();
  return check_mutations(mutations);
}

Task<Status> Denylist::check(const ReadCommand& command) {
  if (!may_be_denied(command.table->keyspace)) return Status();
  if (command.range) return options_.range_reads ? check_range(&command) : Task<Status>(Status());
  return options_.reads ? check_keys(&command) : Task<Status>(Status());
}

Task<Status> Denylist::check_mutations(std::span<const Mutation> mutations) {
  for (const Mutation& mutation : mutations) {
    for (const PartitionUpdate& update : mutation.updates) {
      if (!may_be_denied(update.table->keyspace)) continue;
      TablePtr table = schema_.current()->table(update.table->id);
      if (table == nullptr) continue;
      Task<std::shared_ptr<const Keys>> finding = keys_of(table);
      const std::shared_ptr<const Keys> denied = co_await finding;
      if (denied == nullptr || !denied->keys.contains(mutation.key.key)) continue;
      ++statistics_.denied_writes;
      co_return invalid(fmt::format("Unable to write to denylisted partition [0x{}] in {}/{}", to_text(mutation.key),
                                    table->keyspace, table->name));
    }
  }
  co_return Status();
}

Task<Status> Denylist::check_keys(const ReadCommand* command) {
  Task<std::shared_ptr<const Keys>> finding = keys_of(command->table);
  const std::shared_ptr<const Keys> denied = co_await finding;
  if (denied == nullptr || denied->keys.empty()) co_return Status();
  for (const DecoratedKey& key : command->keys) {
    if (!denied->keys.contains(key.key)) continue;
    ++statistics_.denied_reads;
    co_return invalid(fmt::format("Unable to read denylisted partition [0x{}] in {}/{}", to_text(key),
                                  command->table->keyspace, command->table->name));
  }
  co_return Status();
}

Task<Status> Denylist::check_range(const ReadCommand* command) {
  Task<std::shared_ptr<const Keys>> finding = keys_of(command->table);
  const std::shared_ptr<const Keys> denied = co_await finding;
  if (denied == nullptr) co_return Status();
  const size_t count = count_in(denied->tokens, *command->range);
  if (count == 0) co_return Status();
  ++statistics_.denied_range_reads;
  co_return invalid(fmt::format("Attempted to read a range containing {} denylisted keys in {}/{}. Range read: {}",
                                count, command->table->keyspace, command->table->name, to_text(*command)));
}

// ---- The keys of a table

Task<std::shared_ptr<const Denylist::Keys>> Denylist::keys_of(TablePtr table) {
  auto it = known_.find(table->id);
  if (it == known_.end()) {
    co_await first_reads_.lock();
    AsyncMutex::Guard guard(first_reads_);
    it = known_.find(table->id);
    if (it == known_.end()) {
      can_read_all();
      Task<std::shared_ptr<const Keys>> reading = read_keys(table, options_.max_keys_per_table);
      std::shared_ptr<const Keys> keys = co_await reading;
      known_[table->id] = {keys, runtime_.clock.monotonic_nanos()};
      co_return keys;
    }
  }
  Known& known = it->second;
  const bool is_due = runtime_.clock.monotonic_nanos() - known.read_at >= options_.refresh.count();
  std::shared_ptr<const Keys> keys = known.keys;
  if (is_due && !known.is_refreshed && refreshes_.enter()) {
    known.is_refreshed = true;
    spawn(refresh(table));
  }
  co_return keys;
}

Task<void> Denylist::refresh(TablePtr table) {
  std::shared_ptr<const Keys> keys;
  if (can_read_all()) {
    Task<std::shared_ptr<const Keys>> reading = read_keys(table, options_.max_keys_per_table);
    keys = co_await reading;
  }
  Known& known = known_[table->id];
  known.read_at = runtime_.clock.monotonic_nanos();
  known.is_refreshed = false;
  if (keys != nullptr) known.keys = std::move(keys);
  refreshes_.leave();
}

bool Denylist::can_read_all() {
  const TablePtr table = denylist_table();
  if (table != nullptr && reader_.can_read_all(*table, options_.consistency)) return true;
  if (availability_log_.take(runtime_.clock.monotonic_nanos())) {
    LOG_WARN(
        "Attempting to load denylist and not enough nodes are available for a {} refresh. Reload the denylist when "
        "unavailable nodes are recovered to ensure your denylist remains in sync.",
        consistency_name(options_.consistency));
  }
  return false;
}

// Null when the table is gone. No keys when they could not be read.
Task<std::shared_ptr<const Denylist::Keys>> Denylist::read_keys(TablePtr table, size_t limit) {
  const TablePtr denylist = denylist_table();
  if (denylist == nullptr || schema_.current()->table(table->id) == nullptr) co_return nullptr;
  ReadCommand command = read_of(denylist, runtime_.clock.wall_seconds());
  const std::array<BytesView, 2> names{table->keyspace, table->name};
  const Bytes key = serialize_partition_key(names);
  command.keys = {DecoratedKey::of(key)};
  // One more tells that there are too many.
  command.limits.rows = limit + 1;
  InternalRows rows(denylist);
  Task<Result<ReadStatistics>> reading = reader_.read(command, options_.consistency, rows);
  const Result<ReadStatistics> read = co_await reading;
  auto keys = std::make_shared<Keys>();
  if (!read.ok()) {
    LOG_ERROR("Error reading partition_denylist table for {}/{}. Returning empty denylist. {}", table->keyspace,
              table->name, read.error().message());
    co_return keys;
  }
  if (rows.rows.size() > limit) {
    const bool is_global = limit != options_.max_keys_per_table;
    LOG_ERROR(
        "Partition denylist for {}/{} has exceeded the {} allowance of ({}). Remaining keys were ignored; please "
        "reduce "
        "the total number of keys denied or increase the denylist_max_keys_per_table param in cassandra.yaml to avoid "
        "inconsistency in denied partitions across nodes.",
        table->keyspace, table->name, is_global ? "global" : "per-table", is_global ? options_.max_keys_total : limit);
    rows.rows.resize(limit);
  }
  for (const InternalRow& row : rows.rows) {
    keys->keys.insert(row.get("key"));
    keys->tokens.push_back(murmur3_token(row.get("key")));
  }
  std::sort(keys->tokens.begin(), keys->tokens.end());
  keys->tokens.erase(std::unique(keys->tokens.begin(), keys->tokens.end()), keys->tokens.end());
  co_return keys;
}

// ---- All tables

Task<std::optional<Denylist::KeysByTable>> Denylist::load() {
  if (!can_read_all()) co_return std::nullopt;
  const int64_t began = runtime_.clock.monotonic_nanos();
  const TablePtr denylist = denylist_table();
  ReadCommand command = read_of(denylist, runtime_.clock.wall_seconds());
  command.range = KeyRange{};
  command.limits.per_partition = 1;
  InternalRows tables(denylist);
  Task<Result<ReadStatistics>> reading = reader_.read(command, options_.consistency, tables);
  const Result<ReadStatistics> read = co_await reading;
  KeysByTable all;
  if (!read.ok()) {
    LOG_ERROR(
        "Error reading full partition denylist from system_distributed.partition_denylist. Partition Denylisting will "
        "be "
        "compromised. Exception: {}",
        read.error().message());
    tables.rows.clear();
  }
  size_t total = 0;
  for (const InternalRow& row : tables.rows) {
    const TablePtr table = schema_.current()->table(row.get("ks_name"), row.get("table_name"));
    if (table == nullptr) continue;
    if (total >= options_.max_keys_total) {
      LOG_ERROR(
          "Hit limit on allowable denylisted keys in total. Processed {} total entries. Not adding all entries to "
          "denylist "
          "for {}/{}. Remove denylist entries in system_distributed.partition_denylist or increase your "
          "denylist_max_keys_total param in cassandra.yaml.",
          total, table->keyspace, table->name);
      all[table->id] = std::make_shared<Keys>();
      continue;
    }
    const size_t limit = std::min(options_.max_keys_per_table, options_.max_keys_total - total);
    Task<std::shared_ptr<const Keys>> reading_keys = read_keys(table, limit);
    const std::shared_ptr<const Keys> keys = co_await reading_keys;
    if (keys != nullptr) total += keys->keys.size();
    all[table->id] = keys;
  }
  LOG_INFO("Loaded partition denylist cache in {}ms", (runtime_.clock.monotonic_nanos() - began) / 1'000'000);
  co_return all;
}

void Denylist::use(KeysByTable keys) {
  known_.clear();
  const int64_t now = runtime_.clock.monotonic_nanos();
  for (auto& [table, of_table] : keys) known_[table] = {std::move(of_table), now};
}

}  // namespace cassandra_like
