// The threads of a node and of the tools.
//
// They block SIGXFSZ. A file that would outgrow the limit of the size of files (ulimit -f) is then an error (EFBIG) that names
// the file, and not the end of the process, also in a program that embeds a node and has signals of its own.
#pragma once

#include <functional>
#include <string_view>
#include <thread>

#include "base/result.h"

namespace cassandra_like {

// kConfigError when the system gives none; the text says what to raise. whose: as in "the thread of shard-3".
Result<std::thread> make_thread(std::string_view whose, std::function<void()> body);

}  // namespace cassandra_like
