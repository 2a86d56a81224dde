// sstablescrub (StandaloneScrubber): writes anew what can be read of the SSTables of a table.
#include <fmt/format.h>

#include <map>

#include "offline_rewrite.h"
#include "storage/compaction/strategy/strategies.h"

namespace cassandra_like::sstable_tools {

namespace {

constexpr char kDebugOfScrub = '\1';  // --debug has no letter

constexpr const char* kScrubUsage = R"(usage: sstablescrub [options] <keyspace> <column_family>
--
Scrub the sstable for the provided table.
--
Options are:
    --debug                     display stack traces
 -e,--header-fix <arg>          Option whether and how to perform a check of the sstable serialization-headers and fix
                                known, fixable issues.
                                Possible argument values:
                                - validate-only: validate the serialization-headers, but do not fix those. Do not
                                continue with scrub - i.e. only validate the header (dry-run of fix-only).
                                - validate: (default) validate the serialization-headers, but do not fix those and only
                                continue with scrub if no error were detected.
                                - fix-only: validate and fix the serialization-headers, don't continue with scrub.
                                - fix: validate and fix the serialization-headers, do not fix and do not continue with
                                scrub if the serialization-header check encountered errors.
                                - off: don't perform the serialization-header checks.
 -h,--help                      display this help message
 -m,--manifest-check            only check and repair the leveled manifest, without actually scrubbing the sstables
 -n,--no-validate               do not validate columns using column validator
 -r,--reinsert-overflowed-ttl   Rewrites rows with overflowed expiration date affected by CASSANDRA-14092 with the
                                maximum supported expiration date of 2038-01-19T03:14:06+00:00. The rows are rewritten
                                with the original timestamp incremented by one millisecond to override/supersede any
                                potential tombstone that may have been generated during compaction of the affected rows.
 -s,--skip-corrupted            skip corrupt rows in counter tables
 -v,--verbose                   verbose output
)";

// OutputHandler.SystemOutput
class PrintedScrub final : public ScrubOutput {
 public:
  PrintedScrub(std::ostream& out, bool is_verbose, bool is_debug)
      : out_(out), is_verbose_(is_verbose), is_debug_(is_debug) {}
  bool wants_debug() const override { return is_verbose_; }
  void debug(const std::string& text) override { out_ << text << "\n"; }
  void output(const std::string& text) override { out_ << text << "\n"; }
  void warn(const std::string& text, const Error* cause) override {
    out_ << "WARNING: " << text << "\n";
    if (is_debug_ && cause != nullptr) out_ << "java.io.IOError: " << cause->message() << "\n";
  }

 private:
  std::ostream& out_;
  const bool is_verbose_, is_debug_;
};

class ScrubOfTable {
 public:
  ScrubOfTable(const ToolContext& context, const CommandLine& line)
      : context_(context), line_(line), output_(context.out, line.has('v'), line.has(kDebugOfScrub)) {}

  // The exit code.
  Result<int> run() {
    ASSIGN_OR_RETURN(storage_, context_.storage(true));
    ASSIGN_OR_RETURN(const SchemaPtr schema, load_schema(context_, storage_));
    ASSIGN_OR_RETURN(const TablePtr table, find(*schema));
    const OfflineTable on_disk = table_on_disk(context_, storage_, table);
    ASSIGN_OR_RETURN(const auto locks, lock_table(context_, on_disk));
    TRY(finish_transactions_of(context_, on_disk));
    OfflineRewriter rewriter(context_, storage_, table);
    for (const std::string& directory : on_disk.directories) TRY(rewriter.note_ids(directory));
    ASSIGN_OR_RETURN(auto all, sstables_of(context_, on_disk));
    std::erase_if(all, [](const SSTableOnDisk& files) { return !files.has(components::kData); });
    sort_by_id(all);
    TRY(take_snapshot(all));
    const std::vector<OfflineSSTable> opened = open_all(std::move(all), table);
    if (!line_.has('m')) return scrub_all(rewriter, opened);
    TRY(check_manifest(*table, opened));
    return 0;
  }

 private:
  Result<TablePtr> find(const Schema& schema) const {
    const std::string &keyspace = line_.words[0], &name = line_.words[1];
    const KeyspacePtr of = schema.keyspace(keyspace);
    if (of == nullptr || of->is_virtual) return invalid("Unknown keyspace " + keyspace);
    if (name.find('.') != name.npos) return invalid("Scrubbing the secondary index " + name + " is not supported yet");
    TablePtr table = of->table(name);
    if (table == nullptr) return invalid(fmt::format("Unknown keyspace/cf pair ({}.{})", keyspace, name));
    return table;
  }

  Status take_snapshot(const std::vector<SSTableOnDisk>& all) const {
    const std::string tag = "pre-scrub-" + std::to_string(context_.now_millis);
    std::vector<SSTableDescriptor> descriptors;
    for (const SSTableOnDisk& files : all) descriptors.push_back(files.descriptor);
    TRY(snapshot_sstables(context_, descriptors, tag));
    context_.out << "Pre-scrub sstables snapshotted into snapshot " << tag << "\n";
    return {};
  }

  std::vector<OfflineSSTable> open_all(std::vector<SSTableOnDisk> all, const TablePtr& table) const {
    std::vector<OfflineSSTable> opened;
    for (SSTableOnDisk& files : all) {
      auto sstable = is_supported_format(files.descriptor)
                         ? SSTable::open_damaged(context_.disk, files.descriptor, table)
                         : Result<SSTablePtr>(unsupported_format(files.descriptor));
      if (sstable.ok()) {
        opened.push_back({std::move(files), std::move(*sstable)});
      } else {
        context_.err << "Error Loading " << base_name(files.descriptor) << ": " << sstable.error().message() << "\n";
      }
    }
    return opened;
  }

  int scrub_all(OfflineRewriter& rewriter, const std::vector<OfflineSSTable>& opened) {
    SSTableScrub options;
    options.skips_corrupted = line_.has('s');
    options.validates = !line_.has('n');
    options.reinserts_overflowed_ttl = line_.has('r');
    options.output = &output_;
    for (const OfflineSSTable& sstable : opened) {
      const Status done = rewriter.scrub(sstable, options);
      if (done.ok()) continue;
      context_.out << done.error().message() << "\n";
      if (done.error().code() != ErrorCode::kCorruption) return fail_to_write(context_, done.error());
      return fail(context_, "java.io.IOError", done.error().message());
    }
    return 0;
  }

  // LeveledManifest.create: an SSTable that overlaps others of its level goes to level 0.
  Status check_manifest(const TableMetadata& table, const std::vector<OfflineSSTable>& opened) const {
    const auto strategy = table.params.compaction.find("class");
    if (strategy == table.params.compaction.end() || !strategy->second.ends_with("LeveledCompactionStrategy"))
      return {};
    // CompactionStrategyManager has a manifest for each state of repair in each directory.
    std::map<std::string, std::vector<const OfflineSSTable*>> groups;
    for (const OfflineSSTable& sstable : opened) {
      const SSTableInfo& info = sstable.sstable->info();
      const std::string repair = info.pending_repair     ? info.pending_repair->to_string()
                                 : info.repaired_at == 0 ? "unrepaired"
                                                         : "repaired";
      groups[sstable.descriptor().directory + " " + repair].push_back(&sstable);
    }
    for (const auto& [name, group] : groups) {
      std::vector<CompactionCandidate> candidates(group.size());
      for (size_t i = 0; i < group.size(); ++i) {
        const SSTableInfo& info = group[i]->sstable->info();
        candidates[i].id = i;
        candidates[i].first = DecoratedKey::of(info.first_key);
        candidates[i].last = DecoratedKey::of(info.last_key);
        candidates[i].level = info.level;
      }
      for (const uint64_t i : sent_to_level_0(candidates)) {
        TRY(rewrite_statistics(context_, group[i]->descriptor(), [](Statistics& statistics) { statistics.level = 0; }));
      }
    }
    return {};
  }

  const ToolContext& context_;
  const CommandLine& line_;
  PrintedScrub output_;
  EngineOptions storage_;
};

}  // namespace

int run_sstablescrub(const std::vector<std::string>& arguments, const ToolContext& context) {
  const CommandLine line = CommandLine::parse_gnu({{kDebugOfScrub, "debug"},
                                                   {'v', "verbose"},
                                                   {'h', "help"},
                                                   {'m', "manifest-check"},
                                                   {'s', "skip-corrupted"},
                                                   {'n', "no-validate"},
                                                   {'e', "header-fix", 1},
                                                   {'r', "reinsert-overflowed-ttl"}},
                                                  arguments);
  if (line.error.empty() && line.has('h')) {
    context.out << kScrubUsage;
    return 0;
  }
  if (!names_a_table(context, line, kScrubUsage)) return 1;
  if (line.has('e')) context.err << "Option header-fix is deprecated and no longer functional\n";
  const auto done = ScrubOfTable(context, line).run();
  return done.ok() ? *done : fail_with_message(context, done.error(), line.has(kDebugOfScrub));
}

}  // namespace cassandra_like::sstable_tools
