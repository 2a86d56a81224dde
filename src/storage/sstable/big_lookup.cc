// Keys through a sample, and from there through the entries of Index.db.
#include "storage/sstable/big_lookup.h"

#include <fmt/format.h>

#include "base/log.h"
#include "storage/sstable/big_index.h"
#include "storage/sstable/index_summary.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like {

namespace {

class BigLookup final : public PartitionLookup {
 public:
  explicit BigLookup(const SSTableVersion& version) : version_(version) {}
  Status open(const ComponentSet& components, const TableMetadata& table);

  BytesView first_key() const override { return first_key_; }
  BytesView last_key() const override { return last_key_; }
  uint64_t count() const override { return count_; }
  std::string_view component() const override { return components::kPrimaryIndex; }
  Error corrupt() const override { return corrupt(0); }
  size_t memory_used() const override { return summary_->memory_used(); }
  Result<bool> find(const HashedKey& key, PartitionPlace* place) const override;
  std::unique_ptr<PartitionWalk> walk(const RingPosition& start) const override;
  RowBlocks* open_blocks(const PartitionPlace& place, const SerializationHeader& header,
                         RowBlocksSpace* space) const override;
  Result<bool> verify(size_t* at, size_t number) const override;

  BytesView index() const { return index_; }
  const IndexSummary& summary() const { return *summary_; }
  // The next entry. kCorruption when it is malformed.
  Result<bool> read_entry(Reader& in, PartitionPlace* place) const;
  // Whether a sample, if there is one of this number, leads to the entry of its key.
  bool is_right(size_t sample) const;

 private:
  Error corrupt(uint64_t at) const {
    return Error(ErrorCode::kCorruption, fmt::format("{} at {}: a damaged partition index", file_->path(), at));
  }
  uint64_t position_of(const Reader& in) const { return static_cast<uint64_t>(in.position() - index_.data()); }
  // Returns what is wrong with Summary.db; empty when it can be used.
  std::string read_summary(const ComponentSet& components);
  // From the last sample to the end of Index.db. False: the samples are not of this file.
  bool count_keys();
  Status build_summary(const TableMetadata& table);

  const SSTableVersion& version_;
  std::unique_ptr<ReadFile> file_;
  BytesView index_;
  std::optional<IndexSummary> summary_;
  BytesView first_key_, last_key_;
  uint64_t count_ = 0;
};

class BigPartitionWalk final : public PartitionWalk {
 public:
  BigPartitionWalk(const BigLookup& lookup, RingPosition start)
      : lookup_(lookup), start_(std::move(start)), in_(BytesView()) {
    const size_t sample = lookup.summary().floor(start_);
    const bool is_within = sample < lookup.summary().size();
    in_ = Reader(lookup.index().substr(is_within ? lookup.summary().position(sample) : 0));
    is_damaged_ = !lookup.is_right(sample);
  }

  Result<bool> next(PartitionPlace* place) override {
    if (is_damaged_) return lookup_.corrupt();
    while (!in_.at_end()) {
      ASSIGN_OR_RETURN([[maybe_unused]] bool read, lookup_.read_entry(in_, place));
      has_begun_ = has_begun_ || start_.compare(DecoratedKey::of(place->key)) <= 0;
      if (has_begun_) return true;
    }
    return false;
  }

 private:
  const BigLookup& lookup_;
  RingPosition start_;
  Reader in_;
  bool has_begun_ = false;
  bool is_damaged_ = false;
};

Status BigLookup::open(const ComponentSet& components, const TableMetadata& table) {
  ASSIGN_OR_RETURN(file_, components.map(components::kPrimaryIndex, &index_));
  if (index_.empty()) return corrupt(0);
  const std::string fault = read_summary(components);
  if (fault.empty()) return {};
  LOG_WARN("{}; it is built anew in memory from {}", fault, components::kPrimaryIndex);
  return build_summary(table);
}

std::string BigLookup::read_summary(const ComponentSet& components) {
  const std::string path = components.path(components::kSummary);
  if (!components.has(components::kSummary)) return path + ": the index summary is missing";
  auto content = components.read(components::kSummary);
  if (!content.ok()) return content.error().message();
  summary_ = IndexSummary::parse(std::move(*content));
  if (!summary_) return path + ": a malformed index summary";
  if (!summary_->is_full()) return path + ": a summary that Cassandra has thinned out";
  return count_keys() ? "" : path + ": the index summary does not match the index";
}

bool BigLookup::count_keys() {
  const size_t last = summary_->size() - 1;
  if (summary_->position(last) >= index_.size()) return false;
  Reader first(index_);
  first_key_ = read_big_index_key(first);
  Reader in(index_.substr(summary_->position(last)));
  count_ = last * static_cast<uint64_t>(summary_->interval());
  for (const uint64_t start = count_; !in.at_end(); ++count_) {
    last_key_ = read_big_index_key(in);
    if (in.failed() || (count_ == start && last_key_ != summary_->key(last).key)) return false;
  }
  return first_key_ == summary_->first_key() && last_key_ == summary_->last_key();
}

Status BigLookup::build_summary(const TableMetadata& table) {
  IndexSummaryBuilder builder(table.params.min_index_interval);
  for (Reader in(index_); !in.at_end();) {
    const uint64_t position = position_of(in);
    const BytesView key = read_big_index_key(in);
    if (in.failed()) return corrupt(position);
    builder.add(key, position);
  }
  // Keys that are not in ring order make no summary.
  summary_ = IndexSummary::parse(builder.serialize());
  return summary_ && count_keys() ? Status() : corrupt(0);
}

Result<bool> BigLookup::read_entry(Reader& in, PartitionPlace* place) const {
  const uint64_t position = position_of(in);
  if (!read_big_index_entry(index_, in, version_, place)) return corrupt(position);
  return true;
}

Result<bool> BigLookup::find(const HashedKey& key, PartitionPlace* place) const {
  const size_t sample = summary_->floor(key.key);
  if (sample == summary_->size()) {
    if (!is_right(0)) return corrupt();
    return false;
  }
  const uint64_t start = summary_->position(sample);
  const uint64_t end = sample + 1 < summary_->size() ? summary_->position(sample + 1) : index_.size();
  if (end > index_.size()) return corrupt(start);
  for (Reader in(index_.substr(start, end - start)); !in.at_end();) {
    Reader entry = in;
    const BytesView found = read_big_index_key(in);
    if (in.failed()) return corrupt(position_of(entry));
    if (found == key.key.key) return read_entry(entry, place);
  }
  // Two samples say that it would be between them.
  if (!is_right(sample) || !is_right(sample + 1)) return corrupt(start);
  return false;
}

bool BigLookup::is_right(size_t sample) const {
  if (sample >= summary_->size()) return true;
  Reader in(index_.substr(summary_->position(sample)));
  return read_big_index_key(in) == summary_->key(sample).key && !in.failed();
}

std::unique_ptr<PartitionWalk> BigLookup::walk(const RingPosition& start) const {
  return std::make_unique<BigPartitionWalk>(*this, start);
}

RowBlocks* BigLookup::open_blocks(const PartitionPlace& place, const SerializationHeader& header,
                                  RowBlocksSpace* space) const {
  space->big.open(index_, &file_->path(), place, version_, header.clustering_types);
  return &space->big;
}

Result<bool> BigLookup::verify(size_t* at, size_t number) const {
  for (const size_t end = std::min(*at + number, summary_->size()); *at < end; ++*at) {
    if (!is_right(*at)) return corrupt(summary_->position(*at));
  }
  return *at < summary_->size();
}

}  // namespace

Result<std::unique_ptr<PartitionLookup>> open_big_lookup(const ComponentSet& components, const TableMetadata& table,
                                                         const SSTableVersion& version) {
  auto lookup = std::make_unique<BigLookup>(version);
  TRY(lookup->open(components, table));
  return std::unique_ptr<PartitionLookup>(std::move(lookup));
}

}  // namespace cassandra_like
