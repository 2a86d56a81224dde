"""Bytes that no peer sends: each connection is closed and named, costs next to nothing, and nobody else notices."""
import os
import random
import resource
import struct
import time

from frames import segment
from internode import (CENTURIES, ECHO_REQ, LARGE, LZ4, MUTATION_REQ, SMALL, STREAMING, bomb, frames, initiate, message, vint)
from peers import OUTSIDE, Stranger
from node_ring import ONE, Clients, ring_seen_by, run, wait_until
from world import SLACK, Cost


def damaged(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def announced(size):
    """The first frame of a large message that says how long it will be."""
    return segment(message(MUTATION_REQ, expires=CENTURIES)[:-1] + vint(size) + bytes(1000), False)


HELLOS = {
    "its CRC is wrong": damaged(initiate(OUTSIDE), 18),
    "these bytes are no internode handshake": b"GET / HTTP/1.1\r\n\r\n",
    "it begins a TLS handshake": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(60),
    "it asks for the unknown framing 3": initiate(OUTSIDE, framing=3),
    "it speaks messaging version 11": initiate(OUTSIDE, versions=(10, 11)),
    "opens a stream": initiate(OUTSIDE, STREAMING),
}
MESSAGES = {
    "Unknown verb id 7": frames([message(7)]),
    "corrupted frame header": damaged(frames([message(ECHO_REQ)]), 4),
    "corrupted first frame of a large message": damaged(announced(1 << 20), 50),
    f"exceeds allowed maximum of {128 << 20} bytes": announced(5 << 30),
    "the head of a large message is not in its first 1 bytes": segment(b"\x01", False),
    "in a frame that has": segment(message(ECHO_REQ)[:-1] + vint(100), True),
}


def test_every_handshake_that_is_none_is_named(alone):
    cost = Cost(alone)
    for line, hello in HELLOS.items():
        with Stranger(alone.address, hello=hello) as stranger:
            assert stranger.closed(), line
            cost.wait_for_line("WARN", line, stranger.name())


def test_every_message_that_is_none_is_named(alone):
    cost = Cost(alone)
    for line, data in MESSAGES.items():
        with Stranger(alone.address) as stranger:
            stranger.send_raw(data)
            assert stranger.closed(), line
            cost.wait_for_line("WARN", line, stranger.name())
    with Stranger(alone.address, framing=LZ4) as stranger:
        stranger.send_raw(bomb(100, b"\xff" * 200))
        assert stranger.closed()
        cost.wait_for_line("WARN", "does not decompress", stranger.name())


def test_a_stranger_that_floods_hides_no_other_one(alone):
    cost = Cost(alone)
    for _ in range(30):
        with Stranger(alone.address, hello=b"GET / HTTP/1.1\r\n\r\n") as loud:
            assert loud.closed()
    with Stranger(alone.address, source="127.0.0.97") as other:
        other.send_raw(frames([message(7)]))
        assert other.closed()
        assert cost.lines("Unknown verb id 7", other.name())


def test_who_speaks_in_the_name_of_another_is_named(alone):
    cost = Cost(alone)
    with Stranger(alone.address, claims="127.0.0.97") as stranger:
        cost.wait_for_line("messaging connection established", "/127.0.0.97:7000")
        assert cost.lines("messaging connection established", stranger.name())


def test_handshakes_that_never_end_are_ended(make_alone):
    node = make_alone(request_timeout="500ms")  # a handshake may take three times as long
    cost = Cost(node)
    hello = initiate(OUTSIDE)
    silent = [Stranger(node.address, hello=hello[:size]) for size in (0, 1, 8, 18) for _ in range(50)]
    slow = Stranger(node.address, hello=b"")
    sent = 0
    while sent < len(hello) - 1 and slow.send_raw(hello[sent:sent + 1]):
        sent += 1
        time.sleep(0.1)
    assert slow.closed()
    assert all(stranger.closed() for stranger in silent)
    cost.wait_for_line("Timeout handshaking", OUTSIDE)
    cost.check_log(30)
    cost.check_memory(SLACK)
    for stranger in [slow, *silent]:
        stranger.close()


def test_random_bytes_behind_a_handshake(ring, beside):
    source = random.Random(1)
    cost = Cost(ring.nodes[0])
    for i in range(150):
        with Stranger(ring.nodes[0].address, kind=SMALL if i % 2 else LARGE) as stranger:
            noise = source.randbytes(source.randrange(1, 5000))
            stranger.send_raw(noise if i % 3 == 0 else segment(noise, i % 3 == 1))
    cost.check_memory(SLACK)


def test_gigabytes_that_are_only_announced(ring, beside):
    cost = Cost(ring.nodes[0])
    strangers = []
    for size in (129 << 20, 5 << 30, 1 << 60):
        with Stranger(ring.nodes[0].address, kind=LARGE) as stranger:
            stranger.send_raw(announced(size))
            assert stranger.closed()
    for i in range(40):
        strangers.append(Stranger(ring.nodes[0].address, claims=f"127.0.1.{i + 1}", kind=LARGE))
        strangers[-1].send_raw(announced(127 << 20))
    rounds = beside.rounds
    wait_until(lambda: beside.rounds > rounds + 10, "the client beside stands still")
    cost.check_memory(SLACK)
    for stranger in strangers:
        stranger.close()


def test_few_bytes_that_decompress_to_many(ring, beside):
    cost = Cost(ring.nodes[0])
    zeros = bomb(131071)
    assert len(zeros) < 1000
    for _ in range(50):
        with Stranger(ring.nodes[0].address, framing=LZ4) as stranger:
            stranger.send_raw(zeros * 20)
            stranger.send_raw(bomb(131071, b"\x1f\x00\x01\x00" + b"\xff" * 60000))
            assert stranger.closed()
    cost.check_memory(SLACK)


def test_two_thousand_connections(ring, beside):
    cost = Cost(ring.nodes[0])
    strangers = [Stranger(ring.nodes[0].address, claims=f"127.0.2.{i % 250 + 1}") for i in range(2000)]
    rounds = beside.rounds
    wait_until(lambda: beside.rounds > rounds + 10, "the client beside stands still")
    assert [list(ring_seen_by(node).values()) for node in ring.nodes] == [["UN"] * 3] * 3
    cost.check_log(220)  # 100 of each shard, and the ring's own
    cost.check_memory(SLACK)
    for stranger in strangers:
        stranger.close()


def test_connections_leave_descriptors_to_clients_and_nodes(make_alone):
    """Whether they shake hands or not."""
    node = make_alone(shards=2, limits={resource.RLIMIT_NOFILE: 1024})
    cost = Cost(node)
    clients = Clients()
    for hello in (b"", None):
        strangers = [Stranger(node.address, hello=hello, claims=f"127.0.2.{i % 250 + 1}") for i in range(2000)]
        cost.wait_for_line("Too many connections from other nodes", OUTSIDE)
        assert run(clients.session(node), "SELECT v FROM k.t WHERE k = 1", level=ONE) == []
        with Stranger(node.address, source="127.0.0.97") as neighbour:
            assert neighbour.version
            time.sleep(1)
            assert neighbour.send(message(ECHO_REQ))
        assert len(os.listdir(f"/proc/{node.process.pid}/fd")) < 512
        for stranger in strangers:
            stranger.close()
    clients.close()
    cost.check_log(280)


def test_the_head_of_a_message_is_in_one_frame_however_many_params_it_has(alone):
    cost = Cost(alone)
    params = [(1000 + i, b"") for i in range(15000)]
    with Stranger(alone.address) as stranger:
        stranger.send(message(ECHO_REQ, params=params))
        stranger.send_raw(segment(message(ECHO_REQ)[:-2] + vint(1 << 40) + struct.pack(">Q", 0), True))
        assert stranger.closed()
        cost.wait_for_line("WARN", "closing the connection", stranger.name())
