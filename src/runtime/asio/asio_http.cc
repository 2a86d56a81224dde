// The admin port's HTTP server: Boost.Beast, kept out of every other file because of what it costs to compile.
//
// A session keeps itself alive through the operation that is pending; one request is answered at a time.
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <memory>
#include <optional>

#include "runtime/asio/asio_network.h"

namespace cassandra_like {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::asio::ip::tcp;

namespace {

constexpr uint64_t kMaxBody = 8 * 1024 * 1024;
constexpr auto kIdleTimeout = std::chrono::seconds(60);

class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(AsioSocket socket, std::shared_ptr<HttpHandler> handler)
      : stream_(std::move(socket)), handler_(std::move(handler)) {}

  void read() {
    parser_.emplace();
    parser_->body_limit(kMaxBody);
    stream_.expires_after(kIdleTimeout);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, size_t) { self->on_read(error); });
  }

 private:
  void on_read(beast::error_code error) {
    if (error == http::error::body_limit) {
      keep_alive_ = false;
      return write({.status = 413, .content_type = "text/plain", .body = "the body is too large\n"});
    }
    if (error == http::error::end_of_stream || !parser_->is_header_done()) return close();
    if (error) return close();
    keep_alive_ = parser_->get().keep_alive();
    stream_.expires_never();
    spawn(answer(shared_from_this(), take_request()));
  }

  HttpRequest take_request() {
    auto& message = parser_->get();
    std::string target(message.target());
    HttpRequest request;
    request.method = std::string(message.method_string());
    size_t question = target.find('?');
    request.path = target.substr(0, question);
    if (question != std::string::npos) request.query = target.substr(question + 1);
    request.authorization = std::string(message[http::field::authorization]);
    request.body = std::move(message.body());
    return request;
  }

  static Task<void> answer(std::shared_ptr<HttpSession> self, HttpRequest request) {
    Task<HttpResponse> task = (*self->handler_)(std::move(request));
    HttpResponse response = co_await task;
    self->write(std::move(response));
  }

  void write(HttpResponse response) {
    response_.emplace();
    response_->result(static_cast<unsigned>(response.status));
    response_->set(http::field::content_type, response.content_type);
    if (response.status == 401) response_->set(http::field::www_authenticate, "Basic realm=\"cassandra\"");
    response_->keep_alive(keep_alive_);
    response_->body() = std::move(response.body);
    response_->prepare_payload();
    stream_.expires_after(kIdleTimeout);
    http::async_write(stream_, *response_,
                      [self = shared_from_this()](beast::error_code error, size_t) { self->on_written(error); });
  }

  void on_written(beast::error_code error) {
    if (error || !keep_alive_) return close();
    read();
  }

  void close() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.socket().close(ignored);
  }

  beast::basic_stream<tcp, boost::asio::io_context::executor_type> stream_;
  std::shared_ptr<HttpHandler> handler_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
  bool keep_alive_ = false;
};

}  // namespace

AcceptLoop::OnSocket http_server(HttpHandler handler) {
  auto shared = std::make_shared<HttpHandler>(std::move(handler));
  return [shared](AsioSocket socket) { std::make_shared<HttpSession>(std::move(socket), shared)->read(); };
}

}  // namespace cassandra_like
