// A fuzz target is a function of any bytes: it must neither crash nor hang nor leak, and what it CHECKs must hold.
//
//   FUZZ_TARGET(cql) { parse(input); }
//
// defines one. The program <name>_fuzzer (clang) feeds it from libFuzzer; fuzz_test feeds all of them, with any compiler,
// from the files of corpus/<name>/.
#pragma once

#include <vector>

#include "base/bytes.h"

namespace cassandra_like {

struct FuzzTarget {
  const char* name;
  void (*run)(BytesView input);
};

std::vector<FuzzTarget>& fuzz_targets();

struct FuzzRegistration {
  FuzzRegistration(const char* name, void (*run)(BytesView)) { fuzz_targets().push_back({name, run}); }
};

}  // namespace cassandra_like

#define FUZZ_TARGET(name)                                                                         \
  static void fuzz_##name(::cassandra_like::BytesView input);                                     \
  static const ::cassandra_like::FuzzRegistration fuzz_##name##_registration(#name, fuzz_##name); \
  static void fuzz_##name(::cassandra_like::BytesView input)
