#!/usr/bin/env python3
"""Records what one node of a running Cassandra answers at each consistency level in keyspaces with replication factor 3:

    unavailable.py HOST > ../data/unavailable.txt

A line: strategy, level, operation, then `ok`, or what is required, what lives and the message; fields separated by tabs.
"""
import sys

from cassandra import ConsistencyLevel, Unavailable
from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.query import SimpleStatement

STRATEGIES = {"SimpleStrategy": "replication_factor", "NetworkTopologyStrategy": "datacenter1"}
OPERATIONS = {"write": "INSERT INTO {ks}.t (k, v) VALUES ('a', 'b')", "counter": "UPDATE {ks}.n SET n = n + 1 WHERE k = 'a'",
              "read": "SELECT * FROM {ks}.t WHERE k = 'a'", "range": "SELECT * FROM {ks}.t"}


def answer(session, text, level):
    """None when the request is refused before replicas are counted."""
    try:
        session.execute(SimpleStatement(text, consistency_level=level))
        return "ok"
    except NoHostAvailable as e:
        (error,) = e.errors.values()
        assert isinstance(error, Unavailable), error
        return f"{error.required_replicas}\t{error.alive_replicas}\t{str(error).split('message=')[1].split(chr(34))[1]}"
    except Exception as e:
        assert "code=2200" in str(e), e
        return None


def main():
    session = Cluster([sys.argv[1]]).connect()
    for strategy, factor in STRATEGIES.items():
        keyspace = f"unavailable_{strategy.lower()}"
        session.execute(f"CREATE KEYSPACE {keyspace} WITH replication = {{'class': '{strategy}', '{factor}': 3}}")
        session.execute(f"CREATE TABLE {keyspace}.t (k text PRIMARY KEY, v text)")
        session.execute(f"CREATE TABLE {keyspace}.n (k text PRIMARY KEY, n counter)")
        for level, name in sorted(ConsistencyLevel.value_to_name.items()):
            for operation, text in OPERATIONS.items():
                found = answer(session, text.format(ks=keyspace), level)
                if found is not None:
                    print(f"{strategy}\t{name}\t{operation}\t{found}")
        session.execute(f"DROP KEYSPACE {keyspace}")


main()
