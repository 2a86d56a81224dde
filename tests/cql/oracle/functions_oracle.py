#!/usr/bin/env python3
"""Asks a real Cassandra what expressions are: the expectations of functions_test.cc.

    functions_oracle.py HOST ../data/functions.txt

rewrites the file: the first field of each line is an expression, which is selected from a table of one row with the
column k int = 0; what follows, separated by tabs, is the answer:

    name in the result, type, value in hex or `null`
    error, code, message

Lists of signatures within messages, which have no stable order, are left out. Needs cassandra-driver (PyPI).
"""
import re
import sys

from cassandra.cluster import Cluster
from cassandra.protocol import ErrorMessage, ResultMessage, _ProtocolHandler, error_classes, read_int

# The driver's exceptions lack what the protocol says.
for error in error_classes.values():
    error.to_exception = lambda self: self


class RawResult(ResultMessage):
    """Rows as the bytes of their values."""

    def recv_results_rows(self, f, protocol_version, user_type_map, *_):
        self.recv_results_metadata(f, user_type_map)
        self.column_names = [column[2] for column in self.column_metadata]
        self.column_types = [column[3] for column in self.column_metadata]
        self.parsed_rows = [[self.value(f) for _ in self.column_metadata] for _ in range(read_int(f))]

    @staticmethod
    def value(f):
        size = read_int(f)
        return None if size < 0 else f.read(size)


class RawHandler(_ProtocolHandler):
    message_types_by_opcode = {**_ProtocolHandler.message_types_by_opcode, RawResult.opcode: RawResult}


def answer(session, expression):
    future = session.execute_async(f"SELECT {expression} FROM functions_oracle.one")
    try:
        row = future.result().one()
    except Exception as exception:
        message = exception
        if not isinstance(message, ErrorMessage):
            message = list(exception.errors.values())[0]
        text = re.split(r" \((?:known type signatures|can be matched by)", message.message)[0]
        return ["error", f"{message.code:04x}", text]
    value = list(row.values())[0] if isinstance(row, dict) else row[0]
    type_name = future._col_types[0].cql_parameterized_type()
    type_name = type_name.replace("varchar", "text").replace("org.apache.cassandra.db.marshal.VectorType", "vector")
    return [future._col_names[0], type_name, "null" if value is None else value.hex()]


def main():
    host, path = sys.argv[1:]
    session = Cluster([host]).connect()
    session.execute("CREATE KEYSPACE IF NOT EXISTS functions_oracle WITH replication = "
                    "{'class': 'SimpleStrategy', 'replication_factor': 1}")
    session.execute("CREATE TABLE IF NOT EXISTS functions_oracle.one (k int PRIMARY KEY)")
    session.execute("INSERT INTO functions_oracle.one (k) VALUES (0)")
    session.client_protocol_handler = RawHandler
    lines = [line.rstrip("\n") for line in open(path)]
    with open(path, "w") as out:
        for line in lines:
            expression = line.split("\t")[0]
            if expression and not expression.startswith("#"):
                line = "\t".join([expression] + answer(session, expression))
            out.write(line + "\n")


if __name__ == "__main__":
    main()
