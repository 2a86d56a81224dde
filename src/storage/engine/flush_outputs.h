// The SSTables that the flush of one memtable writes, one after the other.
//
// Most flushes write one, which appears when its TOC.txt gets this name. UnifiedCompactionStrategy cuts a flush at the ends of
// its shares of the ring, and all strategies do at the boundaries of data directories. Each of the SSTables says that no record
// of the whole flush needs a replay, so one of them without the others would lose rows: they are in a transaction, and appear
// with its commit.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "storage/compaction/strategy/strategy.h"
#include "storage/sstable/sstable_transaction.h"
#include "storage/sstable/sstable_writer.h"

namespace cassandra_like {

class FlushOutputs {
 public:
  struct Order {
    TablePtr table;
    SSTableWriterOptions writer;  // of an output with all partitions
    OutputLimits limits;
    std::function<SSTableDescriptor(Token first)> next_output;  // a fresh name
    // Null where the limits cut nothing.
    std::unique_ptr<SSTableTransaction> transaction;
  };
  FlushOutputs(Disk& disk, Order order);
  FlushOutputs(const FlushOutputs&) = delete;
  FlushOutputs& operator=(const FlushOutputs&) = delete;

  // SSTableWriter::begin_partition; keys in ring order. The arguments outlive the Task, which waits where an output ends or
  // begins. After an error, and after one of writer(), abandon().
  Task<Status> begin_partition(const DecoratedKey& key, const DeletionTime& deletion, const Row& static_row);
  // For the rest of the partition.
  SSTableWriter& writer() { return *writer_; }
  // Behind the last partition: all outputs are whole on the disk.
  Task<Status> end();
  // From now on a start finds them. After an error, abandon().
  Task<Status> commit();

  const std::vector<SSTableInfo>& infos() const { return infos_; }  // of the outputs that are whole
  // The outputs that are whole, and one that may be, since its end failed.
  const std::vector<SSTableDescriptor>& ended() const { return ended_; }
  // Removes the output under way. The rest is for the caller to remove, by the transaction, if there is one.
  void abandon() { writer_ = nullptr; }
  // The directory where a step failed.
  const std::string& failed_directory() const;
  SSTableTransaction* transaction() { return order_.transaction.get(); }
  std::unique_ptr<SSTableTransaction> take_transaction() { return std::move(order_.transaction); }

 private:
  Task<Status> begin_in_next_output(const DecoratedKey* key, const DeletionTime* deletion, const Row* static_row);
  Task<Status> begin_output(Token first);
  Task<Status> end_output();

  Disk& disk_;
  Order order_;
  OutputCutter cutter_;
  uint64_t partitions_ = 0;  // that have begun
  std::unique_ptr<SSTableWriter> writer_;
  std::vector<SSTableDescriptor> ended_;
  std::vector<SSTableInfo> infos_;
  SSTableDescriptor current_;
};

}  // namespace cassandra_like
