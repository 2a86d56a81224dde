// Who may ask the admin port for what. The port can stop the node, so three kinds of requests are refused before any command
// is looked for: those that a web page can make a browser send, those whose `Host` is a name that somebody else may have
// pointed at this machine (DNS rebinding), and, off the loopback interface, those without the name and password of a role.
//
// The rules, in their order:
// 1. A request with an `Origin` header, or with a `Sec-Fetch-Site` other than `none`, comes from a page: 403.
// 2. Off loopback every request needs HTTP basic credentials of a role that may log in: 401. POST needs a superuser: 403.
// 3. Without credentials `Host` must be an address, `localhost`, or the configured name: 403. A page of another name keeps
//    that name in `Host` whatever its address has become; and a browser has no password for it.
// 4. POST needs the header `X-Requested-By` with any value: 403. A page cannot add it to a request to another origin.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "admin/admin.h"
#include "admin/api.h"
#include "runtime/network.h"

namespace cassandra_like::admin {

// Rules 1, 3 and 4, which need no role. `has_login`: the credentials were checked.
std::optional<Answer> check_headers(const HttpRequest& request, const std::string& configured_name, bool has_login);

struct BasicCredentials {
  std::string user, password;
};
// Out of `Basic base64(user:password)`; nullopt for anything else.
std::optional<BasicCredentials> parse_basic(std::string_view authorization);

// All rules; nullopt: the command may run.
Task<std::optional<Answer>> check_access(AdminContextPtr context, const HttpRequest* request);

// 127.0.0.0/8 and ::1. Any other address, 0.0.0.0 included, may be reached from other machines.
bool is_loopback(const std::string& address);
// kConfigError when the port would listen off loopback without passwords to ask for.
Status check_address(const std::string& address, bool has_passwords);

}  // namespace cassandra_like::admin
