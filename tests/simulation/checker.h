// Knows every write that was tried, and which were acknowledged, and judges what is read.
//
// Every operation on a key carries its own number as value and as write timestamp, so what a key must show is the
// operation with the highest number among those that took effect. A write sets two rows of a partition in one mutation:
// both show its number, or the mutation was torn. Let A be the highest number that has to be there: then a read must show
// an operation that was tried, with a number of at least A.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace cassandra_like {

class Checker {
 public:
  void tried_write(int key, int64_t number);
  void tried_delete(int key, int64_t number);
  // at: virtual time in nanoseconds.
  void acknowledged(int key, int64_t number, int64_t at);

  // The power failed, and what was acknowledged after `safe_until` may be gone (periodic mode).
  void forget_acknowledged_after(int64_t safe_until);

  // The highest number that a read that starts now has to show.
  int64_t must_show(int key) const;
  // What a read that was asked for when must_show() was `at_least` found: the numbers of both rows, nullopt for none.
  // Empty when that is possible, else what is wrong.
  std::string check(int key, int64_t at_least, std::optional<int64_t> first, std::optional<int64_t> second) const;

  const std::map<int64_t, bool>& history(int key) const;
  uint64_t acknowledged_count() const { return acknowledged_count_; }

 private:
  struct Key {
    std::map<int64_t, bool> tried;            // number, whether it was a delete
    std::map<int64_t, int64_t> acknowledged;  // number, when
  };
  std::map<int, Key> keys_;
  uint64_t acknowledged_count_ = 0;
};

}  // namespace cassandra_like
