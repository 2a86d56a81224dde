"""The tables that are paged, and every kind of query over them."""

KEYSPACE = "paging"
TABLES = (
    # Partitions with rows of many makes: see fill().
    "CREATE TABLE t (k text, a int, b text, s text static, v text, m map<text, int>, z int, PRIMARY KEY (k, a, b)) WITH CLUSTERING ORDER BY (a ASC, b DESC)",
    "CREATE INDEX ON t (v) USING 'legacy_local_table'",
    # Without clustering columns.
    "CREATE TABLE p (x int, y text, i int, PRIMARY KEY ((x, y)))",
    "CREATE INDEX ON p (i) USING 'legacy_local_table'",
    # Without static columns, of more rows than a page.
    "CREATE TABLE q (k int, c int, v int, PRIMARY KEY (k, c))",
    # Clusterings that are empty, long, or sort by other bytes than theirs.
    "CREATE TABLE odd (k int, t timeuuid, d decimal, e blob, v int, PRIMARY KEY (k, t, d, e)) WITH CLUSTERING ORDER BY (t DESC, d ASC, e DESC)",
    "CREATE TABLE counted (k int, c int, n counter, PRIMARY KEY (k, c))",
)


def statements():
    for p in range(6):
        for r in range(7):
            yield f"INSERT INTO t (k, a, b, s, v, z) VALUES ('k{p}', {r // 3}, 'b{r}', 's{p}', 'v{r % 3}', {r})"
        yield f"UPDATE t SET m = {{'x': 1, 'longer key': 2}} WHERE k = 'k{p}' AND a = 1 AND b = 'b4'"
        yield f"UPDATE t SET m['only'] = 1 WHERE k = 'k{p}' AND a = 5 AND b = ''"
        yield f"INSERT INTO t (k, a, b) VALUES ('k{p}', 6, 'nothing else')"
        yield f"INSERT INTO p (x, y, i) VALUES ({p}, 'y{p}', {p % 2})"
        yield f"INSERT INTO t (k, s) VALUES ('static{p}', 'alone')"
        for c in range(5):
            yield f"UPDATE counted SET n = n + {c} WHERE k = {p} AND c = {c}"
    yield "DELETE FROM t WHERE k = 'k4' AND a = 1"
    yield "DELETE v FROM t WHERE k = 'k3' AND a = 2 AND b = 'b6'"
    yield "DELETE z FROM t WHERE k = 'k3' AND a = 2 AND b = 'b6'"
    yield "INSERT INTO t (k, a, b, v) VALUES ('rows only', 1, 'b', 'v1')"
    for k in range(9):
        for c in range(k * 4):
            yield f"INSERT INTO q (k, c, v) VALUES ({k}, {c}, {c % 3})"
    for i in range(12):
        yield f"INSERT INTO odd (k, t, d, e, v) VALUES (1, 50554d6e-29bb-11e5-b345-feff819cdc{i // 3:02}, {'-' * (i % 2)}1.{'0' * i}, 0x{'ff' * (i % 4) * 40}, {i})"


# Its second page. Groups of partitions with one row leave -1 in their partition, which is no paging state.
REFUSED_BY_CASSANDRA = "SELECT x, y, count(*) FROM p GROUP BY x, y"
QUERIES = (
    "SELECT * FROM t",
    "SELECT k, s FROM t",
    "SELECT * FROM t LIMIT 23",
    "SELECT * FROM t PER PARTITION LIMIT 2",
    "SELECT * FROM t PER PARTITION LIMIT 3 LIMIT 11",
    "SELECT * FROM t WHERE token(k) > 0",
    "SELECT * FROM t WHERE token(k) <= 4000000000000000000",
    "SELECT * FROM t WHERE a = 1 ALLOW FILTERING",
    "SELECT * FROM t WHERE s = 's2' ALLOW FILTERING",
    "SELECT * FROM t WHERE z > 3 ALLOW FILTERING",
    "SELECT DISTINCT k FROM t",
    "SELECT DISTINCT k, s FROM t LIMIT 7",
    "SELECT DISTINCT k, s FROM t WHERE k IN ('k1', 'static2', 'nobody', 'k0', 'rows only')",
    "SELECT DISTINCT k, s FROM t WHERE k = 'k1'",
    "SELECT * FROM t WHERE k = 'k1'",
    "SELECT * FROM t WHERE k = 'k1' ORDER BY a DESC",
    "SELECT * FROM t WHERE k = 'k1' AND a > 0 AND a < 6",
    "SELECT * FROM t WHERE k = 'k1' AND a IN (0, 2, 5) LIMIT 6",
    "SELECT * FROM t WHERE k = 'k1' PER PARTITION LIMIT 4",
    "SELECT * FROM t WHERE k = 'static1'",
    "SELECT s FROM t WHERE k = 'k2'",
    "SELECT * FROM t WHERE k IN ('k3', 'static0', 'nobody', 'k0')",
    "SELECT * FROM t WHERE k IN ('k3', 'k5', 'k0') PER PARTITION LIMIT 2",
    "SELECT * FROM t WHERE k IN ('k3', 'k5', 'k0') PER PARTITION LIMIT 4 LIMIT 10",
    "SELECT * FROM t WHERE k IN ('k3', 'k5') AND a = 1",
    "SELECT * FROM t WHERE v = 'v1'",
    "SELECT * FROM t WHERE v = 'v1' LIMIT 7",
    "SELECT * FROM t WHERE k = 'k2' AND v = 'v1'",
    "SELECT * FROM t WHERE v = 'v1' AND a = 0 ALLOW FILTERING",
    "SELECT k, a, count(*) FROM t GROUP BY k, a",
    "SELECT k, a, count(*) FROM t GROUP BY k, a LIMIT 9",
    "SELECT k, a, max(b) FROM t GROUP BY k, a PER PARTITION LIMIT 2",
    "SELECT k, count(*) FROM t GROUP BY k",
    "SELECT k, a, b, sum(z) FROM t GROUP BY k, a, b",
    "SELECT k, a, count(*) FROM t WHERE k = 'k1' GROUP BY a",
    "SELECT k, a, count(*) FROM t WHERE k = 'k1' GROUP BY a PER PARTITION LIMIT 2",
    "SELECT k, a, count(*) FROM t WHERE k = 'k1' GROUP BY a ORDER BY a DESC",
    "SELECT k, a, count(*) FROM t WHERE k IN ('k3', 'static0', 'k0') GROUP BY k, a",
    "SELECT k, a, count(*) FROM t WHERE k IN ('k3', 'static0', 'k0') GROUP BY k, a PER PARTITION LIMIT 1",
    "SELECT DISTINCT k, s FROM t GROUP BY k",
    "SELECT count(*) FROM t",
    "SELECT count(*), max(z) FROM t WHERE k = 'k1'",
    "SELECT JSON k, a, b FROM t",
    "SELECT * FROM p",
    "SELECT * FROM p LIMIT 4",
    "SELECT * FROM p WHERE x IN (1, 2, 9, 4) AND y IN ('y1', 'y2', 'y4')",
    "SELECT * FROM p WHERE x = 1 AND y = 'y1'",
    "SELECT * FROM p WHERE i = 1",
    "SELECT DISTINCT x, y FROM p",
    REFUSED_BY_CASSANDRA,
    "SELECT * FROM q",
    "SELECT * FROM q PER PARTITION LIMIT 5",
    "SELECT DISTINCT k FROM q",
    "SELECT * FROM q WHERE k = 8 ORDER BY c DESC",
    "SELECT k, count(*) FROM q GROUP BY k",
    "SELECT k, c, max(v) FROM q GROUP BY k, c",
    "SELECT k, c, max(v) FROM q GROUP BY k, c PER PARTITION LIMIT 3",
    "SELECT * FROM odd",
    "SELECT * FROM odd WHERE k = 1",
    "SELECT * FROM odd WHERE k = 1 ORDER BY t ASC",
    "SELECT * FROM odd WHERE k = 1 AND t > 50554d6e-29bb-11e5-b345-feff819cdc00",
    "SELECT t, d, count(*) FROM odd WHERE k = 1 GROUP BY t, d",
    "SELECT * FROM counted",
)


def fill(client):
    client.query(f"DROP KEYSPACE IF EXISTS {KEYSPACE}")
    client.query(f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}")
    client.query(f"USE {KEYSPACE}")
    for text in TABLES:
        client.query(text)
    for text in statements():
        client.query(text)
