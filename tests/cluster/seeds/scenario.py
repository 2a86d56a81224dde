"""Scenarios: CQL statements in a file, and what Cassandra answers to each.

    scenario.py record HOST     runs scenarios/*.cql on a real Cassandra and writes expected/*.txt

A statement ends with a semicolon at the end of a line. The answer of one that has none is left out; rows are one line each.
"""
import pathlib
import sys
import time

from cassandra import ConsistencyLevel
from cassandra.cluster import Cluster, ExecutionProfile, EXEC_PROFILE_DEFAULT
from cassandra.query import tuple_factory

HERE = pathlib.Path(__file__).resolve().parent


def statements(text):
    lines = [line for line in text.splitlines() if not line.strip().startswith("--")]
    for statement in "\n".join(lines).split(";\n"):
        if statement.strip():
            yield statement.strip().rstrip(";")


def shown(value):
    if isinstance(value, dict) or type(value).__name__ == "OrderedMapSerializedKey":
        return "{" + ", ".join(f"{shown(k)}: {shown(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(map(shown, value)) + ")"
    if type(value).__name__ in ("SortedSet", "set", "frozenset"):
        return "{" + ", ".join(map(shown, value)) + "}"
    return str(value)


def transcript(session, text, index_wait=0):
    out = []
    for statement in statements(text):
        out.append("> " + " ".join(statement.split()))
        try:
            result = session.execute(statement, timeout=60)
            for row in result:
                out.append("  " + " | ".join(shown(value) for value in row))
            if statement.upper().startswith("CREATE INDEX"):
                time.sleep(index_wait)  # Cassandra builds it in the background
        except Exception as error:  # the class and message are what a user sees
            out.append(f"  {type(error).__name__}: {str(error).splitlines()[0]}")
    return "\n".join(out) + "\n"


def connect(host):
    profile = ExecutionProfile(row_factory=tuple_factory, consistency_level=ConsistencyLevel.ONE, request_timeout=60)
    cluster = Cluster([host], execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    return cluster, cluster.connect()


def scenarios():
    return sorted((HERE / "scenarios").glob("*.cql"))


def expected(path):
    return HERE / "expected" / (path.stem + ".txt")


if __name__ == "__main__":
    cluster, session = connect(sys.argv[2])
    for path in scenarios():
        expected(path).write_text(transcript(session, path.read_text(), index_wait=3))
        session.execute("DROP KEYSPACE IF EXISTS " + path.stem)
        cluster.refresh_schema_metadata()
        print("recorded", path.stem)
    cluster.shutdown()
