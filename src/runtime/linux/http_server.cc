#include "runtime/linux/http_server.h"

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <list>
#include <optional>
#include <thread>

#include "base/log.h"
#include "base/log_quota.h"
#include "runtime/linux/os_error.h"
#include "runtime/linux/os_thread.h"
#include "runtime/linux/socket_address.h"
#include "runtime/linux/tcp_network.h"

namespace cassandra_like {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using beast::error_code;

namespace {

constexpr uint64_t kMaxBody = 64 * 1024;  // bytes; no command takes a body
constexpr uint32_t kMaxHeader = 16 * 1024;
// From the accept, or from the answer before, until a request is there as a whole.
constexpr auto kFirstRequestTimeout = std::chrono::seconds(10);
constexpr auto kNextRequestTimeout = std::chrono::seconds(75);
constexpr auto kWriteTimeout = std::chrono::seconds(60);
constexpr size_t kMaxSessions = 64;
// When the process has no descriptor left, to accept at once again would only burn a core.
constexpr auto kHttpAcceptRetry = std::chrono::milliseconds(100);

using Loops = asio::io_context::executor_type;
using HttpSocket = asio::basic_stream_socket<tcp, Loops>;
using HttpAcceptor = asio::basic_socket_acceptor<tcp, Loops>;

class HttpSession;

// Shared by the sessions of one listener. The handler is touched on its shard only, and dropped with the listener; the rest
// belongs to the thread that serves HTTP.
struct Service {
  EpollShard& shard;
  std::optional<HttpHandler> handler;
  std::atomic<size_t> sessions{0};
  // Sessions that wait for their client, for a request or for it to take an answer, the longest first.
  std::list<HttpSession*> waiting;
};

// Answers one request at a time; keeps itself alive through the operation that is pending. A session whose client lets it
// wait ends at its deadline, or earlier when its place is needed.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(HttpSocket socket, std::shared_ptr<Service> service)
      : stream_(std::move(socket)), service_(std::move(service)) {
    ++service_->sessions;
  }
  ~HttpSession() {
    done_waiting();
    --service_->sessions;
  }

  void start() { read(kFirstRequestTimeout); }
  // Ends what is pending, and so the session.
  void evict() {
    done_waiting();
    stream_.close();
  }

 private:
  void wait_for_client() { place_ = service_->waiting.insert(service_->waiting.end(), this); }
  void done_waiting() {
    if (place_) service_->waiting.erase(*std::exchange(place_, std::nullopt));
  }

  void read(std::chrono::seconds timeout) {
    parser_.emplace();
    parser_->header_limit(kMaxHeader);
    parser_->body_limit(kMaxBody);
    stream_.expires_after(timeout);
    wait_for_client();
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](error_code error, size_t) { self->on_read(error); });
  }

  void on_read(error_code error) {
    done_waiting();
    if (error) return refuse_request(error);
    if (const char* fault = fault_of(parser_->get())) return refuse_request(400, fault);
    keep_alive_ = parser_->get().keep_alive();
    stream_.expires_never();
    service_->shard.post([self = shared_from_this(), request = take_request()]() mutable {
      spawn(answer(std::move(self), std::move(request)));
    });
  }

  // A request that cannot be parsed is answered; a connection that ended or came to its deadline is closed.
  void refuse_request(error_code error) {
    if (error == http::error::body_limit) return refuse_request(413, "the body is too large");
    if (error == http::error::header_limit) return refuse_request(431, "the header is too large");
    const bool is_parsers = error.category() == http::make_error_code(http::error::bad_target).category();
    if (!is_parsers || error == http::error::end_of_stream || error == http::error::partial_message) return close();
    refuse_request(400, "this is not an HTTP/1.1 request");
  }
  void refuse_request(int status, const char* text) {
    keep_alive_ = false;
    write({.status = status, .content_type = "text/plain", .body = std::string(text) + "\n"});
  }

  // nullptr: none.
  static const char* fault_of(const http::request<http::string_body>& message) {
    const size_t hosts = message.count(http::field::host);
    if (hosts > 1 || (hosts == 0 && message.version() >= 11)) return "a request needs one Host header";
    if (!message.target().starts_with('/')) return "the target of a request must begin with /";
    return nullptr;
  }

  HttpRequest take_request() {
    auto& message = parser_->get();
    std::string target(message.target());
    HttpRequest request;
    request.method = std::string(message.method_string());
    size_t question = target.find('?');
    request.path = target.substr(0, question);
    if (question != std::string::npos) request.query = target.substr(question + 1);
    for (const auto& field : message) {
      std::string name(field.name_string());
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      request.headers.emplace_back(std::move(name), std::string(field.value()));
    }
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
    stream_.expires_after(kWriteTimeout);
    wait_for_client();
    http::async_write(stream_, *response_,
                      [self = shared_from_this()](error_code error, size_t) { self->on_written(error); });
  }

  void on_written(error_code error) {
    done_waiting();
    if (error || !keep_alive_) return close();
    read(kNextRequestTimeout);
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
  std::optional<std::list<HttpSession*>::iterator> place_;  // among those that wait
};

class HttpListenerLoop : public std::enable_shared_from_this<HttpListenerLoop> {
 public:
  HttpListenerLoop(HttpAcceptor acceptor, std::shared_ptr<Service> service)
      : acceptor_(std::move(acceptor)), retry_(acceptor_.get_executor()), service_(std::move(service)) {}

  void accept() {
    acceptor_.async_accept([self = shared_from_this()](error_code error, HttpSocket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) return self->rest_a_while(error);
      if (self->make_room()) std::make_shared<HttpSession>(std::move(socket), self->service_)->start();
      self->accept();
    });
  }
  void close() {
    error_code ignored;
    acceptor_.close(ignored);
    retry_.cancel();
  }

 private:
  // False when every session runs a command.
  bool make_room() {
    if (service_->sessions < kMaxSessions) return true;
    if (service_->waiting.empty()) return false;
    service_->waiting.front()->evict();
    return true;
  }

  void rest_a_while(error_code error) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    if (auto more = failures_.take(std::chrono::nanoseconds(now).count())) {
      LOG_WARN("Cannot accept a connection of the admin port: {}{}", error.message(), *more);
    }
    retry_.expires_after(kHttpAcceptRetry);
    retry_.async_wait([self = shared_from_this()](error_code cancelled) {
      if (!cancelled && self->acceptor_.is_open()) self->accept();
    });
  }

  HttpAcceptor acceptor_;
  asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Loops> retry_;
  LogQuota failures_{1};
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
  asio::io_context context{1};
  asio::executor_work_guard<Loops> work{context.get_executor()};
  std::thread thread;
};

HttpServer::HttpServer() : loop_(std::make_unique<Loop>()) {}
HttpServer::~HttpServer() { stop(); }

Status HttpServer::start() {
  ASSIGN_OR_RETURN(loop_->thread, make_thread("HTTP", [this] { loop_->context.run(); }));
  ::pthread_setname_np(loop_->thread.native_handle(), "http");
  return {};
}

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

  std::shared_ptr<Service> service(
      new Service{.shard = shard, .handler = std::move(handler), .sessions = 0, .waiting = {}});
  auto loop = std::make_shared<HttpListenerLoop>(std::move(acceptor), service);
  asio::post(loop_->context, [loop] { loop->accept(); });
  return std::unique_ptr<Listener>(
      std::make_unique<HttpListener>(loop_->context, std::move(loop), std::move(service), port));
}

void HttpServer::stop() {
  loop_->context.stop();
  if (loop_->thread.joinable()) loop_->thread.join();
}

}  // namespace cassandra_like
