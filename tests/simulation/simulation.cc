#include "tests/simulation/simulation.h"

#include <fmt/format.h>

#include "base/log.h"
#include "model/values.h"
#include "node/cluster_node.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/simulated_client.h"
#include "tests/simulation/wide_rows.h"

namespace cassandra_like {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kAddress[] = "127.0.0.1";
constexpr int kKeys = 40;
constexpr int64_t kGroups = 5;  // values of the indexed column
// No write is on its way for as long: what is purged then is never hidden from one that comes late.
constexpr int64_t kGraceSeconds = 10;
constexpr int64_t kPeriodNanos = 200'000'000;  // commitlog_sync_period in periodic mode

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options)
      : options_(options), world_(SimWorld::create(options.seed)), machine_(world_->add_machine(kAddress)) {
    shards_ = 1 + static_cast<unsigned>(random(4));
    mode_ = options.plant_early_acknowledgement ? "batch" : pick({"batch", "group", "periodic"});
    memtable_kib_ = 256 << random(4);
    truncates_ = chance(50);
    compacts_ = chance(75);
    compaction_ = chance(60) ? pick_compaction() : "";
    ttl_percent_ = 25 * random(4);
    indexed_ = chance(50);
    logged_ = chance(90);
    drops_ = chance(40);
    for (int i = 0; i < 2; ++i) {
      auto& client_machine = world_->add_machine(fmt::format("127.0.1.{}", i + 1));
      clients_.push_back(
          std::make_unique<SimulatedClient>(client_machine, SocketAddress{kAddress, 9042}, 3 + random(3)));
    }
  }

  SimulationResult run() {
    result_.description =
        fmt::format("{} shards, {}, memtables {} KiB, {} % with a TTL{}{}", shards_, mode_, memtable_kib_, ttl_percent_,
                    compacts_ ? ", compactions" : "", compaction_.empty() ? "" : ", automatic ones: " + compaction_) +
        (indexed_ ? ", an index" : "") + (logged_ ? "" : ", no log") + (drops_ ? ", drops" : "") +
        (options_.seed % 3 == 0 ? ", numbers as ids" : "") + (options_.seed % 4 == 0 ? ", two data directories" : "");
    if (start_node() && create_schema()) {
      for (int round = 0; round < options_.rounds && result_.failure.empty(); ++round) {
        load();
        if (result_.failure.empty()) end_life();
        if (result_.failure.empty() && start_node()) check_everything();
      }
      if (result_.failure.empty() && chance(30)) live_with_damage();
    }
    for (auto& client : clients_) client->stop();
    machine_.shut_down();
    node_.reset();
    result_.steps = world_->steps();
    result_.trace_hash = world_->trace_hash();
    result_.acknowledged = checker_.acknowledged_count();
    result_.truncations = checker_.truncations_acknowledged();
    return result_;
  }

 private:
  uint64_t random(uint64_t bound) { return world_->random().below(bound); }
  bool chance(uint64_t percent) { return random(100) < percent; }
  std::string pick(std::vector<std::string> choices) { return choices[random(choices.size())]; }
  // For table s.t, with sizes that its few bytes reach.
  std::string pick_compaction() {
    return pick({"{'class': 'SizeTieredCompactionStrategy', 'min_threshold': 2}",
                 "{'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 1}",
                 "{'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'MINUTES', "
                 "'compaction_window_size': 1, 'timestamp_resolution': 'MILLISECONDS', "
                 "'expired_sstable_check_frequency_seconds': 1}",
                 "{'class': 'UnifiedCompactionStrategy', 'scaling_parameters': 'N', 'min_sstable_size': '0B', "
                 "'base_shard_count': 2, 'expired_sstable_check_frequency_seconds': 1}"});
  }
  int64_t now() { return world_->clock().monotonic_nanos(); }
  int64_t wall_seconds() { return world_->clock().wall_micros() / 1'000'000; }
  void fail(std::string what) {
    if (result_.failure.empty()) result_.failure = std::move(what);
  }
  void say(const std::string& text) {
    if (options_.verbose) fmt::print(stderr, "[{:>10.3f} s] {}\n", static_cast<double>(now()) / 1e9, text);
  }

  // --- The node ---

  std::vector<std::string> data_directories() const {
    std::vector<std::string> directories{"/data", "/more"};
    if (options_.seed % 4 != 0) directories.pop_back();
    return directories;
  }

  Config make_config() {
    // The planted bug: periodic acknowledgements where the checker expects batch ones.
    std::string mode = options_.plant_early_acknowledgement ? "periodic" : mode_;
    std::string text = fmt::format(
        "cluster_name: simulation\ndata_file_directories: [{2}]\ncommitlog_directory: /commitlog\n"
        "hints_directory: /hints\nsaved_caches_directory: /caches\ncdc_raw_directory: /cdc\n"
        "listen_address: {0}\nrpc_address: {0}\nnum_tokens: 4\n"
        "commitlog_sync: {1}\ncommitlog_segment_size: 1MiB\n",
        kAddress, mode, fmt::join(data_directories(), ", "));
    if (mode == "periodic") text += "commitlog_sync_period: 200ms\n";
    if (mode == "group") text += "commitlog_sync_group_window: 15ms\n";
    if (options_.seed % 3 == 0) text += "uuid_sstable_identifiers_enabled: false\n";
    if (options_.seed % 2 == 0) text += "file_cache_enabled: false\n";
    if (!damaged_.empty()) text += "disk_failure_policy: stop\n";
    HostFacts host;
    host.cores = shards_;
    auto config = parse_config(text, "simulation", host);
    if (!config.ok()) fmt::print(stderr, "{}\n", config.error().message());
    CHECK(config.ok());
    config->shards = shards_;
    config->memtable_heap_space = config->memtable_offheap_space = memtable_kib_ * 1024;
    config->autocompaction_on_startup_enabled = !compaction_.empty();
    config->compaction_throughput = 1 << 20;
    return *config;
  }

  static Task<void> start_task(Simulation* self, Runtime* runtime) {
    ClusterNodeHooks hooks;
    hooks.serve_admin = false;
    hooks.on_stop_requested = [self](const Status& reason) {
      self->say("the node wants to stop: " + (reason.ok() ? "asked" : reason.error().message()));
      self->stop_requested_ = true;
    };
    auto started = co_await ClusterNode::start(runtime, self->make_config(), std::move(hooks));
    if (!started.ok() && !self->damaged_.empty()) {
      self->say("the node does not start: " + started.error().message());
      if (started.error().message().find(self->damaged_) == std::string::npos)
        self->fail(fmt::format("damage of {} is not named: {}", self->damaged_, started.error().message()));
    } else if (!started.ok()) {
      self->fail("the node does not start: " + started.error().message());
    } else {
      self->node_ = std::move(*started);
    }
    self->starting_ = false;
  }

  void set_faults(bool on) {
    SimFaults& faults = machine_.faults();
    faults = SimFaults();
    machine_.set_disk_capacity(1ull << 40);
    if (!on) return;
    faults.io_error_ppm = chance(30) ? 200 : 0;
    faults.disk_full_ppm = chance(20) ? 200 : 0;
    faults.reset_ppm = chance(50) ? 2000 : 0;
    faults.max_network_delay = milliseconds(chance(20) ? 50 : 1);
    faults.max_sync_delay = milliseconds(chance(30) ? 100 : chance(10) ? 1000 : 5);
    faults.max_io_delay = milliseconds(chance(20) ? 20 : 0);
    faults.read_miss_ppm = chance(70) ? 500'000 : 0;
    faults.max_read_delay = milliseconds(chance(20) ? 200 : 10);
    if (chance(10)) limit_disk(random(4 << 20));
  }

  // Room for so many bytes more.
  void limit_disk(uint64_t free) {
    auto space = runtime_->shard(0).disk.space("/");
    if (space.ok()) machine_.set_disk_capacity(space->total - space->available + free);
  }

  bool start_node() {
    set_faults(false);
    Runtime& runtime = machine_.boot(shards_);
    runtime_ = &runtime;
    starting_ = true;
    stop_requested_ = false;
    runtime.shard(0).executor.post([this, &runtime] { spawn(start_task(this, &runtime)); });
    if (!world_->run_until([this] { return !starting_; }, seconds(60)))
      fail("the node takes more than a minute to start");
    if (node_ == nullptr) return false;
    ++result_.restarts;
    for (auto& client : clients_) client->start();
    bool connected = world_->run_until([this] { return clients_[0]->ready() && clients_[1]->ready(); }, seconds(60));
    if (!connected && damaged_.empty()) fail("clients cannot connect");
    return connected;
  }

  static Task<void> stop_task(Simulation* self) {
    Status status = co_await self->node_->stop();
    if (!status.ok()) self->say("stop: " + status.error().message());
    self->stopping_ = false;
  }

  // Power cut, kill, or a clean stop; a different number of shards now and then.
  void end_life() {
    uint64_t kind = random(10);
    bool stopped_cleanly = false;
    std::optional<int64_t> safe_until;
    if (kind < 5) {
      say("power cut");
      // Writes that were acknowledged a period ago are on the disk, whatever the mode, but for three waits, each of which may be
      // held up: for the end of the sync before, for the start of their own, and for its end.
      if (mode_ == "periodic") safe_until = now() - kPeriodNanos - 3 * (sync_delay_nanos() + held_up_nanos());
      machine_.crash();
    } else if (kind < 8 || stop_requested_) {
      say("kill");
      machine_.shut_down();
    } else {
      say("clean stop");
      stopped_cleanly = true;
      set_faults(false);
      stopping_ = true;
      machine_runtime_post([this] { spawn(stop_task(this)); });
      if (!world_->run_until([this] { return !stopping_; }, seconds(120))) fail("the node takes two minutes to stop");
      machine_.shut_down();
    }
    node_.reset();
    world_->run_for(milliseconds(100));
    for (Checker* checker : {&checker_, &second_, &wide_.rows()}) {
      checker->life_ended(last_number_);
      checker->forget_reads();
      // The answers that were still on their way when the power went count as well.
      if (safe_until) checker->forget_acknowledged_after(*safe_until);
      if (!logged_ && !stopped_cleanly) checker->forget_acknowledged_after(-1);
    }
    if (chance(20)) shards_ = 1 + static_cast<unsigned>(random(4));
  }
  int64_t sync_delay_nanos() { return machine_.faults().max_sync_delay.count(); }
  // How late a shard may be whose callbacks wait for the disk.
  int64_t held_up_nanos() { return 10 * machine_.faults().max_io_delay.count(); }
  void machine_runtime_post(Callback callback) { node_->processor(0).runtime().executor.post(std::move(callback)); }

  // --- Statements ---

  // Runs one statement to its end, again after a lost connection.
  bool execute(const std::string& text) {
    for (int attempt = 0; attempt < 50; ++attempt) {
      std::optional<ClientResponse> answer;
      bool done = false;
      bool sent = clients_[0]->query(text, {}, [&](std::optional<ClientResponse> response) {
        answer = std::move(response);
        done = true;
      });
      if (!sent) {
        world_->run_for(milliseconds(20));
        continue;
      }
      if (!world_->run_until([&] { return done; }, seconds(60))) {
        fail("no answer to " + text);
        return false;
      }
      if (!answer) continue;
      if (const auto* error = answer->get<ErrorInfo>()) {
        fail(text + ": " + error->message);
        return false;
      }
      return true;
    }
    fail("no connection lives long enough for " + text);
    return false;
  }

  bool create_schema() {
    return execute(fmt::format("CREATE KEYSPACE IF NOT EXISTS s WITH replication = {{'class': 'SimpleStrategy', "
                               "'replication_factor': 1}} AND durable_writes = {}",
                               logged_)) &&
           create_table("s.t (k int, c int, n bigint, g int, filler text, PRIMARY KEY (k, c))") &&
           create_table(WideRows::kTable) && create_index() && create_second();
  }
  bool create_table(const std::string& definition) {
    return execute(fmt::format("CREATE TABLE IF NOT EXISTS {} WITH gc_grace_seconds = {}{}", definition, kGraceSeconds,
                               compaction_.empty() ? "" : " AND compaction = " + compaction_));
  }
  bool create_index() { return !indexed_ || execute("CREATE INDEX IF NOT EXISTS t_by_g ON s.t (g)"); }
  // A table that is dropped and made again. Its writes share records of the log with those of s.t.
  static constexpr char kCreateSecond[] = "CREATE TABLE IF NOT EXISTS s.second (k int PRIMARY KEY, n bigint)";
  bool create_second() { return !drops_ || execute(kCreateSecond); }
  static int64_t group_of(int64_t number) { return number % kGroups; }

  void issue_write(int key) {
    int64_t number = ++last_number_;
    std::string filler(random(400), 'x');
    std::optional<int64_t> ttl;
    if (chance(ttl_percent_)) ttl = chance(50) ? 1 + static_cast<int64_t>(random(4)) : 100'000;
    const std::string using_ttl = ttl ? fmt::format(" USING TTL {}", *ttl) : "";
    const bool to_second = drops_ && chance(40);
    std::string text = fmt::format(
        "BEGIN UNLOGGED BATCH USING TIMESTAMP {0} "
        "INSERT INTO s.t (k, c, n, g, filler) VALUES ({1}, 0, {0}, {4}, '{2}'){3}; "
        "INSERT INTO s.t (k, c, n, g, filler) VALUES ({1}, 1, {0}, {4}, '{2}'){3}; {5}APPLY BATCH",
        number, key, filler, using_ttl, group_of(number),
        to_second ? fmt::format("INSERT INTO s.second (k, n) VALUES ({}, {}){}; ", key, number, using_ttl) : "");
    checker_.tried_write(key, number, ttl, wall_seconds());
    if (to_second) second_.tried_write(key, number, ttl, wall_seconds());
    issue(text, [this, key, number, to_second](const ClientResponse& response) {
      judge_write(checker_, key, number, response);
      if (to_second) judge_write(second_, key, number, response);
    });
  }

  void issue_delete(int key) {
    int64_t number = ++last_number_;
    checker_.tried_delete(key, number);
    issue(fmt::format("DELETE FROM s.t USING TIMESTAMP {} WHERE k = {}", number, key),
          [this, key, number](const ClientResponse& response) { judge_write(checker_, key, number, response); });
  }

  void judge_write(Checker& checker, int key, int64_t number, const ClientResponse& response) {
    if (response.get<ClientVoid>() == nullptr) return;
    checker.acknowledged(key, number, now(), last_number_);
    checker.written_by(key, number, wall_seconds());
  }

  // Unanswered, it may take effect until the node's life ends.
  void issue_truncate() {
    int64_t number = ++last_number_;
    auto& client = *clients_[random(clients_.size())];
    bool sent = client.query("TRUNCATE s.t", {}, [this](std::optional<ClientResponse> response) {
      if (!response || !checker_.truncating()) return;
      bool done = response->get<ClientVoid>() != nullptr;
      const auto* error = response->get<ErrorInfo>();
      say(done ? "truncated" : "answer: not truncated: " + (error != nullptr ? error->message : ""));
      if (done) checker_.truncation_ended(last_number_, true);
    });
    if (sent) checker_.truncation_started(number);
  }

  // To its rows, a DROP is a truncation.
  void issue_drop() {
    int64_t number = ++last_number_;
    auto& client = *clients_[random(clients_.size())];
    bool sent = client.query("DROP TABLE IF EXISTS s.second", {}, [this](std::optional<ClientResponse> response) {
      if (!response || !second_.truncating()) return;
      const bool done = response->get<ErrorInfo>() == nullptr;
      say(done ? "dropped" : "answer: not dropped");
      if (done) second_.truncation_ended(last_number_, true);
    });
    if (sent) second_.truncation_started(number);
  }
  void issue_create() {
    issue(kCreateSecond, [](const ClientResponse&) {});
  }

  void read_second(int key) {
    Checker::Expectation expected = second_.must_show(key, wall_seconds());
    issue(fmt::format("SELECT n FROM s.second WHERE k = {}", key),
          [this, key, expected](const ClientResponse& response) {
            const auto* rows = response.get<ClientRows>();
            if (rows == nullptr) return;  // an error, or the table is not there
            std::optional<int64_t> found;
            if (!rows->rows.empty() && rows->rows[0].at(0)) found = decode_bigint(*rows->rows[0][0]);
            const std::string problem = second_.check(key, expected, found, found, wall_seconds());
            if (!problem.empty()) fail("s.second: " + problem);
            ++judged_reads_;
          });
  }

  void issue_read(int key) {
    Checker::Expectation expected = checker_.must_show(key, wall_seconds());
    issue(fmt::format("SELECT c, n FROM s.t WHERE k = {}", key),
          [this, key, expected](const ClientResponse& response) { judge_read(key, expected, response); });
  }

  void judge_read(int key, const Checker::Expectation& expected, const ClientResponse& response) {
    const auto* rows = response.get<ClientRows>();
    if (rows == nullptr) return;  // an error says nothing
    std::optional<int64_t> found[2];
    for (const auto& row : rows->rows) {
      if (row.size() != 2 || !row[0] || !row[1] || row[1]->size() != 8) return fail("a row that cannot be");
      int32_t c = decode_int(*row[0]);
      if (c < 0 || c > 1) return fail("a clustering that nobody wrote");
      found[c] = decode_bigint(*row[1]);
    }
    std::string problem = checker_.check(key, expected, found[0], found[1], wall_seconds());
    if (!problem.empty()) fail(problem);
    ++judged_reads_;
    shown_[key] = found[0];
  }

  // A read of many keys, in pages: of the whole table, or of a group through the index.
  struct FoundRow {
    int key, c;
    int64_t number;
  };
  struct Scan {
    std::optional<int64_t> group;
    ClientQueryOptions options;
    uint64_t life;
    std::vector<FoundRow> rows;
    std::function<void(const std::vector<FoundRow>&)>
        judge;  // gets all rows, unless an error or the node's end came before

    std::string text() const { return "SELECT k, c, n FROM s.t" + (group ? fmt::format(" WHERE g = {}", *group) : ""); }
    std::string name() const { return group ? "through the index: " : "in a scan: "; }
  };
  void scan(std::optional<int64_t> group, std::function<void(const std::vector<FoundRow>&)> judge) {
    auto scan = std::make_shared<Scan>(group, ClientQueryOptions(), result_.restarts);
    if (chance(80)) scan->options.page_size = 1 + static_cast<int32_t>(random(60));
    scan->judge = std::move(judge);
    read_page(scan);
  }
  void read_page(const std::shared_ptr<Scan>& scan) {
    auto& client = *clients_[random(clients_.size())];
    client.query(scan->text(), scan->options, [this, scan](std::optional<ClientResponse> response) {
      if (!response || scan->life != result_.restarts) return;
      if (const auto* error = response->get<ErrorInfo>()) say("answer: " + error->message);
      const auto* rows = response->get<ClientRows>();
      if (rows == nullptr) return;
      for (const auto& row : rows->rows) {
        if (row.size() != 3 || !row[0] || !row[1] || !row[2]) return fail(scan->name() + "a row that cannot be");
        scan->rows.push_back({decode_int(*row[0]), decode_int(*row[1]), decode_bigint(*row[2])});
        const FoundRow& found = scan->rows.back();
        if (found.key >= kKeys || found.c > 1 || (scan->group && group_of(found.number) != *scan->group))
          return fail(fmt::format("{}key {} shows {}", scan->name(), found.key, found.number));
      }
      scan->options.paging_state = rows->paging_state;
      if (rows->paging_state) return read_page(scan);
      scan->judge(scan->rows);
    });
  }

  // While others write, a key that does not show may be in another group by now, and rows of a key may be of two moments. So each
  // row has to be one that its key may show.
  void issue_scan() {
    std::vector<Checker::Expectation> expected;
    for (int key = 0; key < kKeys; ++key) expected.push_back(checker_.must_show(key, wall_seconds()));
    std::optional<int64_t> group;
    if (indexed_ && chance(70)) group = static_cast<int64_t>(random(kGroups));
    scan(group, [this, expected](const std::vector<FoundRow>& rows) {
      for (const FoundRow& row : rows) {
        std::string problem =
            checker_.check(row.key, expected[static_cast<size_t>(row.key)], row.number, row.number, wall_seconds());
        if (!problem.empty()) fail("in a scan: " + problem);
      }
    });
  }

  void issue_index_change() {
    const char* text = chance(50) ? "DROP INDEX IF EXISTS s.t_by_g" : "CREATE INDEX IF NOT EXISTS t_by_g ON s.t (g)";
    say(text);
    issue(text, [](const ClientResponse&) {});
  }

  void issue(const std::string& text, std::function<void(const ClientResponse&)> judge) {
    auto& client = *clients_[random(clients_.size())];
    client.query(text, {}, [this, judge](std::optional<ClientResponse> response) {
      if (!response) return;
      if (const auto* error = response->get<ErrorInfo>()) say("answer: " + error->message);
      judge(*response);
    });
  }

  // Flushes or compacts the table, or builds its index again, on one shard, beside the load.
  void issue_maintenance() {
    const auto shard = static_cast<unsigned>(random(runtime_->shard_count()));
    Maintenance* maintenance = &node_->replica(shard).maintenance();
    if (indexed_ && chance(10)) {
      const TablePtr table = node_->replica(shard).schema().current()->table("s", "t");
      runtime_->shard(shard).executor.post([maintenance, table] { spawn(rebuild(maintenance, table)); });
      return;
    }
    // Mostly flushes, so that the strategy has something to choose from.
    const bool compacts = compacts_ && chance(compaction_.empty() ? 60 : 20);
    const std::string table = chance(50) ? "wide" : "t";
    runtime_->shard(shard).executor.post(
        [maintenance, table, compacts] { spawn(maintain(maintenance, table, compacts)); });
  }

  void write_wide_rows() {
    const WideRows::Write write = wide_.draw_write(world_->random(), ++last_number_);
    issue(write.text, [this, write](const ClientResponse& response) {
      const bool done = response.get<ClientVoid>() != nullptr;
      wide_.ended(write, done ? Outcome::kAcknowledged : Outcome::kUnknown, now(), last_number_);
    });
  }

  // All pages are asked for by one client: paging states differ between versions of the protocol.
  void read_wide_rows() { read_wide_rows(wide_.draw_read(world_->random())); }
  void read_wide_rows(WideRows::Read read) {
    read_wide_page(random(clients_.size()), std::make_shared<WideRows::Read>(std::move(read)), {});
  }
  void read_wide_page(size_t client, const std::shared_ptr<WideRows::Read>& read, std::optional<Bytes> paging_state) {
    ClientQueryOptions options;
    options.page_size = read->page_size;
    options.paging_state = std::move(paging_state);
    auto take = [this, client, read, life = result_.restarts](std::optional<ClientResponse> response) {
      if (!response || life != result_.restarts) return;
      if (const auto* error = response->get<ErrorInfo>()) say("answer: " + error->message);
      const auto* rows = response->get<ClientRows>();
      if (rows == nullptr) return;
      std::string problem = WideRows::take(*read, *rows);
      if (problem.empty() && rows->paging_state) return read_wide_page(client, read, rows->paging_state);
      if (problem.empty()) problem = wide_.judge(*read);
      if (!problem.empty()) fail(problem);
      ++judged_reads_;
    };
    clients_[client]->query(read->text, options, std::move(take));
  }

  static Task<void> maintain(Maintenance* maintenance, std::string name, bool compacts) {
    const TableSelection table("s", name);
    // A full or failing disk ends it, and that is all.
    Task<Status> task = compacts ? maintenance->compact(table) : maintenance->flush(table);
    Status ignored = co_await task;
  }

  static Task<void> rebuild(Maintenance* maintenance, TablePtr table) {
    Task<Status> task = maintenance->build_index(table, "t_by_g");
    Status ignored = co_await task;
  }

  // --- Rounds ---

  void load() {
    // The next compaction may purge all deletions until now.
    if ((compacts_ || !compaction_.empty()) && chance(60)) world_->run_for(seconds(kGraceSeconds + 2));
    set_faults(true);
    int64_t end = now() + static_cast<int64_t>(100 + random(900)) * 1'000'000;
    say("load");
    while (now() < end && result_.failure.empty() && !stop_requested_) {
      for (auto& client : clients_) {
        if (client->in_flight() > 30) continue;
        int key = static_cast<int>(random(kKeys));
        uint64_t kind = random(10);
        if (compacts_ ? random(200) == 0 : !compaction_.empty() && random(100) == 0) {
          issue_maintenance();
        } else if (truncates_ && !checker_.truncating() && random(1000) == 0) {
          issue_truncate();
        } else if (drops_ && random(200) == 0) {
          second_.truncating() || chance(50) ? issue_create() : issue_drop();
        } else if (drops_ && random(20) == 0) {
          read_second(key);
        } else if (indexed_ && random(500) == 0) {
          issue_index_change();
        } else if (random(30) == 0) {
          issue_scan();
        } else if (random(5) == 0) {
          write_wide_rows();
        } else if (random(10) == 0) {
          read_wide_rows();
        } else if (kind < 6) {
          issue_write(key);
        } else if (kind < 7) {
          issue_delete(key);
        } else {
          issue_read(key);
        }
      }
      world_->run_for(Duration(50'000 + static_cast<int64_t>(random(400'000))));
    }
  }

  void check_everything() {
    // Some of what has a TTL, or all that has a short one, expires.
    if (ttl_percent_ != 0 && chance(50)) world_->run_for(seconds(1 + random(5)));
    say("check");
    for (int key = 0; key < kKeys && result_.failure.empty(); ++key) insist_on_read([&] { issue_read(key); }, key);
    if (!result_.failure.empty() || !create_second()) return;
    for (int key = 0; drops_ && key < kKeys && result_.failure.empty(); ++key) {
      insist_on_read([&] { read_second(key); }, key);
    }
    check_wide_rows();
    check_scans({std::nullopt});
    std::vector<std::optional<int64_t>> groups;
    for (int64_t group = 0; group < kGroups; ++group) groups.push_back(group);
    if (indexed_ && result_.failure.empty() && create_index()) check_scans(groups);
  }

  void check_wide_rows() {
    for (const int32_t page_size : {3, 1000}) {
      auto read_all = [&] {
        WideRows::Read read = wide_.read_all();
        read.page_size = page_size;
        read_wide_rows(std::move(read));
      };
      if (result_.failure.empty()) insist_on_read(read_all, 0);
    }
    for (int i = 0; i < 20 && result_.failure.empty(); ++i) insist_on_read([&] { read_wide_rows(); }, 0);
  }

  template <class Read>
  void insist_on_read(Read read, int key) {
    const uint64_t before = judged_reads_;
    for (int attempt = 0; attempt < 50 && judged_reads_ == before && result_.failure.empty(); ++attempt) {
      read();
      world_->run_until([&] { return judged_reads_ != before || !result_.failure.empty(); }, milliseconds(500));
    }
    if (judged_reads_ == before) fail(fmt::format("key {} cannot be read after the faults are gone", key));
  }

  // Together they show each key as a read of the key does, unless it has expired since.
  void check_scans(const std::vector<std::optional<int64_t>>& groups) {
    std::vector<std::optional<int64_t>> found(2 * kKeys);
    for (const std::optional<int64_t>& group : groups) {
      bool judged = false;
      for (int attempt = 0; attempt < 50 && !judged && result_.failure.empty(); ++attempt) {
        scan(group, [&](const std::vector<FoundRow>& rows) {
          if (std::exchange(judged, true)) return;
          for (const FoundRow& row : rows) found[static_cast<size_t>(2 * row.key + row.c)] = row.number;
        });
        world_->run_until([&] { return judged || !result_.failure.empty(); }, seconds(60));
      }
      if (!judged) fail("a scan is not answered after the faults are gone");
    }
    for (int key = 0; key < kKeys && result_.failure.empty(); ++key) {
      const auto at = static_cast<size_t>(2 * key);
      // The second row may be on another page, and the write expire before that one.
      if (found[at] && !found[at + 1] && checker_.may_have_expired(key, *found[at], wall_seconds())) {
        found[at + 1] = found[at];
      }
      Checker::Expectation expected = checker_.must_show(key);
      expected.at_least = shown_[key].value_or(0);
      std::string problem = checker_.check(key, expected, found[at], found[at + 1], wall_seconds());
      if (problem.empty() && found[at] && found[at] != shown_[key])
        problem = fmt::format("key {} shows {} and by itself not", key, *found[at]);
      if (!problem.empty()) fail((groups[0] ? "through the index: " : "in a scan: ") + problem);
    }
  }

  // --- Damage ---

  // A component of an SSTable of s.t, or of its index.
  std::string pick_file() {
    std::vector<std::string> files;
    std::vector<std::string> directories;
    for (const std::string& data : data_directories()) directories.push_back(data + "/s");
    Disk& disk = machine_.boot(1).shard(0).disk;
    while (!directories.empty()) {
      const std::string directory = std::move(directories.back());
      directories.pop_back();
      const auto entries = disk.list(directory);
      if (!entries.ok()) continue;
      for (const DirectoryEntry& entry : *entries) {
        const std::string path = directory + "/" + entry.name;
        const bool is_copy = entry.name == "snapshots" || entry.name == "backups";
        if (entry.is_directory && !is_copy) directories.push_back(path);
        if (!entry.is_directory && entry.name.starts_with("da-")) files.push_back(path);
      }
    }
    machine_.shut_down();
    return files.empty() ? "" : pick(files);
  }

  // A bit flips, or a sector has what was written for another one.
  bool damage(const std::string& path) {
    Disk& disk = machine_.boot(1).shard(0).disk;
    Bytes content;
    {
      auto file = disk.open(path);
      if (!file.ok() || (*file)->size() == 0) return false;
      content.resize((*file)->size());
      if (!(*file)->read(0, content).ok()) return false;
    }
    machine_.shut_down();
    constexpr uint64_t kSector = 512;
    uint64_t offset = random(content.size());
    Bytes wrong(1, static_cast<char>(content[offset] ^ (1 << random(8))));
    if (chance(30) && content.size() > 2 * kSector) {
      const uint64_t sectors = content.size() / kSector;
      offset = random(sectors) * kSector;
      wrong = content.substr(random(sectors) * kSector, kSector);
    }
    say(fmt::format("damage of {} bytes at {} of {}", wrong.size(), offset, path));
    return machine_.damage(path, offset, wrong);
  }

  // Each read is answered with an error or with the truth, before and after the damaged file is compacted, and a start that is
  // refused names the SSTable.
  void live_with_damage() {
    end_life();
    const std::string path = pick_file();
    if (path.empty() || !damage(path)) return;
    damaged_ = path.substr(0, path.rfind('-') + 1);
    start_node();
    for (int time = 0; time < 2 && node_ != nullptr && result_.failure.empty(); ++time) {
      for (int key = 0; key < kKeys; ++key) {
        issue_read(key);
        if (drops_) read_second(key);
        issue_scan();
        read_wide_rows();
        world_->run_for(milliseconds(50));
      }
      for (unsigned shard = 0; shard < runtime_->shard_count(); ++shard) {
        Maintenance* maintenance = &node_->replica(shard).maintenance();
        for (const char* table : {"t", "wide"}) {
          runtime_->shard(shard).executor.post([maintenance, table] { spawn(maintain(maintenance, table, true)); });
        }
      }
      world_->run_for(seconds(2));
    }
  }

  SimulationOptions options_;
  SimulationResult result_;
  std::unique_ptr<SimWorld> world_;
  SimMachine& machine_;
  Runtime* runtime_ = nullptr;  // of this life
  unsigned shards_ = 1;
  std::string mode_;
  uint64_t memtable_kib_ = 0;
  bool truncates_ = false;
  bool compacts_ = false;
  std::string compaction_;    // of the table, by itself; empty: none
  uint64_t ttl_percent_ = 0;  // of the writes
  bool indexed_ = false;      // by s.t (g)
  bool logged_ = true;        // the tables' writes are in the commit log
  bool drops_ = false;        // s.second comes and goes
  std::vector<std::unique_ptr<SimulatedClient>> clients_;
  std::unique_ptr<ClusterNode> node_;
  bool starting_ = false, stopping_ = false, stop_requested_ = false;
  std::string damaged_;  // the beginning of the names of a damaged SSTable's files
  Checker checker_, second_;
  WideRows wide_;
  int64_t last_number_ = 0;
  uint64_t judged_reads_ = 0;
  std::map<int, std::optional<int64_t>> shown_;  // by the last read of the key
};

}  // namespace

SimulationResult run_simulation(const SimulationOptions& options) { return Simulation(options).run(); }

}  // namespace cassandra_like
