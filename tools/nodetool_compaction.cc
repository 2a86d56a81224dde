// Automatic compaction and its limits: enableautocompaction, disableautocompaction, stop, and get and set of
// compactionthroughput and concurrentcompactors.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "nodetool.h"
#include "nodetool_format.h"

namespace cassandra_like::nodetool {

namespace {

void switch_auto_compaction(Session& s, const char* enabled) {
  Parameters parameters = s.keyspace_and_tables();
  parameters.emplace_back("enabled", enabled);
  s.post("/v1/auto_compaction", parameters);
}

// The constants of OperationType.
constexpr std::array kOperations{"P0",
                                 "CLEANUP",
                                 "SCRUB",
                                 "UPGRADE_SSTABLES",
                                 "VERIFY",
                                 "MAJOR_COMPACTION",
                                 "RELOCATE",
                                 "GARBAGE_COLLECT",
                                 "FLUSH",
                                 "WRITE",
                                 "ANTICOMPACTION",
                                 "VALIDATION",
                                 "INDEX_BUILD",
                                 "VIEW_BUILD",
                                 "COMPACTION",
                                 "TOMBSTONE_COMPACTION",
                                 "UNKNOWN",
                                 "STREAM",
                                 "KEY_CACHE_SAVE",
                                 "ROW_CACHE_SAVE",
                                 "COUNTER_CACHE_SAVE",
                                 "INDEX_SUMMARY"};

}  // namespace

void run_enableautocompaction(Session& s) { switch_auto_compaction(s, "true"); }
void run_disableautocompaction(Session& s) { switch_auto_compaction(s, "false"); }

void run_stop(Session& s) {
  std::string type = "UNKNOWN";
  for (const std::string& each : s.arguments) {
    if (std::find(kOperations.begin(), kOperations.end(), each) == kOperations.end()) {
      bad_use(fmt::format("compaction_type: can not convert \"{}\" to a OperationType", each));
    }
    type = each;
  }
  if (s.has("-id")) {
    s.post("/v1/compactions/stop", {{"id", s.option("-id")}});
  } else {
    s.post("/v1/compactions/stop", {{"type", type}});
  }
}

void run_getcompactionthroughput(Session& s) {
  const double throughput = s.get("/v1/compactions").at("throughput_bytes_per_second").get<double>() / (1024 * 1024);
  if (s.has("-d")) {
    s.out << fmt::format("Current compaction throughput: {} MiB/s\n", java_double(throughput));
  } else if (throughput == std::floor(throughput)) {
    s.out << fmt::format("Current compaction throughput: {} MB/s\n", static_cast<int64_t>(throughput));
  } else {
    failed("Use the -d flag to quiet this error and get the exact throughput in MiB/s");
  }
}

void run_setcompactionthroughput(Session& s) {
  s.post("/v1/compactions", {{"throughput_mib_per_second", integer(s, "compaction_throughput")}});
}

void run_getconcurrentcompactors(Session& s) {
  s.out << fmt::format("Current concurrent compactors in the system is: \n{}\n",
                       s.get("/v1/compactions").at("concurrent_compactors").get<int64_t>());
}

void run_setconcurrentcompactors(Session& s) {
  const std::string count = integer(s, "concurrent_compactors");
  if (std::stoi(count) <= 0) bad_use("concurrent_compactors should be great than 0.");
  s.post("/v1/compactions", {{"concurrent_compactors", count}});
}

}  // namespace cassandra_like::nodetool
