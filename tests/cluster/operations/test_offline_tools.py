"""The offline tools on the directory of a node that was stopped."""
import os
import subprocess
import time

import pytest
from cassandra.cluster import Cluster

from node import BUILD, Node


class Offline(Node):
    def tool(self, name, *arguments):
        done = subprocess.run([BUILD / name, *map(str, arguments)], capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, CASSANDRA_CONF=str(self.config)))
        return done.returncode, done.stdout, done.stderr

    def execute(self, *statements):
        with Cluster([self.address]) as cluster:
            session = cluster.connect()
            return [list(session.execute(statement)) for statement in statements]

    def directory(self, table):
        [directory] = (self.home / "data/ks").glob(f"{table}-*")
        return directory


@pytest.fixture
def node():
    node = Offline("127.0.0.44", shards=1, settings={"autocompaction_on_startup_enabled": "false"})
    node.start()
    node.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    yield node
    node.destroy()


def test_sstableutil_lists_the_files_of_the_table_that_the_schema_has(node):
    create = "CREATE TABLE ks.t (k int PRIMARY KEY)"
    node.execute(create, "INSERT INTO ks.t (k) VALUES (1)", "DROP TABLE ks.t", create, "INSERT INTO ks.t (k) VALUES (2)")
    node.nodetool("flush")
    [[table_id]] = node.execute("SELECT id FROM system_schema.tables WHERE keyspace_name = 'ks' AND table_name = 't'")[0]
    assert node.stop() == 0
    directory = node.home / "data/ks" / f"t-{table_id.hex}"
    files = sorted(str(file) for file in directory.iterdir() if file.is_file())
    assert any(file.endswith("-Data.db") for file in files)
    assert node.tool("sstableutil", "ks", "t") == (0, "\n".join(["Listing files...", *files, ""]), "")
    assert node.tool("sstableutil", "-t", "tmp", "ks", "t") == (0, "Listing files...\n", "")
    assert node.tool("sstableutil", "ks", "gone") == (1, "", "Unknown keyspace/table ks.gone\n")
    assert node.tool("sstableutil", "system", "local")[0] == 0


def test_sstablelevelreset_puts_all_sstables_on_level_0(node):
    node.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v text) WITH compaction = {'class': 'LeveledCompactionStrategy'}")
    for start in (0, 50):
        node.execute(*(f"INSERT INTO ks.t (k, v) VALUES ({k}, 'x')" for k in range(start, start + 50)))
        node.nodetool("flush", "ks", "t")
    node.nodetool("compact", "ks", "t")
    node.nodetool("flush")
    code, out, err = node.tool("sstablelevelreset", "--really-reset", "ks", "t")
    assert code == 1 and out == "" and f"cannot lock {node.home}/data: another process uses this directory" in err, err
    assert node.stop() == 0
    [data] = node.directory("t").glob("*-Data.db")
    reset = node.tool("sstablelevelreset", "--really-reset", "ks", "t")
    assert reset[0] == 0 and reset[1] == f"Changing level from 1 to 0 on {data}\n", reset
    again = node.tool("sstablelevelreset", "--really-reset", "ks", "t")
    assert again == (0, f"Skipped {data} since it is already on level 0\n", "")
    node.start()
    assert node.execute("SELECT count(*) FROM ks.t")[0][0].count == 100


def test_sstablerepairedset_gives_the_time_of_the_data(node):
    node.execute("CREATE TABLE ks.t (k int PRIMARY KEY)", "INSERT INTO ks.t (k) VALUES (1)")
    node.nodetool("flush", "ks", "t")
    assert node.stop() == 0
    [data] = node.directory("t").glob("*-Data.db")
    os.utime(data, (1709618828, 1709618828))
    assert node.tool("sstablerepairedset", "--really-set", "--is-repaired", data) == (0, "", "")
    assert "Repaired at: 1709618828000 (" in node.tool("sstablemetadata", data)[1]
    listed = node.home / "list"
    listed.write_text(f"{data}\n")
    assert node.tool("sstablerepairedset", "--really-set", "--is-unrepaired", "-f", listed) == (0, "", "")
    assert "Repaired at: 0\n" in node.tool("sstablemetadata", data)[1]
    node.start()
    assert node.execute("SELECT k FROM ks.t") == [[(1,)]]


def test_a_major_compaction_keeps_what_is_repaired_apart(node):
    node.execute("CREATE TABLE ks.t (k int PRIMARY KEY)")
    for k in range(4):
        node.execute(f"INSERT INTO ks.t (k) VALUES ({k})")
        node.nodetool("flush", "ks", "t")
    assert node.stop() == 0
    repaired = sorted(node.directory("t").glob("*-Data.db"))[:2]
    assert node.tool("sstablerepairedset", "--really-set", "--is-repaired", *repaired)[0] == 0
    node.start()
    node.nodetool("compact", "ks", "t")
    metadata = [node.tool("sstablemetadata", data)[1] for data in node.directory("t").glob("*-Data.db")]
    assert sorted("Repaired at: 0\n" in text for text in metadata) == [False, True]
    assert sorted(row.k for row in node.execute("SELECT k FROM ks.t")[0]) == [0, 1, 2, 3]


def test_sstableexpiredblockers_names_the_sstable_that_keeps_an_expired_one(node):
    node.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v int) WITH gc_grace_seconds = 0 AND compaction = "
                 "{'class': 'TimeWindowCompactionStrategy', 'enabled': false}")
    node.execute("INSERT INTO ks.t (k, v) VALUES (1, 1) USING TIMESTAMP 200 AND TTL 1")
    node.nodetool("flush", "ks", "t")
    [expired] = node.directory("t").glob("*-Data.db")
    node.execute("INSERT INTO ks.t (k, v) VALUES (2, 2) USING TIMESTAMP 100")
    node.nodetool("flush")
    time.sleep(3)
    assert node.stop() == 0
    [blocker] = [data for data in node.directory("t").glob("*-Data.db") if data != expired]
    code, out, err = node.tool("sstableexpiredblockers", "ks", "t")
    assert (code, err) == (0, "")
    assert out.startswith(f"[BtiTableReader:bti(path='{blocker}') (minTS = 100, maxTS = 100, maxLDT = 9223372036854775807)],  blocks 1 "
                          f"expired sstables from getting dropped: [BtiTableReader:bti(path='{expired}') (minTS = 200, maxTS = 200, maxLDT = ")
    assert out.endswith(")], \n\n")
    assert node.tool("sstableexpiredblockers", "ks", "gone")[0] == 1


def test_sstableverify_finds_a_flipped_bit_and_names_its_place(node):
    node.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v text)",
                 *(f"INSERT INTO ks.t (k, v) VALUES ({k}, '{'x' * k}')" for k in range(100)))
    node.nodetool("flush", "ks", "t")
    assert node.stop() == 0
    [data] = node.directory("t").glob("*-Data.db")
    name = f"BtiTableReader:bti(path='{data}')"
    head = [f"sstableverify using the following options: Options{{keyspaceName='ks', cfName='t', debug=false, verbose=false, "
            "extended=%s, checkVersion=false, mutateRepairStatus=false, quick=false, tokens=[%s]}",
            "Running verifier with the following options: Options{invokeDiskFailurePolicy=false, extendedVerification=%s, "
            "checkVersion=false, mutateRepairStatus=false, checkOwnsTokens=%s, quick=false}"]

    def verify(*options, extended="false", tokens=""):
        code, out, err = node.tool("sstableverify", "ks", "t", "-f", *options)
        lines = out.splitlines()
        assert lines[:2] == [head[0] % (extended, tokens), head[1] % (extended, "true" if tokens else "false")]
        assert lines[2].startswith(f"Verifying {name} (") and lines[3] == f"Deserializing sstable metadata for {name} "
        return code, lines[4:], err

    hashed = f"Checking computed hash of {name} "
    assert verify() == (0, [hashed], "")
    assert verify("-e", extended="true") == (0, [hashed, "Extended Verify requested, proceeding to inspect values",
                                                 f"Verify of {name} succeeded. All 100 rows read successfully"], "")
    invalid = f"WARNING: Error verifying {name}: java.lang.Exception: Invalid SSTable {data}, please force a full repair"
    code, lines, err = verify("-t", "0,1", tokens="(0,1]")
    assert code == 1 and "is not contained in the given ranges" in lines[0] and lines[1:] == [invalid] and err == "", lines

    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(content)
    code, lines, err = verify()
    assert code == 1 and lines == [f"WARNING: {data} at 0: a chunk whose checksum does not match", invalid] and err == "", lines
    (data.parent / data.name.replace("Data", "Statistics")).write_bytes(b"")
    code, out, err = node.tool("sstableverify", "-f", "ks", "t")
    assert code == 1 and err.startswith(f"Error Loading {str(data).removesuffix('-Data.db')}: "), err


def test_sstableverify_wants_to_be_forced(node):
    assert node.tool("sstableverify", "ks", "t")[0] == 1
    assert node.tool("sstableverify", "-f", "ks", "gone")[2] == "Unknown keyspace/table ks.gone\n"
    assert node.tool("sstableverify", "ks", "t", "-f", "-t", "1")[2] == (
        "Unable to parse token range from 1; format is left,right but saw 1 parts\n")
    # -t takes all words that follow it.
    assert node.tool("sstableverify", "-f", "-t", "0,1", "ks", "t")[2] == "Missing arguments\n"


def fill(node, rows=2000):
    node.execute("CREATE TABLE ks.t (k int, c int, v text, PRIMARY KEY (k, c)) WITH compression = {'enabled': false}",
                 *(f"INSERT INTO ks.t (k, c, v) VALUES ({n}, 1, '{'x' * 1500}{n}')" for n in range(rows)))
    node.nodetool("flush", "ks", "t")
    return count(node)


def count(node):
    with Cluster([node.address]) as cluster:
        return sorted(cluster.connect().execute("SELECT k, c, v FROM ks.t"))


def test_tools_that_write_know_a_schema_that_only_the_commit_log_has_and_wait_for_the_node(node):
    before = fill(node, 100)
    [data] = node.directory("t").glob("*-Data.db")
    for tool in (["sstableupgrade", "ks", "t"], ["sstablescrub", "ks", "t"], ["sstablesplit", data]):
        code, out, err = node.tool(*tool)
        assert (code, out) == (1, "") and f"cannot lock {node.home}/data: another process uses this directory" in err, (tool, err)
    node.kill()
    assert node.tool("sstableupgrade", "ks", "t") == (0, "Found 0 sstables that need upgrading.\n", "")
    node.config.write_text(node.config.read_text() + "storage_compatibility_mode: CASSANDRA_4\n")
    code, out, err = node.tool("sstableupgrade", "ks", "t")
    assert (code, err) == (0, "") and out.splitlines()[0] == "Found 1 sstables that need upgrading."
    [upgraded] = node.directory("t").glob("*-Data.db")
    assert upgraded.name.startswith("nb-") and not data.exists()
    node.start()
    assert count(node) == before


def test_sstablesplit_and_sstablescrub_of_a_node_with_shards(node):
    node.shards = 2
    node.restart()
    before = fill(node)
    assert node.stop() == 0
    files = sorted(node.directory("t").glob("*-Data.db"))
    assert len(files) == 2  # of each shard
    code, out, err = node.tool("sstablesplit", "-s", "1", "--no-snapshot", *files)
    assert (code, out, err) == (0, "", "")
    split = sorted(node.directory("t").glob("*-Data.db"))
    assert len(split) == 4 and not set(split) & set(files)
    code, out, err = node.tool("sstablescrub", "ks", "t")
    assert (code, err) == (0, "") and out.count(" complete: ") == 4, out
    assert not list(node.directory("t").glob("*.log"))
    node.start()
    assert count(node) == before
    assert len(list(node.directory("t").glob("*-Data.db"))) == 4  # each is still one shard's
