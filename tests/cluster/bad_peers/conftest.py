import pytest

from node import Node
from node_ring import Clients, Ring
from world import ADDRESSES, ALONE, Beside, make_tables


@pytest.fixture(scope="session")
def three_nodes():
    ring = Ring(ADDRESSES, ring_delay="2000ms")
    try:
        ring.start()
        make_tables(ring.session(), len(ADDRESSES))
        yield ring
    finally:
        ring.destroy()


@pytest.fixture
def ring(three_nodes):
    """Three nodes that have many strangers behind them. Whatever a test does, they are whole afterwards."""
    yield three_nodes
    assert [node.process.poll() for node in three_nodes.nodes] == [None] * 3
    three_nodes.wait_for("UN", 3)


@pytest.fixture
def beside(ring):
    """While a test runs, a client of the ring gets right answers."""
    clients = Clients()
    try:
        with Beside(clients, ring.nodes) as client:
            yield client
    finally:
        clients.close()


@pytest.fixture
def make_alone():
    """Makes a node that nobody needs afterwards, with the tables of the ring."""
    made, clients = [], Clients()

    def make(shards=1, limits=None, **settings):
        node = Node(ALONE, shards=shards, settings=settings)
        made.append(node)
        node.start(limits=limits)
        node.session = clients.session(node)
        make_tables(node.session, 1)
        return node

    yield make
    clients.close()
    for node in made:
        node.destroy()


@pytest.fixture
def alone(make_alone):
    node = make_alone()
    yield node
    assert node.process.poll() is None
