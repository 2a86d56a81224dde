"""Whole messages without end: a node's memory and its log stay bounded, its clients are served, and when the flood is over so is
what it did."""
import signal
import struct
import time
import uuid

from cassandra import WriteTimeout

from internode import (CALL_BACK_ON_FAILURE, CENTURIES, ECHO_REQ, FAILURE_RSP, HINT_REQ, LARGE, MUTATION_REQ, MUTATION_RSP, PING_REQ, PING_RSP, READ_RSP, RESPOND_TO,
                       SCHEMA_PULL_REQ, SMALL, TRUNCATE_REQ, endpoint, frames, hint, message, mutation, row, segment, update, utf, vint)
from peers import ForgedNode, Stranger
from node_ring import ALL, ONE, PATIENCE, QUORUM, Clients, run, wait_until
from world import FORGED, MIB, SLACK, Beside, Cost, table_id

SENT_LIMIT = (4 + 128) * MIB  # what may wait for a peer: internode_application_send_queue_capacity and ..._reserve_endpoint_capacity


def pings():
    return frames([message(PING_REQ, bytes([SMALL]), number=i + 1, expires=PATIENCE * 1000) for i in range(3000)])


def key(number):
    return struct.pack(">i", number)


def write(table, k, v, micros=None):
    return mutation(update(table, key(k), ["v"], [row(b"", [struct.pack(">i", v)])], micros))


def milliseconds(ago=0):
    return int(time.time() * 1000) - ago


# --- answers that nobody reads


def test_pings_whose_answers_nobody_reads(ring, beside):
    node = ring.nodes[0]
    cost = Cost(node)
    with ForgedNode(FORGED) as forged, Stranger(node.address, claims=FORGED) as stranger:
        forged.reads.clear()
        stranger.send_while(pings(), 2, enough=6 << 20)
        cost.check_memory(SENT_LIMIT + SLACK)
        forged.reads.set()
    with ForgedNode(FORGED) as forged, Stranger(node.address, claims=FORGED) as stranger:
        def is_answered():
            stranger.send(message(PING_REQ, bytes([SMALL])))
            return forged.count(PING_RSP)

        wait_until(is_answered, "a peer that reads gets no answer")


def test_answers_that_nobody_asked_for(ring, beside):
    """In a neighbour's name, with ids that its answers may have."""
    rounds = beside.rounds
    with Stranger(ring.nodes[0].address, claims=ring.nodes[1].address) as stranger:
        data = frames([message(MUTATION_RSP, number=i) for i in range(1, 4000)] + [message(READ_RSP, b"\x00\x00\x01\x01\x00", number=i) for i in range(1, 4000)])
        stranger.send_while(data, 1)
    wait_until(lambda: beside.rounds > rounds + 10, "the client beside stands still")


def test_schema_pulls(make_alone):
    node = make_alone(shards=2)
    cost = Cost(node)
    with Stranger(node.address) as stranger:
        stranger.send(*[message(SCHEMA_PULL_REQ, number=i + 1) for i in range(60_000)])
        end = time.monotonic() + 5
        while time.monotonic() < end and cost.memory_kib() <= 2 * SLACK:
            assert run(node.session, "SELECT v FROM k.t WHERE k = 1", level=ONE) == []
    cost.check_memory(2 * SLACK)


# --- answers to be sent elsewhere


def respond_to(count, expires=2000):
    return [message(ECHO_REQ, number=i + 1, expires=expires, params=[(RESPOND_TO, endpoint(f"127.9.{i // 250}.{i % 250 + 1}"))]) for i in range(count)]


def test_addresses_that_are_made_up_do_not_fill_the_log(alone):
    cost = Cost(alone)
    with Stranger(alone.address) as stranger:
        stranger.send(*respond_to(500))
        cost.wait_for_line("failed to connect")
        time.sleep(1)
    cost.check_log(100)


# --- messages that are late, early, damaged, or come again


def test_what_is_too_late_or_comes_again_changes_nothing(ring, beside):
    session = ring.session()
    table = table_id(session, "t")
    long_ago = int((time.time() - 3600) * 1e6)
    run(session, "INSERT INTO k.t (k, v) VALUES (1, 1)", level=ALL)
    cost = Cost(ring.nodes[0])
    with Stranger(ring.nodes[0].address, claims="127.0.0.97") as stranger:
        stranger.send(message(MUTATION_REQ, write(table, 2, 2), created=milliseconds(ago=600_000)))
        cost.wait_for_line("/127.0.0.97:7000", "MUTATION_REQ was made 600", "compare the clocks")
        stranger.send(*[message(MUTATION_REQ, write(table, 1, 2, long_ago), number=7) for _ in range(2000)])
        stranger.send(*[message(MUTATION_REQ, write(table, 3, 3), expires=0, created=milliseconds(ago=5)) for _ in range(100)])
        stranger.send(message(MUTATION_REQ, write(table, 4, 4), expires=(1 << 64) - 1))
        wait_until(lambda: run(session, "SELECT v FROM k.t WHERE k = 4", level=ALL) != [], "the last of them is not served")
    assert [row.v for row in run(session, "SELECT v FROM k.t WHERE k = 1", level=ALL)] == [1]
    assert run(session, "SELECT v FROM k.t WHERE k = 2", level=ALL) == run(session, "SELECT v FROM k.t WHERE k = 3", level=ALL) == []


def test_bodies_that_are_none(alone):
    table = table_id(alone.session, "t")
    cost = Cost(alone)
    name = f"/{FORGED}:7000"
    wants_failure = {"flags": CALL_BACK_ON_FAILURE}
    with ForgedNode(FORGED) as forged, Stranger(alone.address, claims=FORGED) as stranger, Stranger(alone.address, claims=FORGED, kind=LARGE) as large:
        large.send(message(MUTATION_REQ, bytes(20 << 20), **wants_failure))
        cost.wait_for_line(f"MUTATION_REQ of {name} is refused: Rejected an oversized mutation")
        stranger.send(message(TRUNCATE_REQ, utf("system") + utf("local"), **wants_failure))
        cost.wait_for_line(f"TRUNCATE_REQ of {name} is refused: it truncates a table of the node's own")
        stranger.send(message(HINT_REQ, hint(uuid.uuid4(), write(table, 1, 1)), **wants_failure))
        cost.wait_for_line(f"HINT_REQ of {name} is refused: it is for a node that is not in the ring")
        for body, line in ((write(uuid.uuid4(), 1, 1), "names a table or column that is not known here"), (write(table, 1, 1)[:-3], "is refused: Corrupt mutation")):
            stranger.send(*[message(MUTATION_REQ, body, number=i + 1, expires=1000, **wants_failure) for i in range(2000)])
            cost.wait_for_line(f"MUTATION_REQ of {name} {line}")
        wait_until(lambda: forged.count(FAILURE_RSP) >= 4003, "they are not all answered")
    cost.check_log(40)
    cost.check_memory(SLACK + 64 * MIB)  # the large one, twice


def test_tables_that_are_nobodys_take_no_place_for_ever(make_alone):
    node = make_alone(write_request_timeout="1000ms")
    unknown = write(uuid.uuid4(), 1, 1)
    with ForgedNode(FORGED) as forged:
        with Stranger(node.address, claims=FORGED) as stranger:
            stranger.send(*[message(MUTATION_REQ, unknown, number=i + 1, flags=CALL_BACK_ON_FAILURE, expires=CENTURIES) for i in range(1100)])
            wait_until(lambda: forged.count(FAILURE_RSP) >= 1100 - 1024, "more of them wait than may")
        time.sleep(2)
        failed = forged.count(FAILURE_RSP)
        with Stranger(node.address, claims=FORGED) as peer:
            began = time.monotonic()
            peer.send(message(MUTATION_REQ, unknown, number=9999, flags=CALL_BACK_ON_FAILURE, expires=1000))
            wait_until(lambda: forged.count(FAILURE_RSP) > failed, "it is not answered")
            assert time.monotonic() - began > 0.3  # it waits for half of its time: the table may be on its way


# --- neighbours


def test_halves_that_have_expired_hold_no_room(ring):
    session = ring.session(ring.nodes[1])
    insert = session.prepare("INSERT INTO k.wide (k, c, v) VALUES (9, 9, ?)")
    insert.consistency_level = ALL
    session.execute(insert, (bytes(6 << 20),))
    strangers = []
    try:
        for i, size in enumerate([127 << 20] * 4 + [23 << 20] + [5 << 20] * 8 + [4 << 20] * 16):
            strangers.append(Stranger(ring.nodes[0].address, claims=f"127.0.5.{i + 1}", kind=LARGE))
            head = message(MUTATION_REQ, expires=1500)[:-1] + vint(size)
            strangers[-1].send_raw(segment(head + bytes(1000), False))
        time.sleep(2)

        def is_written():
            try:
                session.execute(insert, (bytes(6 << 20),))
            except WriteTimeout:
                return False
            return True

        wait_until(is_written, "a neighbour's large messages are not read", 4)
    finally:
        for stranger in strangers:
            stranger.close()


def test_a_peer_that_stops_in_the_middle_of_large_writes(ring):
    first, stopped, third = ring.nodes
    clients = Clients()
    try:
        session = clients.session(first, third)
        insert = session.prepare("INSERT INTO k.wide (k, c, v) VALUES (?, 1, ?)")
        insert.consistency_level = QUORUM
        costs = [Cost(node) for node in (first, third)]
        stopped.process.send_signal(signal.SIGSTOP)
        with Beside(clients, [first, third]):
            end = time.monotonic() + 2
            while time.monotonic() < end:
                for writing in [session.execute_async(insert, (k % 10, bytes(100_000))) for k in range(40)]:
                    writing.result()
        for cost in costs:
            cost.check_memory(SENT_LIMIT + 3 * SLACK)
            cost.check_log(60)
        stopped.process.send_signal(signal.SIGCONT)
        ring.wait_for("UN", 3)
        with Beside(clients, ring.nodes):
            pass
    finally:
        stopped.process.send_signal(signal.SIGCONT)
        clients.close()
