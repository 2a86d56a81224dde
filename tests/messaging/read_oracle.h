// Cassandra's answers to generated reads (tests/read/data/reads.bin, written by tests/read/oracle/ReadOracle.java).
#pragma once

#include <string>
#include <vector>

#include "model/schema.h"

namespace cassandra_like::messaging_test {

struct OracleRead {
  Bytes command;     // messaging version 13
  Bytes digest;      // MD5
  Bytes partitions;  // as a DATA_RESPONSE has them
};

struct OracleData {
  std::vector<TablePtr> tables;  // of keyspace "ks"
  std::vector<Bytes> mutations;  // in the order in which they were applied
  std::vector<OracleRead> reads;

  TablePtr table(const Uuid& id) const;
};

// The file, read once.
const OracleData& oracle_data();

}  // namespace cassandra_like::messaging_test
