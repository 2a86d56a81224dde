"""A client of the native protocol, version 5, that shows an answer as it came: no types are decoded, and nothing is retried.

One request at a time on a connection; many connections share one asyncio loop. Compression and authentication are not needed here.
"""
import asyncio
import dataclasses
import socket
import struct

import frames
from frames import BATCH, ERROR, EXECUTE, HEADER_SIZE, ONE, PREPARE, PREPARED, QUERY, RESULT, ROWS, SET_KEYSPACE, STARTUP, UNSET, VOID, WARNING

BATCH_KINDS = {"LOGGED": 0, "UNLOGGED": 1, "COUNTER": 2}
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
    consistency: int = ONE


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


class Reader(frames.Reader):
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
    warnings = reader.strings() if flags & WARNING else ()
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


def values_bytes(options):
    if options.names is None:
        return frames.values(options.values)
    pairs = (frames.string(name) + frames.value(value) for name, value in zip(options.names, options.values))
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
        parts.append(frames.value(options.paging_state))
    for flag, layout, field in ((0x20, ">q", options.timestamp), (0x100, ">i", options.now)):
        if field is not None:
            flags |= flag
            parts.append(struct.pack(layout, field))
    return struct.pack(">HI", options.consistency, flags) + b"".join(parts)


class Connection(asyncio.Protocol):
    """To one node. `request` answers an Answer, or raises ConnectionError when the node closed the connection."""

    @classmethod
    async def open(cls, address, port=9042):
        loop = asyncio.get_running_loop()
        _, self = await asyncio.wait_for(loop.create_connection(cls, address, port), TIMEOUT_SECONDS)
        self.framed = False
        await self.request(STARTUP, frames.string_map({"CQL_VERSION": "3.0.0"}))
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
        while len(self.buffer) >= frames.SEGMENT_HEADER_SIZE:
            end = frames.SEGMENT_HEADER_SIZE + frames.payload_size(self.buffer)
            if len(self.buffer) < end + frames.SEGMENT_TRAILER_SIZE:
                return
            self.frame += self.buffer[frames.SEGMENT_HEADER_SIZE:end]
            self.buffer = self.buffer[end + frames.SEGMENT_TRAILER_SIZE:]
        return self.frame_received()

    def frame_received(self):
        data = self.frame if self.framed else self.buffer
        if len(data) < HEADER_SIZE:
            return
        flags, _, opcode, size = frames.read_header(data)
        if len(data) < HEADER_SIZE + size:
            return
        if self.framed:
            self.frame = b""
        else:
            self.buffer = b""
        self.waiting.set_result((opcode, flags, data[HEADER_SIZE:]))

    def send(self, opcode, body):
        """A future of opcode, flags and body."""
        if self.transport.is_closing():
            raise ConnectionError("closed before the request")
        self.waiting = asyncio.get_running_loop().create_future()
        frame = frames.frame(5, opcode, body, stream=1)
        self.transport.write(frames.segments(frame) if self.framed else frame)
        return asyncio.wait_for(self.waiting, TIMEOUT_SECONDS)

    async def request(self, opcode, body):
        answer = await self.send(opcode, body)
        try:
            return decode(*answer)
        except (struct.error, UnicodeError) as e:
            return Answer("broken", other=(str(e), answer))

    async def query(self, text, options=Options()):
        return await self.request(QUERY, frames.long_string(text) + query_parameters(options))

    async def prepare(self, text):
        return await self.request(PREPARE, frames.long_string(text) + struct.pack(">I", 0))

    async def execute(self, prepared, options):
        ids = frames.string(prepared.prepared_id) + frames.string(prepared.result_id)
        return await self.request(EXECUTE, ids + query_parameters(options))

    async def batch(self, kind, statements, options):
        """`statements` are texts with their values; all go as texts."""
        body = struct.pack(">BH", BATCH_KINDS[kind], len(statements))
        for text, values in statements:
            body += b"\0" + frames.long_string(text) + frames.values(values)
        return await self.request(BATCH, body + query_parameters(dataclasses.replace(options, values=(), page_size=None)))
