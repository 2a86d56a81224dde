#include "replicated_read_fixture.h"

#include "messaging/read_command_codec.h"
#include "messaging/read_response.h"
#include "messaging/wire/mutation_codec.h"
#include "read/read_digest.h"
#include "read/response_writer.h"

namespace cassandra_like::test {
namespace {

// db.ReadCommandVerbHandler
Task<VerbResult> answer_read(CoordinatorNode* node, unsigned shard, InboundMessage message) {
  Replica& replica = node->replica(shard);
  const SchemaPtr schema = replica.schema().current();
  message.keep();
  const FindTable find = [schema](const Uuid& id) { return schema->table(id); };
  auto request = decode_read_request(message.payload, message.version, find);
  if (!request.ok()) co_return VerbResult::failure(RequestFailureReason::kIncompatibleSchema);
  const ReadRequest& wanted = (*request)->request;
  DataResponse response;
  ResponseWriter writer(wanted, response.data());
  ReadDigest digest(wanted);
  UnfilteredSink& sink = wanted.is_digest ? static_cast<UnfilteredSink&>(digest) : writer;
  Task<Result<ReadStatistics>> reading = replica.read_unfiltered(wanted, sink);
  Result<ReadStatistics> read = co_await reading;
  if (!read.ok()) {
    const bool has_tombstones = read.error().code() == ErrorCode::kReadFailure;
    co_return VerbResult::failure(has_tombstones ? RequestFailureReason::kReadTooManyTombstones
                                                 : RequestFailureReason::kUnknown);
  }
  Bytes body;
  if (wanted.is_digest) {
    append_digest_response(body, digest.finish());
  } else {
    writer.finish();
    body = response.finish();
  }
  co_return VerbResult::answer(SharedBytes::copy_of(body));
}

Task<VerbResult> answer_later(CoordinatorNode* node, InboundMessage message, Duration delay) {
  message.keep();
  co_await node->runtime->shard(0).executor.sleep(delay);
  Task<VerbResult> answering = answer_read(node, 0, std::move(message));
  co_return co_await answering;
}

}  // namespace

ReadCluster::ReadCluster(size_t nodes, int factor, unsigned shards) : CoordinatorCluster(nodes, factor, shards) {
  handle_reads();
}

ReadCluster::ReadCluster(std::vector<NodePlace> places, StringPairs replication, unsigned shards)
    : CoordinatorCluster(std::move(places), std::move(replication), shards) {
  handle_reads();
}

void ReadCluster::handle_reads() {
  for (size_t i = 0; i < size(); ++i) {
    CoordinatorNode* n = &node(i);
    for (unsigned shard = 0; shard < n->messengers.size(); ++shard) {
      n->answers(Verb::kReadReq, shard, answering(i, shard));
      n->answers(Verb::kRangeReq, shard, answering(i, shard));
      n->answers(Verb::kReadRepairReq, shard,
                 [n, shard](InboundMessage m) { return apply_mutation(&n->replica(shard), std::move(m)); });
    }
  }
}

VerbHandler ReadCluster::answering(size_t i, unsigned shard) {
  return [n = &node(i), shard](InboundMessage m) { return answer_read(n, shard, std::move(m)); };
}

VerbHandler ReadCluster::slow(size_t i, Duration delay) {
  return [n = &node(i), delay](InboundMessage m) { return answer_later(n, std::move(m), delay); };
}

void ReadCluster::put(const std::vector<size_t>& nodes, Update update) {
  const Mutation mutation = update.mutation();
  for (size_t i : nodes) {
    const Status written = run<Status>(i, [&] { return node(i).replica().mutate(mutation); });
    CHECK(written.ok());
  }
}

ReadCommand ReadCluster::command(const std::vector<std::string>& keys, const std::string& name) {
  ReadCommand command;
  command.table = table(name);
  command.now_seconds = storage_test::kNow;
  for (const std::string& key : keys) command.keys.push_back(DecoratedKey::of(keys_.emplace_back(key)));
  if (keys.empty()) command.range = KeyRange{};
  return command;
}

Lines ReadCluster::read(size_t i, ReadCommand command, Consistency consistency) {
  TextSink sink(*command.table);
  auto read = run<Result<ReadStatistics>>(i, [&] { return node(i).coordinator().read(command, consistency, sink); });
  return read.ok() ? sink.lines : Lines{told(Status(std::move(read.error())))};
}

int ReadCluster::asked() const {
  int sum = 0;
  for (size_t i = 0; i < size(); ++i) {
    const CoordinatorNode& n = const_cast<ReadCluster*>(this)->node(i);
    sum += n.received(Verb::kReadReq) + n.received(Verb::kRangeReq);
  }
  return sum;
}

}  // namespace cassandra_like::test
