// `help` and `help COMMAND` in the layout of Cassandra's nodetool: 80 columns, options in order of name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "nodetool.h"

namespace cassandra_like::nodetool {
namespace {

constexpr size_t kColumns = 79;

// Words (or atoms that must stay whole) wrapped as Cassandra's help wraps them: a hanging indent does not count towards the
// width, nor does the space before the last word.
class Paragraph {
 public:
  explicit Paragraph(size_t indent, size_t hanging = 0)
      : indent_(indent), hanging_(hanging), position_(indent), text_(indent, ' ') {}
  void word(const std::string& text) {
    if (first_) {
      first_ = false;
    } else if (position_ + text.size() <= kColumns) {
      text_ += " ";
      ++position_;
    } else {
      text_ += "\n" + std::string(indent_ + hanging_, ' ');
      position_ = indent_;
    }
    text_ += text;
    position_ += text.size();
  }
  void words(const std::string& text) {
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(' ', at), text.size());
      if (end > at) word(text.substr(at, end - at));
      at = end + 1;
    }
  }
  std::string text() const { return text_ + "\n"; }

 private:
  size_t indent_, hanging_, position_;
  std::string text_;
  bool first_ = true;
};

std::string with_value(const Option& option, const std::string& name) {
  return option.title.empty() ? name : fmt::format("{} <{}>", name, option.title);
}

// "[(-r | --resolve-ip)]", "[--all]", "[--ttl <ttl>]".
std::string synopsis(const Option& option) {
  std::vector<std::string> forms;
  for (const std::string& name : option.names) forms.push_back(with_value(option, name));
  const std::string either = fmt::format("{}", fmt::join(forms, " | "));
  if (option.is_required) return forms.size() == 1 ? either : "(" + either + ")";
  return forms.size() == 1 ? "[" + either + "]" : "[(" + either + ")]";
}

// Options stand in order of their first name without dashes.
std::vector<Option> sorted(std::vector<Option> options) {
  auto bare = [](const Option& o) { return o.names[0].substr(o.names[0].find_first_not_of('-')); };
  std::ranges::sort(options, [&](const Option& a, const Option& b) {
    std::string x = bare(a), y = bare(b);
    std::ranges::transform(x, x.begin(), [](unsigned char c) { return std::tolower(c); });
    std::ranges::transform(y, y.begin(), [](unsigned char c) { return std::tolower(c); });
    return x < y;
  });
  return options;
}

std::string described(const std::string& head, const std::string& description) {
  Paragraph paragraph(12);
  paragraph.words(description);
  return "        " + head + "\n" + paragraph.text() + "\n";
}

// `help` itself needs no node, and so has no function.
bool is_supported(const Command& command) { return command.run != nullptr || command.name == "help"; }

}  // namespace

std::string help_text() {
  std::string out =
      "usage: nodetool [(-pwf <passwordFilePath> | --password-file <passwordFilePath>)]\n"
      "        [(-pp | --print-port)] [(-p <port> | --port <port>)]\n"
      "        [(-u <username> | --username <username>)] [(-h <host> | --host <host>)]\n"
      "        [(-pw <password> | --password <password>)] <command> [<args>]\n\n"
      "The most commonly used nodetool commands are:\n";
  size_t width = 0;
  Paragraph absent(4);
  for (const Command& c : commands()) {
    width = std::max(width, c.name.size());
    if (!is_supported(c)) absent.word(c.name);
  }
  for (const Command& c : commands()) {
    if (is_supported(c)) out += fmt::format("    {:<{}}   {}\n", c.name, width, c.description);
  }
  out += "\nNot supported yet; each of these says so and exits with 2:\n" + absent.text();
  return out + "\nSee 'nodetool help <command>' for more information on a specific command.\n\n";
}

std::string help_text(const Command& command) {
  Paragraph name(8);
  name.words(fmt::format("nodetool {} - {}", command.name, command.description));
  std::string out = "NAME\n" + name.text() + "\n";
  if (command.run == nullptr) return out + fmt::format("        {} is not supported yet\n\n", command.name);

  Paragraph usage(8, 8);
  usage.word("nodetool");
  for (const Option& option : sorted(global_options())) usage.word(synopsis(option));
  usage.word(command.name);
  for (const Option& option : sorted(command.options)) usage.word(synopsis(option));
  if (!command.usage.empty()) {
    usage.word("[--]");
    // One argument that may be left out and whose command does not say so is shown as what it is, unless Cassandra wrote
    // the usage in words.
    const bool is_optional = command.max_arguments == 1 && command.required.empty() &&
                             !command.usage.starts_with('[') && command.usage.find(' ') == std::string::npos;
    // Cassandra's library names arguments that nobody has named.
    const bool is_unnamed = command.usage == "<args>";
    usage.words(is_unnamed ? "[<args>...]" : is_optional ? "[" + command.usage + "]" : command.usage);
  }
  out += "SYNOPSIS\n" + usage.text() + "\nOPTIONS\n";

  std::vector<Option> options = global_options();
  options.insert(options.end(), command.options.begin(), command.options.end());
  for (const Option& option : sorted(options)) {
    std::vector<std::string> forms;
    for (const std::string& each : option.names) forms.push_back(with_value(option, each));
    out += described(fmt::format("{}", fmt::join(forms, ", ")), option.description);
  }
  if (!command.usage.empty()) {
    out += described("--",
                     "This option can be used to separate command-line options from the list of argument, (useful when "
                     "arguments might be mistaken for command-line options");
    out += described(command.usage, command.arguments_description);
  }
  return out + "\n";
}

}  // namespace cassandra_like::nodetool
