"""A keyspace of random tables, a few with each compressor, and the random writes that fill them: a function of a seed alone."""
import asyncio
import pathlib
import random
import sys

SUITES = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(SUITES / "differential"), str(SUITES.parent / "sstable")]
from protocol import Connection, Options  # noqa: E402
from schema import SchemaMaker  # noqa: E402
from shapes import WIDE, fill_many, fill_wide  # noqa: E402
from values import Values  # noqa: E402
from writes import NOW, Writes  # noqa: E402

KEYSPACE = "generated"
COMPRESSIONS = [
    "{'enabled': 'false'}",
    "{'class': 'LZ4Compressor', 'chunk_length_in_kb': 4}",
    "{'class': 'LZ4Compressor', 'lz4_compressor_type': 'high', 'lz4_high_compressor_level': 12, 'chunk_length_in_kb': 64}",
    "{'class': 'LZ4Compressor', 'min_compress_ratio': 1.5}",
    "{'class': 'SnappyCompressor', 'chunk_length_in_kb': 8}",
    "{'class': 'DeflateCompressor', 'chunk_length_in_kb': 32}",
    "{'class': 'ZstdCompressor', 'compression_level': 7, 'chunk_length_in_kb': 4}",
    "{'class': 'NoopCompressor', 'chunk_length_in_kb': 16}",
]
TABLES_OF_EACH = 2
PARTS, STATEMENTS = 3, 60  # a flush is between two parts, and each has so many statements for each table
# The clock of the requests, in seconds. Tombstones and cells with a TTL stay for years to come, or may be purged at once.
CLOCKS = {"to come": NOW, "past": 1_600_000_000}


# Cassandra's sstabledump ends at a tuple without its last elements, and at a row with COMPACT STORAGE without its last clusterings.
Values.short_tuples = 0


class WholeRows(Writes):
    def clustering(self, table):
        return table.clustering


class Table:
    """`written` is its part of the statements: a list of Statement for each part."""

    def __init__(self, draw, maker, number):
        self.table = maker.table(f"t{number}")
        self.name, self.create = self.table.name, maker.create_table(self.table)
        clock = draw.choice(list(CLOCKS))
        # Cassandra's sstabledump deletes Summary.db of a table with another min_index_interval than 128.
        self.alter = (f"ALTER TABLE {self.name} WITH compression = {COMPRESSIONS[number % len(COMPRESSIONS)]} AND default_time_to_live = 0 "
                      f"AND min_index_interval = 128 AND gc_grace_seconds = {draw.choice([0, 864000])}")
        writes = WholeRows(draw, [self.table])
        self.written = [[self.at(clock, writes.statement(self.table)) for _ in range(STATEMENTS)] for _ in range(PARTS)]

    @staticmethod
    def at(clock, statement):
        statement.options.now += CLOCKS[clock] - NOW
        return statement

    def select(self):
        """All cells, and what is known of those that are one."""
        single = [c.name for c in self.table.values if not c.type.multicell and not self.table.counter]
        return f"SELECT {', '.join([c.name for c in self.table.columns] + [f'{what}({name})' for name in single for what in ('writetime', 'ttl')])} FROM {self.name}"


class Generated:
    def __init__(self, seed, rows):
        draw = random.Random(seed)
        maker = SchemaMaker(draw)
        self.types = [maker.create_type(f"u{i}") for i in range(3)]
        self.tables = [Table(draw, maker, i) for i in range(TABLES_OF_EACH * len(COMPRESSIONS))]
        self.rows, self.compressions = rows, draw.sample(COMPRESSIONS, 2)
        self.names = sorted([*(table.name for table in self.tables), "wide", "many"])
        self.answered = {}  # kind of answer: how many

    async def create(self, address):
        connection = await Connection.open(address)
        for text in (f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}", f"USE {KEYSPACE}", *self.types,
                     *(text for table in self.tables for text in (table.create, table.alter)),
                     f"CREATE TABLE wide ({WIDE}) WITH CLUSTERING ORDER BY (a ASC, b DESC) AND compression = {self.compressions[0]}",
                     f"CREATE TABLE many (id text PRIMARY KEY, v int) WITH compression = {self.compressions[1]}"):
            answer = await connection.query(text)
            assert answer.kind in ("schema_change", "set_keyspace"), (text, answer.error)
        connection.close()

    async def fill(self, address, part):
        await asyncio.gather(*(self.fill_table(address, table, part) for table in self.tables), self.fill_large(address, part))

    async def fill_table(self, address, table, part):
        connection = await Connection.open(address)
        await connection.query(f"USE {KEYSPACE}")
        for statement in table.written[part]:
            if statement.mode == "query":
                answer = await connection.query(statement.text, statement.options)
            else:
                prepared = await connection.prepare(statement.text)
                answer = prepared if prepared.kind == "error" else await connection.execute(prepared, statement.options)
            self.answered[answer.kind] = self.answered.get(answer.kind, 0) + 1
        connection.close()

    async def fill_large(self, address, part):
        """All but a hundredth of the rows come last: they are in SSTables of memtables that were full, or in the commit log alone."""
        if part in (0, PARTS - 1):
            rows = self.rows // 100 if part == 0 else self.rows
            await asyncio.gather(asyncio.to_thread(fill_with_driver, address, "wide", fill_wide(rows)),
                                 asyncio.to_thread(fill_with_driver, address, "many", fill_many(rows)))

    async def answers(self, address):
        """All that reads of each table answer: columns and rows, with write times and TTLs."""
        connection, found = await Connection.open(address), {}
        await connection.query(f"USE {KEYSPACE}")
        for name, text in [*((table.name, table.select()) for table in self.tables), ("many", "SELECT id, v, writetime(v), ttl(v) FROM many"),
                           ("wide", "SELECT p, a, b, s, v, writetime(s), writetime(v), ttl(v) FROM wide")]:
            answer = await connection.query(text, Options(now=NOW + 20))
            assert answer.kind == "rows" and answer.paging_state is None, (text, answer.error)
            found[name] = (answer.columns, answer.rows)
        connection.close()
        return found


def fill_with_driver(address, table, fill):
    from cassandra.cluster import Cluster
    from shapes import Filler
    cluster = Cluster([address])
    filler = Filler(cluster.connect(KEYSPACE))
    fill(filler.run, table)
    filler.drain()
    cluster.shutdown()
