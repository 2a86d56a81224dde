#include "base/path_component.h"

#include "gtest/gtest.h"

namespace cassandra_like {
namespace {

std::string refusal(std::string_view name) {
  const Status status = check_path_component(name, "Snapshot name");
  return status.ok() ? "" : status.error().message();
}

TEST(PathComponent, TakesWhatIsOneNameInsideItsDirectory) {
  for (const char* name :
       {"a", ".index", "..a", "a..", "users-5a1c395e", "dropped-1-t", "mit Leerzeichen", "späte", "-"}) {
    EXPECT_EQ(refusal(name), "") << name;
  }
  EXPECT_EQ(refusal(std::string(255, 'x')), "");
}

TEST(PathComponent, RefusesWhatLeavesItsDirectoryOrEndsEarly) {
  using std::string_literals::operator""s;
  EXPECT_EQ(refusal(""), "Snapshot name is empty");
  EXPECT_EQ(refusal("."), "Snapshot name \".\" cannot consist of dots");
  EXPECT_EQ(refusal(".."), "Snapshot name \"..\" cannot consist of dots");
  EXPECT_EQ(refusal("..\0"s), "Snapshot name \"..\\x00\" cannot contain control characters");
  EXPECT_EQ(refusal("a\nb"), "Snapshot name \"a\\x0ab\" cannot contain control characters");
  EXPECT_EQ(refusal("a\x7F"), "Snapshot name \"a\\x7f\" cannot contain control characters");
  EXPECT_EQ(refusal("../t"), "Snapshot name \"../t\" cannot contain /");
  EXPECT_EQ(refusal("/"), "Snapshot name \"/\" cannot contain /");
  EXPECT_EQ(refusal(std::string(256, 'x')),
            "Snapshot name \"" + std::string(80, 'x') + "…\" has 256 bytes: at most 255 are allowed");
}

}  // namespace
}  // namespace cassandra_like
