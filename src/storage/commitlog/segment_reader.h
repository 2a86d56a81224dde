// Reads the records of a segment that a stopped, killed or crashed node left behind.
//
// Bytes that the last marker covers were on the disk before the marker was stored: a record there that is not whole is
// damage. Behind it, records are taken one after the other until the first that is not whole: what a kill left in the
// page cache, or the torn tail that a power failure left. Markers that are zeros or stored by half, which separate
// sections that were not yet acknowledged from others, are stepped over there.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "storage/commitlog/segment_format.h"

namespace cassandra_like {

struct SegmentSummary {
  uint64_t records = 0;
  uint32_t end = 0;  // behind the last whole record
  // All bytes before this were on the disk when the last marker was stored; 0 without a marker. `end` when it covers all
  // records.
  uint32_t durable = 0;
  bool torn = false;  // something that is not a record follows
};

struct SegmentReadOptions {
  // Damage in marked sections is passed to on_damage; reading goes on behind it when that returns ok.
  absl::FunctionRef<Status(const Error&)> on_damage;
  // Cassandra stores a marker before it syncs: damage in the newest file of a crashed node is a torn tail.
  bool tolerate_truncation = false;
};

// record(mutation bytes, offset behind the record); its error ends the reading.
Result<SegmentSummary> read_segment(BytesView file, const std::string& path, const SegmentDescriptor& descriptor,
                                    const SegmentReadOptions& options,
                                    absl::FunctionRef<Status(BytesView, uint32_t)> record);

}  // namespace cassandra_like
