"""Damaged and lost files. Each is named, and hides no rows without a word."""
import pathlib
import shutil

import pytest

import wire
from bad_node import ADDRESS, KEYSPACE, TABLE, keys, log_of, put, refusal

COMPONENTS = {"Data.db", "Partitions.db", "Rows.db", "Filter.db", "Statistics.db", "Digest.crc32", "TOC.txt", "Checksums.crc32"}


def damages(content):
    middle = len(content) // 2
    yield content[:middle] + bytes([content[middle] ^ 8]) + content[middle + 1:]
    yield content[:middle]
    yield None


@pytest.mark.parametrize("compression", ["{'class': 'LZ4Compressor'}", "{'enabled': false}"], ids=["compressed", "plain"])
@pytest.mark.parametrize("policy", ["stop", "ignore"])
def test_damage_is_named_and_hides_no_rows(make_node, compression, policy):
    node = make_node(disk_failure_policy=policy)
    node.start()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(f"CREATE TABLE k.t (k int, c int, v text, PRIMARY KEY (k, c)) WITH compression = {compression}")
        for k in range(20):
            for c in range(150 if k == 7 else 2):
                client.query(f"INSERT INTO k.t (k, c, v) VALUES ({k}, {c}, '{'v' * 100}{k}')")
        rows = sorted(client.rows("SELECT k, c, v FROM k.t"))
    node.nodetool("flush")
    assert node.stop() == 0
    whole = node.home.with_suffix(".whole")
    shutil.copytree(node.home, whole)
    try:
        files = sorted(whole.glob("data/k/t-*/da-*"))
        found = {file.name.rsplit("-", 1)[1] for file in files}
        assert found == COMPONENTS | {"CompressionInfo.db" if "LZ4" in compression else "CRC.db"}
        for file in files:
            for content in damages(file.read_bytes()):
                for folder in ("data", "commitlog"):
                    shutil.rmtree(node.home / folder)
                    shutil.copytree(whole / folder, node.home / folder)
                damaged = node.home / file.relative_to(whole)
                damaged.unlink()
                if content is not None:
                    damaged.write_bytes(content)
                check_damaged(node, damaged, rows)
    finally:
        shutil.rmtree(whole)


def check_damaged(node, damaged, rows):
    """Right rows, an error, or a start that is refused. With `ignore`, an SSTable that is not used is an ERROR of the log."""
    log = node.home / "logs" / "system.log"
    log.write_text("")
    before = {path.name for path in damaged.parent.iterdir()}
    sstable = str(damaged).rsplit("-", 1)[0]
    try:
        node.start()
    except RuntimeError as error:
        assert sstable in str(error).splitlines()[-1]
        assert node.process.wait(10) in (1, 3)
        assert {path.name for path in damaged.parent.iterdir()} >= before
        return
    with wire.Client(ADDRESS) as client:
        try:
            answer = sorted(client.rows("SELECT k, c, v FROM k.t"))
            if answer != rows:
                assert answer == [] and "disk_failure_policy: ignore" in node.config.read_text()
                assert any(line.startswith("ERROR") and sstable in line for line in log.read_text().splitlines())
        except wire.Refused as error:
            assert sstable in error.message or sstable in log.read_text()
    assert {path.name for path in damaged.parent.iterdir()} >= before
    node.kill()


def make_rows_of_the_log_alone(node):
    """The schema is in SSTables, and 10 rows; 10 more rows are in the commit log alone."""
    node.start()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        put(client, 0, 10)
    node.nodetool("drain")
    assert node.stop() == 0
    for segment in (node.home / "commitlog").iterdir():
        segment.unlink()  # they go by themselves in time
    node.start()
    with wire.Client(ADDRESS) as client:
        put(client, 10, 20)
    node.kill()


@pytest.mark.parametrize("policy", ["ignore", "best_effort", "stop"])
def test_a_schema_that_cannot_be_read_refuses_the_start(make_node, policy):
    node = make_node(commitlog_sync="batch", disk_failure_policy=policy)
    make_rows_of_the_log_alone(node)
    (statistics,) = node.home.glob("data/system_schema/tables-*/*-Statistics.db")
    whole = statistics.read_bytes()
    statistics.write_bytes(whole[:-1])
    assert "Cannot read an SSTable of system_schema.tables" in refusal(node, code=1)
    statistics.write_bytes(whole)
    node.start()
    with wire.Client(ADDRESS) as client:
        assert keys(client) == set(range(20))


def test_records_of_a_table_that_the_schema_has_lost_stay(make_node):
    node = make_node(commitlog_sync="batch")
    make_rows_of_the_log_alone(node)
    (schema,) = node.home.glob("data/system_schema/tables-*")
    (table,) = node.home.glob("data/k/t-*")
    schema.rename(node.home / "schema")
    node.start()
    assert node.stop() == 0
    assert f"Skipped 10 mutations of a table that the schema does not have, though {table} is there" in log_of(node)
    # The schema is found.
    shutil.rmtree(schema)
    (node.home / "schema").rename(schema)
    damaged = list((node.home / "commitlog").glob("*.damaged"))
    assert damaged
    for segment in damaged:
        segment.rename(segment.with_suffix(""))
    node.start()
    with wire.Client(ADDRESS) as client:
        assert keys(client) == set(range(20))


def test_a_segment_that_lost_its_header_stays(make_node):
    node = make_node(commitlog_sync="batch", commit_failure_policy="stop")
    node.start()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        put(client, 0, 30, size=1000)
    node.kill()
    segment = max((node.home / "commitlog").glob("CommitLog-*.log"), key=lambda file: len(file.read_bytes().rstrip(b"\0")))
    whole = segment.read_bytes()
    lost = bytes(512) + whole[512:]
    segment.write_bytes(lost)
    assert f"Commit log {segment} begins with zeros, but was synced: there is a marker at " in refusal(node, code=1)
    node.config.write_text(node.config.read_text().replace("commit_failure_policy: stop", "commit_failure_policy: ignore"))
    node.start()
    assert (segment.parent / f"{segment.name}.damaged").read_bytes() == lost
    assert node.stop() == 0


def test_verify_reads_the_files_as_they_are_now(make_node):
    node = make_node(disk_failure_policy="stop")
    node.start()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        for first in (0, 100):
            put(client, first, first + 50)
            node.nodetool("flush", "k")
    assert node.nodetool("verify", "-f", "k", "t", check=False).returncode == 0
    one, other = sorted(node.home.glob("data/k/t-*/*-Statistics.db"))
    one.write_bytes(other.read_bytes())
    assert node.nodetool("verify", "-f", "k", "t", check=False).returncode == 2
    assert node.stop() == 0
    assert str(one).removesuffix("Statistics.db") in refusal(node, code=1)


def test_damage_that_reads_meet_is_in_the_log(make_node):
    node = make_node(disk_failure_policy="best_effort")
    node.start()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        client.query("CREATE TABLE k.whole (k int PRIMARY KEY, v text)")
        client.query("INSERT INTO k.whole (k) VALUES (1)")
        put(client, 0, 100)
    node.nodetool("flush")
    assert node.stop() == 0
    (data,) = node.home.glob("data/k/t-*/*-Data.db")
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 16
    data.write_bytes(content)
    node.start()
    with wire.Client(ADDRESS) as client:
        for _ in range(30):
            with pytest.raises(wire.Refused):
                keys(client)
        lines = [line for line in log_of(node).splitlines() if "Failed to read k.t: " in line]
        assert 1 <= len(lines) <= 10 and all(str(data) in line for line in lines), lines
        # An index that cannot be built keeps no other table from being served.
        with pytest.raises(wire.Refused):
            client.query("CREATE INDEX by_v ON k.t (v)")
            client.rows("SELECT k FROM k.t WHERE v = 'x'")
    node.restart()
    with wire.Client(ADDRESS) as client:
        assert keys(client, "k.whole") == {1}
        with pytest.raises(wire.Refused):
            client.rows("SELECT k FROM k.t WHERE v = 'x'")


def test_a_file_that_is_removed_at_the_start_is_named(make_node):
    node = make_node()
    node.start()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        put(client, 0, 10)
        node.nodetool("flush", "k")
        put(client, 10, 20)
        node.nodetool("flush", "k")
    node.kill()
    # A kill in the middle of a write leaves this.
    written, unfinished = sorted((node.home / "data/k").glob("t-*/*-TOC.txt"))
    unfinished.rename(f"{unfinished}.tmp")
    prefix = str(unfinished).removesuffix("TOC.txt")
    pathlib.Path(f"{prefix}Filter.db").unlink()
    node.start()
    assert f"files of {prefix}Data.db: the node ended while it wrote or removed this SSTable" in \
        log_of(node)
    assert not list(unfinished.parent.glob(pathlib.Path(prefix).name + "*"))
    assert written.exists()
