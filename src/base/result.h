// Errors as values. Every operation that can fail in a way a user can meet returns Status or Result<T>;
// broken invariants abort through CHECK.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"

namespace cassandra_like {

// The native protocol's error codes (native_protocol_v5.spec, section 9), so that what reaches a client needs
// no translation. Inside the node, kIo and kCorruption are codes of our own; both reach a client as
// kServerError.
enum class ErrorCode : uint32_t {
  kServerError = 0x0000,
  kProtocolError = 0x000A,
  kBadCredentials = 0x0100,
  kUnavailable = 0x1000,
  kOverloaded = 0x1001,
  kIsBootstrapping = 0x1002,
  kTruncateError = 0x1003,
  kWriteTimeout = 0x1100,
  kReadTimeout = 0x1200,
  kReadFailure = 0x1300,
  kFunctionFailure = 0x1400,
  kWriteFailure = 0x1500,
  kCdcWriteFailure = 0x1600,
  kCasWriteUnknown = 0x1700,
  kSyntaxError = 0x2000,
  kUnauthorized = 0x2100,
  kInvalid = 0x2200,
  kConfigError = 0x2300,
  kAlreadyExists = 0x2400,
  kUnprepared = 0x2500,
  kIo = 0x80000001,
  kDiskFull = 0x80000002,
  kCorruption = 0x80000003,
  kClosed = 0x80000004,
  kDiskWait = 0x80000005,  // never leaves storage: storage/sstable/cold_reads.h
};

struct ErrorInfo {
  ErrorCode code = ErrorCode::kServerError;
  std::string message;
  // Fields of some codes, as the protocol names them.
  uint16_t consistency = 0;
  int32_t required = 0;  // <required> or <blockfor>
  int32_t received = 0;  // <alive> or <received>
  int32_t failures = 0;
  bool data_present = false;
  std::string write_type;              // SIMPLE BATCH UNLOGGED_BATCH COUNTER BATCH_LOG CAS VIEW CDC
  std::string keyspace;                // AlreadyExists, function failure
  std::string table;                   // AlreadyExists; the function's name in a function failure
  std::vector<std::string> arg_types;  // function failure
  std::vector<std::pair<Bytes, uint16_t>> failure_reasons;  // failures: a replica's 4 or 16 address bytes, and why
  uint16_t contentions = 0;                                 // a write timeout of type CAS
  Bytes unprepared_id;
  std::vector<std::string> warnings;  // what the statement warned of before it failed
};

// Never empty except when moved from.
class Error {
 public:
  Error(ErrorCode code, std::string message) : info_(std::make_unique<ErrorInfo>()) {
    info_->code = code;
    info_->message = std::move(message);
  }
  explicit Error(ErrorInfo info) : info_(std::make_unique<ErrorInfo>(std::move(info))) {}
  Error(const Error& o) : info_(std::make_unique<ErrorInfo>(*o.info_)) {}
  Error(Error&&) noexcept = default;
  Error& operator=(Error&&) noexcept = default;
  Error& operator=(const Error& o) {
    info_ = std::make_unique<ErrorInfo>(*o.info_);
    return *this;
  }

  ErrorCode code() const { return info_->code; }
  const std::string& message() const { return info_->message; }
  const ErrorInfo& info() const { return *info_; }
  ErrorInfo& info() { return *info_; }

 private:
  std::unique_ptr<ErrorInfo> info_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Error error) : v_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return v_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return *std::get_if<0>(&v_); }
  const T& value() const& { return *std::get_if<0>(&v_); }
  T&& value() && { return std::move(*std::get_if<0>(&v_)); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() { return *std::get_if<1>(&v_); }
  const Error& error() const { return *std::get_if<1>(&v_); }

 private:
  std::variant<T, Error> v_;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : info_(std::make_unique<Error>(std::move(error))) {}  // NOLINT: implicit on purpose
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  Status(const Status& o) : info_(o.info_ ? std::make_unique<Error>(*o.info_) : nullptr) {}
  Status& operator=(const Status& o) {
    info_ = o.info_ ? std::make_unique<Error>(*o.info_) : nullptr;
    return *this;
  }

  bool ok() const { return !info_; }
  explicit operator bool() const { return ok(); }
  Error& error() { return *info_; }
  const Error& error() const { return *info_; }

 private:
  std::unique_ptr<Error> info_;
};

inline Error invalid(std::string message) { return Error(ErrorCode::kInvalid, std::move(message)); }

[[noreturn]] void fail_check(const char* condition, const char* file, int line);

}  // namespace cassandra_like

// Checks an invariant of this program; bad input is an error instead.
#define CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::cassandra_like::fail_check(#condition, __FILE__, __LINE__))

// Returns the error of a Status or Result expression to the caller; works in coroutines as CO_TRY.
#define TRY(expression)                                     \
  do {                                                      \
    if (auto try_result = (expression); !try_result.ok()) { \
      return std::move(try_result.error());                 \
    }                                                       \
  } while (false)
#define CO_TRY(expression)                                  \
  do {                                                      \
    if (auto try_result = (expression); !try_result.ok()) { \
      co_return std::move(try_result.error());              \
    }                                                       \
  } while (false)

#define CASSANDRA_LIKE_CONCAT2(a, b) a##b
#define CASSANDRA_LIKE_CONCAT(a, b) CASSANDRA_LIKE_CONCAT2(a, b)
// ASSIGN_OR_RETURN(auto x, f()): x is the value, or the function returns f's error.
#define ASSIGN_OR_RETURN(declaration, expression) \
  ASSIGN_OR_RETURN_IMPL(CASSANDRA_LIKE_CONCAT(result_, __LINE__), declaration, expression, return )
#define CO_ASSIGN_OR_RETURN(declaration, expression) \
  ASSIGN_OR_RETURN_IMPL(CASSANDRA_LIKE_CONCAT(result_, __LINE__), declaration, expression, co_return )
#define ASSIGN_OR_RETURN_IMPL(name, declaration, expression, ret) \
  auto name = (expression);                                       \
  if (!name.ok()) ret std::move(name.error());                    \
  declaration = std::move(name).value()
