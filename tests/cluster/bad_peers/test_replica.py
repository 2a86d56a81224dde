"""A node that joined the ring, and answers what it likes. Clients of its neighbours get right answers or an error, soon; and with
the node goes what it did."""
import os
import threading
import time
import uuid

from cassandra import ReadFailure, ReadTimeout

from internode import (ACK2, FAILURE_RSP, MUTATION_REQ, MUTATION_RSP, RANGE_REQ, READ_REPAIR_REQ, READ_REPAIR_RSP, READ_REQ, READ_RSP, SCHEMA_PULL_RSP, URGENT, counted,
                       member, message, states, vint)
from peers import ForgedNode, Stranger
from node_ring import ALL, QUORUM, ring_seen_by, run, wait_until
from world import FORGED, SLACK, Cost

KEYS = range(12)


class ForgedReplica(ForgedNode):
    """With tokens all around the ring. Takes writes; reads are answered as a test wants."""

    def __init__(self, ring):
        super().__init__(FORGED)
        self.ring, self.heartbeat, self.generation = ring, 10, int(time.time())
        schema = ring.session().execute("SELECT schema_version FROM system.local").one()[0]
        owned = [(i << 58) - (1 << 63) + 7 for i in range(64)]
        self.values = member(FORGED, uuid.uuid4(), owned, schema=str(schema))
        self.handlers[MUTATION_REQ] = lambda peer, number, body: [message(MUTATION_RSP, number=number)]
        self.handlers[READ_REPAIR_REQ] = lambda peer, number, body: [message(READ_REPAIR_RSP, number=number)]
        self.beats = threading.Thread(target=self.beat, daemon=True)
        self.beats.start()

    def close(self):
        super().close()
        self.beats.join()

    def beat(self):
        while not self.is_closed:
            self.heartbeat += 1
            for node in self.ring.nodes:
                try:
                    with Stranger(node.address, claims=FORGED, kind=URGENT) as link:
                        link.send(message(ACK2, states({FORGED: (self.generation, self.heartbeat, self.values)})))
                except OSError:
                    pass
            time.sleep(0.5)

    def answer_reads(self, answer):
        self.handlers[READ_REQ] = self.handlers[RANGE_REQ] = answer


def data(*partitions):
    return b"\0" + vint(0) + b"\x01" + counted(b"\0" + b"".join(partitions) + b"\0")


ANSWERS = {
    "nothing": lambda peer, number, body: [message(READ_RSP, data(), number=number)],
    "random bytes": lambda peer, number, body: [message(READ_RSP, os.urandom(100), number=number)],
    "a digest of something": lambda peer, number, body: [message(READ_RSP, vint(16) + os.urandom(16), number=number)],
    "half a partition": lambda peer, number, body: [message(READ_RSP, data(b"\x01" + counted(b"\0\0\0\1") + b"\x04"), number=number)],
    "another verb": lambda peer, number, body: [message(SCHEMA_PULL_RSP, bytes(4), number=number)],
    "that it is written": lambda peer, number, body: [message(MUTATION_RSP, number=number)],
    "megabytes": lambda peer, number, body: [message(READ_RSP, bytes(4 << 20), number=number)],
    "fifty times": lambda peer, number, body: [message(READ_RSP, data(), number=number)] * 50,
    "a failure that has no meaning": lambda peer, number, body: [message(FAILURE_RSP, b"\x7f\xff", number=number)],
    "the question": lambda peer, number, body: [message(READ_RSP, body, number=number)],
}


def test_a_replica_that_answers_what_it_likes(ring):
    session = ring.session()
    run(session, "CREATE TABLE k.replicated (k int PRIMARY KEY, v int)")
    for k in KEYS:
        run(session, "INSERT INTO k.replicated (k, v) VALUES (%s, %s)", (k, k), ALL)

    def read():
        """How many of the reads were answered."""
        answered = 0
        for text, right in [(f"SELECT k, v FROM k.replicated WHERE k = {k}", {(k, k)}) for k in KEYS] + [("SELECT k, v FROM k.replicated", {(k, k) for k in KEYS})]:
            try:
                assert {tuple(row) for row in run(session, text, level=QUORUM)} == right, text
                answered += 1
            except (ReadFailure, ReadTimeout):
                pass
        return answered

    with ForgedReplica(ring) as forged:
        wait_until(lambda: all(ring_seen_by(node).get(FORGED) == "UN" for node in ring.nodes), "it does not join")
        costs = [Cost(node) for node in ring.nodes]
        for name, answer in ANSWERS.items():
            forged.answer_reads(answer)
            read()
        assert forged.count(READ_REQ) > 5
        assert any(cost.lines("WARN", f"answer of /{FORGED}:7000 is of no use") for cost in costs)
        for cost in costs:
            cost.check_memory(2 * SLACK)
            cost.check_log(300)
    ring.nodes[0].nodetool("assassinate", FORGED)
    wait_until(lambda: all(FORGED not in ring_seen_by(node) for node in ring.nodes), "it is still in the ring")
    assert read() == len(KEYS) + 1
