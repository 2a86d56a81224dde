"""Changes of the schema that no node of Cassandra would send: they are refused by name, and the tables stay as they were."""
import os
import struct
import uuid

import wire
from internode import (COLUMNS, FAILURE_RSP, SCHEMA_PUSH_REQ, column_row, counted, message, mutation, partition_deletion, row, schema_push, texts, update)
from peers import ForgedNode, Stranger
from node_ring import ONE, run, wait_until
from world import FORGED, Cost, table_id


def columns(node, *rows, keyspace="k"):
    return update(table_id(node.session, "columns", "system_schema"), keyspace.encode(errors="surrogateescape"), COLUMNS, list(rows))


def table(node, name, number):
    return update(table_id(node.session, "tables", "system_schema"), b"k", ["id"], [row(texts(name), [number.bytes])])


def versions(node):
    with wire.Client(node.address) as client:
        return client.rows("SELECT schema_version FROM system.local")


def put_and_get(node, number):
    with wire.Client(node.address) as client:
        client.query(f"INSERT INTO k.t (k, v) VALUES ({number}, {number})")
        return client.rows(f"SELECT v FROM k.t WHERE k = {number}")


def push(node, push_message):
    """Sends it, and waits until it was refused."""
    with ForgedNode(FORGED) as forged, Stranger(node.address, claims=FORGED) as stranger:
        stranger.send(push_message)
        wait_until(lambda: forged.count(FAILURE_RSP), "it is not refused")


def test_what_is_no_schema_is_refused(alone):
    cost, before = Cost(alone), versions(alone)
    bodies = {
        "Corrupt": [message(SCHEMA_PUSH_REQ, body, flags=1) for body in (os.urandom(200), struct.pack(">i", 0x7FFFFFFF), struct.pack(">i", -1), b"")],
        "it writes to k": [schema_push(mutation(update(table_id(alone.session, "t"), bytes(4), ["v"], [row(b"", [bytes(4)])])))],
        "it writes to system": [schema_push(mutation(partition_deletion(table_id(alone.session, "local", "system"), b"local")))],
    }
    for line, pushes in bodies.items():
        for each in pushes:
            push(alone, each)
        cost.wait_for_line(f"SCHEMA_PUSH_REQ of /{FORGED}:7000 is refused: ", line)
    assert versions(alone) == before
    alone.restart()
    assert versions(alone) == before
    assert put_and_get(alone, 1) == [[struct.pack(">i", 1)]]


def of_no_type(node):
    return mutation(columns(node, column_row("t", "extra", "nonsense")))


def nested(node):
    return mutation(columns(node, column_row("t", "extra", "frozen<list<" * 3000 + "int" + ">>" * 3000)))


def whole(node, name, number=None):
    return mutation(table(node, name, number or uuid.uuid4()), columns(node, column_row(name, "k", "int", "partition_key", 0)))


def with_a_path_for_a_name(node):
    return whole(node, "../../x")


def with_a_long_name(node):
    return whole(node, "x" * 300)


def with_the_id_of_another(node):
    return whole(node, "twin", table_id(node.session, "t"))


def with_a_name_that_is_no_text(node):
    return mutation(update(table_id(node.session, "tables", "system_schema"), b"k", ["comment"], [row(texts(b"\x80"), [counted(b"x")])]))


def with_a_comment_that_is_no_text(node):
    return mutation(update(table_id(node.session, "tables", "system_schema"), b"k", ["comment"], [row(texts("t"), [counted(b"\xff")])]))


def of_a_keyspace_that_is_no_text(node):
    return mutation(columns(node, column_row("t", "extra", "int"), keyspace="k\udc80"))


def test_a_table_that_cannot_be_is_refused(alone):
    """The keyspace stays as it was, in the tables of system_schema, too: the node starts again."""
    before = versions(alone)
    for make, line in [(of_no_type, "column k.t.extra"), (nested, "column k.t.extra"), (with_a_path_for_a_name, "k.../../x: Table name"),
                       (with_a_long_name, "not be more than 222 characters"), (with_the_id_of_another, "Table k.twin has the id of table k.t: "),
                       *((make, "none of its column's type") for make in (with_a_name_that_is_no_text, with_a_comment_that_is_no_text, of_a_keyspace_that_is_no_text))]:
        cost = Cost(alone)
        push(alone, schema_push(make(alone)))
        cost.wait_for_line(f"SCHEMA_PUSH_REQ of /{FORGED}:7000 is refused: ", line)
    assert versions(alone) == before
    assert put_and_get(alone, 1) == [[struct.pack(">i", 1)]]
    with Stranger(alone.address) as stranger:
        stranger.send(schema_push(mutation(table(alone, "empty", uuid.uuid4()))))  # its columns may be on their way
    wait_until(lambda: versions(alone) != before, "a table without columns is refused")
    before = versions(alone)
    alone.restart()
    assert versions(alone) == before
    assert put_and_get(alone, 2) == [[struct.pack(">i", 2)]]


def test_a_schema_that_is_pushed_again_and_again(ring, beside):
    """The same change, old and new, from many connections: one schema in the end."""
    session = ring.session()
    number = table_id(session, "columns", "system_schema")
    for i in range(50):
        for node in ring.nodes[:2]:
            with Stranger(node.address) as stranger:
                same = update(number, b"k", COLUMNS, [column_row("t", "v", "int")], 1_500_000_000_000_000 + i)
                stranger.send(schema_push(mutation(same)), schema_push(mutation(same)))
    names = [{row.column_name for row in run(ring.session(node), "SELECT column_name FROM system_schema.columns WHERE keyspace_name = 'k' AND table_name = 't'", level=ONE)}
             for node in ring.nodes]
    assert names == [{"k", "v"}] * 3
    wait_until(lambda: len({versions(node)[0][0] for node in ring.nodes}) == 1, "the schemas differ")
