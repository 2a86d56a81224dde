// The order of outputs, and the lines of their transaction.
#include "storage/engine/flush_outputs.h"

#include <algorithm>
#include <limits>

#include "base/dcheck.h"

namespace cassandra_like {

FlushOutputs::FlushOutputs(Disk& disk, Order order)
    : disk_(disk), order_(std::move(order)), cutter_(std::move(order_.limits)) {}

Task<Status> FlushOutputs::begin_partition(const DecoratedKey& key, const DeletionTime& deletion,
                                           const Row& static_row) {
  const bool ends = cutter_.ends_before(key.token, writer_ == nullptr ? 0 : writer_->bytes_written());
  if (writer_ == nullptr || ends) return begin_in_next_output(&key, &deletion, &static_row);
  ++partitions_;
  return writer_->begin_partition(key, deletion, static_row);
}

Task<Status> FlushOutputs::begin_in_next_output(const DecoratedKey* key, const DeletionTime* deletion,
                                                const Row* static_row) {
  if (writer_ != nullptr) CO_TRY(co_await end_output());
  CO_TRY(co_await begin_output(key->token));
  ++partitions_;
  co_return writer_->begin_partition(*key, *deletion, *static_row);
}

Task<Status> FlushOutputs::begin_output(Token first) {
  current_ = order_.next_output(first);
  DCHECK(order_.transaction != nullptr || infos_.empty());
  if (order_.transaction != nullptr) CO_TRY(co_await order_.transaction->add(current_));
  SSTableWriterOptions options = order_.writer;
  const uint64_t all = options.estimated_partitions;
  const auto left = static_cast<double>(all - std::min(partitions_, all));
  const double share = cutter_.share_of_output(first, std::numeric_limits<Token>::max(), 0);
  options.estimated_partitions = static_cast<uint64_t>(left * share) + (share < 1 ? 1 : 0);
  CO_ASSIGN_OR_RETURN(writer_, SSTableWriter::create(disk_, current_, order_.table, std::move(options)));
  co_return Status();
}

Task<Status> FlushOutputs::end_output() {
  ended_.push_back(current_);
  Result<SSTableInfo> info = co_await writer_->finish();
  if (!info.ok()) co_return std::move(info.error());
  infos_.push_back(std::move(info).value());
  writer_ = nullptr;
  co_return Status();
}

Task<Status> FlushOutputs::end() {
  if (writer_ == nullptr) return Status();
  return end_output();
}

Task<Status> FlushOutputs::commit() {
  if (order_.transaction == nullptr || infos_.empty()) return Status();
  return order_.transaction->commit({});
}

const std::string& FlushOutputs::failed_directory() const {
  const bool is_of_log = order_.transaction != nullptr && !order_.transaction->failed_directory().empty();
  return is_of_log ? order_.transaction->failed_directory() : current_.directory;
}

}  // namespace cassandra_like
