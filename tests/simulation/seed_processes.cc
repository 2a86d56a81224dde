#include "tests/simulation/seed_processes.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>

#include "base/result.h"

namespace cassandra_like {

namespace {

struct Numbers {
  uint64_t steps, trace_hash, acknowledged, restarts, truncations, failure_size;
};

// The child's end of it: numbers, failure, description.
void send(int fd, const SimulationResult& result) {
  const Numbers numbers{result.steps,    result.trace_hash,  result.acknowledged,
                        result.restarts, result.truncations, result.failure.size()};
  std::string out(reinterpret_cast<const char*>(&numbers), sizeof numbers);
  out += result.failure + result.description;
  for (size_t at = 0; at < out.size();) {
    const ssize_t n = ::write(fd, out.data() + at, out.size() - at);
    if (n <= 0) std::abort();
    at += static_cast<size_t>(n);
  }
}

struct Child {
  pid_t pid;
  int fd;
};

Child start(uint64_t index, const std::function<SimulationResult(uint64_t)>& run) {
  std::fflush(nullptr);
  int ends[2];
  CHECK(::pipe(ends) == 0);
  const pid_t pid = ::fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    ::close(ends[0]);
    send(ends[1], run(index));
    std::fflush(nullptr);
    ::_exit(0);
  }
  ::close(ends[1]);
  return {pid, ends[0]};
}

SimulationResult receive(const Child& child) {
  std::string in;
  char buffer[4096];
  for (ssize_t n; (n = ::read(child.fd, buffer, sizeof buffer)) > 0;) in.append(buffer, static_cast<size_t>(n));
  ::close(child.fd);
  int status = 0;
  CHECK(::waitpid(child.pid, &status, 0) == child.pid);
  SimulationResult result;
  if (status != 0 || in.size() < sizeof(Numbers)) {
    result.failure = WIFSIGNALED(status) ? fmt::format("the process died by signal {}", WTERMSIG(status))
                                         : fmt::format("the process ended with {}", WEXITSTATUS(status));
    return result;
  }
  Numbers numbers;
  in.copy(reinterpret_cast<char*>(&numbers), sizeof numbers);
  result.steps = numbers.steps;
  result.trace_hash = numbers.trace_hash;
  result.acknowledged = numbers.acknowledged;
  result.restarts = numbers.restarts;
  result.truncations = numbers.truncations;
  result.failure = in.substr(sizeof numbers, numbers.failure_size);
  result.description = in.substr(sizeof numbers + numbers.failure_size);
  return result;
}

}  // namespace

void run_in_processes(uint64_t count, unsigned jobs, const std::function<SimulationResult(uint64_t)>& run,
                      const std::function<void(uint64_t, SimulationResult)>& done) {
  std::deque<Child> children;
  uint64_t started = 0;
  for (uint64_t i = 0; i < count; ++i) {
    while (started < count && children.size() < jobs) children.push_back(start(started++, run));
    SimulationResult result = receive(children.front());
    children.pop_front();
    done(i, std::move(result));
  }
}

}  // namespace cassandra_like
