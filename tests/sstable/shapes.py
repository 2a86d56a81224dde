"""Tables of many shapes and the statements that fill them, for tests that compare SSTables with Cassandra's."""

class Case:
    """A table and the statements that fill it; statements with a list of tuples are executed for each tuple."""
    def __init__(self, name, ddl, options="", before=(), fill=None, after=(), rewrite=False, dropped=(), large=False):
        self.name, self.ddl, self.options, self.before = name, ddl, options, before
        self.fill, self.after, self.rewrite, self.dropped, self.large = fill, after, rewrite, dropped, large


def fill_simple(run, t):
    for i in range(30):
        run(f"INSERT INTO {t} (id, v, w) VALUES ({i}, 'value {i}', {i * 7}) USING TIMESTAMP {1000000 + i}")
    for i in range(30, 40):
        run(f"UPDATE {t} USING TIMESTAMP {2000000 + i} SET v = 'no row marker {i}' WHERE id = {i}")
    for i in range(5):
        run(f"DELETE FROM {t} USING TIMESTAMP 3000000 WHERE id = {i}")
    for i in range(5, 10):
        run(f"DELETE v FROM {t} USING TIMESTAMP 3000000 WHERE id = {i}")
    for i in range(10, 15):
        run(f"UPDATE {t} USING TIMESTAMP 3000000 AND TTL 100000000 SET w = {-i} WHERE id = {i}")
    for i in range(50, 55):
        run(f"INSERT INTO {t} (id, v) VALUES ({i}, '') USING TIMESTAMP 3000000 AND TTL 200000000")
    run(f"INSERT INTO {t} (id, v, w) VALUES (60, null, null) USING TIMESTAMP 4000000")


def fill_types(run, t):
    for i in range(4):
        run(f"""INSERT INTO {t} (k1, k2, c1, c2, a, bi, bl, bo, da, de, do, du, fl, ine, i, si, te, ti, ts, tu, tin, u, va,
                fl_list, fl_map, fl_set, tup, udt_v, vec)
                VALUES ({i}, 'key {i}', {i}.5, null_c2, 'ascii', {2**40 + i}, 0x00ff{i:02x}, {i % 2 == 0}, '2020-02-0{i + 1}',
                {-i}.125, {i}e10, {i + 1}mo2d3h, 1.{i}, '10.0.0.{i}', {-i}, {i}, 'text é {i}', '0{i}:02:03.123456789',
                '2021-01-01 00:00:0{i}.123+0000', 50554d6e-29bb-11e5-b345-feff819cdc9f, {i},
                12345678-1234-4234-8234-12345678900{i}, {'9' * (30 + i)}, ['a', 'b'], {{1: [1, 2], 2: []}},
                {{1.5, 2.5}}, (1, 'x', null), {{street: 's', number: {i}, tags: {{'x', 'y'}}}}, [1.5, 2.5, {i}])
                USING TIMESTAMP {5000000 + i}""".replace("null_c2", f"0x{'00' * i}"))
    run(f"INSERT INTO {t} (k1, k2, c1, c2, bi) VALUES (-1, '', -1.5, 0x00ff00, 5) USING TIMESTAMP 6000000")
    run(f"UPDATE {t} USING TIMESTAMP 6000000 SET te = '' WHERE k1 = 0 AND k2 = 'key 0' AND c1 = 99 AND c2 = 0xffff")


def fill_collections(run, t):
    for p in range(3):
        run(f"UPDATE {t} USING TIMESTAMP {1000 + p} SET sm = {{'a': 1, 'b': 2}}, ss = 'static {p}' WHERE p = {p}")
        for c in range(4):
            run(f"""INSERT INTO {t} (p, c, m, s, l, u, x) VALUES ({p}, {c}, {{'k{c}': {c}, 'z': 9}}, {{{c}, {c + 1}}},
                    ['first', 'second'], {{street: 'a', number: {c}, tags: {{'t'}}}}, {c}) USING TIMESTAMP 2000""")
        run(f"UPDATE {t} USING TIMESTAMP 3000 SET m = m + {{'new': 5}}, s = s - {{1}}, l = l + ['third'] WHERE p = {p} AND c = 1")
        run(f"UPDATE {t} USING TIMESTAMP 3000 AND TTL 100000000 SET m['ttl'] = 6, u.number = 77 WHERE p = {p} AND c = 2")
        run(f"DELETE m['z'], u.street FROM {t} USING TIMESTAMP 4000 WHERE p = {p} AND c = 2")
        run(f"DELETE m, s, l FROM {t} USING TIMESTAMP 5000 WHERE p = {p} AND c = 3")
        run(f"DELETE FROM {t} USING TIMESTAMP 6000 WHERE p = {p} AND c = 0")
        run(f"UPDATE {t} USING TIMESTAMP 7000 SET m = {{'back': 1}} WHERE p = {p} AND c = 0")
    run(f"DELETE FROM {t} USING TIMESTAMP 9000 WHERE p = 9")
    run(f"UPDATE {t} USING TIMESTAMP 1000 SET ss = 'only static' WHERE p = 10")


def fill_wide(rows):
    def fill(run, t):
        n = 0
        for p, count in (("wide", rows), ("small", 5), ("middling", 150), ("deleted", 100)):
            run(f"UPDATE {t} USING TIMESTAMP 10 SET s = '{p} static' WHERE p = '{p}'")
            if p == "deleted":
                run(f"DELETE FROM {t} USING TIMESTAMP 5000 WHERE p = 'deleted'")
            for i in range(count):
                n += 1
                run(f"INSERT INTO {t} (p, a, b, v) VALUES (%s, %s, %s, %s) USING TIMESTAMP {10000 + n}",
                    (p, i // 10, f"b{i % 10}", f"some text for row {i} {'x' * (i % 50)}"), 1)
            # Ranges within rows, over whole prefixes, overlapping (boundaries), over several blocks, and open-ended.
            if count > 50:
                m = count // 10
                run(f"DELETE FROM {t} USING TIMESTAMP 100000000 WHERE p = '{p}' AND a = 3")
                run(f"DELETE FROM {t} USING TIMESTAMP 100000001 WHERE p = '{p}' AND a > {m // 4} AND a <= {m // 2}")
                run(f"DELETE FROM {t} USING TIMESTAMP 100000002 WHERE p = '{p}' AND a > {m // 3} AND a < {m // 3 + 4}")
                run(f"DELETE FROM {t} USING TIMESTAMP 50 WHERE p = '{p}' AND a >= {m // 2} AND a < {m - 5}")
                run(f"DELETE FROM {t} USING TIMESTAMP 100000003 WHERE p = '{p}' AND a = {m - 3} AND b > 'b2' AND b <= 'b5'")
                run(f"DELETE FROM {t} USING TIMESTAMP 100000004 WHERE p = '{p}' AND a > {m + 10}")
                run(f"DELETE FROM {t} USING TIMESTAMP 100000005 WHERE p = '{p}' AND a = {m - 6} AND b = 'b5'")
    return fill


def fill_counters(run, t):
    for p in range(3):
        for c in range(5):
            for n in range(c + 1):
                run(f"UPDATE {t} SET n = n + {n * 10 + p} WHERE p = {p} AND c = {c}")
        run(f"UPDATE {t} SET s = s - {p + 1} WHERE p = {p}")
    run(f"DELETE n FROM {t} WHERE p = 0 AND c = 0")
    run(f"DELETE FROM {t} WHERE p = 1 AND c = 1")


def fill_dropped(run, t):
    for i in range(20):
        run(f"INSERT INTO {t} (p, c, keep, gone, gone_set) VALUES ({i % 4}, {i}, {i}, 'text {i}', {{1, 2}}) USING TIMESTAMP {1000 + i}")
    for i in range(20, 25):
        run(f"UPDATE {t} USING TIMESTAMP {1000 + i} SET gone = 'nothing else' WHERE p = {i % 4} AND c = {i}")
    run(f"UPDATE {t} USING TIMESTAMP 1000 SET gone_static = 5 WHERE p = 0")


def fill_many(count):
    def fill(run, t):
        for i in range(count):
            run(f"INSERT INTO {t} (id, v) VALUES (%s, %s) USING TIMESTAMP 1000", (f"key-{i * 7919 % 100003}", i), 1)
    return fill


def fill_random(run, t):
    import random
    random.seed(5)
    for i in range(24):
        run(f"INSERT INTO {t} (id, v) VALUES (%s, %s) USING TIMESTAMP 1000", (i, random.randbytes(300 if i % 2 else 30)))
        run(f"INSERT INTO {t} (id, w) VALUES (%s, %s) USING TIMESTAMP 1000", (i, "compressible " * 40))


UDT = "CREATE TYPE IF NOT EXISTS address (street text, number int, tags frozen<set<text>>)"
WIDE = "p text, a int, b text, s text static, v text, PRIMARY KEY (p, a, b)"
RANDOM = "id int PRIMARY KEY, v blob, w text"
CASES = [
    Case("simple", "id int PRIMARY KEY, v text, w int", fill=fill_simple),
    Case("types", """k1 int, k2 text, c1 float, c2 blob, a ascii, bi bigint, bl blob, bo boolean, da date, de decimal,
         do double, du duration, fl float, ine inet, i int, si smallint, te text, ti time, ts timestamp, tu timeuuid,
         tin tinyint, u uuid, va varint, fl_list frozen<list<text>>, fl_map frozen<map<int, frozen<list<int>>>>,
         fl_set frozen<set<double>>, tup tuple<int, text, bigint>, udt_v frozen<address>, vec vector<float, 3>,
         PRIMARY KEY ((k1, k2), c1, c2)""", "CLUSTERING ORDER BY (c1 DESC, c2 ASC)", before=[UDT], fill=fill_types),
    Case("collections", """p int, c int, sm map<text, int> static, ss text static, m map<text, int>, s set<int>,
         l list<text>, u address, x int, PRIMARY KEY (p, c)""", before=[UDT], fill=fill_collections),
    Case("wide", WIDE, "CLUSTERING ORDER BY (a DESC, b ASC)", fill=fill_wide(800)),
    Case("counters", "p int, c int, n counter, s counter static, PRIMARY KEY (p, c)", fill=fill_counters),
    Case("dropped", """p int, c int, keep int, gone text, gone_set set<int>, gone_static int static,
         PRIMARY KEY (p, c)""", fill=fill_dropped,
         after=["ALTER TABLE {t} DROP gone", "ALTER TABLE {t} DROP gone_set", "ALTER TABLE {t} DROP gone_static"],
         dropped=["gone", "gone_set", "gone_static"]),
    Case("many", "id text PRIMARY KEY, v int", fill=fill_many(900)),
    Case("plain", WIDE, "compression = {'enabled': 'false'}", fill=fill_wide(300)),
    Case("plain_rewritten", RANDOM, "compression = {'enabled': 'false'}", fill=fill_random, rewrite=True),
    Case("snappy", RANDOM, "compression = {'class': 'SnappyCompressor', 'chunk_length_in_kb': 4}", fill=fill_random),
    Case("deflate", RANDOM, "compression = {'class': 'DeflateCompressor', 'chunk_length_in_kb': 4}", fill=fill_random, rewrite=True),
    Case("zstd", RANDOM, "compression = {'class': 'ZstdCompressor', 'chunk_length_in_kb': 4, 'compression_level': 5}",
         fill=fill_random, rewrite=True),
    Case("noop", RANDOM, "compression = {'class': 'NoopCompressor', 'chunk_length_in_kb': 4}", fill=fill_random),
    Case("ratio", RANDOM, "compression = {'class': 'LZ4Compressor', 'chunk_length_in_kb': 4, 'min_compress_ratio': 1.2}", fill=fill_random),
    Case("nofilter", "id int PRIMARY KEY, v text, w int", "bloom_filter_fp_chance = 1.0", fill=fill_simple),
    Case("large_wide", WIDE, "CLUSTERING ORDER BY (a ASC, b DESC)", fill=fill_wide(100000), large=True),
    Case("large_many", "id text PRIMARY KEY, v int", fill=fill_many(100000), large=True),
]


class Filler:
    """Runs a case's statements. Those with arguments are prepared once and sent many at a time."""
    def __init__(self, session):
        self.session, self.prepared, self.pending = session, {}, []

    def run(self, cql, args=None, concurrent=0):
        if args is None:
            return list(self.session.execute(cql))
        text, timestamp = cql.split(" USING TIMESTAMP ")
        if text not in self.prepared:
            self.prepared[text] = self.session.prepare(text.replace("%s", "?") + " USING TIMESTAMP ?")
        self.pending.append(self.session.execute_async(self.prepared[text], (*args, int(timestamp))))
        if len(self.pending) >= 200 or not concurrent:
            self.drain()

    def drain(self):
        for future in self.pending:
            future.result()
        self.pending = []

    def create(self, case):
        self.run(f"DROP TABLE IF EXISTS {case.name}")
        for ddl in case.before:
            self.run(ddl)
        self.run(f"CREATE TABLE {case.name} ({case.ddl})" + (f" WITH {case.options}" if case.options else ""))

    def fill(self, case):
        case.fill(self.run, case.name)
        self.drain()


def normalized(dump, dropped=()):
    """Without what depends on the clock or on the file, and without dropped columns."""
    for partition in dump:
        partition.pop("table kind", None)
        partition["partition"].pop("position", None)
        rows = []
        for row in partition["rows"]:
            row.pop("position", None)
            row.get("liveness_info", {}).pop("expired", None)
            if "cells" in row:
                row["cells"] = [c for c in row["cells"] if c["name"] not in dropped]
                for cell in row["cells"]:
                    cell.pop("expired", None)
                    if type(cell.get("value")) == int and abs(cell["value"]) >= 2**63: cell["value"] = str(cell["value"])
                if not row["cells"] and "liveness_info" not in row and "deletion_info" not in row: continue
            rows.append(row)
        partition["rows"] = rows
    return dump
