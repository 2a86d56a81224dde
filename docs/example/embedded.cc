// A program that holds a whole node: starts it, asks it one question over CQL's native protocol, ends it.
//
// Everything of the node that is used is in cassandra_like/node.h; the client below is a few lines of protocol v4 over a
// socket, in the place of the driver that a real program would use. Usage: embedded_example DIRECTORY
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <iostream>
#include <stdexcept>
#include <string>

#include "cassandra_like/node.h"

namespace {

std::string big_endian(uint64_t value, int bytes) {
  std::string out;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
  return out;
}

uint32_t read_int(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes.at(i));
  return value;
}

class Client {
 public:
  Client(const std::string& address, uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    inet_pton(AF_INET, address.c_str(), &to.sin_addr);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) throw std::runtime_error("connect");
    request(1, big_endian(1, 2) + string("CQL_VERSION") + string("3.4.7"));  // STARTUP
  }
  ~Client() { ::close(socket_); }

  // The first value of the first row, as text; "" when there is none.
  std::string query(const std::string& text) {
    std::string body = request(7, big_endian(text.size(), 4) + text + big_endian(1, 2) + big_endian(2, 1));
    if (read_int(body, 0) != 2) return "";  // no rows; flag 2 of the request left the columns' description out
    size_t values = 4 + 4 + 4;              // kind, flags, column count
    if (read_int(body, values) == 0) return "";
    return body.substr(values + 8, read_int(body, values + 4));
  }

 private:
  static std::string string(const std::string& s) { return big_endian(s.size(), 2) + s; }

  // Sends a frame and returns the answer's body.
  std::string request(int opcode, const std::string& body) {
    std::string frame = big_endian(4, 1) + big_endian(0, 3) + big_endian(static_cast<uint64_t>(opcode), 1) +
                        big_endian(body.size(), 4) + body;
    if (::send(socket_, frame.data(), frame.size(), 0) < 0) throw std::runtime_error("send");
    std::string header = receive(9);
    std::string answer = receive(read_int(header, 5));
    if (header[4] == 0) throw std::runtime_error(answer.substr(6));  // ERROR
    return answer;
  }
  std::string receive(size_t size) {
    std::string out(size, 0);
    if (size > 0 && ::recv(socket_, out.data(), size, MSG_WAITALL) != static_cast<ssize_t>(size)) {
      throw std::runtime_error("receive");
    }
    return out;
  }

  int socket_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string home = argc > 1 ? argv[1] : ".";
  cassandra_like::NodeOptions options;
  options.config =
      "cluster_name: embedded\n"
      "data_file_directories: [" +
      home +
      "/data]\n"
      "commitlog_directory: " +
      home +
      "/commitlog\n"
      "hints_directory: " +
      home +
      "/hints\n"
      "saved_caches_directory: " +
      home +
      "/saved_caches\n"
      "native_transport_port: 0\n"  // any free port
      "admin_port: 0\n";
  options.shards = 2;
  std::string error;
  auto node = cassandra_like::Node::start(options, &error);
  if (node == nullptr) {
    std::cerr << error << "\n";
    return 1;
  }
  try {
    Client client(node->native_address(), node->native_port());
    client.query(
        "CREATE KEYSPACE IF NOT EXISTS notes WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    client.query("CREATE TABLE IF NOT EXISTS notes.by_day (day date PRIMARY KEY, note text)");
    std::string before = client.query("SELECT note FROM notes.by_day WHERE day = '2026-11-21'");
    std::cout << "Cassandra " << client.query("SELECT release_version FROM system.local") << "\n";
    std::cout << (before.empty() ? "no note yet" : "note: " + before) << "\n";
    client.query("INSERT INTO notes.by_day (day, note) VALUES ('2026-11-21', 'water the plants')");
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  node->stop();
}
