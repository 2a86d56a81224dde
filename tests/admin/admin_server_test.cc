// The server in the real world: a socket, HTTP, an answer.
#include "admin/admin.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "runtime/linux/linux_runtime.h"

namespace cassandra_like {
namespace {

std::string ask(uint16_t port, const std::string& request) {
  int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::send(fd, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t n; (n = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) answer.append(buffer, static_cast<size_t>(n));
  ::close(fd);
  return answer;
}

TEST(AdminServer, AnswersOverHttp) {
  auto runtime = std::make_unique<LinuxRuntime>(1);
  CHECK(runtime->start().ok());
  std::unique_ptr<AdminServer> server;
  std::promise<uint16_t> port;
  auto on_shard = [&](std::function<void()> work) {
    std::promise<void> done;
    runtime->shard(0).executor.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  };
  on_shard([&] {
    AdminNode node;
    node.runtime = runtime.get();
    AdminHooks hooks;
    hooks.binary_running = [] { return false; };
    auto started = AdminServer::start({"127.0.0.1", 0}, node, hooks);
    ASSERT_TRUE(started.ok()) << started.error().message();
    server = std::move(*started);
    port.set_value(server->port());
  });
  std::string answer =
      ask(port.get_future().get(), "GET /v1/binary HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n{\"running\":false}")) << answer;
  on_shard([&] { server.reset(); });
  runtime->stop();
}

}  // namespace
}  // namespace cassandra_like
