"""A client of the native protocol, version 5, that shows an answer as it came: no types are decoded, and nothing is retried.

One request at a time on a connection; many connections share one asyncio loop. Compression and authentication are not needed here.
"""
import asyncio
import dataclasses
import socket
import struct
import zlib

STARTUP, QUERY, PREPARE, EXECUTE, BATCH = 0x01, 0x07, 0x09, 0x0A, 0x0D
ERROR, READY, RESULT = 0x00, 0x02, 0x08
VOID, ROWS, SET_KEYSPACE, PREPARED, SCHEMA_CHANGE = 1, 2, 3, 4, 5
ONE = 1
UNSET = object()
BATCH_KINDS = {"LOGGED": 0, "UNLOGGED": 1, "COUNTER": 2}
MAX_PAYLOAD = 131071
TIMEOUT_SECONDS = 300  # a schema change waits for those of all other cases

NATIVE_TYPES = {1: "ascii", 2: "bigint", 3: "blob", 4: "boolean", 5: "counter", 6: "decimal", 7: "double", 8: "float", 9: "int",
                11: "timestamp", 12: "uuid", 13: "text", 14: "varint", 15: "timeuuid", 16: "inet", 17: "date", 18: "time",
                19: "smallint", 20: "tinyint", 21: "duration"}


@dataclasses.dataclass
class Options:
    """What a request says beside its text. Values are bytes, None (null) or UNSET; names, when there are any, one for each."""
    values: tuple = ()
    names: tuple = None
    timestamp: int = None
    now: int = None
    page_size: int = None
    paging_state: bytes = None


@dataclasses.dataclass
class Answer:
    kind: str  # error, void, rows, prepared, schema_change or set_keyspace
    error: tuple = None  # code, text, the other fields as bytes
    warnings: tuple = ()
    columns: tuple = ()  # (name, type), of rows and of prepared statements
    rows: tuple = ()
    paging_state: bytes = None
    other: object = None  # all else that must be the same
    prepared_id: bytes = None
    result_id: bytes = None


def crc24(data):
    """The header's checksum: polynomial 0x1974F0B, started with 0x875060, low byte first."""
    crc = 0x875060
    for byte in data:
        crc ^= byte << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= 0x1974F0B
    return crc


def segments(frame):
    out = []
    whole = len(frame) <= MAX_PAYLOAD
    for at in range(0, len(frame), MAX_PAYLOAD):
        payload = frame[at:at + MAX_PAYLOAD]
        header = (len(payload) | (whole << 17)).to_bytes(3, "little")
        out += [header, crc24(header).to_bytes(3, "little"), payload, zlib.crc32(payload, zlib.crc32(b"\xfa\x2d\x55\xca")).to_bytes(4, "little")]
    return b"".join(out)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        self.at += size
        return self.data[self.at - size:self.at]

    def rest(self):
        return self.data[self.at:]

    def int(self):
        return struct.unpack(">i", self.take(4))[0]

    def short(self):
        return struct.unpack(">H", self.take(2))[0]

    def string(self):
        return self.take(self.short()).decode("utf-8", "replace")

    def short_bytes(self):
        return self.take(self.short())

    def bytes(self):
        size = self.int()
        return None if size < 0 else self.take(size)

    def type(self):
        code = self.short()
        if code == 0:
            return f"'{self.string()}'"
        if code in (0x20, 0x22):
            return f"{'list' if code == 0x20 else 'set'}<{self.type()}>"
        if code == 0x21:
            return f"map<{self.type()}, {self.type()}>"
        if code == 0x30:
            return f"{self.string()}.{self.string()}" + "{" + ", ".join(f"{self.string()} {self.type()}" for _ in range(self.short())) + "}"
        if code == 0x31:
            return "tuple<" + ", ".join(self.type() for _ in range(self.short())) + ">"
        return NATIVE_TYPES.get(code, f"type {code:#x}")

    def columns(self, flags, count):
        """Keyspace and table are part of a column's type here, so that they are compared too."""
        if flags & 0x04:
            return ()
        table = self.string() + "." + self.string() if flags & 0x01 else None
        found = []
        for _ in range(count):
            where = table or self.string() + "." + self.string()
            found.append((self.string(), f"{self.type()} of {where}"))
        return tuple(found)


def decode(opcode, flags, body):
    reader = Reader(body)
    warnings = tuple(reader.string() for _ in range(reader.short())) if flags & 0x08 else ()
    if opcode == ERROR:
        code, text = reader.int(), reader.string()
        return Answer("error", error=(code, text, reader.rest()), warnings=warnings)
    if opcode != RESULT:
        return Answer("other", other=(opcode, body), warnings=warnings)
    kind = reader.int()
    if kind == VOID:
        return Answer("void", warnings=warnings, other=reader.rest())
    if kind == ROWS:
        return decode_rows(reader, warnings)
    if kind == PREPARED:
        return decode_prepared(reader, warnings)
    return Answer("set_keyspace" if kind == SET_KEYSPACE else "schema_change", warnings=warnings, other=reader.rest())


def decode_rows(reader, warnings):
    flags, count = reader.int(), reader.int()
    paging_state = reader.bytes() if flags & 0x02 else None
    result_id = reader.short_bytes() if flags & 0x08 else None
    columns = reader.columns(flags, count)
    rows = tuple(tuple(reader.bytes() for _ in range(count)) for _ in range(reader.int()))
    return Answer("rows", warnings=warnings, columns=columns, rows=rows, paging_state=paging_state, result_id=result_id, other=(flags & ~0x02, reader.rest()))


def decode_prepared(reader, warnings):
    prepared_id, result_id = reader.short_bytes(), reader.short_bytes()
    flags, count = reader.int(), reader.int()
    keys = tuple(reader.short() for _ in range(reader.int()))
    variables = reader.columns(flags, count)
    flags, count = reader.int(), reader.int()
    columns = reader.columns(flags, count)
    return Answer("prepared", warnings=warnings, columns=columns, other=(prepared_id, keys, variables, count, flags),
                  prepared_id=prepared_id, result_id=result_id)


def value_bytes(value):
    if value is None:
        return b"\xff\xff\xff\xff"
    if value is UNSET:
        return b"\xff\xff\xff\xfe"
    return struct.pack(">i", len(value)) + value


def string(text):
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def long_string(text):
    data = text.encode("utf-8", "surrogateescape")
    return struct.pack(">i", len(data)) + data


def values_bytes(options):
    if options.names is None:
        return struct.pack(">H", len(options.values)) + b"".join(map(value_bytes, options.values))
    pairs = (string(name) + value_bytes(value) for name, value in zip(options.names, options.values))
    return struct.pack(">H", len(options.values)) + b"".join(pairs)


def query_parameters(options):
    flags, parts = 0, []
    if options.values:
        flags |= 0x01 | (0x40 if options.names is not None else 0)
        parts.append(values_bytes(options))
    for flag, layout, field in ((0x04, ">i", options.page_size),):
        if field is not None:
            flags |= flag
            parts.append(struct.pack(layout, field))
    if options.paging_state is not None:
        flags |= 0x08
        parts.append(value_bytes(options.paging_state))
    for flag, layout, field in ((0x20, ">q", options.timestamp), (0x100, ">i", options.now)):
        if field is not None:
            flags |= flag
            parts.append(struct.pack(layout, field))
    return struct.pack(">HI", ONE, flags) + b"".join(parts)


class Connection(asyncio.Protocol):
    """To one node. `request` answers an Answer, or raises ConnectionError when the node closed the connection."""

    @classmethod
    async def open(cls, address, port=9042):
        loop = asyncio.get_running_loop()
        _, self = await asyncio.wait_for(loop.create_connection(cls, address, port), TIMEOUT_SECONDS)
        self.framed = False
        await self.request(STARTUP, struct.pack(">H", 1) + string("CQL_VERSION") + string("3.0.0"))
        self.framed = True
        return self

    def connection_made(self, transport):
        self.transport, self.buffer, self.frame, self.waiting = transport, b"", b"", None
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def connection_lost(self, error):
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_exception(ConnectionError(f"closed by the node: {error}"))

    def close(self):
        self.transport.close()

    def data_received(self, data):
        self.buffer += data
        if not self.framed:
            return self.frame_received()
        while len(self.buffer) >= 6:
            size = int.from_bytes(self.buffer[:3], "little") & 0x1FFFF
            if len(self.buffer) < size + 10:
                return
            self.frame += self.buffer[6:6 + size]
            self.buffer = self.buffer[10 + size:]
        return self.frame_received()

    def frame_received(self):
        data = self.frame if self.framed else self.buffer
        if len(data) < 9:
            return
        _, flags, _, opcode, size = struct.unpack(">BBhBi", data[:9])
        if len(data) < 9 + size:
            return
        if self.framed:
            self.frame = b""
        else:
            self.buffer = b""
        self.waiting.set_result((opcode, flags, data[9:]))

    def send(self, opcode, body):
        """A future of opcode, flags and body."""
        if self.transport.is_closing():
            raise ConnectionError("closed before the request")
        self.waiting = asyncio.get_running_loop().create_future()
        frame = struct.pack(">BBhBi", 0x05, 0, 1, opcode, len(body)) + body
        self.transport.write(segments(frame) if self.framed else frame)
        return asyncio.wait_for(self.waiting, TIMEOUT_SECONDS)

    async def request(self, opcode, body):
        answer = await self.send(opcode, body)
        try:
            return decode(*answer)
        except (struct.error, UnicodeError) as e:
            return Answer("broken", other=(str(e), answer))

    async def query(self, text, options=Options()):
        return await self.request(QUERY, long_string(text) + query_parameters(options))

    async def prepare(self, text):
        return await self.request(PREPARE, long_string(text) + struct.pack(">I", 0))

    async def execute(self, prepared, options):
        body = struct.pack(">H", len(prepared.prepared_id)) + prepared.prepared_id
        body += struct.pack(">H", len(prepared.result_id)) + prepared.result_id
        return await self.request(EXECUTE, body + query_parameters(options))

    async def batch(self, kind, statements, options):
        """`statements` are texts with their values; all go as texts."""
        body = struct.pack(">BH", BATCH_KINDS[kind], len(statements))
        for text, values in statements:
            body += b"\0" + long_string(text) + struct.pack(">H", len(values)) + b"".join(map(value_bytes, values))
        flags, parts = 0, []
        for flag, layout, field in ((0x20, ">q", options.timestamp), (0x100, ">i", options.now)):
            if field is not None:
                flags |= flag
                parts.append(struct.pack(layout, field))
        return await self.request(BATCH, body + struct.pack(">HI", ONE, flags) + b"".join(parts))
