// The writes that bring the replicas of a partition up to what a read has merged (service.reads.repair.BlockingPartitionRepair):
// each replica gets what it lacks, and the client waits for as many acknowledgements as its level needs.
#pragma once

#include <memory>
#include <vector>

#include "coordinator/context/request_context.h"
#include "coordinator/read/alarms.h"

namespace cassandra_like {

class RepairWrites final : public std::enable_shared_from_this<RepairWrites> {
 public:
  struct Options {
    int64_t deadline = 0;    // monotonic nanoseconds
    int64_t additional = 0;  // when the plan's others get what nobody has acknowledged
    TracePtr trace;
  };

  RepairWrites(RequestContext& context, ClusterSnapshotPtr cluster, ReadRepairPlan plan, const Options& options);
  ~RepairWrites();
  RepairWrites(const RepairWrites&) = delete;
  RepairWrites& operator=(const RepairWrites&) = delete;

  // Before start(). A mutation for one of the plan's contacts.
  void add(EndpointIndex endpoint, SerializedMutation mutation);
  void start();
  // kReadTimeout when too few have acknowledged in time.
  static Task<Status> finished(std::shared_ptr<RepairWrites> self);

 private:
  // A mutation on its way to a replica.
  struct Write final : ResponseHandler {
    RepairWrites* repair = nullptr;
    EndpointIndex endpoint = 0;
    SerializedMutation mutation;
    uint32_t id = 0;
    bool acknowledged = false;
    bool is_additional = false;

    void on_response(InboundMessage&) override;
    void on_failure(const InetAddressAndPort&, RequestFailureReason) override { id = 0; }
  };

  void send(Write& write);
  static Task<void> write_locally(std::shared_ptr<RepairWrites> self, Write* write);
  void acknowledge(Write& write);
  void send_additional();
  void end(bool in_time);

  RequestContext& context_;
  const ClusterSnapshotPtr cluster_;
  const ReadRepairPlan plan_;
  const Options options_;
  std::vector<std::unique_ptr<Write>> writes_;
  int missing_ = 0;
  TimerId additional_timer_ = 0, deadline_timer_ = 0;
  Promise<bool> ended_;
  bool has_ended_ = false;
};

}  // namespace cassandra_like
