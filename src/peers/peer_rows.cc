#include "peers/peer_rows.h"

#include <algorithm>

#include "model/values.h"
#include "schema/local_state.h"

namespace cassandra_like {
namespace {

Bytes inet(const InetAddressAndPort& endpoint) { return Bytes(endpoint.address()); }

std::optional<InetAddressAndPort> endpoint_of(const Bytes& address, int32_t port) {
  if ((address.size() != 4 && address.size() != 16) || port <= 0 || port > 65535) return std::nullopt;
  InetAddressAndPort out;
  std::copy(address.begin(), address.end(), out.bytes.begin());
  out.is_ipv6 = address.size() == 16;
  out.port = static_cast<uint16_t>(port);
  return out;
}

// Gossip may bring half a surrogate pair (modified_utf8.h): three bytes that are no UTF-8, which drivers refuse to read. Each of
// them becomes a '?', as Java writes it.
std::string text(const std::string& told) {
  std::string out;
  for (size_t i = 0; i < told.size(); ++i) {
    const bool is_surrogate = told[i] == '\xED' && i + 2 < told.size() && static_cast<uint8_t>(told[i + 1]) >= 0xA0;
    out.push_back(is_surrogate ? '?' : told[i]);
    if (is_surrogate) i += 2;
  }
  return out;
}

void set_common(UpdateBuilder& row, const PeerRow& peer) {
  row.set("data_center", text(peer.location.datacenter))
      .set("host_id", peer.host_id.view())
      .set("rack", text(peer.location.rack))
      .set("release_version", text(peer.release_version))
      .set("schema_version", peer.schema_version.view())
      .replace("tokens");
  for (Token token : peer.tokens) row.element("tokens", std::to_string(token), "");
}

}  // namespace

std::vector<PartitionUpdate> peer_updates(const Schema& schema, const PeerRow& peer, int64_t timestamp_micros,
                                          Arena& arena) {
  UpdateBuilder row(schema.table("system", "peers_v2"), {inet(peer.peer)}, timestamp_micros, arena);
  row.row({encode_int(peer.peer.port)});
  row.set("native_address", inet(peer.native)).set("native_port", encode_int(peer.native.port));
  row.set("preferred_ip", inet(peer.peer)).set("preferred_port", encode_int(peer.peer.port));
  set_common(row, peer);
  UpdateBuilder old(schema.table("system", "peers"), {inet(peer.peer)}, timestamp_micros, arena);
  old.row();
  old.set("preferred_ip", inet(peer.peer)).set("rpc_address", inet(peer.native));
  set_common(old, peer);
  return {row.build(), old.build()};
}

std::vector<PartitionUpdate> peer_removals(const Schema& schema, const InetAddressAndPort& peer,
                                           int64_t timestamp_micros, Arena& arena) {
  UpdateBuilder row(schema.table("system", "peers_v2"), {inet(peer)}, timestamp_micros, arena);
  UpdateBuilder old(schema.table("system", "peers"), {inet(peer)}, timestamp_micros, arena);
  return {row.delete_prefix({encode_int(peer.port)}).build(), old.delete_partition().build()};
}

std::vector<PeerRow> parse_peers(const std::vector<InternalRow>& rows) {
  std::vector<PeerRow> out;
  for (const InternalRow& row : rows) {
    PeerRow peer;
    auto address = endpoint_of(row.get("peer"), row.integer("peer_port"));
    auto native = endpoint_of(row.get("native_address"), row.integer("native_port"));
    auto host_id = row.uuid("host_id");
    auto schema_version = row.uuid("schema_version");
    if (!address || !native || !host_id || !schema_version) continue;
    peer.peer = *address;
    peer.native = *native;
    peer.host_id = *host_id;
    peer.schema_version = *schema_version;
    peer.location = {row.text("data_center"), row.text("rack")};
    peer.release_version = row.text("release_version");
    peer.tokens = tokens_of(row);
    if (peer.tokens.empty() || peer.location.datacenter.empty() || peer.location.rack.empty()) continue;
    out.push_back(std::move(peer));
  }
  return out;
}

}  // namespace cassandra_like
