"""Real messages that are damaged. A forged replica records its neighbours' requests and sends them back changed, or passes reads on
and changes the answers; each frame has its right CRC. Nodes stay up, small and quiet, and clients beside get right answers.

BAD_PEERS_SECONDS: how long each of the two lasts, 20 if it is not set. BAD_PEERS_SEED: what is changed, and how.
"""
import itertools
import os
import random
import struct
import threading
import time

import pytest

from internode import CENTURIES, LARGE, MUTATION_REQ, RANGE_REQ, READ_REQ, READ_RSP, SCHEMA_PUSH_REQ, SMALL, TRUNCATE_REQ, URGENT, frames, message
from node_ring import ALL, ONE, QUORUM, Clients, Ring, ring_seen_by, run, wait_until
from peers import OUTSIDE, Stranger
from test_replica import ForgedReplica
from world import FORGED, SLACK, Beside, Cost, make_tables

ADDRESSES = ["127.0.0.94", "127.0.0.95", "127.0.0.96"]
SECONDS = float(os.environ.get("BAD_PEERS_SECONDS", "20"))
SEED = int(os.environ.get("BAD_PEERS_SEED", "1"))
ROWS = 200
HURRY = {f"{request}_request_timeout": "700ms" for request in ("read", "range", "write", "counter_write")}

TABLES = [
    "CREATE TYPE k.u (a int, b text)",
    "CREATE TABLE k.all (p int, q text, c int, d text, s int static, l list<int>, st set<text>, m map<text, int>, u k.u, fu frozen<k.u>, tp tuple<int, text>,"
    " v vector<float, 3>, b blob, ti timeuuid, i inet, dec decimal, vi varint, du duration, PRIMARY KEY ((p, q), c, d)) WITH CLUSTERING ORDER BY (c DESC)",
    "CREATE INDEX ON k.all (i)",
    "CREATE TABLE k.cnt (k int PRIMARY KEY, a counter, b counter)",
]
WRITES = [
    "INSERT INTO k.all (p, q, c, d, s, l, st, m, u, fu, tp, v, b, ti, i, dec, vi, du) VALUES (%s, 'q', 1, 'd', 1, [1, 2], {'a'}, {'a': 1}, {a: 1, b: 'x'}, {a: 1, b: 'x'},"
    " (1, 'x'), [1, 2, 3], 0x0102, now(), '1.2.3.4', 1.5, 12345678901234567890, 1d2h)",
    "UPDATE k.all SET l = l + [3], m['b'] = 2, st = st - {'a'} WHERE p = %s AND q = 'q' AND c = 2 AND d = 'e'",
    "DELETE FROM k.all WHERE p = %s AND q = 'q' AND c > 3 AND c < 9",
    "DELETE l[0], m['a'] FROM k.all WHERE p = %s AND q = 'q' AND c = 1 AND d = 'd'",
    "BEGIN BATCH INSERT INTO k.all (p, q, c, d) VALUES (%s, 'q', 1, 'f'); INSERT INTO k.wide (k, c, v) VALUES (1, 2, 0x01); APPLY BATCH",
    "UPDATE k.cnt SET a = a + 1, b = b - 2 WHERE k = %s",
    "INSERT INTO k.wide (k, c, v) VALUES (%s, 1, 0x00) USING TTL 100",
    "DELETE FROM k.all WHERE p = %s AND q = 'q'",
]
READS = [
    "SELECT * FROM k.all WHERE p = %s AND q = 'q'",
    "SELECT p, s, l FROM k.all WHERE p = %s AND q = 'q' AND c IN (1, 2) AND d > 'a'",
    "SELECT * FROM k.all WHERE i = '1.2.3.4' AND c = 1 AND p > %s ALLOW FILTERING",
    "SELECT * FROM k.all WHERE token(p, q) > %s LIMIT 3",
    "SELECT a FROM k.cnt WHERE k = %s",
    "SELECT m['a'], u.a, d FROM k.all WHERE p = %s AND q = 'q' ORDER BY c ASC",
    "SELECT DISTINCT p, q, s FROM k.all LIMIT %s",
]
SCANS = ["SELECT p, sum(c) FROM k.all GROUP BY p, q", "SELECT count(*) FROM k.wide", "SELECT * FROM k.all PER PARTITION LIMIT 1", "SELECT * FROM k.all LIMIT 3"]


class Damage:
    """Changes bytes a little, where parsers look: bits, edges of numbers, missing and additional bytes, pieces of other messages."""

    EDGES = bytes([0, 1, 0x7F, 0x80, 0xFF, 0xFE, 0xF0, 0xFC])
    COUNTS = [-1, 0, 1, 0x7FFFFFFF, -0x80000000, 65536, 1 << 24]

    def __init__(self, chance):
        self.chance = chance
        self.kinds = [self.flip, self.edge, self.cut, self.append, self.leave_out, self.insert, self.graft, self.count]

    def __call__(self, data, others):
        data = bytearray(data or bytes(4))
        for _ in range(self.chance.choice([1, 1, 1, 2, 3, 8])):
            at = self.chance.randrange(len(data))
            self.chance.choice(self.kinds)(data, at, others)
            if not data:
                break
        return bytes(data)

    def flip(self, data, at, _):
        data[at] ^= 1 << self.chance.randrange(8)

    def edge(self, data, at, _):
        data[at] = self.chance.choice(self.EDGES)

    def cut(self, data, at, _):
        del data[at:]

    def append(self, data, at, _):
        data += self.chance.randbytes(self.chance.randrange(1, 20))

    def leave_out(self, data, at, _):
        del data[at:at + self.chance.randrange(1, 9)]

    def insert(self, data, at, _):
        data[at:at] = bytes(self.chance.choices(self.EDGES, k=self.chance.randrange(1, 9)))

    def graft(self, data, at, others):
        other = self.chance.choice(others)
        start = self.chance.randrange(len(other) or 1)
        data[at:at + 16] = other[start:start + 16]

    def count(self, data, at, _):
        data[at:at + 4] = struct.pack(">i", self.chance.choice(self.COUNTS))


class Load:
    """Statements of every kind at once. Whether they succeed is not asked: some of them reach the forged replica."""

    def __init__(self, ring):
        self.session, self.stop = ring.session(), threading.Event()
        self.session.cluster.max_schema_agreement_wait = 0  # the forged replica never agrees
        works = [self.write, lambda i: self.ask(READS[i % len(READS)], (1 + i % 12,), ALL), lambda i: self.ask(READS[i % len(READS)], (1 + i % 12,), QUORUM), self.change_schema]
        self.threads = [threading.Thread(target=self.repeat, args=(work,), daemon=True) for work in works]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def repeat(self, work):
        for i in itertools.count():
            work(i)
            if self.stop.wait(0.01):
                return

    def ask(self, text, values=None, level=ONE):
        try:
            run(self.session, text, values, level)
        except Exception:  # any error is an answer
            pass

    def write(self, i):
        self.ask(WRITES[i % len(WRITES)], (1 + i % 12,), ONE if i % 3 else QUORUM)

    def change_schema(self, i):
        self.ask(f"CREATE TABLE k.x{i} (k int PRIMARY KEY, v list<int>)")
        self.ask(f"ALTER TABLE k.x{i} ADD w int")
        self.ask(f"DROP TABLE k.x{i}")
        self.stop.wait(1)


@pytest.fixture
def attacked():
    """Three nodes with rows of every kind that nobody needs afterwards. They start again, and have the rows that clients wrote."""
    ring = Ring(ADDRESSES, ring_delay="2000ms", **HURRY)
    try:
        ring.start()
        session = ring.session()
        make_tables(session, len(ADDRESSES))
        for text in TABLES:
            run(session, text)
        for k in range(ROWS):
            run(session, "INSERT INTO k.t (k, v) VALUES (%s, %s)", (k, k), ALL)
        yield ring
        assert [node.process.poll() for node in ring.nodes] == [None] * 3
        ring.nodes[0].nodetool("assassinate", FORGED)
        for node in ring.nodes:
            node.kill()
            node.start()
        ring.wait_for("UN", len(ADDRESSES))
        rows = {tuple(row) for row in run(ring.session(), "SELECT k, v FROM k.t")}
        assert {(k, k) for k in range(ROWS)} <= rows
    finally:
        ring.destroy()


@pytest.fixture
def forged(attacked):
    with ForgedReplica(attacked) as forged:
        wait_until(lambda: all(ring_seen_by(node).get(FORGED) == "UN" for node in attacked.nodes), "it does not join")
        yield forged


def check_costs(costs):
    for cost in costs:
        assert cost.lines("ERROR") == []
        cost.check_memory(2 * SLACK)


class Senders:
    """Connections in the name of the forged replica and of a stranger. One that the node closed is opened again."""

    def __init__(self, ring, chance):
        self.addresses, self.chance, self.links = [node.address for node in ring.nodes], chance, {}

    def send(self, messages):
        place = self.chance.choice(self.addresses), self.chance.choice([FORGED, FORGED, OUTSIDE]), self.chance.choice([URGENT, SMALL, LARGE])
        try:
            if place not in self.links:
                self.links[place] = Stranger(place[0], claims=place[1], kind=place[2], source=place[1])
            link = self.links[place]
            if not link.send_raw(frames(messages)) or not link.is_open():
                raise ConnectionResetError
        except OSError:
            if place in self.links:
                self.links.pop(place).close()

    def close(self):
        for link in self.links.values():
            link.close()


def test_damaged_requests(attacked, forged):
    chance = random.Random(SEED)
    damage = Damage(chance)
    forged.answer_reads(lambda peer, number, body: [])
    with Load(attacked):
        wait_until(lambda: all(forged.count(verb) > 20 for verb in (MUTATION_REQ, READ_REQ, RANGE_REQ)) and forged.count(SCHEMA_PUSH_REQ) > 0, "too few requests reach the forged replica")
    known = [(verb, flags, params, body) for _, verb, _, flags, params, body in forged.received if verb != TRUNCATE_REQ]
    by_verb = {verb: [each for each in known if each[0] == verb] for verb in sorted({verb for verb, *_ in known})}
    bodies = [body for *_, body in known]

    def changed():
        verb, flags, params, body = chance.choice(by_verb[chance.choice(list(by_verb))])
        if chance.random() < 0.1:
            verb = chance.choice([each for each in range(130) if each != TRUNCATE_REQ] + [1 << 20])
        if chance.random() < 0.1:
            flags ^= 1 << chance.randrange(12)
        if chance.random() < 0.15:
            value = chance.choice(params)[1] if params else chance.randbytes(8)
            params = [(chance.choice([*range(16), 1000]), damage(value, bodies)), *params]
        if chance.random() < 0.9:
            body = damage(body, bodies)
        number = chance.choice([chance.randrange(1 << 16), chance.randrange(1 << 62)])
        return message(verb, body, number=number, expires=chance.choice([10_000, 1, CENTURIES]), flags=flags, params=params)

    clients, senders = Clients(), Senders(attacked, chance)
    costs = [Cost(node) for node in attacked.nodes]
    try:
        with Beside(clients, attacked.nodes):
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                senders.send([changed() for _ in range(chance.choice([1, 4, 32]))])
                time.sleep(0.003)
    finally:
        senders.close()
        clients.close()
    check_costs(costs)


def test_damaged_answers(attacked, forged):
    chance = random.Random(SEED)
    damage = Damage(chance)
    numbers, asked, answers = itertools.count(1000), {}, [bytes(4)]
    sent = []

    def pass_on(verb):
        def ask(peer, number, body):
            mine = next(numbers)
            asked[mine] = peer, number
            forged.send(chance.choice([node.address for node in attacked.nodes if node.address != peer]), message(verb, body, number=mine))
        return ask

    def answer(_, number, body):
        if number in asked:
            peer, number = asked.pop(number)
            answers.append(body)
            del answers[:-200]
            sent.append(number)
            forged.send(peer, message(READ_RSP, damage(body, answers) if chance.random() < 0.8 else body, number=number))

    forged.handlers |= {READ_REQ: pass_on(READ_REQ), RANGE_REQ: pass_on(RANGE_REQ), READ_RSP: answer}
    costs = [Cost(node) for node in attacked.nodes]
    with Load(attacked) as load:
        end = time.monotonic() + SECONDS
        scan = lambda: load.ask(chance.choice(SCANS), None, chance.choice([QUORUM, ALL]))
        wait_until(lambda: scan() or time.monotonic() > end and len(sent) > 50, "too few answers pass the forged replica", SECONDS + 100)
    check_costs(costs)
