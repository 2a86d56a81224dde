// A byte string whose memory comes from, and goes back to, a small pool of the thread: for buffers that live as long as
// one request, so that the next one finds its room already there.
#pragma once

#include <utility>

#include "base/bytes.h"

namespace cassandra_like {

class PooledBytes : public Bytes {
 public:
  PooledBytes() : Bytes(take()) {}
  PooledBytes(PooledBytes&&) = default;
  PooledBytes& operator=(PooledBytes&&) = default;
  PooledBytes(const PooledBytes&) = default;
  PooledBytes& operator=(const PooledBytes&) = default;
  PooledBytes& operator=(Bytes&& content) {
    Bytes::operator=(std::move(content));
    return *this;
  }
  ~PooledBytes() {
    if (capacity() >= kSmallest) give_back(std::move(*this));
  }

 private:
  static constexpr size_t kSmallest = 64;  // below it there is nothing worth keeping

  static Bytes take();
  static void give_back(Bytes&& bytes);
};

}  // namespace cassandra_like
