#include "runtime/linux/os_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace cassandra_like {

Error os_error(std::string_view doing, std::string_view what, int error_number) {
  const bool is_full = error_number == ENOSPC || error_number == EDQUOT;
  const bool is_short = error_number == EMFILE || error_number == ENFILE;
  return Error(is_full    ? ErrorCode::kDiskFull
               : is_short ? ErrorCode::kOverloaded
                          : ErrorCode::kIo,
               fmt::format("cannot {} {}: {}{}", doing, what, std::strerror(error_number),
                           is_short                ? ": raise the limit of open files (ulimit -n)"
                           : error_number == EFBIG ? ": raise the limit of the size of files (ulimit -f)"
                                                   : ""));
}

}  // namespace cassandra_like
