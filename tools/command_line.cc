// Splits arguments into options, their values, and the rest: first into tokens, of which an option and its value are two,
// by the rules of the parser; then by rules that both share.
#include "command_line.h"

#include <algorithm>

namespace cassandra_like::sstable_tools {

namespace {

std::string without_hyphens(const std::string& word) {
  return word.substr(word.starts_with("--") ? 2 : word.starts_with('-') ? 1 : 0);
}

// "x", but not "x"y".
std::string without_quotes(const std::string& word) {
  const bool is_quoted =
      word.size() > 1 && word.starts_with('"') && word.ends_with('"') && word.find('"', 1) == word.size() - 1;
  return is_quoted ? word.substr(1, word.size() - 2) : word;
}

class Parser {
 public:
  Parser(const std::vector<OptionOfTool>& known, const std::vector<std::string>& arguments)
      : known_(known), arguments_(arguments) {}

  CommandLine parse(bool is_gnu) {
    bool has_ended = false;  // GnuParser alone leaves what follows -- as it is
    for (const std::string& word : arguments_) {
      has_ended |= is_gnu && word == "--";
      if (has_ended || !word.starts_with('-') || word == "-" || word == "--") {
        tokens_.push_back(word);
      } else if (is_gnu) {
        split_gnu(word);
      } else {
        split_posix(word);
      }
    }
    while (at_ < tokens_.size() && line_.error.empty()) take(tokens_[at_++]);
    return std::move(line_);
  }

 private:
  // With one hyphen or two, a letter is a letter and a name is a name.
  const OptionOfTool* find(const std::string& word) const {
    const std::string text = without_hyphens(word);
    const auto it = std::find_if(known_.begin(), known_.end(), [&](const OptionOfTool& option) {
      const bool is_letter = text.size() == 1 && text[0] == option.letter && option.letter > ' ';
      return is_letter || (!text.empty() && text == option.name);
    });
    return it == known_.end() ? nullptr : &*it;
  }

  // The options of which it is the name, or whose names begin with it.
  std::vector<const OptionOfTool*> find_beginning(const std::string& word) const {
    const std::string text = without_hyphens(word);
    std::vector<const OptionOfTool*> found;
    for (const OptionOfTool& option : known_) {
      if (option.name.empty()) continue;
      if (option.name == text) return {&option};
      if (option.name.starts_with(text)) found.push_back(&option);
    }
    return found;
  }

  void split_gnu(const std::string& word) {
    const size_t equals = word.find('=');
    auto is_known = [this](const std::string& text) { return find(without_hyphens(text)) != nullptr; };
    if (is_known(word)) {
      tokens_.push_back(word);
    } else if (equals != word.npos && is_known(word.substr(0, equals))) {
      tokens_.push_back(word.substr(0, equals));
      tokens_.push_back(word.substr(equals + 1));
    } else if (find(word.substr(0, 2)) != nullptr) {
      tokens_.push_back(word.substr(0, 2));
      tokens_.push_back(word.substr(2));
    } else {
      tokens_.push_back(word);
    }
  }

  void split_posix(const std::string& word) {
    const bool is_long = word.starts_with("--");
    const size_t equals = is_long ? word.find('=') : word.npos;
    const std::string option = word.substr(0, equals);
    if (!is_long && (word.size() == 2 || find(word) != nullptr)) {
      tokens_.push_back(word);
      return;
    }
    const auto found = find_beginning(option);
    if (found.size() > 1) {
      note_ambiguous(option, found);
    } else if (found.size() == 1) {
      tokens_.push_back("--" + found[0]->name);
      if (equals != word.npos) tokens_.push_back(word.substr(equals + 1));
    } else if (is_long) {
      tokens_.push_back(word);
    } else {
      split_letters(word);
    }
  }

  void split_letters(const std::string& word) {
    for (size_t i = 1; i < word.size(); ++i) {
      const OptionOfTool* option = find(word.substr(i, 1));
      if (option == nullptr) {
        tokens_.push_back(word);
        return;
      }
      tokens_.push_back(std::string("-") + word[i]);
      if (option->max_arguments > 0 && i + 1 < word.size()) {
        tokens_.push_back(word.substr(i + 1));
        return;
      }
    }
  }

  void note_ambiguous(const std::string& word, const std::vector<const OptionOfTool*>& found) {
    if (!line_.error.empty()) return;
    line_.error = "Ambiguous option: '" + word + "'  (could be: ";
    for (const OptionOfTool* option : found) line_.error += (option == found[0] ? "'" : ", '") + option->name + "'";
    line_.error += ")";
  }

  void take(const std::string& token) {
    if (token == "--") {
      std::copy_if(tokens_.begin() + static_cast<std::ptrdiff_t>(at_), tokens_.end(), std::back_inserter(line_.words),
                   [](const std::string& word) { return word != "--"; });
      at_ = tokens_.size();
    } else if (!token.starts_with('-') || token == "-") {
      line_.words.push_back(token);
    } else if (const OptionOfTool* option = find(token); option != nullptr) {
      take_arguments(*option);
    } else {
      line_.error = "Unrecognized option: " + token;
    }
  }

  void take_arguments(const OptionOfTool& option) {
    std::vector<std::string>& values = line_.options[option.letter];
    size_t taken = 0;
    for (; taken < option.max_arguments && at_ < tokens_.size(); ++taken) {
      const std::string& token = tokens_[at_];
      if (token.starts_with('-') && find(token) != nullptr) break;
      values.push_back(without_quotes(token));
      ++at_;
    }
    if (taken == 0 && option.max_arguments > 0 && !option.may_lack_arguments) {
      line_.error =
          "Missing argument for option: " + (option.letter < ' ' ? option.name : std::string(1, option.letter));
    }
  }

  const std::vector<OptionOfTool>& known_;
  const std::vector<std::string>& arguments_;
  std::vector<std::string> tokens_;
  size_t at_ = 0;
  CommandLine line_;
};

}  // namespace

CommandLine CommandLine::parse(const std::vector<OptionOfTool>& known, const std::vector<std::string>& arguments) {
  return Parser(known, arguments).parse(false);
}

CommandLine CommandLine::parse_gnu(const std::vector<OptionOfTool>& known, const std::vector<std::string>& arguments) {
  return Parser(known, arguments).parse(true);
}

}  // namespace cassandra_like::sstable_tools
