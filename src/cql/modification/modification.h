// INSERT, UPDATE and DELETE, alone or in a batch.
#pragma once

#include "cql/context/statement.h"
#include "cql/modification/operation.h"
#include "cql/restrictions/restrictions.h"
#include "model/mutation.h"

namespace cassandra_like {

// Gathers the updates of one request and groups them into one Mutation for each keyspace and partition key. All of it,
// what mutations() returns included, lives in the arena.
class UpdateCollector {
 public:
  explicit UpdateCollector(Arena& arena) : arena_(arena), updates_(arena, 1), mutations_(arena, 1) {}
  void add(const PartitionUpdate& update) { updates_.push_back(update); }
  // Rows of one partition that came from several statements are merged. In order of first appearance.
  std::span<const Mutation> mutations();

 private:
  PartitionUpdate merge(std::span<const PartitionUpdate* const> parts);
  Arena& arena_;
  ArenaVector<PartitionUpdate> updates_;
  ArenaVector<Mutation> mutations_;
};

class Modification : public Statement {
 public:
  enum class Kind { kInsert, kUpdate, kDelete };

  Task<Result<QueryResult>> execute(ExecutionContext& context) const override;
  Status validate(const ClientState&) const override;
  StatementKind kind() const override;
  std::vector<Uuid> depends_on() const override { return {table_->id}; }
  const TableMetadata* key_table() const override { return table_.get(); }
  const Modification* as_modification() const override { return this; }

  const TablePtr& table() const { return table_; }
  bool is_counter() const { return table_->is_counter(); }
  bool has_timestamp() const { return attributes_.timestamp != nullptr; }
  bool requires_read() const { return requires_read_; }
  // Adds this statement's updates. When requires_read(), prefetch() has been awaited before, and its result is passed.
  struct Prefetched;
  // Whether the values of the partition key are there and can be one.
  Status check_keys(ExecutionContext& context) const;
  Status add_updates(ExecutionContext& context, const Prefetched* prefetched, UpdateCollector& collector) const;
  Task<Result<std::shared_ptr<Prefetched>>> prefetch(ExecutionContext* context) const;

 private:
  friend class ModificationBuilder;
  struct Parameters {
    int64_t timestamp;
    int32_t ttl;
    const Prefetched* prefetched;
    bool guarded;  // guardrails on values hold
  };
  Status guard_given_timestamp(ExecutionContext& context) const;
  Result<std::span<const BytesView>> bind_keys(ExecutionContext& context) const;
  Result<ClusteringPrefix> bind_clustering(ExecutionContext& context) const;
  Status add_partition(ExecutionContext& context, const DecoratedKey& key, const Parameters& parameters,
                       UpdateCollector& collector) const;
  Status set_compact_value(const ClusteringPrefix& clustering, RowBuilder& row) const;
  Result<Row> make_row(ExecutionContext& context, const DecoratedKey& key, const ClusteringPrefix& clustering,
                       const Parameters& parameters, std::span<const OperationPtr> operations) const;
  Result<std::vector<ClusteringPrefix>> clusterings(ExecutionContext& context) const;
  Status check_expiration(const ExecutionContext& context, int32_t ttl) const;
  Status add_range_deletion(ExecutionContext& context, const Parameters& parameters, PartitionUpdate& update) const;
  Task<Result<QueryResult>> execute_with_read(ExecutionContext* context) const;
  Status check_level(Consistency level) const;
  Task<Result<QueryResult>> write(ExecutionContext& context, const Prefetched* prefetched) const;

  Kind statement_kind_ = Kind::kInsert;
  TablePtr table_;
  // INSERT's values of the key; for other statements restrictions_ has them.
  std::vector<TermPtr> key_terms_, clustering_terms_;
  std::unique_ptr<Restrictions> restrictions_;
  std::vector<OperationPtr> regular_operations_, static_operations_;  // in column order
  PreparedAttributes attributes_;
  bool requires_read_ = false;
  bool deletes_rows_ = false;  // DELETE without columns
  // The value of a row with COMPACT STORAGE, where an INSERT gives none: such a row has no marker that it is there.
  const Column* unset_value_ = nullptr;
};

// Whether clients may write the table: kUnauthorized or kInvalid in Cassandra's words.
Status check_modifiable(const TableMetadata& table, const ClientState& client);

}  // namespace cassandra_like
