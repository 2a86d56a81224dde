// Things that only the real world has: other processes' ports, HTTP, idle buffers.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <iostream>
#include <thread>

#include "runtime/linux/linux_runtime.h"
#include "runtime/linux/sync_pool.h"
#include "tests/runtime/worlds.h"
#include "tests/support/captured_log.h"

namespace cassandra_like {
namespace {

class LinuxTest : public testing::Test {
 protected:
  void run(Task<void> (*body)(TestWorld*)) {
    world_->run(0, [this, body] { return body(world_.get()); });
  }
  std::unique_ptr<TestWorld> world_ = make_world(WorldKind::kLinux, 1);
};

// How many of 200 callbacks that wait in one queue and take half a millisecond each run before a timer of five.
int callbacks_before_a_timer(TestWorld& world, bool from_another_thread) {
  std::atomic<int> ran = 0, before = -1;
  auto post_all = [&] {
    for (int i = 0; i < 200; ++i) {
      world.shard(0).executor.post([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(500));
        ++ran;
      });
    }
  };
  world.shard(0).executor.post([&] {
    world.shard(0).executor.schedule(std::chrono::milliseconds(5), [&] { before = ran.load(); });
    if (!from_another_thread) return post_all();
    std::thread(post_all).join();
  });
  world.wait_until([&] { return ran == 200 && before >= 0; });
  return before;
}

TEST_F(LinuxTest, ATimerDoesNotWaitBehindAQueueOfSlowCallbacks) {
  for (bool from_another_thread : {false, true}) {
    EXPECT_LE(callbacks_before_a_timer(*world_, from_another_thread), 10 + 16);
  }
}

// A socket that listens without the runtime's knowledge, as another process would; sharing is what it would allow.
struct Foreign {
  Foreign() {
    int on = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
    EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd, 1), 0);
    EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
  }
  ~Foreign() { ::close(fd); }
  int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  uint16_t port = 0;
};

Task<void> port_of_another_process(TestWorld* w) {
  Foreign foreign;
  SocketAddress taken{"127.0.0.1", foreign.port};
  auto listener = w->shard(0).network.listen(taken, [](Connection&) { return nullptr; });
  EXPECT_FALSE(listener.ok());
  EXPECT_EQ(listener.error().message(), "cannot listen on " + taken.to_string() + ": Address already in use");
  return {};
}
TEST_F(LinuxTest, APortOfAnotherProcessIsRefusedThoughItWouldShare) { run(port_of_another_process); }

Task<void> listen_again(TestWorld* w) {
  auto first = w->shard(0).network.listen({"127.0.0.1", 0}, [](Connection&) { return nullptr; });
  SocketAddress address{"127.0.0.1", (*first)->port()};
  first->reset();
  auto again = w->shard(0).network.listen(address, [](Connection&) { return nullptr; });
  EXPECT_TRUE(again.ok());
  return {};
}
TEST_F(LinuxTest, AClosedListenersAddressIsFreeAgain) { run(listen_again); }

// Looks at all sockets of this process.
int sockets_with_user_timeout(unsigned millis) {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    unsigned found = 0;
    socklen_t size = sizeof found;
    count += ::getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &found, &size) == 0 && found == millis;
  }
  return count;
}

struct Silent : ConnectionHandler {
  size_t on_received(BytesView data) override { return data.size(); }
  void on_closed(const Status&) override {}
};

Task<void> limit_silence(TestWorld* w) {
  auto accept = [](Connection&) { return std::make_shared<Silent>(); };
  auto connected = [](Connection& connection) {
    connection.set_user_timeout(std::chrono::milliseconds(7654));
    return std::make_shared<Silent>();
  };
  auto listener = w->shard(0).network.listen({"127.0.0.1", 0}, accept);
  EXPECT_TRUE(listener.ok());
  const SocketAddress address{"127.0.0.1", (*listener)->port()};
  Task<Status> connecting = w->shard(0).network.connect(address, connected);
  Status status = co_await connecting;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(sockets_with_user_timeout(7654), 1);
}
TEST_F(LinuxTest, AConnectionEndsAfterItsUserTimeout) { run(limit_silence); }

// Two runtimes are to each other as two processes.
struct Race {
  SocketAddress address;
  std::atomic<int> arrived{0}, listening{0}, done{0};
};

Task<void> listen_at_once(TestWorld* w, Race* race) {
  for (++race->arrived; race->arrived < 2;) continue;
  auto listener = w->shard(0).network.listen(race->address, [](Connection&) { return nullptr; });
  if (listener.ok()) ++race->listening;
  for (++race->done; race->done < 2;) continue;
  return {};
}

TEST_F(LinuxTest, OfTwoProcessesThatListenAtOnceNoTwoDo) {
  constexpr int kRounds = 200;
  int rounds_with_one = 0;
  auto other = make_world(WorldKind::kLinux, 1);
  const SocketAddress address{"127.0.77.1", Foreign().port};  // where no other program's connection may have the port
  for (int i = 0; i < kRounds; ++i) {
    Race race{address};
    std::thread rival([&] { other->run(0, [&] { return listen_at_once(other.get(), &race); }); });
    world_->run(0, [&] { return listen_at_once(world_.get(), &race); });
    rival.join();
    ASSERT_LE(race.listening, 1);
    rounds_with_one += race.listening;
  }
  EXPECT_GT(rounds_with_one, 0);
}

struct Collector : ConnectionHandler {
  size_t on_received(BytesView data) override {
    received += data;
    return data.size();
  }
  void on_closed(const Status&) override { closed = true; }
  Bytes received;
  bool closed = false;
};

Task<HttpResponse> answer(Executor* executor, HttpRequest r) {
  co_await executor->yield();
  HttpResponse response;
  response.body = r.method + " " + r.path + " ? " + r.query + " | " + r.header("authorization") + " | " + r.body;
  if (r.path == "/missing") response.status = 404;
  co_return response;
}

struct Exchange {
  std::unique_ptr<Listener> listener;
  std::shared_ptr<Collector> client = std::make_shared<Collector>();
};

Task<void> ask(TestWorld* w, Exchange* x, Bytes request) {
  Executor* executor = &w->shard(0).executor;
  auto listener = w->shard(0).network.serve_http({"127.0.0.1", 0},
                                                 [executor](HttpRequest r) { return answer(executor, std::move(r)); });
  EXPECT_TRUE(listener.ok());
  x->listener = std::move(*listener);
  SocketAddress to{"127.0.0.1", x->listener->port()};
  Status status = co_await w->shard(0).network.connect(to, [x, &request](Connection& c) {
    c.output() += request;
    c.flush();
    return x->client;
  });
  EXPECT_TRUE(status.ok());
}

Task<void> end(Exchange* x) {
  x->listener.reset();
  return {};
}

TEST_F(LinuxTest, ServesHttp) {
  Exchange x;
  Bytes request =
      "GET /status?verbose=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Basic abc\r\n\r\n"
      "POST /missing HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody";
  world_->run(0, [&] { return ask(world_.get(), &x, request); });
  world_->wait_until([&] { return x.client->closed; });
  EXPECT_EQ(x.client->received,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 38\r\n\r\n"
            "GET /status ? verbose=1 | Basic abc | "
            "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: "
            "26\r\n\r\n"
            "POST /missing ?  |  | body");
  world_->run(0, [&] { return end(&x); });
}

struct Threads {
  std::thread::id own, piece, left_over, timer;
  std::atomic<int> missing = 2;
};

Task<void> work_for_a_sleeper(TestWorld* w, Threads* threads) {
  Executor& here = w->shard(0).executor;
  Executor& there = w->shard(1).executor;
  threads->own =
      co_await run_on<std::thread::id>(here, there, [] { return Task<std::thread::id>(std::this_thread::get_id()); });
  auto work = [&there, threads] {
    EXPECT_TRUE(there.is_current());
    threads->piece = std::this_thread::get_id();
    there.post([threads] {
      threads->left_over = std::this_thread::get_id();
      --threads->missing;
    });
    there.schedule(std::chrono::milliseconds(2), [threads] {
      threads->timer = std::this_thread::get_id();
      --threads->missing;
    });
  };
  while (!there.run_if_asleep(work)) co_await here.sleep(std::chrono::milliseconds(1));
  EXPECT_TRUE(here.is_current());
  EXPECT_EQ(threads->piece, std::this_thread::get_id());
}

TEST(LinuxShards, ASleepersWorkIsDoneByTheThreadThatHasItAndTheRestByItsOwn) {
  auto world = make_world(WorldKind::kLinux, 2);
  Threads threads;
  world->run(0, [&] { return work_for_a_sleeper(world.get(), &threads); });
  world->wait_until([&] { return threads.missing == 0; });
  EXPECT_NE(threads.piece, threads.own);
  EXPECT_EQ(threads.left_over, threads.own);
  EXPECT_EQ(threads.timer, threads.own);
}

// Answers a part at once and, if `there` is given, the rest when that shard has answered.
struct Halves : Collector {
  Halves(Connection& c, Executor& h, Executor& t, bool both) : connection(c), here(h), there(t), both(both) {}
  size_t on_received(BytesView data) override {
    connection.output() += "here";
    there.post([this, answers = both] {
      if (!answers) return;
      here.post([this] {
        connection.output() += "there";
        connection.flush();
      });
    });
    return data.size();
  }
  Connection& connection;
  Executor& here;
  Executor& there;
  const bool both;
};
struct Pieces : Collector {
  size_t on_received(BytesView data) override {
    ++pieces;
    return Collector::on_received(data);
  }
  int pieces = 0;
};
struct Asked {
  std::unique_ptr<Listener> listener;
  std::shared_ptr<Pieces> client = std::make_shared<Pieces>();
  bool both = false;
};

Task<void> ask_for_halves(TestWorld* w, Asked* asked) {
  Executor& here = w->shard(0).executor;
  auto accept = [asked, &here, w](Connection& c) {
    return std::make_shared<Halves>(c, here, w->shard(1).executor, asked->both);
  };
  auto listener = w->shard(0).network.listen({"127.0.0.1", 0}, accept);
  EXPECT_TRUE(listener.ok());
  asked->listener = std::move(*listener);
  Connection* connection = nullptr;
  SocketAddress to{"127.0.0.1", asked->listener->port()};
  Acceptor connected = [asked, &connection](Connection& c) {
    connection = &c;
    return asked->client;
  };
  Status status = co_await w->shard(0).network.connect(to, connected);
  EXPECT_TRUE(status.ok());
  for (int i = 0; i < 20; ++i) {
    const size_t wanted = asked->client->received.size() + std::string_view(asked->both ? "herethere" : "here").size();
    connection->output() += "?";
    connection->flush();
    while (asked->client->received.size() < wanted) co_await here.sleep(std::chrono::milliseconds(1));
  }
  connection->close();
  asked->listener.reset();
}

// One send serves both, unless the other shard takes longer than answers wait.
TEST(LinuxShards, AnswersWaitALittleForThoseOfOtherShards) {
  auto world = make_world(WorldKind::kLinux, 2);
  Asked asked;
  asked.both = true;
  world->run(0, [&] { return ask_for_halves(world.get(), &asked); });
  EXPECT_LT(asked.client->pieces, 30) << "of 40 halves";
}

TEST(LinuxShards, AnswersDoNotWaitLongForThoseOfOtherShards) {
  auto world = make_world(WorldKind::kLinux, 2);
  Asked asked;
  world->run(0, [&] { return ask_for_halves(world.get(), &asked); });
  EXPECT_EQ(asked.client->pieces, 20);
}

Task<void> randomness(TestWorld* w) {
  Random& random = w->shard(0).random;
  char a[16] = {};
  char b[16] = {};
  random.fill(a, sizeof a);
  random.fill(b, sizeof b);
  EXPECT_FALSE(std::equal(a, a + 16, b));
  EXPECT_NE(random.next(), random.next());
  EXPECT_LT(random.below(10), 10u);
  return {};
}
TEST_F(LinuxTest, DrawsFromTheKernel) { run(randomness); }

TEST(LinuxShards, TellOfAStandstill) {
  CapturedLog log;
  auto world = make_world(WorldKind::kLinux, 1);
  Executor& executor = world->shard(0).executor;
  bool ran = false;
  executor.post([&] {
    executor.schedule(std::chrono::milliseconds(1), [&ran] { ran = true; });
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
  });
  world->wait_until([&ran] { return ran; });
  EXPECT_EQ(log.lines().size(), 1u);
  EXPECT_EQ(log.count("Shard 0 stood still for "), 1u);
}

// Stopping with connections, timers and coroutines in flight ends cleanly and frees what the callbacks hold.
TEST(LinuxStop, DropsWhatIsInFlight) {
  auto held = std::make_shared<Collector>();
  {
    auto world = make_world(WorldKind::kLinux, 2);
    Exchange x;
    world->run(0, [&] { return ask(world.get(), &x, "GET /unfinished HTTP/1.1\r\n"); });
    world->shard(1).executor.post([&] {
      world->shard(1).executor.schedule(std::chrono::hours(1), [held] { ADD_FAILURE(); });
      world->shard(0).executor.post([] {});
    });
    bool scheduled = false;
    world->wait_until([&] { return std::exchange(scheduled, true) && held.use_count() == 2; });
    world->run(0, [&] { return end(&x); });
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(SyncPoolTest, RunsIdleWorkAtTheLatestWhenItStops) {
  std::atomic<int> ran = 0;
  SyncPool pool("tests", 2, 0);
  ASSERT_TRUE(pool.start().ok());
  for (int i = 0; i < 100; ++i) pool.run_idle([&ran] { ++ran; });
  pool.stop();
  EXPECT_EQ(ran, 100);
  pool.run_idle([&ran] { ++ran; });
  EXPECT_EQ(ran, 101);
}

// While it lives, no thread can be made: its stack would be larger than the address space.
struct WithoutThreads {
  WithoutThreads() {
    pthread_attr_t huge;
    CHECK(::pthread_getattr_default_np(&former) == 0 && ::pthread_getattr_default_np(&huge) == 0);
    CHECK(::pthread_attr_setstacksize(&huge, size_t{1} << 47) == 0 && ::pthread_setattr_default_np(&huge) == 0);
    ::pthread_attr_destroy(&huge);
  }
  ~WithoutThreads() {
    ::pthread_setattr_default_np(&former);
    ::pthread_attr_destroy(&former);
  }
  pthread_attr_t former;
};

TEST(SyncPoolTest, GoesOnWithTheThreadsThatItHas) {
  CapturedLog log;
  SyncPool pool("tests", 4, 0);
  ASSERT_TRUE(pool.start().ok());
  std::promise<void> may_end;
  std::atomic<int> ran = 0;
  {
    WithoutThreads none;
    pool.run_idle([end = may_end.get_future().share()] { end.wait(); });
    for (int i = 0; i < 10; ++i) pool.run_idle([&ran] { ++ran; });
  }
  EXPECT_EQ(ran, 0);
  may_end.set_value();
  while (ran < 10) std::this_thread::yield();
  pool.stop();
  EXPECT_EQ(log.lines(),
            std::vector<std::string>{
                "cannot make the thread of tests: Resource temporarily unavailable: raise the limit of threads "
                "(ulimit -u, pids.max of the control group) or of the address space (ulimit -v); 1 of 4 have to do"});
}

TEST(LinuxRuntimeTest, DoesNotStartWithoutThreads) {
  LinuxRuntime runtime(2);
  WithoutThreads none;
  const Status started = runtime.start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code(), ErrorCode::kConfigError);
}

// Afterwards the process has ended, or the limit holds for it.
void exceed_the_size_of_files(const std::string& path) {
  const rlimit limit{4096, 4096};
  CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  LinuxRuntime runtime(1);
  CHECK(runtime.start().ok());
  std::promise<std::string> told;
  ShardRuntime& shard = runtime.shard(0);
  shard.executor.post([&] {
    auto file = shard.disk.create(path);
    CHECK(file.ok());
    const Status appended = (*file)->append(std::string(5000, 'x'));
    const std::string text = appended.ok() ? "" : appended.error().message();
    auto mapped = shard.disk.create_mapped(path + ".mapped", 8192);
    told.set_value(text + "\n" + (mapped.ok() ? "" : mapped.error().message()) + "\n" +
                   std::to_string(std::filesystem::file_size(path)));
  });
  std::cerr << told.get_future().get() << std::endl;
  runtime.stop();
  std::_Exit(0);
}

TEST(FileSizeDeathTest, NamesTheFileAndTheLimit) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const std::string path = testing::TempDir() + "large-Data.db";
  std::filesystem::remove(path);
  EXPECT_EXIT(exceed_the_size_of_files(path), testing::ExitedWithCode(0),
              "cannot append to " + path + ": File too large: raise the limit of the size of files .ulimit -f.\n" +
                  "cannot create " + path + ".mapped: File too large: raise the limit of the size of files .ulimit " +
                  "-f.\n0");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace cassandra_like
