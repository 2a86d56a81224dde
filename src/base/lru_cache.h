// A map of limited weight: when it weighs more than its capacity, the entries go that were not used for the longest time,
// one by one, so that no insertion pays for more than it adds.
#pragma once

#include <cstdint>
#include <list>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"

namespace cassandra_like {

template <class Key, class Value, class Hash = absl::Hash<Key>, class Equal = std::equal_to<Key>>
class LruCache {
 public:
  // Both in units of the caller's choice.
  explicit LruCache(uint64_t capacity) : capacity_(capacity) {}

  // nullptr when it is not there. Marks it as used.
  template <class K>
  Value* find(const K& key) {
    auto it = by_key_.find(key);
    if (it == by_key_.end()) return nullptr;
    by_use_.splice(by_use_.begin(), by_use_, it->second);
    return &it->second->value;
  }

  // In place of what was there under the key. Calls evicted(key) for what has to go, which is never the entry itself.
  template <class Evicted>
  void put(const Key& key, Value value, uint64_t weight, Evicted evicted) {
    erase(key);
    weight_ += weight;
    by_use_.push_front({key, std::move(value), weight});
    by_key_[key] = by_use_.begin();
    while (weight_ > capacity_ && by_use_.size() > 1) {
      const Key last = by_use_.back().key;
      erase(last);
      evicted(last);
    }
  }
  void put(const Key& key, Value value, uint64_t weight) {
    put(key, std::move(value), weight, [](const Key&) {});
  }

  template <class K>
  void erase(const K& key) {
    auto it = by_key_.find(key);
    if (it == by_key_.end()) return;
    weight_ -= it->second->weight;
    by_use_.erase(it->second);
    by_key_.erase(it);
  }

  // f(key), the last used first.
  template <class F>
  void for_each_key(F f) const {
    for (const Entry& entry : by_use_) f(entry.key);
  }

  size_t size() const { return by_key_.size(); }
  uint64_t weight() const { return weight_; }
  uint64_t capacity() const { return capacity_; }

 private:
  struct Entry {
    Key key;
    Value value;
    uint64_t weight;
  };

  uint64_t capacity_;
  uint64_t weight_ = 0;
  std::list<Entry> by_use_;
  absl::flat_hash_map<Key, typename std::list<Entry>::iterator, Hash, Equal> by_key_;
};

}  // namespace cassandra_like
