"""A pytest plugin for suites that make keyspaces with one replica: they get three, and requests whose level is one of a single
replica's go at QUORUM. So a suite that was written for one node runs on three:

  PYTHONPATH=tests/cluster/support pytest -p three_replicas --host=127.0.0.21 …
"""
import re

from cassandra import ConsistencyLevel
from cassandra.cluster import Session

ONE_REPLICA = re.compile(r"('(?:replication_factor|datacenter1)'\s*:\s*)'?1'?(?=\s*[,}])", re.IGNORECASE)
WEAK = {ConsistencyLevel.ONE, ConsistencyLevel.LOCAL_ONE, ConsistencyLevel.ANY}
execute_async = Session.execute_async


def at_quorum(session, query, *arguments, **options):
    if isinstance(query, str):
        if re.match(r"\s*(CREATE|ALTER)\s+(KEYSPACE|SCHEMA)", query, re.IGNORECASE):
            query = ONE_REPLICA.sub(r"\g<1>3", query)
    elif query.consistency_level in WEAK:
        query.consistency_level = ConsistencyLevel.QUORUM
    return execute_async(session, query, *arguments, **options)


Session.execute_async = at_quorum
