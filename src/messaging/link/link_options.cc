#include "messaging/link/link_options.h"

namespace cassandra_like {

std::shared_ptr<PeerReserves> NodeReserves::of(const InetAddressAndPort& peer) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<PeerReserves>& known = peers_[peer];
  if (auto held = known.lock()) return held;
  auto made = std::make_shared<PeerReserves>(options_);
  known = made;
  if (peers_.size() >= sweep_at_) {
    std::erase_if(peers_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<size_t>(64, 2 * peers_.size());
  }
  return made;
}

}  // namespace cassandra_like
