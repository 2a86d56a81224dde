"""The rows of system_schema and the version that they give: here, on a real Cassandra, and in its files."""
import os
import pathlib
import re
import shutil
import sys

import pytest
from cassandra.cluster import Cluster
from node import LATEST_COMPACTION, Node, answers
from schema_digest import version_of

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "schema" / "data"))
from record_schema import recorded  # noqa: E402

ADDRESS = "127.0.0.58"
PEER = os.environ.get("CASSANDRA_HOST")
PEER_DATA = os.environ.get("CASSANDRA_DATA")
REPLICATION = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
STATEMENTS = [
    f"CREATE KEYSPACE shop WITH replication = {REPLICATION}",
    f"CREATE KEYSPACE \"Mixed\" WITH replication = {REPLICATION} AND durable_writes = false",
    "CREATE TYPE shop.address (street text, zip int, tags frozen<set<text>>)",
    "CREATE TYPE shop.person (name text, home frozen<address>)",
    "CREATE TABLE shop.orders (id uuid, line int, at timestamp, who frozen<person>, notes map<text, text>, "
    "total decimal static, gone text, gone2 frozen<address>, PRIMARY KEY (id, line, at)) "
    "WITH CLUSTERING ORDER BY (line DESC, at ASC) AND comment = 'the orders' AND default_time_to_live = 86400 "
    "AND compression = {'class': 'ZstdCompressor'} AND additional_write_policy = '95p'",
    "CREATE TABLE shop.hits (page text PRIMARY KEY, n counter)",
    "CREATE TABLE shop.plain (a int, b int, c int, v int, w text, PRIMARY KEY ((a, b), c)) "
    "WITH incremental_backups = false AND allow_auto_snapshot = false",
    "CREATE INDEX by_w ON shop.plain (w) USING 'legacy_local_table'",
    "CREATE INDEX by_note ON shop.orders (keys(notes)) USING 'legacy_local_table'",
    "ALTER TABLE shop.orders DROP gone",
    "ALTER TABLE shop.orders DROP gone2",
    "ALTER TABLE shop.orders ADD gone text",
    "ALTER TABLE shop.plain RENAME c TO d",
    "ALTER TABLE shop.plain WITH gc_grace_seconds = 5",
    "ALTER TYPE shop.address ADD country text",
    "CREATE TABLE \"Mixed\".\"Table\" (\"Key\" text PRIMARY KEY, \"Value\" vector<float, 3>, \"Z z\" int)",
    "DROP INDEX shop.by_w",
    "DROP TABLE shop.hits",
    "DROP KEYSPACE \"Mixed\"",
    f"CREATE KEYSPACE \"Mixed\" WITH replication = {REPLICATION}",
    "CREATE TABLE shop.hits (page text PRIMARY KEY, n counter)",
]


def lines_of(address):
    """The lines of record_schema.py without the version, and the version."""
    text = recorded(address)
    return text[1:], text[0].split()[1]


def without_times(lines):
    """Of the keyspaces that the statements make: write times as ranks among all, ids and the times of drops left out."""
    own, keep = [], False
    for line in lines:
        words = line.split()
        if words[0] == "row":
            keep = bytes.fromhex(words[2]).decode() in ("shop", "Mixed")
        if keep:
            own.append(words)
    ranks = {time: rank for rank, time in enumerate(sorted({int(w[2]) for w in own if w[0] == "cell"}))}
    for words in own:
        if words[0] == "cell":
            words[2] = f"#{ranks[int(words[2])]}"
            if words[1] in ("id", "dropped_time"):
                words[3] = "*"
    return [" ".join(words) for words in own]


def run(address, statements):
    with Cluster([address]) as cluster:
        session = cluster.connect()
        for statement in statements:
            session.execute(statement, timeout=60)
            yield statement


@pytest.fixture(scope="module")
def node():
    it = Node(ADDRESS, settings={"default_compaction": LATEST_COMPACTION})  # the Cassandra beside it has cassandra_latest.yaml
    it.start()
    try:
        yield it
    finally:
        it.destroy()


def test_after_each_statement_the_version_is_the_digest_of_the_rows(node):
    seen = set()
    for statement in run(ADDRESS, STATEMENTS):
        lines, version = lines_of(ADDRESS)
        assert version == version_of(lines), statement
        assert version not in seen, statement
        seen.add(version)
    node.kill()
    node.start()
    lines, again = lines_of(ADDRESS)
    assert again == version == version_of(lines)


@pytest.mark.skipif(not PEER or not answers(PEER, 9042), reason="CASSANDRA_HOST names no Cassandra that answers")
def test_the_rows_are_those_of_cassandra(node):
    list(run(PEER, ["DROP KEYSPACE IF EXISTS shop", "DROP KEYSPACE IF EXISTS \"Mixed\"", *STATEMENTS]))
    theirs, version = lines_of(PEER)
    assert version == version_of(theirs)
    assert without_times(lines_of(ADDRESS)[0]) == without_times(theirs)


@pytest.mark.skipif(not PEER_DATA, reason="CASSANDRA_DATA names no data directory of a drained Cassandra")
def test_a_directory_of_cassandra_has_the_version_that_it_had():
    """CASSANDRA_VERSION is the schema_version in its system.local; its node has 16 tokens."""
    it = Node("127.0.0.59", settings={"cluster_name": os.environ.get("CASSANDRA_CLUSTER", "Test Cluster")})
    try:
        shutil.copytree(PEER_DATA, it.home / "data")
        it.start()
        lines, version = lines_of("127.0.0.59")
        assert version == version_of(lines) == os.environ["CASSANDRA_VERSION"]
        assert re.fullmatch(r"[0-9a-f-]{36}", version)
    finally:
        it.destroy()
