// The facts that the writer of an SSTable has to know beforehand, when its data comes from other SSTables.
#pragma once

#include <span>

#include "storage/sstable/sstable.h"
#include "storage/sstable/sstable_writer.h"

namespace cassandra_like {

// Lower bounds of times, columns, state of repair, and how many partitions there may be. The rest is the caller's.
SSTableWriterOptions rewrite_options(const TablePtr& table, std::span<const SSTablePtr> inputs);

}  // namespace cassandra_like
