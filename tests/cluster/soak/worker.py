"""A client that knows every row of its partitions: nobody else writes there, and each request waits for its answer."""
import multiprocessing
import os
import random
import struct
import time

import wire

KEYS, ROWS, LARGE_ROWS = 150, 40, 3000  # partitions of a worker; rows of each; rows of its first partition
COLORS = 5
BLOCK = os.urandom(1 << 16)

INSERT = "INSERT INTO soak.events (w, k, c, color, v) VALUES (?, ?, ?, ?, ?)"
INSERT_WITH_TTL = INSERT + " USING TTL ?"
SET_STATIC = "INSERT INTO soak.events (w, k, s) VALUES (?, ?, ?)"
DELETE_ROW = "DELETE FROM soak.events WHERE w = ? AND k = ? AND c = ?"
DELETE_RANGE = "DELETE FROM soak.events WHERE w = ? AND k = ? AND c >= ? AND c < ?"
DELETE_PARTITION = "DELETE FROM soak.events WHERE w = ? AND k = ?"
COUNT = "UPDATE soak.counts SET n = n + ? WHERE w = ? AND k = ?"


def create_schema(client):
    client.query("CREATE KEYSPACE soak WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    # Everything that is deleted may be purged at once.
    client.query("CREATE TABLE soak.events (w int, k int, c int, s int STATIC, color int, v blob, PRIMARY KEY ((w, k), c)) WITH gc_grace_seconds = 0")
    client.query("CREATE INDEX by_color ON soak.events (color)")
    client.query("CREATE TABLE soak.counts (w int, k int, n counter, PRIMARY KEY (w, k))")
    client.query("CREATE TABLE soak.hot (k int PRIMARY KEY, v text)")


class Expiring:
    """When a row with a TTL ends: it is there before `first`, and gone from `last` on. The node counts in whole seconds."""

    def __init__(self, sent, answered, ttl):
        self.first, self.last = int(sent) + ttl, int(answered) + 1 + ttl


def is_there(row, since, until):
    """Whether a read between two moments shows the row: True, False, or None where both are right."""
    ends = row[2]
    if ends is None or until < ends.first:
        return True
    return None if since < ends.last else False


class Partition:
    def __init__(self):
        self.rows = {}  # c: (color, v, Expiring or None)
        self.static = None

    def complaint(self, found, since, until, wanted=lambda c, row: True):
        """found: {c: (color, v)}. What a read of the rows that are wanted may not show, or None."""
        for c, row in self.rows.items():
            if not wanted(c, row):
                continue
            there = is_there(row, since, until)
            if there is not False and c in found and found[c] == row[:2]:
                continue
            if there is True or c in found:
                return f"row {c} is {found.get(c)}, not {row[:2]}"
        extra = found.keys() - {c for c, row in self.rows.items() if wanted(c, row)}
        return f"rows {sorted(extra)[:5]} are deleted" if extra else None

    def forget_expired(self):
        self.rows = {c: row for c, row in self.rows.items() if is_there(row, time.time(), time.time()) is not False}


class Worker:
    def __init__(self, number, address, seed, rate):
        self.number, self.address, self.rate = number, address, rate
        self.draw = random.Random(f"{seed} {number}")
        self.partitions = [Partition() for _ in range(KEYS)]
        self.counts = [0] * KEYS
        self.requests = 0

    def connect(self):
        self.client = wire.Client(self.address, version=4, timeout=60)
        self.prepared = {}

    def execute(self, text, values):
        """As a driver does it: a change of the schema ends what was prepared."""
        while True:
            if text not in self.prepared:
                self.prepared[text] = self.client.prepare(text)
            try:
                return self.client.execute(self.prepared[text], values)
            except wire.Refused as e:
                if e.code != wire.UNPREPARED:
                    raise
                del self.prepared[text]

    def key(self, k):
        return (wire.number(self.number), wire.number(k))

    # --- writes

    def put(self, k, c):
        start = self.draw.randrange(len(BLOCK) - 600)
        color, v = self.draw.randrange(COLORS), BLOCK[start:start + self.draw.randrange(600)]
        values = (*self.key(k), wire.number(c), wire.number(color), v)
        if self.draw.random() < 0.8:
            self.execute(INSERT, values)
            self.partitions[k].rows[c] = (color, v, None)
            return
        ttl, sent = self.draw.randrange(1, 60), time.time()
        self.execute(INSERT_WITH_TTL, (*values, wire.number(ttl)))
        self.partitions[k].rows[c] = (color, v, Expiring(sent, time.time(), ttl))

    def write(self):
        k = self.draw.randrange(KEYS)
        limit = LARGE_ROWS if k == 0 else ROWS
        c = self.draw.randrange(limit)
        partition = self.partitions[k]
        kind = self.draw.random()
        if kind < 0.7:
            self.put(k, c)
        elif kind < 0.8:
            self.execute(DELETE_ROW, (*self.key(k), wire.number(c)))
            partition.rows.pop(c, None)
        elif kind < 0.84:
            end = c + self.draw.randrange(limit // 4)
            self.execute(DELETE_RANGE, (*self.key(k), wire.number(c), wire.number(end)))
            partition.rows = {at: row for at, row in partition.rows.items() if not c <= at < end}
        elif kind < 0.85:
            self.execute(DELETE_PARTITION, self.key(k))
            self.partitions[k] = Partition()
        elif kind < 0.9:
            s = self.draw.randrange(1 << 30)
            self.execute(SET_STATIC, (*self.key(k), wire.number(s)))
            partition.static = s
        else:
            added = self.draw.randrange(-5, 100)
            self.execute(COUNT, (struct.pack(">q", added), *self.key(k)))
            self.counts[k] += added

    # --- reads

    def check_rows(self, k, condition="", wanted=lambda c, row: True):
        since = time.time()
        rows = self.client.rows(f"SELECT c, color, v FROM soak.events WHERE w = {self.number} AND k = {k}{condition}")
        # A partition that has a static cell alone is a row without a clustering.
        found = {struct.unpack(">i", c)[0]: (struct.unpack(">i", color)[0], v) for c, color, v in rows if c is not None}
        complaint = self.partitions[k].complaint(found, since, time.time(), wanted)
        assert complaint is None, f"worker {self.number}, partition {k}{condition}: {complaint}"

    def check_static(self, k):
        rows = self.client.rows(f"SELECT DISTINCT s FROM soak.events WHERE w = {self.number} AND k = {k}")
        found = struct.unpack(">i", rows[0][0])[0] if rows and rows[0][0] is not None else None
        assert found == self.partitions[k].static, f"worker {self.number}, partition {k}: static {found}, not {self.partitions[k].static}"

    def check_count(self, k):
        rows = self.client.rows(f"SELECT n FROM soak.counts WHERE w = {self.number} AND k = {k}")
        found = struct.unpack(">q", rows[0][0])[0] if rows else 0
        assert found == self.counts[k], f"worker {self.number}: counter {k} is {found}, not {self.counts[k]}"

    def read(self):
        k = self.draw.randrange(KEYS)
        kind = self.draw.random()
        if kind < 0.3:
            self.check_rows(k)
        elif kind < 0.6:
            low = self.draw.randrange(LARGE_ROWS if k == 0 else ROWS)
            order = " ORDER BY c DESC" if self.draw.random() < 0.5 else ""
            self.check_rows(k, f" AND c >= {low} AND c < {low + 20}{order}", lambda c, row: low <= c < low + 20)
        elif kind < 0.75:
            color = self.draw.randrange(COLORS)
            self.check_rows(k, f" AND color = {color}", lambda c, row: row[0] == color)
        elif kind < 0.9:
            self.check_static(k)
        else:
            self.check_count(k)
        if self.draw.random() < 0.1:
            self.partitions[k].forget_expired()

    def work(self, stopping):
        began = time.time()
        while not stopping.is_set():
            self.read() if self.draw.random() < 0.3 else self.write()
            self.requests += 1
            ahead = began + self.requests / self.rate - time.time()
            if ahead > 0:
                time.sleep(ahead)
            elif ahead < -1:  # it does not catch up for a second of waiting
                began -= ahead

    def check_all(self):
        for k in range(KEYS):
            self.check_rows(k)
            self.check_static(k)
            self.check_count(k)


def serve(worker, orders, stopping):
    """In a process: "work" until it is told to stop, "check" everything; an answer is a complaint or None."""
    while True:
        order = orders.recv()
        if order == "end":
            return
        complaint = None
        try:
            worker.connect()
            worker.work(stopping) if order == "work" else worker.check_all()
        except (AssertionError, wire.Refused, wire.Closed, OSError) as e:
            complaint = f"{type(e).__name__}: {e}"
        worker.client.close()
        orders.send((complaint, worker.requests))


class Workers:
    def __init__(self, count, *arguments):
        self.stopping = multiprocessing.Event()
        self.pipes, self.processes = [], []
        for number in range(count):
            ours, theirs = multiprocessing.Pipe()
            self.pipes.append(ours)
            self.processes.append(multiprocessing.Process(target=serve, args=(Worker(number, *arguments), theirs, self.stopping), daemon=True))
            self.processes[-1].start()

    def tell(self, order):
        for pipe in self.pipes:
            pipe.send(order)

    def answers(self):
        """Complaints, and how many requests there were in all."""
        answers = [pipe.recv() for pipe in self.pipes]
        return [complaint for complaint, _ in answers if complaint], sum(requests for _, requests in answers)

    def end(self):
        self.tell("end")
        for process in self.processes:
            process.join(10)


class Latencies:
    """In a process: point reads of a small table, and whether a compaction ran meanwhile."""

    def __init__(self, address):
        self.address = address
        self.pipe, theirs = multiprocessing.Pipe()
        self.stopping = multiprocessing.Event()
        self.process = multiprocessing.Process(target=self.run, args=(theirs,), daemon=True)

    def start(self):
        self.process.start()

    def run(self, pipe):
        seconds = {False: [], True: []}
        compacting, asked = False, 0
        with wire.Client(self.address, timeout=60) as client:
            read = client.prepare("SELECT v FROM soak.hot WHERE k = ?")
            while not self.stopping.is_set():
                if time.time() - asked > 0.2:
                    asked = time.time()
                    compacting = bool(client.rows("SELECT task_id FROM system_views.sstable_tasks"))
                k = wire.number(random.randrange(1000))
                began = time.perf_counter()
                client.execute(read, (k,))
                seconds[compacting].append(time.perf_counter() - began)
                time.sleep(0.002)
        pipe.send({ran: (len(all_), percentile(all_, 0.5), percentile(all_, 0.99)) for ran, all_ in seconds.items()})

    def stop(self):
        """By whether a compaction ran: how many reads, their median and their 99th percentile in seconds."""
        self.stopping.set()
        return self.pipe.recv()


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0
