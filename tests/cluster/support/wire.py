"""The native protocol by hand, for suites that say what no driver would: frames of v3 and v4, segments of v5.

Bodies are plain bytes; numbers on the wire are big-endian, but for those of a segment's header and trailer.
"""
import socket
import struct
import zlib

ERROR, STARTUP, READY, AUTHENTICATE, OPTIONS, QUERY, RESULT, PREPARE, EXECUTE = 0, 1, 2, 3, 5, 7, 8, 9, 10
AUTH_RESPONSE, AUTH_SUCCESS = 15, 16
COMPRESSED, WARNING = 1, 8
ROWS, PREPARED = 2, 4
SERVER_ERROR, PROTOCOL_ERROR, BAD_CREDENTIALS, OVERLOADED = 0x0000, 0x000A, 0x0100, 0x1001
SYNTAX_ERROR, INVALID, UNPREPARED = 0x2000, 0x2200, 0x2500


class Closed(Exception):
    """The node closed the connection."""


class Refused(Exception):
    """An ERROR frame: code, message and the stream of the request."""

    def __init__(self, code, message, stream):
        super().__init__(f"{code:04x} {message}")
        self.code, self.message, self.stream = code, message, stream


def string(text):
    data = text.encode() if isinstance(text, str) else text
    return struct.pack(">H", len(data)) + data


def long_string(text):
    data = text.encode() if isinstance(text, str) else text
    return struct.pack(">i", len(data)) + data


def string_map(entries):
    return struct.pack(">H", len(entries)) + b"".join(string(k) + string(v) for k, v in entries.items())


def parameters(version, values=(), page_size=None):
    flags = (1 if values else 0) | (4 if page_size is not None else 0)
    body = struct.pack(">H", 1) + (struct.pack(">I", flags) if version >= 5 else struct.pack(">B", flags))
    if values:
        body += struct.pack(">H", len(values)) + b"".join(struct.pack(">i", len(v)) + v for v in values)
    return body + (struct.pack(">i", page_size) if page_size is not None else b"")


def frame(version, opcode, body, stream=0, flags=0):
    return struct.pack(">BBhBi", version, flags, stream, opcode, len(body)) + body


def crc24(value, size):
    crc = 0x875060
    for i in range(size):
        crc ^= (value >> (8 * i) & 0xFF) << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= 0x1974F0B
    return crc


def crc32(payload):
    return zlib.crc32(payload, zlib.crc32(b"\xfa\x2d\x55\xca"))


def segment(payload, self_contained=True):
    """Of a connection without compression."""
    fields = len(payload) | (1 << 17 if self_contained else 0)
    return fields.to_bytes(3, "little") + crc24(fields, 3).to_bytes(3, "little") + payload + crc32(payload).to_bytes(4, "little")


def lz4_segment(payload, uncompressed_size, self_contained=True):
    """Of a connection with LZ4. uncompressed_size 0: the payload is as it is."""
    fields = len(payload) | uncompressed_size << 17 | (1 << 34 if self_contained else 0)
    return fields.to_bytes(5, "little") + crc24(fields, 5).to_bytes(3, "little") + payload + crc32(payload).to_bytes(4, "little")


class Client:
    """One connection. Its requests wait for their answers unless they are sent with send()."""

    def __init__(self, address, version=4, compression=None, timeout=20, user=None, start=True, receive_buffer=None):
        self.version, self.compression, self.user = version, compression, user
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect((address, 9042))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""  # received
        self.frames = b""  # the payloads of its segments
        self.segmented = False
        if start:
            self.startup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def startup(self):
        options = {"CQL_VERSION": "3.0.0", **({"COMPRESSION": self.compression} if self.compression else {})}
        self.socket.sendall(frame(self.version, STARTUP, string_map(options)))
        opcode, _, _ = self.receive()
        self.segmented = self.version >= 5
        if opcode == AUTHENTICATE and self.user is not None:
            self.login(*self.user)

    def login(self, name, password):
        token = b"\0" + name.encode() + b"\0" + password.encode()
        return self.request(AUTH_RESPONSE, long_string(token))

    # --- bytes

    def send_raw(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as e:
            raise Closed() from e

    def send(self, opcode, body, stream=0):
        data = frame(self.version, opcode, body, stream)
        if not self.segmented:
            return self.send_raw(data)
        wrap = segment if self.compression is None else lambda payload, whole: lz4_segment(payload, 0, whole)
        pieces = [data[i:i + 0x1FFFF] for i in range(0, len(data), 0x1FFFF)]
        return self.send_raw(b"".join(wrap(piece, len(pieces) == 1) for piece in pieces))

    def _read(self, size):
        while len(self.buffer) < size:
            try:
                data = self.socket.recv(1 << 20)
            except ConnectionResetError as e:
                raise Closed() from e
            if not data:
                raise Closed()
            self.buffer += data
        out, self.buffer = self.buffer[:size], self.buffer[size:]
        return out

    def _take(self, size):
        if not self.segmented:
            return self._read(size)
        assert self.compression is None, "answers in compressed segments are not read"
        while len(self.frames) < size:
            length = int.from_bytes(self._read(6)[:3], "little") & 0x1FFFF
            self.frames += self._read(length + 4)[:length]
        out, self.frames = self.frames[:size], self.frames[size:]
        return out

    def receive(self):
        """Opcode, body and stream of the next frame, without its warnings; an ERROR is raised."""
        _, flags, stream, opcode, length = struct.unpack(">BBhBi", self._take(9))
        body = self._take(length)
        if flags & WARNING:
            body = without_strings(body)
        if opcode == ERROR:
            code, size = struct.unpack(">iH", body[:6])
            raise Refused(code, body[6:6 + size].decode(errors="replace"), stream)
        return opcode, body, stream

    # --- requests

    def request(self, opcode, body):
        self.send(opcode, body)
        opcode, body, _ = self.receive()
        return opcode, body

    def query(self, text, values=(), page_size=None):
        return self.request(QUERY, long_string(text) + parameters(self.version, values, page_size))[1]

    def prepare(self, text):
        body = self.request(PREPARE, long_string(text) + (struct.pack(">I", 0) if self.version >= 5 else b""))[1]
        size = struct.unpack(">H", body[4:6])[0]
        return body[6:6 + size]

    def execute_body(self, prepared_id, values=()):
        assert self.version < 5, "v5 wants the id of the result's metadata"
        return string(prepared_id) + parameters(self.version, values)

    def execute(self, prepared_id, values=()):
        return self.request(EXECUTE, self.execute_body(prepared_id, values))[1]

    def rows(self, text):
        """The rows of a query without paging: lists of bytes or None, whose metadata is skipped over by query flags."""
        body = long_string(text) + struct.pack(">H", 1) + (struct.pack(">I", 2) if self.version >= 5 else b"\x02")
        return decode_rows(self.request(QUERY, body)[1])


def without_strings(body):
    """What follows a list of strings."""
    count, at = struct.unpack(">H", body[:2])[0], 2
    for _ in range(count):
        at += 2 + struct.unpack(">H", body[at:at + 2])[0]
    return body[at:]


def decode_rows(body):
    """Of a RESULT without metadata."""
    kind, flags, columns = struct.unpack(">iii", body[:12])
    assert kind == ROWS and flags & 4, (kind, flags)
    count, at, out = struct.unpack(">i", body[12:16])[0], 16, []
    for _ in range(count):
        row = []
        for _ in range(columns):
            size = struct.unpack(">i", body[at:at + 4])[0]
            at += 4
            row.append(body[at:at + size] if size >= 0 else None)
            at += max(size, 0)
        out.append(row)
    return out


def number(value):
    """An int as CQL serializes it."""
    return struct.pack(">i", value)
