// The one place where an answer becomes a frame; for connection.cc and connection_requests.cc.
#pragma once

#include "transport/connection.h"

namespace cassandra_like {

template <class AppendBody>
void ServerConnection::respond(Opcode opcode, int16_t stream, const Extras& extras, AppendBody&& append_body) {
  if (connection_ == nullptr || closing_) return;
  Bytes& out = segmented_ ? pending_ : connection_->output();
  const bool compress = version_ < 5 && compression_ != Compression::kNone;
  uint8_t flags = compress ? kFlagCompressed : 0;
  if (version_ == kBetaProtocolVersion) flags |= kFlagUseBeta;
  if (extras.tracing_id != nullptr) flags |= kFlagTracing;
  const size_t warnings = (extras.warnings != nullptr ? extras.warnings->size() : 0) +
                          (extras.more_warnings != nullptr ? extras.more_warnings->size() : 0);
  if (warnings > 0 && version_ >= 4) flags |= kFlagWarning;

  const size_t begin = begin_frame(out, 0x80 | version_, opcode, stream, flags);
  if (compress) core_->body.clear();
  Bytes& body = compress ? core_->body : out;
  if (extras.tracing_id != nullptr) body.append(extras.tracing_id->view());
  if ((flags & kFlagWarning) != 0) {
    append_be(body, static_cast<uint16_t>(warnings));
    for (const auto* list : {extras.warnings, extras.more_warnings}) {
      if (list == nullptr) continue;
      for (const std::string& warning : *list) append_string(body, warning);
    }
  }
  append_body(body);
  if (compress) compress_body(compression_, body, out);
  end_frame(out, begin);
  core_->metrics.bytes_sent += out.size() - begin;
  if (out.size() > RequestShare::kSmall) count_unread();
}

}  // namespace cassandra_like
