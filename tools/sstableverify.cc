// sstableverify (StandaloneVerifier, SortedTableVerifier): looks for damage in the SSTables of a table. Cassandra accepts token
// ranges and does not look at them; here a key outside of them is a finding.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/memory_text.h"
#include "command_line.h"
#include "offline_table.h"
#include "sstable_file.h"
#include "sstable_tools.h"
#include "storage/owned_tokens.h"
#include "storage/sstable/component_set.h"
#include "storage/sstable/sstable_verifier.h"

namespace cassandra_like::sstable_tools {

namespace {

constexpr char kDebug = '\1';  // --debug has no letter

constexpr const char* kVerifyUsage = R"(usage: sstableverify [options] <keyspace> <column_family> force
--
Verify the sstable for the provided table.
--
NOTE: There are significant risks associated with using this tool; it
likely doesn't do what you expect and there are known edge cases. You must
provide a -f or --force argument in order to allow usage of the tool ->
see CASSANDRA-9947 and CASSANDRA-17017 for known risks.
https://issues.apache.org/jira/browse/CASSANDRA-9947
https://issues.apache.org/jira/browse/CASSANDRA-17017
--
Options are:
 -c,--check_version          make sure sstables are the latest version
    --debug                  display stack traces
 -e,--extended               extended verification
 -f,--force                  force verify - see CASSANDRA-17017
 -h,--help                   display this help message
 -q,--quick                  do a quick check, don't read all data
 -r,--mutate_repair_status   don't mutate repair status
 -t,--token_range <range>    long token range of the format left,right.
                             This may be provided multiple times to define
                             multiple different ranges
 -v,--verbose                verbose output
)";

using TokenRange = std::pair<Token, Token>;

Result<TokenRange> parse_token_range(const std::string& text) {
  const size_t comma = text.find(',');
  const auto parts = 1 + std::count(text.begin(), text.end(), ',');
  if (parts != 2) {
    return invalid(
        fmt::format("Unable to parse token range from {}; format is left,right but saw {} parts", text, parts));
  }
  TokenRange range;
  const char *begin = text.data(), *middle = begin + comma, *end = begin + text.size();
  if (const auto left = std::from_chars(begin, middle, range.first); left.ec != std::errc() || left.ptr != middle) {
    return invalid(fmt::format("For input string: \"{}\"", text.substr(0, comma)));
  }
  if (const auto right = std::from_chars(middle + 1, end, range.second); right.ec != std::errc() || right.ptr != end) {
    return invalid(fmt::format("For input string: \"{}\"", text.substr(comma + 1)));
  }
  return range;
}

class Verification {
 public:
  Verification(const ToolContext& context, const CommandLine& line, std::vector<TokenRange> ranges,
               const SSTableVersion* written)
      : context_(context), line_(line), ranges_(std::move(ranges)), written_(written) {}

  // False: damage was found, and printed.
  Result<bool> run(const OfflineTable& table) {
    ASSIGN_OR_RETURN(const auto sstables, sstables_of(context_, table));
    std::vector<OpenSSTableFile> opened;
    for (const SSTableOnDisk& files : sstables) {
      auto file = OpenSSTableFile::open(context_.disk, files.descriptor);
      if (!file.ok()) {
        return invalid(fmt::format("Error Loading {}: {}", base_name(files.descriptor), file.error().message()));
      }
      opened.push_back(std::move(*file));
    }
    context_.out << fmt::format(
        "Running verifier with the following options: Options{{invokeDiskFailurePolicy=false, "
        "extendedVerification={}, checkVersion={}, mutateRepairStatus={}, checkOwnsTokens={}, quick=false}}\n",
        line_.has('e'), line_.has('c'), line_.has('r'), !ranges_.empty());
    bool is_sound = true;
    for (const OpenSSTableFile& file : opened) is_sound &= verify(file);
    return is_sound;
  }

 private:
  void say(const std::string& text) { context_.out << text << "\n"; }

  void say_begun(SSTableVerifier::Phase phase, const std::string& name, bool is_big) {
    switch (phase) {
      case SSTableVerifier::Phase::kKeys:
        if (line_.has('v') && is_big) say("Deserializing index summary for " + name);
        if (line_.has('v')) say("Deserializing index for " + name);
        break;
      case SSTableVerifier::Phase::kData:
        if (line_.has('v')) say("Deserializing bloom filter for " + name);
        say("Checking computed hash of " + name + " ");
        break;
      case SSTableVerifier::Phase::kRows:
        say("Extended Verify requested, proceeding to inspect values");
        break;
      default:
        break;
    }
  }

  bool verify(const OpenSSTableFile& file) {
    const SSTableInfo& info = file.sstable->info();
    const SSTableDescriptor& descriptor = info.descriptor;
    const std::string name = reader_name(descriptor);
    say(fmt::format("Verifying {} ({})", name, memory_text(info.uncompressed_bytes)));
    if (line_.has('c') && !has_latest_version(descriptor, written_)) {
      const std::string message = name + " is not the latest version, run upgradesstables";
      say(message);
      say(fmt::format("WARNING: Error verifying {}: {}", name, message));
      return false;
    }
    say("Deserializing sstable metadata for " + name + " ");
    // Cassandra's tool accepts -q and does not pass it on.
    SSTableVerifyOptions options;
    options.extended = line_.has('e');
    uint64_t sound = 0;
    if (line_.has('v')) {
      options.on_partition = [this](uint64_t start) { say(fmt::format("Reading row at {}", start)); };
      options.on_sound_partition = [this, &sound](BytesView key, uint64_t start, uint64_t end) {
        const uint64_t header_bytes = sizeof(uint16_t) + key.size();
        say(fmt::format("row {} is {}", to_hex(key), memory_text(end - start - header_bytes)));
        say(fmt::format("Row {} at {} valid, moving to next row at {} ", ++sound, start, end));
      };
    }
    if (!ranges_.empty()) {
      options.owns = [owned = OwnedTokens::of(ranges_)](Token token) { return owned.contains(token); };
    }
    SSTableVerifier verifier(&context_.disk, file.sstable, file.table, std::move(options));
    const Status status = run_to_end(verifier, name, descriptor.format == "big");
    if (status.ok()) {
      if (verifier.partitions() > 0) {
        say(fmt::format("Verify of {} succeeded. All {} rows read successfully", name, verifier.partitions()));
      }
      return true;
    }
    say("WARNING: " + status.error().message());
    const bool is_unrepaired = line_.has('r') && make_unrepaired(descriptor);
    say(fmt::format("WARNING: Error verifying {}: java.lang.Exception: Invalid SSTable {}, please force {}repair", name,
                    descriptor.file(components::kData), is_unrepaired ? "" : "a full "));
    return false;
  }

  Status run_to_end(SSTableVerifier& verifier, const std::string& name, bool is_big) {
    for (auto phase = verifier.phase();;) {
      ASSIGN_OR_RETURN(const bool more, verifier.step());
      if (!more) return {};
      if (verifier.phase() == phase) continue;
      phase = verifier.phase();
      if (phase == SSTableVerifier::Phase::kRows && verifier.misses_digest()) {
        say("Data digest missing, assuming extended verification of disk values");
      }
      say_begun(phase, name, is_big);
    }
  }

  bool make_unrepaired(const SSTableDescriptor& descriptor) {
    const Status done = context_.wait(mutate_repaired_at(&context_.disk, descriptor, 0));
    if (!done.ok()) {
      say(fmt::format("Error mutating repairedAt for SSTable {}, as part of markAndThrow: {}",
                      descriptor.file(components::kData), done.error().message()));
    }
    return done.ok();
  }

  const ToolContext& context_;
  const CommandLine& line_;
  const std::vector<TokenRange> ranges_;
  const SSTableVersion* written_;  // by the node
};

Result<bool> verify_table(const ToolContext& context, const CommandLine& line) {
  std::vector<TokenRange> ranges;
  if (line.has('t')) {
    for (const std::string& text : line.options.at('t')) {
      ASSIGN_OR_RETURN(const TokenRange range, parse_token_range(text));
      ranges.push_back(range);
    }
  }
  std::string tokens;
  for (const auto& [left, right] : ranges) tokens += fmt::format("{}({},{}]", tokens.empty() ? "" : ", ", left, right);
  context.out << fmt::format(
      "sstableverify using the following options: Options{{keyspaceName='{}', cfName='{}', debug={}, verbose={}, "
      "extended={}, checkVersion={}, mutateRepairStatus={}, quick={}, tokens=[{}]}}\n",
      line.words[0], line.words[1], line.has(kDebug), line.has('v'), line.has('e'), line.has('c'), line.has('r'),
      line.has('q'), tokens);
  ASSIGN_OR_RETURN(const auto table, find_table(context, line.words[0], line.words[1]));
  if (!table) return invalid(fmt::format("Unknown keyspace/table {}.{}", line.words[0], line.words[1]));
  std::vector<TableLock> locks;
  if (line.has('r')) {
    ASSIGN_OR_RETURN(locks, lock_table(context, *table));
  }
  ASSIGN_OR_RETURN(const EngineOptions storage, context.storage(false));
  return Verification(context, line, std::move(ranges), storage.sstable_version).run(*table);
}

}  // namespace

int run_sstableverify(const std::vector<std::string>& arguments, const ToolContext& context) {
  const CommandLine line = CommandLine::parse_gnu({{kDebug, "debug"},
                                                   {'e', "extended"},
                                                   {'v', "verbose"},
                                                   {'h', "help"},
                                                   {'c', "check_version"},
                                                   {'r', "mutate_repair_status"},
                                                   {'q', "quick"},
                                                   {'f', "force"},
                                                   {'t', "token_range", kAnyNumber}},
                                                  arguments);
  if (line.error.empty() && line.has('h')) {
    context.out << kVerifyUsage;
    return 0;
  }
  if (!names_a_table(context, line, kVerifyUsage)) return 1;
  if (!line.has('f')) {
    context.err << "verify will not run without -f or --force. See CASSANDRA-17017 for details.\n";
    context.out << kVerifyUsage;
    return 1;
  }
  const auto is_sound = verify_table(context, line);
  if (!is_sound.ok()) context.err << is_sound.error().message() << "\n";
  return is_sound.ok() && *is_sound ? 0 : 1;
}

}  // namespace cassandra_like::sstable_tools
