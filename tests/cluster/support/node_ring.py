"""Nodes of one cluster for a suite, as an operator and as drivers meet them."""
import signal
import threading
import time

from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import RetryPolicy, WhiteListRoundRobinPolicy
from cassandra.query import SimpleStatement

from node import Node

ONE, QUORUM, ALL = ConsistencyLevel.ONE, ConsistencyLevel.QUORUM, ConsistencyLevel.ALL
PATIENCE = 60  # seconds: other things run on the machine


class NoRetries(RetryPolicy):
    def on_read_timeout(self, *_, **__):
        return self.RETHROW, None

    on_write_timeout = on_unavailable = on_request_error = on_read_timeout


def wait_until(holds, what, seconds=PATIENCE):
    """Returns what holds() returned when that was true."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(0.05)
    return found


def run(session, text, values=None, level=QUORUM):
    return list(session.execute(SimpleStatement(text, consistency_level=level), values))


def seeds(*addresses):
    """The setting seed_provider."""
    return f'[{{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{{seeds: "{",".join(addresses)}"}}]}}]'


def ring_seen_by(node, check=True):
    """The letters of nodetool status by address."""
    lines = node.nodetool("status", check=check).stdout.splitlines()
    return {line.split()[1]: line.split()[0] for line in lines if line[:1] in ("U", "D") and line[1:2] in ("N", "J", "L", "M")}


def start_all(nodes):
    """At the same moment; returns when each of them answers drivers."""
    starts = [threading.Thread(target=node.start) for node in nodes]
    for start in starts:
        start.start()
    for start in starts:
        start.join()


class Clients:
    """Sessions of drivers, which end together."""

    def __init__(self):
        self.clusters = []

    def session(self, *nodes):
        """Of a driver that speaks with these nodes only, in turn, and tries nothing twice."""
        addresses = [node.address for node in nodes]
        profile = ExecutionProfile(load_balancing_policy=WhiteListRoundRobinPolicy(addresses), retry_policy=NoRetries(), request_timeout=20)
        self.clusters.append(Cluster(addresses, execution_profiles={EXEC_PROFILE_DEFAULT: profile}, connect_timeout=20))
        return self.clusters[-1].connect()

    def close(self):
        for cluster in self.clusters:
            cluster.shutdown()
        self.clusters = []


class Ring:
    """A node at each of the addresses. Settings are those of cassandra.yaml."""

    def __init__(self, addresses, shards=2, **settings):
        # The least patience that Cassandra allows: a dead node is noticed after 10 to 25 s.
        settings = {"seed_provider": seeds(addresses[0]), "auto_bootstrap": "false", "phi_convict_threshold": 5, **settings}
        self.nodes = [Node(address, shards=shards, settings=settings) for address in addresses]
        self.clients = Clients()

    def start(self):
        self.nodes[0].start()  # the others look for it, and not for long
        start_all(self.nodes[1:])
        self.wait_for("UN", len(self.nodes))

    def session(self, *nodes):
        return self.clients.session(*(nodes or self.nodes))

    def wait_for(self, state, count, by=None):
        """Until each of the nodes `by` sees as many nodes in that state."""
        def seen():
            return [ring_seen_by(node) for node in by or self.nodes]

        wait_until(lambda: all(list(each.values()).count(state) == count for each in seen()), lambda: f"no {count} times {state}: {seen()}", 90)

    def destroy(self):
        self.clients.close()
        for node in self.nodes:
            if node.process is not None and node.process.poll() is None:
                node.process.send_signal(signal.SIGCONT)
            node.destroy()
