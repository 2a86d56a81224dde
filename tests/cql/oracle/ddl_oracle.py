#!/usr/bin/env python3
"""Writes what a real Cassandra answers to DDL statements: the expectations of schema_statements_test.cc.

    ddl_oracle.py HOST ddl_statements.cql > ../data/ddl_answers.txt

One statement a line, run in order on one connection; lines that start with -- and empty lines are copied. For each
statement the output has a line `> statement` and then its answer, every line of it after `| `:

    VOID | USED keyspace | CHANGED change target keyspace name | ERROR code message | ROWS and, for each row, its values
    WARNING text

What differs from run to run is replaced: table ids by <id>, drop times by <time>. Needs cassandra-driver (PyPI).
"""
import re
import sys

from cassandra import ConsistencyLevel
from cassandra.cluster import Cluster
from cassandra.protocol import ErrorMessage, QueryMessage, error_classes

# The driver's exceptions lack what the protocol says.
for error in error_classes.values():
    error.to_exception = lambda self: self


def normalized(text):
    text = re.sub(r"ID = [0-9a-f]{8}-[0-9a-f-]{27}", "ID = <id>", text)
    return re.sub(r"USING TIMESTAMP 1[0-9]{15}\b", "USING TIMESTAMP <time>", text)


def answer(connection, statement):
    response = connection.wait_for_responses(
        QueryMessage(statement, ConsistencyLevel.ONE), timeout=60, fail_on_error=False)[0][1]
    if isinstance(response, ErrorMessage):
        info = response.info
        where = f" {{{info['keyspace']}, {info['table']}}}" if isinstance(info, dict) and "keyspace" in info else ""
        return [f"ERROR {response.code:04x}{where} {response.message}"]
    lines = []
    if response.kind == 1:
        lines.append("VOID")
    elif response.kind == 3:
        lines.append("USED " + response.new_keyspace)
    elif response.kind == 5:
        event = response.schema_change_event
        name = event.get(event["target_type"].lower(), "") if event["target_type"] != "KEYSPACE" else ""
        lines.append(" ".join(["CHANGED", event["change_type"], event["target_type"], event["keyspace"], name]).rstrip())
    else:
        lines.append("ROWS " + ", ".join(response.column_names))
        for row in response.parsed_rows:
            lines += normalized("\n".join(str(value) for value in row)).split("\n")
    return lines + ["WARNING " + warning for warning in response.warnings or []]


def main():
    host, path = sys.argv[1:]
    cluster = Cluster([host], protocol_version=5, schema_metadata_enabled=False)
    session = cluster.connect()
    connection = cluster.connection_factory(session.hosts[0].endpoint)
    for line in open(path):
        line = line.rstrip("\n")
        if not line or line.startswith("--"):
            print(line)
            continue
        print("> " + line)
        for part in answer(connection, line):
            for each in part.split("\n"):
                print(("| " + each).rstrip())
    cluster.shutdown()


main()
