"""The daemon and nodetool as an operator meets them."""
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest
from cassandra import InvalidRequest
from cassandra.cluster import Cluster, NoHostAvailable

from node import BUILD, ROOT, Node

ADDRESS = "127.0.0.44"


@pytest.fixture(scope="module")
def node():
    node = Node(ADDRESS)
    node.first_start = node.start()
    yield node
    node.destroy()


def daemon(*arguments, text=None, tmp_path=None):
    if text is not None:
        file = tmp_path / "cassandra.yaml"
        file.write_text(text)
        arguments = ("-c", str(file), *arguments)
    return subprocess.run([BUILD / "cassandra-like", *arguments], capture_output=True, text=True, timeout=30)


def test_it_starts_in_a_third_of_a_second_and_stays_small(node):
    assert node.first_start < 0.3
    time.sleep(1)
    assert node.memory_kib() < 60 * 1024


def test_the_log_has_the_lines_that_tools_wait_for(node):
    log = (node.home / "logs" / "system.log").read_text()
    assert f"Starting listening for CQL clients on /{ADDRESS}:9042" in log
    assert "ERROR" not in log


def test_a_second_node_on_the_same_directory_is_refused(node):
    second = subprocess.run([BUILD / "cassandra-like", "-c", node.config], capture_output=True, text=True, timeout=30, cwd=node.home)
    assert second.returncode in (1, 3)
    assert len(second.stderr.strip().splitlines()) == 1 and str(node.home) in second.stderr


def test_help_version_and_check(tmp_path):
    assert daemon("--help").returncode == 0
    assert "5.0" in daemon("--version").stdout
    assert daemon("--no-such-option").returncode == 3
    assert daemon("--check", "-c", str(ROOT / "conf" / "node.yaml")).returncode == 0


@pytest.mark.parametrize("text, line, words", [
    ("cluster_name: x\nno_such_key: 1\n", 2, "no_such_key"),
    ("native_transport_port: many\n", 1, "native_transport_port"),
    ("commitlog_sync: sometimes\n", 1, "commitlog_sync"),
])
def test_a_mistake_in_the_configuration_is_one_line_with_its_place(tmp_path, text, line, words):
    done = daemon(text=text, tmp_path=tmp_path)
    assert done.returncode == 3
    message = done.stderr.strip()
    assert len(message.splitlines()) == 1 and f"cassandra.yaml:{line}" in message and words in message


def test_an_unusable_directory_and_a_port_in_use(node, tmp_path):
    done = daemon(text=f"commitlog_directory: {tmp_path}/c\ndata_file_directories: [/proc/nothing]\n", tmp_path=tmp_path)
    assert done.returncode == 3 and "cassandra.yaml:2: data_file_directories: cannot create the directory /proc/nothing" in done.stderr
    other = Node(ADDRESS, settings={"admin_port": 7299, "storage_port": 7099})
    try:
        with pytest.raises(RuntimeError, match=r"cassandra.yaml:\d+: rpc_address: cannot listen on .*: Address already in use: stop what"):
            other.process = None
            process = subprocess.run([BUILD / "cassandra-like", "-c", other.config], capture_output=True, text=True, timeout=30, cwd=other.home)
            assert process.returncode == 3
            raise RuntimeError(process.stderr)
    finally:
        other.destroy()


# A compaction takes the time that the disk needs, so it is asked for a keyspace without SSTables.
COMMANDS = """status, info, version, ring, describecluster, gossipinfo, statusgossip, netstats, flush, compact system_traces, compactionstats,
compactionhistory, statusautocompaction, tablestats, proxyhistograms, tpstats, clientstats, listsnapshots, getlogginglevels, statusbinary,
help""".replace("\n", " ").split(", ")


@pytest.mark.parametrize("command", COMMANDS)
def test_nodetool_answers_at_once(node, command):
    times = []
    for _ in range(5):
        began = time.time()
        assert node.nodetool(*command.split()).stderr == ""
        times.append(time.time() - began)
    assert min(times) < 0.05  # the others may have met another process


@pytest.mark.parametrize("words", ["repair", "setcachekeystosave", "decommission"])
def test_nodetool_says_what_it_cannot_do(node, words):
    done = node.nodetool(*words.split(), check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"nodetool: {words.split()[0]} is not supported yet\n")


def test_nodetool_changes_settings_of_the_running_node(node):
    for get, change, before, after in [
            ("gettimeout read", "settimeout read 4000", "Current timeout for type read: 5000 ms", "Current timeout for type read: 4000 ms"),
            ("gettimeout misc", "settimeout misc 9000", "Current timeout for type misc: 10000 ms", "Current timeout for type misc: 9000 ms"),
            ("getcolumnindexsize", "setcolumnindexsize 16", "Current value for column_index_size: -1 KiB", "Current value for column_index_size: 16 KiB"),
            ("getdefaultrf", "setdefaultrf 3", "1", "3"),
            ("getbatchlogreplaythrottle", "setbatchlogreplaythrottle 0", "Batchlog replay throttle: 1024 KB/s", "Batchlog replay throttle: 0 KB/s"),
            ("statusbackup", "enablebackup", "not running", "running")]:
        assert node.nodetool(*get.split()).stdout == before + "\n"
        assert node.nodetool(*change.split()).stdout == ""
        assert node.nodetool(*get.split()).stdout == after + "\n"
    assert node.nodetool("checktokenmetadata").stdout == "\n"
    for change in ("settimeout read 5000", "settimeout misc 10000", "setcolumnindexsize -1", "setdefaultrf 1", "setbatchlogreplaythrottle 1024", "disablebackup"):
        node.nodetool(*change.split())


def test_old_protocol_versions_may_be_refused(node):
    node.nodetool("disableoldprotocolversions")
    with pytest.raises(NoHostAvailable):
        Cluster([ADDRESS], protocol_version=4).connect()
    with Cluster([ADDRESS], protocol_version=5) as cluster:
        cluster.connect()
    node.nodetool("enableoldprotocolversions")
    with Cluster([ADDRESS], protocol_version=4) as cluster:
        cluster.connect()


def test_a_backup_is_imported(node, tmp_path):
    with Cluster([ADDRESS]) as cluster:
        session = cluster.connect()
        session.execute("CREATE KEYSPACE imported WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.execute("CREATE TABLE imported.t (k int PRIMARY KEY, v int)")
        session.execute("CREATE INDEX by_v ON imported.t (v)")
        node.nodetool("enablebackup")
        for k in range(100):
            session.execute("INSERT INTO imported.t (k, v) VALUES (%s, %s)", (k, k % 2))
        node.nodetool("flush", "imported", "t")
        node.nodetool("disablebackup")
        [line] = [line for line in node.nodetool("datapaths", "imported.t").stdout.splitlines() if line.startswith("\t\t")]
        backup = tmp_path / "backup"
        shutil.copytree(pathlib.Path(line.strip()) / "backups", backup, ignore=shutil.ignore_patterns(".*"))
        session.execute("TRUNCATE imported.t")
        session.execute("INSERT INTO imported.t (k, v) VALUES (1000, 1)")
        assert node.nodetool("import", "imported", "t", str(backup)).stdout == ""
        assert list(backup.iterdir()) == []
        assert len(list(session.execute("SELECT k FROM imported.t"))) == 101
        assert len(list(session.execute("SELECT k FROM imported.t WHERE v = 1"))) == 51
        refused = node.nodetool("import", "imported", "t", "/nosuch", check=False)
        assert (refused.returncode, refused.stderr) == (2, "error: Directory /nosuch does not exist\n")


NETSTATS = """Mode: {}
Not sending any streams.
Read Repair Statistics:
Attempted: 0
Mismatch (Blocking): 0
Mismatch (Background): 0
Pool Name                    Active   Pending      Completed   Dropped
Large messages                  n/a         0              0         0
Small messages                  n/a         0              0         0
Gossip messages                 n/a         0              0         0
"""


def netstats(node):
    """The node has asked itself for its schema's version, if others have called describecluster."""
    return re.sub(r"(?m)^(Small messages .*?) *\d+( +0)$", r"\1              0\2", node.nodetool("netstats").stdout)


def test_netstats_and_statusgossip(node):
    assert netstats(node) == NETSTATS.format("NORMAL")
    assert node.nodetool("statusgossip").stdout == "running\n"
    node.nodetool("disablegossip")
    assert node.nodetool("statusgossip").stdout == "not running\n"
    node.nodetool("enablegossip")
    assert node.nodetool("statusgossip").stdout == "running\n"


def test_describering(node):
    cluster = Cluster([ADDRESS])
    row = cluster.connect().execute("SELECT tokens, schema_version FROM system.local").one()
    cluster.shutdown()
    tokens = sorted(map(int, row.tokens))
    for options, host, native in ((), ADDRESS, ADDRESS), (("-pp",), f"{ADDRESS}:7000", f"{ADDRESS}:9042"):
        ranges = "".join(
            f"\tTokenRange(start_token:{start}, end_token:{end}, endpoints:[{host}], rpc_endpoints:[{native}], "
            f"endpoint_details:[EndpointDetails(host:{host}, datacenter:datacenter1, rack:rack1)])\n"
            for start, end in zip(tokens[-1:] + tokens, tokens))
        assert node.nodetool(*options, "describering", "system_auth").stdout == f"Schema Version:{row.schema_version}\nTokenRange: \n{ranges}"
    for keyspace, error in ("system", "There is no ring for the keyspace: system"), ("nosuch", "No such keyspace: nosuch"):
        done = node.nodetool("describering", keyspace, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (2, f"Schema Version:{row.schema_version}\nTokenRange: \n", f"error: {error}\n")


def history_text(rows):
    """What nodetool compactionhistory prints of rows of system.compaction_history."""
    table = ["id keyspace_name columnfamily_name compacted_at bytes_in bytes_out rows_merged compaction_properties".split()]
    for row in sorted(rows, key=lambda row: row.compacted_at, reverse=True):
        at = row.compacted_at.isoformat(timespec="milliseconds").removesuffix(".000")
        merged = ", ".join(f"{sstables}:{partitions}" for sstables, partitions in row.rows_merged.items())
        table.append([str(row.id), row.keyspace_name, row.columnfamily_name, at, str(row.bytes_in), str(row.bytes_out),
                      "{" + merged + "}", "{compaction_type:" + row.compaction_properties["compaction_type"] + "}"])
    widths = [max(map(len, column)) for column in zip(*table)]
    return "Compaction History: \n" + "".join(" ".join(map(str.ljust, line, widths)) + "\n" for line in table)


def test_compactions_are_remembered(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    node = Node("127.0.0.51", shards=1)
    try:
        node.start()
        assert node.nodetool("compactionhistory").stdout == "Compaction History: \nThere is no compaction history"
        assert json.loads(node.nodetool("compactionhistory", "-F", "json").stdout) == {}
        cluster = Cluster([node.address])
        session = cluster.connect()
        session.execute("CREATE KEYSPACE ops WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        for table in "first", "second":
            session.execute(f"CREATE TABLE ops.{table} (k int, c int, v text, PRIMARY KEY (k, c))")
            for flush in range(3):
                for k in range(flush * 2, 10):
                    session.execute(f"INSERT INTO ops.{table} (k, c, v) VALUES ({k}, {flush}, '{'x' * k}')")
                node.nodetool("flush", "ops", table)
            size = sum(data.stat().st_size for data in (node.home / "data" / "ops").glob(f"{table}-*/da-*-Data.db"))
            node.nodetool("compact", "ops", table)
            (data,) = (node.home / "data" / "ops").glob(f"{table}-*/da-*-Data.db")
            row = session.execute(f"SELECT * FROM system.compaction_history WHERE columnfamily_name = '{table}' ALLOW FILTERING").one()
            assert (row.bytes_in, row.bytes_out) == (size, data.stat().st_size)
            assert dict(row.rows_merged) == {1: 2, 2: 2, 3: 6}
            time.sleep(0.002)  # records are in order of milliseconds
        rows = list(session.execute("SELECT * FROM system.compaction_history"))
        cluster.shutdown()
        assert [row.columnfamily_name for row in sorted(rows, key=lambda row: row.compacted_at)] == ["first", "second"]
        assert node.nodetool("compactionhistory").stdout == history_text(rows)
        node.kill()
        node.start()
        assert node.nodetool("compactionhistory").stdout == history_text(rows)
        node.nodetool("drain")
        assert netstats(node) == NETSTATS.format("DRAINED")
        assert node.nodetool("compactionhistory").stdout == history_text(rows)
    finally:
        node.destroy()


def test_statusautocompaction(node):
    tables = "cidr_groups cidr_permissions identity_to_role network_permissions resource_role_permissons_index role_members role_permissions roles"
    lines = [("Keyspace", "Table", "Status"), *(("system_auth", table, "running") for table in tables.split())]
    whole = "".join(f"{keyspace:11} {table:30} {status:7}\n" for keyspace, table, status in lines)
    assert node.nodetool("statusautocompaction", "-a", "system_auth").stdout == whole
    assert node.nodetool("statusautocompaction").stdout == "running\n"
    done = node.nodetool("statusautocompaction", "system_auth", "nosuch", check=False)
    assert done.returncode == 1 and done.stdout.startswith("nodetool: Unknown keyspace/cf pair (system_auth.nosuch)\n")


def test_views_are_described_as_cassandra_describes_them(node):
    cluster = Cluster([ADDRESS])
    session = cluster.connect()
    tables = "internode_inbound internode_outbound max_sstable_size streaming system_logs".split()
    described = "".join(session.execute(f"DESCRIBE TABLE system_views.{table}").one().create_statement + "\n" for table in tables)
    cluster.shutdown()
    assert described == (pathlib.Path(__file__).parent / "views.cql").read_text()


def test_snapshots(node):
    node.nodetool("snapshot", "-t", "mine", "system_schema")
    assert "mine" in node.nodetool("listsnapshots").stdout
    node.nodetool("clearsnapshot", "-t", "mine")
    assert "mine" not in node.nodetool("listsnapshots").stdout


def test_disablebinary_and_enablebinary(node):
    node.nodetool("disablebinary")
    assert "not running" in node.nodetool("statusbinary").stdout
    node.nodetool("enablebinary")
    cluster = Cluster([ADDRESS])
    cluster.connect()
    cluster.shutdown()


def test_getendpoints_and_levels(node):
    assert node.nodetool("getendpoints", "system", "local", "local").stdout.strip() == ADDRESS
    node.nodetool("setlogginglevel", "commit_log", "DEBUG")
    assert "commit_log" in node.nodetool("getlogginglevels").stdout


def test_prometheus_metrics(node):
    import urllib.request
    text = urllib.request.urlopen(f"http://{ADDRESS}:7199/metrics", timeout=5).read().decode()
    assert "# TYPE" in text and "_bucket{" in text


def test_traces_and_dropped_tables_say_what_they_were(node):
    cluster = Cluster([ADDRESS])
    session = cluster.connect()
    session.execute("CREATE KEYSPACE traced WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    session.execute("CREATE TABLE traced.t (k int PRIMARY KEY, v text)")
    text = "SELECT v FROM traced.t WHERE k = ?"
    trace = session.execute(session.prepare(text), (1,), trace=True).get_query_trace(max_wait_sec=10)
    assert trace.parameters["query"] == text and trace.parameters["bound_var_0_k"] == "1"
    # cqlsh puts the request's end at started_at + duration: no event comes after it.
    assert all(event.datetime.replace(tzinfo=None) < trace.started_at + trace.duration for event in trace.events)
    assert session.execute("DESCRIBE CLUSTER").one().snitch == "DynamicEndpointSnitch"
    session.set_keyspace("traced")
    owners = session.execute("DESCRIBE CLUSTER").one().range_ownership
    assert {name for names in owners.values() for name in names} == {f"/{ADDRESS}:7000"}
    session.execute("DROP TABLE traced.t")
    (schema,) = (node.home / "data" / "traced").glob("t-*/snapshots/dropped-*-t/schema.cql")
    assert "CREATE TABLE IF NOT EXISTS traced.t (" in schema.read_text()
    session.execute("DROP KEYSPACE traced")
    cluster.shutdown()


def test_a_statement_has_at_most_65535_markers(node):
    cluster = Cluster([ADDRESS])
    session = cluster.connect()
    text = "SELECT key FROM system.local WHERE key IN ({})"
    assert len(session.prepare(text.format(",".join("?" * 65535))).column_metadata) == 65535
    words = r"Too many markers\(\?\). 65536 markers exceed the allowed maximum of 65535"
    with pytest.raises(InvalidRequest, match=words):
        session.prepare(text.format(",".join("?" * 65536)))
    cluster.shutdown()


def test_sizes_are_estimated_for_readers_of_whole_tables(node):
    cluster = Cluster([ADDRESS])
    session = cluster.connect()
    session.execute("CREATE KEYSPACE sized WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    session.execute("CREATE TABLE sized.t (k int PRIMARY KEY, v text)")
    insert = session.prepare("INSERT INTO sized.t (k, v) VALUES (?, ?)")
    for k in range(1000):
        session.execute(insert, (k, "x" * 100))
    node.nodetool("flush", "sized")
    node.nodetool("refreshsizeestimates")
    select = "SELECT * FROM system.{} WHERE keyspace_name = 'sized'"
    rows = list(session.execute(select.format("size_estimates")))
    assert len(rows) == 17  # 16 tokens; one range wraps around
    # Cassandra's estimate: bytes of the range by a mean that its histogram rounds up, by a fifth at most.
    assert 1000 / 1.2 < sum(row.partitions_count for row in rows) <= 1000
    tokens = [row[0] for row in session.execute("SELECT token(k) FROM sized.t")]
    # A range at an end of the ring may have no key: no SSTable reaches into it, and both figures are zero.
    minimum = -(2**63)
    for row in rows:
        start, end = int(row.range_start), int(row.range_end)
        has_keys = any(start < token and (token <= end or end == minimum) for token in tokens)
        assert 100 < row.mean_partition_size < 200 or not has_keys and row[4:] == (0, 0), row
    assert len(list(session.execute(select.format("table_estimates")))) == 34
    session.execute("DROP TABLE sized.t")
    for _ in range(50):
        if not list(session.execute(select.format("size_estimates"))):
            break
        time.sleep(0.1)
    assert not list(session.execute(select.format("size_estimates")))
    assert not list(session.execute(select.format("table_estimates")))
    session.execute("DROP KEYSPACE sized")
    cluster.shutdown()


def test_the_log_tells_what_operators_look_for(node):
    cluster = Cluster([ADDRESS])
    session = cluster.connect()
    log = node.home / "logs" / "system.log"
    began = len(log.read_text())
    session.execute("CREATE KEYSPACE told WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    session.execute("CREATE TABLE told.t (k int, c int, v text, PRIMARY KEY (k, c))")
    part = "INSERT INTO told.t (k, c, v) VALUES ({}, 1, '" + "x" * 1000 + "');"
    for count in (10, 10, 60):
        try:
            session.execute("BEGIN UNLOGGED BATCH " + "".join(part.format(k) for k in range(count)) + " APPLY BATCH")
        except InvalidRequest as error:
            assert count == 60 and "Batch too large" in str(error)
    for c in range(1200):
        session.execute(f"DELETE FROM told.t WHERE k = 7 AND c = {c}")
    for _ in range(100):
        session.execute("SELECT * FROM told.t WHERE k = 7")
    node.nodetool("flush", "told")
    node.nodetool("snapshot", "-t", "told", "told")
    session.execute("INSERT INTO told.t (k, c) VALUES (7, 7)")
    node.nodetool("flush", "told")
    node.nodetool("compact", "told")
    session.execute("TRUNCATE told.t")
    session.execute("DROP KEYSPACE told")
    text = log.read_text()[began:]
    for words in (r"CREATE KEYSPACE told: done for anonymous at 127\.[0-9.]+:\d+", r"CREATE TABLE told\.t: done for",
                  r"WARN .*Batch for \[told\.t\] is of size \d+\.\d+KiB, exceeding specified threshold of 5\.000KiB by",
                  r"ERROR .*Batch for \[told\.t\] is of size .*50\.000KiB by .*\(see batch_size_fail_threshold\)",
                  r"Read 0 live rows and 1200 tombstone cells for query SELECT \* FROM told\.t WHERE k = 7.*; token -?\d+",
                  r"Completed flushing told\.t: \d+ partitions", r"Created snapshot told of told\.t",
                  r"Compacted \d+ sstables of told\.t", r"Truncating told\.t, as anonymous at", r"Truncate of told\.t is complete",
                  r"DROP KEYSPACE told: done for"):
        assert re.search(words, text), words + "\n" + text
    assert text.count("tombstone cells") == 10, "one client must not flood the log"
    cluster.shutdown()


def test_the_log_tells_how_much_a_start_has_replayed():
    node = Node("127.0.0.45")
    try:
        node.start()
        cluster = Cluster([node.address])
        session = cluster.connect()
        session.execute("CREATE KEYSPACE again WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.execute("CREATE TABLE again.t (k int PRIMARY KEY)")
        for k in range(50):
            session.execute(f"INSERT INTO again.t (k) VALUES ({k})")
        cluster.shutdown()
        node.kill()
        log = node.home / "logs" / "system.log"
        began = len(log.read_text())
        node.start()
        wait_for_all_shards(node)
        told = re.findall(r"Log replay complete, (\d+) replayed mutations in \d+ ms, from segments of \d+\.\d+[KM]iB", log.read_text()[began:])
        assert sum(map(int, told)) >= 50, log.read_text()[began:]
    finally:
        node.destroy()


def test_off_loopback_the_admin_port_needs_passwords(tmp_path):
    done = daemon("--check", text="admin_address: 0.0.0.0\n", tmp_path=tmp_path)
    assert done.returncode == 3 and "cassandra.yaml:1: admin_address: 0.0.0.0 can be reached from other machines" in done.stderr
    assert "authenticator: PasswordAuthenticator" in done.stderr
    assert daemon("--check", text="admin_address: 0.0.0.0\nauthenticator: PasswordAuthenticator\n", tmp_path=tmp_path).returncode == 0
    node = Node("127.0.0.46", settings={"admin_address": "0.0.0.0", "admin_port": 7298, "authenticator": "PasswordAuthenticator"})
    try:
        node.start()
        def ask(*words):
            return subprocess.run([BUILD / "nodetool", "-h", "127.0.0.46", "-p", "7298", *words], capture_output=True, text=True, timeout=60)
        assert "Credentials required" in ask("statusbinary").stderr
        wrong = ask("-u", "cassandra", "-pw", "no", "drain")
        assert wrong.returncode == 1 and "are incorrect" in wrong.stderr
        right = ask("-u", "cassandra", "-pw", "cassandra", "statusbinary")
        assert (right.returncode, right.stdout) == (0, "running\n")
    finally:
        node.destroy()


def test_a_snapshot_may_expire(node):
    assert "at least 60 seconds" in node.nodetool("snapshot", "-t", "x", "--ttl", "5s", "system_schema", check=False).stdout
    node.nodetool("snapshot", "-t", "brief", "--ttl", "2h", "-sf", "system_schema")
    listed = [line for line in node.nodetool("listsnapshots").stdout.splitlines() if line.startswith("brief")]
    created, expires = (datetime.datetime.fromisoformat(time.rstrip("Z")) for time in listed[0].split()[-2:])
    assert expires - created == datetime.timedelta(hours=2)
    node.nodetool("clearsnapshot", "-t", "brief")


def supported(address, port, source_port):
    """What OPTIONS is answered on a connection from a port of our choice."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((address, source_port))
        s.connect((address, port))
        s.sendall(bytes([4, 0, 0, 0, 5, 0, 0, 0, 0]))
        stream = s.makefile("rb")
        body = stream.read(int.from_bytes(stream.read(9)[5:], "big"))
    at = 2

    def string():
        nonlocal at
        size = int.from_bytes(body[at:at + 2], "big")
        at += 2 + size
        return body[at - size:at].decode()

    options = {}
    for _ in range(int.from_bytes(body[:2], "big")):
        name = string()
        at += 2
        options[name] = [string() for _ in range(int.from_bytes(body[at - 2:at], "big"))]
    return options


def wait_for_all_shards(node):
    """The first one that listens answers already."""
    deadline = time.time() + 10
    log = node.home / "logs" / "system.log"
    while not log.exists() or "Startup complete" not in log.read_text():
        assert time.time() < deadline
        time.sleep(0.01)


def test_drivers_may_choose_the_shard_by_their_port():
    address = "127.0.0.49"
    node = Node(address, shards=3, settings={"enable_shard_aware_drivers": "true"})
    try:
        node.start()
        wait_for_all_shards(node)
        first = 20000 + os.getpid() % 1000 * 8  # not those of a run that has just ended
        for port in range(first, first + 6):
            options = supported(address, 19042, port)
            assert options["SCYLLA_SHARD"] == [str(port % 3)]
        assert options["SCYLLA_NR_SHARDS"] == ["3"] and options["SCYLLA_SHARD_AWARE_PORT"] == ["19042"]
        assert options["SCYLLA_SHARDING_ALGORITHM"] == ["biased-token-round-robin"]
        assert options["SCYLLA_SHARDING_IGNORE_MSB"] == ["12"]
        assert "SCYLLA_SHARD" in supported(address, 9042, first + 6)
    finally:
        node.destroy()


def test_whoever_loses_a_connection_to_a_stopping_node_is_not_accepted_again():
    address = "127.0.0.50"
    node = Node(address, shards=4)

    def connect_when_lost(connection):
        assert connection.recv(1) == b""
        try:
            socket.create_connection((address, 9042)).close()
            return "accepted"
        except ConnectionRefusedError:
            return "refused"

    try:
        node.start()
        connections = [socket.create_connection((address, 9042)) for _ in range(40)]
        with concurrent.futures.ThreadPoolExecutor(len(connections)) as threads:
            outcomes = threads.map(connect_when_lost, connections)
            assert node.stop() == 0
            assert list(outcomes) == ["refused"] * len(connections)
    finally:
        node.destroy()


def test_what_a_node_is_stays_as_it_was():
    node = Node("127.0.0.45")
    try:
        node.start()
        assert node.stop() == 0
        text = node.config.read_text()
        for change, error in ((("cluster_name: Test Cluster", "cluster_name: Another"), "Saved cluster name Test Cluster != configured name Another"),
                              (("num_tokens: 16", "num_tokens: 8"), "Cannot change the number of tokens from 16 to 8")):
            node.config.write_text(text.replace(*change))
            done = daemon("-c", str(node.config))
            assert (done.returncode, done.stderr) == (3, f"cassandra-like: {error}\n")
    finally:
        node.destroy()


def test_sigterm_drains_and_exits_with_zero():
    node = Node("127.0.0.45")
    try:
        node.start()
        assert node.stop() == 0
        assert "DRAINED" in (node.home / "logs" / "system.log").read_text()
        node.start()
        assert node.nodetool("stopdaemon").returncode == 0
        assert node.process.wait(20) == 0
    finally:
        node.destroy()
