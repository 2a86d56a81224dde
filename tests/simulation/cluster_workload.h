// The requests of a simulated cluster's clients, and the checkers that judge the answers. Client i talks to node i.
//
//   s.registers  two rows a partition, written together, with numbers as values and as timestamps; at QUORUM
//   s.wide       rows that are written and deleted in ranges, and read in slices and pages (wide_rows.h); at QUORUM
//   s.counters   additions at QUORUM, none of them sent twice
//   s.batches    logged batches of three partitions
//   s.delivered  rows that are written once, at ONE or QUORUM, and not read before the end
//   schema       tables and columns that are made by any node
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "tests/simulation/checker.h"
#include "tests/simulation/cluster_checkers.h"
#include "tests/simulation/cluster_simulation.h"
#include "tests/simulation/simulated_client.h"
#include "tests/simulation/simulated_node.h"
#include "tests/simulation/wide_rows.h"

namespace cassandra_like {

class ClusterWorkload {
 public:
  using Answer = std::optional<ClientResponse>;

  ClusterWorkload(Story& story, std::vector<SimulatedNode*> nodes, Plant plant);

  void start_clients();
  void stop_clients();
  // One node or several lost their power.
  void power_failed();
  bool clients_are_ready() const;

  // Keyspace and tables, on a cluster without faults.
  bool create_schema(int replication_factor);
  // One request of each client that has not too many under way.
  void issue_some();
  // Makes a table or a column.
  void change_schema(size_t client);
  size_t in_flight() const;

  // --- After the faults. Each of them waits for its condition for a bounded time.
  void check_progress();
  void check_delivery();
  void check_batches();
  void check_schema();
  void check_registers();
  void check_wide_rows();
  void check_counters();

  uint64_t acknowledged() const;
  std::string summary() const;

 private:
  using Judge = std::function<void(const ClientResponse&)>;

  bool query(size_t client, const std::string& text, Consistency consistency, std::function<void(Answer)> then);
  bool query(size_t client, const std::string& text, const ClientQueryOptions& options,
             std::function<void(Answer)> then);
  // To the end; nullopt when no answer comes within a while.
  Answer ask(size_t client, const std::string& text, Consistency consistency);
  Outcome outcome_of(const std::string& text, const Answer& answer);
  // Asks until the answer holds rows or nothing, for a limited time.
  Answer insist(size_t client, const std::string& text, Consistency consistency, Duration limit);
  std::optional<std::vector<std::string>> column(size_t client, const std::string& text, Consistency consistency);

  void await_peers(size_t client);
  // Reads all keys again and again until nothing is wrong with them.
  void await_keys(size_t client, const std::string& text, Consistency consistency, Duration limit,
                  const std::function<std::string(const std::set<int64_t>&)>& problem_of);

  void issue(size_t client);
  void write_register(size_t client, int key);
  void delete_register(size_t client, int key);
  void judge_register_write(int key, int64_t number, const Outcome& outcome);
  void read_register(size_t client, int key);
  void judge_register(int key, const Checker::Expectation& expected, const ClientResponse& response);
  struct IndexedRow {
    int key, clustering;
    int64_t number;
  };
  std::vector<IndexedRow> indexed_rows(int64_t group, const ClientResponse& response);
  std::optional<int> draw_partition();
  static std::string text_of_group(int64_t group, std::optional<int> key);
  void read_group(size_t client, int64_t group);
  using Numbers = std::vector<std::optional<int64_t>>;  // by key and clustering
  std::optional<Numbers> all_registers(size_t client);
  void check_index(size_t client);
  void write_wide_rows(size_t client);
  // done: with whether all pages came.
  void read_wide_rows(size_t client, std::shared_ptr<WideRows::Read> read, std::optional<Bytes> paging_state,
                      std::function<void(bool)> done);
  size_t pick_client_like(size_t client);
  void add_to_counter(size_t client, int key);
  void send_addition(size_t client, int key, int64_t delta, int attempts);
  void read_counter(size_t client, int key, Consistency consistency);
  void write_batch(size_t client);
  void write_once(size_t client);
  Consistency register_level() const;
  Consistency register_read_level() const { return plant_ == Plant::kWeakReads ? Consistency::kOne : register_level(); }

  Story& story_;
  const std::vector<SimulatedNode*> nodes_;
  const Plant plant_;
  std::vector<std::unique_ptr<SimulatedClient>> clients_;
  Checker registers_;
  WideRows wide_rows_;
  CounterChecker counters_;
  BatchChecker batches_;
  DeliveryChecker delivery_;
  SchemaChecker schema_;
  int64_t last_number_ = 0;
  bool indexed_ = false;  // registers, by g
  uint64_t judged_ = 0;   // reads
  uint64_t acknowledged_batches_ = 0, acknowledged_rows_ = 0;
};

}  // namespace cassandra_like
