#include "admin/access.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "model/values.h"

namespace cassandra_like::admin {
namespace {

// Without the port, and without the brackets of an IPv6 address.
std::string_view host_name(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

bool equal_names(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return lower(x) == lower(y);
  });
}

bool is_own_name(std::string_view host, const std::string& configured_name) {
  const std::string_view name = host_name(host);
  return equal_names(name, "localhost") || (!configured_name.empty() && equal_names(name, configured_name)) ||
         parse_inet(name).ok();
}

}  // namespace

std::optional<Answer> check_headers(const HttpRequest& request, const std::string& configured_name, bool has_login) {
  if (request.has("origin") || (request.has("sec-fetch-site") && request.header("sec-fetch-site") != "none")) {
    return refuse(403,
                  "The admin port does not answer web pages: the request has an Origin or a Sec-Fetch-Site header");
  }
  // A browser always sends Host, so a request of HTTP/1.0 without one is no browser's.
  if (!has_login && request.has("host") && !is_own_name(request.header("host"), configured_name)) {
    return refuse(403, "The Host header names '" + request.header("host") +
                           "', which is not this node: use its address, localhost, or the name that admin_address has");
  }
  if (request.method != "GET" && request.header("x-requested-by").empty()) {
    return refuse(403, "A " + request.method + " request needs the header X-Requested-By, with any value");
  }
  return std::nullopt;
}

std::optional<BasicCredentials> parse_basic(std::string_view authorization) {
  constexpr std::string_view kScheme = "Basic ";
  if (authorization.size() < kScheme.size() || !equal_names(authorization.substr(0, kScheme.size()), kScheme)) {
    return std::nullopt;
  }
  const std::string_view encoded = authorization.substr(kScheme.size());
  std::string text;
  if (!absl::Base64Unescape({encoded.data(), encoded.size()}, &text)) return std::nullopt;
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  return BasicCredentials{text.substr(0, colon), text.substr(colon + 1)};
}

Task<std::optional<Answer>> check_access(AdminContextPtr context, const HttpRequest* request) {
  const AdminNode& node = context->node;
  if (!context->needs_login) co_return check_headers(*request, node.host_name, false);
  // A page is refused before its request costs a password check.
  if (auto refusal = check_headers(*request, node.host_name, true)) co_return refusal;
  auto credentials = parse_basic(request->header("authorization"));
  if (!credentials) co_return refuse(401, "Credentials required");
  Task<Result<AdminLogin>> task = context->hooks.log_in(credentials->user, credentials->password);
  Result<AdminLogin> login = co_await task;
  if (!login.ok()) co_return refuse(401, login.error().message());
  if (request->method != "GET" && !login->is_superuser) {
    co_return refuse(403, "User " + credentials->user + " is not a superuser, and may only read");
  }
  co_return std::nullopt;
}

bool is_loopback(const std::string& address) {
  auto parsed = parse_inet(address);
  if (!parsed.ok()) return false;
  const Bytes& b = *parsed;
  if (b.size() == 4) return static_cast<uint8_t>(b[0]) == 127;
  return std::all_of(b.begin(), b.end() - 1, [](char c) { return c == 0; }) && b.back() == 1;
}

Status check_address(const std::string& address, bool has_passwords) {
  if (has_passwords || is_loopback(address)) return {};
  return Error(ErrorCode::kConfigError,
               address +
                   " can be reached from other machines, and who reaches the admin port can stop the node: write "
                   "127.0.0.1, or set authenticator: PasswordAuthenticator, whose roles the port then asks for");
}

}  // namespace cassandra_like::admin
