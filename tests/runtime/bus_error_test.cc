#include "runtime/linux/bus_error.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace cassandra_like {
namespace {

// A page of a mapped file that is not there any more cannot be read, as one that the disk fails to read.
void read_behind_the_end_of(const std::string& path) {
  name_unreadable_mapped_files();
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0 || ::ftruncate(file, 8192) != 0) return;
  const auto* bytes = static_cast<const volatile char*>(::mmap(nullptr, 8192, PROT_READ, MAP_SHARED, file, 0));
  if (bytes == MAP_FAILED || ::ftruncate(file, 0) != 0) return;
  [[maybe_unused]] const char byte = bytes[5000];
}

TEST(BusErrorDeathTest, NamesTheFileAndEndsTheProcess) {
  const std::string path = testing::TempDir() + "bus error-Data.db";
  EXPECT_EXIT(read_behind_the_end_of(path), testing::KilledBySignal(SIGBUS),
              "cannot read or write " + path + ": the disk failed, or the file was cut");
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace cassandra_like
