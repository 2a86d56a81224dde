"""A case: one keyspace of its own, and all that is sent to it, from a seed and a number alone."""
import random

from queries import Queries
from schema import LEGACY_INDEX, SchemaMaker
from statement import Statement, Writer, garbled
from writes import TIMESTAMP, Writes

BAD_SCHEMA = [
    "CREATE TABLE t0 (p0 int PRIMARY KEY)", "CREATE TABLE x (a int)", "CREATE TABLE x (a int, b int, PRIMARY KEY (c))", "CREATE TABLE x (a int PRIMARY KEY, a text)", "CREATE TABLE x (a list<int> PRIMARY KEY)",
    "CREATE TABLE x (a duration PRIMARY KEY)", "CREATE TABLE x (a int PRIMARY KEY, b counter, c int)", "CREATE TABLE x (a counter PRIMARY KEY)", "CREATE TABLE x (a int PRIMARY KEY, s int static)",
    "CREATE TABLE x (a int, b int, PRIMARY KEY (a, b)) WITH CLUSTERING ORDER BY (a DESC)", "CREATE TABLE x (a int PRIMARY KEY, b nope)", "CREATE TABLE x (a int PRIMARY KEY, b list<list<int>>)",
    "CREATE TABLE x (a int PRIMARY KEY, b set<duration>)", "CREATE TABLE x (a int PRIMARY KEY) WITH nope = 1", "CREATE TABLE x (a int PRIMARY KEY) WITH gc_grace_seconds = -1", "CREATE TABLE x (a int PRIMARY KEY) WITH gc_grace_seconds = 'a'",
    "CREATE TABLE x (a int PRIMARY KEY) WITH compaction = {'class': 'Nope'}", "CREATE TABLE x (a int PRIMARY KEY) WITH compression = {'class': 'Nope'}", "CREATE TABLE x (a int PRIMARY KEY) WITH caching = {'keys': 'x'}",
    "CREATE TABLE x (a int PRIMARY KEY) WITH bloom_filter_fp_chance = 2", "CREATE TABLE x (a int PRIMARY KEY) WITH COMPACT STORAGE", "CREATE TABLE x (a int PRIMARY KEY) WITH comment = 'a' AND comment = 'b'",
    "CREATE TABLE x (a int, PRIMARY KEY (a, a))", "CREATE TABLE x (a int PRIMARY KEY, b int PRIMARY KEY)", "CREATE TABLE x (a int PRIMARY KEY, b vector<int, 0>)", "CREATE TABLE x (a int PRIMARY KEY, b vector<text, 2>) WITH ID = 5",
    "CREATE TABLE IF NOT EXISTS t0 (p0 int PRIMARY KEY)", "CREATE TABLE nope.x (a int PRIMARY KEY)", "CREATE TABLE \"a-b\" (a int PRIMARY KEY)", "CREATE TABLE system.x (a int PRIMARY KEY)", "CREATE TABLE x (a frozen<int> PRIMARY KEY)",
    "CREATE TYPE u0 (a int)", "CREATE TYPE x (a int, a int)", "CREATE TYPE x (a nope)", "CREATE TYPE x (a counter)", "CREATE TYPE x (a u0)", "CREATE TYPE x (a list<int>)", "CREATE TYPE int (a int)", "CREATE TYPE IF NOT EXISTS u0 (a int)",
    "ALTER TABLE t0 ADD p0 int", "ALTER TABLE t0 DROP p0", "ALTER TABLE t0 DROP nope", "ALTER TABLE nope ADD a int", "ALTER TABLE t0 RENAME nope TO x", "ALTER TABLE t0 RENAME v0 TO x", "ALTER TABLE t0 ADD x counter", "ALTER TABLE t0 ALTER v0 TYPE blob",
    "ALTER TABLE t0 WITH gc_grace_seconds = 'a'", "ALTER TABLE t0 WITH nope = 1", "ALTER TABLE t0 ADD x nope", "ALTER TABLE t0 ADD x duration static", "ALTER TABLE t0 RENAME p0 TO v0", "ALTER TABLE IF EXISTS nope ADD a int",
    "ALTER TYPE u0 ADD f0 int", "ALTER TYPE u0 RENAME nope TO x", "ALTER TYPE nope ADD a int", "ALTER TYPE u0 ADD x counter", "ALTER TYPE IF EXISTS nope ADD a int", "DROP TYPE u0", "DROP TYPE nope", "DROP TYPE IF EXISTS nope",
    "DROP TABLE nope", "DROP TABLE IF EXISTS nope", "DROP TABLE nope.nope", "DROP KEYSPACE nope", "DROP KEYSPACE IF EXISTS nope", "DROP INDEX nope", "DROP INDEX IF EXISTS nope", "TRUNCATE nope", "USE nope",
    f"CREATE INDEX ON nope (a) USING {LEGACY_INDEX}", f"CREATE INDEX ON t0 (nope) USING {LEGACY_INDEX}", f"CREATE INDEX ON t0 (p0) USING {LEGACY_INDEX}", f"CREATE INDEX ON t0 (keys(v0)) USING {LEGACY_INDEX}", f"CREATE INDEX ON t0 (full(v0)) USING {LEGACY_INDEX}",
    f"CREATE INDEX ON t0 (entries(v0)) USING {LEGACY_INDEX}", "CREATE CUSTOM INDEX ON t0 (v0) USING 'nope'", "CREATE KEYSPACE differential_x WITH replication = {'class': 'Nope'}", "CREATE KEYSPACE differential_x",
    "CREATE KEYSPACE system WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}", "ALTER KEYSPACE nope WITH durable_writes = true", "CREATE KEYSPACE differential_x WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 'a'}",
    "CREATE KEYSPACE differential_x WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1} AND nope = 1", "DROP FUNCTION nope", "DROP AGGREGATE nope", "DROP MATERIALIZED VIEW nope", "DROP TRIGGER a ON t0",
]
BAD_OPTIONS = [f"ALTER TABLE t0 WITH {option}" for option in (
    "comment = null", "speculative_retry = 'foo'", "speculative_retry = '101p'", "speculative_retry = '-1ms'", "speculative_retry = 'MIN(99p,98p)'", "additional_write_policy = 'foo'", "read_repair = 'foo'", "cdc = 'foo'",
    "bloom_filter_fp_chance = 0", "bloom_filter_fp_chance = 0.000001", "bloom_filter_fp_chance = 'a'", "crc_check_chance = 2", "gc_grace_seconds = 1.5", "gc_grace_seconds = 99999999999", "default_time_to_live = -1",
    "default_time_to_live = 630720001", "memtable_flush_period_in_ms = -1", "min_index_interval = 0", "min_index_interval = 128 AND max_index_interval = 64", "max_index_interval = 2", "caching = {'rows_per_partition': '-5'}",
    "caching = {'foo': 'x'}", "caching = 'all'", "compression = {'class': ''}", "compression = {'class': 'LZ4Compressor', 'sstable_compression': 'LZ4Compressor'}", "compression = {'class': 'LZ4Compressor', 'chunk_length_in_kb': 3}",
    "compression = {'class': 'LZ4Compressor', 'chunk_length_in_kb': 'x'}", "compression = {'class': 'LZ4Compressor', 'lz4_compressor_type': 'nope'}", "compression = {'class': 'ZstdCompressor', 'compression_level': 50}",
    "compression = {'class': 'DeflateCompressor', 'x': 5}", "compaction = {}", "compaction = {'class': 'SizeTieredCompactionStrategy', 'min_threshold': 1}", "compaction = {'class': 'SizeTieredCompactionStrategy', 'foo': 4}",
    "compaction = {'class': 'SizeTieredCompactionStrategy', 'bucket_low': 2}", "compaction = {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 0}", "compaction = {'class': 'LeveledCompactionStrategy', 'fanout_size': 0}",
    "compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'foo'}", "compaction = {'class': 'UnifiedCompactionStrategy', 'scaling_parameters': 'Q'}", "compaction = {'class': 'DateTieredCompactionStrategy'}",
    "memtable = 'foo'", "allow_auto_snapshot = 'maybe'", "extensions = {'a': 'b'}", "read_repair_chance = 0.1", "index_interval = 128", "CLUSTERING ORDER BY (p0 ASC)")]
BAD_OPTIONS += [f"CREATE KEYSPACE differential_x WITH replication = {{{options}}}" for options in (
    "'class': 'SimpleStrategy', 'replication_factor': -1", "'class': 'SimpleStrategy', 'replication_factor': 1, 'dc1': 1", "'class': 'NetworkTopologyStrategy', 'nope': 1",
    "'class': 'NetworkTopologyStrategy', 'datacenter1': 'x'", "'class': 'LocalStrategy'", "'class': 'OldNetworkTopologyStrategy'")]
BAD_OPTIONS += [f"CREATE TABLE x ({columns})" for columns in (
    "a int PRIMARY KEY, b vector<int, -1>", "a int PRIMARY KEY, b vector<nope, -1>", "a int PRIMARY KEY, b vector<int>", "a int PRIMARY KEY, b vector<counter, 2>", "a int PRIMARY KEY, b list<counter>", "a int PRIMARY KEY, b tuple<counter>",
    "a int PRIMARY KEY, b list<u0>", "a u0 PRIMARY KEY", "a int, b duration, PRIMARY KEY (a, b)", "a int, b tuple<duration>, PRIMARY KEY (a, b)", "a int PRIMARY KEY STATIC", "a int, b int STATIC, PRIMARY KEY (a, b)",
    "b int PRIMARY KEY, a frozen<map<duration, int>>", "a int PRIMARY KEY, b 'nope'", "a int, PRIMARY KEY ()", "", "PRIMARY KEY (a)")]
NO_PAGING_STATES = [b"", b"\0", b"garbage", b"\xff" * 9]
SYSTEM_QUERIES = [
    "SELECT * FROM system_schema.columns WHERE keyspace_name = '{ks}'", "SELECT * FROM system_schema.types WHERE keyspace_name = '{ks}'", "SELECT * FROM system_schema.indexes WHERE keyspace_name = '{ks}'",
    "SELECT * FROM system_schema.keyspaces WHERE keyspace_name = '{ks}'", "SELECT keyspace_name, table_name, column_name, kind, type FROM system_schema.dropped_columns WHERE keyspace_name = '{ks}'",
    "SELECT table_name, additional_write_policy, bloom_filter_fp_chance, caching, comment, compaction, compression, crc_check_chance, default_time_to_live, flags, gc_grace_seconds, memtable, speculative_retry FROM system_schema.tables WHERE keyspace_name = '{ks}'",
    "DESCRIBE KEYSPACE {ks}", "DESCRIBE TABLE {ks}.t0", "DESCRIBE TYPES", "DESCRIBE TABLES", "SELECT keyspace_name, table_name, column_name FROM system_virtual_schema.columns WHERE keyspace_name = 'system_virtual_schema'",
    "SELECT * FROM {ks}.nope", "SELECT * FROM nope.t0", "SELECT key, cql_version, native_protocol_version, partitioner FROM system.local", "SELECT * FROM system_views.nope", "LIST ROLES", "GRANT x TO y", "",
    ";", "SELECT", "  ", "-- only a comment", "SELECT * FROM t0;", "SELECT * FROM t0; SELECT * FROM t0", "SELECT * FROM t0 /* comment */ LIMIT 1 -- more",
]


class Case:
    """`setup` makes the keyspace's types, tables and indexes; `statements` follow. Both are lists of Statement."""

    def __init__(self, seed, number, count):
        self.random = random.Random(f"{seed}/{number}")
        self.name = f"differential_{seed}_{number}"
        self.maker = SchemaMaker(self.random)
        self.altered = 0
        self.setup = [self.schema(self.maker.create_type(f"u{i}")) for i in range(self.random.choice([1, 2, 3]))]
        self.tables = []
        for i in range(self.random.choice([2, 3])):
            table = self.maker.table(f"t{i}")
            self.tables.append(table)
            self.setup.append(self.schema(self.maker.create_table(table), table.name))
            for j in range(self.random.choice([0, 0, 1, 2])):
                text = self.maker.create_index(table, f"i{i}_{j}")
                self.setup += [self.schema(text, table.name)] if text else []
        self.writes, self.queries = Writes(self.random, self.tables), Queries(self.random, self.tables)
        self.statements = [self.next() for _ in range(count)]

    def schema(self, text, table=None):
        return Statement("schema", text, Writer(self.random).options(), table=table)

    def chance(self, p):
        return self.random.random() < p

    def next(self):
        """The next statement. Three of four are as they should be."""
        table = self.random.choice(self.tables)
        chaos = self.random.choice([0, 0, 0, 0.15])
        choice = self.random.random()
        if choice < 0.42:
            statement = self.writes.statement(table, chaos)
        elif choice < 0.47:
            statement = self.writes.batch(self.tables, chaos)
        elif choice < 0.97:
            statement = self.queries.statement(table, chaos)
        elif choice < 0.976:
            return self.alter(table)
        elif choice < 0.985:
            return self.schema(self.random.choice(BAD_SCHEMA + BAD_OPTIONS))
        else:
            text = self.random.choice(SYSTEM_QUERIES).replace("{ks}", self.name)
            return Statement("other", text, Writer(self.random).options(), "prepare" if self.chance(0.2) else "query")
        if self.chance(0.01):
            statement.options.paging_state = self.random.choice(NO_PAGING_STATES)
        if statement.mode != "batch" and self.chance(0.06):
            statement.text = garbled(self.random, statement.text)
            statement.kind = "other" if statement.kind == "read" else statement.kind
        return statement

    def alter(self, table):
        """A change of a table that both must take."""
        self.altered += 1
        how = self.random.choice(["add", "add", "drop", "option", "rename", "type", "truncate", "index", "unindex"])
        text = getattr(self, "alter_" + how)(table)
        return self.schema(text or f"ALTER TABLE {table.name} WITH comment = '{self.altered}'", table.name)

    def alter_add(self, table):
        static = bool(table.clustering) and self.chance(0.2)
        from schema import Column
        from values import native
        column = Column(f"a{self.altered}", native("counter") if table.counter else self.maker.column_type(), "static" if static else "regular")
        table.columns.append(column)
        return f"ALTER TABLE {table.name} ADD {column.name} {column.type.name}{' static' if static else ''}"

    def alter_drop(self, table):
        indexed = [column.name for column, _ in table.indexes.values()]
        candidates = [c for c in table.values if c.name not in indexed]
        if not candidates:
            return None
        column = self.random.choice(candidates)
        table.columns.remove(column)
        when = f" USING TIMESTAMP {TIMESTAMP + 5}" if self.chance(0.3) else ""
        return f"ALTER TABLE {table.name} DROP {column.name}{when}"

    def alter_option(self, table):
        from schema import OPTIONS
        option = self.random.choice(OPTIONS)
        return None if table.counter and "time_to_live" in option else f"ALTER TABLE {table.name} WITH {option}"

    def alter_rename(self, table):
        indexed = [column.name for column, _ in table.indexes.values()]
        candidates = [c for c in table.primary_key if c.name not in indexed]
        if not candidates:
            return None
        column = self.random.choice(candidates)
        old, column.name = column.name, f"r{self.altered}"
        return f"ALTER TABLE {table.name} RENAME {old} TO {column.name}"

    def alter_type(self, table):
        return f"ALTER TYPE u0 ADD y{self.altered} int"

    def alter_truncate(self, table):
        return f"TRUNCATE {table.name}"

    def alter_index(self, table):
        return self.maker.create_index(table, f"i{self.altered}_x")

    def alter_unindex(self, table):
        if not table.indexes:
            return None
        name = self.random.choice(list(table.indexes))
        del table.indexes[name]
        return f"DROP INDEX {name}"
