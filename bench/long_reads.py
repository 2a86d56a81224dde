#!/usr/bin/env python3
"""What long reads cost on 1, 2, 4 and 8 shards: CPU, peak memory, and how long another client's point read waits.

    CASSANDRA_LIKE_BUILD=build/release bench/long_reads.py [--rows 1000000] [--shards 1,2,4,8]

Prints a table in Markdown. CPU is the node's, user and system. Memory is the most that was resident during the reads,
less what was resident before. A point read is asked for every millisecond on a connection of its own; its waits are
meaningless when the machine has other work.
"""
import argparse
import os
import pathlib
import struct
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "cluster" / "support"))
import wire
from node import Node

ADDRESS = "127.0.0.77"
TICKS = os.sysconf("SC_CLK_TCK")
HAS_MORE_PAGES = 2


def cpu_seconds(node):
    fields = pathlib.Path(f"/proc/{node.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def peak_kib(node):
    status = pathlib.Path(f"/proc/{node.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def forget_peak(node):
    pathlib.Path(f"/proc/{node.process.pid}/clear_refs").write_text("5")


class PointReader(threading.Thread):
    """Another client."""

    def __init__(self, keys):
        super().__init__()
        self.client = wire.Client(ADDRESS)
        self.read = self.client.prepare("SELECT v FROM b.t WHERE k = ? AND c = 0")
        self.keys, self.waits, self.ended = keys, [], False

    def run(self):
        n = 0
        while not self.ended:
            began = time.monotonic()
            self.client.execute(self.read, [wire.number(n % self.keys)])
            self.waits.append(time.monotonic() - began)
            n += 1
            time.sleep(0.001)


def fill(rows, in_partition, size):
    """Rows of so many bytes; each hundredth has the value that a filter looks for."""
    with wire.Client(ADDRESS) as client:
        client.query("CREATE KEYSPACE b WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        client.query("CREATE TABLE b.t (k int, c int, n int, v blob, PRIMARY KEY (k, c))")
        insert = client.prepare("INSERT INTO b.t (k, c, n, v) VALUES (?, ?, ?, ?)")
        value, window = b"v" * size, 500
        for first in range(0, rows, window):
            last = min(rows, first + window)
            for row in range(first, last):
                key, clustering = divmod(row, in_partition)
                bound = [wire.number(key), wire.number(clustering), wire.number(row % 100), value]
                client.send(wire.EXECUTE, client.execute_body(insert, bound), row - first)
            for _ in range(first, last):
                client.receive()


def paging_state(body):
    """Of a RESULT with metadata; None after the last page."""
    flags = struct.unpack_from(">i", body, 4)[0]
    if not flags & HAS_MORE_PAGES:
        return None
    size = struct.unpack_from(">i", body, 12)[0]
    return body[16:16 + size]


def read_pages(client, text, page_size):
    """All pages."""
    state, pages = None, 0
    while pages == 0 or state is not None:
        flags = 4 | (8 if state is not None else 0)
        body = wire.long_string(text) + struct.pack(">H", wire.ONE) + wire.query_flags(4, flags) + struct.pack(">i", page_size)
        if state is not None:
            body += struct.pack(">i", len(state)) + state
        state = paging_state(client.request(wire.QUERY, body)[1])
        pages += 1
    return f"{pages} pages"


def read_once(client, text):
    try:
        return f"{len(client.query(text)) >> 10} KiB"
    except wire.Refused as refused:
        return "refused: " + str(refused)[:60]


READS = {
    "count(*)": lambda client: read_once(client, "SELECT count(*) FROM b.t"),
    "SELECT * in pages of 5000": lambda client: read_pages(client, "SELECT * FROM b.t", 5000),
    "a filter that keeps a hundredth": lambda client: read_pages(client, "SELECT c FROM b.t WHERE n = 7 ALLOW FILTERING", 5000),
    "SELECT * at once": lambda client: read_once(client, "SELECT * FROM b.t"),
}
READS_OF_TEN = ["SELECT * in pages of 5000", "SELECT * at once"]


def ten_clients(read):
    outcomes = []

    def one():
        with wire.Client(ADDRESS, timeout=600) as client:
            outcomes.append(read(client))

    threads = [threading.Thread(target=one) for _ in range(10)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return ", ".join(sorted(set(outcomes)))


def measure(node, read, keys, clients):
    before, resident = cpu_seconds(node), node.memory_kib()
    forget_peak(node)
    other = PointReader(keys)
    other.start()
    if clients > 1:
        outcome = ten_clients(read)
    else:
        with wire.Client(ADDRESS, timeout=600) as client:
            outcome = read(client)
    other.ended = True
    other.join()
    waits = sorted(other.waits)
    return (cpu_seconds(node) - before, (peak_kib(node) - resident) / 1024, waits[len(waits) * 99 // 100] * 1000, waits[-1] * 1000,
            outcome)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--in-partition", type=int, default=10)
    parser.add_argument("--size", type=int, default=100, help="bytes of a value")
    parser.add_argument("--shards", default="1,2,4,8")
    parser.add_argument("--flush", action="store_true", help="read from SSTables")
    options = parser.parse_args()
    print("| read | shards | CPU, s | peak memory above rest, MiB | another's point read, ms: p99, longest | outcome |")
    print("| --- | --- | --- | --- | --- | --- |")
    for shards in map(int, options.shards.split(",")):
        node = Node(ADDRESS, shards)
        try:
            node.start()
            fill(options.rows, options.in_partition, options.size)
            if options.flush:
                node.nodetool("flush")
            of_ten = [(f"{name}, ten clients together", READS[name], 10) for name in READS_OF_TEN]
            for name, read, clients in [(name, read, 1) for name, read in READS.items()] + of_ten:
                keys = options.rows // options.in_partition
                cpu, memory, p99, longest, outcome = measure(node, read, keys, clients)
                print(f"| {name} | {shards} | {cpu:.2f} | {memory:.0f} | {p99:.1f}, {longest:.1f} | {outcome} |", flush=True)
        finally:
            node.destroy()


if __name__ == "__main__":
    main()
