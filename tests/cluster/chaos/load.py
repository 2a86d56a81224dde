"""The clients of a run: each request goes to one node, is sent once, and its outcome is remembered."""
import collections
import random
import threading
import time

from cassandra import ConsistencyLevel, OperationTimedOut, ReadFailure, ReadTimeout, Unavailable, WriteFailure, WriteTimeout
from cassandra.cluster import Cluster, ExecutionProfile, EXEC_PROFILE_DEFAULT, NoHostAvailable
from cassandra.connection import ConnectionException
from cassandra.policies import ConstantReconnectionPolicy, FallthroughRetryPolicy, RoundRobinPolicy, WhiteListRoundRobinPolicy
from cassandra.query import BatchStatement

from checks import ACKNOWLEDGED, REFUSED, UNKNOWN, Batches, Counter, Register, is_deletion

QUORUM, ALL, ONE = ConsistencyLevel.QUORUM, ConsistencyLevel.ALL, ConsistencyLevel.ONE
REGISTERS, COUNTERS, PATIENCE = 48, 8, 12
PLANTS = {"weak-levels": "registers are written and read at ONE", "retried-counters": "additions that time out are sent again",
          "split-batches": "the rows of a batch are written one by one, now and then not all of them", "no-hints": "nodes keep no hints", "rolling-at-all": "the rolling restart's load is at ALL"}
SCHEMA = ("CREATE KEYSPACE chaos WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}",
          "CREATE TABLE chaos.registers (k int PRIMARY KEY, n bigint, v text)", "CREATE TABLE chaos.counters (k int PRIMARY KEY, n counter)",
          "CREATE TABLE chaos.batches (b int, part int, PRIMARY KEY ((b, part)))", "CREATE TABLE chaos.steady (k int PRIMARY KEY, n bigint)")
STATEMENTS = {
    "write": "INSERT INTO chaos.registers (k, n, v) VALUES (?, ?, ?) USING TIMESTAMP ?", "delete": "DELETE FROM chaos.registers USING TIMESTAMP ? WHERE k = ?",
    "read": "SELECT n, v FROM chaos.registers WHERE k = ?", "scan": "SELECT k, n, v FROM chaos.registers",
    "add": "UPDATE chaos.counters SET n = n + ? WHERE k = ?", "sum": "SELECT n FROM chaos.counters WHERE k = ?",
    "part": "INSERT INTO chaos.batches (b, part) VALUES (?, ?)", "parts": "SELECT b, part FROM chaos.batches",
    "steady write": "INSERT INTO chaos.steady (k, n) VALUES (?, ?)", "steady read": "SELECT n FROM chaos.steady WHERE k = ?",
}


class Door:
    """A driver that sends to some nodes only, once, unless it is told to try others when a connection breaks."""

    def __init__(self, addresses, retries=None):
        policy = WhiteListRoundRobinPolicy(addresses) if retries is None else RoundRobinPolicy()
        profile = ExecutionProfile(load_balancing_policy=policy, retry_policy=retries or FallthroughRetryPolicy(), request_timeout=PATIENCE)
        self.cluster = Cluster(addresses, execution_profiles={EXEC_PROFILE_DEFAULT: profile}, connect_timeout=5, idle_heartbeat_interval=5, idle_heartbeat_timeout=10,
                               reconnection_policy=ConstantReconnectionPolicy(0.5, None), schema_metadata_enabled=False, token_metadata_enabled=retries is not None)
        self.session = self.cluster.connect()
        self.prepared = {}

    def is_open(self):
        return any(not pool.is_shutdown for pool in self.session._pools.values())

    def prepare(self):
        self.prepared = {name: self.session.prepare(text) for name, text in STATEMENTS.items()}

    def execute(self, name, values=(), level=QUORUM):
        bound = self.prepared[name].bind(values)
        bound.consistency_level = level
        return list(self.session.execute(bound))

    def batch(self, number):
        batch = BatchStatement(consistency_level=QUORUM)
        for part in range(Batches.PARTS):
            batch.add(self.prepared["part"], (number, part))
        self.session.execute(batch)

    def half_a_batch(self, number):
        for part in range(Batches.PARTS - (number % 10 == 0)):
            self.execute("part", (number, part))


def text_of(n):
    """What write n stores beside its number: the row that is found must be of one write as a whole."""
    return f"{n} " * (1 + n * 7919 % 60)


class Load:
    WORKERS = {"write": 8, "read": 6, "scan": 1, "add": 4, "sum": 2, "batch": 3}

    def __init__(self, world, rate, plant=None):
        self.world, self.plant = world, plant
        self.pause_between = sum(self.WORKERS.values()) / rate
        self.doors = {node: Door([node.address]) for node in world.nodes}
        first = next(iter(self.doors.values()))
        for statement in SCHEMA:
            first.session.execute(statement, timeout=60)
        for door in self.doors.values():
            door.prepare()
        self.registers = [Register(k) for k in range(REGISTERS)]
        self.counters = [Counter(k) for k in range(COUNTERS)]
        self.batches = Batches()
        self.complaints = []
        self.answers = collections.Counter()
        self.epoch = time.time_ns() // 1000
        self.level = ONE if plant == "weak-levels" else QUORUM
        self.lock = threading.Lock()
        self.batch_count = 0
        self.threads = []
        self.running = threading.Event()

    # --- one request

    def ask(self, kind, node, request):
        """(outcome, what it returned)."""
        try:
            result = request(self.doors[node])
            self.count(kind, "ok")
            return ACKNOWLEDGED, result
        except (Unavailable, NoHostAvailable) as e:  # the latter: there is no connection to send it on
            self.count(kind, type(e).__name__)
            return REFUSED, None
        except (WriteTimeout, ReadTimeout, WriteFailure, ReadFailure, OperationTimedOut, ConnectionException) as e:
            self.count(kind, type(e).__name__)
            return UNKNOWN, None
        except Exception as e:
            self.count(kind, type(e).__name__)
            self.complain(f"{kind} by node {node.number}: {e!r}")
            return UNKNOWN, None

    def count(self, kind, answer):
        with self.lock:
            self.answers[kind, answer] += 1

    def complain(self, text):
        if text is not None:
            with self.lock:
                self.complaints.append(f"{time.strftime('%H:%M:%S')} {text}")

    # --- the kinds

    def write(self, node, register):
        n, sent = register.begin_write(), time.time()
        at = self.epoch + n
        if is_deletion(n):
            request = lambda door: door.execute("delete", (at, register.key), self.level)
        else:
            request = lambda door: door.execute("write", (register.key, n, text_of(n), at), self.level)
        outcome, _ = self.ask("write", node, request)
        register.end_write(n, outcome, node.number, sent)

    def check_row(self, register, floor, rows, node):
        found = rows[0].n if rows else None
        if rows and rows[0].v != text_of(found):
            self.complain(f"register {register.key}: a row of two writes, read by {node.number}: {rows[0]}")
        self.complain(register.end_read(floor, found, node.number))

    def read(self, node, register, level=None):
        """Whether it was answered."""
        floor = register.begin_read()
        outcome, rows = self.ask("read", node, lambda door: door.execute("read", (register.key,), level or self.level))
        if outcome == ACKNOWLEDGED:
            self.check_row(register, floor, rows, node)
        return outcome == ACKNOWLEDGED

    def scan(self, node, level=None):
        floors = [register.begin_read() for register in self.registers]
        outcome, rows = self.ask("scan", node, lambda door: door.execute("scan", (), level or self.level))
        if outcome == ACKNOWLEDGED:
            found = collections.defaultdict(list)
            for row in rows:
                found[row.k].append(row)
            for register, floor in zip(self.registers, floors):
                self.check_row(register, floor, found[register.key], node)
        return outcome == ACKNOWLEDGED

    def add(self, node, counter, draw):
        amount = draw.randrange(1, 6)
        counter.begin_add(amount)
        outcome, _ = self.ask("add", node, lambda door: door.execute("add", (amount, counter.key)))
        if outcome == UNKNOWN and self.plant == "retried-counters":
            outcome, _ = self.ask("add", node, lambda door: door.execute("add", (amount, counter.key)))
        counter.end_add(amount, outcome)

    def sum(self, node, counter, level=QUORUM):
        token = counter.begin_read()
        outcome, rows = self.ask("sum", node, lambda door: door.execute("sum", (counter.key,), level))
        if outcome == ACKNOWLEDGED:
            self.complain(counter.end_read(token, rows[0].n if rows else None, node.number))
        return outcome == ACKNOWLEDGED

    def batch(self, node):
        with self.lock:
            self.batch_count += 1
            number = self.batch_count
        ahead = node.skew > 0
        outcome, _ = self.ask("batch", node, lambda door: (door.half_a_batch if self.plant == "split-batches" else door.batch)(number))
        self.batches.end(number, outcome, ahead or node.skew > 0)

    # --- all of them at once

    def work(self, kind, worker, seed):
        draw = random.Random(seed)
        mine = self.registers[worker::self.WORKERS["write"]]
        while self.running.is_set():
            began = time.monotonic()
            node = draw.choice([node for node in self.world.nodes if self.doors[node].is_open()] or self.world.nodes)
            if kind == "write":
                self.write(node, draw.choice(mine))
            elif kind == "read":
                self.read(node, draw.choice(self.registers))
            elif kind == "scan":
                self.scan(node)
            elif kind == "add":
                self.add(node, draw.choice(self.counters), draw)
            elif kind == "sum":
                self.sum(node, draw.choice(self.counters))
            else:
                self.batch(node)
            time.sleep(max(0.0, self.pause_between * draw.uniform(0.5, 1.5) - (time.monotonic() - began)))

    def start(self, seed):
        self.running.set()
        self.threads = [threading.Thread(target=self.work, args=(kind, worker, f"{seed} {kind} {worker}"), daemon=True)
                        for kind, count in self.WORKERS.items() for worker in range(count)]
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.running.clear()
        for thread in self.threads:
            thread.join()

    def close(self):
        for door in self.doors.values():
            door.cluster.shutdown()


class TryNextHost(FallthroughRetryPolicy):
    """What drivers do by default with idempotent requests whose connection breaks. Timeouts and refusals reach the application."""

    def on_request_error(self, *_, **__):
        return self.RETRY_NEXT_HOST, None


class Steady:
    """An application that goes on while nodes are restarted one after the other: none of its requests may fail."""
    WORKERS = 4

    def __init__(self, world, level=QUORUM):
        self.level = level
        self.door = Door([node.address for node in world.nodes], TryNextHost())
        self.door.prepare()
        self.done, self.failures = 0, []
        self.running = threading.Event()
        self.running.set()
        self.threads = [threading.Thread(target=self.work, args=(worker,), daemon=True) for worker in range(self.WORKERS)]
        for thread in self.threads:
            thread.start()

    def work(self, worker):
        n = 0
        while self.running.is_set():
            n += 1
            try:
                self.door.execute("steady write", (worker, n), self.level)
                found = [row.n for row in self.door.execute("steady read", (worker,), self.level)]
                if found != [n]:
                    self.failures.append(f"wrote {n}, read {found}")
                self.done += 2
            except Exception as e:  # every failure counts
                self.failures.append(f"{time.strftime('%H:%M:%S')} {e!r}")
            time.sleep(0.02)

    def stop(self):
        self.running.clear()
        for thread in self.threads:
            thread.join()
        self.door.cluster.shutdown()
