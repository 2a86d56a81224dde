// Cassandra's own answers: data/*.txt, written by oracle/StrategyOracle.java.
#pragma once

#include <string>
#include <vector>

#include "storage/compaction/strategy/strategy.h"

namespace cassandra_like::strategy_test {

using Fields = std::vector<std::string>;

Fields split(const std::string& text, char separator);
// The lines of a file of data/, each split at tabs.
std::vector<Fields> recorded_lines(const std::string& file);
// class=…;option=value;… in the form that the schema keeps.
StringPairs recorded_map(const std::string& text);
// left:right,left:right
OwnedRanges recorded_ranges(const std::string& text);

}  // namespace cassandra_like::strategy_test
