#include "read/response_writer.h"

#include "base/dcheck.h"
#include "base/vint.h"
#include "model/row_codec_format.h"

namespace cassandra_like {

namespace {

using row_codec::PartitionFlag;

constexpr char kAllColumns = 0;

std::vector<HeaderColumn> header_columns(const ColumnFilter::Columns& columns) {
  std::vector<HeaderColumn> out;
  out.reserve(columns.size());
  for (const Column* column : columns) out.push_back(HeaderColumn::of(column));
  return out;
}

EncodingStats stats_of(const UnfilteredSink::Partition& partition) {
  EncodingStatsCollector collector;
  collector.update(partition.deletion);
  if (!partition.static_row.is_empty()) collector.update(partition.static_row);
  if (partition.first != nullptr && partition.first->is_row) collector.update(partition.first->row);
  if (partition.first != nullptr && !partition.first->is_row) {
    collector.update(partition.first->marker.open);
    collector.update(partition.first->marker.close);
  }
  return collector.get();
}

}  // namespace

ResponseWriter::ResponseWriter(const ReadRequest& request, Bytes& out)
    : out_(out),
      statics_(header_columns(request.columns.fetched_statics)),
      regulars_(header_columns(request.columns.fetched_regulars)) {
  header_ = {{}, request.command.table->clustering_types(), statics_, regulars_};
  out_.push_back(0);
}

void ResponseWriter::begin_partition(const Partition& partition) {
  out_.push_back(1);
  append_unsigned_vint(out_, partition.key.key.size());
  out_.append(partition.key.key);
  uint8_t flags = partition.is_reversed ? PartitionFlag::kIsReversed : 0;
  is_empty_ = partition.is_empty();
  is_reversed_ = partition.is_reversed;
  const bool has_static = !partition.static_row.is_empty();
  if (is_empty_) flags |= PartitionFlag::kIsEmpty;
  if (!partition.deletion.is_live()) flags |= PartitionFlag::kHasDeletion;
  if (has_static) flags |= PartitionFlag::kHasStaticRow;
  out_.push_back(static_cast<char>(flags));
  if (is_empty_) return;
  header_.stats = stats_of(partition);
  append_encoding_stats(out_, header_.stats);
  if (has_static) out_.push_back(kAllColumns);
  out_.push_back(kAllColumns);
  if (const DeletionTime& d = partition.deletion; !d.is_live()) {
    append_unsigned_vint(
        out_, static_cast<uint64_t>(d.marked_for_delete_at) - static_cast<uint64_t>(header_.stats.min_timestamp));
    append_unsigned_vint(out_, row_codec::delta32(d.local_deletion_time, header_.stats.min_local_deletion_time));
  }
  if (has_static) append(partition.static_row);
}

void ResponseWriter::append(const Row& row) {
  const size_t at = out_.size();
  out_.resize(at + row_size(header_, row));
  write_row(out_.data() + at, header_, row);
}

void ResponseWriter::unfiltered(const Unfiltered& unfiltered) {
  DCHECK(!is_empty_);
  if (unfiltered.is_row) return append(unfiltered.row);
  // In clustering order, whichever way it is read.
  RangeTombstoneMarker marker = unfiltered.marker;
  if (is_reversed_) std::swap(marker.open, marker.close);
  const size_t at = out_.size();
  out_.resize(at + marker_size(header_, marker));
  write_marker(out_.data() + at, header_, marker);
}

bool ResponseWriter::end_partition() {
  if (!is_empty_) out_.push_back(kEndOfPartition);
  return true;
}

void ResponseWriter::finish() { out_.push_back(0); }

}  // namespace cassandra_like
