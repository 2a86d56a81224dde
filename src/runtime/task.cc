// Coroutine frames, and the parts of Task and Gate that need no template.
//
// Memory is rounded up to 64 bytes and freed into a list of its size on the thread that frees it. A list keeps at most
// kMaxListBytes; what is larger than kMaxPooled goes to the heap. Under AddressSanitizer nothing is pooled, so that it
// sees every use after free; and frames are not reported as leaks, because what is suspended when a runtime stops or a
// simulated machine crashes is abandoned: its callbacks are gone, and unwinding it would run code of the dead.
#include "runtime/task.h"

#include <array>
#include <new>

#include "base/result.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CASSANDRA_LIKE_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define CASSANDRA_LIKE_ASAN 1
#endif
#ifdef CASSANDRA_LIKE_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace cassandra_like {

namespace task_internal {
namespace {

constexpr size_t kStep = 64;
constexpr size_t kMaxPooled = 4096;
constexpr size_t kMaxListBytes = 128 * 1024;
#ifdef CASSANDRA_LIKE_ASAN
constexpr bool kPooling = false;
#else
constexpr bool kPooling = true;
#endif

struct FreeFrame {
  FreeFrame* next;
};
struct FreeList {
  FreeFrame* head;
  size_t bytes;
};

// Trivial, so that the common paths need no guard; the Reaper beside it empties the lists when the thread ends.
struct FreeLists {
  std::array<FreeList, kMaxPooled / kStep> of_size;
  bool thread_ended;
};
constinit thread_local FreeLists free_lists{};

struct Reaper {
  ~Reaper() {
    free_lists.thread_ended = true;
    for (FreeList& list : free_lists.of_size) {
      while (list.head != nullptr) ::operator delete(std::exchange(list.head, list.head->next));
    }
  }
  void touch() {}
};
thread_local Reaper reaper;

size_t list_index(size_t size) { return (size - 1) / kStep; }

}  // namespace

void* allocate_pooled(size_t size) {
  if (!kPooling || size > kMaxPooled) return ::operator new(size);
  FreeList& list = free_lists.of_size[list_index(size)];
  size_t rounded = (list_index(size) + 1) * kStep;
  if (list.head != nullptr) {
    list.bytes -= rounded;
    return std::exchange(list.head, list.head->next);
  }
  reaper.touch();
  return ::operator new(rounded);
}

void* allocate_frame(size_t size) {
  void* p = allocate_pooled(size);
#ifdef CASSANDRA_LIKE_ASAN
  __lsan_ignore_object(p);
#endif
  return p;
}

void free_pooled(void* p, size_t size) noexcept {
  if (!kPooling || size > kMaxPooled || free_lists.thread_ended) return ::operator delete(p);
  FreeList& list = free_lists.of_size[list_index(size)];
  size_t rounded = (list_index(size) + 1) * kStep;
  if (list.bytes + rounded > kMaxListBytes) return ::operator delete(p);
  list.bytes += rounded;
  list.head = new (p) FreeFrame{list.head};
}

}  // namespace task_internal

struct Gate::Wait {
  Gate* gate;

  bool await_ready() const noexcept { return gate->count_ == 0; }
  void await_suspend(std::coroutine_handle<> h) const noexcept {
    DCHECK(!gate->closer_);
    gate->closer_ = h;
  }
  void await_resume() const noexcept {}

  static Task<void> until_empty(Gate* gate) { co_await Wait{gate}; }
};

void Gate::leave() {
  CHECK(count_ > 0);
  if (--count_ == 0 && closer_) std::exchange(closer_, nullptr).resume();
}

Task<void> Gate::close() {
  closed_ = true;
  if (count_ == 0) return {};
  return Wait::until_empty(this);
}

}  // namespace cassandra_like
