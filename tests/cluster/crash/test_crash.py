"""kill -9 under load, again and again: nothing that was acknowledged is gone, in no commit log mode.

Several clients write, and what the node acknowledged to them is remembered here (load.py). After each kill the node starts
again, and every row must be there as its last acknowledged write or a later one that was tried left it.
CRASH_ROUNDS sets the rounds for each test and mode.
"""
import os
import random
import re
import threading
import time
import urllib.request

import pytest

import wire
from load import Writer, check_index, create_schema
from node import Node

ROUNDS = int(os.environ.get("CRASH_ROUNDS", "5"))
ADDRESS = os.environ.get("CRASH_ADDRESS", "127.0.0.43")
MODES = {
    "periodic": {"commitlog_sync": "periodic", "commitlog_sync_period": "10000ms"},
    "batch": {"commitlog_sync": "batch"},
    "group": {"commitlog_sync": "group", "commitlog_sync_group_window": "20ms"},
}


def run_rounds(node, writers, load):
    """`load(node)` runs while all write; then the node is killed."""
    node.start()
    with wire.Client(node.address) as client:
        create_schema(client)
    for _ in range(ROUNDS):
        for writer in writers:
            writer.start(node.address)
        load(node)
        node.kill()
        for writer in writers:
            writer.join()
        if random.randrange(4) == 0:  # a start that does not come to its end
            node.start(wait=False)
            time.sleep(random.uniform(0, 0.1))
            node.kill()
        node.start()
        with wire.Client(node.address) as client:
            for writer in writers:
                writer.check(client)
            check_index(client, "indexed")
    assert all(writer.written > 0 for writer in writers)


@pytest.mark.parametrize("mode", MODES)
def test_nothing_acknowledged_is_gone(mode):
    node = Node(ADDRESS, settings={"memtable_heap_space": "2MiB", "memtable_offheap_space": "2MiB", **MODES[mode]})
    writers = [Writer(number) for number in range(4)]
    try:
        run_rounds(node, writers, lambda node: time.sleep(random.uniform(0.1, 0.6)))
    finally:
        node.destroy()
        print(f"{mode}: {ROUNDS} rounds, {sum(writer.written for writer in writers)} acknowledged writes")


class Upheaval:
    """Compacts without a pause until the node is dead, and counts what happens meanwhile, over all rounds."""

    def __init__(self):
        self.flushes = self.compactions = self.removed_segments = 0

    def run(self, node):
        compacting = threading.Thread(target=self.compact, args=(node,))
        compacting.start()
        segments = set()
        begin = time.monotonic()
        end = begin + random.uniform(0.5, 1.5)
        while True:
            there = set(os.listdir(node.home / "commitlog"))
            segments |= there
            counts = (*self.counts(node), len(segments - there))
            if time.monotonic() > end and min(counts) >= 3:
                break
            assert time.monotonic() < begin + 60, f"flushes, compactions, segments removed: {counts}"
            time.sleep(0.02)
        node.kill()
        compacting.join()
        self.flushes += counts[0]
        self.compactions += counts[1]
        self.removed_segments += counts[2]

    @staticmethod
    def counts(node):
        """Flushes of our tables and compactions, since the start."""
        metrics = urllib.request.urlopen(f"http://{node.address}:7199/metrics", timeout=20).read().decode()
        flushes = re.findall(r'cassandra_table_memtable_switches_total{keyspace="crash".*} (\d+)', metrics)
        return sum(map(int, flushes)), int(re.search(r"^cassandra_compactions_total (\d+)", metrics, re.M)[1])

    @staticmethod
    def compact(node):
        while node.nodetool("compact", "crash", check=False).returncode == 0:
            pass


@pytest.mark.parametrize("mode", MODES)
def test_nothing_acknowledged_is_gone_that_was_flushed_or_compacted(mode):
    """Memtables and segments are so small that several are flushed, switched and removed while one round writes; a
    table that is hardly written to holds some of them back until the log is full."""
    node = Node(ADDRESS, settings={"memtable_heap_space": "8MiB", "memtable_offheap_space": "0MiB", "commitlog_segment_size": "1MiB",
                                   "commitlog_total_space": "8MiB", **MODES[mode]})
    writers = [Writer(0, keys=1000, longest=20000), Writer(1, keys=1000, longest=20000), Writer(2, "indexed", keys=1000, longest=2000),
               Writer(3, "quiet", longest=20, in_flight=1, pause=0.3)]
    upheaval = Upheaval()
    try:
        run_rounds(node, writers, upheaval.run)
    finally:
        node.destroy()
        print(f"{mode}: {ROUNDS} rounds, {sum(writer.written for writer in writers)} acknowledged writes, {upheaval.flushes} flushes, "
              f"{upheaval.compactions} compactions, {upheaval.removed_segments} segments removed")
