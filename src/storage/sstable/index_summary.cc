// Building and searching samples of Index.db.
#include "storage/sstable/index_summary.h"

#include <algorithm>

namespace cassandra_like {

namespace {

constexpr size_t kSummaryHeaderBytes = 24;
constexpr size_t kSampleOffsetBytes = 4;
constexpr size_t kPositionBytes = 8;
constexpr size_t kMaxSampleBytes = 0x7FFFFFFF;  // of all samples

// Little-endian, as memory is on every machine that this node runs on.
static_assert(std::endian::native == std::endian::little);
template <class T>
T load_le(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void append_le(Bytes& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

}  // namespace

std::optional<IndexSummary> IndexSummary::parse(Bytes file) {
  IndexSummary summary;
  summary.file_ = std::move(file);
  Reader in(summary.file_);
  summary.interval_ = in.i32();
  const uint64_t samples = in.u32();
  const uint64_t bytes = in.be<uint64_t>();
  summary.level_ = in.i32();
  in.skip(4);  // the number of samples at the full level
  const bool is_sane = !in.failed() && summary.interval_ > 0 && samples > 0 && bytes <= in.remaining() &&
                       samples <= bytes / (kSampleOffsetBytes + kPositionBytes) && summary.level_ > 0 &&
                       summary.level_ <= kFullSamplingLevel;
  if (!is_sane) return std::nullopt;
  in.skip(bytes);
  summary.first_key_ = in.take(in.u32());
  summary.last_key_ = in.take(in.u32());
  if (in.failed()) return std::nullopt;
  summary.end_ = bytes;
  if (summary.offset(0) != samples * kSampleOffsetBytes) return std::nullopt;
  summary.tokens_.reserve(samples);
  uint64_t last_position = 0;
  for (uint64_t i = 0; i < samples; ++i) {
    const uint64_t start = summary.offset(i), end = i + 1 < samples ? summary.offset(i + 1) : bytes;
    if (end > bytes || start > end || end - start < kPositionBytes) return std::nullopt;
    const BytesView sample = BytesView(summary.file_).substr(kSummaryHeaderBytes + start, end - start);
    const auto position = load_le<uint64_t>(sample.data() + sample.size() - kPositionBytes);
    if (i == 0 ? position != 0 : position <= last_position) return std::nullopt;
    last_position = position;
    summary.tokens_.push_back(murmur3_token(sample.substr(0, sample.size() - kPositionBytes)));
    if (i > 0 && summary.tokens_[i] < summary.tokens_[i - 1]) return std::nullopt;
  }
  return summary;
}

uint32_t IndexSummary::offset(size_t i) const {
  return load_le<uint32_t>(file_.data() + kSummaryHeaderBytes + i * kSampleOffsetBytes);
}

BytesView IndexSummary::sample(size_t i) const {
  const size_t start = offset(i), end = i + 1 < tokens_.size() ? offset(i + 1) : end_;
  return BytesView(file_).substr(kSummaryHeaderBytes + start, end - start);
}

uint64_t IndexSummary::position(size_t i) const {
  const BytesView bytes = sample(i);
  return load_le<uint64_t>(bytes.data() + bytes.size() - kPositionBytes);
}

template <class IsAfter>
size_t IndexSummary::last_before(IsAfter is_after) const {
  size_t low = 0, high = size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (is_after(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low == 0 ? size() : low - 1;
}

size_t IndexSummary::floor(const DecoratedKey& wanted) const {
  return last_before(
      [&](size_t i) { return tokens_[i] != wanted.token ? tokens_[i] > wanted.token : key(i).key > wanted.key; });
}

size_t IndexSummary::floor(const RingPosition& place) const {
  return last_before([&](size_t i) { return place.compare(key(i)) < 0; });
}

void IndexSummaryBuilder::add(BytesView key, uint64_t index_position) {
  if (keys_ == 0) first_key_.assign(key);
  last_key_.assign(key);
  const bool is_sampled = keys_ % static_cast<uint64_t>(interval_) == 0;
  ++keys_;
  if (!is_sampled || samples_.size() + key.size() + kPositionBytes > kMaxSampleBytes) return;
  offsets_.push_back(static_cast<uint32_t>(samples_.size()));
  samples_.append(key);
  append_le<uint64_t>(samples_, index_position);
}

Bytes IndexSummaryBuilder::serialize() const {
  const auto interval = static_cast<uint64_t>(interval_);
  const size_t offset_bytes = offsets_.size() * kSampleOffsetBytes;
  Bytes out;
  append_be(out, interval_);
  append_be(out, static_cast<uint32_t>(offsets_.size()));
  append_be<uint64_t>(out, offset_bytes + samples_.size());
  append_be(out, IndexSummary::kFullSamplingLevel);
  append_be(out, static_cast<uint32_t>((keys_ + interval - 1) / interval));
  for (uint32_t offset : offsets_) append_le(out, static_cast<uint32_t>(offset_bytes + offset));
  out.append(samples_);
  for (const Bytes* key : {&first_key_, &last_key_}) {
    append_be(out, static_cast<uint32_t>(key->size()));
    out.append(*key);
  }
  return out;
}

}  // namespace cassandra_like
