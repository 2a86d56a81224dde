// Command lines as Commons CLI's PosixParser reads them, whose messages Cassandra's offline tools print: -dt is -d -t,
// -kx is -k x, --name=value, options anywhere, and -- before words that are none.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cassandra_like::sstable_tools {

struct OptionOfTool {
  char letter;               // below ' ': it has only its name
  std::string name;          // "gc_grace_seconds"; empty: it has none
  size_t max_arguments = 0;  // 0: it takes none
};

struct CommandLine {
  std::map<char, std::vector<std::string>> options;  // by letter, with their arguments
  std::vector<std::string> words;                    // all others
  std::string error;                                 // of Commons CLI; empty: none

  bool has(char letter) const { return options.contains(letter); }
  // The way of GnuParser: -s5 and -s 5 are the same, -verbose is --verbose, and -sn is -s and a word.
  static CommandLine parse_gnu(const std::vector<OptionOfTool>& known, const std::vector<std::string>& arguments);
  static CommandLine parse(const std::vector<OptionOfTool>& known, const std::vector<std::string>& arguments);
};

}  // namespace cassandra_like::sstable_tools
