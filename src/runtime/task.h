// Task<T>: the project's coroutine type. Lazy, move-only, awaited at most once, resumed by symmetric transfer.
//
// A Task that was made from a value (`return 42;` from an ordinary function that returns Task<int>) holds it without
// a coroutine frame, and awaiting it does not suspend. So an interface that may have to wait costs nothing where it
// does not: ready() is asked, and the value is there.
//
// Frames come from a per-thread free list. Coroutine parameters are taken by value, and a coroutine is never a
// capturing lambda: GCC 12 miscompiles both. Exceptions do not cross a Task: one that escapes aborts.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "base/dcheck.h"

namespace cassandra_like {

namespace task_internal {
void* allocate_pooled(size_t size);
void free_pooled(void* p, size_t size) noexcept;
// allocate_pooled() for a coroutine frame, which may be abandoned.
void* allocate_frame(size_t size);
}  // namespace task_internal

// The memory of what is made for one request and dies with it: from the free lists of frames. For classes that are final, or
// deleted through a virtual destructor, so that their size is known then.
struct FramePooled {
  static void* operator new(size_t size) { return task_internal::allocate_pooled(size); }
  static void operator delete(void* p, size_t size) noexcept { task_internal::free_pooled(p, size); }
};

namespace task_internal {
struct PromiseBase : FramePooled {
  static void* operator new(size_t size) { return allocate_frame(size); }

  std::coroutine_handle<> continuation = std::noop_coroutine();
  bool is_spawned = false;  // frees itself at its end

  std::suspend_always initial_suspend() noexcept { return {}; }
  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
      std::coroutine_handle<> next = h.promise().continuation;
      if (h.promise().is_spawned) h.destroy();
      return next;
    }
    void await_resume() noexcept {}
  };
  FinalAwaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { std::terminate(); }
};
}  // namespace task_internal

template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type : task_internal::PromiseBase {
    std::optional<T> value;
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    template <class U>
    void return_value(U&& v) {
      value.emplace(std::forward<U>(v));
    }
  };

  template <class U = T>
  requires(std::is_convertible_v<U&&, T> && !std::is_same_v<std::remove_cvref_t<U>, Task>) Task(U&& value)
      : value_(std::forward<U>(value)) {}  // NOLINT: implicit on purpose
  Task(Task&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)), value_(std::move(o.value_)) {}
  Task& operator=(Task&& o) noexcept {
    if (this != &o) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(o.handle_, nullptr);
      value_ = std::move(o.value_);
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool ready() const { return value_.has_value() || (handle_ && handle_.done()); }
  // The value of a ready Task; take() moves it out.
  T& value() {
    DCHECK(ready());
    return value_ ? *value_ : *handle_.promise().value;
  }
  T take() { return std::move(value()); }

  bool await_ready() const noexcept { return ready(); }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    DCHECK(handle_ && !handle_.done());
    handle_.promise().continuation = caller;
    return handle_;
  }
  T await_resume() { return take(); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_ = nullptr;
  std::optional<T> value_;
};

template <>
class [[nodiscard]] Task<void> {
 public:
  struct promise_type : task_internal::PromiseBase {
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    void return_void() {}
  };

  Task() = default;  // ready
  Task(Task&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
  Task& operator=(Task&& o) noexcept {
    if (this != &o) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(o.handle_, nullptr);
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool ready() const { return !handle_ || handle_.done(); }
  bool await_ready() const noexcept { return ready(); }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    DCHECK(handle_ && !handle_.done());
    handle_.promise().continuation = caller;
    return handle_;
  }
  void await_resume() noexcept {}

 private:
  friend void spawn(Task<void> task);
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_ = nullptr;
};

// Starts a task that nobody awaits; its frame frees itself at the end. Spawned work must be bounded by a Gate.
inline void spawn(Task<void> task) {
  if (task.ready()) return;
  std::coroutine_handle<Task<void>::promise_type> handle = std::exchange(task.handle_, nullptr);
  handle.promise().is_spawned = true;
  handle.resume();
}

// A value that is set once, later, by whoever holds it, and awaited by at most one coroutine; set() resumes the
// waiter at once, on the caller's stack. Lives in the waiter's frame or in something that outlives both.
template <class T>
class Promise {
 public:
  void set(T value) {
    DCHECK(!value_);
    value_.emplace(std::move(value));
    if (waiter_) std::exchange(waiter_, nullptr).resume();
  }
  bool await_ready() const noexcept { return value_.has_value(); }
  void await_suspend(std::coroutine_handle<> h) noexcept {
    DCHECK(!waiter_);
    waiter_ = h;
  }
  T await_resume() { return std::move(*value_); }

 private:
  std::optional<T> value_;
  std::coroutine_handle<> waiter_ = nullptr;
};

// Counts work in progress; close() refuses more and completes when what was entered has left. One closer.
class Gate {
 public:
  bool enter() {
    if (closed_) return false;
    ++count_;
    return true;
  }
  void leave();
  bool closed() const { return closed_; }
  size_t count() const { return count_; }
  Task<void> close();

 private:
  size_t count_ = 0;
  bool closed_ = false;
  std::coroutine_handle<> closer_ = nullptr;
  struct Wait;
};

}  // namespace cassandra_like
