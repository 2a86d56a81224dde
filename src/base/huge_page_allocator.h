// Memory for large tables that are looked at here and there: in huge pages, a look misses the processor's caches but not its
// TLB.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace cassandra_like {

// Less than a huge page comes from the heap. Where there are no huge pages, it does without.
template <class T>
struct HugePageAllocator {
  using value_type = T;

  HugePageAllocator() = default;
  template <class U>
  HugePageAllocator(const HugePageAllocator<U>&) {}  // NOLINT: implicit, as allocators are

  T* allocate(size_t n) {
    const size_t bytes = n * sizeof(T);
    if (bytes < kHugePage) return static_cast<T*>(::operator new(bytes));
    void* memory = ::operator new (bytes, std::align_val_t{kHugePage});
    ::madvise(memory, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t n) {
    if (n * sizeof(T) < kHugePage) return ::operator delete(memory);
    ::operator delete (memory, std::align_val_t{kHugePage});
  }
  template <class U>
  bool operator==(const HugePageAllocator<U>&) const {
    return true;
  }

 private:
  static constexpr size_t kHugePage = 2 << 20;
};

}  // namespace cassandra_like
