"""Clients that write as fast as they can until the node dies, and a log of what it acknowledged to them.

The writes of a key are numbered 1, 2, 3, …; each fifth deletes its row. Each writer is the only one of its partition and
has one connection, so that numbers and write times rise together.
"""
import os
import random
import struct
import threading
import time

import wire

BLOCK = os.urandom(1 << 16)


def value(key, n, longest):
    """What write n of a key stores: the row that is found must be of one write as a whole."""
    start = (n * 7919 + key * 104729) % len(BLOCK)
    return BLOCK[start:start + start % longest]


def is_deletion(n):
    return n % 5 == 0


def is_possible(found, acknowledged, tried):
    """Whether a key may show write `found` (None: no row): at least what was acknowledged, at most what was tried."""
    if found is None:
        return acknowledged == 0 or any(is_deletion(n) for n in range(acknowledged, tried + 1))
    return acknowledged <= found <= tried and not is_deletion(found)


class Writer:
    """What was tried and acknowledged of one partition, over all rounds."""

    def __init__(self, number, table="t", keys=200, longest=300, in_flight=30, pause=0):
        self.number, self.table, self.keys, self.longest = number, table, keys, longest
        self.in_flight, self.pause = in_flight, pause
        self.acknowledged, self.tried = {}, {}
        self.written = 0
        self.refused = None

    def start(self, address):
        """Writes, in a thread, until the connection breaks."""
        self.client = wire.Client(address, version=4)
        self.insert = self.client.prepare(f"INSERT INTO crash.{self.table} (w, k, n, color, v) VALUES (?, ?, ?, ?, ?)")
        self.delete = self.client.prepare(f"DELETE FROM crash.{self.table} WHERE w = ? AND k = ?")
        self.streams = {}  # by stream: the key and the number of its write
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def join(self):
        self.thread.join()
        assert self.refused is None, self.refused

    def write(self, stream):
        key = random.randrange(self.keys)
        n = self.tried[key] = self.tried.get(key, 0) + 1
        self.streams[stream] = (key, n)
        at = (wire.number(self.number), wire.number(key))
        if is_deletion(n):
            body = self.client.execute_body(self.delete, at)
        else:
            body = self.client.execute_body(self.insert, at + (wire.number(n), wire.number(n % 3), value(key, n, self.longest)))
        self.client.send(wire.EXECUTE, body, stream)

    def run(self):
        try:
            for stream in range(self.in_flight):
                self.write(stream)
            while True:
                self.write(self.receive())
                time.sleep(self.pause)
        except (wire.Closed, OSError):
            pass
        except wire.Refused as e:
            self.refused = e
        finally:
            self.client.close()

    def receive(self):
        """The stream of a write that was answered."""
        try:
            _, _, stream = self.client.receive()
        except wire.Refused as e:
            if e.code != wire.OVERLOADED:
                raise
            return e.stream
        key, n = self.streams[stream]
        self.acknowledged[key] = max(n, self.acknowledged.get(key, 0))
        self.written += 1
        return stream

    def check(self, client):
        rows = client.rows(f"SELECT k, n, color, v FROM crash.{self.table} WHERE w = {self.number}")
        found = {}
        for row in rows:
            key, n, color = (struct.unpack(">i", column)[0] for column in row[:3])
            assert (color, row[3]) == (n % 3, value(key, n, self.longest)), (self.number, key, n, color, row[3])
            found[key] = n
        for key, tried in self.tried.items():
            state = (found.get(key), self.acknowledged.get(key, 0), tried)
            assert is_possible(*state), f"writer {self.number}, key {key}: found, acknowledged, tried: {state}"
        assert found.keys() <= self.tried.keys()


def check_index(client, table):
    """The index on `color` finds the rows that are there."""
    there = sorted((w, k, color) for w, k, color in client.rows(f"SELECT w, k, color FROM crash.{table}"))
    indexed = [row for color in range(3) for row in client.rows(f"SELECT w, k, color FROM crash.{table} WHERE color = {color}")]
    assert sorted(map(tuple, indexed)) == there


def create_schema(client):
    client.query("CREATE KEYSPACE crash WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    for table in ("t", "indexed", "quiet"):
        client.query(f"CREATE TABLE crash.{table} (w int, k int, n int, color int, v blob, PRIMARY KEY (w, k))")
    client.query("CREATE INDEX ON crash.indexed (color)")
