// The table of versions.
#include "storage/sstable/sstable_version.h"

#include <array>

namespace cassandra_like {

namespace {

constexpr SSTableVersion make_version(SSTableFormat format, std::string_view format_name, std::string_view letters) {
  const bool is_bti = format == SSTableFormat::kBti;
  const bool of_4_0 = is_bti || letters >= "na";
  const bool of_5_0 = is_bti || letters >= "oa";
  return {.format = format,
          .format_name = format_name,
          .letters = letters,
          .has_max_compressed_length = of_4_0,
          .has_old_bf_format = !of_4_0,
          .has_metadata_checksum = of_4_0,
          .has_commit_log_lower_bound = is_bti || letters >= "mb",
          .has_commit_log_intervals = is_bti || letters >= "mc",
          .has_pending_repair = of_4_0,
          .has_is_transient = of_4_0,
          .has_originating_host_id = is_bti || letters >= "nb" || letters == "me",
          .has_accurate_min_max = !of_5_0 && letters >= "md",
          .has_legacy_min_max = !of_5_0,
          .has_improved_min_max = of_5_0,
          .has_partition_level_deletions_presence_marker = of_5_0,
          .has_key_range = of_5_0,
          .has_token_space_coverage = of_5_0,
          .has_uint_deletion_time = of_5_0};
}

constexpr std::array kVersions{
    make_version(SSTableFormat::kBti, "bti", "da"), make_version(SSTableFormat::kBig, "big", "nb"),
    make_version(SSTableFormat::kBig, "big", "oa"), make_version(SSTableFormat::kBig, "big", "na"),
    make_version(SSTableFormat::kBig, "big", "me"), make_version(SSTableFormat::kBig, "big", "md"),
    make_version(SSTableFormat::kBig, "big", "mc"), make_version(SSTableFormat::kBig, "big", "mb"),
    make_version(SSTableFormat::kBig, "big", "ma")};

}  // namespace

const SSTableVersion* SSTableVersion::find(std::string_view format_name, std::string_view letters) {
  for (const SSTableVersion& known : kVersions) {
    if (known.format_name == format_name && known.letters == letters) return &known;
  }
  return nullptr;
}

const SSTableVersion& SSTableVersion::da() { return kVersions[0]; }
const SSTableVersion& SSTableVersion::nb() { return kVersions[1]; }
const SSTableVersion& SSTableVersion::oa() { return kVersions[2]; }

}  // namespace cassandra_like
