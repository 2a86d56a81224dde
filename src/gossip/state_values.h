// The texts of application states, made and parsed (gms.VersionedValue.VersionedValueFactory):
//
//   STATUS, STATUS_WITH_PORT   BOOT,token   BOOT_REPLACE,address   NORMAL,token   LEAVING,token
//                              LEFT,token,expire time   MOVING,token   removing,host id   removed,host id,expire time
//                              hibernate,true   shutdown,true
//   TOKENS                     (size:u32 = 8, token:i64)… 0:u32, each byte one character (ISO 8859-1)
//   HOST_ID, SCHEMA            a UUID
//   LOAD, SEVERITY             a double as Java prints it
//   RPC_READY                  true or false
//   REMOVAL_COORDINATOR        REMOVER,host id
//   INTERNAL_IP, RPC_ADDRESS   an address; BOOT_REPLACE in STATUS, too
//   INTERNAL_ADDRESS_AND_PORT, NATIVE_ADDRESS_AND_PORT, BOOT_REPLACE in STATUS_WITH_PORT: address:port
//   SSTABLE_VERSIONS           big-nb,bti-da
//   DISK_USAGE                 NOT_AVAILABLE, SPACIOUS, STUFFED, FULL
//   DC, RACK, RELEASE_VERSION, NET_VERSION, INDEX_STATUS: as they are
//
// A token in a STATUS is the node's first one; TOKENS has all. Expire times are milliseconds since 1970.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "messaging/wire/endpoint_codec.h"
#include "model/key.h"
#include "ring/topology.h"

namespace cassandra_like::state_values {

inline constexpr char kDelimiter = ',';
inline constexpr std::string_view kBoot = "BOOT";
inline constexpr std::string_view kBootReplace = "BOOT_REPLACE";
inline constexpr std::string_view kNormal = "NORMAL";
inline constexpr std::string_view kLeaving = "LEAVING";
inline constexpr std::string_view kLeft = "LEFT";
inline constexpr std::string_view kMoving = "MOVING";
inline constexpr std::string_view kRemoving = "removing";
inline constexpr std::string_view kRemoved = "removed";
inline constexpr std::string_view kHibernate = "hibernate";
inline constexpr std::string_view kShutdown = "shutdown";
inline constexpr std::string_view kRemover = "REMOVER";

// The tokens of a node that has some: the first one is shown.
std::string bootstrapping(std::span<const Token> tokens);
std::string boot_replacing(const InetAddressAndPort& old_node);            // STATUS
std::string boot_replacing_with_port(const InetAddressAndPort& old_node);  // STATUS_WITH_PORT
std::string normal(std::span<const Token> tokens);
std::string leaving(std::span<const Token> tokens);
std::string left(std::span<const Token> tokens, int64_t expire_time_ms);
std::string moving(Token token);
std::string removing(const Uuid& host_id);
std::string removed(const Uuid& host_id, int64_t expire_time_ms);
std::string hibernate(bool value);
std::string shutdown(bool value);

std::string tokens(std::span<const Token> tokens);
std::string removal_coordinator(const Uuid& host_id);
std::string boolean(bool value);
std::string number(double value);  // LOAD, SEVERITY
std::string disk_usage(DiskUsage usage);
std::string address(const InetAddressAndPort& endpoint);
std::string address_and_port(const InetAddressAndPort& endpoint);
std::string sstable_versions(std::span<const std::string> versions);

enum class StatusWord {
  kNone,  // the empty text
  kBoot,
  kBootReplace,
  kNormal,
  kLeaving,
  kLeft,
  kMoving,
  kRemoving,
  kRemoved,
  kHibernate,
  kShutdown,
  kOther,  // a word that nobody knows here
};
struct ParsedStatus {
  StatusWord status = StatusWord::kNone;
  std::optional<Token> token;                  // BOOT, NORMAL, LEAVING, LEFT, MOVING
  std::optional<InetAddressAndPort> replaced;  // BOOT_REPLACE
  std::optional<Uuid> host_id;                 // removing, removed
  std::optional<int64_t> expire_time;          // LEFT, removed

  bool operator==(const ParsedStatus&) const = default;
};
// kInvalid, with the text, when a word that is known lacks what belongs to it. The token of BOOT, NORMAL, LEAVING and LEFT
// is not asked for: TOKENS counts.
Result<ParsedStatus> parse_status(std::string_view text, uint16_t default_port = kDefaultStoragePort);
// kInvalid when the text is not as drawn above.
Result<std::vector<Token>> parse_tokens(std::string_view text);
Result<Uuid> parse_removal_coordinator(std::string_view text);
std::vector<std::string> parse_sstable_versions(std::string_view text);
// nullopt: a word that nobody knows here.
std::optional<DiskUsage> parse_disk_usage(std::string_view text);

}  // namespace cassandra_like::state_values
