// Cassandra's own sstabledump on what our writer wrote. Needs Java and the jars that tests/cluster/support/cassandra_jars
// fetches; the directory of others in CASSANDRA_JARS.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/sstable/fixture/fixture.h"
#include "tests/sstable/fixture/json_dump.h"

namespace cassandra_like::test {
namespace {

std::string jars() {
  const char* directory = std::getenv("CASSANDRA_JARS");
  return directory != nullptr ? directory : SOURCE_DIR "/build/cassandra-5.0.9";
}

std::string output_of(const std::string& command) {
  std::string out;
  std::array<char, 4096> buffer;
  FILE* pipe = ::popen(command.c_str(), "r");
  while (size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) out.append(buffer.data(), n);
  ::pclose(pipe);
  return out;
}

nlohmann::json sstabledump(const std::string& data_file, const std::string& home) {
  std::ofstream(home + "/cassandra.yaml") << R"(
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
seed_provider: [{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: 127.0.0.1}]}]
listen_address: 127.0.0.1
endpoint_snitch: SimpleSnitch
commitlog_sync: periodic
commitlog_sync_period: 10s
storage_compatibility_mode: NONE
sstable: {selected_format: bti}
)";
  std::string command = "java -Xmx512m";
  for (const char* package : {"java.io", "java.nio", "sun.nio.ch", "jdk.internal.ref", "jdk.internal.misc"}) {
    command.append(" --add-opens java.base/").append(package).append("=ALL-UNNAMED");
  }
  command.append(" -Dcassandra.config=file://")
      .append(home)
      .append("/cassandra.yaml -Dcassandra.storagedir=")
      .append(home);
  command.append(" -cp '").append(jars()).append("/*' org.apache.cassandra.tools.SSTableExport ");
  std::string out = output_of(command + data_file + " -t 2>/dev/null");
  // Its log goes to the same place.
  size_t start = out.rfind("\n[\n");
  auto dump = nlohmann::json::parse(start == std::string::npos ? out : out.substr(start), nullptr, false);
  EXPECT_FALSE(dump.is_discarded()) << out.substr(0, 2000);
  for (auto& partition : dump) {
    partition.erase("table kind");
    partition["partition"].erase("position");
    for (auto& row : partition["rows"]) {
      row.erase("position");
      if (row.contains("liveness_info")) row["liveness_info"].erase("expired");
      for (auto& cell : row.contains("cells") ? row["cells"] : nlohmann::json::array()) cell.erase("expired");
    }
  }
  return dump;
}

TEST(CassandrasTools, SeeWhatOurWriterWrote) {
  if (!std::filesystem::exists(jars()) || output_of("java -version 2>&1").find("version") == std::string::npos) {
    GTEST_SKIP() << "no Java, or no jars of Cassandra in " << jars();
  }
  LinuxDisk world;
  Fixture fixture = load_fixture(world, "wide");
  for (const SSTableVersion* version : {&SSTableVersion::da(), &SSTableVersion::nb(), &SSTableVersion::oa()}) {
    TemporaryDirectory directory;
    // Blocks and chunks of other sizes than Cassandra's.
    const StringPairs compression{{"class", "ZstdCompressor"}, {"chunk_length_in_kb", "8"}};
    SSTablePtr ours = rewritten(world, fixture, directory.path(), {700, compression, version});
    EXPECT_EQ(sstabledump(ours->info().descriptor.file("Data.db"), directory.path()),
              nlohmann::json::parse(fixture.dump))
        << version->letters;
  }
}

}  // namespace
}  // namespace cassandra_like::test
