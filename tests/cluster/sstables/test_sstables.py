"""Cassandra's own tools, and Cassandra itself, on the data directory that a node of ours left; and back again."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.query import tuple_factory

from jvm import SETTINGS, Jvm
from node import BUILD, ROOT, Node

sys.path.append(str(ROOT / "tests" / "sstable"))
from shapes import CASES, RANDOM, WIDE, Case, Filler, fill_many, fill_random, fill_simple, fill_wide  # noqa: E402

KEYSPACE = "shapes"
MORE = [
    Case("several_files", "id int PRIMARY KEY, v text, w int", fill=fill_simple),
    Case("indexed", "id int PRIMARY KEY, v text, w int", fill=fill_simple),
    Case("long", WIDE, "CLUSTERING ORDER BY (a ASC, b DESC)", fill=fill_wide(4000)),
    Case("compacted", RANDOM, "compression = {'class': 'ZstdCompressor', 'chunk_length_in_kb': 4}", fill=fill_random, rewrite=True),
    Case("many_keys", "id text PRIMARY KEY, v int", fill=fill_many(10000)),
]
TABLES = [case for case in CASES if not case.large] + MORE


def connect(address):
    profile = ExecutionProfile(row_factory=tuple_factory, request_timeout=60)
    cluster = Cluster([address], execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    return cluster, cluster.connect()


def contents(address):
    """Every row of every table, as text."""
    cluster, session = connect(address)
    try:
        return {case.name: [repr(row) for row in session.execute(f"SELECT * FROM {KEYSPACE}.{case.name}")] for case in TABLES}
    finally:
        cluster.shutdown()


def found_by_index(address, w):
    cluster, session = connect(address)
    try:
        return sorted(session.execute(f"SELECT id, v FROM {KEYSPACE}.indexed WHERE w = {w}"))
    finally:
        cluster.shutdown()


def fill(node):
    cluster, session = connect(node.address)
    session.execute(f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}")
    session.set_keyspace(KEYSPACE)
    filler = Filler(session)
    for case in TABLES:
        filler.create(case)
        if case.name == "indexed":
            session.execute("CREATE INDEX by_w ON indexed (w)")
        filler.fill(case)
        node.nodetool("flush", KEYSPACE, case.name)
        if case.name == "several_files":
            for p in (2, 3):
                session.execute(f"UPDATE {case.name} USING TIMESTAMP 9000000 SET v = 'of a later file' WHERE id = {p}")
                session.execute(f"DELETE FROM {case.name} USING TIMESTAMP 9000000 WHERE id = {p + 30}")
                node.nodetool("flush", KEYSPACE, case.name)
        if case.rewrite:
            node.nodetool("compact", KEYSPACE, case.name)
        for ddl in case.after:
            session.execute(ddl.format(t=case.name))
    cluster.shutdown()


@pytest.fixture(scope="module", params=SETTINGS)
def node(request):
    """A node that filled all tables and has ended; node.contents and node.found are what it answered."""
    settings = SETTINGS[request.param]
    node = Node("127.0.0.48", settings={key: json.dumps(value) for key, value in settings.items()})
    node.settings, node.version = settings, request.param
    try:
        node.start()
        fill(node)
        node.contents = contents(node.address)
        node.found = found_by_index(node.address, 140)
        assert node.found == [(20, "value 20")]
        assert node.stop() == 0
        yield node
    finally:
        node.destroy()


def data_files(node):
    """Those of hidden tables of indexes are of a form of our own."""
    version, format = node.version.split("-")
    return sorted((node.home / "data").glob(f"*/*/{version}-*-{format}-Data.db"))


def table_of(data_file):
    directory = data_file.parent
    return directory.parent.name, directory.name.rsplit("-", 1)[0]


def test_sstableverify_and_sstabledump_accept_every_file(node):
    files = data_files(node)
    tables = sorted({table_of(file) for file in files})
    assert {table for keyspace, table in tables if keyspace == KEYSPACE} == {case.name for case in TABLES}
    tools = Jvm(node.home / "tools", node.home / "data", node.address, node.settings)
    verify = [["org.apache.cassandra.tools.StandaloneVerifier", "-f", "-e", "-c", *table] for table in tables]
    dump = [["org.apache.cassandra.tools.SSTableExport", file, "-t"] for file in files]
    answers = tools.tools(verify + dump)
    for call, (code, text) in zip(verify, answers):
        assert code == 0 and "rror" not in text, (call, text)
        assert "Verifying" in text, (call, text)
    for call, (code, text) in zip(dump, answers[len(verify):]):
        assert code == 0, (call, text)
        partitions = json.loads(text[text.index("["):])
        assert partitions and all(p["rows"] or "deletion_info" in p["partition"] for p in partitions), call
    print(f"{len(tables)} tables, {len(files)} files")


# The tools that write, and Cassandra's classes. The configuration has another version than the files.
TOOLS = {"sstableupgrade": "StandaloneUpgrader", "sstablescrub": "StandaloneScrubber", "sstablesplit": "StandaloneSplitter"}
OTHER = {"da-bti": "oa-big", "oa-big": "da-bti", "nb-big": "da-bti"}


def run_tool(home, tool, *arguments):
    done = subprocess.run([BUILD / tool, *map(str, arguments)], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, CASSANDRA_CONF=str(home / "cassandra.yaml")))
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def comparable(home, text):
    """Without directories, ids, times and sizes, which depend on how the rows were written last. Cassandra lists the SSTables of a
    table in the order of a hash table."""
    text = re.sub(r"\([\d.]+(B|KiB|MiB)\)", "", text.replace(str(home), ""))
    text = re.sub(r"pre-(scrub|split)-\d+", r"pre-\1-", re.sub(r"\b(da|nb|oa)-\w+-(bti|big)", "", text))
    return sorted(text.splitlines())


def rows_of(data_file):
    """All but positions, which differ from version to version."""
    text = run_tool(data_file.parent, "sstabledump", data_file, "-d")
    return re.sub(r"\]@\d+", "]", text).splitlines()


def rows_of_tables(home):
    rows = {}
    for file in (home / "data").glob(f"{KEYSPACE}/*/*-Data.db"):
        rows.setdefault(table_of(file)[1], []).extend(rows_of(file))
    return {table: sorted(lines) for table, lines in rows.items()}


def test_tools_that_write_print_what_cassandras_print_and_it_accepts_their_files(node):
    settings = SETTINGS[OTHER[node.version]]
    ours = node.home / "ours"
    theirs = Jvm(node.home / "theirs", node.home / "theirs/data", node.address, settings)
    Jvm(ours, ours / "data", node.address, settings)
    homes = [ours, theirs.home]
    for home in homes:
        for directory in ("data", "commitlog"):
            shutil.copytree(node.home / directory, home / directory)
    before = rows_of_tables(ours)
    tables = [case.name for case in TABLES]
    dropped = {case.name for case in TABLES if case.after}

    def calls(home, tool):
        if tool == "sstablesplit":
            return [["-s", "1", *sorted((home / f"data/{KEYSPACE}").glob(f"{table}-*/*-Data.db"))] for table in tables]
        return [[KEYSPACE, table] for table in tables]

    compared = 0
    for tool in ("sstablesplit", "sstableupgrade", "sstablescrub"):
        answers = theirs.tools([[f"org.apache.cassandra.tools.{TOOLS[tool]}", *call] for call in calls(theirs.home, tool)])
        for call, (code, text) in zip(calls(ours, tool), answers):
            out = run_tool(ours, tool, *call)
            assert code == 0, text
            if not has_scrubbed_badly(text):
                assert comparable(ours, out) == comparable(theirs.home, text), (call, out, text)
                compared += 1
    assert compared >= 2 * len(tables)
    after = rows_of_tables(ours)
    assert {table: rows for table, rows in after.items() if table not in dropped} == \
        {table: rows for table, rows in before.items() if table not in dropped}
    assert not list(ours.glob("data/*/*/*.log"))
    files = sorted((ours / f"data/{KEYSPACE}").glob("*/*-Data.db"))
    version, format = OTHER[node.version].split("-")
    assert all(file.name.startswith(version) and file.name.endswith(f"{format}-Data.db") for file in files)
    acceptance = Jvm(node.home / "acceptance", ours / "data", node.address, settings)
    verify = [["org.apache.cassandra.tools.StandaloneVerifier", "-f", "-e", "-c", KEYSPACE, table] for table in tables]
    dump = [["org.apache.cassandra.tools.SSTableExport", file, "-d"] for file in files]
    answers = acceptance.tools(verify + dump)
    for call, (code, text) in zip(verify, answers):
        assert code == 0 and "rror" not in text and "Verifying" in text, (call, text)
    for call, (code, text) in zip(dump, answers[len(verify):]):
        assert code == 0 and re.sub(r"\]@\d+", "]", text).splitlines() == rows_of(call[1]), call


def has_scrubbed_badly(text):
    """Cassandra's scrub loses partitions with range tombstones, and of nb rows with a TTL. Of the last partitions of BIG it says that they
    are not where the index has them."""
    return "Error reading partition" in text or "differs from index file row position -1" in text


def test_cassandra_starts_on_the_directory_and_answers_the_same_and_back_again(node):
    cassandra = Jvm(node.home / "cassandra", node.home / "cassandra" / "data", node.address, node.settings)
    shutil.copytree(node.home / "data", node.home / "cassandra" / "data")
    try:
        cassandra.start()
        assert contents(cassandra.address) == node.contents
        assert found_by_index(cassandra.address, 140) == node.found
        cluster, session = connect(cassandra.address)
        session.execute(f"INSERT INTO {KEYSPACE}.indexed (id, v, w) VALUES (1000, 'from Cassandra', 140)")
        cluster.shutdown()
        after = contents(cassandra.address)
        cassandra.stop()
        errors = [line for line in (cassandra.home / "system.log").read_text().splitlines() if line.startswith("ERROR")]
        assert [line for line in errors if "/.by_w/" not in line] == []  # it builds the index anew
    finally:
        cassandra.destroy()
    own = data_files(node)
    for directory in ("data", "commitlog"):
        shutil.rmtree(node.home / directory)
        shutil.copytree(node.home / "cassandra" / directory, node.home / directory)
    from_cassandra = set(data_files(node)).difference(own)
    assert from_cassandra
    node.start()
    assert contents(node.address) == after
    assert len(found_by_index(node.address, 140)) == len(node.found) + 1
    await_owners(node, from_cassandra)
    assert contents(node.address) == after
    assert len(found_by_index(node.address, 140)) == len(node.found) + 1
    compact_to_one_of_each_shard(node)
    assert contents(node.address) == after
    assert "Relocate sstables to correct disk" in node.nodetool("compactionhistory").stdout
    node.restart()
    assert contents(node.address) == after


def await_owners(node, from_cassandra):
    """Every SSTable of Cassandra has become one of each shard."""
    began = time.time()
    while left := [file for file in from_cassandra if file.exists() and partitions_of(file) > 1]:
        assert time.time() - began < 20, left
        time.sleep(0.05)
    print(f"{len(from_cassandra)} SSTables have owners after {time.time() - began:.1f} s")


def partitions_of(data_file):
    """At least: an SSTable of one partition has an owner as it is. 0: it is not there any more."""
    try:
        if data_file.name.endswith("-bti-Data.db"):
            index = data_file.with_name(data_file.name.replace("Data.db", "Partitions.db")).read_bytes()
            return int.from_bytes(index[-16:-8], "big")
        index = data_file.with_name(data_file.name.replace("Data.db", "Index.db")).read_bytes()
    except FileNotFoundError:
        return 0
    at = 2 + int.from_bytes(index[:2], "big")
    position, at = vint(index, at)
    size, at = vint(index, at)
    assert position == 0
    return 1 if at + size == len(index) else 2


def vint(data, at):
    """VIntCoding: the value at `at`, and where the next one is."""
    more = 8 - (data[at] ^ 0xFF).bit_length()
    return int.from_bytes(bytes([data[at] & 0xFF >> more]) + data[at + 1:at + 1 + more], "big"), at + 1 + more


def compact_to_one_of_each_shard(node):
    node.nodetool("compact", KEYSPACE)
    by_table = {}
    for file in data_files(node):
        by_table.setdefault(table_of(file), []).append(file)
    for (keyspace, table), files in by_table.items():
        assert keyspace != KEYSPACE or len(files) <= node.shards, (table, files)


def ids_of(node):
    return {file.name.split("-")[1] for file in data_files(node)}


NUMBERS = {"uuid_sstable_identifiers_enabled": False}


def test_numbers_as_ids_move_both_ways():
    """With Cassandra's default, uuid_sstable_identifiers_enabled: false; and Cassandra with nothing but its defaults."""
    node = Node("127.0.0.60", settings={"uuid_sstable_identifiers_enabled": "false"})
    node.version = "da-bti"
    running = []

    def cassandra(name, settings):
        jvm = Jvm(node.home / name, node.home / name / "data", node.address, {**settings, **NUMBERS})
        running.append(jvm)
        shutil.copytree(node.home / "data", jvm.home / "data")
        jvm.start()
        return jvm

    try:
        node.start()
        fill(node)
        before = contents(node.address)
        assert node.stop() == 0
        assert all(number.isdigit() for number in ids_of(node))
        by_default = cassandra("default", {})
        assert contents(by_default.address) == before
        by_default.stop()
        with_bti = cassandra("bti", SETTINGS["da-bti"])
        cluster, session = connect(with_bti.address)
        for i in range(100):
            session.execute(f"INSERT INTO {KEYSPACE}.several_files (id, v) VALUES ({2000 + i}, 'from Cassandra')")
        cluster.shutdown()
        after = contents(with_bti.address)
        with_bti.stop()
        own = data_files(node)
        for directory in ("data", "commitlog"):
            shutil.rmtree(node.home / directory)
            shutil.copytree(with_bti.home / directory, node.home / directory)
        from_cassandra = set(data_files(node)).difference(own)
        assert from_cassandra
        node.start()
        assert contents(node.address) == after
        await_owners(node, from_cassandra)
        compact_to_one_of_each_shard(node)
        assert contents(node.address) == after
        assert node.stop() == 0
        assert all(number.isdigit() for number in ids_of(node))
        again = cassandra("again", SETTINGS["da-bti"])
        assert contents(again.address) == after
        again.stop()
    finally:
        for jvm in running:
            jvm.destroy()
        node.destroy()
