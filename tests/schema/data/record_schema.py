#!/usr/bin/env python3
"""Writes what a Cassandra node's schema tables hold, and the version that it has for them: a file of tests/schema/data.

    record_schema.py HOST[:PORT] FILE        needs: pip install cassandra-driver

The file: a line `version UUID`, then for each live row a line `row TABLE KEYSPACE CLUSTERING...`, and for each of its
cells a line `cell COLUMN TIMESTAMP VALUE`. Values are hexadecimal; an empty one is `-`. Cassandra writes the whole row
each time, so a row's liveness has the time of its cells.
"""
import sys

from cassandra.cluster import Cluster
from cassandra.protocol import ProtocolHandler, ResultMessage, read_int

LOCAL = ("system", "system_schema")
TABLES = ("column_masks", "columns", "dropped_columns", "triggers", "types", "functions", "aggregates", "indexes",
          "tables", "views", "keyspaces")


class RawResult(ResultMessage):
    """Rows as the bytes that came."""

    def recv_results_rows(self, f, protocol_version, user_type_map, result_metadata, column_encryption_policy):
        self.recv_results_metadata(f, user_type_map)
        columns = self.column_metadata or result_metadata
        self.column_names = [column[2] for column in columns]
        self.column_types = [column[3] for column in columns]
        self.parsed_rows = [self.recv_row(f, len(columns)) for _ in range(read_int(f))]


class RawHandler(ProtocolHandler):
    message_types_by_opcode = dict(ProtocolHandler.message_types_by_opcode)
    message_types_by_opcode[RawResult.opcode] = RawResult


def hexadecimal(value):
    return value.hex() or "-"


def lines(session, keyspaces):
    for table in TABLES:
        metadata = keyspaces["system_schema"].tables[table]
        clustering = [column.name for column in metadata.clustering_key]
        regular = sorted(name for name in metadata.columns if name not in clustering and name != "keyspace_name")
        asked = ["keyspace_name", *clustering]
        for name in regular:
            asked += [name, f"writetime({name})"]
        for row in session.execute(f"SELECT {', '.join(asked)} FROM system_schema.{table}"):
            values = list(row)
            keys, cells = values[:1 + len(clustering)], values[1 + len(clustering):]
            if keys[0].decode() in LOCAL:
                continue
            yield " ".join(["row", table, *map(hexadecimal, keys)])
            for name, value, time in zip(regular, cells[::2], cells[1::2]):
                if value is not None:
                    yield f"cell {name} {int.from_bytes(time, 'big', signed=True)} {hexadecimal(value)}"


def recorded(host, port=9042):
    """The lines of the file."""
    with Cluster([host], port=port) as cluster:
        session = cluster.connect()
        version = session.execute("SELECT schema_version FROM system.local").one()[0]
        session.client_protocol_handler = RawHandler
        session.row_factory = lambda names, rows: rows
        session.default_fetch_size = None
        return [f"version {version}", *lines(session, cluster.metadata.keyspaces)]


def main():
    host, _, port = sys.argv[1].partition(":")
    text = recorded(host, int(port or 9042))
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
