// Splits arguments into options, their values, and the rest.
#include "command_line.h"

#include <algorithm>

namespace cassandra_like::sstable_tools {

namespace {

class Parser {
 public:
  Parser(const std::vector<OptionOfTool>& known, const std::vector<std::string>& arguments)
      : known_(known), arguments_(arguments) {}

  CommandLine parse() {
    while (at_ < arguments_.size() && line_.error.empty()) take(arguments_[at_++]);
    return std::move(line_);
  }

 private:
  const OptionOfTool* find(char letter) const {
    const auto it = std::find_if(known_.begin(), known_.end(), [&](const auto& o) { return o.letter == letter; });
    return it == known_.end() ? nullptr : &*it;
  }
  const OptionOfTool* find(const std::string& name) const {
    const auto it = std::find_if(known_.begin(), known_.end(), [&](const auto& o) { return o.name == name; });
    return it == known_.end() || name.empty() ? nullptr : &*it;
  }
  bool is_option(const std::string& word) const {
    if (word.size() < 2 || word[0] != '-') return false;
    return word[1] == '-' ? find(word.substr(2, word.find('=') - 2)) != nullptr || word == "--"
                          : find(word[1]) != nullptr;
  }

  void take(const std::string& word) {
    if (word == "--") {
      line_.words.insert(line_.words.end(), arguments_.begin() + static_cast<std::ptrdiff_t>(at_), arguments_.end());
      at_ = arguments_.size();
    } else if (word.starts_with("--")) {
      take_long(word);
    } else if (word.size() > 1 && word[0] == '-') {
      take_letters(word);
    } else {
      line_.words.push_back(word);
    }
  }

  void take_long(const std::string& word) {
    const size_t equals = word.find('=');
    const OptionOfTool* option = find(word.substr(2, equals - 2));
    if (option == nullptr) {
      line_.error = "Unrecognized option: " + word;
    } else if (equals == word.npos) {
      take_arguments(*option, std::nullopt);
    } else {
      take_arguments(*option, word.substr(equals + 1));
    }
  }

  void take_letters(const std::string& word) {
    for (size_t i = 1; i < word.size(); ++i) {
      const OptionOfTool* option = find(word[i]);
      if (option == nullptr) {
        line_.error = "Unrecognized option: " + word;
        return;
      }
      if (option->max_arguments > 0) {
        take_arguments(*option, i + 1 < word.size() ? std::optional(word.substr(i + 1)) : std::nullopt);
        return;
      }
      line_.options[option->letter];
    }
  }

  void take_arguments(const OptionOfTool& option, const std::optional<std::string>& first) {
    std::vector<std::string>& values = line_.options[option.letter];
    size_t taken = 0;
    if (first && option.max_arguments > 0) {
      values.push_back(*first);
      ++taken;
    }
    while (taken < option.max_arguments && at_ < arguments_.size() && !is_option(arguments_[at_])) {
      values.push_back(arguments_[at_++]);
      ++taken;
    }
    if (taken == 0 && option.max_arguments > 0) {
      line_.error =
          "Missing argument for option: " + (option.letter < ' ' ? option.name : std::string(1, option.letter));
    }
  }

  const std::vector<OptionOfTool>& known_;
  const std::vector<std::string>& arguments_;
  size_t at_ = 0;
  CommandLine line_;
};

}  // namespace

CommandLine CommandLine::parse_gnu(const std::vector<OptionOfTool>& known, const std::vector<std::string>& arguments) {
  auto is_letter = [&](const std::string& word) {
    return std::any_of(known.begin(), known.end(),
                       [&](const auto& o) { return word.size() == 1 && word[0] == o.letter; });
  };
  auto is_name = [&](const std::string& word) {
    return std::any_of(known.begin(), known.end(), [&](const auto& o) { return !o.name.empty() && word == o.name; });
  };
  std::vector<std::string> flat;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") {
      flat.insert(flat.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    const size_t hyphens = word.starts_with("--") ? 2 : word.starts_with("-") ? 1 : 0;
    const std::string option = word.substr(hyphens), name = option.substr(0, option.find('='));
    if (hyphens == 0 || option.empty() || is_letter(option)) {
      flat.push_back(word);
    } else if (is_name(name)) {
      flat.push_back("--" + name);
      if (name.size() < option.size()) flat.push_back(option.substr(name.size() + 1));
    } else if (hyphens == 1 && is_letter(word.substr(1, 1))) {
      flat.push_back(word.substr(0, 2));
      flat.push_back(word.substr(2));
    } else {
      flat.push_back(word);
    }
  }
  return parse(known, flat);
}

CommandLine CommandLine::parse(const std::vector<OptionOfTool>& known, const std::vector<std::string>& arguments) {
  return Parser(known, arguments).parse();
}

}  // namespace cassandra_like::sstable_tools
