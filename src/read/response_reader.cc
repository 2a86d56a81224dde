#include "read/response_reader.h"

#include <fmt/format.h>

#include "base/vint.h"
#include "model/row_codec_format.h"

namespace cassandra_like {

namespace {

using row_codec::PartitionFlag;

Error corrupt_response(const TableMetadata& table, std::string_view what) {
  return Error(ErrorCode::kCorruption, fmt::format("Corrupt answer to a read of {}: {}", table.qualified_name(), what));
}

}  // namespace

ResponseReader::ResponseReader(const ReadRequest& request, BytesView partitions)
    : request_(request), partitions_(partitions), in_(partitions), partition_(*this) {}

void ResponseReader::rewind() {
  in_ = Reader(partitions_);
  begun_ = ended_ = false;
  last_key_ = kNull;
  partition_.ended_ = true;
}

// A subset of the columns that the request fetches (db.Columns.Serializer.deserializeSubset).
Status ResponseReader::read_columns(Reader& in, const ColumnFilter::Columns& fetched,
                                    std::vector<HeaderColumn>& out) const {
  const TableMetadata& table = *request_.command.table;
  const row_codec::ColumnSubset subset(in, fetched.size(), false);
  if (in.failed()) return corrupt_response(table, "columns");
  out.clear();
  for (size_t i = 0; i < fetched.size(); ++i) {
    if (!subset.has(i)) continue;
    HeaderColumn& column = out.emplace_back(HeaderColumn::of(fetched[i]));
    if (table.dropped_columns.empty()) continue;
    const auto dropped = table.dropped_columns.find(fetched[i]->name);
    if (dropped != table.dropped_columns.end()) column.dropped_at = dropped->second.dropped_micros;
  }
  return {};
}

Result<PartitionReader*> ResponseReader::next() {
  const TableMetadata& table = *request_.command.table;
  if (!begun_) in_.u8();  // once: for thrift
  begun_ = true;
  while (!partition_.ended_) {
    ASSIGN_OR_RETURN(const Unfiltered* rest, partition_.next());
    static_cast<void>(rest);
  }
  if (ended_) return nullptr;
  const uint8_t more = in_.u8();
  if (in_.failed() || more > 1) return corrupt_response(table, "partitions");
  if (more == 0) {
    ended_ = true;
    if (!in_.at_end()) return corrupt_response(table, "it ends elsewhere than its partitions do");
    return nullptr;
  }
  TRY(partition_.begin(in_));
  const DecoratedKey& key = partition_.key();
  const bool is_wanted = request_.command.range
                             ? request_.command.range->contains(key) &&
                                   (is_null(last_key_) || (DecoratedKey{last_token_, last_key_} < key))
                             : is_null(last_key_) && key == request_.command.keys[0];
  if (!is_wanted) return corrupt_response(table, "a partition that was not asked for");
  last_token_ = key.token;
  last_key_ = key.key;
  return &partition_;
}

Status ResponseReader::Partition::begin(Reader& in) {
  const ReadRequest& request = response_.request_;
  const TableMetadata& table = *request.command.table;
  key_ = DecoratedKey::of(in.take(read_unsigned_vint(in)));
  const uint8_t flags = in.u8();
  if (in.failed()) return corrupt_response(table, "partition key");
  is_reversed_ = (flags & PartitionFlag::kIsReversed) != 0;
  partition_deletion_ = {};
  static_row_ = Row();
  static_row_.clustering = static_clustering();
  has_last_ = is_behind_end_ = false;
  open_ = {};
  if ((flags & PartitionFlag::kIsEmpty) != 0) return {};
  if (is_reversed_ != request.command.reversed) return corrupt_response(table, "the order of its rows");
  header_.stats = read_encoding_stats(in);
  header_.clustering_types = table.clustering_types();
  statics_.clear();
  if ((flags & PartitionFlag::kHasStaticRow) != 0)
    TRY(response_.read_columns(in, request.columns.fetched_statics, statics_));
  TRY(response_.read_columns(in, request.columns.fetched_regulars, regulars_));
  header_.static_columns = statics_;
  header_.regular_columns = regulars_;
  static_arena_.reset();
  decoder_.emplace(header_, RowForm::kMessaging, static_arena_);
  if ((flags & PartitionFlag::kHasDeletion) != 0) partition_deletion_ = decoder_->read_deletion(in);
  if ((flags & PartitionFlag::kHasStaticRow) != 0) static_row_ = decoder_->read_static_row(in);
  if ((flags & PartitionFlag::kHasRowEstimate) != 0) read_unsigned_vint(in);
  if (in.failed()) return corrupt_response(table, "the head of a partition");
  decoder_->set_arena(arena_);
  ended_ = false;
  return {};
}

Result<const Unfiltered*> ResponseReader::Partition::next() {
  Reader& in = response_.in_;
  const TableMetadata& table = *response_.request_.command.table;
  while (!ended_) {
    arena_.reset();
    if (!decoder_->next(in)) {
      ended_ = true;
      if (in.failed() || !open_.is_live()) return corrupt_response(table, "the end of a partition");
      break;
    }
    decoder_->read_body(in, &current_);
    if (in.failed()) return corrupt_response(table, "a row");
    if (current_.is_row && current_.row.is_empty()) continue;
    // In clustering order, whichever way it is read.
    if (!current_.is_row && is_reversed_) std::swap(current_.marker.open, current_.marker.close);
    TRY(check_order(current_));
    return &current_;
  }
  return nullptr;
}

Status ResponseReader::Partition::check_order(const Unfiltered& unfiltered) {
  const BytesView place = unfiltered.position().comparable;
  const bool begins_again = is_behind_end_ && !unfiltered.is_row && unfiltered.marker.close.is_live();
  const bool in_order =
      !has_last_ || (is_reversed_ ? place < last_ : BytesView(last_) < place) || (begins_again && place == last_);
  if (!in_order) return corrupt_response(*response_.request_.command.table, "the order of rows");
  last_.assign(place);
  has_last_ = true;
  is_behind_end_ = !unfiltered.is_row && unfiltered.marker.open.is_live();
  if (unfiltered.is_row) return {};
  if (!(unfiltered.marker.close == open_)) {
    return corrupt_response(*response_.request_.command.table, "range tombstones");
  }
  open_ = unfiltered.marker.open;
  return {};
}

}  // namespace cassandra_like
