"""Random schemas: user types, and tables with keys and columns of all types, as the generator of statements knows them."""
import dataclasses

from values import NATIVE, collection, native, tuple_of, udt, vector

LEGACY_INDEX = "'legacy_local_table'"
KEY_NATIVES = [name for name in NATIVE if name not in ("counter", "duration")]
NAMES = ['"Mixed Case"', '"select"', '"é"', "ttl", "json", '"a""b"', "key", "values", "type"]
COMPACTIONS = ["compaction = {'class': 'SizeTieredCompactionStrategy'}", "compaction = {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 10}",
               "compaction = {'class': 'UnifiedCompactionStrategy', 'scaling_parameters': 'T4'}"]
OPTIONS = ["comment = 'it''s'", "gc_grace_seconds = 100000", "default_time_to_live = 100", "speculative_retry = '99p'", "caching = {'keys': 'NONE', 'rows_per_partition': '10'}",
           "compression = {'class': 'LZ4Compressor', 'chunk_length_in_kb': 4}", "compression = {'enabled': false}", "crc_check_chance = 0.5", "bloom_filter_fp_chance = 0.1",
           "min_index_interval = 64", "memtable_flush_period_in_ms = 0", "additional_write_policy = '50ms'",
           "read_repair = 'NONE'"]


@dataclasses.dataclass
class Column:
    name: str  # as it is written
    type: object
    kind: str  # partition, clustering, static or regular
    descending: bool = False


@dataclasses.dataclass
class Table:
    name: str
    columns: list
    counter: bool = False
    compact: bool = False
    indexes: dict = dataclasses.field(default_factory=dict)  # name of index: (column, target function or None)

    def of(self, *kinds):
        return [c for c in self.columns if c.kind in kinds]

    @property
    def partition(self):
        return self.of("partition")

    @property
    def clustering(self):
        return self.of("clustering")

    @property
    def primary_key(self):
        return self.of("partition", "clustering")

    @property
    def values(self):
        return self.of("static", "regular")


class SchemaMaker:
    """`types` are the user types that exist: name to (field names, field types)."""

    def __init__(self, random):
        self.random = random
        self.types = {}

    def chance(self, p):
        return self.random.random() < p

    def native(self, key=False):
        names = KEY_NATIVES if key else [name for name in NATIVE if name != "counter"]
        return native(self.random.choice(["int", "text", "int", "bigint"]) if self.chance(0.35) else self.random.choice(names))

    def frozen_type(self, depth, key=False):
        """A type that is one value: of keys and of elements of collections."""
        if depth == 0 or self.chance(0.6):
            return self.native(key)
        kind = self.random.choice(["list", "set", "map", "tuple", "udt", "vector"])
        if kind == "udt" and (not self.types or key and not any(self.fit_for_keys(t) for t in self.types)):
            kind = "tuple"
        if kind == "udt":
            return self.user_type(True, key)
        if kind == "tuple":
            return tuple_of(*(self.frozen_type(depth - 1, key) for _ in range(self.random.randint(1, 3))))
        if kind == "vector":
            return vector(native("float") if self.chance(0.6) else self.frozen_type(depth - 1, key), self.random.randint(1, 3))
        return self.collection(kind, depth, True, key)

    def fit_for_keys(self, name):
        return "duration" not in repr(self.types[name])

    def user_type(self, frozen, key=False):
        name = self.random.choice([t for t in self.types if not key or self.fit_for_keys(t)])
        fields, types = self.types[name]
        return udt(name, fields, types, frozen)

    def collection(self, kind, depth, frozen, key=False):
        first = self.frozen_type(depth - 1, key or kind != "list")  # elements of sets and keys of maps cannot be durations either
        arguments = (first, self.frozen_type(depth - 1, key)) if kind == "map" else (first,)
        return collection(kind, *arguments, frozen=frozen)

    def column_type(self):
        kind = self.random.choice(["native"] * 5 + ["list", "set", "map"] * 2 + ["udt", "frozen", "frozen"])
        if kind == "native":
            return self.native()
        if kind == "udt" and self.types:
            return self.user_type(False)
        if kind in ("list", "set", "map"):
            return self.collection(kind, 2, False)
        return self.frozen_type(2)

    def name(self, prefix, number, taken):
        if self.chance(0.08):
            name = self.random.choice(NAMES)
            if name not in taken:
                return name
        return f"{prefix}{number}"

    def create_type(self, name):
        fields = [f"f{i}" for i in range(self.random.randint(1, 3))]
        if self.chance(0.15):
            fields[0] = '"F x"'
        types = [self.frozen_type(1) for _ in fields]
        self.types[name] = (fields, types)
        return f"CREATE TYPE {name} (" + ", ".join(f"{f} {t.name}" for f, t in zip(fields, types)) + ")"

    def table(self, name):
        counter, compact = self.chance(0.12), self.chance(0.1)
        compact = compact and not counter  # of which a DELETE leaves to chance how increments go on
        columns = []

        def add(prefix, kind, count, make):
            for i in range(count):
                column = Column(self.name(prefix, i, [c.name for c in columns]), make(), kind)
                if column.type.multicell and not column.name.isascii():
                    column.name = f"{prefix}{i}"  # Cassandra takes it for a column of single cells, and loses what deletes its elements
                columns.append(column)

        add("p", "partition", self.random.choice([1, 1, 1, 2, 3]), lambda: self.frozen_type(1, True))
        add("c", "clustering", self.random.choice([0, 1, 1, 2, 2, 3]), lambda: self.frozen_type(1, True))
        value = (lambda: native("counter")) if counter else (lambda: self.frozen_type(2)) if compact else self.column_type
        has_clustering = any(c.kind == "clustering" for c in columns)
        if has_clustering and not compact and self.chance(0.5):
            add("s", "static", self.random.randint(1, 2), value)
        count = self.random.choice([1, 1, 1, 0]) if compact and has_clustering else self.random.randint(1, 2) if counter else self.random.choice([0, 1, 2, 3, 4, 5])
        add("v", "regular", count, value)
        for column in columns:
            column.descending = column.kind == "clustering" and self.chance(0.4)
        return Table(name, columns, counter, compact)

    def create_table(self, table):
        parts = [f"{c.name} {c.type.name}" + (" static" if c.kind == "static" else "") for c in table.columns]
        self.random.shuffle(parts)
        key = ", ".join(c.name for c in table.partition)
        clustering = "".join(", " + c.name for c in table.clustering)
        text = f"CREATE TABLE {table.name} ({', '.join(parts)}, PRIMARY KEY (({key}){clustering}))"
        options = [self.random.choice(COMPACTIONS)] if self.chance(0.3) else []
        if any(c.descending for c in table.clustering):
            options.append("CLUSTERING ORDER BY (" + ", ".join(f"{c.name} {'DESC' if c.descending else 'ASC'}" for c in table.clustering) + ")")
        if self.chance(0.3):
            options += [o for o in self.random.sample(OPTIONS, 2) if not (table.counter and o.startswith("default_time_to_live"))]
            options = [o for i, o in enumerate(options) if o.split(" ")[0] not in [other.split(" ")[0] for other in options[:i]]]
        if table.compact:
            options.insert(self.random.randint(0, len(options)), "COMPACT STORAGE")
        return text + (" WITH " + " AND ".join(options) if options else "")

    def index_target(self, table):
        """A column with the function of its index, or None: of a table that has nothing to index."""
        candidates = [c for c in table.columns if c.type.name != "counter" and "duration" not in c.type.name and not (c.kind == "partition" and len(table.partition) == 1)
                      and not (c.type.kind == "udt" and not c.type.frozen) and c.name not in [column.name for column, _ in table.indexes.values()] and c.type.kind != "vector"
                      and not any("duration" in repr(self.types[t]) for t in self.types if t in c.type.name)]
        if not candidates or table.counter:
            return None
        column = self.random.choice(candidates)
        if not column.type.is_collection:
            return column, None
        if column.type.frozen:
            return column, "full"
        return column, self.random.choice(["values", "keys", "entries"] if column.type.kind == "map" else ["values", None])

    def create_index(self, table, name):
        target = self.index_target(table)
        if target is None:
            return None
        column, function = target
        table.indexes[name] = target
        written = f"{function}({column.name})" if function else column.name
        return f"CREATE INDEX {name} ON {table.name} ({written}) USING {LEGACY_INDEX}"
