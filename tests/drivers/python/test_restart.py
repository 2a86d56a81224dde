"""Items 6, 9 (status), 11, 13, 14 and 18: what clients see of a node that is restarted, of one that wants passwords, and of one
that tells its shards."""
import re
import urllib.request

import pytest
from cassandra import AuthenticationFailed, Unauthorized
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.policies import HostStateListener
from cassandra.query import SimpleStatement

from conftest import HOST, control, eventually


def once_again(session, *request):
    """The result of a request as soon as the driver has a connection again."""

    def attempt():
        try:
            return session.execute(*request)
        except NoHostAvailable:
            return None

    return eventually(attempt, 30)


def test_a_paging_state_goes_on_behind_a_restart(session):
    insert = session.prepare("INSERT INTO rows (k, c) VALUES (?, ?)")
    for i in range(500):
        session.execute(insert, (i % 5, i))
    select = SimpleStatement("SELECT c FROM rows", fetch_size=200)
    first = session.execute(select)
    rows, state = list(first.current_rows), first.paging_state
    control("restart")
    once_again(session, "SELECT key FROM system.local")
    while state:
        page = session.execute(select, paging_state=state)
        rows += page.current_rows
        state = page.paging_state
    assert sorted(row.c for row in rows) == list(range(500))
    session.execute("TRUNCATE rows")


def test_a_statement_prepared_before_a_restart_is_executed_after_it(session):
    insert = session.prepare("INSERT INTO pairs (k, a) VALUES (?, ?)")
    select = session.prepare("SELECT a FROM pairs WHERE k = ?")
    session.execute(insert, (1, 2))
    control("restart")
    assert once_again(session, select, (1,)).one().a == 2
    session.execute(insert, (1, 3))
    assert session.execute(select, (1,)).one().a == 3


def test_reconnection(session5):
    session5.execute("INSERT INTO pairs (k, a) VALUES (7, 8)")
    control("kill")
    try:
        with pytest.raises(NoHostAvailable):
            session5.execute("SELECT a FROM pairs WHERE k = 7")
    finally:
        control("start")
    assert once_again(session5, "SELECT a FROM pairs WHERE k = 7").one().a == 8


def test_a_node_is_seen_going_down_and_up(session5):
    seen = []

    class Listener(HostStateListener):
        def on_up(self, host):
            seen.append(("up", host.address))

        def on_down(self, host):
            seen.append(("down", host.address))

        def on_add(self, host):
            seen.append(("add", host.address))

        def on_remove(self, host):
            seen.append(("remove", host.address))

    # The test before this one restarted every node, and the driver learns of them one by one.
    eventually(lambda: all(host.is_up for host in session5.cluster.metadata.all_hosts()), 30)
    session5.cluster.register_listener(Listener())
    control("stop")
    eventually(lambda: ("down", HOST) in seen, 30)
    control("start")
    eventually(lambda: ("up", HOST) in seen, 30)
    assert seen == [("down", HOST), ("up", HOST)]


def test_passwords(schema):
    host = control("secured")

    def connect(name, password):
        connected = Cluster([host], protocol_version=5, connect_timeout=30, auth_provider=PlainTextAuthProvider(name, password))
        return connected, connected.connect()

    for name, password in (("cassandra", "wrong"), ("nobody", "cassandra")):
        with pytest.raises(NoHostAvailable) as refused:
            connect(name, password)
        error, = refused.value.errors.values()
        assert isinstance(error, AuthenticationFailed) and "Provided username" in str(error)
    with pytest.raises(NoHostAvailable) as refused:
        Cluster([host], protocol_version=5).connect()
    assert isinstance(list(refused.value.errors.values())[0], AuthenticationFailed)

    first, admin = connect("cassandra", "cassandra")
    admin.execute("CREATE ROLE reader WITH PASSWORD = 'secret' AND LOGIN = true")
    other, reader = connect("reader", "secret")
    assert reader.execute("SELECT key FROM system.local").one().key == "local"
    with pytest.raises(Unauthorized, match="Only superusers can create a role with superuser status"):
        reader.execute("CREATE ROLE another WITH SUPERUSER = true")
    for connected in (first, other):
        connected.shutdown()


def test_shards():
    if not hasattr(Cluster, "is_shard_aware"):
        pytest.skip("this driver knows nothing of shards")
    host = control("sharded")
    connected = Cluster([host], protocol_version=4, connect_timeout=30)
    session = connected.connect()
    eventually(lambda: connected.is_shard_aware() and connected.shard_aware_stats()[f"{host}:9042"]["connected"] == 3)
    session.execute("CREATE KEYSPACE sharded WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    session.execute("CREATE TABLE sharded.t (a int, b text, v int, PRIMARY KEY ((a, b)))")
    assert [column.name for column in connected.metadata.keyspaces["sharded"].tables["t"].partition_key] == ["a", "b"]
    insert = session.prepare("INSERT INTO sharded.t (a, b, v) VALUES (?, ?, ?)")
    before = forwarded(host)
    for i in range(300):
        session.execute(insert, (i, str(i), i))
    assert forwarded(host) - before < 10, "requests were sent to other shards than those that own the keys"
    connected.shutdown()


def forwarded(host):
    """How many requests the node had to send on to another of its shards."""
    text = urllib.request.urlopen(f"http://{host}:7199/metrics", timeout=5).read().decode()
    return int(re.search(r"^cassandra_shard_requests_forwarded_total (\d+)$", text, re.M)[1])
