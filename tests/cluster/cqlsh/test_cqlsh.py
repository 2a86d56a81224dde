"""cqlsh from PyPI, as a person uses it."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

from node import ROOT, Node

ADDRESS = os.environ.get("CASSANDRA_HOST", "127.0.0.46")
ROWS = int(os.environ.get("COPY_ROWS", "100000"))
CQLSH = pathlib.Path(sys.executable).parent / "cqlsh"


@pytest.fixture(scope="module", autouse=True)
def node():
    if "CASSANDRA_HOST" in os.environ:
        yield None
        return
    node = Node(ADDRESS)
    node.start()
    yield node
    node.destroy()


def cqlsh(commands, *options, timeout=300, cwd=None, host=ADDRESS):
    done = subprocess.run([CQLSH, host, "9042", *options], input=commands, capture_output=True, text=True, timeout=timeout, cwd=cwd)
    return done.stdout, done.stderr


@pytest.fixture(scope="module", autouse=True)
def schema(node):
    out, err = cqlsh("""
        CREATE KEYSPACE shell WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
        USE shell;
        CREATE TYPE address (street text, number int);
        CREATE TABLE people (id int PRIMARY KEY, name text, home frozen<address>, tags set<text>);
        CREATE INDEX people_name ON people (name);
        CREATE TABLE events (day int, at int, what text, PRIMARY KEY (day, at)) WITH CLUSTERING ORDER BY (at DESC);
        INSERT INTO people (id, name, home, tags) VALUES (1, 'Ann', {street: 'Elm', number: 5}, {'a', 'b'});
    """)
    assert err == "", err
    yield
    cqlsh("DROP KEYSPACE shell;")


def test_it_connects_and_shows_rows():
    out, err = cqlsh("SELECT * FROM shell.people;")
    assert err == "" and "{street: 'Elm', number: 5}" in out and "(1 rows)" in out


DESCRIBE = ["CLUSTER", "SCHEMA", "FULL SCHEMA", "KEYSPACES", "KEYSPACE shell", "TABLES", "TABLE shell.people", "TYPES", "TYPE shell.address",
            "INDEX shell.people_name", "FUNCTIONS", "AGGREGATES", "shell", "shell.events"]


@pytest.mark.parametrize("what", DESCRIBE)
def test_describe(what):
    out, err = cqlsh(f"USE shell; DESCRIBE {what};")
    assert err == "" and out.strip() != ""


def test_describe_recreates_the_table():
    def described():
        text = cqlsh("DESCRIBE TABLE shell.events;")[0]
        return text[text.index("CREATE TABLE"):]  # behind what cqlsh says of its own version

    text = described()
    out, err = cqlsh("DROP TABLE shell.events;" + text + "INSERT INTO shell.events (day, at, what) VALUES (1, 2, 'x');"
                     "SELECT what FROM shell.events;")
    assert err == "" and "(1 rows)" in out
    assert described() == text


@pytest.mark.skipif("CASSANDRA_HOST" not in os.environ, reason="needs a Cassandra beside a node of ours")
def test_what_one_server_describes_the_other_recreates():
    schema = (ROOT / "tests" / "drivers" / "schema.cql").read_text().replace("scenario", "described")
    schema += pathlib.Path(__file__).with_name("described.cql").read_text()

    def describe(host):
        text, err = cqlsh("DESCRIBE KEYSPACE described;", host=host)
        assert err == "", err
        # Cassandra describes an index of the old kind without its kind, and then creates one of the kind it is configured for.
        return re.sub(r"CREATE CUSTOM INDEX (.*) USING 'sai'", r"CREATE INDEX \1", text[text.index("CREATE KEYSPACE"):])

    def run(host, text):
        out, err = cqlsh("DROP KEYSPACE IF EXISTS described;" + text, host=host)
        assert err == "", err

    ours = Node("127.0.0.45")
    try:
        ours.start()
        for source, target in ((ADDRESS, ours.address), (ours.address, ADDRESS)):
            run(source, schema)
            run(target, describe(source))
            assert describe(target).splitlines() == describe(source).splitlines()
        run(ADDRESS, "")
    finally:
        ours.destroy()


def test_tracing_expand_paging_and_source(tmp_path):
    out, err = cqlsh("TRACING ON; SELECT * FROM shell.people WHERE id = 1;")
    assert err == "" and "Tracing session" in out and "Request complete" in out
    out, err = cqlsh("EXPAND ON; SELECT * FROM shell.people;")
    assert err == "" and "@ Row 1" in out
    script = tmp_path / "load.cql"
    script.write_text("".join(f"INSERT INTO shell.events (day, at, what) VALUES (7, {i}, 'e{i}');\n" for i in range(250)))
    out, err = cqlsh(f"SOURCE '{script}'; PAGING 50; SELECT at FROM shell.events WHERE day = 7;")
    assert err == "" and "(250 rows)" in out


def test_copy_there_and_back(tmp_path):
    source, back = tmp_path / "source.csv", tmp_path / "back.csv"
    source.write_text("".join(f"{i},{i * i},text number {i}\n" for i in range(ROWS)))
    cqlsh("CREATE TABLE shell.copied (id int PRIMARY KEY, square bigint, what text);")
    for command, done in ((f"FROM '{source}'", "imported"), (f"TO '{back}'", "exported")):
        out, err = cqlsh(f"COPY shell.copied (id, square, what) {command} WITH NUMPROCESSES = 2;", cwd=tmp_path,
                         timeout=300 + ROWS // 500)
        assert f"{ROWS} rows {done}" in out, out + err
        print(out.splitlines()[-1])
    assert sorted(back.read_text().splitlines()) == sorted(source.read_text().splitlines())
