// Makes long operations of one shard follow one another.
//
//   co_await mutex.lock();
//   AsyncMutex::Guard guard(mutex);
#pragma once

#include <list>

#include "runtime/task.h"

namespace cassandra_like {

class AsyncMutex {
 public:
  // Frees the mutex, which hands it to the longest waiting.
  class Guard {
   public:
    explicit Guard(AsyncMutex& mutex) : mutex_(mutex) {}
    ~Guard() { mutex_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    AsyncMutex& mutex_;
  };

  Task<void> lock() {
    if (!locked_) {
      locked_ = true;
      return {};
    }
    return wait(this);
  }
  size_t waiting() const { return waiting_.size(); }

 private:
  static Task<void> wait(AsyncMutex* mutex) {
    Promise<bool> turn;
    mutex->waiting_.push_back(&turn);
    co_await turn;
  }
  void unlock() {
    if (waiting_.empty()) {
      locked_ = false;
      return;
    }
    Promise<bool>* next = waiting_.front();
    waiting_.pop_front();
    next->set(true);
  }

  bool locked_ = false;
  std::list<Promise<bool>*> waiting_;  // of nobody it takes no memory
};

}  // namespace cassandra_like
