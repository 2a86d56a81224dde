#include "tests/simulation/cluster_workload.h"

#include <fmt/ranges.h>

#include "model/values.h"

namespace cassandra_like {

namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kRegisters = 12;
constexpr int64_t kGroups = 4;  // values of the registers' indexed column
constexpr int kCounters = 3;
constexpr int kBatchRows = 3;
constexpr size_t kMaxInFlight = 8;
constexpr Duration kAnswerLimit = seconds(30);
constexpr Duration kProgressLimit = seconds(120);
constexpr Duration kDeliveryLimit = seconds(180);
constexpr Duration kBatchLimit = seconds(180);
// A node asks for a version that it does not know after a minute (cassandra.migration_delay_ms). It may merge two versions into
// a third, and the next node waits another minute for that one.
constexpr Duration kSchemaLimit = seconds(240);

bool is_refusal(ErrorCode code) { return code == ErrorCode::kUnavailable; }

// Errors that faults explain.
bool is_expected(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOverloaded:
    case ErrorCode::kIsBootstrapping:
    case ErrorCode::kWriteTimeout:
    case ErrorCode::kReadTimeout:
    case ErrorCode::kWriteFailure:
    case ErrorCode::kReadFailure:
      return true;
    default:
      return is_refusal(code);
  }
}

int64_t group_of(int64_t number) { return number % kGroups; }

// A row's values; fails on a null.
int64_t bigint_at(const std::vector<std::optional<Bytes>>& row, size_t column) {
  CHECK(row.at(column).has_value() && row[column]->size() == 8);
  return decode_bigint(*row[column]);
}

}  // namespace

ClusterWorkload::ClusterWorkload(Story& story, std::vector<SimulatedNode*> nodes, Plant plant)
    : story_(story), nodes_(std::move(nodes)), plant_(plant) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    auto& machine = story_.world().add_machine(fmt::format("10.0.1.{}", i + 1));
    const SocketAddress server{nodes_[i]->address(), 9042};
    clients_.push_back(std::make_unique<SimulatedClient>(machine, server, 3 + static_cast<int>(story_.random(3))));
  }
}

void ClusterWorkload::start_clients() {
  for (auto& client : clients_) client->start();
}

void ClusterWorkload::power_failed() {
  registers_.forget_reads();
  wide_rows_.rows().forget_reads();
  counters_.forget_reads();
}

void ClusterWorkload::stop_clients() {
  for (auto& client : clients_) client->stop();
}

bool ClusterWorkload::clients_are_ready() const {
  for (const auto& client : clients_) {
    if (!client->ready()) return false;
  }
  return true;
}

size_t ClusterWorkload::in_flight() const {
  size_t sum = 0;
  for (const auto& client : clients_) sum += client->in_flight();
  return sum;
}

// --- Requests and answers

bool ClusterWorkload::query(size_t client, const std::string& text, Consistency consistency,
                            std::function<void(Answer)> then) {
  ClientQueryOptions options;
  options.consistency = consistency;
  return query(client, text, options, std::move(then));
}

bool ClusterWorkload::query(size_t client, const std::string& text, const ClientQueryOptions& options,
                            std::function<void(Answer)> then) {
  return clients_[client]->query(text, options, std::move(then));
}

ClusterWorkload::Answer ClusterWorkload::ask(size_t client, const std::string& text, Consistency consistency) {
  // The answer may come after this has given up.
  auto state = std::make_shared<std::pair<Answer, bool>>();
  const bool sent = query(client, text, consistency, [state](Answer answer) {
    state->first = std::move(answer);
    state->second = true;
  });
  if (!sent) {
    story_.world().run_for(milliseconds(20));
    return std::nullopt;
  }
  story_.world().run_until([state] { return state->second; }, kAnswerLimit);
  return std::move(state->first);
}

Outcome ClusterWorkload::outcome_of(const std::string& text, const Answer& answer) {
  if (!answer) return Outcome::kUnknown;
  const auto* error = answer->get<ErrorInfo>();
  if (error == nullptr) return Outcome::kAcknowledged;
  story_.say(fmt::format("answer: {} to {}", error->message, text.substr(0, 60)));
  if (!is_expected(error->code)) story_.fail(fmt::format("{}: {}", text, error->message));
  return is_refusal(error->code) ? Outcome::kRefused : Outcome::kUnknown;
}

ClusterWorkload::Answer ClusterWorkload::insist(size_t client, const std::string& text, Consistency consistency,
                                                Duration limit) {
  const int64_t end = story_.now() + limit.count();
  std::string last = "no connection";
  while (!story_.failed() && story_.now() < end) {
    Answer answer = ask(client, text, consistency);
    if (outcome_of(text, answer) == Outcome::kAcknowledged) return answer;
    if (answer) last = answer->get<ErrorInfo>()->message;
    story_.world().run_for(milliseconds(100));
  }
  story_.fail(fmt::format("node {} cannot do this {} s after the faults are gone: {} at {}: {}", client + 1,
                          limit / seconds(1), text, consistency_name(consistency), last));
  return std::nullopt;
}

std::optional<std::vector<std::string>> ClusterWorkload::column(size_t client, const std::string& text,
                                                                Consistency consistency) {
  Answer answer = ask(client, text, consistency);
  if (outcome_of(text, answer) != Outcome::kAcknowledged) return std::nullopt;
  std::vector<std::string> out;
  for (const auto& row : answer->get<ClientRows>()->rows) {
    std::string value;
    for (const auto& cell : row) value += (value.empty() ? "" : ".") + cell.value_or("null");
    out.push_back(std::move(value));
  }
  return out;
}

// --- The schema of the load

bool ClusterWorkload::create_schema(int replication_factor) {
  // Where nodes compact by themselves, few flushes are enough.
  const std::string compaction = story_.pick({"{'class': 'SizeTieredCompactionStrategy', 'min_threshold': 2}",
                                              "{'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 1}",
                                              "{'class': 'TimeWindowCompactionStrategy', 'min_threshold': 2}",
                                              "{'class': 'UnifiedCompactionStrategy', 'scaling_parameters': 'N'}"});
  const std::string early_purge =
      plant_ == Plant::kEarlyPurge ? "gc_grace_seconds = 0 AND read_repair = 'NONE' AND " : "";
  const std::string options = fmt::format(" WITH {}compaction = {}", early_purge, compaction);
  indexed_ = story_.random(2) == 0;
  std::vector<std::string> statements = {
      fmt::format("CREATE KEYSPACE s WITH replication = {{'class': 'NetworkTopologyStrategy', 'datacenter1': {}}}",
                  replication_factor),
      "CREATE TABLE s.registers (k int, c int, n bigint, g int, filler text, PRIMARY KEY (k, c))" + options,
      fmt::format("CREATE TABLE {}{}", WideRows::kTable, options),
      "CREATE TABLE s.counters (k int PRIMARY KEY, n counter)",
      "CREATE TABLE s.batches (k bigint PRIMARY KEY, n bigint)",
      "CREATE TABLE s.delivered (k bigint PRIMARY KEY, n bigint)",
      "CREATE TABLE s.progress (k int PRIMARY KEY, n bigint)",
      "CREATE TABLE s.altered (k int PRIMARY KEY)"};
  if (indexed_) statements.push_back("CREATE INDEX ON s.registers (g)");
  for (const std::string& statement : statements) {
    if (!insist(story_.random(clients_.size()), statement, Consistency::kOne, kAnswerLimit)) return false;
    // The next one comes from any node.
    check_schema();
  }
  // A node that does not know all others yet would leave them out of its writes.
  check_progress();
  return !story_.failed();
}

// --- Load

void ClusterWorkload::issue_some() {
  for (size_t client = 0; client < clients_.size(); ++client) {
    if (clients_[client]->in_flight() < kMaxInFlight) issue(client);
  }
}

void ClusterWorkload::issue(size_t client) {
  const int key = static_cast<int>(story_.random(kRegisters));
  const uint64_t kind = story_.random(1000);
  if (kind < 330) return write_register(client, key);
  if (kind < 390) return delete_register(client, key);
  if (indexed_ && kind < 430) return read_group(client, static_cast<int64_t>(story_.random(kGroups)));
  if (kind < 690) return read_register(client, key);
  if (kind < 770) return add_to_counter(client, key % kCounters);
  if (kind < 800) return read_counter(client, key % kCounters, Consistency::kQuorum);
  if (kind < 850) return write_batch(client);
  if (kind < 900) return write_once(client);
  if (kind < 950) return write_wide_rows(client);
  if (kind < 995) {
    auto read = std::make_shared<WideRows::Read>(wide_rows_.draw_read(story_.world().random()));
    return read_wide_rows(client, read, std::nullopt, [](bool) {});
  }
  change_schema(client);
}

Consistency ClusterWorkload::register_level() const {
  return plant_ == Plant::kWeakWrites ? Consistency::kOne : Consistency::kQuorum;
}

void ClusterWorkload::write_register(size_t client, int key) {
  const int64_t number = ++last_number_;
  const std::string filler(story_.random(200), 'x');
  const std::string text = fmt::format(
      "BEGIN UNLOGGED BATCH USING TIMESTAMP {0} "
      "INSERT INTO s.registers (k, c, n, g, filler) VALUES ({1}, 0, {0}, {3}, '{2}'); "
      "INSERT INTO s.registers (k, c, n, g, filler) VALUES ({1}, 1, {0}, {3}, '{2}'); APPLY BATCH",
      number, key, filler, group_of(number));
  registers_.tried_write(key, number);
  const bool sent = query(client, text, register_level(), [this, key, number, text](Answer answer) {
    judge_register_write(key, number, outcome_of(text, answer));
  });
  if (!sent) registers_.refused(key, number);
}

void ClusterWorkload::delete_register(size_t client, int key) {
  const int64_t number = ++last_number_;
  const std::string text = fmt::format("DELETE FROM s.registers USING TIMESTAMP {} WHERE k = {}", number, key);
  registers_.tried_delete(key, number);
  const bool sent = query(client, text, register_level(), [this, key, number, text](Answer answer) {
    judge_register_write(key, number, outcome_of(text, answer));
  });
  if (!sent) registers_.refused(key, number);
}

void ClusterWorkload::judge_register_write(int key, int64_t number, const Outcome& outcome) {
  if (outcome == Outcome::kAcknowledged) story_.say(fmt::format("key {}: {} is acknowledged", key, number));
  if (outcome == Outcome::kAcknowledged) registers_.acknowledged(key, number, story_.now(), last_number_);
  if (outcome == Outcome::kRefused) registers_.refused(key, number);
}

void ClusterWorkload::read_register(size_t client, int key) {
  const Checker::Expectation expected = registers_.must_show(key);
  const std::string text = fmt::format("SELECT c, n FROM s.registers WHERE k = {}", key);
  query(client, text, register_read_level(), [this, key, expected, text](Answer answer) {
    if (outcome_of(text, answer) == Outcome::kAcknowledged) judge_register(key, expected, *answer);
  });
}

void ClusterWorkload::judge_register(int key, const Checker::Expectation& expected, const ClientResponse& response) {
  const auto* rows = response.get<ClientRows>();
  if (rows == nullptr) return story_.fail("a SELECT that is not answered with rows");
  std::optional<int64_t> found[2];
  for (const auto& row : rows->rows) {
    if (row.size() != 2 || !row[0] || !row[1] || row[1]->size() != 8) return story_.fail("a row that cannot be");
    const int32_t c = decode_int(*row[0]);
    if (c < 0 || c > 1) return story_.fail("a clustering that nobody wrote");
    found[c] = decode_bigint(*row[1]);
  }
  const std::string problem = registers_.check(key, expected, found[0], found[1]);
  if (!problem.empty()) return story_.fail(problem);
  registers_.was_read(key, expected, found[0]);
  ++judged_;
}

std::vector<ClusterWorkload::IndexedRow> ClusterWorkload::indexed_rows(int64_t group, const ClientResponse& response) {
  std::vector<IndexedRow> found;
  for (const auto& row : response.get<ClientRows>()->rows) {
    found.push_back({decode_int(row.at(0).value()), decode_int(row.at(1).value()), bigint_at(row, 2)});
    const IndexedRow& last = found.back();
    if (group_of(last.number) == group && last.key < kRegisters && last.clustering <= 1) continue;
    story_.fail(fmt::format("the index shows {} of key {} for group {}", last.number, last.key, group));
    return {};
  }
  return found;
}

// Half of the reads through the index are within a partition.
std::optional<int> ClusterWorkload::draw_partition() {
  if (story_.random(2) == 0) return std::nullopt;
  return static_cast<int>(story_.random(kRegisters));
}

std::string ClusterWorkload::text_of_group(int64_t group, std::optional<int> key) {
  const std::string in_partition = key ? fmt::format("k = {} AND ", *key) : "";
  return fmt::format("SELECT k, c, n FROM s.registers WHERE {}g = {}", in_partition, group);
}

// A key that does not show may be in another group by now, and its rows may be of two moments. So each row alone is judged.
void ClusterWorkload::read_group(size_t client, int64_t group) {
  std::vector<Checker::Expectation> expected;
  for (int key = 0; key < kRegisters; ++key) expected.push_back(registers_.must_show(key));
  const std::string text = text_of_group(group, draw_partition());
  query(client, text, register_read_level(), [this, group, expected, text](Answer answer) {
    if (outcome_of(text, answer) != Outcome::kAcknowledged) return;
    for (const IndexedRow& row : indexed_rows(group, *answer)) {
      const auto& least = expected[static_cast<size_t>(row.key)];
      const std::string problem = registers_.check(row.key, least, row.number, row.number);
      if (!problem.empty()) return story_.fail("through the index: " + problem);
    }
    ++judged_;
  });
}

void ClusterWorkload::write_wide_rows(size_t client) {
  const WideRows::Write write = wide_rows_.draw_write(story_.world().random(), ++last_number_);
  const bool sent = query(client, write.text, register_level(), [this, write](Answer answer) {
    wide_rows_.ended(write, outcome_of(write.text, answer), story_.now(), last_number_);
  });
  if (!sent) wide_rows_.ended(write, Outcome::kRefused, story_.now(), last_number_);
}

// Any node goes on with the paging state of another one.
void ClusterWorkload::read_wide_rows(size_t client, std::shared_ptr<WideRows::Read> read,
                                     std::optional<Bytes> paging_state, std::function<void(bool)> done) {
  ClientQueryOptions options;
  options.consistency = register_read_level();
  options.page_size = read->page_size;
  options.paging_state = std::move(paging_state);
  const bool sent = query(client, read->text, options, [this, client, read, done](Answer answer) {
    if (outcome_of(read->text, answer) != Outcome::kAcknowledged) return done(false);
    const auto& rows = *answer->get<ClientRows>();
    std::string problem = WideRows::take(*read, rows);
    if (problem.empty() && rows.paging_state) {
      return read_wide_rows(pick_client_like(client), read, rows.paging_state, done);
    }
    if (problem.empty()) problem = wide_rows_.judge(*read);
    if (!problem.empty()) story_.fail(problem);
    ++judged_;
    done(true);
  });
  if (!sent) done(false);
}

// Paging states differ between versions of the protocol.
size_t ClusterWorkload::pick_client_like(size_t client) {
  std::vector<size_t> alike;
  for (size_t i = 0; i < clients_.size(); ++i) {
    if (clients_[i]->protocol_version() == clients_[client]->protocol_version()) alike.push_back(i);
  }
  return alike[story_.random(alike.size())];
}

void ClusterWorkload::add_to_counter(size_t client, int key) {
  const int64_t delta = 1 + static_cast<int64_t>(story_.random(5));
  counters_.tried(key, delta);
  send_addition(client, key, delta, plant_ == Plant::kRetriedCounters ? 5 : 1);
}

void ClusterWorkload::send_addition(size_t client, int key, int64_t delta, int attempts) {
  const std::string text = fmt::format("UPDATE s.counters SET n = n + {} WHERE k = {}", delta, key);
  const bool sent =
      query(client, text, Consistency::kQuorum, [this, client, key, delta, attempts, text](Answer answer) {
        const Outcome outcome = outcome_of(text, answer);
        if (answer && outcome == Outcome::kUnknown && attempts > 1) {
          send_addition(client, key, delta, attempts - 1);
        } else {
          counters_.ended(key, delta, outcome);
        }
      });
  if (!sent) counters_.ended(key, delta, Outcome::kRefused);
}

void ClusterWorkload::read_counter(size_t client, int key, Consistency consistency) {
  const CounterChecker::Expectation expected = counters_.must_show(key);
  const std::string text = fmt::format("SELECT n FROM s.counters WHERE k = {}", key);
  query(client, text, consistency, [this, key, expected, text](Answer answer) {
    if (outcome_of(text, answer) != Outcome::kAcknowledged) return;
    const auto& rows = answer->get<ClientRows>()->rows;
    const std::string problem = counters_.check(key, expected, rows.empty() ? 0 : bigint_at(rows[0], 0));
    if (!problem.empty()) return story_.fail(problem);
    ++judged_;
  });
}

void ClusterWorkload::write_batch(size_t client) {
  const int64_t batch = ++last_number_;
  std::vector<std::string> statements;
  for (int row = 0; row < kBatchRows; ++row) {
    statements.push_back(fmt::format("INSERT INTO s.batches (k, n) VALUES ({}, {})", batch * kBatchRows + row, batch));
  }
  if (plant_ != Plant::kSplitBatches)
    statements = {fmt::format("BEGIN BATCH {}; APPLY BATCH", fmt::join(statements, "; "))};
  if (plant_ == Plant::kSplitBatches && story_.chance(20)) statements.pop_back();
  batches_.tried(batch);
  bool sent = false;
  for (const std::string& text : statements) {
    sent |= query(client, text, Consistency::kQuorum, [this, batch, text](Answer answer) {
      const Outcome outcome = outcome_of(text, answer);
      batches_.ended(batch, outcome);
      if (outcome == Outcome::kAcknowledged) ++acknowledged_batches_;
    });
  }
  if (!sent) batches_.ended(batch, Outcome::kRefused);
}

void ClusterWorkload::write_once(size_t client) {
  const int64_t row = ++last_number_;
  const std::string text = fmt::format("INSERT INTO s.delivered (k, n) VALUES ({0}, {0})", row);
  const uint64_t life = nodes_[client]->life();
  const Consistency level = story_.chance(50) ? Consistency::kOne : Consistency::kQuorum;
  query(client, text, level, [this, client, row, life, text](Answer answer) {
    if (outcome_of(text, answer) != Outcome::kAcknowledged) return;
    delivery_.acknowledged(row, client, life);
    ++acknowledged_rows_;
  });
}

void ClusterWorkload::change_schema(size_t client) {
  const int64_t number = ++last_number_;
  const bool is_table = story_.chance(50);
  const std::string object = is_table ? fmt::format("made_{}.k", number) : fmt::format("altered.c_{}", number);
  const std::string text = is_table ? fmt::format("CREATE TABLE s.made_{} (k int PRIMARY KEY)", number)
                                    : fmt::format("ALTER TABLE s.altered ADD c_{} text", number);
  query(client, text, Consistency::kOne, [this, object, text](Answer answer) {
    if (outcome_of(text, answer) == Outcome::kAcknowledged) schema_.acknowledged(object);
  });
}

// --- After the faults

// All nodes see all others live: requests that need every replica succeed at each of them.
void ClusterWorkload::check_progress() {
  for (size_t client = 0; client < clients_.size() && !story_.failed(); ++client) {
    for (int key = 0; key < 8 && !story_.failed(); ++key) {
      for (Consistency level : {Consistency::kAll, Consistency::kQuorum}) {
        const int64_t number = ++last_number_;
        const std::string where = fmt::format("WHERE k = {}", key);
        insist(client, fmt::format("UPDATE s.progress USING TIMESTAMP {0} SET n = {0} {1}", number, where), level,
               kProgressLimit);
        const std::string read = "SELECT n FROM s.progress " + where;
        Answer answer = insist(client, read, level, kProgressLimit);
        if (!answer) return;
        const auto& rows = answer->get<ClientRows>()->rows;
        if (rows.size() != 1 || bigint_at(rows[0], 0) != number) story_.fail(read + " does not show what was written");
      }
    }
    await_peers(client);
  }
}

void ClusterWorkload::await_peers(size_t client) {
  const int64_t end = story_.now() + kProgressLimit.count();
  size_t found = 0;
  while (!story_.failed() && story_.now() < end) {
    auto peers = column(client, "SELECT peer FROM system.peers", Consistency::kOne);
    found = peers ? peers->size() : 0;
    if (found == nodes_.size() - 1) return;
    story_.world().run_for(milliseconds(200));
  }
  story_.fail(fmt::format("node {} has {} rows in system.peers", client + 1, found));
}

// At ONE each of three nodes answers from its own replica. In a larger cluster any replica may answer, also the one that keeps
// no hint for itself.
void ClusterWorkload::check_delivery() {
  std::vector<uint64_t> lives;
  for (const SimulatedNode* node : nodes_) lives.push_back(node->life());
  const Consistency level = nodes_.size() == 3 ? Consistency::kOne : Consistency::kTwo;
  for (size_t client = 0; client < clients_.size() && !story_.failed(); ++client) {
    const std::vector<int64_t> due = delivery_.due(client, lives);
    auto all_are_there = [client, &due](const std::set<int64_t>& found) {
      for (int64_t row : due) {
        const std::string problem = DeliveryChecker::check(row, client, found.contains(row));
        if (!problem.empty()) return problem;
      }
      return std::string();
    };
    await_keys(client, "SELECT k FROM s.delivered", level, kDeliveryLimit, all_are_there);
  }
}

void ClusterWorkload::check_batches() {
  auto all_are_whole = [this](const std::set<int64_t>& found) {
    for (const auto& [batch, outcome] : batches_.batches()) {
      const int64_t first = batch * kBatchRows;
      const auto end = found.lower_bound(first + kBatchRows);
      const auto rows = static_cast<size_t>(std::distance(found.lower_bound(first), end));
      const std::string problem = batches_.check(batch, rows, kBatchRows);
      if (!problem.empty()) return problem;
    }
    return std::string();
  };
  const size_t client = story_.random(clients_.size());
  await_keys(client, "SELECT k FROM s.batches", Consistency::kQuorum, kBatchLimit, all_are_whole);
}

void ClusterWorkload::await_keys(size_t client, const std::string& text, Consistency consistency, Duration limit,
                                 const std::function<std::string(const std::set<int64_t>&)>& problem_of) {
  const int64_t end = story_.now() + limit.count();
  std::string problem;
  do {
    if (!problem.empty()) story_.world().run_for(seconds(2));
    Answer answer = insist(client, text, consistency, kProgressLimit);
    if (!answer) return;
    std::set<int64_t> found;
    for (const auto& row : answer->get<ClientRows>()->rows) found.insert(bigint_at(row, 0));
    problem = problem_of(found);
  } while (!problem.empty() && story_.now() < end);
  if (!problem.empty()) story_.fail(problem);
}

void ClusterWorkload::check_schema() {
  const int64_t end = story_.now() + kSchemaLimit.count();
  std::string problem;
  do {
    if (!problem.empty()) story_.world().run_for(milliseconds(200));
    std::vector<SchemaChecker::View> views;
    for (size_t client = 0; client < clients_.size(); ++client) {
      auto version = column(client, "SELECT schema_version FROM system.local", Consistency::kOne);
      auto columns =
          column(client, "SELECT table_name, column_name FROM system_schema.columns WHERE keyspace_name = 's'",
                 Consistency::kOne);
      if (!version || version->size() != 1 || !columns) break;
      views.push_back({Uuid::from_bytes(version->front()).to_string(), {columns->begin(), columns->end()}});
    }
    problem = views.size() == clients_.size() ? schema_.check(views) : "a node does not tell its schema";
  } while (!problem.empty() && !story_.failed() && story_.now() < end);
  if (!problem.empty()) story_.fail(problem);
}

void ClusterWorkload::check_registers() {
  for (size_t client = 0; client < clients_.size(); ++client) {
    for (int key = 0; key < kRegisters && !story_.failed(); ++key) {
      const Checker::Expectation expected = registers_.must_show(key);
      const std::string text = fmt::format("SELECT c, n FROM s.registers WHERE k = {}", key);
      Answer answer = insist(client, text, register_level(), kProgressLimit);
      if (answer) judge_register(key, expected, *answer);
    }
    if (indexed_) check_index(client);
  }
}

std::optional<ClusterWorkload::Numbers> ClusterWorkload::all_registers(size_t client) {
  Answer all = insist(client, "SELECT k, c, n FROM s.registers", register_level(), kProgressLimit);
  if (!all) return std::nullopt;
  Numbers numbers(2 * kRegisters);
  for (const auto& row : all->get<ClientRows>()->rows) {
    numbers[static_cast<size_t>(2 * decode_int(row.at(0).value()) + decode_int(row.at(1).value()))] = bigint_at(row, 2);
  }
  return numbers;
}

void ClusterWorkload::check_wide_rows() {
  for (size_t client = 0; client < clients_.size(); ++client) {
    for (const int32_t page_size : {1, 7, 1000}) {
      const int64_t end = story_.now() + kProgressLimit.count();
      bool done = false;
      while (!done && !story_.failed() && story_.now() < end) {
        auto read = std::make_shared<WideRows::Read>(wide_rows_.read_all());
        read->page_size = page_size;
        auto ended = std::make_shared<std::optional<bool>>();  // the answer may come after this has given up
        read_wide_rows(client, read, std::nullopt, [ended](bool all) { *ended = all; });
        story_.world().run_until([ended] { return ended->has_value(); }, kAnswerLimit);
        done = ended->value_or(false);
        if (!done) story_.world().run_for(milliseconds(100));
      }
      if (!done) story_.fail("no scan of s.wide ends after the faults are gone");
    }
  }
}

// All groups together show each row as scans before and after do. Hints may still bring a write that was not acknowledged:
// where it came in between, the scans differ, and the row is not judged.
void ClusterWorkload::check_index(size_t client) {
  const std::optional<Numbers> before = all_registers(client);
  if (!before) return;
  Numbers found(2 * kRegisters);
  const bool by_partition = draw_partition().has_value();
  for (int64_t i = 0; i < kGroups * (by_partition ? kRegisters : 1) && !story_.failed(); ++i) {
    const int64_t group = i % kGroups;
    const std::optional<int> key = by_partition ? std::optional(static_cast<int>(i / kGroups)) : std::nullopt;
    Answer answer = insist(client, text_of_group(group, key), register_level(), kProgressLimit);
    if (!answer) return;
    for (const IndexedRow& row : indexed_rows(group, *answer)) {
      found[static_cast<size_t>(2 * row.key + row.clustering)] = row.number;
    }
  }
  const std::optional<Numbers> after = all_registers(client);
  if (!after) return;
  for (size_t i = 0; i < found.size() && !story_.failed(); ++i) {
    const std::optional<int64_t>& wanted = (*before)[i];
    if (wanted != (*after)[i] || wanted == found[i]) continue;
    story_.fail(
        fmt::format("key {} shows {} and through the index {}", i / 2, wanted.value_or(0), found[i].value_or(0)));
  }
}

void ClusterWorkload::check_counters() {
  for (size_t client = 0; client < clients_.size(); ++client) {
    for (int key = 0; key < kCounters && !story_.failed(); ++key) {
      for (Consistency level : {Consistency::kQuorum, Consistency::kAll}) {
        const CounterChecker::Expectation expected = counters_.must_show(key);
        const std::string text = fmt::format("SELECT n FROM s.counters WHERE k = {}", key);
        Answer answer = insist(client, text, level, kProgressLimit);
        if (!answer) return;
        const auto& rows = answer->get<ClientRows>()->rows;
        const std::string problem = counters_.check(key, expected, rows.empty() ? 0 : bigint_at(rows[0], 0));
        if (!problem.empty()) return story_.fail(problem);
      }
    }
  }
}

uint64_t ClusterWorkload::acknowledged() const {
  return registers_.acknowledged_count() + wide_rows_.acknowledged_count() + counters_.acknowledged_count() +
         acknowledged_batches_ + acknowledged_rows_;
}

std::string ClusterWorkload::summary() const {
  return fmt::format(
      "{} register writes, {} writes of wide rows, {} additions, {} batches, {} rows, {} schema changes acknowledged, "
      "{} reads",
      registers_.acknowledged_count(), wide_rows_.acknowledged_count(), counters_.acknowledged_count(),
      acknowledged_batches_, acknowledged_rows_, schema_.acknowledged_count(), judged_);
}

}  // namespace cassandra_like
