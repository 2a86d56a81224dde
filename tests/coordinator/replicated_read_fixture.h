// A cluster whose nodes answer reads, and reads of it as text.
//
//   ReadCluster cluster(3);
//   cluster.put({1, 2}, cluster.update("a").row(1).cell("v", "x").at(10));   // node 0 lacks it
//   cluster.read(0, "a", Consistency::kQuorum) == {"a", "  1: v=x@10"}
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "cluster_fixture.h"

namespace cassandra_like::test {

class ReadCluster : public CoordinatorCluster {
 public:
  explicit ReadCluster(size_t nodes, int factor = 3, unsigned shards = 1);
  ReadCluster(std::vector<NodePlace> places, StringPairs replication, unsigned shards = 1);

  Update update(const std::string& key, const std::string& name = "t") { return Update(table(name), key); }
  // Writes to the named nodes alone.
  void put(const std::vector<size_t>& nodes, Update update);

  ReadCommand command(const std::vector<std::string>& keys, const std::string& name = "t");
  // The rows, or the error.
  Lines read(size_t node, ReadCommand command, Consistency consistency);
  Lines read(size_t node, const std::string& key, Consistency consistency) {
    return read(node, command({key}), consistency);
  }
  // Requests of reads that nodes got, of all nodes: data and digests.
  int asked() const;

  // A handler that answers as a replica does, after so long.
  VerbHandler slow(size_t node, Duration delay);
  VerbHandler answering(size_t node, unsigned shard = 0);

 private:
  void handle_reads();

  std::deque<std::string> keys_;
};

}  // namespace cassandra_like::test
