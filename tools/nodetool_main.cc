// nodetool's way to the node: HTTP on the admin port.
#include <fmt/format.h>
#include <httplib.h>
#include <unistd.h>

#include <iostream>

#include "nodetool.h"

namespace {

using namespace cassandra_like::nodetool;

class HttpTransport : public Transport {
 public:
  explicit HttpTransport(const Endpoint& endpoint) : endpoint_(endpoint), client_(endpoint.host, endpoint.port) {
    client_.set_connection_timeout(5);
    client_.set_read_timeout(86400);  // a compaction answers when it is done
    // The node takes changes only with X-Requested-By, which a web page cannot send.
    client_.set_default_headers({{"X-Requested-By", "nodetool"}});
    if (!endpoint.user.empty()) client_.set_basic_auth(endpoint.user, endpoint.password);
  }

  Response send(const std::string& method, const std::string& path, const Parameters& parameters) override {
    httplib::Params query;
    for (const auto& [name, value] : parameters) query.emplace(name, value);
    const std::string target = httplib::append_query_params(path, query);
    const httplib::Result result = method == "GET" ? client_.Get(target) : client_.Post(target);
    if (result) return {result->status, result->body};
    const bool refused = result.error() == httplib::Error::Connection;
    const std::string reason = refused ? "ConnectException: 'Connection refused'"
                                       : fmt::format("IOException: '{}'", httplib::to_string(result.error()));
    throw Failure{Failure::kPlain,
                  fmt::format("nodetool: Failed to connect to '{}:{}' - {}.", endpoint_.host, endpoint_.port, reason),
                  1};
  }

 private:
  Endpoint endpoint_;
  httplib::Client client_;
};

}  // namespace

int main(int argc, char** argv) {
  return run_nodetool(
      {argv + 1, argv + argc},
      [](const Endpoint& endpoint) {
        Endpoint complete = endpoint;
        if (!complete.user.empty() && complete.password.empty() && isatty(STDIN_FILENO) != 0) {
          if (const char* typed = getpass("Password:")) complete.password = typed;
        }
        return std::make_unique<HttpTransport>(complete);
      },
      std::cout, std::cerr);
}
