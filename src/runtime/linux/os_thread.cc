#include "runtime/linux/os_thread.h"

#include <signal.h>

#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace cassandra_like {

Result<std::thread> make_thread(std::string_view whose, std::function<void()> body) {
  auto with_signals_blocked = [body = std::move(body)] {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    body();
  };
  try {
    return std::thread(std::move(with_signals_blocked));
  } catch (const std::system_error& error) {
    return Error(ErrorCode::kConfigError,
                 fmt::format("cannot make the thread of {}: {}: raise the limit of threads (ulimit -u, pids.max of the "
                             "control group) or of the address space (ulimit -v)",
                             whose, std::strerror(error.code().value())));
  }
}

}  // namespace cassandra_like
