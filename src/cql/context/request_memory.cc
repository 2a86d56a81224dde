#include "cql/context/request_memory.h"

#include <algorithm>

#include <fmt/format.h>

namespace cassandra_like {

uint64_t RequestShare::bounded(uint64_t least, uint64_t wanted) const {
  if (memory_ == nullptr || memory_->max_answer_ == 0) return wanted;
  return std::max(least, std::min(wanted, memory_->max_answer_));
}

Status RequestShare::reserve(uint64_t bytes) {
  if (memory_ == nullptr || bytes <= kSmall || bytes <= held_) return {};
  if (memory_->max_answer_ != 0 && bytes > memory_->max_answer_) {
    return invalid(
        fmt::format("The answer is larger than {} bytes (native_transport_max_frame_size): ask for it in pages",
                    memory_->max_answer_));
  }
  hold(bytes);
  if (!memory_->is_full()) return {};
  return Error(ErrorCode::kOverloaded,
               fmt::format("Answers that are being written or wait to be read take more than {} bytes "
                           "(native_transport_max_request_data_in_flight): ask for this one in pages, or later",
                           memory_->max_total_));
}

Status RequestShare::add_values(uint64_t count) {
  if (memory_ == nullptr || count == 0) return {};
  values_ += count;
  if (values_ > memory_->max_values()) {
    return invalid(
        fmt::format("The statement has more than {} values and combinations of them "
                    "(native_transport_max_request_data_in_flight allows {} bytes, {} for each): "
                    "send fewer at once",
                    memory_->max_values(), memory_->max_total_, RequestMemory::kBytesOfValue));
  }
  hold(values_ * RequestMemory::kBytesOfValue);
  if (held_ == 0 || !memory_->is_full()) return {};
  return Error(
      ErrorCode::kOverloaded,
      fmt::format("Statements that run and answers that wait to be read take more than {} bytes "
                  "(native_transport_max_request_data_in_flight): send fewer values at once, or send them later",
                  memory_->max_total_));
}

void RequestShare::hold(uint64_t bytes) {
  if (memory_ == nullptr || bytes <= kSmall || bytes <= held_) return;
  memory_->used_.fetch_add(bytes - held_, std::memory_order_relaxed);
  held_ = bytes;
}

}  // namespace cassandra_like
