#include "gossip/driver_events.h"

namespace cassandra_like {

void DriverEvents::joined(const InetAddressAndPort& endpoint, const InetAddressAndPort& native, bool is_rpc_ready) {
  if (is_rpc_ready) {
    tell(endpoint, {DriverEvent::Kind::kNewNode, native});
  } else {
    joined_but_not_ready_.insert(endpoint);
  }
}

void DriverEvents::left(const InetAddressAndPort& endpoint, const InetAddressAndPort& native) {
  tell(endpoint, {DriverEvent::Kind::kRemovedNode, native});
}

void DriverEvents::moved(const InetAddressAndPort& endpoint, const InetAddressAndPort& native) {
  tell(endpoint, {DriverEvent::Kind::kMovedNode, native});
}

void DriverEvents::up(const InetAddressAndPort& endpoint, const InetAddressAndPort& native, bool is_rpc_ready) {
  if (joined_but_not_ready_.erase(endpoint) > 0) joined(endpoint, native, is_rpc_ready);
  tell(endpoint, {DriverEvent::Kind::kUp, native});
}

void DriverEvents::down(const InetAddressAndPort& endpoint, const InetAddressAndPort& native) {
  tell(endpoint, {DriverEvent::Kind::kDown, native});
}

void DriverEvents::tell(const InetAddressAndPort& endpoint, DriverEvent event) {
  Latest& latest = latest_[endpoint];
  if ((event.is_status() ? latest.status : latest.topology) == event.kind) return;
  if (event.is_status()) {
    // A node that went or came may join, move or leave again.
    latest = {std::nullopt, event.kind};
  } else {
    latest.topology = event.kind;
  }
  if (endpoint != local_ && event.node == local_native_) return;
  events_.push_back(event);
}

}  // namespace cassandra_like
