// Judges of what a cluster did, beside the registers of checker.h. Each of them is told what was tried, how that was answered,
// and what was read; it returns what is wrong, or nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cassandra_like {

// How a request ended, as its client knows.
enum class Outcome : uint8_t {
  kAcknowledged,
  kRefused,  // Unavailable: no replica has heard of it, and none will
  kUnknown,  // a timeout, a failure, a lost connection: it may take effect, whole or in part, now or later
};

// Sums that only grow, each addition sent once. A read shows all that was acknowledged or read before it was asked for, and
// nothing that was not tried until it was answered.
class CounterChecker {
 public:
  void tried(int key, int64_t delta) { keys_[key].tried += delta; }
  void ended(int key, int64_t delta, Outcome outcome);
  struct Expectation {
    int64_t acknowledged = 0;
    int64_t read = 0;
    uint64_t reads_forgotten = 0;
  };
  Expectation must_show(int key) const;
  std::string check(int key, const Expectation& expected, int64_t value);
  // The power failed, and with it may be gone what was read and not acknowledged.
  void forget_reads();
  uint64_t acknowledged_count() const { return acknowledged_count_; }

 private:
  struct Key {
    int64_t tried = 0, acknowledged = 0, read = 0;
  };
  std::map<int, Key> keys_;
  uint64_t acknowledged_count_ = 0;
  uint64_t reads_forgotten_ = 0;
};

// Logged batches of a few rows each, of which the end has all or none; all of those that were acknowledged.
class BatchChecker {
 public:
  void tried(int64_t batch) { batches_[batch] = Outcome::kUnknown; }
  void ended(int64_t batch, Outcome outcome) { batches_[batch] = outcome; }
  std::string check(int64_t batch, size_t rows_found, size_t rows) const;
  const std::map<int64_t, Outcome>& batches() const { return batches_; }

 private:
  std::map<int64_t, Outcome> batches_;
};

// Rows that are written once. The coordinator that acknowledged a row, and has lived since, brings it to every other replica, by
// a hint if need be. It keeps no hint for itself, if it had no memory to apply the row.
class DeliveryChecker {
 public:
  void acknowledged(int64_t row, size_t coordinator, uint64_t life) { rows_[row] = {coordinator, life}; }
  // The rows that the replica has to have now; lives: of all nodes.
  std::vector<int64_t> due(size_t replica, const std::vector<uint64_t>& lives) const;
  static std::string check(int64_t row, size_t replica, bool found);

 private:
  struct Row {
    size_t coordinator;
    uint64_t life;
  };
  std::map<int64_t, Row> rows_;
};

// All nodes have one schema, and in it everything that was acknowledged.
class SchemaChecker {
 public:
  void acknowledged(const std::string& object) { objects_.insert(object); }
  // A node's version and objects.
  struct View {
    std::string version;
    std::set<std::string> objects;
  };
  std::string check(const std::vector<View>& nodes) const;
  size_t acknowledged_count() const { return objects_.size(); }

 private:
  std::set<std::string> objects_;
};

}  // namespace cassandra_like
