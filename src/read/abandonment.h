// Tells the parts of a request that its client is gone: nobody wants the answer, and work for it should end.
#pragma once

#include <atomic>

#include "base/dcheck.h"
#include "base/result.h"

namespace cassandra_like {

// The client's; outlives its requests. Everything but is_set() belongs to the client's shard.
class Abandonment {
 public:
  // A part of a request that waits; it is told when it need not wait any longer.
  class Listener {
   public:
    // Once. Other listeners may leave meanwhile.
    virtual void abandoned() = 0;

   protected:
    Listener() = default;
    ~Listener() { DCHECK(next_ == nullptr); }

   private:
    friend class Abandonment;
    Listener* previous_ = nullptr;
    Listener* next_ = nullptr;
  };

  Abandonment() { first_.previous_ = first_.next_ = &first_; }
  Abandonment(const Abandonment&) = delete;
  Abandonment& operator=(const Abandonment&) = delete;
  ~Abandonment() {
    DCHECK(first_.next_ == &first_);
    first_.next_ = nullptr;
  }

  bool is_set() const { return set_.load(std::memory_order_relaxed); }
  void set() {
    set_.store(true, std::memory_order_relaxed);
    while (first_.next_ != &first_) {
      Listener& listener = *first_.next_;
      remove(listener);
      listener.abandoned();
    }
  }
  // A listener that comes too late looks at is_set() itself.
  void add(Listener& listener) {
    DCHECK(listener.next_ == nullptr);
    listener.previous_ = first_.previous_;
    listener.next_ = &first_;
    first_.previous_->next_ = &listener;
    first_.previous_ = &listener;
  }
  // A listener that is not there is left alone.
  static void remove(Listener& listener) {
    if (listener.next_ == nullptr) return;
    listener.previous_->next_ = listener.next_;
    listener.next_->previous_ = listener.previous_;
    listener.previous_ = listener.next_ = nullptr;
  }

 private:
  struct Head final : Listener {
    void abandoned() override {}
  };

  std::atomic<bool> set_{false};
  Head first_;  // of a ring of listeners
};

// An error that nobody is told of.
inline Status check_wanted(const Abandonment* abandonment) {
  if (abandonment == nullptr || !abandonment->is_set()) return {};
  return Error(ErrorCode::kClosed, "The client of the request is gone");
}

}  // namespace cassandra_like
