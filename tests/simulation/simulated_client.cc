#include "tests/simulation/simulated_client.h"

namespace cassandra_like {

class SimulatedClient::Handler : public ConnectionHandler {
 public:
  explicit Handler(SimulatedClient& client) : client_(client), alive_(client.alive_) {}
  size_t on_received(BytesView data) override {
    if (!*alive_) return data.size();
    CHECK(client_.codec_->feed(data));
    while (auto response = client_.codec_->next()) client_.on_response(std::move(*response));
    return data.size();
  }
  void on_closed(const Status&) override {
    if (*alive_) client_.on_closed();
  }

 private:
  SimulatedClient& client_;
  std::shared_ptr<bool> alive_;
};

SimulatedClient::SimulatedClient(SimMachine& machine, SocketAddress server, int protocol_version)
    : runtime_(machine.boot(1)), server_(std::move(server)), version_(protocol_version) {}

SimulatedClient::~SimulatedClient() { *alive_ = false; }

void SimulatedClient::start() {
  stopped_ = false;
  connect();
}

void SimulatedClient::stop() {
  stopped_ = true;
  if (connection_ != nullptr) connection_->close_now();
}

void SimulatedClient::connect() {
  if (stopped_ || connecting_ || connection_ != nullptr) return;
  connecting_ = true;
  runtime_.shard(0).executor.post([this, alive = alive_] {
    if (*alive) spawn(try_connect());
  });
}

Task<void> SimulatedClient::try_connect() {
  auto alive = alive_;
  SocketAddress server = server_;
  Acceptor accept = [this](Connection& connection) -> std::shared_ptr<ConnectionHandler> {
    connection_ = &connection;
    codec_ = std::make_unique<ClientCodec>(version_);
    codec_->append(connection.output(), Opcode::kStartup, 0, startup_body({{"CQL_VERSION", "3.0.0"}}));
    connection.flush();
    return std::make_shared<Handler>(*this);
  };
  Status status = co_await runtime_.shard(0).network.connect(server, std::move(accept));
  if (!*alive) co_return;
  connecting_ = false;
  if (status.ok() || stopped_) co_return;
  runtime_.shard(0).executor.schedule(std::chrono::milliseconds(20), [this, alive] {
    if (*alive) connect();
  });
}

void SimulatedClient::on_response(ClientResponse response) {
  if (!ready_) {
    CHECK(response.get<ClientReady>() != nullptr);
    ready_ = true;
    return;
  }
  auto it = handlers_.find(response.header.stream);
  CHECK(it != handlers_.end());
  AnswerHandler handler = std::move(it->second);
  handlers_.erase(it);
  handler(std::move(response));
}

void SimulatedClient::on_closed() {
  connection_ = nullptr;
  ready_ = false;
  auto handlers = std::move(handlers_);
  handlers_.clear();
  for (auto& [stream, handler] : handlers) handler(std::nullopt);
  if (stopped_) return;
  runtime_.shard(0).executor.schedule(std::chrono::milliseconds(10), [this, alive = alive_] {
    if (*alive) connect();
  });
}

bool SimulatedClient::query(const std::string& text, const ClientQueryOptions& options, AnswerHandler handler) {
  if (!ready_ || handlers_.size() == kStreams) return false;
  do {
    next_stream_ = static_cast<int16_t>((next_stream_ + 1) % kStreams);
  } while (handlers_.contains(next_stream_));
  handlers_[next_stream_] = std::move(handler);
  codec_->append(connection_->output(), Opcode::kQuery, next_stream_, query_body(version_, text, options));
  connection_->flush();
  return true;
}

}  // namespace cassandra_like
