// The public API, as a program that embeds a node meets it. Nothing of src/ but the public header is included.
#include "cassandra_like/node.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <thread>

namespace cassandra_like {
namespace {

class EmbeddedNode : public testing::Test {
 protected:
  EmbeddedNode() {
    std::string path = testing::TempDir() + "embedded_XXXXXX";
    home = ::mkdtemp(path.data());
  }
  ~EmbeddedNode() override { std::filesystem::remove_all(home); }

  NodeOptions options(const std::string& name, const std::string& more = "") const {
    NodeOptions options;
    const std::string directory = home + "/" + name;
    options.config = "data_file_directories: [" + directory + "/data]\ncommitlog_directory: " + directory +
                     "/commitlog\nhints_directory: " + directory + "/hints\nsaved_caches_directory: " + directory +
                     "/caches\nnative_transport_port: 0\nadmin_port: 0\n" + more;
    options.shards = 2;
    return options;
  }
  std::string home, error;
};

std::string output_of(const std::string& command) {
  std::string out;
  std::array<char, 4096> buffer;
  FILE* pipe = ::popen(command.c_str(), "r");
  while (size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) out.append(buffer.data(), n);
  EXPECT_EQ(::pclose(pipe), 0) << out;
  return out;
}

TEST_F(EmbeddedNode, TheExampleRunsAndFindsItsNoteTheSecondTime) {
  const std::string command = std::string(EXAMPLE) + " " + home + " 2>/dev/null | grep -v INFO";
  EXPECT_EQ(output_of(command), "Cassandra 5.0.9\nno note yet\n");
  EXPECT_EQ(output_of(command), "Cassandra 5.0.9\nnote: water the plants\n");
}

TEST_F(EmbeddedNode, AProgramMayHoldSeveral) {
  auto one = Node::start(options("one"), &error);
  ASSERT_NE(one, nullptr) << error;
  auto two = Node::start(options("two"), &error);
  ASSERT_NE(two, nullptr) << error;
  EXPECT_NE(one->native_port(), 0);
  EXPECT_NE(one->native_port(), two->native_port());
  EXPECT_NE(one->admin_port(), two->admin_port());
  EXPECT_EQ(one->native_address(), "127.0.0.1");
  one->stop();
  one = Node::start(options("one"), &error);
  EXPECT_NE(one, nullptr) << error;
}

TEST_F(EmbeddedNode, ADirectoryHasOneOwner) {
  auto first = Node::start(options("same"), &error);
  ASSERT_NE(first, nullptr) << error;
  StartFailure failure = StartFailure::kNone;
  EXPECT_EQ(Node::start(options("same"), &error, &failure), nullptr);
  EXPECT_EQ(failure, StartFailure::kConfig);
  EXPECT_NE(error.find(home + "/same/data"), std::string::npos) << error;
}

TEST_F(EmbeddedNode, AMistakeIsOneLineWithItsPlace) {
  StartFailure failure = StartFailure::kNone;
  EXPECT_EQ(Node::start(options("x", "no_such_key: 1\n"), &error, &failure), nullptr);
  EXPECT_EQ(failure, StartFailure::kConfig);
  EXPECT_EQ(error.substr(0, 9), "config:7:") << error;
  EXPECT_NE(error.find("no_such_key"), std::string::npos) << error;
  EXPECT_EQ(Node::check(options("x", "no_such_key: 1\n")), error);
  EXPECT_EQ(Node::check(options("x")), "");
}

TEST_F(EmbeddedNode, WaitReturnsWhenAnotherThreadAsksForTheEnd) {
  auto node = Node::start(options("waiting"), &error);
  ASSERT_NE(node, nullptr) << error;
  std::thread other([&] { node->request_stop(); });
  EXPECT_TRUE(node->wait());
  other.join();
  node->request_stop();  // again: nothing more
  node->stop();
}

}  // namespace
}  // namespace cassandra_like
