"""Items 4, 5, 7, 8, 10, 12 and 17: values, pages, batches, concurrency, errors, prepared statements, large rows."""
import time

import pytest
from cassandra import (AlreadyExists, ConsistencyLevel, FunctionFailure, InvalidRequest, ReadFailure, ReadTimeout, Unauthorized,
                       Unavailable)
from cassandra.cluster import NoHostAvailable
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.protocol import ConfigurationException, SyntaxException
from cassandra.query import BatchStatement, BatchType, SimpleStatement, UNSET_VALUE

from conftest import one_replica


def test_prepared_values_by_position_and_name(session, table):
    name = table("k int, c int, v text, PRIMARY KEY (k, c)")
    insert = session.prepare(f"INSERT INTO {name} (k, c, v) VALUES (:k, :c, :v)")
    session.execute(insert, (1, 2, "by position"))
    session.execute(insert, {"k": 1, "c": 3, "v": "by name"})
    select = session.prepare(f"SELECT c, v FROM {name} WHERE k = ? AND c > ? LIMIT ?")
    assert list(session.execute(select, (1, 0, 10))) == [(2, "by position"), (3, "by name")]
    assert [spec.name for spec in select.column_metadata] == ["k", "c", "[limit]"]
    assert select.routing_key_indexes == [0]
    assert [name for _, _, name, _ in select.result_metadata] == ["c", "v"]
    in_text = session.execute(f"SELECT v FROM {name} WHERE k = %(k)s AND c = %(c)s", {"k": 1, "c": 3})
    assert [row.v for row in in_text] == ["by name"]


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


def test_time_to_live_and_timestamps(session, table):
    name = table("k int PRIMARY KEY, v int")
    session.execute(f"INSERT INTO {name} (k, v) VALUES (1, 1) USING TTL 1")
    session.execute(f"INSERT INTO {name} (k, v) VALUES (2, 2) USING TIMESTAMP 1000 AND TTL 100")
    session.execute(f"UPDATE {name} USING TIMESTAMP 500 SET v = 3 WHERE k = 2")
    row = session.execute(f"SELECT v, writetime(v), ttl(v) FROM {name} WHERE k = 2").one()
    assert row[0] == 2 and row[1] == 1000 and 90 <= row[2] <= 100
    time.sleep(2.1)
    assert list(session.execute(f"SELECT * FROM {name} WHERE k = 1")) == []


def test_batches(session, table):
    name = table("k int, c int, v int, PRIMARY KEY (k, c)")
    insert = session.prepare(f"INSERT INTO {name} (k, c, v) VALUES (?, ?, ?)")
    for batch_type in (BatchType.LOGGED, BatchType.UNLOGGED):
        batch = BatchStatement(batch_type=batch_type)
        for i in range(20):
            batch.add(insert, (i % 4, i, i))
        batch.add(SimpleStatement(f"DELETE FROM {name} WHERE k = 0 AND c = 4"))
        batch.add(f"INSERT INTO {name} (k, c, v) VALUES (%s, %s, %s)", (9, 9, 9))
        session.execute(batch)
        assert sorted(session.execute(f"SELECT k, c, v FROM {name}")) == sorted([(i % 4, i, i) for i in range(20) if i != 4] + [(9, 9, 9)])
        session.execute(f"TRUNCATE {name}")
        assert list(session.execute(f"SELECT * FROM {name}")) == []
    counters = table("k int PRIMARY KEY, n counter")
    batch = BatchStatement(batch_type=BatchType.COUNTER)
    add = session.prepare(f"UPDATE {counters} SET n = n + ? WHERE k = ?")
    for i in range(5):
        batch.add(SimpleStatement(f"UPDATE {counters} SET n = n + 2 WHERE k = {i % 2}"))
        batch.add(add, (10, i % 2))
    session.execute(batch)
    assert {row.k: row.n for row in session.execute(f"SELECT * FROM {counters}")} == {0: 36, 1: 24}


def test_ten_thousand_concurrent_requests(session, table):
    name = table("k int PRIMARY KEY, v int")
    insert = session.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?)")
    execute_concurrent_with_args(session, insert, [(i, i * i) for i in range(5000)], concurrency=500, raise_on_first_error=True)
    select = session.prepare(f"SELECT v FROM {name} WHERE k = ?")
    results = execute_concurrent_with_args(session, select, [(i,) for i in range(5000)], concurrency=500)
    assert [result.one().v for ok, result in results] == [i * i for i in range(5000)]


def test_errors_are_what_they_are(session):
    with pytest.raises(SyntaxException):
        session.execute("SELEC 1")
    with pytest.raises(InvalidRequest, match="Undefined column name nothing"):
        session.execute("SELECT nothing FROM pairs")
    with pytest.raises(AlreadyExists) as failed:
        session.execute("CREATE TABLE pairs (k int PRIMARY KEY)")
    assert (failed.value.keyspace, failed.value.table) == ("scenario", "pairs")
    with pytest.raises(AlreadyExists) as failed:
        session.execute("CREATE KEYSPACE scenario WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    assert (failed.value.keyspace, failed.value.table) == ("scenario", "")
    with pytest.raises(ConfigurationException):
        session.execute("CREATE KEYSPACE wrong WITH replication = {'class': 'NoSuchStrategy'}")
    with pytest.raises(Unauthorized):
        session.execute("GRANT SELECT ON ALL KEYSPACES TO nobody")


@one_replica
@pytest.mark.parametrize("level, required", [(ConsistencyLevel.TWO, 2), (ConsistencyLevel.THREE, 3)])
def test_unavailable(session, level, required):
    for text in ("INSERT INTO pairs (k, a) VALUES (1, 1)", "SELECT * FROM pairs"):
        with pytest.raises(NoHostAvailable) as failed:
            session.execute(SimpleStatement(text, consistency_level=level))
        unavailable, = failed.value.errors.values()
        assert isinstance(unavailable, Unavailable)
        assert (unavailable.consistency, unavailable.required_replicas, unavailable.alive_replicas) == (level, required, 1)


def test_function_failure(session, table):
    name = table("k int PRIMARY KEY")
    session.execute(f"INSERT INTO {name} (k) VALUES (1)")
    with pytest.raises(FunctionFailure if session.cluster.protocol_version >= 4 else InvalidRequest):
        session.execute(f"SELECT k / 0 FROM {name}")


@one_replica
def test_read_failure(session):
    version = session.cluster.protocol_version
    remove = session.prepare("UPDATE sparse SET m = m - ? WHERE k = 1")
    for i in range(2):
        session.execute(remove, (set(range(i * 60000, (i + 1) * 60000)),))
    read = SimpleStatement("SELECT m FROM sparse WHERE k = 1", consistency_level=ConsistencyLevel.LOCAL_QUORUM)
    with pytest.raises(ReadFailure if version >= 4 else ReadTimeout) as failed:
        session.execute(read)
    error = failed.value
    assert (error.consistency, error.required_responses, error.received_responses) == (ConsistencyLevel.LOCAL_QUORUM, 1, 0)
    if version >= 4:
        assert error.failures == 1
    if version >= 5:
        assert list(error.error_code_map.values()) == [1]  # too many tombstones
    session.execute("TRUNCATE sparse")


def test_a_prepared_statement_survives_a_schema_change(session):
    select = session.prepare("SELECT * FROM changing WHERE k = ?")
    session.execute("INSERT INTO changing (k, v) VALUES (1, 2)")
    assert session.execute(select, (1,)).one() == (1, 2)
    session.execute("ALTER TABLE changing ADD w text")
    session.execute("UPDATE changing SET w = 'new' WHERE k = 1")
    row = session.execute(select, (1,)).one()
    if session.cluster.protocol_version >= 5:
        assert row == (1, 2, "new")
    assert row.k == 1 and row.v == 2
    session.execute("ALTER TABLE changing DROP w")
    row = session.execute(select, (1,)).one()
    assert (row.k, row.v) == (1, 2)


def test_large_rows(session):
    insert = session.prepare("INSERT INTO large (k, v) VALUES (?, ?)")
    limit = 16 << 20
    value = bytes(range(256)) * (limit // 256)
    session.execute(insert, (1, value[:-1000]))
    assert session.execute("SELECT v FROM large WHERE k = 1").one().v == value[:-1000]
    for beyond in (value, value * 2):
        with pytest.raises(InvalidRequest):
            session.execute(insert, (2, beyond))
        assert [row.k for row in session.execute("SELECT k FROM large")] == [1]
    session.execute("TRUNCATE large")
