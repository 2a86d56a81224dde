"""Random SELECT statements."""
from protocol import UNSET
from statement import Statement, Writer
from values import NUMERIC, frozen, native, sized
from writes import NOW

AGGREGATES = ["count({0})", "min({0})", "max({0})"]
TEMPORAL = {"timeuuid": ["to_timestamp({0})", "to_date({0})", "to_unix_timestamp({0})"], "timestamp": ["to_date({0})", "to_unix_timestamp({0})"], "date": ["to_timestamp({0})"]}
COLLECTION = {"list": ["collection_count({0})", "collection_min({0})", "collection_max({0})", "collection_sum({0})", "collection_avg({0})"], "set": ["collection_count({0})", "collection_max({0})"], "map": ["map_keys({0})", "map_values({0})", "collection_count({0})"]}
CASTS = {"text": ["text", "ascii"], "ascii": ["text"], "boolean": ["text"], "timestamp": ["date", "text"], "date": ["timestamp", "text"], "timeuuid": ["timestamp", "date", "text"],
         "time": ["text"], "uuid": ["text"], "inet": ["text"], "blob": ["text"]}
MASKS = ["mask_null({0})", "mask_default({0})", "mask_inner({0}, 1, 1)", "mask_outer({0}, 1, 1, '#')", "mask_hash({0})"]
BLOBS = ["int", "text", "bigint", "boolean", "double", "uuid", "timestamp", "varint", "decimal", "inet"]
COMPARISONS = ["=", "<", "<=", ">", ">="]


class Queries:
    def __init__(self, random, tables):
        self.random, self.tables = random, tables

    def chance(self, p):
        return self.random.random() < p

    def statement(self, table, chaos=0.0):
        binding = self.random.choice([0, 0, 0.5, 1])
        w = Writer(self.random, binding, bool(binding) and self.chance(0.3), chaos)
        text = self.select(w, table)
        pages = [None, None, 1, 2, 3, 5, 100]
        if "GROUP BY" in text and not table.clustering:
            pages = [None]  # Cassandra does not read its own paging states then, and does not end a page in time
        options = w.options(now=NOW + self.random.choice([0, 3, 8, 20, 200]), page_size=self.random.choice(pages))
        return Statement("read", text, options, "prepare" if self.chance(0.3 if w.values else 0.1) else "query", table.name)

    def select(self, w, table):
        distinct = self.chance(0.06)
        group = [] if distinct or not self.chance(0.1) else self.grouping(table)
        selection = self.distinct_selection(table) if distinct else self.grouped_selection(w, table) if group else self.selection(w, table)
        if w.chaos and self.chance(0.1):
            selection = self.random.choice(["nope", "*, p0", "count(nope)", "sum(*)", "count(*), *", "unknown(1)", "ttl(p0)", "writetime(*)", "1", "(int)1", "p0.x", "v0[0]", "v0.f0", "v0['a'..]", "token(p0)",
                                            "cast(v0 as uuid)", "v0 + 1", "-v0", "avg(v0)", "DISTINCT", "DISTINCT *", "DISTINCT v0", "JSONX", "a b c", "count(1)", "system.count(*)", "'a'", "?", "token(v0)", "[v0]", "{v0}"])
        relations, filtering, keyed = self.relations(w, table, distinct)
        text = f"SELECT {'JSON ' if self.chance(0.07) else ''}{selection} FROM {table.name}" + (" WHERE " + " AND ".join(relations) if relations else "")
        if group:
            text += " GROUP BY " + ", ".join(group)
        if keyed and self.chance(0.25) or w.chaos and self.chance(0.1):
            text += self.order_by(w, table)
        if self.chance(0.08):
            text += f" PER PARTITION LIMIT {self.limit(w)}"
        if self.chance(0.2):
            text += f" LIMIT {self.limit(w)}"
        return text + (" ALLOW FILTERING" if filtering else "")

    def limit(self, w):
        if w.chaos and self.chance(0.2):
            return self.random.choice(["0", "-1", "'a'", "1.5", "null", "9999999999", "(1)", "?"])
        return w.value(w.pool.of(native("int"))._replace(literal=None)) if w.binding and w.chaos and self.chance(0.3) else self.random.choice(["1", "2", "3", "10", "100"])

    # --- SELECT clause ---

    def distinct_selection(self, table):
        columns = [c.name for c in table.partition + (table.of("static") if self.chance(0.5) else [])]
        if self.chance(0.1):
            columns = columns[1:] or [self.random.choice(table.columns).name]
        return "DISTINCT " + ", ".join(columns)

    def selection(self, w, table):
        how = self.random.random()
        if how < 0.35:
            return "*"
        if how < 0.6:
            return ", ".join(c.name for c in self.random.sample(table.columns, self.random.randint(1, len(table.columns))))
        if how < 0.66:
            return self.random.choice(["count(*)", "count(1)", "COUNT(*) AS n"])
        if how < 0.74:
            return ", ".join(self.aggregate(self.random.choice(table.columns)) for _ in range(self.random.randint(1, 2)))
        items = [self.item(w, table) for _ in range(self.random.randint(1, 3))]
        return ", ".join(item + (f" AS a{i}" if self.chance(0.15) else "") for i, item in enumerate(items))

    def grouping(self, table):
        """Columns of GROUP BY: a beginning of the primary key, mostly."""
        columns = table.primary_key
        count = len(table.partition) if not table.clustering or self.chance(0.3) else self.random.randint(len(table.partition), len(columns))
        found = [c.name for c in columns[:count]]
        last = columns[count - 1]
        if last.kind == "clustering" and last.type.name in ("timestamp", "date", "time", "timeuuid") and self.chance(0.6):
            found[-1] = f"floor({last.name}, {self.random.choice(['1d', '1h', '1mo', '2y', '7d', '90m', '1ns'])})"
        elif last.kind == "clustering" and self.chance(0.1):
            how = {"timestamp": "to_date", "timeuuid": "to_date", "date": "to_timestamp"}.get(last.type.name, "abs" if last.type.name in NUMERIC else "mask_default")
            found[-1] = self.random.choice([f"{how}({last.name})", f"to_unix_timestamp({last.name})"] if how.startswith("to_") else [f"{how}({last.name})"])
        if self.chance(0.08):
            self.random.choice([lambda: found.reverse(), lambda: found.append(self.random.choice(table.columns).name), lambda: found.pop(0)])()
        return found

    def grouped_selection(self, w, table):
        if self.chance(0.15):
            return "*"
        items = [self.random.choice(table.primary_key).name] if self.chance(0.6) else []
        items += [self.random.choice(["count(*)", self.aggregate(self.random.choice(table.columns))]) for _ in range(self.random.randint(1, 2))]
        return ", ".join(items + ([self.item(w, table)] if self.chance(0.3) else []))

    def aggregate(self, column):
        numeric = column.type.name in NUMERIC + ("counter",)
        return self.random.choice(AGGREGATES + (["sum({0})", "avg({0})"] if numeric else [])).format(column.name)

    def item(self, w, table):
        column = self.random.choice(table.columns)
        type, name = column.type, column.name
        choices = [name, f"to_json({name})"]
        if column.kind in ("static", "regular"):
            if not table.counter:  # whose timestamps are those of the nodes
                choices += [f"writetime({name})", f"ttl({name})", f"maxwritetime({name})"]
        else:
            choices.append(f"token({', '.join(c.name for c in table.partition)})")
        choices += self.typed_items(w, type, name, column.descending)
        return self.literal(w, table, column) if self.chance(0.1) else self.random.choice(choices)

    def literal(self, w, table, column):
        """A list, set, map, tuple or user type of a column and of literals, as what it is of by itself or by a hint."""
        type, name = column.type, column.name
        other = self.random.choice([name, self.random.choice(table.columns).name, w.pool.of(type).literal, "null" if w.chaos else name])
        map_of = [c for c in table.columns if c.type.kind == "map" and not c.descending]
        udt_of = [c for c in table.columns if c.type.kind == "udt"]
        choices = [f"{{{name}}}", f"{{{name}, {other}}}", f"[{{{name}}}, {{{other}}}]", f"({name}, {{{other}}})", f"{{({name}, {other})}}", f"to_json({{{other}, {name}}})",
                   f"{{{name}: {other}}}", f"(set<{frozen(type).name}>){{{other}}}", f"(map<int, {frozen(type).name}>){{1: {name}, 2: {other}}}", f"(list<{frozen(type).name}>)[{name}, {other}]",
                   f"collection_count({{{name}, {other}}})", f"(set<{frozen(type).name}>){{}}", f"(map<text, int>){{'a': {other}, 'b': 1}}", f"{{max({name})}}"]
        if map_of:
            choices.append(f"({frozen(self.random.choice(map_of).type).name}){self.random.choice(['{}', f'{{{name}: {other}}}', w.pool.of(self.random.choice(map_of).type).literal])}")
        if udt_of:
            udt = self.random.choice(udt_of).type
            fields = ", ".join(f"{f}: {self.random.choice([name, w.pool.of(t).literal, w.pool.of(t).literal])}" for f, t in zip(udt.fields, udt.arguments))
            choices += [f"({udt.name}){{{fields}}}", f"({udt.name}){{{fields}}}", f"(({udt.name}){{{fields}}}).{udt.fields[0]}", f"({udt.name}){{nope: {other}}}", f"[({udt.name}){{{fields}}}]",
                        f"({udt.name}){{{fields}, {udt.fields[0]}: {w.pool.of(udt.arguments[0]).literal}}}"]
        return self.random.choice(choices)

    def typed_items(self, w, type, name, descending):
        if type.kind == "udt":
            return [f"{name}.{self.random.choice(type.fields)}"] * 2 + ([f"cast({name} as text)"] if self.chance(0.1) else [])
        if type.is_collection and not descending:
            found = [pattern.format(name) for pattern in COLLECTION[type.kind]]
            if type.kind == "list" or len(w.values) > 100:
                return found
            key = type.arguments[0]
            return found + [self.element(w, name, key)]
        if type.kind == "vector":
            return [f"similarity_{self.random.choice(['cosine', 'euclidean', 'dot_product'])}({name}, {w.pool.of(type).literal})"]
        found = [pattern.format(name) for pattern in MASKS[:0 if type.name == "timeuuid" else 1 if type.kind != "native" or descending else 2]]
        if type.name in NUMERIC:
            other = self.random.choice(["1", "2", "-3", name])
            found += [f"{name} {self.random.choice('+-*/%')} {other}", f"-{name}", f"{self.random.choice(['abs', 'abs', 'round', 'exp', 'log', 'log10'])}({name})", f"cast({name} as {self.random.choice(NUMERIC + ('text',))})"]
            found += [f"cast({name} as varchar)"] if self.chance(0.1) else []
        if type.name in CASTS:
            found.append(f"cast({name} as {self.random.choice(CASTS[type.name])})")
        if type.name in BLOBS:
            found.append(f"{type.name}_as_blob({name})")
        if type.name == "text":
            found += [pattern.format(name) for pattern in MASKS]
        return found + [pattern.format(name) for pattern in TEMPORAL.get(type.name, [])]

    def element(self, w, name, key):
        """An element of a set or map, or a slice."""
        first, second = (w.pool.of(key).literal for _ in range(2))
        if w.chaos and self.chance(0.1):
            first = "null"
        return self.random.choice([f"{name}[{first}]", f"{name}[{first}..]", f"{name}[..{first}]", f"{name}[{first}..{second}]"])

    # --- WHERE ---

    def relations(self, w, table, distinct):
        """The relations, whether ALLOW FILTERING is said, and whether partition keys are given."""
        how = self.random.random()
        if table.indexes and how < 0.25:
            return self.by_index(w, table)
        if how < 0.6:
            relations = [f"{c.name} = {w.term(c.type, True)}" for c in table.partition]
            if self.chance(0.15):
                column = table.partition[-1]
                if not w.values or len(table.partition) == 1:
                    w.values, w.names = [], []
                    relations = [f"{c.name} = {w.term(c.type, True)}" for c in table.partition[:-1]]
                    relations.append(f"{column.name} IN {w.list_of(column.type, self.random.randint(1, 3))}")
            if table.clustering and not distinct and self.chance(0.7):
                relations += self.clusterings(w, table)
            return self.spoilt(w, table, relations), self.chance(0.05), True
        if how < 0.7:
            return self.tokens(w, table), self.chance(0.05), False
        if how < 0.85 or distinct:
            return [], self.chance(0.1), False
        return self.filters(w, table), self.chance(0.9), False

    def spoilt(self, w, table, relations):
        if w.chaos and self.chance(0.3) and relations:
            column = self.random.choice(table.columns)
            extra = self.random.choice([f"{column.name} = {w.term(column.type)}", "nope = 1", f"{column.name} != {w.term(column.type)}", f"{column.name} IN ({w.term(column.type)})",
                                        f"{column.name} LIKE 'a%'", f"{column.name} CONTAINS {w.term(column.type)}", f"{column.name} IS NOT NULL", f"token({column.name}) > 1",
                                        f"token({', '.join(c.name for c in [*table.partition, column])}) > 1", f"token({table.partition[0].name}) != 5",
                                        f"{column.name} CONTAINS KEY {w.term(column.type)}", f"{column.name}['a'] = 1", f"({column.name}, nope) > (1, 2)", f"({column.name}) IN ((1), (2))"])
            relations = relations[:-1] if self.chance(0.3) else relations
            return [extra, *relations] if not w.values and self.chance(0.3) else [*relations, extra]
        return relations

    def clusterings(self, w, table):
        columns = table.clustering
        count = self.random.randint(0, len(columns))
        relations = [f"{c.name} {'IN ' + w.list_of(c.type, 2) if self.chance(0.1) else '= ' + w.term(c.type, True)}" for c in columns[:count]]
        if count == len(columns):
            return relations
        column, how = columns[count], self.random.randrange(5)
        if how == 0:
            relations.append(f"{column.name} {self.random.choice(COMPARISONS)} {w.term(column.type, True)}")
        elif how == 1:
            relations += [f"{column.name} {self.random.choice(['>', '>='])} {w.term(column.type, True)}", f"{column.name} {self.random.choice(['<', '<='])} {w.term(column.type, True)}"]
        elif how == 2:
            relations.append(f"{column.name} IN {w.list_of(column.type, self.random.randint(0, 3))}")
        elif how >= 3:
            relations += self.tuples(w, columns[count:])
        return relations

    def tuples(self, w, columns):
        def tuple_of(columns):
            if w.binding and self.chance(0.3):
                return w.bind(UNSET if w.chaos and self.chance(0.2) else b"".join(sized(w.pool.of(c.type, True).data) for c in columns))
            return "(" + ", ".join(w.term(c.type, True) for c in columns) + ")"

        def names(columns):
            return "(" + ", ".join(c.name for c in columns) + ")"

        if w.binding and self.chance(0.1):
            tuples = [b"".join(sized(w.pool.of(c.type, True).data) for c in columns) for _ in range(2)]
            odd = w.chaos and self.chance(0.2)
            return [f"{names(columns)} IN {w.bind(self.random.choice([UNSET, None]) if odd else (2).to_bytes(4, 'big') + b''.join(map(sized, tuples)))}"]
        if self.chance(0.3):
            return [f"{names(columns)} IN ({', '.join(tuple_of(columns) for _ in range(2))})"]
        some = columns[:self.random.randint(1, len(columns))]
        if self.chance(0.2):
            return [f"{names(some)} = {tuple_of(some)}"]
        found = [f"{names(some)} {self.random.choice(['>', '>='])} {tuple_of(some)}"]
        if self.chance(0.5):
            others = columns[:self.random.randint(1, len(columns))]
            found.append(f"{names(others)} {self.random.choice(['<', '<='])} {tuple_of(others)}")
        return found

    def tokens(self, w, table):
        left = f"token({', '.join(c.name for c in table.partition)})"

        def right():
            if self.chance(0.5):
                return self.random.choice(["0", "9223372036854775807", "3074457345618258602", "-3074457345618258602"])
            return f"token({', '.join(w.term(c.type, True) for c in table.partition)})"

        found = [f"{left} {self.random.choice(['>', '>=', '<', '<='])} {right()}"]
        if self.chance(0.4):
            found = [f"{left} {self.random.choice(['>', '>='])} {right()}", f"{left} {self.random.choice(['<', '<='])} {right()}"]
        return found

    def filters(self, w, table):
        found = []
        for column in self.random.sample(table.columns, min(len(table.columns), self.random.choice([1, 1, 2]))):
            type = column.type
            if type.is_collection and not column.descending and self.chance(0.7):
                contained = type.arguments[-1]
                how = self.random.choice(["CONTAINS", "CONTAINS KEY", "element"]) if type.kind == "map" else "CONTAINS"
                if how == "element":
                    found.append(f"{column.name}[{w.term(type.arguments[0])}] = {w.term(contained)}")
                else:
                    found.append(f"{column.name} {how} {w.term(type.arguments[0] if how == 'CONTAINS KEY' else contained)}")
            elif self.chance(0.1):
                found.append(f"{column.name} IN {w.list_of(type, 2)}")
            else:
                found.append(f"{column.name} {self.random.choice(COMPARISONS + ['=', '='])} {w.term(type, column.kind in ('partition', 'clustering'))}")
        return found

    def by_index(self, w, table):
        column, function = self.random.choice(list(table.indexes.values()))
        type = column.type
        if type.is_collection and function != "full":
            if function == "keys":
                relation = f"{column.name} CONTAINS KEY {w.term(type.arguments[0])}"
            elif function == "entries":
                relation = f"{column.name}[{w.term(type.arguments[0])}] = {w.term(type.arguments[1])}"
            else:
                relation = f"{column.name} CONTAINS {w.term(type.arguments[-1])}"
        else:
            relation = f"{column.name} {'=' if self.chance(0.9) else '>'} {w.term(type, column.kind != 'regular')}"
        relations = [relation]
        if self.chance(0.25):
            relations += [f"{c.name} = {w.term(c.type, True)}" for c in table.partition if c is not column]
        elif self.chance(0.2):
            relations += self.filters(w, table)
        elif self.chance(0.2):
            relations += self.tokens(w, table)
        return relations, self.chance(0.3), False

    # --- ORDER BY ---

    def order_by(self, w, table):
        columns = table.clustering[:self.random.randint(1, len(table.clustering))] if table.clustering else []
        if w.chaos and self.chance(0.3):
            columns = [self.random.choice(table.columns)]
        if not columns:
            return ""
        if self.chance(0.05):
            columns = [*columns, self.random.choice(columns)]
        opposite = self.chance(0.6)
        parts = []
        for column in columns:
            descending = column.descending != opposite
            if self.chance(0.05):
                descending = not descending
            parts.append(f"{column.name} {'DESC' if descending else self.random.choice(['ASC', ''])}".strip())
        return " ORDER BY " + ", ".join(parts)
