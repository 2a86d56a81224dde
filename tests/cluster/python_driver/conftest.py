import os

import pytest
from cassandra.cluster import Cluster

from node import Node

ADDRESS = os.environ.get("CASSANDRA_HOST", "127.0.0.42")  # a real Cassandra, to see the tests hold there, too


@pytest.fixture(scope="session")
def node():
    if "CASSANDRA_HOST" in os.environ:
        yield None
        return
    node = Node(ADDRESS)
    node.start()
    yield node
    node.destroy()


@pytest.fixture(params=[3, 4, 5], ids=lambda version: f"v{version}")
def session(request, node):
    cluster = Cluster([ADDRESS], protocol_version=request.param)
    session = cluster.connect()
    session.execute("CREATE KEYSPACE IF NOT EXISTS driver WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    session.set_keyspace("driver")
    yield session
    cluster.shutdown()


@pytest.fixture
def table(session):
    """Makes a table for one test: table("k int PRIMARY KEY, v text")."""
    made = []

    def make(columns, options=""):
        name = f"t{len(made)}_{os.getpid()}"
        session.execute(f"DROP TABLE IF EXISTS {name}")
        session.execute(f"CREATE TABLE {name} ({columns}) {options}")
        made.append(name)
        return name

    yield make
    for name in made:
        session.execute(f"DROP TABLE IF EXISTS {name}")
