// Numbers and tables as Cassandra's Java prints them.
#pragma once

#include <string>
#include <vector>

#include "nodetool.h"

namespace cassandra_like::nodetool {

// "116.32 KiB", "0 bytes": at most two decimals, none when they are zero.
std::string file_size(double bytes);
// "15.051KiB", "0B": three decimals above a kibibyte.
std::string pretty_memory(int64_t bytes);
// Double.toString: "64.0", "1.0E-4".
std::string java_double(double value);
// String.format("%.Nf"), with "NaN" for null.
std::string fixed(const Json& value, int decimals);
std::string percent(double ratio, int decimals);
// "/127.0.0.1:9042", "127.0.0.1": an address with its port when asked.
std::string address_of(const Json& node, bool with_port);
// "2026-11-21T01:18:58.722Z" from Unix milliseconds.
std::string iso_instant(int64_t millis);
// A number, or `otherwise` where the node sent null or nothing.
double number_or(const Json& object, const char* key, double otherwise);
std::string text_or(const Json& object, const char* key, const std::string& otherwise);

// Columns as wide as their widest cell. Tables that share widths are printed with the widths of both.
class Table {
 public:
  explicit Table(std::string delimiter = " ") : delimiter_(std::move(delimiter)) {}
  void add(std::vector<std::string> row);
  void share_widths(const Table& other);
  std::string text() const;

 private:
  std::string delimiter_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

// Jackson's and SnakeYAML's layouts of the same tree.
std::string pretty_json(const Json& value);
std::string block_yaml(const Json& value);

}  // namespace cassandra_like::nodetool
