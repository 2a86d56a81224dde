"""An hour, or five minutes, of mixed load beside flushes, compactions, snapshots, schema changes and changes of strategy: every
answer is right, memory stays flat, SSTables stay few. Then the node is killed and started again, and everything is there."""
import os
import random
import re
import threading
import time

import wire
from conftest import REPORT
from node import Node
from worker import Latencies, Workers, create_schema

ADDRESS = os.environ.get("SOAK_ADDRESS", "127.0.0.63")
WORKERS = 3
MOST_SSTABLES = 40  # of a table or an index on both shards; a level of a strategy holds at most ten for each
# The caches are full and each table has been flushed when a third of the run is over.
GROWTH, SLACK_KIB = 1.15, 16 << 10

STRATEGIES = ("{'class': 'UnifiedCompactionStrategy'}", "{'class': 'SizeTieredCompactionStrategy'}",
              "{'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 4}",
              "{'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'MINUTES', 'compaction_window_size': 1}")


class Upkeep:
    """What an operator does, one thing every few seconds, in a thread."""

    def __init__(self, node, seed):
        self.node, self.draw = node, random.Random(f"{seed} upkeep")
        self.stopping = threading.Event()
        self.done = self.columns = self.tables = 0
        self.complaint = None
        self.thread = threading.Thread(target=self.run)

    def start(self):
        self.thread.start()

    def stop(self):
        self.stopping.set()
        self.thread.join()

    def run(self):
        actions = [getattr(self, name) for name in sorted(dir(self)) if name.startswith("do_")]
        while not self.stopping.wait(self.draw.uniform(1, 5)):
            action = self.draw.choice(actions)
            try:
                with wire.Client(self.node.address, timeout=60) as client:
                    action(client)
                self.done += 1
            except (AssertionError, wire.Refused, wire.Closed, OSError) as e:
                self.complaint = f"{action.__name__}: {type(e).__name__} {e}"
                return

    def do_flush(self, _):
        self.node.nodetool("flush", "soak")

    def do_compact(self, _):
        self.node.nodetool("compact", "soak", self.draw.choice(("events", "counts")))

    def do_garbagecollect(self, _):
        self.node.nodetool("garbagecollect", "soak", "events")

    def do_scrub(self, _):
        self.node.nodetool("scrub", "--no-snapshot", "soak", "events")

    def do_rewrite(self, _):
        self.node.nodetool("upgradesstables", "-a", "soak", "events")

    def do_rebuild_the_index(self, _):
        self.node.nodetool("rebuild_index", "soak", "events", "by_color")

    def do_snapshot(self, _):
        self.node.nodetool("snapshot", "-t", "soak", "soak")
        self.node.nodetool("clearsnapshot", "-t", "soak", "soak")

    def do_change_the_strategy(self, client):
        client.query(f"ALTER TABLE soak.events WITH compaction = {self.draw.choice(STRATEGIES)}")

    def do_add_and_drop_a_column(self, client):
        self.columns += 1
        client.query(f"ALTER TABLE soak.events ADD extra{self.columns} int")
        self.node.nodetool("flush", "soak", "events")
        client.query(f"ALTER TABLE soak.events DROP extra{self.columns}")

    def do_create_truncate_and_drop_a_table(self, client):
        self.tables += 1
        table = f"soak.short{self.tables}"
        client.query(f"CREATE TABLE {table} (k int PRIMARY KEY, v text)")
        for k in range(100):
            client.query(f"INSERT INTO {table} (k, v) VALUES ({k}, 'value')")
        self.node.nodetool("flush", "soak")
        assert len(client.rows(f"SELECT k FROM {table}")) == 100
        client.query(f"TRUNCATE {table}")
        assert client.rows(f"SELECT k FROM {table}") == []
        client.query(f"DROP TABLE {table}")
        self.node.nodetool("clearsnapshot", "--all")


class Samples:
    def __init__(self, node):
        self.node, self.memory_kib, self.most_sstables = node, [], {}

    def take(self):
        self.memory_kib.append(self.node.memory_kib())
        counts = {}
        for path in (self.node.home / "data" / "soak").rglob("*-Data.db"):
            if "snapshots" in path.parts or "backups" in path.parts:
                continue
            counts[path.parent] = counts.get(path.parent, 0) + 1
        for folder, count in counts.items():
            name = re.sub("-[0-9a-f]{32}", "", str(folder.relative_to(self.node.home / "data" / "soak")))
            self.most_sstables[name] = max(count, self.most_sstables.get(name, 0))

    def third(self, number):
        size = len(self.memory_kib) // 3
        return max(self.memory_kib[number * size:(number + 1) * size])


def test_everything_stays_right_and_bounded(pytestconfig):
    seconds, seed = pytestconfig.getoption("--minutes") * 60, pytestconfig.getoption("--seed")
    REPORT.append(f"seed {seed}")
    # Memtables are small: a flush comes every few seconds, and compactions after them.
    node = Node(ADDRESS, shards=2, settings={"memtable_heap_space": "8MiB", "file_cache_size": "32MiB"})
    workers = Workers(WORKERS, node.address, seed, pytestconfig.getoption("--rate"))
    latencies, upkeep, samples = Latencies(node.address), Upkeep(node, seed), Samples(node)
    try:
        node.start()
        with wire.Client(node.address) as client:
            create_schema(client)
            insert = client.prepare("INSERT INTO soak.hot (k, v) VALUES (?, ?)")
            for k in range(1000):
                client.execute(insert, (wire.number(k), b"hot"))
        began = time.time()
        workers.tell("work")
        latencies.start()
        upkeep.start()
        failed = lambda: upkeep.complaint or node.process.poll() is not None or any(pipe.poll() for pipe in workers.pipes)
        while time.time() - began < seconds and not failed():
            time.sleep(2)
            samples.take()
        workers.stopping.set()
        complaints, requests = workers.answers()
        upkeep.stop()
        times = latencies.stop()
        REPORT.append(f"{requests} requests and {upkeep.done} orders in {time.time() - began:.0f} s; most SSTables: {samples.most_sstables}; "
                      f"memory in MiB, most of each third: {[samples.third(i) >> 10 for i in range(3)]}")
        REPORT.append("point reads: " + "; ".join(f"{'during compactions' if ran else 'without'} {count}: p50 {p50 * 1000:.2f} ms, p99 {p99 * 1000:.2f} ms"
                                                  for ran, (count, p50, p99) in times.items()))
        assert not complaints and upkeep.complaint is None, (complaints, upkeep.complaint)
        assert samples.third(2) <= GROWTH * samples.third(1) + SLACK_KIB
        assert max(samples.most_sstables.values()) <= MOST_SSTABLES
        if pytestconfig.getoption("--latency"):
            assert times[True][2] <= 2 * times[False][2]
        node.kill()
        node.start()
        workers.tell("check")
        complaints, _ = workers.answers()
        assert not complaints, complaints
        assert node.stop() == 0
        log = (node.home / "logs" / "system.log").read_text()
        assert "ERROR" not in log, [line for line in log.splitlines() if "ERROR" in line][:5]
    finally:
        workers.end()
        node.destroy()
