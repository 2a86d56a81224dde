#include "base/md5.h"

#include <openssl/evp.h>

#include "base/result.h"

namespace cassandra_like {

struct Md5::Context {
  Context() : state(EVP_MD_CTX_new()) {}
  ~Context() { EVP_MD_CTX_free(state); }
  EVP_MD_CTX* state;
};

Md5::Md5() : context_(std::make_unique<Context>()) {
  CHECK(context_->state != nullptr && EVP_DigestInit_ex(context_->state, EVP_md5(), nullptr) == 1);
}

Md5::~Md5() = default;

void Md5::update(BytesView data) { CHECK(EVP_DigestUpdate(context_->state, data.data(), data.size()) == 1); }

std::array<uint8_t, 16> Md5::finish() {
  std::array<uint8_t, 16> out{};
  CHECK(EVP_DigestFinal_ex(context_->state, out.data(), nullptr) == 1);
  return out;
}

}  // namespace cassandra_like
