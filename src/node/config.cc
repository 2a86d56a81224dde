// Reads the YAML document key by key through the table of bindings, fills in the defaults that depend on the machine,
// then checks what no single key can show (Cassandra's DatabaseDescriptor does the same in the same order).
#include "node/config.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>

#include "admin/access.h"
#include "cql/schema/table_options.h"
#include "gossip/snitch.h"
#include "model/values.h"
#include "node/config_guardrails.h"
#include "node/config_keys.h"
#include "node/config_values.h"
#include "node/options.h"
#include "runtime/disk.h"
#include "storage/compaction/strategy/options.h"

namespace cassandra_like {
namespace {

// Cassandra's own keyspaces and tables, which the old names of two guardrails counted.
constexpr int kSystemKeyspaces = 5;
constexpr int kSystemTables = 48;
constexpr int kMaxTokens = 1536;
constexpr unsigned kMaxShards = 64;
constexpr Millis kLeastTimeout{10};

// Nested keys whose children are bound one by one. In an open one the children that we do not use pass unread.
struct Section {
  std::string_view name;
  bool open;
};
constexpr Section kSections[] = {
    {"sstable", true}, {"memtable", false}, {"client_encryption_options", true}, {"server_encryption_options", true}};

// Multicast, or the broadcast address: no host has it.
bool is_of_many(const std::string& address) {
  const auto parsed = parse_inet(address);
  if (!parsed.ok()) return false;
  const auto first = static_cast<uint8_t>(parsed->front());
  if (parsed->size() == 16) return first == 0xff;
  return (first & 0xf0) == 0xe0 || *parsed == Bytes(4, '\xff');
}

class ConfigParser {
 public:
  ConfigParser(std::string file, const HostFacts& host) : host_(host) { config_.file = std::move(file); }

  Result<Config> parse(std::string_view text) {
    TRY(read_document(text));
    TRY(read_overrides());
    derive_directories();
    derive_memory();
    derive_rest();
    TRY(resolve_addresses());
    derive_seeds();
    TRY(check_values());
    TRY(check_guardrails(config_));
    TRY(check_default_compaction());
    TRY(check_unsupported());
    TRY(check_addresses());
    TRY(check_directories());
    return std::move(config_);
  }

 private:
  Error fail(int line, const std::string& text) const {
    const std::string file = overriding_ ? "command line" : config_.file;
    return Error(ErrorCode::kConfigError, fmt::format("{}:{}: {}", file, line, text));
  }
  Error fail(const std::string& key, const std::string& text) const { return config_.error_at(key, text); }
  bool given(const std::string& key) const { return config_.given.contains(key); }

  Status read_document(std::string_view text) {
    // A quote that is not closed is found when nothing follows it, not even the end of the line.
    text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
    YAML::Node root;
    try {
      std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
      if (documents.size() > 1) {
        return fail(documents[1].Mark().line + 1, "Invalid yaml, a second document begins: remove the line '---'");
      }
      if (!documents.empty()) root = documents[0];
    } catch (const YAML::Exception& e) {
      return fail(e.mark.line + 1, fmt::format("Invalid yaml, {}: correct the line", e.msg));
    }
    if (root.IsNull()) return {};
    if (!root.IsMap()) return fail(1, "Invalid yaml, no list of keys: write 'key: value' lines");
    for (const auto& item : root) {
      if (!item.first.IsScalar()) return fail(item.first.Mark().line + 1, "a key is no string: write 'key: value'");
      TRY(read_key(item.first.Scalar(), item.second, item.first.Mark().line + 1));
    }
    return {};
  }

  // An override takes the place of what the file said.
  Status read_overrides() {
    for (const auto& [name, value] : host_.overrides) {
      overriding_ = true;
      config_.lines.erase(name);
      std::erase(config_.ignored_keys, name);
      YAML::Node node;
      try {
        node = YAML::Load(value);
      } catch (const YAML::Exception& e) {
        return fail(1, fmt::format("{}: Invalid yaml, {}: correct the value", name, e.msg));
      }
      TRY(read_key(name, node, 1));
    }
    overriding_ = false;
    return {};
  }

  Status read_key(const std::string& name, const YAML::Node& node, int line) {
    if (const ReplacedKey* old = find_replaced_key(name)) return read_old_key(*old, node, line);
    if (!config_.lines.emplace(name, line).second) return repeated(name, line);
    auto binding = config_bindings().find(name);
    if (binding != config_bindings().end()) return read_bound(name, binding->second, node, line);
    for (const Section& section : kSections) {
      if (section.name == name) return read_section(section, node, line);
      if (name.starts_with(section.name) && name[section.name.size()] == '.' && section.open) {
        config_.ignored_keys.push_back(name);
        return {};
      }
    }
    if (!is_cassandra_key(name.substr(0, name.find('.')))) return unknown(name, line);
    config_.ignored_keys.push_back(name);
    remember(name, node);
    return {};
  }

  Error repeated(const std::string& name, int line) const {
    for (const std::string& old_name : config_.old_names) {
      if (find_replaced_key(old_name)->new_name == name) return old_and_new(old_name, name, line);
    }
    return fail(line, name + ": stands here a second time: remove one");
  }

  Error old_and_new(std::string_view old_name, std::string_view new_name, int line) const {
    return fail(line, fmt::format("Config contains both old and new keys for the same configuration parameters, "
                                  "migrate old -> new: [{} -> {}]: remove the old one",
                                  old_name, new_name));
  }

  Status read_section(const Section& section, const YAML::Node& node, int line) {
    if (node.IsNull()) return {};
    if (!node.IsMap()) return fail(line, fmt::format("{}: is not a map: write its keys below it", section.name));
    for (const auto& item : node) {
      const std::string name = fmt::format("{}.{}", section.name, item.first.Scalar());
      const int child_line = item.first.Mark().line + 1;
      if (!section.open && !config_bindings().contains(name)) return unknown(name, child_line);
      TRY(read_key(name, item.second, child_line));
    }
    return {};
  }

  Error unknown(const std::string& name, int line) const {
    return fail(line, fmt::format("Invalid yaml. Please remove properties [{}] from your cassandra.yaml: no such key "
                                  "is known",
                                  name));
  }

  Status read_old_key(const ReplacedKey& old, const YAML::Node& node, int line) {
    const std::string new_name(old.new_name);
    if (config_.lines.contains(new_name)) return old_and_new(old.old_name, old.new_name, line);
    config_.old_names.emplace_back(old.old_name);
    if (node.IsNull() || old.unit.empty()) return read_key(new_name, node, line);
    double number = 0;
    if (!node.IsScalar() || !YAML::convert<double>::decode(node, number)) {
      return fail(line,
                  fmt::format("{}: is not a number: write a bare number, or {} with a unit", old.old_name, new_name));
    }
    if (number < 0 && old.negative == Negative::kAsIs && old.unit != "keyspaces" && old.unit != "tables") {
      return fail(line, fmt::format("{}: must not be negative: write 0 or more", old.old_name));
    }
    YAML::Node converted;  // null: not set
    if (number >= 0 || old.negative != Negative::kUnset) converted = with_unit(old, number);
    return read_key(new_name, converted, line);
  }

  static std::string with_unit(const ReplacedKey& old, double number) {
    auto whole = static_cast<int64_t>(number + (number < 0 ? -0.5 : 0.5));
    if (old.unit == "keyspaces") return std::to_string(whole - kSystemKeyspaces);
    if (old.unit == "tables") return std::to_string(whole - kSystemTables);
    if (old.unit == "megabits") return fmt::format("{}B/s", whole * 125000);
    if (old.negative == Negative::kZero) whole = std::max<int64_t>(whole, 0);
    return fmt::format("{}{}", whole, old.unit);
  }

  Status read_bound(const std::string& name, const ConfigBinding& binding, const YAML::Node& node, int line) {
    if (node.IsNull()) {
      if (binding.nullable) return {};
      return fail(line, name + ": has no value: write one, or remove the line for the default");
    }
    if (Problem problem = binding.read(node, config_)) return fail(line, name + ": " + *problem);
    if (!has_effect(name)) config_.ignored_keys.push_back(name);
    remember(name, node);
    return {};
  }

  void remember(const std::string& name, const YAML::Node& node) {
    config_.given[name] = node.IsScalar() ? node.Scalar() : "";
  }

  void derive_directories() {
    Config& c = config_;
    const std::string home = host_.storage_directory + "/";
    if (c.data_file_directories.empty()) c.data_file_directories = {home + "data"};
    if (c.commitlog_directory.empty()) c.commitlog_directory = home + "commitlog";
    if (c.saved_caches_directory.empty()) c.saved_caches_directory = home + "saved_caches";
    if (c.hints_directory.empty()) c.hints_directory = home + "hints";
    if (c.cdc_raw_directory.empty()) c.cdc_raw_directory = home + "cdc_raw";
  }

  // Where Cassandra takes a share of the Java heap, we take it of the heap that its start script would choose.
  void derive_memory() {
    Config& c = config_;
    const uint64_t heap = std::max(std::min(host_.memory_bytes / 2, kGiB), std::min(host_.memory_bytes / 4, 8 * kGiB));
    if (!given("memtable_heap_space") && !given("memtable_offheap_space")) {
      const uint64_t space = std::min(host_.memory_bytes / 4, kGiB);
      c.memtable_heap_space = c.memtable_offheap_space = std::max(space / 2, kMiB);
    }
    auto derive = [&](const char* key, uint64_t& field, uint64_t value) {
      if (!given(key)) field = value;
    };
    derive("native_transport_max_request_data_in_flight", c.native_transport_max_request_data_in_flight, heap / 10);
    derive("native_transport_max_request_data_in_flight_per_ip", c.native_transport_max_request_data_in_flight_per_ip,
           heap / 40);
    derive("native_transport_max_message_size", c.native_transport_max_message_size,
           std::min({c.native_transport_max_frame_size, c.native_transport_max_request_data_in_flight,
                     c.native_transport_max_request_data_in_flight_per_ip}));
    derive("prepared_statements_cache_size", c.prepared_statements_cache_size, std::max(10 * kMiB, heap / 256));
    derive("key_cache_size", c.key_cache_size, std::clamp(heap / 20, kMiB, 100 * kMiB));
    derive("counter_cache_size", c.counter_cache_size, std::clamp(heap / 40, kMiB, 50 * kMiB));
    // One mutation may have 16 MiB, and is read again.
    c.row_memory = std::max(host_.memory_bytes / 4, 32 * kMiB);
    // Cassandra stops at 512 MiB, since its chunks lie beside a Java heap.
    derive("file_cache_size", c.file_cache_size, host_.memory_bytes / 8);
    derive("max_mutation_size", c.max_mutation_size, c.commitlog_segment_size / 2);
  }

  void derive_rest() {
    Config& c = config_;
    if (!given("shards")) c.shards = std::clamp(host_.cores, 1u, kMaxShards);
    if (!given("commitlog_sync_period") && c.commitlog_sync != CommitLogSync::kPeriodic)
      c.commitlog_sync_period = Millis{0};
    if (!given("periodic_commitlog_sync_lag_block")) {
      c.periodic_commitlog_sync_lag_block = c.commitlog_sync_period * 3 / 2;
    }
    if (!c.num_tokens && c.initial_token.size() <= 1) c.num_tokens = 1;
    if (!given("rpc_address")) c.rpc_address = c.listen_address;
    for (auto [name, timeout] : {std::pair{"read_request_timeout", &c.read_request_timeout},
                                 {"range_request_timeout", &c.range_request_timeout},
                                 {"request_timeout", &c.request_timeout},
                                 {"write_request_timeout", &c.write_request_timeout},
                                 {"cas_contention_timeout", &c.cas_contention_timeout},
                                 {"counter_write_request_timeout", &c.counter_write_request_timeout},
                                 {"truncate_request_timeout", &c.truncate_request_timeout}}) {
      if (*timeout >= kLeastTimeout) continue;
      c.warnings.push_back(fmt::format("found {}::{}ms less than lowest acceptable value 10ms, continuing with 10ms",
                                       name, timeout->count()));
      *timeout = kLeastTimeout;
    }
  }

  Status resolve_addresses() {
    Config& c = config_;
    for (auto [key, address] : {std::pair{"listen_address", &c.listen_address},
                                {"rpc_address", &c.rpc_address},
                                {"admin_address", &c.admin_address},
                                {"broadcast_address", &c.broadcast_address},
                                {"broadcast_rpc_address", &c.broadcast_rpc_address}}) {
      const bool is_unset = address->empty() && std::string_view(key).starts_with("broadcast_");
      if (is_unset || parse_inet(*address).ok()) continue;
      std::string found = *address == "localhost" ? "127.0.0.1" : host_.resolve ? host_.resolve(*address) : "";
      if (found.empty()) {
        return fail(key,
                    fmt::format("Unknown host '{}': write an address, or a name that this machine knows", *address));
      }
      if (address == &c.admin_address) c.admin_host_name = *address;
      *address = std::move(found);
    }
    return {};
  }

  void derive_seeds() {
    Config& c = config_;
    if (c.seed_provider.class_name.empty()) {
      c.seed_provider = {"org.apache.cassandra.locator.SimpleSeedProvider",
                         {{"seeds", c.effective_broadcast_address()}}};
    }
    const std::string& list = c.seed_provider.parameters["seeds"];
    for (size_t at = 0; at < list.size();) {
      const size_t end = std::min(list.find(',', at), list.size());
      std::string seed = list.substr(at, end - at);
      std::erase(seed, ' ');
      if (seed == "localhost") seed = "127.0.0.1";
      if (!seed.empty()) c.seeds.push_back(seed);
      at = end + 1;
    }
  }

  Status check_values() {
    const Config& c = config_;
    const bool has_passwords = c.authenticator.short_name() == "PasswordAuthenticator";
    if (Status fit = admin::check_address(c.admin_address, has_passwords); !fit.ok()) {
      return fail("admin_address", fit.error().message());
    }
    if (c.commitlog_sync == CommitLogSync::kBatch && c.commitlog_sync_period != Millis{0}) {
      return fail("commitlog_sync_period", "Batch sync specified, but commitlog_sync_period found: remove it");
    }
    if (c.commitlog_sync == CommitLogSync::kGroup && c.commitlog_sync_period != Millis{0}) {
      return fail("commitlog_sync_period",
                  "Group sync specified, but commitlog_sync_period found: remove it, and "
                  "specify commitlog_sync_group_window");
    }
    if (c.commitlog_sync == CommitLogSync::kGroup && c.commitlog_sync_group_window == Millis{0}) {
      return fail("commitlog_sync", "Missing value for commitlog_sync_group_window: write one, as 10ms");
    }
    if (c.commitlog_sync == CommitLogSync::kPeriodic && c.commitlog_sync_period == Millis{0}) {
      return fail("commitlog_sync_period", "Missing value for commitlog_sync_period: write one, as 10000ms");
    }
    if (c.phi_convict_threshold < 5 || c.phi_convict_threshold > 16) {
      return fail("phi_convict_threshold",
                  fmt::format("must be between 5 and 16, but was {:.1f}: write 8", c.phi_convict_threshold));
    }
    if (c.memtable_space() == 0) return fail("memtable_heap_space", "must be positive, but was 0: write a size");
    if (c.commitlog_segment_size == 0 || c.commitlog_segment_size >= 2048 * kMiB) {
      return fail("commitlog_segment_size", "must be from 1MiB to 2047MiB: write 32MiB");
    }
    if (c.commitlog_segment_size < 2 * c.max_mutation_size) {
      return fail("max_mutation_size", "must be at most half of commitlog_segment_size: raise that, or lower this");
    }
    if (c.max_value_size == 0 || c.max_value_size >= 2048 * kMiB) {
      return fail("max_value_size", "must be from 1MiB to 2047MiB: write 256MiB");
    }
    if (c.native_transport_max_frame_size == 0 || c.native_transport_max_frame_size >= 2048 * kMiB) {
      return fail("native_transport_max_frame_size", "must be from 1MiB to 2047MiB: write 16MiB");
    }
    if (c.native_transport_max_message_size > c.native_transport_max_request_data_in_flight ||
        c.native_transport_max_message_size > c.native_transport_max_request_data_in_flight_per_ip) {
      return fail("native_transport_max_message_size",
                  "must not exceed native_transport_max_request_data_in_flight nor its _per_ip: lower it");
    }
    if (c.shards < 1 || c.shards > kMaxShards) {
      return fail("shards",
                  fmt::format("must be from 1 to {}, but was {}: leave it out for one a core", kMaxShards, c.shards));
    }
    TRY(check_denylist());
    return check_tokens();
  }

  Status check_denylist() const {
    for (const auto& [key, keys] : {std::pair{"denylist_max_keys_per_table", config_.denylist_max_keys_per_table},
                                    std::pair{"denylist_max_keys_total", config_.denylist_max_keys_total}}) {
      if (keys < 1) return fail(key, fmt::format("must be a positive integer, but was {}: write 1000", keys));
    }
    for (const auto& [key, time] : {std::pair{"denylist_refresh", config_.denylist_refresh},
                                    std::pair{"denylist_initial_load_retry", config_.denylist_initial_load_retry}}) {
      if (time.count() < 1) return fail(key, "must be positive, but was 0s: write 5s or more");
    }
    return {};
  }

  Status check_default_compaction() const {
    if (config_.default_compaction.class_name.empty()) return {};
    auto refuse = [this](const Error& error) {
      return fail("default_compaction", error.message() + ": write what CREATE TABLE takes for compaction");
    };
    const Result<StringPairs> map = normal_compaction(cql_options(config_).default_compaction);
    if (!map.ok()) return refuse(map.error());
    const Result<CompactionOptions> options = parse_compaction_options(*map);
    return options.ok() ? Status() : refuse(options.error());
  }

  Status check_tokens() {
    const Config& c = config_;
    if (!c.num_tokens) return fail("initial_token", "initial_token was set but num_tokens is not: set num_tokens");
    if (*c.num_tokens < 1 || *c.num_tokens > kMaxTokens) {
      return fail("num_tokens", fmt::format("must be from 1 to {}, but was {}: write 16", kMaxTokens, *c.num_tokens));
    }
    if (!c.initial_token.empty() && c.initial_token.size() != static_cast<size_t>(*c.num_tokens)) {
      return fail("initial_token", fmt::format("The number of initial tokens (by initial_token) specified ({}) is "
                                               "different from num_tokens value ({}): make them equal",
                                               c.initial_token.size(), *c.num_tokens));
    }
    if (c.default_keyspace_rf < 1 || c.default_keyspace_rf < c.guardrails.minimum_replication_factor_fail_threshold) {
      return fail("default_keyspace_rf", fmt::format("must be positive and not less than "
                                                     "minimum_replication_factor_fail_threshold, but was {}: raise it",
                                                     c.default_keyspace_rf));
    }
    return {};
  }

  // An option that would change a promise of the node is refused; one that only would not happen is a warning.
  Status check_unsupported() {
    Config& c = config_;
    auto one_of = [this](const std::string& key, const std::string& name,
                         std::initializer_list<std::string_view> known) -> Status {
      std::string all;
      for (std::string_view each : known) {
        if (name.substr(name.rfind('.') + 1) == each) return {};
        all += (all.empty() ? "" : " or ") + std::string(each);
      }
      return fail(key, fmt::format("{} is not supported yet: write {}", name, all));
    };
    TRY(one_of("partitioner", c.partitioner, {"Murmur3Partitioner"}));
    TRY(one_of("authenticator", c.authenticator.class_name, {"AllowAllAuthenticator", "PasswordAuthenticator"}));
    TRY(one_of("authorizer", c.authorizer.class_name, {"AllowAllAuthorizer"}));
    TRY(one_of("role_manager", c.role_manager.class_name, {"CassandraRoleManager"}));
    TRY(one_of("seed_provider", c.seed_provider.class_name, {"SimpleSeedProvider"}));
    TRY(one_of("endpoint_snitch", c.endpoint_snitch,
               {"SimpleSnitch", "GossipingPropertyFileSnitch", "PropertyFileSnitch", "RackInferringSnitch"}));
    TRY(one_of("internode_authenticator", c.internode_authenticator.class_name, {"AllowAllInternodeAuthenticator"}));
    TRY(one_of("internode_compression", c.internode_compression, {"none", "dc", "all"}));
    TRY(one_of("batchlog_endpoint_strategy", c.batchlog_endpoint_strategy,
               {"random_remote", "prefer_local", "dynamic_remote", "dynamic"}));
    TRY(one_of("sstable.selected_format", c.sstable_selected_format, {"big", "bti"}));
    TRY(one_of("server_encryption_options.internode_encryption", c.internode_encryption, {"none"}));
    if (c.client_encryption_enabled) {
      return fail("client_encryption_options.enabled", "TLS for clients is not supported yet: write false");
    }
    for (const char* key : {"listen_interface", "rpc_interface"}) {
      if (!given(key)) continue;
      const std::string address = std::string(key).substr(0, std::string(key).find('_')) + "_address";
      return fail(key, fmt::format("is not supported yet: write {} instead", address));
    }
    if (given("sstable.selected_format") && c.sstable_selected_format == "bti" && given("storage_compatibility_mode") &&
        c.storage_compatibility_mode == StorageCompatibilityMode::kCassandra4) {
      return fail("sstable.selected_format", "bti is not available in storage_compatibility_mode CASSANDRA_4");
    }
    c.uuid_sstable_identifiers_given = given("uuid_sstable_identifiers_enabled");
    if (c.cdc_enabled)
      c.warnings.emplace_back("cdc_enabled: change data capture is not supported yet, no file is kept for it");
    if (c.commitlog_compression)
      c.warnings.emplace_back("commitlog_compression is not supported yet, segments stay uncompressed");
    return {};
  }

  Status check_addresses() {
    const Config& c = config_;
    auto is_any = [](const std::string& a) { return a == "0.0.0.0" || a == "::" || a == "0:0:0:0:0:0:0:0"; };
    for (auto [key, address] : {std::pair{"listen_address", &c.listen_address},
                                {"broadcast_address", &c.broadcast_address},
                                {"broadcast_rpc_address", &c.broadcast_rpc_address}}) {
      if (is_any(*address)) {
        return fail(key,
                    fmt::format("cannot be a wildcard address ({})!: write the address that others use", *address));
      }
    }
    if (is_any(c.rpc_address) && c.broadcast_rpc_address.empty()) {
      return fail("rpc_address",
                  fmt::format("is a wildcard address ({}): set broadcast_rpc_address to the address that "
                              "clients use",
                              c.rpc_address));
    }
    for (auto [key, address] : {std::pair{"listen_address", &c.listen_address},
                                {"rpc_address", &c.rpc_address},
                                {"admin_address", &c.admin_address},
                                {"broadcast_address", &c.broadcast_address},
                                {"broadcast_rpc_address", &c.broadcast_rpc_address}}) {
      if (!address->empty() && is_of_many(*address)) {
        return fail(key,
                    fmt::format("is a multicast or broadcast address ({}): write the address of one host", *address));
      }
    }
    if (c.seeds.empty()) return fail("seed_provider", "The seed provider lists no seeds: write one below parameters");
    return {};
  }

  Status check_directories() {
    const Config& c = config_;
    std::vector<std::pair<std::string, std::string>> seen;
    auto distinct = [&](const std::string& key, const std::string& path) -> Status {
      if (path.empty()) return {};
      if (std::any_of(path.begin(), path.end(), [](unsigned char byte) { return byte < ' ' || byte == 0x7F; })) {
        return fail(key, "must not contain control characters: write another");
      }
      for (const auto& [other, other_path] : seen) {
        if (path == other_path) return fail(key, fmt::format("must not be the same as {}: write another", other));
      }
      seen.emplace_back(key, path);
      return {};
    };
    for (const std::string& path : c.data_file_directories) {
      if (path.empty()) return fail("data_file_directories", "must not contain an empty entry: remove it");
      TRY(distinct("data_file_directories", path));
    }
    TRY(distinct("local_system_data_file_directory", c.local_system_data_file_directory));
    TRY(distinct("commitlog_directory", c.commitlog_directory));
    TRY(distinct("hints_directory", c.hints_directory));
    return distinct("saved_caches_directory", c.saved_caches_directory);
  }

  const HostFacts& host_;
  Config config_;
  bool overriding_ = false;  // what is read now is not from the file
};

Result<std::string> read_text(Disk& disk, const std::string& path) {
  ASSIGN_OR_RETURN(auto file, disk.open(path));
  std::string text(file->size(), '\0');
  TRY(file->read(0, text));
  return text;
}

// Datacenter and rack of this node as the snitches decide that need no file, or cassandra-topology.properties.
Status place_by_snitch(Config& config, const std::function<Result<std::string>(const std::string&)>& read) {
  const std::string snitch = config.endpoint_snitch.substr(config.endpoint_snitch.rfind('.') + 1);
  const auto local = InetAddressAndPort::parse(config.effective_broadcast_address(), config.storage_port);
  if (!local || snitch == "SimpleSnitch") return {};
  NodeLocation place{config.data_center, config.rack};
  if (snitch == "RackInferringSnitch") place = inferred_location(*local);
  auto topology = read("cassandra-topology.properties");
  if (topology.ok()) config.topology_properties = std::move(*topology);
  if (snitch == "PropertyFileSnitch") {
    if (!topology.ok()) {
      return config.error_at("endpoint_snitch", topology.error().message() + ": write ADDRESS=DATACENTER:RACK into it");
    }
    auto places = TopologyProperties::parse(config.topology_properties, *local);
    if (!places.ok()) return config.error_at("endpoint_snitch", places.error().message());
    if (auto found = places->location(*local)) place = *found;
  }
  config.data_center = place.datacenter;
  config.rack = place.rack;
  return {};
}

}  // namespace

Error Config::error_at(const std::string& key, const std::string& text) const {
  auto it = lines.find(key);
  return Error(ErrorCode::kConfigError,
               fmt::format("{}:{}: {}: {}", file, it == lines.end() ? 1 : it->second, key, text));
}

std::vector<std::pair<std::string, std::string>> Config::settings() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, binding] : config_bindings()) {
    auto it = given.find(name);
    out.emplace_back(name, it != given.end() && !it->second.empty() ? it->second : binding.show(*this));
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> Config::settings_with(const Guardrails& now) const {
  Config changed = *this;
  changed.guardrails = now;
  auto out = settings();
  for (auto& [name, value] : out) {
    const ConfigBinding& binding = config_bindings().find(name)->second;
    std::string shown = binding.show(changed);
    if (shown != binding.show(*this)) value = std::move(shown);
  }
  return out;
}

Result<Config> parse_config(std::string_view text, const std::string& file, const HostFacts& host) {
  return ConfigParser(file, host).parse(text);
}

Result<Config> load_config(Disk& disk, const std::string& path, const HostFacts& host) {
  const std::string inside = path + (path.ends_with('/') ? "" : "/") + "cassandra.yaml";
  const std::string& file = disk.exists(inside) ? inside : path;
  auto text = read_text(disk, file);
  if (!text.ok()) {
    return Error(ErrorCode::kConfigError,
                 fmt::format("{}:1: {}: name a readable file with -c", file, text.error().message()));
  }
  ASSIGN_OR_RETURN(Config config, parse_config(*text, file, host));
  if (config.endpoint_snitch.ends_with("GossipingPropertyFileSnitch")) {
    const size_t slash = file.rfind('/');
    const std::string beside = slash == std::string::npos ? "" : file.substr(0, slash + 1);
    const std::string rackdc = beside + "cassandra-rackdc.properties";
    auto properties = read_text(disk, rackdc);
    if (!properties.ok()) {
      return Error(ErrorCode::kConfigError,
                   fmt::format("{}:1: {}: write dc=NAME and rack=NAME into it", rackdc, properties.error().message()));
    }
    TRY(apply_rackdc(config, *properties, rackdc));
  }
  TRY(place_by_snitch(config, [&disk, &file](const std::string& name) {
    const size_t slash = file.rfind('/');
    return read_text(disk, (slash == std::string::npos ? "" : file.substr(0, slash + 1)) + name);
  }));
  return config;
}

Status apply_rackdc(Config& config, std::string_view text, const std::string& file) {
  auto properties = parse_rackdc(text);
  if (!properties.ok()) {
    return Error(ErrorCode::kConfigError,
                 fmt::format("{}:1: {}: write dc=NAME and rack=NAME", file, properties.error().message()));
  }
  config.data_center = properties->location.datacenter;
  config.rack = properties->location.rack;
  return {};
}

}  // namespace cassandra_like
