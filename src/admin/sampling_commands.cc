// The most active partitions for a while: POST /v1/samples. It answers when the time is over.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "admin/api.h"
#include "admin/selection.h"
#include "runtime/gather.h"

namespace cassandra_like::admin {

namespace {

struct Sampling {
  TableSelection tables;
  SamplingOrder order;
  Duration duration{};
};

using Samples = std::vector<std::pair<TablePtr, TopSamples>>;

std::optional<int64_t> positive(const std::string& text, int64_t most) {
  int64_t value = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc{} && rest == text.data() + text.size();
  return is_number && value > 0 && value <= most ? std::optional(value) : std::nullopt;
}

std::optional<Answer> read_numbers(const Parameters& parameters, Sampling* out) {
  constexpr int64_t kLongestMillis = 24 * 3600 * 1000, kMostCapacity = 1024;
  const auto duration = positive(parameters.get("duration"), kLongestMillis);
  const auto capacity = positive(parameters.get("capacity"), kMostCapacity);
  const auto count = positive(parameters.get("count"), kMostCapacity);
  if (!duration) return refuse(400, "duration is a number of milliseconds, of at most a day");
  if (!capacity) return refuse(400, "Capacity (-s) cannot exceed 1024.");
  if (!count || *count >= *capacity) {
    return refuse(400, "TopK count (-k) option must be smaller then the summary capacity (-s)");
  }
  out->duration = std::chrono::milliseconds(*duration);
  out->order.capacity = static_cast<size_t>(*capacity);
  out->order.count = static_cast<size_t>(*count);
  return std::nullopt;
}

std::optional<Answer> read_order(const AdminContext& context, const Parameters& parameters, Sampling* out) {
  const std::string &keyspace = parameters.get("keyspace"), &table = parameters.get("table");
  if (!table.empty()) {
    const TablePtr found = context.schema()->table(keyspace, table);
    if (found == nullptr || found->is_virtual) {
      return refuse(404, fmt::format("ColumnFamilyStore for {}/{} not found.", keyspace, table));
    }
  } else if (!keyspace.empty() && context.schema()->keyspace(keyspace) == nullptr) {
    return refuse(400, fmt::format("Keyspace {} does not exist", keyspace));
  }
  out->tables = TableSelection(keyspace, table);
  for (const std::string& name : parameters.all("sampler")) {
    const auto found = std::find(kSamplerNames.begin(), kSamplerNames.end(), name);
    if (found == kSamplerNames.end()) return refuse(400, fmt::format("'{}' is no sampler", name));
    out->order.wanted[static_cast<size_t>(found - kSamplerNames.begin())] = true;
  }
  return read_numbers(parameters, out);
}

Json to_json(const TableMetadata& table, SamplerType type, const TopSample& sample) {
  const bool is_key = type != SamplerType::kLocalReadTime;
  return {{"table", table.qualified_name()},
          {"value", is_key ? table.partition_key_type()->to_text(sample.item) : std::string(sample.item)},
          {"count", sample.count},
          {"error", sample.error}};
}

// Each partition is one shard's.
Json join(const std::vector<Samples>& shards, const Sampling& sampling) {
  Json out = Json::object();
  for (size_t i = 0; i < kSamplers; ++i) {
    if (!sampling.order.wanted[i]) continue;
    std::vector<std::pair<const TableMetadata*, const TopSample*>> all;
    for (const Samples& shard : shards) {
      for (const auto& [table, samples] : shard) {
        for (const TopSample& sample : samples[i]) all.emplace_back(table.get(), &sample);
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.second->count > b.second->count; });
    // NodeProbe.getPartitionSample: one table answers as its samplers do, others are cut.
    const auto type = static_cast<SamplerType>(i);
    const bool is_frequency = type == SamplerType::kReads || type == SamplerType::kWrites;
    const bool is_one_table = !sampling.tables.table.empty();
    all.resize(std::min(all.size(), sampling.order.count + (is_one_table && !is_frequency ? 1 : 0)));
    Json& list = out[kSamplerNames[i]] = Json::array();
    for (const auto& [table, sample] : all) list.push_back(to_json(*table, type, *sample));
  }
  return out;
}

Task<std::vector<Samples>> finish_on_every_shard(AdminContextPtr context, TableSelection tables) {
  auto* node = &context->node;
  std::function<Task<Samples>(unsigned)> finish = [node, tables](unsigned shard) {
    return Task<Samples>(node->replicas[shard]->maintenance().finish_sampling(tables));
  };
  Task<std::vector<Samples>> task = gather<Samples>(*node->runtime, context->here(), std::move(finish));
  co_return co_await task;
}

}  // namespace

Task<Answer> samples(AdminContextPtr context, Parameters parameters) {
  Sampling sampling;
  if (auto refusal = read_order(*context, parameters, &sampling)) co_return std::move(*refusal);
  sampling.order.until_nanos =
      context->runtime().clock.monotonic_nanos() + std::chrono::nanoseconds(sampling.duration).count();
  auto* node = &context->node;
  std::function<Task<Status>(unsigned)> begin = [node, sampling](unsigned shard) {
    return Task<Status>(node->replicas[shard]->maintenance().begin_sampling(sampling.tables, sampling.order));
  };
  Task<std::vector<Status>> beginning = gather<Status>(*node->runtime, context->here(), std::move(begin));
  const std::vector<Status> begun = co_await beginning;
  for (const Status& each : begun) {
    if (!each.ok()) co_return failure(each.error());
  }
  constexpr Duration kNap = std::chrono::milliseconds(100);
  while (!context->stopped && context->runtime().clock.monotonic_nanos() < sampling.order.until_nanos) {
    const Duration rest(sampling.order.until_nanos - context->runtime().clock.monotonic_nanos());
    co_await context->here().sleep(std::min(kNap, std::max(rest, Duration(1))));
  }
  if (context->stopped) co_return refuse(503, "The node is stopping");
  Task<std::vector<Samples>> finishing = finish_on_every_shard(context, sampling.tables);
  const std::vector<Samples> shards = co_await finishing;
  Answer answer;
  answer.json = {{"samples", join(shards, sampling)}};
  co_return answer;
}

}  // namespace cassandra_like::admin
