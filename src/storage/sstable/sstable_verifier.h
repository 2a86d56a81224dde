// Looking for damage in an SSTable that is open (io.sstable.format.SortedTableVerifier), in small steps: between them the caller
// may do other things. The first finding ends it.
//
//   components  which there must be, and that TOC.txt lists them; Statistics.db, Filter.db and Summary.db can be parsed;
//               all that Checksums.crc32 has a checksum of has it
//   keys        the partition index has its keys in order, and as many as it says; this node owns them, where that is asked
//   data        not when quick: Data.db is what Digest.crc32 and the checksums of its chunks say
//   rows        when extended, or without Digest.crc32: partitions and rows in order, at the places that the indexes say,
//               under keys that the indexes and the bloom filter know
//
// Components and data are read by their names, the rest through what is open. Memory: a piece of a file, and the row index of
// the partition that is read.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "storage/sstable/component_set.h"
#include "storage/sstable/sstable.h"
#include "storage/sstable/sstable_partition_reader.h"

namespace cassandra_like {

// SSTableFormat.getLatestVersion: each format has one, whichever the node writes. BIG's is `written`, when that is of BIG.
bool has_latest_version(const SSTableDescriptor& descriptor, const SSTableVersion* written);

struct SSTableVerifyOptions {
  SSTableVerifyOptions() = default;  // not an aggregate: see TableSelection
  bool quick = false;
  bool extended = false;
  std::function<bool(Token)> owns;  // unset: it is not asked
  // Told of each partition before its rows are read, with its first position in the data, and once they are.
  std::function<void(uint64_t start)> on_partition;
  std::function<void(BytesView key, uint64_t start, uint64_t end)> on_sound_partition;
};

class SSTableVerifier {
 public:
  // Without a disk, the components are taken to be what they were when the SSTable was opened. All outlive this.
  SSTableVerifier(Disk* disk, std::shared_ptr<const SSTable> sstable, TablePtr table, SSTableVerifyOptions options);

  enum class Phase : uint8_t { kBegin, kComponents, kKeys, kSamples, kData, kRows, kEnd };

  // A fraction of a millisecond of work. False: nothing is left. kCorruption naming file and position.
  Result<bool> step();
  // All steps.
  Status run();

  Phase phase() const { return phase_; }                 // of the next step
  double done() const;                                   // 0 to 1
  uint64_t partitions() const { return partitions_; }    // whose rows were read
  bool misses_digest() const { return misses_digest_; }  // known after the components
  bool reads_rows() const { return options_.extended || misses_digest_; }

 private:
  Status begin();
  Status read_small_components(const ComponentSet& components);
  Status check_piece_of_component();
  Status begin_keys();
  Status check_keys();
  Status check_samples();
  Status begin_data();
  Status check_chunk();
  Status begin_rows();
  Status check_rows();
  Status begin_partition(const PartitionPlace& place);
  Status check_unfiltered(const Unfiltered& unfiltered, uint64_t start);
  Status end_partition();
  Status collect_blocks();
  Status check_block(uint64_t position);
  Error corrupt(std::string_view component, uint64_t at, std::string_view what) const;
  Error corrupt_data(uint64_t at, std::string_view what) const { return files_.data->corrupt(at, what); }

  Disk* disk_;
  std::shared_ptr<const SSTable> sstable_;
  TablePtr table_;
  SSTableVerifyOptions options_;
  SSTableFiles files_;
  Phase phase_ = Phase::kBegin;

  // The component that is compared.
  ComponentChecksums left_;
  std::unique_ptr<ReadFile> file_;
  uint64_t at_ = 0;
  uint32_t crc_ = 0;
  std::vector<char> piece_;

  std::unique_ptr<PartitionWalk> walk_;
  std::shared_ptr<const ResolvedHeader> header_;
  std::unique_ptr<SSTablePartitionReader> reader_;
  uint64_t keys_ = 0;
  Bytes last_key_;
  size_t sample_ = 0;

  std::optional<uint32_t> digest_;
  bool misses_digest_ = false;
  size_t chunk_ = 0;

  // The partition whose rows are read.
  bool in_partition_ = false;
  uint64_t partitions_ = 0;
  uint64_t next_partition_ = 0;  // in the data
  Bytes last_position_;
  DeletionTime open_;
  RowBlocksSpace blocks_space_;
  RowBlocks* blocks_to_collect_ = nullptr;
  std::vector<RowIndexBlock> blocks_;  // from the last on
};

}  // namespace cassandra_like
