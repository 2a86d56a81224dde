// The names of an SSTable's components.
#pragma once

#include <array>
#include <string_view>

namespace cassandra_like::components {

inline constexpr std::string_view kData = "Data.db";
inline constexpr std::string_view kPartitions = "Partitions.db";
inline constexpr std::string_view kRows = "Rows.db";
inline constexpr std::string_view kFilter = "Filter.db";
inline constexpr std::string_view kStatistics = "Statistics.db";
inline constexpr std::string_view kCompressionInfo = "CompressionInfo.db";
inline constexpr std::string_view kCrc = "CRC.db";
inline constexpr std::string_view kDigest = "Digest.crc32";
inline constexpr std::string_view kToc = "TOC.txt";

// In the order in which they are removed: without TOC.txt an SSTable counts as incomplete.
inline constexpr std::array kAll{kToc, kData,  kPartitions, kRows, kFilter, kStatistics, kCompressionInfo,
                                 kCrc, kDigest};

}  // namespace cassandra_like::components
