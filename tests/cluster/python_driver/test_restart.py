"""What clients see of a restart."""
import time

from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.query import SimpleStatement

from conftest import ADDRESS


def test_clients_reconnect_and_pages_and_prepared_statements_go_on(node):
    cluster = Cluster([ADDRESS], reconnection_policy=ConstantReconnectionPolicy(0.2))
    session = cluster.connect()
    session.execute("CREATE KEYSPACE IF NOT EXISTS again WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    session.execute("CREATE TABLE IF NOT EXISTS again.t (k int, c int, PRIMARY KEY (k, c))")
    insert = session.prepare("INSERT INTO again.t (k, c) VALUES (?, ?)")
    for i in range(500):
        session.execute(insert, (i % 5, i))
    first = session.execute(SimpleStatement("SELECT c FROM again.t", fetch_size=200))
    rows, state = list(first.current_rows), first.paging_state
    node.restart()
    deadline = time.time() + 20
    while True:
        try:
            session.execute(insert, (9, 9000))
            break
        except NoHostAvailable:
            assert time.time() < deadline
            time.sleep(0.1)
    session.execute("DELETE FROM again.t WHERE k = 9")
    while state:
        page = session.execute(SimpleStatement("SELECT c FROM again.t", fetch_size=200), paging_state=state)
        rows += page.current_rows
        state = page.paging_state
    assert sorted(row.c for row in rows) == list(range(500))
    cluster.shutdown()
