// The parameters of a file of hints: a JSON object of which two members matter here,
//   {"compression": {"class_name": "LZ4Compressor", "parameters": {"name": "value"}}, "encryption": {…}}
#pragma once

#include "model/schema.h"

namespace cassandra_like {

struct HintsParameters {
  std::string compressor;  // the class's name; empty: none
  StringPairs compressor_options;
  bool is_encrypted = false;
};
// nullopt: this is not a JSON object.
std::optional<HintsParameters> parse_hints_parameters(BytesView json);

}  // namespace cassandra_like
