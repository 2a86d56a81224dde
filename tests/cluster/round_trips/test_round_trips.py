"""Cassandra and we write the same generated tables, and are killed. Each replays the commit log of the other and its own, and reads,
verifies and compacts the files."""
import asyncio
import contextlib
import difflib
import json
import os
import re
import shutil
import socket
import subprocess

from conftest import REPORT
from generated import KEYSPACE, PARTS, Generated
from jvm import SETTINGS, Jvm
from node import BUILD, Node
from shapes import normalized

ADDRESS = "127.0.0.68"  # of each node; one runs at a time
# A write is in the commit log when it is answered. The log has many segments, and a large table is flushed again and again.
LOG = {"commitlog_sync": "batch", "commitlog_sync_period": None, "commitlog_segment_size": "1MiB", "memtable_heap_space": "4MiB"}
TOOLS = "org.apache.cassandra.tools."
STANDALONE = {"sstabledump": "SSTableExport", "sstablemetadata": "SSTableMetadataViewer"}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextlib.contextmanager
def destroyed_unless_started(process):
    try:
        yield
    except BaseException:
        process.destroy()
        raise


class Ours:
    """A node of ours on the data directory of a home."""

    def __init__(self, home, settings, shards=1):
        self.address = ADDRESS
        self.node = Node(ADDRESS, shards, settings={**{key: json.dumps(value) for key, value in settings.items() if value is not None},
                                                   "data_file_directories": f"[{home}/data]", "commitlog_directory": f"{home}/commitlog"})

    def __enter__(self):
        with destroyed_unless_started(self.node):
            self.node.start()
        return self

    def __exit__(self, *_):
        self.node.destroy()

    def stop(self):
        assert self.node.stop() == 0

    def kill(self):
        self.node.kill()

    def nodetool(self, *words):
        self.node.nodetool(*words)


class Theirs:
    """The same of Cassandra."""

    def __init__(self, home, settings, shards=1):
        self.address, self.port = ADDRESS, free_port()
        self.number = len(list(home.glob("jvm-*")))
        self.jvm = Jvm(home / f"jvm-{self.number}", home / "data", ADDRESS, {**settings, "commitlog_directory": str(home / "commitlog")})

    def __enter__(self):
        with destroyed_unless_started(self.jvm):
            self.jvm.start(jmx_port=self.port)
        return self

    def __exit__(self, *_):
        self.jvm.destroy()

    def stop(self):
        self.jvm.stop()

    def kill(self):
        self.jvm.destroy()

    def nodetool(self, *words):
        tool = Jvm(self.jvm.home / f"nodetool-{len(list(self.jvm.home.glob('nodetool-*')))}", self.jvm.home, ADDRESS, {})
        ((code, text),) = tool.tools([[TOOLS + "NodeTool", "-p", self.port, *words]])
        assert code == 0, text


def data_files(home):
    return sorted((home / "data" / KEYSPACE).glob("*-*/*-Data.db"))


def table_of(data_file):
    return data_file.parent.name.rsplit("-", 1)[0]


def run_tool(home, tool, *arguments):
    done = subprocess.run([BUILD / tool, *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, CASSANDRA_CONF=str(home / "cassandra.yaml")))
    return done.returncode, done.stdout + done.stderr


def difference(ours, theirs):
    """The first lines that differ, or an empty text. How many tombstones can be dropped depends on the clock."""
    ours, theirs = (re.sub("(?<=^Estimated droppable tombstones: ).*", "", text, flags=re.MULTILINE) for text in (ours, theirs))
    return "\n".join([line[:300] for line in difflib.unified_diff(theirs.splitlines(), ours.splitlines(), "theirs", "ours", lineterm="", n=1)][:12])


def check_with_tools(home, settings, version):
    """Both verify each file, and print the same about it: every cell with its timestamps, and all of its metadata."""
    files = data_files(home)
    assert all(file.name.startswith(version.split("-")[0]) for file in files), files
    jvm = Jvm(home / f"tools-{len(list(home.glob('tools-*')))}", home / "data", ADDRESS, {**settings, "commitlog_directory": str(home / "commitlog")})
    verify = [["StandaloneVerifier", "-f", "-e", "-c", KEYSPACE, table] for table in sorted({table_of(file) for file in files})]
    printed = [(tool, file) for file in files for tool in STANDALONE]
    answers = jvm.tools([[TOOLS + call[0], *call[1:]] for call in verify] +
                        [[TOOLS + STANDALONE[tool], file] + (["-t"] if tool == "sstabledump" else []) for tool, file in printed])
    for call, (code, text) in zip(verify, answers):
        assert code == 0 and "rror" not in text and "Verifying" in text, (call, text)
        code, text = run_tool(jvm.home, "sstableverify", *call[1:])
        assert code == 0 and "rror" not in text and "Verifying" in text, (call, text)
    for (tool, file), (code, theirs) in zip(printed, answers[len(verify):]):
        ours_code, ours = run_tool(jvm.home, tool, file, *(["-t"] if tool == "sstabledump" else []))
        assert code == 0, (tool, file, theirs[-1000:])
        assert ours_code == 0 and not difference(ours, theirs), f"{tool} {file}\n{difference(ours, theirs)}"


def rows(home):
    """The partitions of each table, in the order of their tokens: all cells that its files have."""
    found = {}
    for file in data_files(home):
        code, text = run_tool(home / "tools-0", "sstabledump", file, "-t")
        assert code == 0, text
        found.setdefault(table_of(file), []).append(normalized(json.loads(text)))
    return found


def copy(home, name):
    """Of the directories of a node that has ended."""
    to = home.with_name(name)
    for directory in ("data", "commitlog"):
        shutil.copytree(home / directory, to / directory)
    return to


def test_each_reads_verifies_and_compacts_the_files_of_both(version, tmp_path, pytestconfig):
    seed, settings = pytestconfig.getoption("--seed"), {**SETTINGS[version], **LOG}
    generated = Generated(f"{seed} {version}", pytestconfig.getoption("--rows"))
    sides = {"ours": Ours, "theirs": Theirs}
    for writer, side in sides.items():
        home = tmp_path / writer
        home.mkdir()
        with side(home, settings, shards=2) as node:
            asyncio.run(generated.create(node.address))
            for part in range(PARTS):
                if part > 0:
                    node.nodetool("flush", KEYSPACE)
                asyncio.run(generated.fill(node.address, part))
            written = asyncio.run(generated.answers(node.address))
            node.kill()
        check_with_tools(home, settings, version)
        compacted = {}
        for reader, other in sides.items():
            place = copy(home, f"{writer}-{reader}")
            with other(place, settings) as node:  # of one shard: a major compaction leaves one file
                assert asyncio.run(generated.answers(node.address)) == written
                node.nodetool("compact", KEYSPACE)
                assert asyncio.run(generated.answers(node.address)) == written
                node.stop()
            check_with_tools(place, settings, version)
            compacted[reader] = rows(place)
        for table in generated.names:
            assert compacted["ours"].get(table) == compacted["theirs"].get(table), (writer, table)
        REPORT.append(f"{version} of {writer}, seed {seed}: {len(compacted['ours'])} tables, answers to writes: {generated.answered}")
        generated.answered = {}
