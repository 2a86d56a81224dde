"""Items 1, 2, 9 (schema), 15 and 16: connections, metadata, events, speculative executions and traces."""
import pytest
from cassandra import ProtocolVersion
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.policies import ConstantSpeculativeExecutionPolicy, RoundRobinPolicy
from cassandra.query import SimpleStatement

from conftest import HOST, LEVEL, NODES, PROTOCOLS, REPLICAS, cluster, eventually

CONNECTIONS = [(version, compression) for version in PROTOCOLS for compression in (False, "lz4", "snappy")
               if version < 5 or compression != "snappy"]


@pytest.mark.parametrize("version, compression", CONNECTIONS)
def test_connect(version, compression):
    connected = cluster(protocol_version=version, compression=compression)
    session = connected.connect("scenario")
    text = "compressible " * 20000 + "\x00\U0001f600"
    session.execute(session.prepare("INSERT INTO pairs (k, b) VALUES (?, ?)"), (1, text))
    assert session.execute("SELECT b FROM pairs WHERE k = 1").one().b == text
    assert connected.control_connection._connection._compression_type == (compression or None)
    connected.shutdown()


def test_the_highest_version_is_agreed_upon():
    connected = Cluster([HOST])  # tries DSE's versions first, which are refused with a protocol error
    connected.connect()
    assert connected.protocol_version == ProtocolVersion.V5
    connected.shutdown()


def test_a_version_that_no_node_speaks_is_a_protocol_error():
    connected = cluster(protocol_version=ProtocolVersion.DSE_V2)
    with pytest.raises(NoHostAvailable, match="ProtocolError"):
        connected.connect()
    connected.shutdown()


def test_schema_metadata(session):
    keyspace = session.cluster.metadata.keyspaces["scenario"]
    assert keyspace.replication_strategy.export_for_schema() == "{'class': 'SimpleStrategy', 'replication_factor': '%d'}" % REPLICAS
    assert keyspace.durable_writes
    assert {name: list(zip(t.field_names, t.field_types)) for name, t in keyspace.user_types.items()} == {
        "street": [("name", "text"), ("number", "int")],
        "address": [("street", "frozen<street>"), ("tags", "frozen<set<text>>"), ("place", "frozen<tuple<double, double>>")]}
    assert set(keyspace.tables) >= {"kinds", "events", "pairs", "rows", "counts", "large", "sparse", "changing"}
    kinds = keyspace.tables["kinds"]
    assert kinds.columns["nested_"].cql_type == "map<int, frozen<list<frozen<set<text>>>>>"
    assert kinds.columns["tuple_"].cql_type == "frozen<tuple<int, text, frozen<list<double>>>>"
    assert (kinds.columns["udt_"].cql_type, kinds.columns["frozen_"].cql_type) == ("address", "frozen<address>")
    assert kinds.columns["vector_"].cql_type == "vector<float, 3>"
    assert {c.name.rstrip("_"): c.cql_type for c in kinds.columns.values() if c.name.rstrip("_") == c.cql_type}.keys() >= {
        "ascii", "bigint", "blob", "boolean", "date", "decimal", "double", "duration", "float", "inet", "int", "smallint", "text",
        "time", "timestamp", "timeuuid", "tinyint", "uuid", "varint"}


def test_schema_metadata_of_a_table(session):
    events = session.cluster.metadata.keyspaces["scenario"].tables["events"]
    assert [c.name for c in events.partition_key] == ["a", "b"]
    assert [(c.name, c.is_reversed) for c in events.clustering_key] == [("at", True), ("seq", False)]
    assert [c.name for c in events.columns.values() if c.is_static] == ["owner"]
    options = {name: events.options[name] for name in ("comment", "gc_grace_seconds", "default_time_to_live", "bloom_filter_fp_chance",
                                                       "speculative_retry", "caching")}
    assert options == {"comment": "it's everything", "gc_grace_seconds": 3600, "default_time_to_live": 86400,
                       "bloom_filter_fp_chance": 0.05, "speculative_retry": "95p",
                       "caching": {"keys": "NONE", "rows_per_partition": "10"}}
    assert events.options["compaction"]["class"].endswith("LeveledCompactionStrategy")
    assert events.options["compression"] == {"class": "org.apache.cassandra.io.compress.ZstdCompressor", "chunk_length_in_kb": "32"}
    assert {name: (index.kind, index.index_options["target"]) for name, index in events.indexes.items()} == {
        "events_what": ("COMPOSITES", "what"), "events_seq": ("COMPOSITES", "seq"), "events_label_names": ("COMPOSITES", "keys(labels)"),
        "events_labels": ("COMPOSITES", "entries(labels)"), "events_tags": ("COMPOSITES", "values(tags)"),
        "events_path": ("COMPOSITES", "full(path)")}


def test_schema_events_reach_the_metadata(session):
    other = cluster()
    changes = other.connect()
    keyspaces = session.cluster.metadata.keyspaces
    changes.execute("DROP KEYSPACE IF EXISTS scenario_events")
    changes.execute("CREATE KEYSPACE scenario_events WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    eventually(lambda: "scenario_events" in keyspaces)
    changes.execute("CREATE TYPE scenario_events.pair (a int, b int)")
    eventually(lambda: "pair" in keyspaces["scenario_events"].user_types)
    changes.execute("CREATE TABLE scenario_events.t (k int PRIMARY KEY, v int)")
    eventually(lambda: "t" in keyspaces["scenario_events"].tables)
    changes.execute("ALTER TYPE scenario_events.pair ADD c text")
    eventually(lambda: keyspaces["scenario_events"].user_types["pair"].field_names == ["a", "b", "c"])
    changes.execute("ALTER TABLE scenario_events.t ADD w list<int>")
    eventually(lambda: "w" in keyspaces["scenario_events"].tables["t"].columns)
    changes.execute("ALTER KEYSPACE scenario_events WITH durable_writes = false")
    eventually(lambda: not keyspaces["scenario_events"].durable_writes)
    changes.execute("DROP TABLE scenario_events.t")
    eventually(lambda: "t" not in keyspaces["scenario_events"].tables)
    changes.execute("DROP TYPE scenario_events.pair")
    eventually(lambda: "pair" not in keyspaces["scenario_events"].user_types)
    changes.execute("DROP KEYSPACE scenario_events")
    eventually(lambda: "scenario_events" not in keyspaces)
    other.shutdown()


def test_speculative_execution(session5):
    class TheNodeThreeTimes(RoundRobinPolicy):
        def make_query_plan(self, working_keyspace=None, query=None):
            return list(super().make_query_plan(working_keyspace, query)) * 3

    for k in range(100):
        session5.execute("INSERT INTO pairs (k, a, b) VALUES (%s, %s, %s)", (k, k, "x" * 50000))
    profile = ExecutionProfile(TheNodeThreeTimes(), consistency_level=LEVEL, speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.001, 2), request_timeout=30)
    connected = cluster(execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    session = connected.connect("scenario")
    future = session.execute_async(SimpleStatement("SELECT k, b FROM pairs", is_idempotent=True))
    assert sorted(row.k for row in future.result()) == list(range(100))
    assert len(future.attempted_hosts) > 1
    connected.shutdown()
    session5.execute("TRUNCATE pairs")


def test_tracing(session):
    future = session.execute("INSERT INTO pairs (k, a) VALUES (1, 1)", trace=True)
    trace = future.get_query_trace(max_wait_sec=10)
    assert trace.request_type == "Execute CQL3 query" and trace.coordinator in NODES and trace.client
    assert trace.parameters["query"] == "INSERT INTO pairs (k, a) VALUES (1, 1)" and trace.duration.total_seconds() < 5
    assert trace.events and all(event.source in NODES and event.description for event in trace.events)
    prepared = session.prepare("SELECT a FROM pairs WHERE k = ?")
    trace = session.execute(prepared, (1,), trace=True).get_query_trace(max_wait_sec=10)
    assert trace.request_type == "Execute CQL3 prepared query" and trace.parameters["bound_var_0_k"] == "1"
