// MD5 of bytes that come in pieces; of those that lie together see checksum.h.
#pragma once

#include <array>
#include <memory>

#include "base/bytes.h"

namespace cassandra_like {

class Md5 {
 public:
  Md5();
  ~Md5();
  void update(BytesView data);
  std::array<uint8_t, 16> finish();  // once

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace cassandra_like
