// Files of hints, and the hints in them as a receiver reads them.
//
//   input := 0 file                  any bytes
//   input := 1 bytes                 behind an intact descriptor
//   input := 2 bytes                 as chunks behind the descriptor of an LZ4 file
//   input := 3 (length:u16 hint)*    as entries with right checksums; a hint is also read as the body of a HINT_REQ
#include "base/checksum.h"
#include "base/vint.h"
#include "hints/hints_file.h"
#include "messaging/wire/mutation_codec.h"
#include "tests/fuzz/fuzz_target.h"

namespace cassandra_like {
namespace {

class FuzzedHints final : public ReadFile {
 public:
  explicit FuzzedHints(Bytes content) : content_(std::move(content)) {}
  const std::string& path() const override { return path_; }
  uint64_t size() const override { return content_.size(); }
  Status read(uint64_t offset, std::span<char> out) const override {
    CHECK(offset <= content_.size() && out.size() <= content_.size() - offset);
    std::copy_n(content_.data() + offset, out.size(), out.data());
    return {};
  }
  Result<BytesView> map() const override { return BytesView(content_); }

 private:
  std::string path_ = "fuzzed.hints";
  Bytes content_;
};

void receive(BytesView encoded) {
  Bytes body(16, 'h');
  append_unsigned_vint(body, encoded.size());
  body += encoded;
  const auto hint = decode_hint_message(body);
  if (!hint.ok()) return CHECK(!hint.error().message().empty());
  Bytes again;
  append_hint_message(again, *hint);
  CHECK(again.size() <= body.size());
}

// The hints from here on.
size_t read_rest(HintsFileReader& reader, std::vector<uint64_t>* positions) {
  HintsFileReader::Hint hint;
  for (size_t count = 0;; ++count) {
    auto more = reader.next(hint);
    if (!more.ok()) CHECK(more.error().code() == ErrorCode::kCorruption && !more.error().message().empty());
    if (!more.ok() || !*more) return count;
    CHECK(hint.encoded.size() >= 9 && hint.position < reader.position() && hint.gc_grace_seconds >= 0);
    if (positions != nullptr) positions->push_back(hint.position);
    receive(hint.encoded);
  }
}

void read_file(Bytes content) {
  auto reader = HintsFileReader::open(std::make_unique<FuzzedHints>(std::move(content)));
  if (!reader.ok()) return CHECK(!reader.error().message().empty());
  std::vector<uint64_t> positions;
  const size_t count = read_rest(**reader, &positions);
  for (size_t i = 0; i < std::min<size_t>(count, 8); ++i) {
    CHECK((*reader)->seek(positions[i]).ok());
    CHECK(read_rest(**reader, nullptr) == count - i);
  }
}

Bytes descriptor(const char* parameters) {
  return HintsDescriptor{.timestamp = 1, .parameters = parameters}.serialize();
}

}  // namespace

FUZZ_TARGET(hints) {
  if (input.empty()) return;
  const BytesView rest = input.substr(1);
  if (input[0] == 0) read_file(Bytes(rest));
  if (input[0] == 1) read_file(descriptor("{}") + Bytes(rest));
  if (input[0] == 2) read_file(descriptor(R"({"compression":{"class_name":"LZ4Compressor"}})") + Bytes(rest));
  if (input[0] != 3) return;
  Bytes file = descriptor("{}");
  for (Reader in(rest); !in.at_end();) {
    const BytesView hint = in.take(std::min<size_t>(in.u16(), in.remaining()));
    receive(hint);
    Bytes size;
    append_be(size, static_cast<uint32_t>(hint.size()));
    const uint32_t crc = crc32(size);
    file += size;
    append_be(file, crc);
    file += hint;
    append_be(file, crc32(hint, crc));
  }
  read_file(std::move(file));
}

}  // namespace cassandra_like
