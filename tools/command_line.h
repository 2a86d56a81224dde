// Command lines as Commons CLI 1.5 reads them for Cassandra's offline tools, with its messages. There are two ways:
//
//   parse      PosixParser: -dt is -d -t, -kx is -k x, and a unique beginning of a name stands for it
//   parse_gnu  GnuParser: -dt is -d with a value, and names are written out
//
// In both, -name is --name, options may follow other words, name=value is name and value, and -- ends the options.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

namespace cassandra_like::sstable_tools {

constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

struct OptionOfTool {
  char letter;               // below ' ': it has only its name
  std::string name;          // "gc_grace_seconds"; empty: it has none
  size_t max_arguments = 0;  // 0: it takes none
  bool may_lack_arguments = false;
};

struct CommandLine {
  std::map<char, std::vector<std::string>> options;  // by letter, with their arguments
  std::vector<std::string> words;                    // all others
  std::string error;                                 // of Commons CLI; empty: none

  bool has(char letter) const { return options.contains(letter); }
  // Whether it is there with an argument.
  bool has_argument(char letter) const { return has(letter) && !options.at(letter).empty(); }
  static CommandLine parse(const std::vector<OptionOfTool>& known, const std::vector<std::string>& arguments);
  static CommandLine parse_gnu(const std::vector<OptionOfTool>& known, const std::vector<std::string>& arguments);
};

}  // namespace cassandra_like::sstable_tools
