// libFuzzer's entry: the one target that was linked in.
#include <cstddef>
#include <cstdint>

#include "base/log.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cassandra_like;
  set_log_level(LogLevel::kOff);
  fuzz_targets().front().run(size == 0 ? BytesView("", 0) : BytesView(reinterpret_cast<const char*>(data), size));
  return 0;
}
