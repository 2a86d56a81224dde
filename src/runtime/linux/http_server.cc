#include "runtime/linux/http_server.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "base/log.h"
#include "runtime/linux/os_error.h"
#include "runtime/linux/socket_address.h"
#include "runtime/linux/tcp_network.h"

namespace cassandra_like {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using beast::error_code;

namespace {

constexpr uint64_t kMaxBody = 8 * 1024 * 1024;
constexpr auto kIdleTimeout = std::chrono::seconds(60);
constexpr int kMaxSessions = 64;

using Loops = asio::io_context::executor_type;
using HttpSocket = asio::basic_stream_socket<tcp, Loops>;
using HttpAcceptor = asio::basic_socket_acceptor<tcp, Loops>;

// Shared by the sessions of one listener. The handler is touched on its shard only, and dropped with the listener.
struct Service {
  EpollShard& shard;
  std::optional<HttpHandler> handler;
  std::atomic<int> sessions{0};
};

// Answers one request at a time; keeps itself alive through the operation that is pending.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(HttpSocket socket, std::shared_ptr<Service> service)
      : stream_(std::move(socket)), service_(std::move(service)) {
    ++service_->sessions;
  }
  ~HttpSession() { --service_->sessions; }

  void read() {
    parser_.emplace();
    parser_->body_limit(kMaxBody);
    stream_.expires_after(kIdleTimeout);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](error_code error, size_t) { self->on_read(error); });
  }

 private:
  void on_read(error_code error) {
    if (error == http::error::body_limit) {
      keep_alive_ = false;
      return write({.status = 413, .content_type = "text/plain", .body = "the body is too large\n"});
    }
    if (error) return close();
    keep_alive_ = parser_->get().keep_alive();
    stream_.expires_never();
    service_->shard.post([self = shared_from_this(), request = take_request()]() mutable {
      spawn(answer(std::move(self), std::move(request)));
    });
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
    HttpResponse response;
    if (self->service_->handler) {
      Task<HttpResponse> task = (*self->service_->handler)(std::move(request));
      response = co_await task;
    } else {
      response.status = 503;
    }
    HttpSession& session = *self;
    asio::post(session.stream_.get_executor(), [self = std::move(self), r = std::move(response)]() mutable {
      HttpSession& s = *self;
      s.write(std::move(r));
    });
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
                      [self = shared_from_this()](error_code error, size_t) { self->on_written(error); });
  }

  void on_written(error_code error) {
    if (error || !keep_alive_) return close();
    read();
  }

  void close() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.socket().close(ignored);
  }

  beast::basic_stream<tcp, Loops> stream_;
  std::shared_ptr<Service> service_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
  bool keep_alive_ = false;
};

class HttpListenerLoop : public std::enable_shared_from_this<HttpListenerLoop> {
 public:
  HttpListenerLoop(HttpAcceptor acceptor, std::shared_ptr<Service> service)
      : acceptor_(std::move(acceptor)), service_(std::move(service)) {}

  void accept() {
    acceptor_.async_accept([self = shared_from_this()](error_code error, HttpSocket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) {
        LOG_WARN("Cannot accept an HTTP connection: {}", error.message());
      } else if (self->service_->sessions < kMaxSessions) {
        std::make_shared<HttpSession>(std::move(socket), self->service_)->read();
      }
      self->accept();
    });
  }
  void close() {
    error_code ignored;
    acceptor_.close(ignored);
  }

 private:
  HttpAcceptor acceptor_;
  std::shared_ptr<Service> service_;
};

class HttpListener final : public Listener {
 public:
  HttpListener(asio::io_context& context, std::shared_ptr<HttpListenerLoop> loop, std::shared_ptr<Service> service,
               uint16_t port)
      : context_(context), loop_(std::move(loop)), service_(std::move(service)), port_(port) {}
  ~HttpListener() override {
    service_->handler.reset();
    asio::post(context_, [loop = std::move(loop_)] { loop->close(); });
  }
  uint16_t port() const override { return port_; }

 private:
  asio::io_context& context_;
  std::shared_ptr<HttpListenerLoop> loop_;
  std::shared_ptr<Service> service_;
  uint16_t port_;
};

}  // namespace

struct HttpServer::Loop {
  std::mutex mutex;  // around the start of the thread
  asio::io_context context{1};
  asio::executor_work_guard<Loops> work{context.get_executor()};
  std::thread thread;
};

HttpServer::HttpServer() : loop_(std::make_unique<Loop>()) {}
HttpServer::~HttpServer() { stop(); }

Result<std::unique_ptr<Listener>> HttpServer::serve(EpollShard& shard, const SocketAddress& address,
                                                    HttpHandler handler) {
  ASSIGN_OR_RETURN(FileDescriptor fd, open_listening_socket(address, Sharing::kNone));
  uint16_t port = local_address_of(fd.get()).port;
  bool v6 = address.host.find(':') != std::string::npos;
  HttpAcceptor acceptor(loop_->context);
  error_code error;
  acceptor.assign(v6 ? tcp::v6() : tcp::v4(), fd.get(), error);
  if (error) return os_error("listen on", address.to_string(), error.value());
  fd.release();

  std::shared_ptr<Service> service(new Service{.shard = shard, .handler = std::move(handler), .sessions = 0});
  auto loop = std::make_shared<HttpListenerLoop>(std::move(acceptor), service);
  asio::post(loop_->context, [loop] { loop->accept(); });
  std::lock_guard lock(loop_->mutex);
  if (!loop_->thread.joinable()) {
    loop_->thread = std::thread([this] { loop_->context.run(); });
    ::pthread_setname_np(loop_->thread.native_handle(), "http");
  }
  return std::unique_ptr<Listener>(
      std::make_unique<HttpListener>(loop_->context, std::move(loop), std::move(service), port));
}

void HttpServer::stop() {
  loop_->context.stop();
  if (loop_->thread.joinable()) loop_->thread.join();
}

}  // namespace cassandra_like
