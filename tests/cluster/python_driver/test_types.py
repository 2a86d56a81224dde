"""Every type there and back, as literals and as bound values."""
import datetime
import decimal
import ipaddress
import uuid

import pytest
from cassandra.util import Date, Duration, Time

VALUES = {
    "ascii": ["", "plain"],
    "bigint": [0, -(2 ** 63), 2 ** 63 - 1],
    "blob": [b"", b"\x00\xff"],
    "boolean": [True, False],
    "date": [Date(0), Date(-1000), Date(20000)],
    "decimal": [decimal.Decimal("0"), decimal.Decimal("-1.50"), decimal.Decimal("123456789012345678901234567890.123")],
    "double": [0.0, -1.5e300],
    "float": [0.5, -3.25],
    "inet": ["127.0.0.1", "::1"],
    "int": [0, -(2 ** 31), 2 ** 31 - 1],
    "smallint": [-32768, 32767],
    "text": ["", "grüße, 世界", "x" * 10000],
    "time": [Time(0), Time(86399999999999)],
    "timestamp": [datetime.datetime(1970, 1, 1), datetime.datetime(2026, 11, 21, 1, 2, 3, 456000)],
    "timeuuid": [uuid.UUID("d2177dd0-eaa2-11de-a572-001b779c76e3")],
    "tinyint": [-128, 127],
    "uuid": [uuid.UUID("1b4d86f4-ccff-4256-a63d-45c905df2677")],
    "varint": [0, -129, 2 ** 200],
    "list<int>": [[1, 2, 1]],
    "set<text>": [{"a", "b"}],
    "map<text, bigint>": [{"a": 1, "b": -1}],
    "frozen<list<frozen<set<int>>>>": [[{1, 2}, {3}]],
    "tuple<int, text, double>": [(1, "a", 0.5), (None, "b", None)],
    "frozen<map<int, frozen<list<text>>>>": [{1: ["x"], 2: []}],
}


def plain(value):
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    if hasattr(value, "items"):
        return {k: plain(v) for k, v in value.items()}
    if type(value).__name__ == "SortedSet":
        return frozenset(plain(v) for v in value)
    if isinstance(value, (set, frozenset)):
        return frozenset(plain(v) for v in value)
    if isinstance(value, (ipaddress.IPv4Address, ipaddress.IPv6Address)):
        return str(value)
    return value


@pytest.mark.parametrize("type_name", VALUES)
def test_a_value_comes_back_as_it_went(session, table, type_name):
    if type_name in ("smallint", "tinyint", "date", "time") and session.cluster.protocol_version < 4:
        pytest.skip("the protocol has the type from version 4 on")
    name = table(f"k int PRIMARY KEY, v {type_name}")
    insert = session.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?)")
    values = VALUES[type_name] + [None]
    for k, value in enumerate(values):
        session.execute(insert, (k, value))
    rows = {row.k: row.v for row in session.execute(f"SELECT k, v FROM {name}")}
    assert {k: plain(v) for k, v in rows.items()} == {k: plain(v) for k, v in enumerate(values)}


def test_durations(session, table):
    if session.cluster.protocol_version < 5:
        pytest.skip("the driver knows durations from version 5 on")
    name = table("k int PRIMARY KEY, v duration")
    session.execute(session.prepare(f"INSERT INTO {name} (k, v) VALUES (1, ?)"), (Duration(14, 3, 5),))
    assert session.execute(f"SELECT v FROM {name}").one().v == Duration(14, 3, 5)
    session.execute(f"INSERT INTO {name} (k, v) VALUES (2, 1y2mo3d4h5m6s)")
    assert session.execute(f"SELECT v FROM {name} WHERE k = 2").one().v == Duration(14, 3, 14706 * 10**9)


def test_vectors(session, table):
    name = table("k int PRIMARY KEY, v vector<float, 3>")
    session.execute(f"INSERT INTO {name} (k, v) VALUES (1, [1.5, -2, 0.25])")
    assert list(session.execute(f"SELECT v FROM {name}").one().v) == [1.5, -2.0, 0.25]


def test_user_types_in_user_types(session, table):
    session.execute("CREATE TYPE IF NOT EXISTS street (name text, number int)")
    session.execute("CREATE TYPE IF NOT EXISTS house (street frozen<street>, tags frozen<set<text>>)")
    name = table("k int PRIMARY KEY, v house, f frozen<house>")
    session.execute(f"INSERT INTO {name} (k, v, f) VALUES (1, {{street: {{name: 'Elm', number: 5}}, tags: {{'a'}}}}, {{tags: {{'b'}}}})")
    session.execute(f"UPDATE {name} SET v.tags = {{'c', 'd'}} WHERE k = 1")
    row = session.execute(f"SELECT v, f FROM {name}").one()
    assert (row.v.street.name, row.v.street.number, set(row.v.tags)) == ("Elm", 5, {"c", "d"})
    assert (row.f.street, set(row.f.tags)) == (None, {"b"})


def test_counters(session, table):
    name = table("k text, c int, n counter, PRIMARY KEY (k, c)")
    for delta in (5, -2, 10):
        session.execute(f"UPDATE {name} SET n = n + {delta} WHERE k = 'a' AND c = 1")
    assert session.execute(f"SELECT n FROM {name}").one().n == 13
