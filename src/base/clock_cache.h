// A map of limited weight: when it weighs more than its capacity, entries go one by one, so that no insertion pays for
// more than it adds.
//
// The CLOCK algorithm: a hand goes round over the entries; one that was used since it last came by stays, another one
// goes. So a use costs no more than finding the entry, and what is used often stays.
//
// The entries are in many hash tables, since a table that has to grow, or to get rid of the marks of erased entries, touches all
// of its entries at once. With a million entries that would take tens of milliseconds in one table.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"

namespace cassandra_like {

template <class Key, class Value, class Hash = absl::Hash<Key>, class Equal = std::equal_to<Key>>
class ClockCache {
 public:
  // Both in units of the caller's choice.
  explicit ClockCache(uint64_t capacity) : capacity_(capacity) {}

  // nullptr when it is not there. Marks it as used. Valid until the next put() or erase().
  template <class K>
  Value* find(const K& key) {
    Entry* entry = entry_of(key);
    if (entry == nullptr) return nullptr;
    entry->used = true;
    return &entry->value;
  }

  // The same for an observer: the entry does not count as used.
  template <class K>
  Value* peek(const K& key) {
    Entry* entry = entry_of(key);
    return entry == nullptr ? nullptr : &entry->value;
  }

  // A hint before find() and peek(): their memory is on its way to the processor while other work is done.
  template <class K>
  void prefetch(const K& key) {
    table_of(Hash()(key)).prefetch(key);
  }

  // Puts the entry in place of an older one of this key. Calls evicted(key) for each other entry that has to go.
  template <class Evicted>
  void put(const Key& key, Value value, uint64_t weight, Evicted evicted) {
    erase(key);
    size_t place = ring_.size();
    if (free_places_.empty()) {
      ring_.emplace_back(key);
    } else {
      place = free_places_.back();
      free_places_.pop_back();
      ring_[place] = key;
    }
    table_of(Hash()(key)).emplace(key, Entry{std::move(value), weight, place, false});
    ++size_;
    weight_ += weight;
    evict(place, evicted);
  }
  void put(const Key& key, Value value, uint64_t weight) {
    put(key, std::move(value), weight, [](const Key&) {});
  }

  // A smaller one evicts.
  void set_capacity(uint64_t capacity) {
    capacity_ = capacity;
    evict(ring_.size(), [](const Key&) {});
  }

  template <class K>
  void erase(const K& key) {
    const size_t hash = Hash()(key);
    Table& table = table_of(hash);
    auto it = table.find(key, hash);
    if (it == table.end()) return;
    weight_ -= it->second.weight;
    ring_[it->second.place].reset();
    free_places_.push_back(it->second.place);
    table.erase(it);
    --size_;
  }

  // Looks at so many places behind those that it looked at last, and erases the entries there whose keys are stale.
  template <class Stale>
  void sweep(size_t places, Stale is_stale) {
    for (places = std::min(places, ring_.size()); places > 0; --places) {
      if (broom_ >= ring_.size()) broom_ = 0;
      const std::optional<Key>& at = ring_[broom_++];
      if (at && is_stale(*at)) erase(Key(*at));
    }
  }

  // In no order.
  template <class F>
  void for_each_key(F f) const {
    for (const Table& table : tables_) {
      for (const auto& [key, entry] : table) f(key);
    }
  }

  size_t size() const { return size_; }
  uint64_t weight() const { return weight_; }
  uint64_t capacity() const { return capacity_; }

 private:
  struct Entry {
    Value value;
    uint64_t weight;
    size_t place;  // in the ring
    bool used;
  };
  using Table = absl::flat_hash_map<Key, Entry, Hash, Equal>;

  // A table finds an entry by the lower bits.
  Table& table_of(size_t hash) { return tables_[hash >> (std::numeric_limits<size_t>::digits - kTableBits)]; }
  template <class K>
  Entry* entry_of(const K& key) {
    const size_t hash = Hash()(key);
    Table& table = table_of(hash);
    auto it = table.find(key, hash);
    return it == table.end() ? nullptr : &it->second;
  }

  template <class Evicted>
  void evict(size_t newest, Evicted evicted) {
    while (weight_ > capacity_ && size_ > 1) {
      const Key last = next_to_go(newest);
      erase(last);
      evicted(last);
    }
  }

  // The entry that goes next, but not the one at `newest`. When many in a row were used, one of them goes nevertheless.
  Key next_to_go(size_t newest) {
    constexpr int kMostSpared = 64;
    for (int spared = 0;;) {
      const size_t place = hand_ < ring_.size() ? hand_ : 0;
      hand_ = place + 1;
      if (!ring_[place] || place == newest) continue;
      bool& used = entry_of(*ring_[place])->used;
      if (!used || ++spared > kMostSpared) return *ring_[place];
      used = false;
    }
  }

  static constexpr int kTableBits = 5;

  uint64_t capacity_;
  uint64_t weight_ = 0;
  size_t size_ = 0;
  std::array<Table, size_t{1} << kTableBits> tables_;
  std::vector<std::optional<Key>> ring_;
  std::vector<size_t> free_places_;  // of the ring
  size_t hand_ = 0, broom_ = 0;      // places
};

}  // namespace cassandra_like
