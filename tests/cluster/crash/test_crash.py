"""kill -9 under load, again and again: nothing that was acknowledged is gone.

Several clients write their own rows with rising numbers; what the node acknowledged is remembered here. After each kill the
node starts again, and every remembered row must be there with its number or a later one that was tried.
CRASH_ROUNDS sets the rounds for each commit log mode.
"""
import os
import random
import threading
import time

import pytest
from cassandra.cluster import Cluster, NoHostAvailable

from node import Node

ROUNDS = int(os.environ.get("CRASH_ROUNDS", "5"))
WRITERS = 4
MODES = {
    "periodic": {"commitlog_sync": "periodic", "commitlog_sync_period": "10000ms"},
    "batch": {"commitlog_sync": "batch"},
    "group": {"commitlog_sync": "group", "commitlog_sync_group_window": "20ms"},
}


def connect(address):
    deadline = time.time() + 30
    while True:
        try:
            cluster = Cluster([address], protocol_version=5)
            return cluster, cluster.connect()
        except NoHostAvailable:
            assert time.time() < deadline
            time.sleep(0.05)


class Writer(threading.Thread):
    """Keeps 30 writes in flight until the connection breaks."""

    def __init__(self, address, writer, acknowledged, tried):
        super().__init__()
        self.cluster, self.session = connect(address)
        self.insert = self.session.prepare("INSERT INTO crash.t (w, k, n, v) VALUES (?, ?, ?, ?)")
        self.writer, self.acknowledged, self.tried = writer, acknowledged, tried
        self.broken = threading.Event()

    def run(self):
        window = threading.Semaphore(30)

        def done(_, key, n):
            self.acknowledged[key] = max(n, self.acknowledged.get(key, 0))
            window.release()

        def failed(_):
            self.broken.set()
            window.release()

        while not self.broken.is_set():
            if not window.acquire(timeout=0.5):
                continue
            key = random.randrange(200)
            n = self.tried[key] = self.tried.get(key, 0) + 1  # one writer a key, so numbers and write times rise together
            try:
                future = self.session.execute_async(self.insert, (self.writer, key, n, os.urandom(random.randrange(300))))
            except NoHostAvailable:
                break
            # Callbacks of one connection run in the order of the answers.
            future.add_callbacks(done, failed, callback_args=(key, n))

    def close(self):
        self.broken.set()
        self.join()
        self.cluster.shutdown()


def check(session, acknowledged, tried):
    for writer in range(WRITERS):
        found = {row.k: row.n for row in session.execute("SELECT k, n FROM crash.t WHERE w = %s", (writer,))}
        for key, n in acknowledged[writer].items():
            assert n <= found.get(key, -1) <= tried[writer][key], (writer, key, n, found.get(key), tried[writer][key])


@pytest.mark.parametrize("mode", MODES)
def test_nothing_acknowledged_is_gone(mode):
    node = Node("127.0.0.43", shards=2, settings={"memtable_heap_space": "2MiB", "memtable_offheap_space": "2MiB", **MODES[mode]})
    try:
        node.start()
        cluster, session = connect(node.address)
        session.execute("CREATE KEYSPACE crash WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.execute("CREATE TABLE crash.t (w int, k int, n int, v blob, PRIMARY KEY (w, k))")
        cluster.shutdown()
        acknowledged, tried = [{} for _ in range(WRITERS)], [{} for _ in range(WRITERS)]
        for _ in range(ROUNDS):
            writers = [Writer(node.address, w, acknowledged[w], tried[w]) for w in range(WRITERS)]
            for writer in writers:
                writer.start()
            time.sleep(random.uniform(0.3, 1.0))
            node.kill()
            for writer in writers:
                writer.close()
            node.start()
            cluster, session = connect(node.address)
            check(session, acknowledged, tried)
            cluster.shutdown()
        assert sum(map(len, acknowledged)) > 0
    finally:
        node.destroy()
