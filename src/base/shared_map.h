// A sorted map whose copies share what they have in common: for immutable snapshots of which each differs a little from
// the one before.
//
// The entries lie in chunks of at most kChunk, in ascending order. A copy copies pointers to chunks; a change copies the
// chunk that it is in. So among n entries a copy or a change costs n / kChunk pointers, and two maps of which one came
// from the other are compared in that time, too. A chunk never changes once it is in a map, so maps that share chunks may
// be used on several threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace cassandra_like {

template <class Key, class Value>
class SharedMap {
 public:
  using value_type = std::pair<Key, Value>;
  static constexpr size_t kChunk = 64;

 private:
  using Chunk = std::vector<value_type>;
  using Chunks = std::vector<std::shared_ptr<const Chunk>>;

 public:
  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = SharedMap::value_type;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = const value_type&;

    const_iterator() = default;
    reference operator*() const { return (**chunk_)[at_]; }
    pointer operator->() const { return &**this; }
    const_iterator& operator++() {
      if (++at_ == (*chunk_)->size()) ++chunk_, at_ = 0;
      return *this;
    }
    const_iterator operator++(int) {
      const_iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const const_iterator& other) const { return chunk_ == other.chunk_ && at_ == other.at_; }

    // When both are at the start of a chunk that their maps share, passes over it in both. Neither is at its end.
    friend bool pass_over_shared(const_iterator& a, const_iterator& b) {
      if (a.at_ != 0 || b.at_ != 0 || *a.chunk_ != *b.chunk_) return false;
      ++a.chunk_, ++b.chunk_;
      return true;
    }

   private:
    friend class SharedMap;
    using Position = typename Chunks::const_iterator;
    const_iterator(Position chunk, size_t at) : chunk_(chunk), at_(at) {}
    Position chunk_{};
    size_t at_ = 0;
  };
  using iterator = const_iterator;

  const_iterator begin() const { return const_iterator(chunks_.begin(), 0); }
  const_iterator end() const { return const_iterator(chunks_.end(), 0); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  template <class Name>
  const_iterator find(const Name& key) const {
    const auto chunk = chunk_of(chunks_, key);
    if (chunk == chunks_.end()) return end();
    const size_t at = place_in(**chunk, key);
    return at < (*chunk)->size() && (**chunk)[at].first == key ? const_iterator(chunk, at) : end();
  }
  template <class Name>
  bool contains(const Name& key) const {
    return find(key) != end();
  }

  // Adds the entry or replaces it.
  void set(Key key, Value value) { (*this)[std::move(key)] = std::move(value); }
  // The value, to be changed before the map is copied; made when there is none.
  Value& operator[](Key key) {
    auto chunk = chunk_of(chunks_, key);
    if (chunk == chunks_.end()) {
      // The key is before all others.
      if (chunks_.empty()) chunks_.push_back(std::make_shared<const Chunk>());
      chunk = chunks_.begin();
    }
    auto copy = std::make_shared<Chunk>(**chunk);
    size_t at = place_in(*copy, key);
    if (at == copy->size() || !((*copy)[at].first == key)) {
      copy->emplace(copy->begin() + static_cast<std::ptrdiff_t>(at), std::move(key), Value());
      ++size_;
    }
    auto place = chunks_.begin() + (chunk - chunks_.begin());
    if (copy->size() > kChunk) {
      // Keys often come in order: the last chunk stays nearly full.
      const bool is_last = place + 1 == chunks_.end() && at + 1 == copy->size();
      const size_t first = is_last ? kChunk : kChunk / 2;
      const auto middle = copy->begin() + static_cast<std::ptrdiff_t>(first);
      auto upper = std::make_shared<Chunk>(std::make_move_iterator(middle), std::make_move_iterator(copy->end()));
      copy->erase(middle, copy->end());
      *place = copy;
      chunks_.insert(place + 1, upper);
      if (at < first) return (*copy)[at].second;
      at -= first;
      copy = std::move(upper);
    } else {
      *place = copy;
    }
    return (*copy)[at].second;
  }

  // How many entries went: 1 or 0.
  template <class Name>
  size_t erase(const Name& key) {
    const auto found = chunk_of(chunks_, key);
    if (found == chunks_.end()) return 0;
    const size_t at = place_in(**found, key);
    if (at == (*found)->size() || !((**found)[at].first == key)) return 0;
    auto copy = std::make_shared<Chunk>(**found);
    copy->erase(copy->begin() + static_cast<std::ptrdiff_t>(at));
    --size_;
    const auto place = chunks_.begin() + (found - chunks_.begin());
    const auto next = place + 1;
    if (copy->empty()) {
      chunks_.erase(place);
      return 1;
    }
    if (next != chunks_.end() && copy->size() + (*next)->size() <= kChunk / 2) {
      copy->insert(copy->end(), (*next)->begin(), (*next)->end());
      chunks_.erase(next);
    }
    *place = std::move(copy);
    return 1;
  }
  void clear() {
    chunks_.clear();
    size_ = 0;
  }

  bool operator==(const SharedMap& other) const {
    if (size_ != other.size_) return false;
    for (auto a = begin(), b = other.begin(); a != end();) {
      if (pass_over_shared(a, b)) continue;
      if (!(*a == *b)) return false;
      ++a, ++b;
    }
    return true;
  }

 private:
  // The last chunk that begins at or before the key; end when all begin behind it.
  template <class Name>
  static typename Chunks::const_iterator chunk_of(const Chunks& chunks, const Name& key) {
    auto behind = std::upper_bound(chunks.begin(), chunks.end(), key, [](const Name& name, const auto& chunk) {
      return !chunk->empty() && name < chunk->front().first;
    });
    return behind == chunks.begin() ? chunks.end() : behind - 1;
  }
  template <class Name>
  static size_t place_in(const Chunk& chunk, const Name& key) {
    auto at = std::lower_bound(chunk.begin(), chunk.end(), key,
                               [](const value_type& entry, const Name& name) { return entry.first < name; });
    return static_cast<size_t>(at - chunk.begin());
  }

  Chunks chunks_;  // none is empty
  size_t size_ = 0;
};

// Calls removed(old), added(new) and kept(old, new) for what two sorted maps of pointers have; equal pointers are passed
// over, chunks that both share without a look at their entries.
template <class Map, class Removed, class Added, class Kept>
void compare_maps(const Map& before, const Map& after, Removed removed, Added added, Kept kept) {
  auto old = before.begin();
  auto now = after.begin();
  while (old != before.end() || now != after.end()) {
    if constexpr (requires { pass_over_shared(old, now); }) {
      if (old != before.end() && now != after.end() && pass_over_shared(old, now)) continue;
    }
    const bool is_old = now == after.end() || (old != before.end() && old->first < now->first);
    const bool is_new = old == before.end() || (now != after.end() && now->first < old->first);
    if (is_old) {
      removed(*old++->second);
    } else if (is_new) {
      added(*now++->second);
    } else {
      if (old->second != now->second) kept(*old->second, *now->second);
      ++old, ++now;
    }
  }
}

}  // namespace cassandra_like
