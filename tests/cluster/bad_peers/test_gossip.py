"""Gossip that lies: what a node must not believe, and that what it has to believe ends with who told it."""
import random
import time
import uuid

import pytest

import wire
from internode import (ACK, ACK2, FAILURE_RSP, HOST_ID, SCHEMA, SCHEMA_PULL_REQ, SCHEMA_PULL_RSP, SHUTDOWN, STATUS_WITH_PORT, SYN, URGENT, X1, member, message,
                       parse_digests, parse_states, states, syn)
from peers import OUTSIDE, ForgedNode, Stranger
from node_ring import ONE, Clients, ring_seen_by, run, wait_until
from world import FORGED, SLACK, Cost

YEAR = 365 * 86400
LIAR = "127.0.0.97"


def now():
    return int(time.time())


def tell(node, claims=OUTSIDE, **entries):
    """An ACK2 with the states of one node: address, generation, heartbeat, values."""
    with Stranger(node.address, claims=claims, kind=URGENT) as stranger:
        stranger.send(message(ACK2, states({entries["address"]: (entries["generation"], entries.get("heartbeat", 5), entries["values"])})))


def known(node, address):
    """What the node knows of another one, as a peer learns it: generation, heartbeat, values with their versions."""
    answers = []
    with ForgedNode(FORGED) as forged, Stranger(node.address, claims=FORGED, kind=URGENT) as stranger:
        forged.handlers[ACK] = lambda peer, number, body: answers.append(body)
        stranger.send(message(SYN, syn("Test Cluster", [(address, 0, 0)])))
        wait_until(lambda: answers, "a SYN is not answered")
    _, at = parse_digests(answers[0])
    return parse_states(answers[0], at)[address]


def up(ring):
    return [ring_seen_by(node).get(ring.nodes[1].address) for node in ring.nodes]


# --- what is not believed


def test_another_cluster_and_what_is_no_gossip(alone):
    cost = Cost(alone)
    with Stranger(alone.address, kind=URGENT) as stranger:
        for _ in range(500):
            stranger.send(message(SYN, syn("Other\nERROR a line of its own")), message(SYN, syn("Test Cluster", partitioner="Random")),
                          message(ACK2, b"\0\0\0\1garbage"), message(ACK, b"\x7f\xff\xff\xff"))
        cost.wait_for_line(r"Other\nERROR a line of its own!=Test Cluster", f"/{OUTSIDE}:7000")
        cost.wait_for_line("Malformed GOSSIP_DIGEST_ACK2 payload", f"/{OUTSIDE}:7000")
    assert not any(line.startswith("ERROR") for line in cost.lines())
    cost.check_log(40)


def test_nobody_tells_a_node_about_itself(ring, beside):
    victim = ring.nodes[0]
    for claims in (OUTSIDE, victim.address, ring.nodes[1].address):
        for values in ({HOST_ID: str(uuid.uuid4()), STATUS_WITH_PORT: ("LEFT,1,9999999999999", 100_000)}, {HOST_ID: str(uuid.uuid4())}):
            tell(victim, claims, address=victim.address, generation=now() + 1000, values=values)
    with Stranger(victim.address, claims=victim.address, kind=URGENT) as stranger:
        stranger.send(message(SHUTDOWN))
    rounds = beside.rounds
    wait_until(lambda: beside.rounds > rounds + 5, "the client beside stands still")
    assert ring_seen_by(victim)[victim.address] == "UN"
    assert known(victim, victim.address)[0] <= now()


def test_a_generation_of_the_next_years(ring, beside):
    victim, other = ring.nodes[0], ring.nodes[1].address
    cost = Cost(victim)
    before = known(victim, other)
    tell(victim, address=other, generation=now() + YEAR + 86400, values={HOST_ID: str(uuid.uuid4())})
    tell(victim, address=other, generation=before[0] - 1, values={HOST_ID: str(uuid.uuid4()), STATUS_WITH_PORT: "LEFT,1,9999999999999"})
    tell(victim, address=other, generation=-1, heartbeat=-1, values={HOST_ID: "none"})
    cost.wait_for_line("received an invalid gossip generation for peer", f"/{other}:7000")
    after = known(victim, other)
    assert (after[0], after[2][HOST_ID]) == (before[0], before[2][HOST_ID])
    assert up(ring) == ["UN"] * 3


def test_an_older_node_with_the_tokens_of_another_gets_none(ring, beside):
    clients = Clients()
    try:
        owned = sorted(int(token) for token in run(clients.session(ring.nodes[1]), "SELECT tokens FROM system.local", level=ONE)[0].tokens)
    finally:
        clients.close()
    cost = Cost(ring.nodes[0])
    tell(ring.nodes[0], address=LIAR, generation=now() - 86400, values=member(LIAR, uuid.uuid4(), owned))
    cost.wait_for_line("have the same token", f"Ignoring /{LIAR}:7000")
    assert up(ring) == ["UN"] * 3
    assert LIAR not in ring_seen_by(ring.nodes[0])


def test_long_values_of_nodes_that_are_made_up(ring, beside):
    costs = [Cost(node) for node in ring.nodes]
    made_up = {f"127.1.{i // 250}.{i % 250 + 1}": (now(), 5, {HOST_ID: str(uuid.uuid4()), X1: "x" * 60_000}) for i in range(100)}
    with Stranger(ring.nodes[0].address, kind=URGENT) as stranger:
        stranger.send(message(ACK2, states(made_up)))
        costs[0].wait_for_line("Ignoring gossip about /127.1.", f"from /{OUTSIDE}:7000")
    end = time.monotonic() + 2  # they go to the other nodes, too
    while time.monotonic() < end:
        assert up(ring) == ["UN"] * 3
    for cost in costs:
        cost.check_memory(2 * SLACK)


# --- what is believed, as Cassandra believes it, until the node speaks for itself


def test_a_life_that_somebody_made_up_ends_with_the_next_one(ring):
    victim, other = ring.nodes[0], ring.nodes[1]
    before = known(victim, other.address)
    cost = Cost(victim)
    tell(victim, address=other.address, generation=before[0] + 1, values={HOST_ID: before[2][HOST_ID][0]})
    cost.wait_for_line(f"Node /{other.address}:7000 has restarted, now UP")
    time.sleep(1.1)  # a generation is a second
    other.kill()
    other.start()
    wait_until(lambda: up(ring) == ["UN"] * 3, lambda: f"not UN: {up(ring)}")
    assert known(victim, other.address)[2].keys() >= {HOST_ID, SCHEMA, STATUS_WITH_PORT}


def test_a_shutdown_that_somebody_else_announced_ends_with_the_next_life(ring):
    victim, other = ring.nodes[0], ring.nodes[1]
    cost = Cost(victim)
    with Stranger(victim.address, claims=other.address, kind=URGENT) as stranger:
        stranger.send(message(SHUTDOWN))
        cost.wait_for_line(f"Node /{other.address}:7000 state jump to shutdown")
    other.nodetool("disablegossip")
    other.nodetool("enablegossip")
    wait_until(lambda: up(ring) == ["UN"] * 3, lambda: f"not UN: {up(ring)}")


# --- texts, numbers and versions


def test_drivers_can_read_whatever_a_peer_calls_itself(alone):
    cost = Cost(alone)
    tell(alone, address=LIAR, generation=now(), values=member(LIAR, uuid.uuid4(), [5], release=b"5.0.9\xed\xa0\x80"))
    cost.wait_for_line(LIAR)
    with wire.Client(alone.address) as client:
        end = time.monotonic() + 3
        while not client.rows("SELECT peer FROM system.peers_v2") and time.monotonic() < end:
            time.sleep(0.05)
    clients = Clients()
    try:
        run(clients.session(alone), "SELECT release_version FROM system.peers_v2", level=ONE)
    finally:
        clients.close()


def test_tokens_of_others_do_not_fill_the_log(alone):
    source = random.Random(1)
    owned = sorted(source.randrange(-1 << 63, 1 << 63) for _ in range(1000))
    cost = Cost(alone)
    tell(alone, address=LIAR, generation=now(), values=member(LIAR, uuid.uuid4(), owned))
    for i in range(3):
        tell(alone, address="127.0.0.96", generation=now() - 100 + i, values=member("127.0.0.96", uuid.uuid4(), owned))
    cost.wait_for_line("/127.0.0.96:7000")
    time.sleep(1)
    cost.check_log(100)


@pytest.mark.parametrize("answer", [[(FAILURE_RSP, b"\0\0")], [(SCHEMA_PULL_RSP, b"\0\0\0\1nonsense")]], ids=["refused", "damaged"])
def test_a_schema_that_is_never_served_is_asked_for_now_and_then(alone, answer):
    cost = Cost(alone)
    with ForgedNode(FORGED) as forged:
        forged.handlers[SCHEMA_PULL_REQ] = lambda peer, number, body: [message(verb, payload, number=number) for verb, payload in answer]
        tell(alone, address=FORGED, generation=now(), values=member(FORGED, uuid.uuid4(), [7]))
        wait_until(lambda: forged.count(SCHEMA_PULL_REQ), "nobody asks for it")
        began = time.monotonic()
        wait_until(lambda: forged.count(SCHEMA_PULL_REQ) > 2, "nobody asks for it again")
        assert forged.count(SCHEMA_PULL_REQ) <= 4 + time.monotonic() - began
        with wire.Client(alone.address) as client:  # a driver would wait until the forged node has the schema, too
            client.query("CREATE TABLE k.beside (k int PRIMARY KEY)")
            client.query("DROP TABLE k.beside")
    cost.check_log(60)
