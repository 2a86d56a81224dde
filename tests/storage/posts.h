// An executor for tests of what runs on one thread, and posts to itself.
#pragma once

#include <deque>
#include <utility>

#include "runtime/executor.h"

namespace cassandra_like::storage_test {

// Runs what is posted when the test says so.
class Posts final : public Executor {
 public:
  unsigned shard() const override { return 0; }
  bool is_current() const override { return true; }
  void post(Callback fn) override { posted_.push_back(std::move(fn)); }
  TimerId schedule(Duration, Callback) override { return 0; }
  bool cancel(TimerId) override { return false; }

  void run() {
    while (!posted_.empty()) {
      Callback next = std::move(posted_.front());
      posted_.pop_front();
      next();
    }
  }

 private:
  std::deque<Callback> posted_;
};

}  // namespace cassandra_like::storage_test
