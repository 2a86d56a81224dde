"""Names that lead elsewhere, and clocks that are wrong."""
import glob
import os
import shutil
import struct
import subprocess

import pytest

import wire
from bad_node import ADDRESS, KEYSPACE, TABLE, keys, log_of, put, refusal
from node import BUILD

# --- names that lead elsewhere


def test_a_pipe_where_a_file_should_be_keeps_nobody_waiting(make_node):
    node = make_node()
    node.start()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        put(client, 0, 10)
        node.nodetool("flush", "k")
        (data,) = node.home.glob("data/k/t-*/*-Data.db")
        foreign = node.home / "foreign"
        shutil.copytree(data.parent, foreign)
        pipe = foreign / data.name
        pipe.unlink()
        os.mkfifo(pipe)
        refused = node.nodetool("import", "k", "t", str(foreign), check=False)
        assert refused.returncode == 1 and "Some directories failed to import" in refused.stderr, refused
        assert f"cannot open {pipe}: it is not a regular file" in log_of(node)
        assert keys(client) == set(range(10))
    assert node.stop() == 0
    pipe = node.home / "commitlog" / "CommitLog-8-1.log"
    os.mkfifo(pipe)
    assert refusal(node) == f"cannot open {pipe}: it is not a regular file"


def test_an_import_takes_no_live_files(make_node):
    node = make_node()
    node.start()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        client.query("CREATE TABLE k.other (k int PRIMARY KEY, v text)")
        put(client, 0, 10)
        node.nodetool("flush", "k")
        (live,) = node.home.glob("data/k/t-*")
        link, links = node.home / "link", node.home / "links"
        link.symlink_to(live)
        links.mkdir()
        for file in live.iterdir():
            if file.is_file():
                (links / file.name).symlink_to(file)
        for directory in (f"{live}/.", f"{live}/../{live.name}", str(live).replace("/data/", "//data/"), link):
            refused = node.nodetool("import", "k", "other", str(directory), check=False)
            assert refused.returncode == 1 and " is the directory of k.t itself" in refused.stdout, refused
        assert node.nodetool("import", "k", "other", str(links), check=False).returncode == 1
        assert ": import the files themselves" in log_of(node)
        assert (keys(client), keys(client, "k.other")) == (set(range(10)), set())
    node.restart()
    with wire.Client(ADDRESS) as client:
        assert (keys(client), keys(client, "k.other")) == (set(range(10)), set())


def test_directories_that_cannot_be_used_are_named(make_node):
    for setting, reason in {
        "[d, ./d/]": "data_file_directories: {home}/d is also in data_file_directories: write another directory",
        "[d, link]": "data_file_directories: {home}/d is also in data_file_directories: write another directory",
        "[nowhere]": "data_file_directories: cannot create the directory nowhere: it is a symbolic link that leads nowhere: "
                     "write a directory that this user can write to",
        "[file]": "data_file_directories: cannot list file: Not a directory",
    }.items():
        node = make_node(data_file_directories=setting)
        (node.home / "d").mkdir()
        (node.home / "link").symlink_to("d")
        (node.home / "nowhere").symlink_to("gone")
        (node.home / "file").touch()
        assert refusal(node) == f"{node.config}:5: {reason.format(home=node.home)}"
        node.destroy()


def test_a_snapshot_of_a_dropped_table_is_in_nobodys_way(make_node):
    node = make_node()
    node.start()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        put(client, 0, 3)
        node.nodetool("snapshot", "-t", "nightly", "k")
        client.query("DROP TABLE k.t")
        client.query(TABLE)
        put(client, 0, 3)
        node.nodetool("snapshot", "-t", "nightly", "k")
        refused = node.nodetool("snapshot", "-t", "nightly", "k", check=False)
        assert refused.returncode == 2 and "Snapshot nightly already exists." in refused.stderr, refused
    assert len(list(node.home.glob("data/k/t-*/snapshots/nightly/manifest.json"))) == 2


# --- clocks


def at(node, shift):
    """The node's wall clock runs so far from the right time."""
    library = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
    if library is None:
        pytest.skip("no libfaketime here (Debian: faketime)")
    node.environment = {**os.environ, "LD_PRELOAD": library, "FAKETIME": shift, "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                        "DONT_FAKE_MONOTONIC": "1"}


def test_a_column_that_is_dropped_after_the_clock_was_ahead_takes_writes(make_node):
    node = make_node()
    at(node, "+400d")
    node.start()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
    assert node.stop() == 0
    node.environment = None
    node.start()
    with wire.Client(ADDRESS) as client:
        put(client, 0, 10)
        client.query("ALTER TABLE k.t DROP v")
        client.query("ALTER TABLE k.t ADD v text")
        assert {row[0] for row in client.rows("SELECT v FROM k.t")} == {None}
        put(client, 0, 5)
        node.nodetool("flush", "k")
        node.nodetool("compact", "k")
        assert sorted(row[0] or b"" for row in client.rows("SELECT v FROM k.t")) == [b""] * 5 + [b"x" * 10] * 5


def test_a_clock_outside_the_time_of_deletions_is_refused(make_node):
    for shift in ("1969-06-01 00:00:00", "2106-06-01 00:00:00"):
        node = make_node()
        at(node, shift)
        done = subprocess.run([BUILD / "cassandra-like", "-c", node.config], capture_output=True, text=True, timeout=60, cwd=node.home,
                              env=node.environment)
        assert done.returncode == 3 and " s from 1970-01-01: it must be between 1970 and 2106. Set the clock" in done.stderr, done


def test_a_deletion_before_1970_harms_nobody(make_node):
    # The index of a partition says what is open between two blocks, and cannot say this.
    node = make_node(column_index_size="1KiB")
    node.start()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query("CREATE TABLE k.wide (k int, c int, v text, PRIMARY KEY (k, c))")
        for c in range(300):
            client.query(f"INSERT INTO k.wide (k, c, v) VALUES (1, {c}, '{'x' * 50}')")
        client.query("INSERT INTO k.wide (k, c, v) VALUES (1, 50, 'old') USING TIMESTAMP -2")
        client.query("DELETE FROM k.wide USING TIMESTAMP -1 WHERE k = 1 AND c > 10 AND c < 250")
        with pytest.raises(wire.Refused, match="Cannot delete a partition of k.wide with timestamp -1: it must not be negative"):
            client.query("DELETE FROM k.wide USING TIMESTAMP -1 WHERE k = 1")
        for step in ("flush", "compact", "verify"):
            node.nodetool(step, *(["-f"] if step == "verify" else []), "k", "wide")
            for query in ("SELECT c FROM k.wide", "SELECT c FROM k.wide WHERE k = 1 AND c >= 0 ORDER BY c DESC"):
                assert sorted(struct.unpack(">i", c)[0] for c, in client.rows(query)) == list(range(300))
            assert len(client.rows("SELECT c FROM k.wide WHERE k = 1 AND c > 100 AND c < 200")) == 99
