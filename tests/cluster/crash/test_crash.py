"""kill -9 under load, again and again: nothing that was acknowledged is gone.

Several clients write their own rows with rising numbers; what the node acknowledged is remembered here. After each kill the
node starts again, and every remembered row must be there with its number or a later one that was tried.
CRASH_ROUNDS sets the rounds for each commit log mode.
"""
import os
import random
import struct
import threading
import time

import pytest

import wire
from node import Node

ROUNDS = int(os.environ.get("CRASH_ROUNDS", "5"))
ADDRESS = os.environ.get("CRASH_ADDRESS", "127.0.0.43")
WRITERS = 4
KEYS = 200
IN_FLIGHT = 30
MODES = {
    "periodic": {"commitlog_sync": "periodic", "commitlog_sync_period": "10000ms"},
    "batch": {"commitlog_sync": "batch"},
    "group": {"commitlog_sync": "group", "commitlog_sync_group_window": "20ms"},
}


class Writer(threading.Thread):
    """Keeps 30 writes in flight until the connection breaks. The only writer of its partition, so that numbers and write
    times rise together."""

    def __init__(self, address, writer, acknowledged, tried):
        super().__init__()
        self.client = wire.Client(address, version=4)
        self.insert = self.client.prepare("INSERT INTO crash.t (w, k, n, v) VALUES (?, ?, ?, ?)")
        self.writer, self.acknowledged, self.tried = writer, acknowledged, tried
        self.written = 0
        self.streams = {}  # by stream: the key and the number of its write

    def write(self, stream):
        key = random.randrange(KEYS)
        n = self.tried[key] = self.tried.get(key, 0) + 1
        self.streams[stream] = (key, n)
        values = (wire.number(self.writer), wire.number(key), wire.number(n), os.urandom(random.randrange(300)))
        self.client.send(wire.EXECUTE, self.client.execute_body(self.insert, values), stream)

    def run(self):
        try:
            for stream in range(IN_FLIGHT):
                self.write(stream)
            while True:
                _, _, stream = self.client.receive()
                key, n = self.streams[stream]
                self.acknowledged[key] = max(n, self.acknowledged.get(key, 0))
                self.written += 1
                self.write(stream)
        except (wire.Closed, wire.Refused, OSError):
            self.client.close()


def check(client, acknowledged, tried):
    for writer in range(WRITERS):
        rows = client.rows(f"SELECT k, n FROM crash.t WHERE w = {writer}")
        found = {struct.unpack(">i", k)[0]: struct.unpack(">i", n)[0] for k, n in rows}
        for key, n in acknowledged[writer].items():
            assert n <= found.get(key, -1) <= tried[writer][key], (writer, key, n, found.get(key), tried[writer][key])


@pytest.mark.parametrize("mode", MODES)
def test_nothing_acknowledged_is_gone(mode):
    node = Node(ADDRESS, shards=2, settings={"memtable_heap_space": "2MiB", "memtable_offheap_space": "2MiB", **MODES[mode]})
    written = 0
    try:
        node.start()
        with wire.Client(node.address) as client:
            client.query("CREATE KEYSPACE crash WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
            client.query("CREATE TABLE crash.t (w int, k int, n int, v blob, PRIMARY KEY (w, k))")
        acknowledged, tried = [{} for _ in range(WRITERS)], [{} for _ in range(WRITERS)]
        for _ in range(ROUNDS):
            writers = [Writer(node.address, w, acknowledged[w], tried[w]) for w in range(WRITERS)]
            for writer in writers:
                writer.start()
            time.sleep(random.uniform(0.1, 0.6))
            node.kill()
            for writer in writers:
                writer.join()
                written += writer.written
            node.start()
            with wire.Client(node.address) as client:
                check(client, acknowledged, tried)
        assert written > 0
    finally:
        node.destroy()
        print(f"{mode}: {ROUNDS} rounds, {written} acknowledged writes")
