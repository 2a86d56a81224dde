// Commit log segments: damaged ones, and well-formed ones of damaged mutations. Readable mutations are applied to
// memtables, and the memtables are read out.
//
//   input := 0 file                    any bytes
//   input := 1 bytes                   behind an intact header
//   input := 2 (length:u16 mutation)*  as records with right checksums, in a marked section; a mutation that is
//                                      read comes out the same when it is written and read again
#include "base/checksum.h"
#include "model/mutation.h"
#include "storage/commitlog/segment_reader.h"
#include "storage/memtable/memtable.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/sstable/fixture/schema_file.h"

namespace cassandra_like {
namespace {

constexpr int64_t kId = 1'700'000'000'000;

// Ids are 16 times the same digit, so that a fuzzer finds them.
const std::vector<TablePtr>& tables() {
  static const std::vector<TablePtr> tables{
      test::parse_schema("table\tks\tt\t31313131-3131-3131-3131-313131313131\n"
                         "column\tpartition_key\t0\tnone\tk\ttext\ncolumn\tclustering\t0\tasc\ta\tint\n"
                         "column\tclustering\t1\tdesc\tb\ttext\ncolumn\tstatic\t-1\tnone\ts\ttext\n"
                         "column\tstatic\t-1\tnone\tz\tmap<text, int>\ncolumn\tregular\t-1\tnone\tv\ttext\n"
                         "column\tregular\t-1\tnone\ti\tint\ncolumn\tregular\t-1\tnone\tm\tmap<text, int>\n"
                         "column\tregular\t-1\tnone\tl\tlist<text>\n"
                         "dropped\tregular\t1795229086780000\tx\ttext\n"),
      test::parse_schema("table\tks\tn\t32323232-3232-3232-3232-323232323232\n"
                         "column\tpartition_key\t0\tnone\tk\tint\ncolumn\tregular\t-1\tnone\tn\tcounter\n")};
  return tables;
}

const TableMetadata* find_table(const Uuid& id) {
  for (const TablePtr& table : tables()) {
    if (table->id == id) return table.get();
  }
  return nullptr;
}

void read_out(const Memtable& memtable) {
  for (bool reversed : {false, true}) {
    auto scanner = memtable.scan(KeyRange(), {{}, reversed, true});
    for (;;) {
      auto partition = scanner->next();
      if (!partition.ok() || *partition == nullptr) break;
      for (;;) {
        auto unfiltered = (*partition)->next();
        if (!unfiltered.ok() || *unfiltered == nullptr) break;
      }
    }
  }
}

Bytes written(const Mutation& mutation) {
  Bytes out;
  serialize(mutation, out);
  return out;
}

class Replay {
 public:
  Replay() {
    for (const TablePtr& table : tables()) memtables_.push_back(std::make_unique<Memtable>(table, CommitLogPosition()));
  }

  void mutation(BytesView bytes) {
    Arena arena;
    auto mutation = deserialize_mutation(bytes, find_table, arena);
    if (!mutation.ok()) return CHECK(!mutation.error().message().empty());
    Bytes again = written(*mutation);
    auto reread = deserialize_mutation(again, find_table, arena);
    CHECK(reread.ok());
    CHECK(written(*reread) == again);
    for (const PartitionUpdate& update : mutation->updates) {
      memtables_[update.table == tables()[0].get() ? 0 : 1]->apply(update);
    }
  }

  void segment(BytesView file) {
    auto descriptor = read_segment_header(file, "segment");
    if (!descriptor.ok()) return;
    for (bool tolerate : {false, true}) {
      auto on_damage = [](const Error&) { return Status(); };
      auto on_record = [this](BytesView bytes, uint32_t) {
        mutation(bytes);
        return Status();
      };
      static_cast<void>(read_segment(file, "segment", *descriptor, {on_damage, tolerate}, on_record));
    }
  }

  ~Replay() {
    for (auto& memtable : memtables_) read_out(*memtable);
  }

 private:
  std::vector<std::unique_ptr<Memtable>> memtables_;
};

Bytes segment_of_records(BytesView list) {
  Bytes out = segment_header(kId, {0, 1});
  const auto marker = static_cast<uint32_t>(out.size());
  out.append(kMarkerSize, '\0');
  for (Reader in(list); !in.at_end();) {
    BytesView mutation = in.take(std::min<size_t>(in.u16(), in.remaining()));
    const auto size = static_cast<uint32_t>(mutation.size());
    append_be(out, size);
    append_be(out, size_crc(size));
    out += mutation;
    append_be(out, crc32(mutation, size_crc(size)));
  }
  const auto end = static_cast<uint32_t>(out.size());
  out.append(kMarkerSize, '\0');
  store_marker(out.data(), kId, marker, end);
  return out;
}

}  // namespace

FUZZ_TARGET(commitlog) {
  if (input.empty()) return;
  BytesView rest = input.substr(1);
  Replay replay;
  if (input[0] == 0) replay.segment(rest);
  if (input[0] == 1) replay.segment(segment_header(kId, {0, 1}) + Bytes(rest));
  if (input[0] == 2) replay.segment(segment_of_records(rest));
}

}  // namespace cassandra_like
