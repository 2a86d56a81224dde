// Replicas tell what they warn of and why they give a read up in params of their answers (service.reads.thresholds.WarningContext,
// WarningsSnapshot, CoordinatorWarnings): tombstones, bytes that were read, bytes of row indexes, indexes of SSTables.
//
// Replicas do so when the request asks for it (TRACK_WARNINGS), that is, with read_thresholds_enabled.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "messaging/wire/failure_codec.h"
#include "messaging/wire/message.h"
#include "read/read_command.h"

namespace cassandra_like {

class ReadWarnings {
 public:
  // Notes an answer. A reason: the answer is none, the replica has given up.
  std::optional<RequestFailureReason> add(const MessageParams& params, const InetAddressAndPort& from);
  void add(ParamType type, uint64_t value, const InetAddressAndPort& from);
  void merge(const ReadWarnings& other);
  void clear();
  bool empty() const;

  // Why the read was aborted, in Cassandra's words; empty when no replica has given up.
  std::string abort_text(const ReadCommand& command) const;
  // For the client and the log: aborts and warnings of each kind.
  std::vector<std::string> texts(const ReadCommand& command) const;

 private:
  // The replicas, each once, and the largest of their numbers.
  struct Counter {
    absl::InlinedVector<InetAddressAndPort, 3> nodes;
    uint64_t most = 0;
    void add(const InetAddressAndPort& from, uint64_t value);
  };
  struct Kind {
    Counter warnings, aborts;
  };
  static constexpr size_t kKinds = 4;

  std::array<Kind, kKinds> kinds_;
};

// ReadCommand.loggableTokens: "token=-123", "token range: (1, 2]".
std::string loggable_tokens(const ReadCommand& command);

}  // namespace cassandra_like
