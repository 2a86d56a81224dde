"""Three nodes on loopback, as drivers and an operator meet them: they find each other, answer at every level, and lose nothing that
they acknowledged while one of them is killed, paused or stopped."""
import itertools
import re
import signal
import threading
import time

import pytest
from cassandra import Unavailable, WriteTimeout

from node_ring import ALL, ONE, QUORUM, Ring, run

ADDRESSES = ["127.0.0.71", "127.0.0.72", "127.0.0.73"]


@pytest.fixture
def ring():
    ring = Ring(ADDRESSES)
    ring.start()
    yield ring
    ring.destroy()


def make_table(session, factor=3):
    run(session, f"CREATE KEYSPACE k WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {factor}}}")
    run(session, "CREATE TABLE k.t (k int PRIMARY KEY, v int)")


def put(session, keys, value, level=QUORUM):
    for k in keys:
        run(session, "INSERT INTO k.t (k, v) VALUES (%s, %s)", (k, value), level)


def get(session, keys, level=QUORUM):
    return {k: [row.v for row in run(session, "SELECT v FROM k.t WHERE k = %s", (k,), level)] for k in keys}


def test_three_nodes_are_one_cluster(ring):
    session = ring.session()
    make_table(session)
    put(session, range(50), 1, ALL)
    for node in ring.nodes:
        alone = ring.session(node)
        assert get(alone, range(50), ONE) == {k: [1] for k in range(50)}
        assert len(run(alone, "SELECT * FROM k.t")) == 50
        assert {row.peer for row in alone.execute("SELECT peer FROM system.peers")} == set(ADDRESSES) - {node.address}
    versions = {run(ring.session(node), "SELECT schema_version FROM system.local", level=ONE)[0].schema_version for node in ring.nodes}
    assert len(versions) == 1


def test_the_logs_tell_of_a_node_that_goes_and_comes(ring):
    goes = ring.nodes[1]
    logs = [node.home / "logs" / "system.log" for node in ring.nodes]
    line = f"Node /{goes.address}:7000 state jump to "

    def jumps():
        """In each log, without repetitions: a status has two keys, with and without a port, and a node tells of both its own."""
        found = [re.findall(re.escape(line) + r"(\w+)", log.read_text()) for log in logs]
        return [[word for word, _ in itertools.groupby(words)] for words in found]

    assert jumps()[1] == ["NORMAL"]  # each node tells of itself, too
    goes.nodetool("disablegossip")
    ring.wait_for("DN", 1, by=[ring.nodes[0], ring.nodes[2]])
    goes.nodetool("enablegossip")
    ring.wait_for("UN", 3)
    assert [told[-2:] for told in jumps()] == [["shutdown", "NORMAL"]] * 3


def test_quorum_goes_on_while_a_node_is_killed_and_hints_bring_the_rest(ring):
    first, second, third = ring.nodes
    session = ring.session(first, second)
    make_table(session)
    put(session, range(20), 1, ALL)
    third.kill()
    ring.wait_for("DN", 1, by=[first, second])
    put(session, range(20), 2)
    assert get(session, range(20)) == {k: [2] for k in range(20)}
    with pytest.raises(Unavailable) as refused:
        put(session, [0], 3, ALL)
    assert (refused.value.required_replicas, refused.value.alive_replicas) == (3, 2)
    third.start()
    ring.wait_for("UN", 3)
    alone = ring.session(third)
    end = time.time() + 30
    while get(alone, range(20), ONE) != {k: [2] for k in range(20)}:
        assert time.time() < end, "the hints did not arrive"
        time.sleep(0.2)


def test_a_paused_node_delays_nobody_and_comes_back(ring):
    first, second, third = ring.nodes
    session = ring.session(first, second)
    make_table(session)
    third.process.send_signal(signal.SIGSTOP)
    began = time.time()
    put(session, range(20), 1)
    assert get(session, range(20)) == {k: [1] for k in range(20)}
    assert time.time() - began < 15
    with pytest.raises((WriteTimeout, Unavailable)):
        put(session, [100], 1, ALL)
    third.process.send_signal(signal.SIGCONT)
    ring.wait_for("UN", 3)
    assert get(ring.session(third), range(20), QUORUM) == {k: [1] for k in range(20)}


def test_a_stopped_node_says_so_and_nothing_fails_at_quorum_while_all_are_restarted(ring):
    session = ring.session()
    make_table(session)
    stop, failures, done = threading.Event(), [], []

    def load():
        k = 0
        while not stop.is_set():
            k += 1
            up = [node for node in ring.nodes if node is not restarting[0]]
            try:
                run(sessions[up[k % 2].address], "INSERT INTO k.t (k, v) VALUES (%s, %s)", (k, k))
                done.append(k)
            except Exception as e:  # every failure counts
                failures.append(repr(e))

    restarting = [None]
    sessions = {node.address: ring.session(node) for node in ring.nodes}
    loader = threading.Thread(target=load)
    loader.start()
    for node in ring.nodes:
        restarting[0] = node
        time.sleep(0.3)
        node.restart()
        ring.wait_for("UN", 3)
        sessions[node.address] = ring.session(node)
    stop.set()
    loader.join()
    assert failures == []
    # The first session was idle all the while: its driver may not have tried yet to connect again.
    assert {row.k for row in run(ring.session(), "SELECT k FROM k.t")} == set(done)


def test_an_acknowledged_write_survives_kills_of_each_node_in_turn(ring):
    session = ring.session()
    make_table(session)
    value = 0
    for node in ring.nodes:
        others = [other for other in ring.nodes if other is not node]
        through = ring.session(*others)
        node.kill()
        ring.wait_for("DN", 1, by=others)
        value += 1
        put(through, range(10), value)
        node.start()
        ring.wait_for("UN", 3)
        assert get(ring.session(node), range(10), QUORUM) == {k: [value] for k in range(10)}


def test_counters_and_logged_batches(ring):
    session = ring.session()
    make_table(session)
    run(session, "CREATE TABLE k.c (k int PRIMARY KEY, n counter)")
    for i in range(30):
        run(session, "UPDATE k.c SET n = n + 1 WHERE k = 1")
    assert [run(ring.session(node), "SELECT n FROM k.c WHERE k = 1", level=ALL)[0].n for node in ring.nodes] == [30] * 3
    run(session, "BEGIN BATCH INSERT INTO k.t (k, v) VALUES (1, 7); INSERT INTO k.t (k, v) VALUES (2, 7); APPLY BATCH")
    assert get(session, [1, 2], ALL) == {1: [7], 2: [7]}


def test_schema_changes_arrive_everywhere_and_truncate_needs_all(ring):
    first, second, third = ring.nodes
    one, two = ring.session(first), ring.session(second)
    make_table(one)
    run(two, "ALTER TABLE k.t ADD w text")
    run(ring.session(third), "INSERT INTO k.t (k, v, w) VALUES (1, 1, 'x')", level=ALL)
    assert [tuple(row) for row in run(one, "SELECT k, v, w FROM k.t", level=ALL)] == [(1, 1, "x")]
    run(two, "TRUNCATE k.t")
    assert all(run(ring.session(node), "SELECT * FROM k.t", level=ONE) == [] for node in ring.nodes)
    third.kill()
    ring.wait_for("DN", 1, by=[first, second])
    put(one, [1], 1)
    with pytest.raises(Exception) as refused:
        run(two, "TRUNCATE k.t")
    assert "TRUNCATE" in str(refused.value).upper() or isinstance(refused.value, Unavailable)
    assert len(run(one, "SELECT * FROM k.t")) == 1


def test_a_coordinator_without_tokens():
    ring = Ring(ADDRESSES)
    ring.nodes[2].config.write_text(ring.nodes[2].config.read_text() + "join_ring: false\n")
    try:
        ring.nodes[0].start()
        ring.nodes[1].start()
        ring.wait_for("UN", 2, by=ring.nodes[:2])
        ring.nodes[2].start()
        session = ring.session(ring.nodes[2])
        make_table(session, factor=2)
        put(session, range(20), 5, QUORUM)
        assert get(session, range(20), QUORUM) == {k: [5] for k in range(20)}
        assert get(ring.session(ring.nodes[0]), range(20), ALL) == {k: [5] for k in range(20)}
    finally:
        ring.destroy()
