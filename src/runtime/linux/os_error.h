// Errors of the operating system as values: what was done, to what, and strerror.
#pragma once

#include <string_view>

#include "base/result.h"

namespace cassandra_like {

// kDiskFull for ENOSPC and EDQUOT, kOverloaded when there are no more descriptors (it may pass), else kIo: "cannot open /a/b: No such file or directory".
Error os_error(std::string_view doing, std::string_view what, int error_number);

}  // namespace cassandra_like
