"""A node that starts again with another number of shards has everything it had: what was in SSTables, in memtables and only in
the commit log, after a clean stop and after kill -9; rows, deletions, index entries and counters."""
import os
import random
import struct

import pytest

import wire
from node import Node

ADDRESS = os.environ.get("CRASH_ADDRESS", "127.0.0.43")
SHARDS = [2, 3, 1, 4, 2]
PARTITIONS = 40


def number(value):
    return struct.unpack(">i", value)[0]


class World:
    """Writes, and remembers what must be there."""

    def __init__(self):
        self.rows, self.counters = {}, {}
        self.random = random.Random(1)

    def create(self, client):
        client.query("CREATE KEYSPACE s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        client.query("CREATE TABLE s.t (k int, c int, color text, v text, PRIMARY KEY (k, c))")
        client.query("CREATE INDEX ON s.t (color)")
        client.query("CREATE TABLE s.n (k int PRIMARY KEY, n counter)")

    def write(self, client, count):
        insert = client.prepare("INSERT INTO s.t (k, c, color, v) VALUES (?, ?, ?, ?)")
        delete = client.prepare("DELETE FROM s.t WHERE k = ? AND c = ?")
        increment = client.prepare("UPDATE s.n SET n = n + 3 WHERE k = ?")
        for _ in range(count):
            k, c = self.random.randrange(PARTITIONS), self.random.randrange(10)
            if self.random.randrange(4) == 0:
                client.execute(delete, (wire.number(k), wire.number(c)))
                self.rows.pop((k, c), None)
            else:
                color, value = self.random.choice(["red", "green", "blue"]), f"value {self.random.randrange(1000)}"
                client.execute(insert, (wire.number(k), wire.number(c), color.encode(), value.encode()))
                self.rows[k, c] = (color, value)
            client.execute(increment, (wire.number(k),))
            self.counters[k] = self.counters.get(k, 0) + 3

    def check(self, client):
        found = {(number(k), number(c)): (color.decode(), v.decode()) for k, c, color, v in client.rows("SELECT k, c, color, v FROM s.t")}
        assert found == self.rows
        for color in ("red", "green", "blue"):
            indexed = sorted((number(k), number(c)) for k, c in client.rows(f"SELECT k, c FROM s.t WHERE color = '{color}'"))
            assert indexed == sorted(at for at, (painted, _) in self.rows.items() if painted == color)
        for k in range(PARTITIONS):
            one = sorted(number(c) for c, in client.rows(f"SELECT c FROM s.t WHERE k = {k}"))
            assert one == sorted(c for key, c in self.rows if key == k)
        counted = {number(k): struct.unpack(">q", n)[0] for k, n in client.rows("SELECT k, n FROM s.n")}
        assert counted == self.counters


@pytest.mark.parametrize("end", ["kill", "stop"])
@pytest.mark.parametrize("mode", ["periodic", "batch"])
def test_another_number_of_shards(end, mode):
    node = Node(ADDRESS, shards=SHARDS[0], settings={"commitlog_sync": mode})
    world = World()
    try:
        node.start()
        with wire.Client(node.address) as client:
            world.create(client)
        for shards in SHARDS[1:]:
            with wire.Client(node.address) as client:
                world.write(client, 300)
                node.nodetool("flush", "s")
                world.write(client, 300)  # in the commit log only
                world.check(client)
            node.kill() if end == "kill" else node.stop()
            node.shards = shards
            node.start()
            with wire.Client(node.address) as client:
                world.check(client)
        # And once more at once: what a start wrote must be as good as what it found.
        node.kill()
        node.shards = SHARDS[0]
        node.start()
        with wire.Client(node.address) as client:
            world.check(client)
    finally:
        node.destroy()
