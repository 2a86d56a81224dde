// sstable_tool: what our reader sees and our writer writes, for comparison with Cassandra's tools.
//
//   sstable_tool dump SCHEMA DIR           all SSTables of a directory as JSON (see json_dump.h)
//   sstable_tool verify SCHEMA DIR         reads everything and checks every checksum and order
//   sstable_tool rewrite SCHEMA FROM TO    copies each SSTable with our writer, under the same name
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/sstable/fixture/json_dump.h"
#include "tests/sstable/fixture/linux_disk.h"
#include "tests/sstable/fixture/rewrite.h"
#include "tests/sstable/fixture/schema_file.h"

namespace cassandra_like::test {
namespace {

Status run(LinuxDisk& world, const std::string& command, const TablePtr& table, const std::string& directory,
           const std::string& to) {
  ASSIGN_OR_RETURN(auto descriptors, list_sstables(world.disk(), directory));
  nlohmann::json dump = nlohmann::json::array();
  for (const SSTableDescriptor& descriptor : descriptors) {
    ASSIGN_OR_RETURN(SSTablePtr sstable, SSTable::open(world.disk(), descriptor, table));
    if (command == "verify") {
      TRY(sstable->verify());
    } else if (command == "dump") {
      ASSIGN_OR_RETURN(auto partitions, dump_json(*sstable, table));
      for (auto& partition : partitions) dump.push_back(std::move(partition));
    } else if (command == "rewrite") {
      SSTableDescriptor copy = descriptor;
      copy.directory = to;
      TRY(world.run(rewrite(&world.disk(), sstable, copy, table)));
    } else {
      return invalid("unknown command " + command);
    }
  }
  if (command == "dump") std::cout << dump.dump() << "\n";
  return {};
}

}  // namespace
}  // namespace cassandra_like::test

int main(int argc, char** argv) {
  using namespace cassandra_like::test;
  if (argc < 4) {
    std::fprintf(stderr, "usage: sstable_tool dump|verify|rewrite SCHEMA DIR [TO]\n");
    return 2;
  }
  std::ifstream file(argv[2]);
  std::stringstream schema;
  schema << file.rdbuf();
  LinuxDisk world;
  auto status = run(world, argv[1], parse_schema(schema.str()), argv[3], argc > 4 ? argv[4] : "");
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().message().c_str());
  return 1;
}
