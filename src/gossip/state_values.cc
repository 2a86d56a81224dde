#include "gossip/state_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "model/values.h"

namespace cassandra_like::state_values {
namespace {

std::string join(std::string_view word, std::string_view piece) {
  std::string out(word);
  out.push_back(kDelimiter);
  out += piece;
  return out;
}

std::string with_token(std::string_view word, std::span<const Token> tokens) {
  CHECK(!tokens.empty());
  return join(word, std::to_string(tokens.front()));
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t from = 0;;) {
    size_t to = text.find(kDelimiter, from);
    out.push_back(text.substr(from, to == text.npos ? to : to - from));
    if (to == text.npos) return out;
    from = to + 1;
  }
}

std::optional<int64_t> parse_int64(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

constexpr std::pair<std::string_view, StatusWord> kStatuses[] = {
    {"", StatusWord::kNone},
    {kBoot, StatusWord::kBoot},
    {kBootReplace, StatusWord::kBootReplace},
    {kNormal, StatusWord::kNormal},
    {kLeaving, StatusWord::kLeaving},
    {kLeft, StatusWord::kLeft},
    {kMoving, StatusWord::kMoving},
    {kRemoving, StatusWord::kRemoving},
    {kRemoved, StatusWord::kRemoved},
    {kHibernate, StatusWord::kHibernate},
    {kShutdown, StatusWord::kShutdown},
};

bool is_complete(const ParsedStatus& s) {
  switch (s.status) {
    case StatusWord::kBootReplace:
      return s.replaced.has_value();
    case StatusWord::kLeft:
      return s.expire_time.has_value();
    case StatusWord::kMoving:
      return s.token.has_value();
    case StatusWord::kRemoved:
      return s.expire_time.has_value();
    default:
      return true;
  }
}

// The bytes that a text of ISO 8859-1 stands for, out of UTF-8; nothing when a character is beyond U+00FF.
std::optional<Bytes> latin_bytes(std::string_view text) {
  Bytes out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      out.push_back(text[i]);
    } else if (c <= 0xC3 && c >= 0xC0 && i + 1 < text.size()) {
      out.push_back(static_cast<char>((c & 0x03) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3F)));
    } else {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace

std::string bootstrapping(std::span<const Token> tokens) { return with_token(kBoot, tokens); }
std::string boot_replacing(const InetAddressAndPort& old_node) { return join(kBootReplace, old_node.host()); }
std::string boot_replacing_with_port(const InetAddressAndPort& old_node) {
  return join(kBootReplace, old_node.host_and_port());
}
std::string normal(std::span<const Token> tokens) { return with_token(kNormal, tokens); }
std::string leaving(std::span<const Token> tokens) { return with_token(kLeaving, tokens); }
std::string left(std::span<const Token> tokens, int64_t expire_time_ms) {
  return join(with_token(kLeft, tokens), std::to_string(expire_time_ms));
}
std::string moving(Token token) { return join(kMoving, std::to_string(token)); }
std::string removing(const Uuid& host_id) { return join(kRemoving, host_id.to_string()); }
std::string removed(const Uuid& host_id, int64_t expire_time_ms) {
  return join(join(kRemoved, host_id.to_string()), std::to_string(expire_time_ms));
}
std::string hibernate(bool value) { return join(kHibernate, boolean(value)); }
std::string shutdown(bool value) { return join(kShutdown, boolean(value)); }

std::string tokens(std::span<const Token> tokens) {
  Bytes bytes;
  for (Token t : tokens) {
    append_be<uint32_t>(bytes, sizeof(Token));
    append_be<int64_t>(bytes, t);
  }
  append_be<uint32_t>(bytes, 0);
  std::string out;
  for (char byte : bytes) {
    const auto c = static_cast<unsigned char>(byte);
    if (c >= 0x80) out.push_back(static_cast<char>(0xC0 | c >> 6));
    out.push_back(c < 0x80 ? byte : static_cast<char>(0x80 | (c & 0x3F)));
  }
  return out;
}

std::string removal_coordinator(const Uuid& host_id) { return join(kRemover, host_id.to_string()); }
std::string boolean(bool value) { return value ? "true" : "false"; }
std::string number(double value) { return double_to_text(value); }

namespace {

constexpr std::array<std::string_view, 4> kDiskUsages{"NOT_AVAILABLE", "SPACIOUS", "STUFFED", "FULL"};

}  // namespace

std::string disk_usage(DiskUsage usage) { return std::string(kDiskUsages[static_cast<size_t>(usage)]); }
std::optional<DiskUsage> parse_disk_usage(std::string_view text) {
  const auto found = std::find(kDiskUsages.begin(), kDiskUsages.end(), text);
  if (found == kDiskUsages.end()) return std::nullopt;
  return static_cast<DiskUsage>(found - kDiskUsages.begin());
}

std::string address(const InetAddressAndPort& endpoint) { return endpoint.host(); }
std::string address_and_port(const InetAddressAndPort& endpoint) { return endpoint.host_and_port(); }

std::string sstable_versions(std::span<const std::string> versions) {
  std::string out;
  for (const std::string& version : versions) {
    if (!out.empty()) out.push_back(kDelimiter);
    out += version;
  }
  return out;
}

Result<ParsedStatus> parse_status(std::string_view text, uint16_t default_port) {
  const std::vector<std::string_view> pieces = split(text);
  auto piece = [&](size_t i) { return i < pieces.size() ? pieces[i] : std::string_view(); };
  ParsedStatus out;
  auto known = std::find_if(std::begin(kStatuses), std::end(kStatuses),
                            [&](const auto& entry) { return entry.first == pieces[0]; });
  out.status = known == std::end(kStatuses) ? StatusWord::kOther : known->second;
  switch (out.status) {
    case StatusWord::kLeft:
      out.expire_time = parse_int64(piece(2));
      [[fallthrough]];
    case StatusWord::kBoot:
    case StatusWord::kNormal:
    case StatusWord::kLeaving:
    case StatusWord::kMoving:
      out.token = parse_int64(piece(1));
      break;
    case StatusWord::kBootReplace:
      out.replaced = InetAddressAndPort::parse(piece(1), default_port);
      break;
    case StatusWord::kRemoved:
      out.expire_time = parse_int64(piece(2));
      [[fallthrough]];
    case StatusWord::kRemoving:
      out.host_id = Uuid::parse(piece(1));
      break;
    default:
      break;
  }
  if (!is_complete(out)) return invalid("Malformed status in gossip: '" + std::string(text) + "'");
  return out;
}

Result<std::vector<Token>> parse_tokens(std::string_view text) {
  auto bytes = latin_bytes(text);
  if (!bytes) return invalid("Malformed tokens in gossip: a character beyond ISO 8859-1");
  Reader in(*bytes);
  std::vector<Token> out;
  for (;;) {
    const int32_t size = in.i32();
    if (in.failed()) return invalid("Malformed tokens in gossip: they end too early");
    if (size < 1) return out;
    if (size != sizeof(Token)) return invalid("Malformed tokens in gossip: one of " + std::to_string(size) + " bytes");
    out.push_back(in.i64());
  }
}

Result<Uuid> parse_removal_coordinator(std::string_view text) {
  const std::vector<std::string_view> pieces = split(text);
  auto host_id = pieces.size() < 2 ? std::nullopt : Uuid::parse(pieces[1]);
  if (!host_id) return invalid("Malformed removal coordinator in gossip: '" + std::string(text) + "'");
  return *host_id;
}

std::vector<std::string> parse_sstable_versions(std::string_view text) {
  std::vector<std::string> out;
  for (std::string_view version : split(text)) {
    if (!version.empty()) out.emplace_back(version);
  }
  return out;
}

}  // namespace cassandra_like::state_values
