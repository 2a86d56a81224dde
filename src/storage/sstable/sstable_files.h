// SSTables as files of a directory: the names of their components, which of them belong together, what may be removed.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "storage/sstable/sstable.h"

namespace cassandra_like {

namespace components {

inline constexpr std::string_view kData = "Data.db";
inline constexpr std::string_view kPartitions = "Partitions.db";
inline constexpr std::string_view kRows = "Rows.db";
inline constexpr std::string_view kPrimaryIndex = "Index.db";  // of BIG, as is Summary.db
inline constexpr std::string_view kSummary = "Summary.db";
inline constexpr std::string_view kFilter = "Filter.db";
inline constexpr std::string_view kStatistics = "Statistics.db";
inline constexpr std::string_view kCompressionInfo = "CompressionInfo.db";
inline constexpr std::string_view kCrc = "CRC.db";
inline constexpr std::string_view kDigest = "Digest.crc32";
inline constexpr std::string_view kToc = "TOC.txt";
inline constexpr std::string_view kChecksums = "Checksums.crc32";  // of this node alone
// TOC.txt while an SSTable is written or removed.
inline constexpr std::string_view kUnfinished = "TOC.txt.tmp";

inline constexpr std::array kAll{kToc,    kData,       kPartitions,      kRows, kPrimaryIndex, kSummary,
                                 kFilter, kStatistics, kCompressionInfo, kCrc,  kDigest,       kChecksums};

}  // namespace components

// The files of one SSTable, as a directory has them.
struct SSTableOnDisk {
  SSTableDescriptor descriptor;
  std::vector<std::string> components;  // "Data.db", in the order of their names
  int64_t modified_millis = 0;          // of Data.db

  bool has(std::string_view component) const;
  // A crash came while this node wrote or removed the SSTable. It is not used yet, or not used any more.
  bool is_unfinished() const;
  // Cassandra removed the SSTable, but not the component that it does not know.
  bool is_only_checksums() const;
};

// Lists the SSTables of all formats and versions, in the order of their names, without those that the log of a transaction
// voids. Nothing is removed.
Result<std::vector<SSTableOnDisk>> find_sstables(Disk& disk, const std::string& directory);

// The shard that wrote it, as its id or its Checksums.crc32 says; nullopt: Cassandra.
std::optional<SSTableOwner> writer_of(Disk& disk, const SSTableOnDisk& files);
// Tells the sequence what numbers a table's directory and its backups/ have. The numbers in logs of transactions count,
// too: when such a log is ended, the files of these numbers go, whoever has written them.
Status note_sequence_numbers(Disk& disk, const std::string& directory, SSTableSequence* sequence);

bool is_supported_format(const SSTableDescriptor& descriptor);
// kInvalid: which file it is, and how Cassandra makes one of it that can be read.
Error unsupported_format(const SSTableDescriptor& descriptor);

// Writes a TOC.txt that is missing, from the components that are there (TOCComponent.loadOrCreate).
Status write_toc(Disk& disk, const SSTableOnDisk& files);

// All components of an SSTable get a second name, in a directory that is there; another shard may have linked a shared one
// already. Names that end in .tmp are of a change under way: an SSTable that is restored with TOC.txt.tmp would count as unfinished.
Status link_sstable(Disk& disk, const SSTableDescriptor& descriptor, const std::string& target);

// How Cassandra prints an SSTable that is open (SSTable.toString).
std::string reader_name(const SSTableDescriptor& descriptor);

}  // namespace cassandra_like
