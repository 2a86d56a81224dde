// Logs of transactions over SSTables: their lines are Cassandra's, and what they say is done.
#include "storage/sstable/transaction_log.h"

#include "failed_commit.h"
#include "fixture.h"
#include "storage/sstable/sstable_transaction.h"

namespace cassandra_like::storage_test {
namespace {

constexpr const char* kDirectory = "/data/ks/t-1";
constexpr const char* kLog = "/data/ks/t-1/bti-da_txn_compaction_00000000-0000-1000-8000-000000000001.log";

// The lines of Cassandra 5.0.9 (LogRecord.toString).
constexpr const char* kOfCassandra[] = {
    "ADD:[/data/ks/t-1/da-4-bti-,0,8][448620874]",
    "REMOVE:[/data/ks/t-1/da-3-bti-,1767225600000,8][4155907157]",
    "COMMIT:[,0,0][2613697770]",
};

class TransactionLogTest : public testing::Test {
 protected:
  TransactionLogTest() { CHECK(disk.make_directories(kDirectory).ok()); }

  void write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(disk.remove(path).ok());
    auto file = disk.create(path);
    ASSERT_TRUE(file.ok() && (*file)->append(text).ok());
  }
  SSTableDescriptor put_sstable(const std::string& id) {
    SSTableDescriptor sstable{kDirectory, "da", "bti", id};
    for (const char* component : {"TOC.txt", "Data.db", "Statistics.db"}) write(sstable.file(component), "x");
    return sstable;
  }
  Lines files() {
    Lines out;
    const auto entries = disk.list(kDirectory).value();
    for (const DirectoryEntry& entry : entries) out.push_back(entry.name);
    return out;
  }
  std::string finish() {
    auto log = TransactionLog::read(disk, {kLog});
    Status status = log.ok() ? node.run(log->finish(&disk)) : Status(log.error());
    return status.ok() ? "" : status.error().message();
  }

  Node node;
  Disk& disk = node.disk();
};

TEST_F(TransactionLogTest, LinesAreCassandras) {
  const TransactionRecord added{TransactionRecord::Type::kAdd, "/data/ks/t-1/da-4-bti-", 0, 8};
  const TransactionRecord removed{TransactionRecord::Type::kRemove, "/data/ks/t-1/da-3-bti-", 1'767'225'600'000, 8};
  EXPECT_EQ(added.line(), kOfCassandra[0]);
  EXPECT_EQ(removed.line(), kOfCassandra[1]);
  EXPECT_EQ(TransactionRecord().line(), kOfCassandra[2]);
  EXPECT_EQ(TransactionRecord::parse(kOfCassandra[0]), added);
  EXPECT_EQ(TransactionRecord::parse(kOfCassandra[1]), removed);
  EXPECT_EQ(TransactionRecord::parse(kOfCassandra[2]), TransactionRecord());
}

TEST_F(TransactionLogTest, ALineThatIsNotWholeIsNone) {
  const std::string line = kOfCassandra[1];
  for (size_t size = 0; size < line.size(); ++size) {
    EXPECT_EQ(TransactionRecord::parse(std::string_view(line).substr(0, size)), std::nullopt) << size;
  }
  EXPECT_EQ(TransactionRecord::parse("REMOVE:[/data/ks/t-1/da-3-bti-,1767225600001,8][4155907157]"), std::nullopt);
  EXPECT_EQ(TransactionRecord::parse("COMMIT:[/a-,0,0][1]"), std::nullopt);
}

TEST_F(TransactionLogTest, KnowsTheNamesOfLogs) {
  EXPECT_TRUE(is_transaction_log("bti-da_txn_compaction_5d5f0b40-5b9f-11ef-8f6f-1b6f5d5f0b40.log"));
  EXPECT_TRUE(is_transaction_log("nb_txn_flush_5d5f0b40-5b9f-11ef-8f6f-1b6f5d5f0b40.log"));
  EXPECT_TRUE(is_transaction_log("txn_compaction_5d5f0b40.log"));
  EXPECT_FALSE(is_transaction_log("system.log"));
  EXPECT_FALSE(is_transaction_log("da-txn_1-bti-Data.db"));
}

TEST_F(TransactionLogTest, WithoutACommitWhatWasAddedGoes) {
  auto old = put_sstable("1"), added = put_sstable("2");
  write(kLog, addition_of(added).line() + "\n" + removal_of(disk, old)->line() + "\nCOMM");
  EXPECT_EQ(void_sstables(disk, kDirectory).value(), (std::vector<std::string>{"da-2-bti-"}));
  EXPECT_EQ(finish(), "");
  EXPECT_EQ(files(), (Lines{"da-1-bti-Data.db", "da-1-bti-Statistics.db", "da-1-bti-TOC.txt"}));
}

TEST_F(TransactionLogTest, WithACommitWhatWasRemovedGoes) {
  auto old = put_sstable("1"), added = put_sstable("2");
  write(kLog,
        addition_of(added).line() + "\n" + removal_of(disk, old)->line() + "\n" + TransactionRecord().line() + "\n");
  EXPECT_EQ(void_sstables(disk, kDirectory).value(), (std::vector<std::string>{"da-1-bti-"}));
  EXPECT_EQ(finish(), "");
  EXPECT_EQ(files(), (Lines{"da-2-bti-Data.db", "da-2-bti-Statistics.db", "da-2-bti-TOC.txt"}));
}

TEST_F(TransactionLogTest, FilesThatWerePutThereSinceStay) {
  auto old = put_sstable("1");
  const std::string line = removal_of(disk, old)->line();
  node.world().run_for(std::chrono::seconds(2));
  put_sstable("1");
  write(kLog, line + "\n" + TransactionRecord().line() + "\n");
  EXPECT_NE(finish().find("if they were put there since"), std::string::npos);
  EXPECT_EQ(files().size(), 4u);
}

TEST_F(TransactionLogTest, ADamagedLineInTheMiddleIsNoGuess) {
  auto old = put_sstable("1");
  write(kLog, "REM\n" + removal_of(disk, old)->line() + "\n");
  EXPECT_NE(finish().find("is damaged in line 1"), std::string::npos);
  EXPECT_EQ(files().size(), 4u);
}

// The first copy was not written to its end, and its last line is a part of the other's.
TEST_F(TransactionLogTest, CopiesInSeveralDirectoriesAreOneLog) {
  auto old = put_sstable("1");
  const std::string removal = removal_of(disk, old)->line() + "\n", last = TransactionRecord().line() + "\n";
  const std::string other = "/other/ks/t-1/bti-da_txn_compaction_00000000-0000-1000-8000-000000000001.log";
  ASSERT_TRUE(disk.make_directories("/other/ks/t-1").ok());
  write(kLog, removal + last.substr(0, 5));
  write(other, removal + last);
  auto log = TransactionLog::read(disk, {kLog, other});
  ASSERT_TRUE(log.ok());
  EXPECT_TRUE(log->is_committed());
  EXPECT_TRUE(node.run(log->finish(&disk)).ok());
  EXPECT_EQ(files(), Lines());
  EXPECT_TRUE(disk.list("/other/ks/t-1")->empty());
  write(other, "ABORT:[,0,0][1]\n" + last);
  write(kLog, removal + last);
  EXPECT_FALSE(TransactionLog::read(disk, {kLog, other}).ok());
}

// A copy that was cut in the middle of a line, while another has this line and more.
TEST_F(TransactionLogTest, ACopyMayEndInsideOfALineThatIsNotTheLast) {
  auto old = put_sstable("1");
  const std::string removal = removal_of(disk, old)->line() + "\n", last = TransactionRecord().line() + "\n";
  const std::string other = "/other/ks/t-1/bti-da_txn_compaction_00000000-0000-1000-8000-000000000001.log";
  ASSERT_TRUE(disk.make_directories("/other/ks/t-1").ok());
  write(kLog, removal + last);
  write(other, removal.substr(0, 9));
  for (const auto& copies : {std::vector<std::string>{kLog, other}, std::vector<std::string>{other, kLog}}) {
    const auto log = TransactionLog::read(disk, copies);
    ASSERT_TRUE(log.ok()) << log.error().message();
    EXPECT_TRUE(log->is_committed());
  }
}

EngineOptions with_two_directories() {
  EngineOptions options;
  options.data_directories = {"/data", "/more"};
  return options;
}

// One or two directories with an SSTable each, and a transaction that replaces them, on disks of its own.
class OneTransaction {
 public:
  OneTransaction(uint64_t seed, size_t directories)
      : node_(seed, 1, with_two_directories()), faults_(node_.machine().faults()) {
    places_ = {"/data/ks/x-1", "/more/ks/x-1"};
    places_.resize(directories);
    for (const std::string& place : places_) CHECK(node_.disk().make_directories(place).ok());
    for (const char* path : {"/", "/data", "/data/ks", "/more", "/more/ks"}) {
      if (node_.disk().exists(path)) CHECK(node_.run(node_.disk().sync_directory(path)).ok());
    }
    for (const std::string& place : places_) old_.push_back(put(place, "1"));
  }

  // False: all of it was done before the fault came, as which every operation fails from `operations` on.
  bool run_until(uint64_t operations) {
    faults_.fault = SimFaults::Fault::kAllAfter;
    faults_.operations_until_fault = operations;
    SSTableTransaction transaction(node_.disk(), "compaction", Uuid::name_based("x"));
    if (commit(&transaction).ok()) static_cast<void>(node_.run(transaction.finish()));
    return end_faults();
  }
  // COMMIT fails, and the transaction is aborted until every operation fails. False: it came to its end before.
  bool abort_until(CommitFault fault, uint64_t operations) {
    FailedCommit disk(node_.disk(), faults_, fault, operations);
    SSTableTransaction transaction(disk, "compaction", Uuid::name_based("x"));
    EXPECT_FALSE(commit(&transaction).ok());
    const bool came = !node_.run(transaction.abort()).ok();
    end_faults();
    is_in_doubt_ = transaction.is_in_doubt();
    return came;
  }
  bool is_in_doubt() const { return is_in_doubt_; }
  // The process is killed; its next start comes so far. False: it came to its end.
  bool restart_until(uint64_t operations) {
    node_.kill();
    faults_.operations_until_fault = operations;
    static_cast<void>(node_.boot());
    return end_faults();
  }
  Lines files_after_power_cut() {
    node_.crash();
    EXPECT_TRUE(node_.boot()) << node_.error();
    Lines names;
    for (const std::string& place : places_) {
      const auto entries = node_.disk().list(place).value();
      for (const DirectoryEntry& entry : entries) names.push_back(entry.name);
    }
    return names;
  }

 private:
  Status commit(SSTableTransaction* transaction) {
    for (const std::string& place : places_) {
      TRY(node_.run(transaction->add({place, "da", "bti", "2"})));
      put(place, "2");
    }
    return node_.run(transaction->commit(old_));
  }
  SSTableDescriptor put(const std::string& place, const std::string& id) {
    SSTableDescriptor sstable{place, "da", "bti", id};
    for (const char* component : {"TOC.txt", "Data.db"}) {
      auto file = node_.disk().create(sstable.file(component));
      if (file.ok() && (*file)->append("x").ok()) static_cast<void>(node_.run((*file)->sync()));
    }
    static_cast<void>(node_.run(node_.disk().sync_directory(place)));
    return sstable;
  }
  bool end_faults() {
    const bool came = !faults_.operations_until_fault || *faults_.operations_until_fault == 0;
    faults_.operations_until_fault.reset();
    return came;
  }

  Node node_;
  SimFaults& faults_;
  std::vector<std::string> places_;
  std::vector<SSTableDescriptor> old_;
  bool is_in_doubt_ = false;
};

Lines files_of(const std::string& id, size_t directories) {
  Lines names;
  for (size_t i = 0; i < directories; ++i) {
    for (const char* component : {"Data.db", "TOC.txt"}) names.push_back("da-" + id + "-bti-" + component);
  }
  return names;
}

// Wherever the power goes, the table has its old SSTables or its new ones.
TEST_F(TransactionLogTest, ATransactionIsDoneOrNotAtEveryOperation) {
  for (const size_t directories : {1u, 2u}) {
    const Lines before = files_of("1", directories), after = files_of("2", directories);
    int undone = 0, done = 0;
    bool came = true;
    for (uint64_t operations = 0; came; ++operations) {
      OneTransaction transaction(operations + 1, directories);
      came = transaction.run_until(operations);
      const Lines names = transaction.files_after_power_cut();
      ASSERT_TRUE(names == before || names == after) << operations << ": " << testing::PrintToString(names);
      (names == before ? undone : done) += 1;
    }
    EXPECT_GT(undone, 10);
    EXPECT_GT(done, 3);
  }
}

// The sync that fails may be the one of COMMIT: the next start finds the line, and the disk never got it.
TEST_F(TransactionLogTest, AStartAfterAFailedSyncDoesAllOfItOrNothing) {
  for (const size_t directories : {1u, 2u}) {
    const Lines before = files_of("1", directories), after = files_of("2", directories);
    bool came = true;
    for (uint64_t operations = 0; came; ++operations) {
      bool start_came = true;
      for (uint64_t later = 0; start_came; ++later) {
        OneTransaction transaction(1000 * operations + later + 1, directories);
        came = transaction.run_until(operations);
        start_came = transaction.restart_until(later);
        const Lines names = transaction.files_after_power_cut();
        ASSERT_TRUE(names == before || names == after)
            << operations << ", " << later << ": " << testing::PrintToString(names);
      }
    }
  }
}

// While it is in doubt the new SSTables may be there after a power cut, and from then on the old ones are.
TEST_F(TransactionLogTest, ACommitThatFailsIsTakenBackAsAWhole) {
  for (const size_t directories : {1u, 2u}) {
    for (CommitFault fault : {CommitFault::kDiskFull, CommitFault::kSync}) {
      const Lines before = files_of("1", directories), after = files_of("2", directories);
      bool came = true;
      uint64_t operations = 0;
      for (; came; ++operations) {
        OneTransaction transaction(operations + 1, directories);
        came = transaction.abort_until(fault, operations);
        const Lines names = transaction.files_after_power_cut();
        ASSERT_TRUE(names == before || (transaction.is_in_doubt() && names == after))
            << operations << ": " << testing::PrintToString(names);
      }
      EXPECT_GT(operations, 4u * directories);
    }
  }
}

}  // namespace
}  // namespace cassandra_like::storage_test
