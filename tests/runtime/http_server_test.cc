// The HTTP server of the admin port against clients that do not behave: each writes bytes to a socket of its own.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <thread>

#include "base/log.h"
#include "runtime/linux/linux_runtime.h"

namespace cassandra_like {
namespace {

class Client {
 public:
  explicit Client(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const timeval patience{5, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  Client(Client&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Client& operator=(Client&&) = delete;
  ~Client() {
    if (fd_ >= 0) ::close(fd_);
  }

  Client& send(const std::string& bytes) {
    EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    return *this;
  }
  Client& end() {
    ::shutdown(fd_, SHUT_WR);
    return *this;
  }
  // The bytes that come first.
  std::string some() {
    char buffer[4096];
    const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
    return std::string(buffer, n > 0 ? static_cast<size_t>(n) : 0);
  }
  // The bytes until the server closes.
  std::string rest() {
    std::string all;
    char buffer[4096];
    for (ssize_t n; (n = ::recv(fd_, buffer, sizeof buffer, 0)) > 0;) all.append(buffer, static_cast<size_t>(n));
    return all;
  }

 private:
  int fd_;
};

std::string status_line(const std::string& answer) { return answer.substr(0, answer.find('\r')); }
size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

constexpr char kGet[] = "GET /x?a=1 HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr char kLastGet[] = "GET /x?a=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

// A server that answers with what it understood.
class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() : runtime_(std::make_unique<LinuxRuntime>(1)) {
    CHECK(runtime_->start().ok());
    on_shard([this] {
      auto handler = [](HttpRequest r) {
        if (r.path == "/large") return Task<HttpResponse>(HttpResponse{200, "text/plain", std::string(16 << 20, 'x')});
        return Task<HttpResponse>(
            HttpResponse{200, "text/plain", r.method + " " + r.path + " " + r.query + " " + r.body});
      };
      auto listener = runtime_->shard(0).network.serve_http({"127.0.0.1", 0}, handler);
      ASSERT_TRUE(listener.ok()) << listener.error().message();
      listener_ = std::move(*listener);
    });
  }
  ~HttpServerTest() override {
    on_shard([this] { listener_.reset(); });
    runtime_->stop();
  }

  void on_shard(std::function<void()> work) {
    std::promise<void> done;
    runtime_->shard(0).executor.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  uint16_t port() const { return listener_->port(); }
  std::string answer_to(const std::string& request) { return Client(port()).send(request).rest(); }

  std::unique_ptr<LinuxRuntime> runtime_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(HttpServerTest, AnswersPipelinedRequestsInTheirOrder) {
  std::string answers =
      answer_to(std::string(kGet) + "POST /y HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" +
                "3\r\nabc\r\n0\r\n\r\n" + kLastGet);
  EXPECT_EQ(count(answers, "HTTP/1.1 200 OK"), 3u);
  EXPECT_LT(answers.find("GET /x a=1 "), answers.find("POST /y  abc"));
  EXPECT_TRUE(answers.ends_with("GET /x a=1 ")) << answers;
}

TEST_F(HttpServerTest, AnswersAClientThatHasEndedItsSide) {
  EXPECT_EQ(status_line(Client(port()).send(kGet).end().rest()), "HTTP/1.1 200 OK");
  EXPECT_EQ(Client(port()).end().rest(), "");
  EXPECT_EQ(Client(port()).send("GET /x HT").end().rest(), "");
}

TEST_F(HttpServerTest, AnswersHttp10) {
  std::string answer = answer_to("GET /x HTTP/1.0\r\n\r\n");
  EXPECT_EQ(status_line(answer), "HTTP/1.1 200 OK");
  EXPECT_TRUE(answer.ends_with("GET /x  "));
}

TEST_F(HttpServerTest, RefusesWhatIsNoRequest) {
  for (const std::string& bytes :
       {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),  // a TLS hello
        std::string("\x04\x00\x00\x00\x05\x00\x00\x00\x00\r\n\r\n", 13), std::string("GET /\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\n\r\n"), std::string("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        std::string("GET http://a/v1 HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"), std::string("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
    EXPECT_EQ(status_line(answer_to(bytes)), "HTTP/1.1 400 Bad Request") << bytes;
  }
}

TEST_F(HttpServerTest, RefusesWhatIsTooLarge) {
  std::string header = "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(20'000, 'x');
  EXPECT_EQ(status_line(answer_to(header)), "HTTP/1.1 431 Request Header Fields Too Large");
  std::string body = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n";
  EXPECT_EQ(status_line(answer_to(body)), "HTTP/1.1 413 Payload Too Large");
}

TEST_F(HttpServerTest, HalfSentRequestsDoNotKeepOthersOut) {
  std::vector<Client> stuck;
  for (int i = 0; i < 200; ++i) {
    stuck.emplace_back(port());
    stuck.back().send("GET / HTTP/1.1\r\nHost: ");
  }
  EXPECT_EQ(status_line(answer_to(kLastGet)), "HTTP/1.1 200 OK");
  EXPECT_EQ(stuck.front().rest(), "");  // the first ones made room
}

TEST_F(HttpServerTest, ClientsThatTakeNoAnswerDoNotKeepOthersOut) {
  std::vector<Client> deaf;
  for (int i = 0; i < 100; ++i) {
    deaf.emplace_back(port());
    deaf.back().send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  // A client is refused only as long as every session runs a command. Answers that nobody takes give their place.
  std::string answer;
  for (int i = 0; i < 100 && answer.empty(); ++i) {
    if (i > 0) ::usleep(50'000);
    answer = answer_to(kLastGet);
  }
  EXPECT_EQ(status_line(answer), "HTTP/1.1 200 OK");
}

TEST_F(HttpServerTest, WaitsQuietlyWhenThereIsNoDescriptor) {
  std::atomic<int> lines{0};
  set_log_sink([&](const LogRecord&) { ++lines; });
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(port());
    EXPECT_EQ(status_line(clients.back().send(kGet).some()), "HTTP/1.1 200 OK");
  }
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int probe = ::dup(0);
  ::close(probe);
  // The next connect() takes the last descriptor, so that accept() finds none.
  const rlimit low{static_cast<rlim_t>(probe) + 1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  auto waiting = std::make_unique<Client>(port());
  rusage start{}, end{};
  ::getrusage(RUSAGE_SELF, &start);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  ::getrusage(RUSAGE_SELF, &end);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  auto micros = [](const rusage& r) {
    return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1'000'000 + r.ru_utime.tv_usec + r.ru_stime.tv_usec;
  };
  EXPECT_LT(micros(end) - micros(start), 200'000);
  EXPECT_EQ(lines, 1);
  EXPECT_EQ(status_line(waiting->send(kLastGet).rest()), "HTTP/1.1 200 OK");
  set_log_sink({});
}

}  // namespace
}  // namespace cassandra_like
