"""Prepared statements, batches, pages, concurrency, errors, events, tracing."""
import time

import pytest
from cassandra import AlreadyExists, ConsistencyLevel, InvalidRequest, Unavailable
from cassandra.cluster import NoHostAvailable
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.protocol import SyntaxException
from cassandra.query import BatchStatement, BatchType, SimpleStatement, UNSET_VALUE


def test_prepared_values_by_position_and_name(session, table):
    name = table("k int, c int, v text, PRIMARY KEY (k, c)")
    insert = session.prepare(f"INSERT INTO {name} (k, c, v) VALUES (:k, :c, :v)")
    session.execute(insert, (1, 2, "by position"))
    session.execute(insert, {"k": 1, "c": 3, "v": "by name"})
    select = session.prepare(f"SELECT c, v FROM {name} WHERE k = ? AND c > ? LIMIT ?")
    assert list(session.execute(select, (1, 0, 10))) == [(2, "by position"), (3, "by name")]
    assert [spec.name for spec in select.column_metadata] == ["k", "c", "[limit]"]
    assert select.routing_key_indexes == [0]


def test_unset_leaves_a_column_as_it_was(session, table):
    if session.cluster.protocol_version < 4:
        pytest.skip("UNSET exists from version 4 on")
    name = table("k int PRIMARY KEY, a int, b int")
    insert = session.prepare(f"INSERT INTO {name} (k, a, b) VALUES (?, ?, ?)")
    session.execute(insert, (1, 10, 20))
    session.execute(insert, (1, UNSET_VALUE, 30))
    session.execute(insert, (1, None, UNSET_VALUE))
    assert session.execute(f"SELECT a, b FROM {name}").one() == (None, 30)


def test_ten_thousand_rows_paged(session, table):
    name = table("k int, c int, v text, PRIMARY KEY (k, c)")
    insert = session.prepare(f"INSERT INTO {name} (k, c, v) VALUES (?, ?, ?)")
    execute_concurrent_with_args(session, insert, [(i % 7, i, f"v{i}") for i in range(10000)], concurrency=200)
    result = session.execute(SimpleStatement(f"SELECT k, c, v FROM {name}", fetch_size=777))
    seen, pages = [], 1
    while True:
        seen += result.current_rows
        if not result.has_more_pages:
            break
        result.fetch_next_page()
        pages += 1
    assert sorted(row.c for row in seen) == list(range(10000)) and pages >= 13
    backwards = session.execute(SimpleStatement(f"SELECT c FROM {name} WHERE k = 3 ORDER BY c DESC", fetch_size=100))
    assert [row.c for row in backwards] == sorted((i for i in range(10000) if i % 7 == 3), reverse=True)
    assert session.execute(f"SELECT count(*) FROM {name}").one()[0] == 10000
    limited = session.execute(SimpleStatement(f"SELECT c FROM {name} LIMIT 1500", fetch_size=1000))
    assert len(list(limited)) == 1500
    per_partition = session.execute(SimpleStatement(f"SELECT k FROM {name} PER PARTITION LIMIT 3", fetch_size=2))
    assert len(list(per_partition)) == 21


def test_batches(session, table):
    name = table("k int, c int, v int, PRIMARY KEY (k, c)")
    insert = session.prepare(f"INSERT INTO {name} (k, c, v) VALUES (?, ?, ?)")
    for batch_type in (BatchType.LOGGED, BatchType.UNLOGGED):
        batch = BatchStatement(batch_type=batch_type)
        for i in range(20):
            batch.add(insert, (i % 4, i, i))
        batch.add(SimpleStatement(f"DELETE FROM {name} WHERE k = 0 AND c = 4"))
        session.execute(batch)
        assert len(list(session.execute(f"SELECT * FROM {name}"))) == 19
        session.execute(f"TRUNCATE {name}")
        assert list(session.execute(f"SELECT * FROM {name}")) == []
    counters = table("k int PRIMARY KEY, n counter")
    batch = BatchStatement(batch_type=BatchType.COUNTER)
    for i in range(5):
        batch.add(SimpleStatement(f"UPDATE {counters} SET n = n + 2 WHERE k = {i % 2}"))
    session.execute(batch)
    assert {row.k: row.n for row in session.execute(f"SELECT * FROM {counters}")} == {0: 6, 1: 4}


def test_errors_are_what_they_are(session, table):
    name = table("k int PRIMARY KEY, v int")
    with pytest.raises(SyntaxException):
        session.execute("SELEC 1")
    with pytest.raises(InvalidRequest):
        session.execute(f"SELECT nothing FROM {name}")
    with pytest.raises(AlreadyExists):
        session.execute(f"CREATE TABLE {name} (k int PRIMARY KEY)")
    with pytest.raises(NoHostAvailable) as failed:
        session.execute(SimpleStatement(f"INSERT INTO {name} (k, v) VALUES (1, 1)", consistency_level=ConsistencyLevel.TWO))
    unavailable = list(failed.value.errors.values())[0]
    assert isinstance(unavailable, Unavailable)
    assert (unavailable.required_replicas, unavailable.alive_replicas) == (2, 1)


def test_time_to_live_and_timestamps(session, table):
    name = table("k int PRIMARY KEY, v int")
    session.execute(f"INSERT INTO {name} (k, v) VALUES (1, 1) USING TTL 1")
    session.execute(f"INSERT INTO {name} (k, v) VALUES (2, 2) USING TIMESTAMP 1000 AND TTL 100")
    session.execute(f"UPDATE {name} USING TIMESTAMP 500 SET v = 3 WHERE k = 2")
    row = session.execute(f"SELECT v, writetime(v), ttl(v) FROM {name} WHERE k = 2").one()
    assert row[0] == 2 and row[1] == 1000 and 90 <= row[2] <= 100
    time.sleep(2.1)
    assert list(session.execute(f"SELECT * FROM {name} WHERE k = 1")) == []


def test_schema_metadata(session, table):
    name = table("a int, b text, c timeuuid, d int static, e map<text, int>, PRIMARY KEY ((a, b), c)",
                 "WITH CLUSTERING ORDER BY (c DESC) AND comment = 'metadata'")
    metadata = session.cluster.metadata.keyspaces["driver"].tables[name]
    assert [c.name for c in metadata.partition_key] == ["a", "b"]
    assert [c.name for c in metadata.clustering_key] == ["c"]
    assert metadata.columns["c"].is_reversed and metadata.columns["d"].is_static
    assert metadata.options["comment"] == "metadata"
    session.execute(f"ALTER TABLE {name} ADD f list<int>")
    deadline = time.time() + 10
    while "f" not in session.cluster.metadata.keyspaces["driver"].tables[name].columns and time.time() < deadline:
        time.sleep(0.05)
    assert session.cluster.metadata.keyspaces["driver"].tables[name].columns["f"].cql_type == "list<int>"


def test_a_thousand_concurrent_requests(session, table):
    name = table("k int PRIMARY KEY, v int")
    insert = session.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?)")
    execute_concurrent_with_args(session, insert, [(i, i * i) for i in range(1000)], concurrency=500, raise_on_first_error=True)
    select = session.prepare(f"SELECT v FROM {name} WHERE k = ?")
    results = execute_concurrent_with_args(session, select, [(i,) for i in range(1000)], concurrency=500)
    assert [result.one().v for ok, result in results] == [i * i for i in range(1000)]


def test_tracing(session, table):
    name = table("k int PRIMARY KEY, v int")
    trace = session.execute(f"INSERT INTO {name} (k, v) VALUES (1, 1)", trace=True).get_query_trace(max_wait_sec=10)
    assert trace.request_type == "Execute CQL3 query" and trace.events
    assert trace.parameters["query"].startswith("INSERT INTO")


def test_a_prepared_statement_survives_a_schema_change(session, table):
    name = table("k int PRIMARY KEY, v int")
    select = session.prepare(f"SELECT * FROM {name} WHERE k = ?")
    session.execute(f"INSERT INTO {name} (k, v) VALUES (1, 2)")
    assert session.execute(select, (1,)).one() == (1, 2)
    session.execute(f"ALTER TABLE {name} ADD w text")
    session.execute(f"UPDATE {name} SET w = 'new' WHERE k = 1")
    row = session.execute(select, (1,)).one()
    assert row.k == 1 and row.v == 2
