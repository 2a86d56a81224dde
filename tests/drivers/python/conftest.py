"""What the tests share: the node (started and controlled by ../support/with_node.py), its schema, sessions and tables."""
import os
import pathlib
import re
import socket
import time

import pytest
from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy

HOST = os.environ["SCENARIO_HOST"]
NODES = os.environ["SCENARIO_NODES"].split(",")
PROTOCOLS = [3, 4, 5]
REPLICAS = int(os.environ["SCENARIO_REPLICAS"])
one_replica = pytest.mark.skipif(REPLICAS > 1, reason="the errors of a keyspace with one replica")
LEVEL = ConsistencyLevel.LOCAL_ONE if REPLICAS == 1 else ConsistencyLevel.QUORUM


def control(command):
    """Has the node stopped, killed, started or restarted; for `secured` and `sharded` the address of a node beside it."""
    if "SCENARIO_CONTROL" not in os.environ:
        pytest.skip("this node cannot be restarted")
    host, port = os.environ["SCENARIO_CONTROL"].split(":")
    with socket.create_connection((host, int(port)), 60) as connection:
        connection.sendall(f"{command}\n".encode())
        answer = connection.makefile().readline().split()
    assert answer[0] == "ok", answer
    return answer[1] if len(answer) > 1 else None


def eventually(condition, seconds=10):
    """What a condition comes to, once it holds."""
    deadline = time.time() + seconds
    while not (found := condition()):
        assert time.time() < deadline, "it did not come about"
        time.sleep(0.02)
    return found


def cluster(**options):
    profile = ExecutionProfile(RoundRobinPolicy(), consistency_level=LEVEL, request_timeout=30)
    options.setdefault("execution_profiles", {EXEC_PROFILE_DEFAULT: profile})
    defaults = {"protocol_version": 5, "reconnection_policy": ConstantReconnectionPolicy(0.1), "connect_timeout": 30,
                "idle_heartbeat_interval": 1, "schema_event_refresh_window": 0}
    return Cluster([HOST], **{**defaults, **options})


@pytest.fixture(scope="session", autouse=True)
def schema():
    connected = cluster()
    session = connected.connect()
    session.execute("DROP KEYSPACE IF EXISTS scenario")
    text = re.sub(r"--.*", "", pathlib.Path(os.environ["SCENARIO_SCHEMA"]).read_text())
    for statement in filter(str.strip, text.split(";\n")):
        session.execute(statement)
    connected.shutdown()
    yield
    connected = cluster()
    connected.connect().execute("DROP KEYSPACE scenario")
    connected.shutdown()


@pytest.fixture(scope="module", params=PROTOCOLS, ids=lambda version: f"v{version}")
def session(request):
    connected = cluster(protocol_version=request.param)
    yield connected.connect("scenario")
    connected.shutdown()


@pytest.fixture(scope="module")
def session5():
    """For what does not depend on the version."""
    connected = cluster()
    yield connected.connect("scenario")
    connected.shutdown()


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
