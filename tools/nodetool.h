// nodetool: Cassandra's command names, options, exit codes and output layout, over the HTTP/JSON of docs/ADMIN.md.
//
// The node sends numbers, everything human is done here. A command is a function from parsed arguments and a Transport
// to text, so that tests run it on canned answers.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cassandra_like::nodetool {

using Json = nlohmann::ordered_json;
using Parameters = std::vector<std::pair<std::string, std::string>>;

// Ends a command. `kBadUse` goes to standard output with the hint to help, as Cassandra's does.
struct Failure {
  enum Kind { kBadUse, kError, kPlain } kind;
  std::string text;
  int exit_code;
};
[[noreturn]] void bad_use(const std::string& text);  // exit 1
[[noreturn]] void failed(const std::string& text);   // exit 2

struct Response {
  int status = 0;
  std::string body;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Throws a Failure when the node does not answer.
  virtual Response send(const std::string& method, const std::string& path, const Parameters& parameters) = 0;
};

struct Endpoint {
  std::string host = "127.0.0.1";
  int port = 7199;
  std::string user;
  std::string password;
};
using Connect = std::function<std::unique_ptr<Transport>(const Endpoint&)>;

struct Option {
  std::vector<std::string> names;
  std::string title;  // of its value; empty: a switch
  std::string description;
  bool is_required = false;
};

// One run of one command.
struct Session {
  Transport& transport;
  std::ostream& out;
  bool print_port = false;
  std::map<std::string, std::string> options;  // by first name; a switch holds "true"
  std::vector<std::string> arguments;

  bool has(const std::string& name) const { return options.contains(name); }
  std::string option(const std::string& name) const {
    auto it = options.find(name);
    return it == options.end() ? "" : it->second;
  }
  // `[<keyspace> <tables>...]`, as flush and compact take it.
  Parameters keyspace_and_tables() const;
  Json get(const std::string& path, const Parameters& parameters = {}) { return call("GET", path, parameters); }
  Json post(const std::string& path, const Parameters& parameters = {}) { return call("POST", path, parameters); }

 private:
  Json call(const std::string& method, const std::string& path, const Parameters& parameters);
};

struct Command {
  std::string name;
  std::string description;
  void (*run)(Session&) = nullptr;  // null: not supported yet
  std::vector<Option> options = {};
  std::string usage = {};  // of the arguments; empty: it takes none
  std::string arguments_description = {};
  size_t max_arguments = SIZE_MAX;  // 1: there may be several, of which the last counts, as for Cassandra
  std::string required = {};        // the name of an argument that must be given, as the error calls it
};

// Every command of Cassandra 5.0.9's nodetool, in order of name; aliases are not listed by help.
const std::vector<Command>& commands();
const Command* find_command(std::string_view name);

// The texts of `help` and `help COMMAND`.
std::string help_text();
std::string help_text(const Command& command);
const std::vector<Option>& global_options();

// The whole program: returns the exit code.
int run_nodetool(const std::vector<std::string>& words, const Connect& connect, std::ostream& out, std::ostream& err);

// The last argument. All are Integers as Java reads them; `name` is what the error calls them.
std::string integer(const Session& s, const char* name);

// Groups of commands, each in a file of its own.
void run_status(Session&);
void run_ring(Session&);
void run_info(Session&);
void run_version(Session&);
void run_describecluster(Session&);
void run_gossipinfo(Session&);
void run_getendpoints(Session&);
void run_describering(Session&);
void run_statusgossip(Session&);
void run_failuredetector(Session&);
void run_enablegossip(Session&);
void run_disablegossip(Session&);
void run_getseeds(Session&);
void run_reloadseeds(Session&);
void run_assassinate(Session&);
void run_join(Session&);
void run_resetlocalschema(Session&);
void run_reloadlocalschema(Session&);
void run_gettraceprobability(Session&);
void run_settraceprobability(Session&);
void run_listpendinghints(Session&);
void run_truncatehints(Session&);
void run_pausehandoff(Session&);
void run_resumehandoff(Session&);
void run_statushandoff(Session&);
void run_enablehandoff(Session&);
void run_disablehandoff(Session&);
void run_enablehintsfordc(Session&);
void run_disablehintsfordc(Session&);
void run_sethintedhandoffthrottlekb(Session&);
void run_getmaxhintwindow(Session&);
void run_setmaxhintwindow(Session&);
void run_tablestats(Session&);
void run_tablehistograms(Session&);
void run_proxyhistograms(Session&);
void run_tpstats(Session&);
void run_clientstats(Session&);
void run_compactionstats(Session&);
void run_compactionhistory(Session&);
void run_netstats(Session&);
void run_statusautocompaction(Session&);
void run_enableautocompaction(Session&);
void run_disableautocompaction(Session&);
void run_stop(Session&);
void run_getcompactionthroughput(Session&);
void run_setcompactionthroughput(Session&);
void run_getconcurrentcompactors(Session&);
void run_setconcurrentcompactors(Session&);
void run_flush(Session&);
void run_drain(Session&);
void run_refreshsizeestimates(Session&);
void run_replaybatchlog(Session&);
void run_compact(Session&);
void run_getsstables(Session&);
void run_upgradesstables(Session&);
void run_garbagecollect(Session&);
void run_cleanup(Session&);
void run_scrub(Session&);
void run_verify(Session&);
void run_gettimeout(Session&);
void run_settimeout(Session&);
void run_getcompactionthreshold(Session&);
void run_setcompactionthreshold(Session&);
void run_getbatchlogreplaythrottle(Session&);
void run_setbatchlogreplaythrottle(Session&);
void run_getcolumnindexsize(Session&);
void run_setcolumnindexsize(Session&);
void run_getdefaultrf(Session&);
void run_setdefaultrf(Session&);
void run_enableoldprotocolversions(Session&);
void run_disableoldprotocolversions(Session&);
void run_enablebackup(Session&);
void run_disablebackup(Session&);
void run_statusbackup(Session&);
void run_invalidate_nothing(Session&);
void run_invalidatepermissionscache(Session&);
void run_setcachecapacity(Session&);
void run_invalidatecredentialscache(Session&);
void run_getauthcacheconfig(Session&);
void run_setauthcacheconfig(Session&);
void run_datapaths(Session&);
void run_forcecompact(Session&);
void run_rebuild_index(Session&);
void run_checktokenmetadata(Session&);
void run_import(Session&);
void run_refresh(Session&);
void run_relocatesstables(Session&);
void run_recompress_sstables(Session&);
void run_getguardrailsconfig(Session&);
void run_setguardrailsconfig(Session&);
void run_profileload(Session&);  // toppartitions is the same
void run_snapshot(Session&);
void run_listsnapshots(Session&);
void run_clearsnapshot(Session&);
void run_getlogginglevels(Session&);
void run_setlogginglevel(Session&);
void run_statusbinary(Session&);
void run_enablebinary(Session&);
void run_disablebinary(Session&);
void run_stopdaemon(Session&);

}  // namespace cassandra_like::nodetool
