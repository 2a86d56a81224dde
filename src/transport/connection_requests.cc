// A connection's requests: the handshake, limits, statements and their answers.
#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/log.h"
#include "cql/context/tracing.h"
#include "replica/replica.h"
#include "transport/connection.h"
#include "transport/respond.h"

namespace cassandra_like {

namespace {

constexpr size_t kMaxTracedValue = 1000;

// Takes what stands at the front and belongs to a word: letters, digits, '_', and what `more` has. False when none does.
bool take_word(std::string_view& rest, std::string_view more = "") {
  size_t n = 0;
  while (n < rest.size() && (std::isalnum(static_cast<unsigned char>(rest[n])) != 0 || rest[n] == '_' ||
                             more.find(rest[n]) != std::string_view::npos)) {
    ++n;
  }
  rest.remove_prefix(n);
  return n > 0;
}

// A number that an int holds.
std::optional<int> take_number(std::string_view& rest) {
  const std::string_view all = rest;
  int value = 0;
  auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error != std::errc() || all.starts_with('-')) return std::nullopt;
  rest.remove_prefix(static_cast<size_t>(end - all.data()));
  return value;
}

bool take_char(std::string_view& rest, char c) {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

struct CqlVersion {
  int major = 0, minor = 0;
};

// Reads what org.apache.cassandra.utils.CassandraVersion reads: MAJOR.MINOR[.PATCH[.HOTFIX]][-PRERELEASE][+BUILD].
std::optional<CqlVersion> parse_cql_version(std::string_view rest) {
  const std::optional<int> major = take_number(rest);
  if (!major || !take_char(rest, '.')) return std::nullopt;
  const std::optional<int> minor = take_number(rest);
  if (!minor) return std::nullopt;
  for (int part = 0; part < 2 && take_char(rest, '.'); ++part) {
    if (!take_number(rest)) return std::nullopt;
  }
  if (take_char(rest, '-') && !take_word(rest, "-.")) return std::nullopt;
  if ((take_char(rest, '+') || take_char(rest, '.')) && !take_word(rest, ".")) return std::nullopt;
  if (!rest.empty()) return std::nullopt;
  return CqlVersion{*major, *minor};
}

// At least CQL 3, which begins with 2.99.
Status check_cql_version(const std::string& text) {
  const std::optional<CqlVersion> version = parse_cql_version(text);
  if (!version) return Error(ErrorCode::kProtocolError, fmt::format("Invalid version value: {}", text));
  if (version->major > 2 || (version->major == 2 && version->minor >= 99)) return {};
  return Error(
      ErrorCode::kProtocolError,
      fmt::format("CQL version {} is not supported by the binary protocol (supported version are >= 3.0.0)", text));
}

Error bytes_overload(const RequestLimits& limits, const HostUsage& host) {
  return Error(ErrorCode::kOverloaded,
               fmt::format("Request breached limit on bytes in flight. (Endpoint: {}/{} bytes, Global: {}/{} bytes.)"
                           "Server is currently in an overloaded state and cannot accept more requests.",
                           host.bytes, limits.max_bytes_per_host(), limits.bytes(), limits.max_bytes()));
}

}  // namespace

// ---- the handshake

void ServerConnection::startup(const FrameHeader& header, BytesView body) {
  DCHECK(!started_ && !segmented_ && stage_ == ConnectionStage::kEstablished);
  started_ = true;
  version_ = header.version;
  client_.protocol_version = version_;
  core_->note_client(version_, client_.address.host);
  std::unique_ptr<Request> request = core_->pool.take();
  request->header = header;
  request->body.assign(body);
  if (!dispatch(std::move(request))) return close();
  segmented_ = version_ >= 5;
}

Status ServerConnection::apply_startup(const Request& request) {
  const auto& options = request.startup;
  auto version = options.find("CQL_VERSION");
  if (version == options.end()) {
    return Error(ErrorCode::kProtocolError, "Missing value CQL_VERSION in STARTUP message");
  }
  TRY(check_cql_version(version->second));
  auto compression = options.find("COMPRESSION");
  if (compression != options.end()) {
    std::string name = compression->second;
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    const std::optional<Compression> known = parse_compression(name);
    if (!known) return Error(ErrorCode::kProtocolError, "Unknown compression algorithm: " + name);
    if (*known == Compression::kSnappy && version_ >= 5) {
      return Error(ErrorCode::kProtocolError, "Snappy compression is not supported in protocol V5");
    }
    compression_ = *known;
  }
  auto get = [&](const char* name) {
    auto it = options.find(name);
    return it == options.end() ? std::string() : it->second;
  };
  if (options.contains("THROW_ON_OVERLOAD")) throw_on_overload_ = get("THROW_ON_OVERLOAD") == "1";
  client_.driver_name = get("DRIVER_NAME");
  client_.driver_version = get("DRIVER_VERSION");
  startup_options_ = options;
  return {};
}

void ServerConnection::respond_supported(int version, int16_t stream) {
  const TransportOptions& options = core_->options;
  std::vector<std::pair<std::string, std::vector<std::string>>> supported{
      {"PROTOCOL_VERSIONS", {version_name(3), version_name(4), version_name(5), version_name(6)}},
      {"COMPRESSION", {"snappy", "lz4"}},
      {"CQL_VERSION", {std::string(kCqlVersion)}}};
  if (options.shard_aware) {
    supported.push_back({"SCYLLA_SHARD", {std::to_string(core_->runtime.executor.shard())}});
    supported.push_back({"SCYLLA_NR_SHARDS", {std::to_string(options.shards)}});
    supported.push_back({"SCYLLA_PARTITIONER", {core_->processor.options().partitioner}});
    supported.push_back({"SCYLLA_SHARDING_ALGORITHM", {"biased-token-round-robin"}});
    supported.push_back({"SCYLLA_SHARDING_IGNORE_MSB", {std::to_string(kShardingIgnoreMsb)}});
    supported.push_back({"SCYLLA_SHARD_AWARE_PORT", {std::to_string(core_->shard_aware_port)}});
  }
  if (!started_) version_ = version;
  respond(Opcode::kSupported, stream, {}, [&](Bytes& out) { append_supported(out, supported); });
}

Status ServerConnection::check_stage(Opcode opcode) const {
  const char* name = opcode_name(opcode);
  if (stage_ == ConnectionStage::kEstablished && opcode != Opcode::kStartup && opcode != Opcode::kOptions) {
    return Error(ErrorCode::kProtocolError, fmt::format("Unexpected message {}, expecting STARTUP or OPTIONS", name));
  }
  if (stage_ == ConnectionStage::kAuthenticating && opcode != Opcode::kAuthResponse) {
    return Error(ErrorCode::kProtocolError, fmt::format("Unexpected message {}, expecting SASL_RESPONSE", name));
  }
  if (stage_ == ConnectionStage::kReady && opcode == Opcode::kStartup) {
    return Error(ErrorCode::kProtocolError, "Unexpected message STARTUP, the connection is already initialized");
  }
  return {};
}

void ServerConnection::authenticated(Request& request, Result<AuthOutcome> outcome) {
  DCHECK(stage_ != ConnectionStage::kEstablished);
  resume(kAuth);
  if (!outcome.ok()) {
    ++core_->metrics.auth_failures;
    if (auto more = core_->login_failures.take(core_->now())) {
      LOG_WARN("Login from {} refused: {}{}", client_.address.to_string(), outcome.error().message(), *more);
    }
    return respond_error(request.header.stream, outcome.error());
  }
  const BytesView token = outcome->token.empty() ? kNull : BytesView(outcome->token);
  if (!outcome->complete) {
    return respond(Opcode::kAuthChallenge, request.header.stream, {}, [&](Bytes& out) { append_value(out, token); });
  }
  ++core_->metrics.auth_successes;
  client_.user = outcome->user;
  client_.is_superuser = outcome->is_superuser;
  stage_ = ConnectionStage::kReady;
  respond(Opcode::kAuthSuccess, request.header.stream, {}, [&](Bytes& out) { append_value(out, token); });
}

Task<void> ServerConnection::wait_for_authentication(std::shared_ptr<ServerConnection> self,
                                                     std::unique_ptr<Request> request, Task<Result<AuthOutcome>> task) {
  Result<AuthOutcome> outcome = co_await task;
  self->authenticated(*request, std::move(outcome));
  self->finish(std::move(request));
}

// ---- limits

// False when the request was refused, and answered. Otherwise tells which limit it broke, so that reading stops.
bool ServerConnection::admit(Request& request, Overload* overload) {
  const size_t size = request.body.size();
  RequestLimits& limits = core_->request_limits;
  // A v5 connection has an allowance of its own.
  request.charged = size;
  if (version_ >= 5) {
    const size_t capacity = core_->options.receive_queue_capacity;
    request.charged = bytes_in_flight_ + size > capacity ? std::min(size, bytes_in_flight_ + size - capacity) : 0;
  }
  *overload = Overload::kNone;
  if (request.charged > 0 && !limits.fits(usage_, request.charged)) *overload = Overload::kBytes;
  if (in_flight_ >= core_->options.max_requests_per_connection) *overload = Overload::kConcurrency;
  if (!throw_on_overload_) return true;

  if (*overload == Overload::kNone && limits.rate_limited() && !limits.try_reserve(received_nanos_)) {
    *overload = Overload::kRate;
  }
  if (*overload == Overload::kNone) return true;
  ++core_->metrics.requests_discarded;
  static constexpr char kRefusal[] = "Server is currently in an overloaded state and cannot accept more requests.";
  switch (*overload) {
    case Overload::kBytes:
      respond_error(request.header.stream, bytes_overload(limits, usage_));
      break;
    case Overload::kRate:
      respond_error(request.header.stream,
                    Error(ErrorCode::kOverloaded, fmt::format("Request breached global limit of {} requests/second. {}",
                                                              core_->options.max_requests_per_second, kRefusal)));
      break;
    default:
      respond_error(request.header.stream,
                    Error(ErrorCode::kOverloaded, fmt::format("Request breached limit of {} requests at once. {}",
                                                              core_->options.max_requests_per_connection, kRefusal)));
  }
  return false;
}

// The request waits: it counts until finish().
void ServerConnection::hold(Request& request, Overload overload) {
  ++in_flight_;
  ++core_->metrics.requests_in_flight;
  bytes_in_flight_ += request.body.size();
  core_->request_limits.hold(usage_, request.charged);
  core_->metrics.request_bytes_in_flight += request.body.size();
  if (overload == Overload::kBytes) pause(kBytes);
  if (in_flight_ >= core_->options.max_requests_per_connection) pause(kConcurrency);
}

// Ends what hold() began.
void ServerConnection::finish(std::unique_ptr<Request> request) {
  DCHECK(in_flight_ > 0 && bytes_in_flight_ >= request->body.size());
  --in_flight_;
  --core_->metrics.requests_in_flight;
  bytes_in_flight_ -= request->body.size();
  core_->metrics.request_bytes_in_flight -= request->body.size();
  if (request->charged > 0) {
    core_->release_bytes(usage_, request->charged);
    if (connection_ == nullptr) core_->connection_limits.settle(client_.address.host);
  }
  core_->metrics.request_micros.record(static_cast<uint64_t>((core_->now() - request->received_nanos) / 1000));
  core_->pool.give_back(std::move(request));
  reconsider_bytes();
  if (in_flight_ < core_->options.max_requests_per_connection) resume(kConcurrency);
  answered_later();
  core_->progressed();
}

// ---- requests

// False when it could not be decoded.
bool ServerConnection::dispatch(std::unique_ptr<Request> request) {
  const int16_t stream = request->header.stream;
  request->received_nanos = received_nanos_;
  if (Status decoded = decode_request(*request); !decoded.ok()) {
    if (segmented_ && ++errors_in_a_row_ > 1) {
      fail(stream, decoded.error().message());
    } else {
      ++core_->metrics.protocol_errors;
      respond_error(stream, decoded.error());
    }
    core_->pool.give_back(std::move(request));
    return false;
  }
  errors_in_a_row_ = 0;
  Overload overload = Overload::kNone;
  Status expected = check_stage(request->opcode());
  if (!expected.ok()) {
    respond_error(stream, expected.error());
  } else if (admit(*request, &overload)) {
    ++requests_;
    ++core_->metrics.requests;
    run(std::move(request), overload);
    return true;
  }
  core_->pool.give_back(std::move(request));
  return true;
}

void ServerConnection::run(std::unique_ptr<Request> request, Overload overload) {
  RequestLimits& limits = core_->request_limits;
  if (overload == Overload::kBytes) {
    request->warnings.push_back(fmt::format(
        "Request breached limit(s) on bytes in flight (Endpoint: {}, Global: {}) and triggered backpressure.",
        limits.max_bytes_per_host(), limits.max_bytes()));
  }
  if (!throw_on_overload_ && limits.rate_limited()) {
    const int64_t delay = limits.reserve(received_nanos_);
    if (delay > 0) {
      request->warnings.push_back(
          fmt::format("Request breached global limit of {} requests/second and triggered backpressure.",
                      core_->options.max_requests_per_second));
      pause(kRate);
      core_->runtime.executor.schedule(Duration(delay), [self = shared_from_this()] { self->resume(kRate); });
    }
  }

  const int16_t stream = request->header.stream;
  switch (request->opcode()) {
    case Opcode::kStartup: {
      Status applied = apply_startup(*request);
      if (!applied.ok()) {
        respond_error(stream, applied.error());
      } else if (core_->authenticator->required()) {
        stage_ = ConnectionStage::kAuthenticating;
        respond(Opcode::kAuthenticate, stream, {},
                [&](Bytes& out) { append_string(out, core_->authenticator->class_name()); });
      } else {
        stage_ = ConnectionStage::kReady;
        respond(Opcode::kReady, stream, {}, [](Bytes&) {});
      }
      break;
    }
    case Opcode::kOptions:
      respond_supported(version_, stream);
      break;
    case Opcode::kRegister:
      events_ |= request->events;
      respond(Opcode::kReady, stream, {}, [](Bytes&) {});
      break;
    case Opcode::kAuthResponse: {
      // One at a time, so that a client cannot try many passwords at once.
      hold(*request, overload);
      pause(kAuth);
      Task<Result<AuthOutcome>> task = core_->authenticator->evaluate(Bytes(request->token));
      spawn(wait_for_authentication(shared_from_this(), std::move(request), std::move(task)));
      return;
    }
    default:
      return run_statement(std::move(request), overload);
  }
  ++answered_in_read_;
  core_->pool.give_back(std::move(request));
}

Task<Result<QueryResult>> ServerConnection::execute(Request& request, TraceSession* trace) {
  QueryProcessor& processor = core_->processor;
  const QueryState context{client_, trace};
  switch (request.opcode()) {
    case Opcode::kPrepare:
      return processor.prepare(request.text, request.keyspace, context);
    case Opcode::kBatch:
      return processor.batch(request.batch_type, request.entries, request.options, context);
    default:
      break;
  }
  if (request.options.page_size == 0) {
    return Result<QueryResult>(Error(ErrorCode::kProtocolError, "The page size cannot be 0"));
  }
  if (request.opcode() == Opcode::kExecute) return processor.execute(request.id, request.options, context);
  return processor.query(request.text, request.options, context);
}

// settraceprobability (StorageService.shouldTraceProbablistically).
bool ServerConnection::is_traced_by_chance() {
  if (core_->options.trace_settings == nullptr) return false;
  const double probability = core_->options.trace_settings->probability.load(std::memory_order_relaxed);
  if (probability == 0) return false;
  constexpr uint64_t kParts = uint64_t{1} << 53;
  return static_cast<double>(core_->runtime.random.below(kParts)) < probability * static_cast<double>(kParts);
}

void ServerConnection::run_statement(std::unique_ptr<Request> request, Overload overload) {
  if (request->tracing() || is_traced_by_chance()) {
    hold(*request, overload);
    spawn(run_traced(shared_from_this(), std::move(request)));
    return;
  }
  Task<Result<QueryResult>> task = execute(*request, nullptr);
  if (!task.ready()) {
    hold(*request, overload);
    spawn(wait_for_statement(shared_from_this(), std::move(request), std::move(task)));
    return;
  }
  answer(*request, task.value(), nullptr);
  ++answered_in_read_;
  core_->pool.give_back(std::move(request));
}

Task<void> ServerConnection::wait_for_statement(std::shared_ptr<ServerConnection> self,
                                                std::unique_ptr<Request> request, Task<Result<QueryResult>> task) {
  Result<QueryResult> result = co_await task;
  self->answer(*request, result, nullptr);
  self->finish(std::move(request));
}

// The session is written before the answer leaves, so a client that asks for it finds it.
Task<void> ServerConnection::run_traced(std::shared_ptr<ServerConnection> self, std::unique_ptr<Request> request) {
  const char* what = "Execute CQL3 query";
  if (request->opcode() == Opcode::kPrepare) what = "Preparing CQL3 query";
  if (request->opcode() == Opcode::kExecute) what = "Execute CQL3 prepared query";
  if (request->opcode() == Opcode::kBatch) what = "Execute batch of CQL3 queries";
  std::unique_ptr<TraceSession> trace =
      self->core_->begin_trace(self->core_->processor, self->client_, what, self->trace_parameters(*request));
  Task<Result<QueryResult>> task = self->execute(*request, trace.get());
  Result<QueryResult> result = co_await task;
  Task<Status> written = trace->finish();
  Status status = co_await written;
  if (!status.ok() && result.ok() && request->tracing())
    result->warnings.push_back("The trace could not be written: " + status.error().message());
  const Uuid id = trace->id();
  self->answer(*request, result, request->tracing() ? &id : nullptr);
  self->finish(std::move(request));
}

std::map<std::string, std::string> ServerConnection::trace_parameters(const Request& request) const {
  std::map<std::string, std::string> out;
  if (!request.text.empty()) out["query"] = request.text;
  if (request.opcode() == Opcode::kPrepare) return out;
  const QueryOptions& options = request.options;
  out["consistency_level"] = consistency_name(options.consistency);
  out["serial_consistency_level"] = consistency_name(options.serial_consistency);
  if (options.page_size > 0 && request.opcode() != Opcode::kBatch) out["page_size"] = std::to_string(options.page_size);
  if (request.opcode() != Opcode::kExecute) return out;
  StatementPtr statement = core_->processor.prepared(request.id);
  if (!statement) return out;
  out["query"] = core_->processor.prepared_text(request.id);
  const std::vector<ColumnSpec>& variables = statement->bind_variables();
  for (size_t i = 0; i < std::min(variables.size(), options.values.size()); ++i) {
    const BytesView value = options.values[i];
    std::string text = is_unset(value) ? "<unset>" : variables[i].type->to_cql_literal(value);
    if (text.size() > kMaxTracedValue) text = text.substr(0, kMaxTracedValue) + "...'";
    out[fmt::format("bound_var_{}_{}", i, variables[i].name)] = std::move(text);
  }
  return out;
}

// ---- answers

void ServerConnection::answer(const Request& request, Result<QueryResult>& result, const Uuid* tracing_id) {
  if (!result.ok()) {
    const ErrorInfo& error = result.error().info();
    respond(Opcode::kError, request.header.stream, {tracing_id, &request.warnings, &error.warnings},
            [&](Bytes& out) { append_error(out, version_, error); });
    return;
  }
  if (const auto* set = std::get_if<SetKeyspaceResult>(&result->value)) client_.keyspace = set->keyspace;
  const RowsMetadata metadata = rows_metadata(request, *result);
  respond(Opcode::kResult, request.header.stream, {tracing_id, &request.warnings, &result->warnings},
          [&](Bytes& out) { append_result(out, version_, *result, metadata); });
}

// Whether the client already has the columns. A prepared statement's are those that PREPARE told it, unless they
// are known only when the statement runs; v5 clients say which ones they have.
RowsMetadata ServerConnection::rows_metadata(const Request& request, const QueryResult& result) const {
  const auto* rows = std::get_if<RowsResult>(&result.value);
  if (rows == nullptr) return RowsMetadata::kFull;
  const bool skip = request.options.skip_metadata;
  if (request.opcode() != Opcode::kExecute) return skip ? RowsMetadata::kSkip : RowsMetadata::kFull;
  if (version_ >= 5 && BytesView(rows->metadata->id) == request.result_metadata_id) {
    return skip ? RowsMetadata::kSkip : RowsMetadata::kFull;
  }
  if (version_ >= 5) return RowsMetadata::kChanged;
  if (!skip) return RowsMetadata::kFull;
  if (rows->is_as_prepared) return RowsMetadata::kSkip;
  const StatementPtr statement = core_->processor.prepared(request.id);
  const ResultMetadataPtr prepared = statement ? statement->result_metadata() : nullptr;
  return prepared && prepared->id == rows->metadata->id ? RowsMetadata::kSkip : RowsMetadata::kFull;
}

}  // namespace cassandra_like
