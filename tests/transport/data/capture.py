"""Records sessions with a real Cassandra 5.0.9, for golden_session_test: capture.py HOST > sessions.txt

Lines are `SESSION STEP > HEX` (sent) and `SESSION STEP < HEX` (received, one frame or segment a line). Sessions are
named by version and compression; `raw` holds whole connections of bad input, and whether they were closed.
Needs the packages lz4 and python-snappy. The keyspaces golden_* are created and dropped.
"""
import socket, struct, sys, zlib, lz4.block, snappy

HOST = (sys.argv[1], 9042)
CRC24_INIT, CRC24_POLY = 0x875060, 0x1974F0B
def crc24(data):
    crc = CRC24_INIT
    for b in data:
        crc ^= b << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000: crc ^= CRC24_POLY
    return crc
def crc32(data): return zlib.crc32(data, zlib.crc32(b'\xfa\x2d\x55\xca'))
def string(s): s = s.encode(); return struct.pack('>H', len(s)) + s
def long_string(s): s = s.encode(); return struct.pack('>i', len(s)) + s
def smap(m): return struct.pack('>H', len(m)) + b''.join(string(k) + string(v) for k, v in m.items())
def value(v):
    if v is None: return struct.pack('>i', -1)
    if v == 'unset': return struct.pack('>i', -2)
    return struct.pack('>i', len(v)) + v

class Session:
    def __init__(self, version, compression):
        self.s = socket.create_connection(HOST); self.s.settimeout(10)
        self.v, self.c = version, compression
        self.segmented = False; self.compressing = False
    def read(self, n):
        b = b''
        while len(b) < n:
            x = self.s.recv(n - len(b))
            if not x: raise EOFError(b)
            b += x
        return b
    def frame(self, opcode, body, flags=0, stream=1):
        if self.v == 6: flags |= 0x10  # USE_BETA
        if self.compressing and not self.segmented and self.c:
            body = (struct.pack('>i', len(body)) + lz4.block.compress(body, store_size=False)) if self.c == 'lz4' else snappy.compress(body)
            flags |= 1
        f = struct.pack('>BBhBi', self.v, flags, stream, opcode, len(body)) + body
        return self.segment(f) if self.segmented else f
    def segment(self, p, self_contained=True):
        if self.c == 'lz4':
            z = lz4.block.compress(p, store_size=False); u = len(p)
            if len(z) >= len(p): z, u = p, 0
            h = (len(z) | u << 17 | (1 << 34 if self_contained else 0)).to_bytes(5, 'little')
        else:
            z = p
            h = (len(p) | (1 << 17 if self_contained else 0)).to_bytes(3, 'little')
        return h + crc24(h).to_bytes(3, 'little') + z + crc32(z).to_bytes(4, 'little')
    def answer(self):
        if not self.segmented:
            h = self.read(9)
            return h + self.read(struct.unpack('>i', h[5:])[0])
        n = 8 if self.c == 'lz4' else 6
        h = self.read(n)
        return h + self.read((int.from_bytes(h[:3], 'little') & 0x1ffff) + 4)
    def open(self, raw):
        if not self.segmented:
            body = raw[9:]
            if raw[1] & 1:
                body = lz4.block.decompress(body[4:], uncompressed_size=struct.unpack('>i', body[:4])[0]) if self.c == 'lz4' else snappy.decompress(body)
            return raw[:9], body
        if self.c == 'lz4':
            h = int.from_bytes(raw[:5], 'little'); u = h >> 17 & 0x1ffff
            p = raw[8:-4]
            p = lz4.block.decompress(p, uncompressed_size=u) if u else p
        else: p = raw[6:-4]
        return p[:9], p[9:]

def options(v, cl=1, values=None, names=None, skip=False, page=None, state=None, serial=None, ts=None, ks=None, now=None):
    f, b = 0, b''
    if values is not None:
        f |= 1; b += struct.pack('>H', len(values))
        if names: f |= 0x40
        for i, x in enumerate(values): b += (string(names[i]) if names else b'') + value(x)
    if skip: f |= 2
    if page is not None: f |= 4; b += struct.pack('>i', page)
    if state is not None: f |= 8; b += value(state)
    if serial is not None: f |= 0x10; b += struct.pack('>H', serial)
    if ts is not None: f |= 0x20; b += struct.pack('>q', ts)
    if ks is not None: f |= 0x80; b += string(ks)
    if now is not None: f |= 0x100; b += struct.pack('>i', now)
    return struct.pack('>H', cl) + (struct.pack('>I', f) if v >= 5 else struct.pack('>B', f)) + b
def i32(n): return struct.pack('>i', n)

def unwrapped(flags, b):
    if flags & 2: b = b[16:]
    if flags & 8:
        n = struct.unpack('>H', b[:2])[0]; b = b[2:]
        for _ in range(n): b = b[2 + struct.unpack('>H', b[:2])[0]:]
    return b

def record(out, v, c):
    name = f'v{v}-{c or "plain"}'
    ks = f'golden_v{v}_{c or "plain"}'
    s = Session(v, c)
    def ask(what, opcode, body, flags=0, answers=1):
        req = s.frame(opcode, body, flags)
        out.write(f'{name} {what} > {req.hex()}\n')
        s.s.sendall(req)
        last = None
        while answers > 0:
            raw = s.answer()
            p = b''.join(s.open(raw))
            if p[4] == 12 and ks.encode() not in p: continue  # somebody else's
            out.write(f'{name} {what} < {raw.hex()}\n')
            while p:
                n = 9 + struct.unpack('>i', p[5:9])[0] if s.segmented else len(p)
                if p[4] != 12: last = (p[:9], unwrapped(p[1], p[9:n]))
                p = p[n:]; answers -= 1
        return last
    def query(what, text, opts=None, **k): return ask(what, 7, long_string(text) + (opts or options(v)), **k)
    ask('options', 5, b'')
    o = {'CQL_VERSION': '3.0.0', 'DRIVER_NAME': 'capture', 'DRIVER_VERSION': '1'}
    if c: o['COMPRESSION'] = c
    ask('startup', 1, smap(o))
    s.compressing = True; s.segmented = v >= 5
    drop = s.frame(7, long_string(f'DROP KEYSPACE IF EXISTS {ks}') + options(v))
    s.s.sendall(drop); s.answer()
    ask('register', 11, struct.pack('>H', 3) + string('TOPOLOGY_CHANGE') + string('STATUS_CHANGE') + string('SCHEMA_CHANGE'))
    query('create-keyspace', f"CREATE KEYSPACE {ks} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}", answers=2)
    query('use', f'USE {ks}')
    query('create-type', 'CREATE TYPE address (street text, zip int)', answers=2)
    query('create-table', 'CREATE TABLE t (k int, c text, s text static, v int, PRIMARY KEY (k, c))', answers=2)
    query('create-all-types', 'CREATE TABLE all_types (k int PRIMARY KEY, a ascii, b bigint, bl blob, bo boolean, d date, de decimal, '
          'du duration, do double, f float, i inet, si smallint, ti time, ts timestamp, tu timeuuid, y tinyint, u uuid, va varint, '
          "l list<int>, se set<text>, m map<text, frozen<list<smallint>>>, fl frozen<list<int>>, tup tuple<int, duration>, ad address, fad frozen<address>, "
          "vec vector<float, 3>, cu 'DynamicCompositeType(s => UTF8Type, i => Int32Type)')", answers=2)
    query('create-counter', 'CREATE TABLE counters (k int PRIMARY KEY, n counter)', answers=2)
    query('create-reversed', 'CREATE TABLE reversed_ (k int, c int, PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY (c DESC)', answers=2)
    h, b = ask('prepare-insert', 9, long_string('INSERT INTO t (k, c, v) VALUES (?, ?, ?)') + (struct.pack('>I', 0) if v >= 5 else b''))
    def pid(b):
        n = struct.unpack('>H', b[4:6])[0]; i = b[6:6+n]; m = None
        if v >= 5:
            q = b[6+n:]; k = struct.unpack('>H', q[:2])[0]; m = q[2:2+k]
        return struct.pack('>H', n) + i, (struct.pack('>H', len(m)) + m if m is not None else b'')
    ins, ins_m = pid(b)
    for k, (cc, vv) in enumerate([('a', 1), ('b', 2), ('c', 3)]):
        ask(f'execute-insert-{k}', 10, ins + ins_m + options(v, values=[i32(1), cc.encode(), i32(vv)], ts=1000 + k))
    h, b = ask('prepare-select', 9, long_string('SELECT c, v FROM t WHERE k = ?') + (struct.pack('>I', 0) if v >= 5 else b''))
    sel, sel_m = pid(b)
    ask('execute-select', 10, sel + sel_m + options(v, values=[i32(1)]))
    ask('execute-select-skip', 10, sel + sel_m + options(v, values=[i32(1)], skip=True))
    if v >= 5: ask('execute-select-changed', 10, sel + string('0123456789abcdef') + options(v, values=[i32(1)], skip=True))
    ask('execute-select-empty', 10, sel + sel_m + options(v, values=[i32(2)]))
    query('select-named', 'SELECT v FROM t WHERE k = :key AND c = :c', options(v, values=[b'b', i32(1)], names=['c', 'key']))
    h, b = query('select-page', 'SELECT * FROM t WHERE k = 1', options(v, page=2, serial=9))
    query('select-all-types', 'SELECT * FROM all_types')
    query('select-counters', 'SELECT n, count(*) FROM counters')
    query('select-reversed', 'SELECT * FROM reversed_')
    query('select-null', 'SELECT s, v FROM t WHERE k = 1 LIMIT 1')
    if v >= 4: ask('execute-unset', 10, ins + ins_m + options(v, values=[i32(1), b'd', 'unset']))
    ask('batch', 13, struct.pack('>BH', 1, 2) + b'\0' + long_string("INSERT INTO t (k, c, v) VALUES (1, 'x', ?)") + struct.pack('>H', 1) + value(i32(9))
        + b'\1' + ins + struct.pack('>H', 3) + value(i32(1)) + value(b'y') + value(None) + options(v, ts=2000))
    if v >= 5:
        query('keyspace-of-query', 'SELECT v FROM t WHERE k = 7', options(v, ks=ks, now=1700000000))
        ask('prepare-keyspace', 9, long_string('SELECT v FROM t WHERE k = ?') + struct.pack('>I', 1) + string(ks))
    query('syntax-error', 'SELEC 1')
    query('invalid', 'SELECT nothing FROM t')
    query('unknown-table', 'SELECT * FROM nothing')
    query('already-exists', 'CREATE TABLE t (k int PRIMARY KEY)')
    query('already-exists-keyspace', f"CREATE KEYSPACE {ks} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}")
    query('unavailable', 'SELECT * FROM t WHERE k = 1', options(v, cl=3))
    query('config-error', "CREATE KEYSPACE bad WITH replication = {'class': 'Nothing'}")
    ask('unprepared', 10, string('0123456789abcdef') + (string('0123456789abcdef') if v >= 5 else b'') + options(v))
    query('page-size-0', 'SELECT * FROM t', options(v, page=0))
    ask('startup-again', 1, smap(o))
    ask('auth-response', 15, value(b'\0a\0b'))
    if v >= 4:
        ask('payload', 7, struct.pack('>H', 1) + string('key') + value(b'v') + long_string('SELECT v FROM t WHERE k = 7') + options(v), flags=4)
        query('warning', 'SELECT count(*) FROM t')
    ask('traced', 7, long_string('SELECT v FROM t WHERE k = 7') + options(v), flags=2)
    query('drop-table', 'DROP TABLE t', answers=2)
    query('alter-type', 'ALTER TYPE address ADD country text', answers=3)
    ask('options-again', 5, b'')
    s.s.sendall(drop)
    s.answer()

def raw(out, name, data, n=1):
    """Sends raw bytes on a new connection and records everything until it closes or is silent."""
    s = socket.create_connection(HOST); s.settimeout(1)
    out.write(f'raw {name} > {data.hex()}\n')
    got, end = b'', 'open'
    n = 9 + struct.unpack('>i', data[5:9])[0] if len(data) > 9 and data[4] == 1 else len(data)
    s.sendall(data[:n])
    if len(data) > n:
        got = s.recv(9); got += s.recv(struct.unpack('>i', got[5:])[0]) if got[8] else b''
        s.sendall(data[n:])
    try:
        while True:
            x = s.recv(65536)
            if not x: end = 'closed'; break
            got += x
    except socket.timeout: pass
    except ConnectionResetError: end = 'closed'
    out.write(f'raw {name} < {got.hex()}\nraw {name} {end}\n')

def fr(v, op, body, flags=0, stream=1): return struct.pack('>BBhBi', v, flags, stream, op, len(body)) + body
with sys.stdout as out:
    for v, c in [(3, None), (3, 'lz4'), (3, 'snappy'), (4, None), (4, 'lz4'), (4, 'snappy'), (5, None), (5, 'lz4'), (6, None), (6, 'lz4')]:
        record(out, v, c)
    st = lambda v, **o: fr(v, 1, smap({'CQL_VERSION': '3.0.0', **o}))
    raw(out, 'version-1', bytes([1, 0, 5, 1, 0, 0, 0, 0, 0]))
    raw(out, 'version-2', bytes([2, 0, 5, 1, 0, 0, 0, 0, 0]))
    raw(out, 'version-6', fr(6, 1, smap({'CQL_VERSION': '3.0.0'})))
    raw(out, 'version-6-beta', fr(6, 1, smap({'CQL_VERSION': '3.0.0'}), flags=0x10))
    raw(out, 'version-7', fr(7, 5, b'', stream=7))
    raw(out, 'version-65', fr(65, 5, b''))
    raw(out, 'version-0', fr(0, 5, b''))
    raw(out, 'http', b'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    raw(out, 'query-first', fr(4, 7, long_string('SELECT 1') + options(4)))
    raw(out, 'response-first', fr(0x84, 2, b''))
    raw(out, 'response-direction', fr(0x84, 5, b''))
    raw(out, 'unknown-opcode', fr(4, 0x55, b''))
    raw(out, 'no-cql-version', fr(4, 1, smap({'A': 'b'})))
    raw(out, 'no-cql-version-5', fr(5, 1, smap({'A': 'b'})))
    raw(out, 'old-cql-version', fr(4, 1, smap({'CQL_VERSION': '2.0.0'})))
    raw(out, 'bad-cql-version', fr(4, 1, smap({'CQL_VERSION': 'x'})))
    raw(out, 'cql-version-and-more', fr(4, 1, smap({'CQL_VERSION': '3.0.0 '})))
    raw(out, 'cql-version-with-build', fr(4, 1, smap({'CQL_VERSION': '3.4.7.1-beta-2.x+2026'})))
    raw(out, 'cql-version-of-letters', fr(4, 1, smap({'CQL_VERSION': '3.4.x'})))
    raw(out, 'truncated-startup', fr(4, 1, struct.pack('>HH', 1, 5) + b'abc'))
    raw(out, 'unknown-compression', fr(4, 1, smap({'CQL_VERSION': '3.0.0', 'COMPRESSION': 'zip'})))
    raw(out, 'snappy-5', fr(5, 1, smap({'CQL_VERSION': '3.0.0', 'COMPRESSION': 'snappy'})))
    raw(out, 'startup-then-version-3', st(4) + fr(3, 5, b'', stream=9))
    raw(out, 'startup-then-version-7', st(4) + fr(7, 5, b'', stream=9))
    raw(out, 'startup-then-unknown-opcode', st(4) + fr(4, 0x55, b'', stream=9))
    raw(out, 'startup-then-credentials', st(4) + fr(4, 4, b'\0\0', stream=9))
    raw(out, 'bad-consistency', st(4) + fr(4, 7, long_string('SELECT * FROM system.local') + struct.pack('>HB', 99, 0), stream=9))
    raw(out, 'truncated-query', st(4) + fr(4, 7, struct.pack('>i', 100) + b'SELECT', stream=9))
    raw(out, 'truncated-length', st(4) + fr(4, 7, b'\0\0', stream=9))
    raw(out, 'truncated-event', st(4) + fr(4, 11, struct.pack('>H', 2) + string('STATUS_CHANGE') + b'\0', stream=9))
    raw(out, 'truncated-id', st(4) + fr(4, 10, b'\0', stream=9))
    raw(out, 'bad-utf8', st(4) + fr(4, 7, struct.pack('>i', 2) + b'\xc3\x28' + options(4), stream=9))
    raw(out, 'bad-timestamp', st(4) + fr(4, 7, long_string('SELECT * FROM system.local') + options(4, ts=-2**63), stream=9))
    raw(out, 'payload-3', st(3) + fr(3, 5, struct.pack('>H', 0), flags=4, stream=9))
    raw(out, 'bad-event', st(4) + fr(4, 11, struct.pack('>H', 1) + string('NOTHING'), stream=9))
    raw(out, 'trace-complete-3', st(3) + fr(3, 11, struct.pack('>H', 1) + string('TRACE_COMPLETE'), stream=9))
    raw(out, 'bad-batch-type', st(4) + fr(4, 13, struct.pack('>BH', 7, 0) + options(4), stream=9))
    raw(out, 'bad-batch-kind', st(4) + fr(4, 13, struct.pack('>BHB', 0, 1, 9) + options(4), stream=9))
    raw(out, 'negative-batch-kind', st(4) + fr(4, 13, struct.pack('>BHB', 0, 1, 255) + options(4), stream=9))
    raw(out, 'bad-value-length', st(4) + fr(4, 7, long_string('SELECT * FROM system.local') + struct.pack('>HBHi', 1, 1, 1, -3), stream=9))
    raw(out, 'not-compressed', st(4, COMPRESSION='lz4') + fr(4, 5, b'', stream=9))
    raw(out, 'bad-lz4', st(4, COMPRESSION='lz4') + fr(4, 5, b'\0\0\0\x10abcdef', flags=1, stream=9))
    raw(out, 'bad-snappy', st(4, COMPRESSION='snappy') + fr(4, 5, b'abcdef', flags=1, stream=9))
    raw(out, 'compressed-without-agreement', st(4) + fr(4, 5, b'abcdef', flags=1, stream=9))
    s5 = Session(5, None)
    raw(out, 'v5-wrong-version', st(5) + s5.segment(fr(4, 5, b'', stream=9)))
    raw(out, 'v5-unknown-opcode', st(5) + s5.segment(fr(5, 0x55, b'', stream=9)))
    raw(out, 'v5-two-unknown-opcodes', st(5) + s5.segment(fr(5, 0x55, b'', stream=9) + fr(5, 0x56, b'', stream=10) + fr(5, 5, b'', stream=11)))
    raw(out, 'v5-two-segments-unknown-opcode', st(5) + s5.segment(fr(5, 0x55, b'', stream=9)) + s5.segment(fr(5, 0x56, b'', stream=10)) + s5.segment(fr(5, 5, b'', stream=11)))
    bad = bytearray(s5.segment(fr(5, 5, b'', stream=9))); bad[3] ^= 1
    raw(out, 'v5-bad-header-crc', st(5) + bytes(bad))
    bad = bytearray(s5.segment(fr(5, 5, b'', stream=9))); bad[-1] ^= 1
    raw(out, 'v5-bad-payload-crc', st(5) + bytes(bad))
    raw(out, 'v5-short-envelope', st(5) + s5.segment(struct.pack('>BBhBi', 5, 0, 9, 7, 100) + b'abc'))
    raw(out, 'v5-short-header', st(5) + s5.segment(b'\5\0'))
    raw(out, 'v5-truncated-query', st(5) + s5.segment(fr(5, 7, struct.pack('>i', 100) + b'SELECT', stream=9) + fr(5, 5, b'', stream=11)))
    raw(out, 'v5-negative-length', st(5) + s5.segment(struct.pack('>BBhBi', 5, 0, 9, 7, -5)))
    raw(out, 'v5-unsegmented', st(5) + fr(5, 5, b'', stream=9))
