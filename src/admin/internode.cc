#include "admin/internode.h"

#include "runtime/gather.h"

namespace cassandra_like {
namespace {

void add(OutboundTotals& total, const OutboundTotals& part) {
  total.pending += part.pending;
  total.pending_bytes += part.pending_bytes;
  total.connected += part.connected;
  PeerLink::Counters& c = total.counters;
  c.submitted += part.counters.submitted;
  c.sent += part.counters.sent;
  c.sent_bytes += part.counters.sent_bytes;
  c.expired += part.counters.expired;
  c.expired_bytes += part.counters.expired_bytes;
  c.overloaded += part.counters.overloaded;
  c.overloaded_bytes += part.counters.overloaded_bytes;
  c.attempts += part.counters.attempts;
  c.connections += part.counters.connections;
}

void add(InboundTotals& total, const InboundTotals& part) {
  total.pending_bytes += part.pending_bytes;
  total.connections += part.connections;
  InboundLink::Counters& c = total.counters;
  c.received += part.counters.received;
  c.received_bytes += part.counters.received_bytes;
  c.expired += part.counters.expired;
  c.lost += part.counters.lost;
  c.throttled += part.counters.throttled;
  c.corrupt_frames += part.counters.corrupt_frames;
}

InternodeReport report_of(const Messenger& messenger) {
  InternodeReport report;
  for (const PeerStatistics& peer : messenger.peers()) {
    for (const PeerStatistics::Link& link : peer.links) {
      const OutboundTotals totals{link.pending, link.pending_bytes, link.connected, link.counters};
      add(report.outbound[peer.peer], totals);
      add(report.by_type[link.type], totals);
    }
  }
  for (const InboundStatistics& link : messenger.inbound()) {
    add(report.inbound[link.peer], {link.pending_bytes, 1, link.counters});
  }
  for (size_t i = 0; i < kVerbCount; ++i) report.dropped[i] = messenger.dropped(verb_at(i).verb);
  report.waiting_requests = messenger.waiting_requests();
  report.unexpected_responses = messenger.unexpected_responses();
  return report;
}

}  // namespace

void InternodeReport::merge(const InternodeReport& other) {
  for (const auto& [peer, totals] : other.outbound) add(outbound[peer], totals);
  for (const auto& [peer, totals] : other.inbound) add(inbound[peer], totals);
  for (const auto& [type, totals] : other.by_type) add(by_type[type], totals);
  for (size_t i = 0; i < kVerbCount; ++i) dropped[i] += other.dropped[i];
  waiting_requests += other.waiting_requests;
  unexpected_responses += other.unexpected_responses;
}

Task<InternodeReport> report_internode(AdminContextPtr context) {
  InternodeReport total;
  auto* node = &context->node;
  if (context->stopped || node->messengers.empty()) co_return total;
  auto ask = [node](unsigned shard) { return Task<InternodeReport>(report_of(*node->messengers[shard])); };
  auto parts = co_await gather<InternodeReport>(*node->runtime, context->here(), ask);
  for (const InternodeReport& part : parts) total.merge(part);
  co_return total;
}

Task<HintsStatistics> sum_hints(AdminContextPtr context) {
  HintsStatistics total;
  auto* node = &context->node;
  if (context->stopped || node->hints.empty()) co_return total;
  auto ask = [node](unsigned shard) {
    return Task<HintsStatistics>(HintsStatistics(node->hints[shard]->statistics()));
  };
  auto parts = co_await gather<HintsStatistics>(*node->runtime, context->here(), ask);
  for (const HintsStatistics& part : parts) {
    total.written += part.written;
    total.succeeded += part.succeeded;
    total.failed += part.failed;
    total.timed_out += part.timed_out;
    total.overflowed += part.overflowed;
    total.expired += part.expired;
    total.damaged += part.damaged;
  }
  co_return total;
}

}  // namespace cassandra_like
