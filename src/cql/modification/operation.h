// The effect of an INSERT, UPDATE or DELETE on one column of a row (cql3.Operation, Constants, Lists, Sets, Maps, UserTypes).
#pragma once

#include <memory>
#include <vector>

#include "cql/expressions/term.h"
#include "model/row.h"

namespace cassandra_like {

// A vector in an arena, for trivially destructible elements.
template <class T>
class ArenaVector {
 public:
  explicit ArenaVector(Arena& arena, size_t capacity = 0) : arena_(&arena) {
    if (capacity > 0) data_ = arena.make_span<T>(capacity);
  }
  void push_back(const T& value) {
    if (size_ == data_.size()) grow();
    data_[size_++] = value;
  }
  std::span<T> span() const { return data_.first(size_); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& back() { return data_[size_ - 1]; }

 private:
  void grow() {
    auto bigger = arena_->make_span<T>(data_.empty() ? 8 : data_.size() * 2);
    std::copy(data_.begin(), data_.end(), bigger.begin());
    data_ = bigger;
  }
  Arena* arena_;
  std::span<T> data_;
  size_t size_ = 0;
};

// Gathers the cells of one row. Cells come in the order of the statement's operations, which is that of columns; only
// inside of a complex column do they have to be sorted.
class RowBuilder {
 public:
  RowBuilder(ExecutionContext& context, int64_t timestamp, int32_t ttl, size_t expected_cells)
      : context(context),
        timestamp_(timestamp),
        ttl_(ttl),
        cells_(context.arena, expected_cells),
        complex_deletions_(context.arena) {}

  void add(const Column* column, BytesView value, BytesView path = kNull);
  void add_tombstone(const Column* column, BytesView path = kNull);
  void add_counter(const Column* column, int64_t delta);
  // Everything that the collection had before; with for_overwrite, not what the same statement adds.
  void delete_complex(const Column* column, bool for_overwrite);
  Liveness liveness() const;
  DeletionTime deletion() const { return {timestamp_, context.now_seconds}; }
  // clustering is set by the caller.
  Row build();
  // The live elements of a list, in order: those that the row has, and the changes of the operations before this one. The
  // cells live as long as `scratch`, what they point to as long as the request.
  std::span<const Cell> elements(const Column* list, Arena& scratch) const;
  // In the order of the operations.
  std::span<const Cell> cells() const { return cells_.span(); }
  bool empty() const { return cells_.empty() && complex_deletions_.empty(); }

  ExecutionContext& context;
  const Row* prefetched = nullptr;  // what the node has of the row, for operations that require a read

 private:
  int64_t timestamp_;
  int32_t ttl_;
  bool needs_sorting_ = false;
  ArenaVector<Cell> cells_;
  ArenaVector<ComplexDeletion> complex_deletions_;
};

class Operation {
 public:
  explicit Operation(const Column* column) : column_(column) {}
  virtual ~Operation() = default;
  const Column* column() const { return column_; }
  virtual Status apply(RowBuilder& row) const = 0;
  // The words of a guardrail for an operation that needs the elements that the list has now; nullptr: it needs none.
  virtual const char* list_read() const { return nullptr; }
  bool requires_read() const { return list_read() != nullptr; }
  // Whether it writes a collection as a whole, or adds one to it, but in front of a list.
  virtual bool writes_collection() const { return false; }

  size_t position = 0;  // among those of its statement, as it is written

 protected:
  const Column* column_;
};
using OperationPtr = std::unique_ptr<Operation>;

// column = value, where the value is prepared already.
Result<OperationPtr> set_value(const Column* column, TermPtr value);
Result<OperationPtr> prepare_set_value(const TableMetadata& table, const Column* column, const ast::Term& value,
                                       PrepareContext& context);
Result<OperationPtr> prepare_assignment(const TableMetadata& table, const Column* column,
                                        const ast::Assignment& assignment, PrepareContext& context);
Result<OperationPtr> prepare_deletion(const TableMetadata& table, const Column* column, const ast::Deletion& deletion,
                                      PrepareContext& context);

}  // namespace cassandra_like
