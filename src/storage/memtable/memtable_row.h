// A row in a memtable, in one of two forms.
//
// Packed, as most are: all that it has is of one timestamp, without an end or with the same one, nothing is deleted, and
// no value is a counter or an element of a collection. The row takes little more memory than its values, and lies in
// one piece, so that a slice of many rows waits for few cache lines:
//
//   MemtableRow | comparable form | uint32 sizes[n] | values of the clustering | [int32 ttl, uint32 expiration]
//               | values of the regular columns
//
// where n counts the clustering columns, then the regular columns of the table that it was written with. A column without
// a value has the size kAbsent. Numbers are in the processor's byte order and not aligned.
//
// Any other row is model's Row, somewhere behind the MemtableRow and its comparable form. A packed row can become general
// where it is.
#pragma once

#include <vector>

#include "base/arena.h"
#include "base/prefetch.h"
#include "model/row.h"

namespace cassandra_like {

// model's Row with room for more cells behind those that it has.
struct GeneralRow {
  // Copies everything into the arena but the comparable form, which is there already.
  static GeneralRow* make(const Row& row, BytesView comparable, Arena& arena);

  Row row;
  Cell* cells = nullptr;  // row.cells
  uint32_t capacity = 0;
};

class MemtableRow {
 public:
  // Everything is copied into the arena. A row that has columns of another version of the table is not packed.
  static MemtableRow* make(const TableMetadata& table, const Row& row, Arena& arena);

  BytesView comparable() const { return {bytes(), comparable_size_}; }
  bool is_packed() const { return table_ != nullptr; }
  // A packed row has this table's columns. Null: it is not packed.
  const TableMetadata* table() const { return table_; }

  // In the model's form, borrowed. The arena takes what it needs beside this row.
  Row row(Arena& arena) const;
  // For a packed row: whether all of it lives then.
  bool is_live(int64_t now_seconds) const { return !expires_ || now_seconds < end().expiration; }
  // For a packed row, also one that no longer lives. The vector holds the views that the result refers to.
  UniformRow uniform(std::vector<BytesView>& views) const;
  UniformRow uniform_with_age(std::vector<BytesView>& views) const;

  // For a packed row: the row in its place after a merge with another of the same clustering. Null if that is
  // not one of the two; then nothing has changed.
  MemtableRow* replaced_by(const TableMetadata& table, const Row& row, Arena& arena);
  // If it is packed, its values stay where they are.
  GeneralRow& become_general(Arena& arena);

  void prefetch() const {
    constexpr size_t kLines = 3;
    prefetch_lines(this, kLines);
  }

 private:
  static constexpr uint32_t kAbsent = ~uint32_t{0};
  struct End {
    int32_t ttl = kNoTtl;
    uint32_t expiration = 0;
  };

  MemtableRow() = default;
  static MemtableRow* allocate(BytesView comparable, size_t more, Arena& arena);
  static MemtableRow* make_packed(const TableMetadata& table, const Row& row, Arena& arena);

  char* bytes() { return reinterpret_cast<char*>(this + 1); }
  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
  // Where sizes and values begin, of a packed row.
  const char* sizes() const { return bytes() + comparable_size_; }
  const char* values() const;
  uint32_t size_at(size_t i) const;
  void put_size(size_t i, uint32_t size);
  size_t clustering_bytes() const;
  Liveness age() const;
  End end() const;                           // of a row that has one
  static size_t needed_for(const Row& row);  // of the capacity
  void write(const Row& row);
  bool has_all_of(const Row& row) const;
  bool is_all_in(const Row& row) const;
  bool is_same(const Row& row) const;

  const TableMetadata* table_ = nullptr;
  union {
    int64_t timestamp_;  // of a packed row
    GeneralRow* general_;
  };
  uint32_t comparable_size_ = 0;
  uint32_t has_liveness_ : 1 = 0;
  uint32_t expires_ : 1 = 0;
  uint32_t capacity_ : 30 = 0;  // bytes, for the end and the values of regular columns
};

}  // namespace cassandra_like
