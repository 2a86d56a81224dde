"""Random statements that change data: INSERT, UPDATE, DELETE, BATCH and TRUNCATE."""
from json_values import Json
from protocol import UNSET
from statement import Statement, Writer
from values import native

TIMESTAMP = 1_700_000_000_000_000  # all data is written around it, so that older and newer meet, and equal ones
NOW = 1_900_000_000  # seconds; what expires does so by this clock alone
TTLS = [1, 5, 10, 100, 100000, 0]


class Writes:
    def __init__(self, random, tables):
        self.random, self.tables = random, tables

    def chance(self, p):
        return self.random.random() < p

    def timestamp(self):
        return TIMESTAMP + self.random.choice([0, 1, 2, 3, 5, 8, 10, 20, self.random.randint(0, 1000)])

    def now(self):
        return NOW + self.random.choice([0, 0, 1, 4, 9])

    def writer(self, chaos):
        binding = self.random.choice([0, 0, 0.5, 1])
        return Writer(self.random, binding, bool(binding) and self.chance(0.3), chaos)

    def statement(self, table, chaos=0.0):
        make = self.random.choice([self.insert] * 4 + [self.update] * 4 + [self.delete] * 3)
        w = self.writer(chaos)
        text = make(w, table)
        timestamp = None if table.counter else self.timestamp()
        options = w.options(timestamp=timestamp, now=self.now())
        prepared = self.chance(0.3 if w.values else 0.05)
        return Statement("write", text, options, "prepare" if prepared else "query", table.name)

    # --- The parts ---

    def using(self, table, ttl=True, w=None):
        """Bound are only TTLs that do not pass: what expires is known by the texts."""
        parts = []
        if w and w.binding and not table.counter and self.chance(0.08):
            return f" USING {self.random.choice(['TTL', 'TTL', 'TIMESTAMP'])} {w.bind(UNSET)}" if self.chance(0.3) else f" USING TTL {w.bind(self.random.choice([bytes(4), b'', (100000).to_bytes(4, 'big')]))}"
        allowed = not table.counter or self.chance(0.02)
        if allowed and self.chance(0.25):
            parts.append(f"TIMESTAMP {self.timestamp()}")
        if allowed and ttl and self.chance(0.2):
            parts.append(f"TTL {self.random.choice(TTLS)}")
        self.random.shuffle(parts)
        return " USING " + " AND ".join(parts) if parts else ""

    def key(self, w, columns):
        """Equality with each of the columns, as a list of relations. With chaos one may be missing, twice or of another kind."""
        relations = [f"{c.name} = {w.term(c.type, True)}" for c in columns]
        if w.chaos and self.chance(0.2) and relations:
            at = self.random.randrange(len(relations))
            column = columns[at]
            relations[at:at + 1] = self.random.choice([[], [relations[at]] * 2, [f"{column.name} > {self.literal(column)}"], [f"{column.name} != {self.literal(column)}"], ["nope = 1"],
                                                       [relations[at], f"{column.name} < {self.literal(column)}"], [f"token({column.name}) = 1"], [f"{column.name} CONTAINS 1"],
                                                       [f"({column.name}) = ({self.literal(column)})"], [f"{column.name} IS NOT NULL"], [f"{column.name} LIKE 'a'"]])
        return relations

    def clustering(self, table):
        """Of a row. With COMPACT STORAGE it may lack the last ones."""
        return table.clustering[:self.random.randint(1, len(table.clustering))] if table.compact and table.clustering and self.chance(0.15) else table.clustering

    def literal(self, column):
        return Writer(self.random).pool.of(column.type, True).literal

    def where(self, relations):
        return " WHERE " + " AND ".join(relations) if relations else ""

    # --- INSERT ---

    def insert(self, w, table):
        if table.counter and not w.chaos and self.chance(0.95):
            return self.update(w, table)
        columns = list(table.partition)
        only_static = any(c.kind == "static" for c in table.columns) and self.chance(0.1)
        if not only_static:
            columns += self.clustering(table)
        columns += [c for c in table.of("static") if self.chance(0.4)]
        if not only_static:
            columns += [c for c in table.of("regular") if self.chance(0.6)]
        if self.chance(0.2):
            self.random.shuffle(columns)
        if w.chaos and self.chance(0.2):
            at = self.random.randrange(len(columns))
            columns[at:at + 1] = self.random.choice([[], [columns[at]] * 2])
        if self.chance(0.06):
            return self.insert_json(w, table, columns)
        names = [c.name for c in columns]
        terms = [w.term(c.type, c.kind in ("partition", "clustering"), 0.0 if c.kind in ("partition", "clustering") else 0.12) for c in columns]
        if w.chaos and self.chance(0.1):
            names.append(self.random.choice(["nope", "p0"]))
            if self.chance(0.7):
                terms.append("1")
        return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({', '.join(terms)}){self.using(table, w=w)}"

    def insert_json(self, w, table, columns):
        json = Json(self.random, w.chaos)
        members = [(c.name, json.of(c.type, True) if c.kind in ("partition", "clustering") else json.maybe_null(c.type, False)) for c in columns]
        if w.chaos and self.chance(0.2):
            members.append((self.random.choice(["nope", "P0", '"P0"']), "1"))
        default = self.random.choice(["", "", " DEFAULT UNSET", " DEFAULT NULL"])
        return f"INSERT INTO {table.name} JSON {w.value(json.value(json.object(members)))}{default}{self.using(table, w=w)}"

    # --- UPDATE ---

    def assignment(self, w, column):
        type = column.type
        if type.name == "counter":
            value = w.value(w.pool.of(native("bigint"), True)) if not w.chaos else w.term(native("bigint"), True)
            return f"{column.name} = {column.name} {self.random.choice('+-')} {value}" if self.chance(0.6) else f"{column.name} += {value}"
        if not type.multicell or self.chance(0.3):
            if w.chaos and self.chance(0.1):
                return self.random.choice([f"{column.name} = {column.name} + {w.term(type)}", f"{column.name}[0] = {w.term(type)}", f"{column.name}.f0 = 1", f"{column.name} -= {w.term(type)}"])
            return f"{column.name} = {w.term(type, nulls=0.15)}"
        return getattr(self, "assign_" + type.kind)(w, column)

    def assign_list(self, w, column):
        how = self.random.choice(["+", "+", "-", "prepend", "element", "+="])
        if how == "prepend":
            return f"{column.name} = {w.term(column.type)} + {column.name}"
        if how == "element":
            return f"{column.name}[{w.term(native('int'), True)}] = {w.term(column.type.arguments[0], nulls=0.2)}"
        return f"{column.name} += {w.term(column.type)}" if how == "+=" else f"{column.name} = {column.name} {how} {w.term(column.type)}"

    def assign_set(self, w, column):
        return f"{column.name} = {column.name} {self.random.choice('+-')} {w.term(column.type)}"

    def assign_map(self, w, column):
        if self.chance(0.4):
            return f"{column.name}[{w.term(column.type.arguments[0])}] = {w.term(column.type.arguments[1], nulls=0.2)}"
        if self.chance(0.4):
            keys = [w.term(column.type.arguments[0]) for _ in range(2)]
            return f"{column.name} = {column.name} - {{{', '.join(keys)}}}"
        return f"{column.name} = {column.name} + {w.term(column.type)}"

    def assign_udt(self, w, column):
        field = self.random.randrange(len(column.type.fields))
        return f"{column.name}.{column.type.fields[field]} = {w.term(column.type.arguments[field], nulls=0.2)}"

    def update(self, w, table):
        statics, regulars = table.of("static"), table.of("regular")
        only_static = statics and (not regulars or self.chance(0.2))
        pool = statics if only_static else statics + regulars
        if not pool:
            return self.insert(w, table) if not table.counter else self.delete(w, table)
        columns = self.random.sample(pool, self.random.randint(1, min(3, len(pool))))
        using = self.using(table, w=w)
        if w.chaos and self.chance(0.1):
            columns += [self.random.choice(table.columns)]
        assignments = ", ".join(self.assignment(w, c) for c in columns)
        relations = self.key(w, table.partition + ([] if only_static else self.clustering(table)))
        if self.chance(0.08):
            at = self.random.randrange(len(table.partition))
            column = table.partition[at]
            if at == len(table.partition) - 1 and not w.values:
                relations[at:at + 1] = [f"{column.name} IN {w.list_of(column.type, 2)}"]
        if not w.values and self.chance(0.2):
            self.random.shuffle(relations)
        return f"UPDATE {table.name}{using} SET {assignments}{self.where(relations)}"

    # --- DELETE ---

    def deletion(self, w, column):
        if column.type.multicell and self.chance(0.5):
            if column.type.kind == "udt":
                return f"{column.name}.{self.random.choice(column.type.fields)}"
            index = native("int") if column.type.kind == "list" else column.type.arguments[0]
            return f"{column.name}[{w.term(index, True)}]"
        return column.name

    def slice(self, w, columns):
        """Restrictions of clusterings that leave a range of rows."""
        count = self.random.randrange(len(columns))
        relations = self.key(w, columns[:count])
        column = columns[count]
        how = self.random.randrange(5)
        if how == 0:
            relations.append(f"{column.name} {self.random.choice(['<', '<=', '>', '>='])} {w.term(column.type, True)}")
        elif how == 1:
            relations += [f"{column.name} {self.random.choice(['>', '>='])} {w.term(column.type, True)}", f"{column.name} {self.random.choice(['<', '<='])} {w.term(column.type, True)}"]
        elif how == 2:
            relations.append(f"{column.name} IN {w.list_of(column.type, self.random.randint(0, 2))}")
        elif how == 3 and count == 0:
            bound = [f"({', '.join(c.name for c in columns)}) {operator} ({', '.join(w.term(c.type, True) for c in columns)})" for operator in self.random.choice([[">"], ["<="], [">=", "<"]])]
            relations += bound
        return relations

    def delete(self, w, table):
        shapes = ["row", "row", "partition", "range", "range"]
        if not table.counter:  # a counter's tombstone wins over later increments or does not, depending on what was flushed
            shapes += ["columns", "columns", "static"]
        shape = self.random.choice(shapes)
        deletions, relations = "", None
        chosen = table.of("regular")
        if shape == "static" and table.of("static"):
            chosen = table.of("static")
        if shape in ("columns", "static") and chosen:
            columns = self.random.sample(chosen, self.random.randint(1, min(2, len(chosen))))
            if w.chaos and self.chance(0.2):
                columns.append(self.random.choice(table.columns))
            deletions = " " + ", ".join(self.deletion(w, c) for c in columns)
        using = self.using(table, ttl=False)
        if shape == "static" and deletions or shape == "partition":
            relations = self.key(w, table.partition)
        elif shape == "range" and table.clustering and not deletions:
            relations = self.key(w, table.partition) + self.slice(w, table.clustering)
        else:
            relations = self.key(w, table.primary_key)
        return f"DELETE{deletions} FROM {table.name}{using}{self.where(relations)}"

    # --- BATCH ---

    def batch(self, tables, chaos=0.0):
        """As one text, or as a BATCH request."""
        table = self.random.choice(tables)
        kind = "COUNTER" if table.counter else self.random.choice(["LOGGED", "UNLOGGED"])
        if chaos and self.chance(0.2):
            kind = self.random.choice(["LOGGED", "UNLOGGED", "COUNTER"])
        same = [t for t in tables if t.counter == table.counter]
        request, prepared = self.chance(0.5), self.chance(0.1)
        parts = []
        if prepared:
            return self.prepared_batch(table, same, kind, chaos)
        for _ in range(self.random.randint(0 if chaos else 1, 4)):
            w = Writer(self.random, self.random.choice([0, 0.5]) if request else 0, False, chaos)
            target = table if self.chance(0.7) else self.random.choice(same)
            parts.append((self.random.choice([self.insert, self.update, self.delete])(w, target), tuple(w.values)))
        timestamp = None if table.counter else self.timestamp()
        options = Writer(self.random).options(timestamp=timestamp, now=self.now())
        if request:
            return Statement("write", "", options, "batch", None, (kind, tuple(parts)))
        begin = "BEGIN " + ("" if kind == "LOGGED" else kind + " ") + "BATCH"
        if self.chance(0.2) and not table.counter:
            begin += f" USING TIMESTAMP {self.timestamp()}"
            parts = [(text, values) for text, values in parts if " TIMESTAMP " not in text or self.chance(0.2)]
        separator = self.random.choice(["; ", " "])
        return Statement("write", f"{begin} " + separator.join(text for text, _ in parts) + f"{separator}APPLY BATCH", options, table=None)

    def prepared_batch(self, table, same, kind, chaos):
        """As one text with markers. A timestamp of the whole is bound, but is that of the request."""
        w, timestamp = self.writer(chaos), None if table.counter else self.timestamp()
        head = f" USING TIMESTAMP {w.bind(timestamp.to_bytes(8, 'big'))}" if timestamp and self.chance(0.5) else ""
        parts = [self.random.choice([self.insert, self.update, self.delete])(w, self.random.choice([table, *same])) for _ in range(self.random.randint(1, 3))]
        begin = "BEGIN " + ("" if kind == "LOGGED" else kind + " ") + "BATCH"
        return Statement("write", f"{begin}{head} " + "; ".join(parts) + "; APPLY BATCH", w.options(timestamp=timestamp, now=self.now()), "prepare")
