"""tools/run --nodes 3: one command, three nodes that are one cluster."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from cassandra import ConsistencyLevel
from cassandra.cluster import Cluster
from cassandra.query import SimpleStatement

from node import BUILD, ROOT, answers

ADDRESSES = ["127.0.0.34", "127.0.0.35", "127.0.0.36"]


class Nodes:
    def __init__(self, folder):
        command = f'set -euo pipefail; source tools/nodes.sh; run_nodes "{BUILD}/cassandra-like" "{BUILD}/nodetool" conf/node.yaml 3 "{folder}" {ADDRESSES[0]}'
        self.process = subprocess.Popen(["bash", "-c", command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # one in the background ignores it
        self.lines = []
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if line.startswith("Ctrl-C"):
                break

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)


@pytest.fixture
def nodes(tmp_path):
    nodes = Nodes(tmp_path)
    yield nodes
    if nodes.process.poll() is None:
        nodes.stop()


def status(address, check=True):
    done = subprocess.run([BUILD / "nodetool", "-h", address, "status"], capture_output=True, text=True, check=check)
    return [line.split() for line in done.stdout.splitlines() if line.startswith("UN")]


def up_at(address):
    """The nodes that the one at `address` sees up; none when it does not answer."""
    return [row[1] for row in status(address, check=False)]


def process_of(config):
    """The node with this configuration."""
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            arguments = path.read_text().split("\0")
            if arguments[0].endswith("cassandra-like") and str(config) in arguments:
                return int(path.parent.name)
    raise AssertionError(f"no node runs with {config}")


def test_three_nodes_share_the_ring_and_stop_together(nodes, tmp_path):
    assert re.match(r"3 nodes are up after \d+ ms", nodes.lines[0]), nodes.process.stderr.read()
    assert len(nodes.lines) == 5
    for address in ADDRESSES:
        rows = status(address)
        assert [row[1] for row in rows] == ADDRESSES
        assert [row[4] for row in rows] == ["16", "16", "16"]
    cluster = Cluster(ADDRESSES)
    session = cluster.connect()
    session.execute("CREATE KEYSPACE one WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    session.execute("CREATE TABLE one.t (k int PRIMARY KEY)")
    for k in range(10):
        session.execute(SimpleStatement(f"INSERT INTO one.t (k) VALUES ({k})", consistency_level=ConsistencyLevel.ALL))
    owned = subprocess.run([BUILD / "nodetool", "-h", ADDRESSES[1], "status", "one"], capture_output=True, text=True, check=True).stdout
    assert owned.count("33.3%") == 3, owned
    cluster.shutdown()
    assert nodes.stop() == 130
    assert not any(answers(address, port) for address in ADDRESSES for port in (7000, 7199, 9042))

    # The second start finds the data, and the configuration as it was.
    config = tmp_path / "2/cassandra.yaml"
    before = config.read_text()
    again = Nodes(tmp_path)
    cluster = Cluster(ADDRESSES)
    assert len(list(cluster.connect().execute("SELECT * FROM one.t"))) == 10
    cluster.shutdown()
    assert again.stop() == 130
    assert config.read_text() == before


def test_one_that_cannot_start_stops_all(tmp_path):
    for node in (1, 2):
        (tmp_path / str(node)).mkdir()
    (tmp_path / "2/cassandra.yaml").write_text("no_such_key: 1\n")
    nodes = Nodes(tmp_path)
    assert nodes.process.wait(60) == 1
    assert "Node 2 has ended" in nodes.process.stderr.read()
    assert not any(answers(address, 9042) for address in ADDRESSES)


def test_the_others_go_on_when_one_is_killed(nodes, tmp_path):
    os.kill(process_of(tmp_path / "2/cassandra.yaml"), signal.SIGKILL)
    assert nodes.process.stderr.readline().startswith("Node 2 has ended; its log is ")
    command = nodes.process.stderr.readline()
    cluster = Cluster([ADDRESSES[0]])
    session = cluster.connect()
    session.execute("CREATE KEYSPACE three WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}")
    session.execute("CREATE TABLE three.t (k int PRIMARY KEY)")
    session.execute(SimpleStatement("INSERT INTO three.t (k) VALUES (1)", consistency_level=ConsistencyLevel.QUORUM))

    # The command that was printed starts it again.
    again = subprocess.Popen(["bash", "-c", "exec" + command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        deadline = time.time() + 60
        while any(up_at(address) != ADDRESSES for address in ADDRESSES):
            assert time.time() < deadline, [up_at(address) for address in ADDRESSES]
            time.sleep(0.1)
        read = SimpleStatement("SELECT * FROM three.t", consistency_level=ConsistencyLevel.ALL)
        assert [row.k for row in session.execute(read)] == [1]
    finally:
        cluster.shutdown()
        again.terminate()
        again.wait(60)
    assert nodes.stop() == 130
