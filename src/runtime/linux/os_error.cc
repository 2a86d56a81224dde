#include "runtime/linux/os_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace cassandra_like {

Error os_error(std::string_view doing, std::string_view what, int error_number) {
  bool full = error_number == ENOSPC || error_number == EDQUOT;
  return Error(full ? ErrorCode::kDiskFull : ErrorCode::kIo,
               fmt::format("cannot {} {}: {}", doing, what, std::strerror(error_number)));
}

}  // namespace cassandra_like
