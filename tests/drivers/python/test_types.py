"""Item 3: every type there and back, as literals and as bound values."""
import datetime
import ipaddress
import uuid
from decimal import Decimal

import pytest
from cassandra.util import Date, Duration, Time

VALUES = {
    "ascii": ["", "plain"],
    "bigint": [0, -(2 ** 63), 2 ** 63 - 1],
    "blob": [b"", b"\x00\xff", bytes(range(256)) * 256],
    "boolean": [True, False],
    "date": [Date(0), Date(-1000), Date(20000), Date(-(2 ** 31)), Date(2 ** 31 - 1)],
    "decimal": [Decimal("0"), Decimal("-1.50"), Decimal("1E-2000"), Decimal("123456789012345678901234567890.123")],
    "double": [0.0, -1.5e300, float("inf"), float("-inf"), 5e-324, 1.7976931348623157e308],
    "duration": [Duration(0, 0, 0), Duration(14, 3, 5), Duration(-1, -2, -3), Duration(2 ** 31 - 1, 2 ** 31 - 1, 2 ** 63 - 1)],
    "float": [0.5, -3.25, float("inf"), 2.0 ** -149],
    "inet": ["0.0.0.0", "255.255.255.255", "::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    "int": [0, -(2 ** 31), 2 ** 31 - 1],
    "smallint": [0, -32768, 32767],
    "text": ["", "grüße, 世界 \U0001f600", "\x00", "x" * 100000],
    "time": [Time(0), Time(86399999999999)],
    "timestamp": [datetime.datetime(1, 1, 1), datetime.datetime(1970, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59), datetime.datetime(2026, 11, 21, 1, 2, 3, 456000)],
    "timeuuid": [uuid.UUID("d2177dd0-eaa2-11de-a572-001b779c76e3"), uuid.UUID("00000000-0000-1000-8080-808080808080")],
    "tinyint": [0, -128, 127],
    "uuid": [uuid.UUID(int=0), uuid.UUID(int=2 ** 128 - 1), uuid.UUID("1b4d86f4-ccff-4256-a63d-45c905df2677")],
    "varchar": ["", "another name of text"],
    "varint": [0, -128, -129, 127, 128, 2 ** 200, -(2 ** 4000)],
    "list<int>": [[1, 2, 1], list(range(10000))],
    "set<text>": [{"a", "b", ""}],
    "map<text, bigint>": [{"a": 1, "": -1}],
    "frozen<list<int>>": [[], [1]],
    "frozen<list<frozen<set<int>>>>": [[{1, 2}, {3}, set()]],
    "frozen<map<int, frozen<list<text>>>>": [{1: ["x"], 2: []}],
    "map<int, frozen<map<text, frozen<set<frozen<tuple<int, text>>>>>>>": [{1: {"a": {(1, "x"), (2, "y")}, "b": set()}, 2: {}}],
    "tuple<int, text, double>": [(1, "a", 0.5), (None, "b", None), (None, None, None)],
    "frozen<tuple<frozen<list<int>>, frozen<tuple<text, boolean>>>>": [([1], ("a", True)), ([], (None, False))],
    "vector<float, 3>": [[1.5, -2.0, 0.25]],
    "vector<text, 2>": [["", "variable sizes"]],
    "list<frozen<vector<int, 2>>>": [[[1, 2], [3, 4]]],
}


def plain(value):
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    if hasattr(value, "items"):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)) or type(value).__name__ == "SortedSet":
        return frozenset(plain(v) for v in value)
    if isinstance(value, (ipaddress.IPv4Address, ipaddress.IPv6Address)):
        return str(value)
    return value


@pytest.mark.parametrize("type_name", VALUES)
def test_a_value_comes_back_as_it_went(session, table, type_name):
    name = table(f"k int PRIMARY KEY, v {type_name}")
    insert = session.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?)")
    values = VALUES[type_name] + [None]
    for k, value in enumerate(values):
        session.execute(insert, (k, value))
    rows = {row.k: row.v for row in session.execute(f"SELECT k, v FROM {name}")}
    assert {k: plain(v) for k, v in rows.items()} == {k: plain(v) for k, v in enumerate(values)}


def test_not_a_number(session, table):
    name = table("k int PRIMARY KEY, f float, d double")
    session.execute(session.prepare(f"INSERT INTO {name} (k, f, d) VALUES (1, ?, ?)"), (float("nan"), float("nan")))
    row = session.execute(f"SELECT f, d FROM {name}").one()
    assert (str(row.f), str(row.d)) == ("nan", "nan")


@pytest.mark.parametrize("type_name", ["bigint", "boolean", "decimal", "double", "float", "inet", "int", "timestamp", "timeuuid", "uuid", "varint"])
def test_an_empty_value_is_not_null(session, table, type_name):
    """Most types have an empty value: no bytes. The driver shows it as null, the server tells it from null."""
    name = table(f"k int PRIMARY KEY, v {type_name}")
    session.execute(f"INSERT INTO {name} (k, v) VALUES (1, blob_as_{type_name}(0x))")
    session.execute(f"INSERT INTO {name} (k, v) VALUES (2, null)")
    rows = {row.k: (row.v, row.b) for row in session.execute(f"SELECT k, v, {type_name}_as_blob(v) AS b FROM {name}")}
    assert rows == {1: (None, b""), 2: (None, None)}


def test_empty_collections_are_null_unless_frozen(session, table):
    name = table("k int PRIMARY KEY, l list<int>, s set<int>, m map<int, int>, f frozen<set<int>>")
    insert = session.prepare(f"INSERT INTO {name} (k, l, s, m, f) VALUES (?, ?, ?, ?, ?)")
    session.execute(insert, (1, [], set(), {}, set()))
    row = session.execute(f"SELECT l, s, m, f FROM {name}").one()
    assert (row.l, row.s, row.m, plain(row.f)) == (None, None, None, frozenset())


def test_literals(session, table):
    name = table("k int PRIMARY KEY, d duration, v vector<float, 3>, b blob, t timestamp")
    session.execute(f"INSERT INTO {name} (k, d, v, b, t) VALUES (1, 1y2mo3d4h5m6s, [1.5, -2, 0.25], 0x00ff, '2026-11-21 01:02:03.456+0100')")
    row = session.execute(f"SELECT d, v, b, t FROM {name}").one()
    assert (row.d, plain(row.v), row.b, row.t) == (Duration(14, 3, 14706 * 10**9), (1.5, -2.0, 0.25), b"\x00\xff",
                                                   datetime.datetime(2026, 11, 21, 0, 2, 3, 456000))


def test_user_types_in_user_types(session, table):
    name = table("k int PRIMARY KEY, v address, f frozen<address>")
    session.execute(f"INSERT INTO {name} (k, v, f) VALUES (1, {{street: {{name: 'Elm', number: 5}}, tags: {{'a'}}}}, {{tags: {{'b'}}}})")
    session.execute(f"UPDATE {name} SET v.tags = {{'c', 'd'}}, v.place = (1.5, null) WHERE k = 1")
    row = session.execute(f"SELECT v, f FROM {name}").one()
    assert (row.v.street.name, row.v.street.number, set(row.v.tags), row.v.place) == ("Elm", 5, {"c", "d"}, (1.5, None))
    assert (row.f.street, set(row.f.tags), row.f.place) == (None, {"b"}, None)


def test_user_types_as_classes(session5):
    class Street:
        def __init__(self, name, number):
            self.name, self.number = name, number

    class Address:
        def __init__(self, street, tags, place):
            self.street, self.tags, self.place = street, tags, place

    session5.cluster.register_user_type("scenario", "street", Street)
    session5.cluster.register_user_type("scenario", "address", Address)
    insert = session5.prepare("INSERT INTO kinds (id, udt_, frozen_) VALUES (?, ?, ?)")
    session5.execute(insert, (1, Address(Street("Elm", None), {"a"}, (0.5, -0.5)), Address(None, set(), None)))
    row = session5.execute("SELECT udt_, frozen_ FROM kinds WHERE id = 1").one()
    assert (row.udt_.street.name, row.udt_.street.number, set(row.udt_.tags), row.udt_.place) == ("Elm", None, {"a"}, (0.5, -0.5))
    assert (row.frozen_.street, set(row.frozen_.tags), row.frozen_.place) == (None, set(), None)


def test_counters(session, table):
    name = table("k text, c int, n counter, PRIMARY KEY (k, c)")
    for delta in (5, -2, 10):
        session.execute(f"UPDATE {name} SET n = n + {delta} WHERE k = 'a' AND c = 1")
    assert session.execute(f"SELECT n FROM {name}").one().n == 13
