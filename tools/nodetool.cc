// Reads the command line as Cassandra's nodetool does (its options are not POSIX: -pw is one), runs the command, turns failures
// into texts and exit codes.
#include "nodetool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <fstream>
#include <sstream>

namespace cassandra_like::nodetool {
namespace {

const Option* find_option(const std::vector<Option>& options, const std::string& name) {
  for (const Option& option : options) {
    for (const std::string& each : option.names) {
      if (each == name) return &option;
    }
  }
  return nullptr;
}

class CommandLine {
 public:
  explicit CommandLine(const std::vector<std::string>& words) : words_(words) {}

  bool done() const { return at_ == words_.size(); }
  const std::string& next() { return words_[at_++]; }

  // Takes one option with its value, also as --name=value; false when the next word is none of these.
  bool take_option(const std::vector<Option>& known, std::map<std::string, std::string>& out) {
    const std::string& word = words_[at_];
    const size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const Option* option = find_option(known, word.substr(0, equals));
    if (option == nullptr || (equals != std::string::npos && option->title.empty())) return false;
    ++at_;
    std::string value = "true";
    if (!option->title.empty()) {
      if (equals != std::string::npos) {
        value = word.substr(equals + 1);
      } else if (done()) {
        bad_use(fmt::format("Required values for option '{}' not provided", option->title));
      } else {
        value = next();
      }
    }
    out[option->names[0]] = value;
    return true;
  }

 private:
  const std::vector<std::string>& words_;
  size_t at_ = 0;
};

// A line of the file is `user password`.
std::string password_from(const std::string& path, const std::string& user) {
  std::ifstream file(path);
  if (!file) failed(fmt::format("{} (No such file or directory)", path));
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string name, password;
    if (fields >> name >> password && name == user) return password;
  }
  return "";
}

Endpoint endpoint_of(const std::map<std::string, std::string>& options) {
  Endpoint endpoint;
  auto value = [&options](const char* name, const std::string& otherwise) {
    auto it = options.find(name);
    return it == options.end() ? otherwise : it->second;
  };
  endpoint.host = value("-h", endpoint.host);
  const std::string port = value("-p", "7199");
  auto [rest, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (error != std::errc{} || rest != port.data() + port.size()) bad_use(fmt::format("For input string: \"{}\"", port));
  endpoint.user = value("-u", "");
  endpoint.password = value("-pw", "");
  if (!endpoint.user.empty() && options.contains("-pwf")) {
    endpoint.password = password_from(options.at("-pwf"), endpoint.user);
  }
  return endpoint;
}

void run_help(CommandLine& line, std::ostream& out) {
  if (line.done()) {
    out << help_text();
    return;
  }
  const std::string name = line.next();
  const Command* command = find_command(name);
  out << (command == nullptr ? fmt::format("Unknown command {}\n\n", name) : help_text(*command));
}

void run_words(const std::vector<std::string>& words, const Connect& connect, std::ostream& out) {
  CommandLine line(words);
  std::map<std::string, std::string> globals;
  while (!line.done() && line.take_option(global_options(), globals)) {
  }
  if (line.done()) {
    out << help_text();
    return;
  }
  const std::string name = line.next();
  if (name == "help") return run_help(line, out);
  const Command* command = find_command(name);
  if (command == nullptr) bad_use(fmt::format("Found unexpected parameters: [{}]", name));
  if (command->run == nullptr)
    throw Failure{Failure::kPlain, fmt::format("nodetool: {} is not supported yet", name), 2};

  std::map<std::string, std::string> options;
  std::vector<std::string> arguments;
  bool only_arguments = false;
  while (!line.done()) {
    if (!only_arguments && line.take_option(command->options, options)) continue;
    std::string word = line.next();
    if (!only_arguments && word == "--") {
      only_arguments = true;
    } else {
      arguments.push_back(std::move(word));
    }
  }
  if (command->max_arguments == 0 && !arguments.empty()) {
    bad_use(fmt::format("Found unexpected parameters: [{}]", fmt::join(arguments, ", ")));
  }
  for (const Option& option : command->options) {
    if (!option.is_required || options.contains(option.names[0])) continue;
    bad_use(fmt::format("Required option '{}' is missing", option.names[0]));
  }
  if (!command->required.empty() && arguments.empty()) {
    bad_use(fmt::format("Required parameters are missing: {}", command->required));
  }
  const auto transport = connect(endpoint_of(globals));
  Session session{*transport, out, globals.contains("-pp"), std::move(options), std::move(arguments)};
  command->run(session);
}

}  // namespace

void bad_use(const std::string& text) { throw Failure{Failure::kBadUse, text, 1}; }
void failed(const std::string& text) { throw Failure{Failure::kError, text, 2}; }

Parameters Session::keyspace_and_tables() const {
  Parameters out;
  for (size_t i = 0; i < arguments.size(); ++i) out.emplace_back(i == 0 ? "keyspace" : "table", arguments[i]);
  return out;
}

Json Session::call(const std::string& method, const std::string& path, const Parameters& parameters) {
  const Response response = transport.send(method, path, parameters);
  Json body = Json::parse(response.body, nullptr, false);
  if (response.status == 200 && body.is_object()) return body;
  const std::string text = body.is_object() && body.contains("error")
                               ? body.at("error").get<std::string>()
                               : fmt::format("the node answered {} to {} {}", response.status, method, path);
  if (response.status == 400) bad_use(text);
  if (response.status == 401) {
    throw Failure{Failure::kPlain, fmt::format("nodetool: Failed to connect - SecurityException: '{}'.", text), 1};
  }
  if (response.status == 501) throw Failure{Failure::kPlain, "nodetool: " + text, 2};
  failed(text);
}

int run_nodetool(const std::vector<std::string>& words, const Connect& connect, std::ostream& out, std::ostream& err) {
  try {
    run_words(words, connect, out);
    return 0;
  } catch (const Failure& f) {
    if (f.kind == Failure::kBadUse) {
      out << "nodetool: " << f.text << "\nSee 'nodetool help' or 'nodetool help <command>'.\n";
    } else if (f.kind == Failure::kError) {
      err << "error: " << f.text << "\n";
    } else if (!f.text.empty()) {
      err << f.text << "\n";
    }
    return f.exit_code;
  } catch (const Json::exception& e) {
    err << "error: the node's answer is not as docs/ADMIN.md describes it: " << e.what() << "\n";
    return 2;
  }
}

}  // namespace cassandra_like::nodetool
