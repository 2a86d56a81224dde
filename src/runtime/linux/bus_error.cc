// Only functions that may be called in a signal handler (signal-safety(7)): no heap, no locks.
#include "runtime/linux/bus_error.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace cassandra_like {

namespace {

void say(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

// Takes a number in hexadecimal off the front.
uintptr_t take_number(std::string_view* line) {
  uintptr_t number = 0;
  while (!line->empty()) {
    const char c = line->front();
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) break;
    number = number * 16 + static_cast<uintptr_t>(digit);
    line->remove_prefix(1);
  }
  return number;
}

// A line of /proc/self/maps, "begin-end perms offset device inode path": whether the address lies in it, and the path.
bool is_mapped_at(std::string_view line, uintptr_t address, std::string_view* path) {
  const uintptr_t begin = take_number(&line);
  if (line.empty()) return false;
  line.remove_prefix(1);
  if (const uintptr_t end = take_number(&line); address < begin || address >= end) return false;
  const size_t slash = line.find('/');
  *path = slash == std::string_view::npos ? std::string_view("memory that is no file") : line.substr(slash);
  return true;
}

void say_file_at(uintptr_t address) {
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  char buffer[8192];
  size_t size = 0;
  for (ssize_t n; maps >= 0 && (n = ::read(maps, buffer + size, sizeof(buffer) - size)) > 0;) {
    size += static_cast<size_t>(n);
    std::string_view rest(buffer, size);
    for (size_t newline; (newline = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(newline + 1)) {
      std::string_view path;
      if (is_mapped_at(rest.substr(0, newline), address, &path)) return say(path);
    }
    size = rest.size();
    std::memmove(buffer, rest.data(), size);
    if (size == sizeof(buffer)) size = 0;  // no path is so long
  }
  say("a mapped file");
}

void on_bus_error(int signal, siginfo_t* info, void* /*context*/) {
  say("cassandra-like: cannot read or write ");
  say_file_at(reinterpret_cast<uintptr_t>(info->si_addr));
  say(": the disk failed, or the file was cut or cannot be changed (SIGBUS). ");
  say("Check the disk, and nodetool verify when the node runs again\n");
  ::signal(signal, SIG_DFL);  // the access is tried again when this returns, and ends the process
}

}  // namespace

void name_unreadable_mapped_files() {
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace cassandra_like
