"""A client that waits for each answer, for suites that say what no driver would; versions 3, 4 and 5."""
import socket
import struct

from frames import (AUTH_RESPONSE, AUTH_SUCCESS, AUTHENTICATE, BAD_CREDENTIALS, COMPRESSED, ERROR, EXECUTE, HEADER_SIZE, INVALID, ONE, OPTIONS, OVERLOADED, PREPARE, PREPARED, PROTOCOL_ERROR,
                    QUERY, READY, RESULT, ROWS, SEGMENT_HEADER_SIZE, SEGMENT_TRAILER_SIZE, SERVER_ERROR, STARTUP, SYNTAX_ERROR, UNPREPARED, WARNING, Reader, frame, long_string, lz4_segment,
                    payload_size, query_flags, read_header, segment, segments, string, string_map, values)


class Closed(Exception):
    """The node closed the connection."""


class Refused(Exception):
    """An ERROR frame: code, message and the stream of the request."""

    def __init__(self, code, message, stream):
        super().__init__(f"{code:04x} {message}")
        self.code, self.message, self.stream = code, message, stream


def parameters(version, bound=(), page_size=None, paging_state=None, skip_metadata=False):
    flags = (1 if bound else 0) | (2 if skip_metadata else 0) | (4 if page_size is not None else 0) | (8 if paging_state is not None else 0)
    body = struct.pack(">H", ONE) + query_flags(version, flags) + (values(bound) if bound else b"")
    body += struct.pack(">i", page_size) if page_size is not None else b""
    return body + (long_string(paging_state) if paging_state is not None else b"")


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
        return self.send_raw(segments(data, wrap))

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
            length = payload_size(self._read(SEGMENT_HEADER_SIZE))
            self.frames += self._read(length + SEGMENT_TRAILER_SIZE)[:length]
        out, self.frames = self.frames[:size], self.frames[size:]
        return out

    def receive(self):
        """Opcode, body and stream of the next frame, without its warnings; an ERROR is raised."""
        flags, stream, opcode, length = read_header(self._take(HEADER_SIZE))
        body = Reader(self._take(length))
        if flags & WARNING:
            body.strings()
        if opcode == ERROR:
            raise Refused(body.int(), body.string(), stream)
        return opcode, body.rest(), stream

    # --- requests

    def request(self, opcode, body):
        self.send(opcode, body)
        opcode, body, _ = self.receive()
        return opcode, body

    def query(self, text, bound=(), page_size=None):
        return self.request(QUERY, long_string(text) + parameters(self.version, bound, page_size))[1]

    def prepare(self, text):
        body = Reader(self.request(PREPARE, long_string(text) + (query_flags(5, 0) if self.version >= 5 else b""))[1])
        assert body.int() == PREPARED
        return body.short_bytes()

    def execute_body(self, prepared_id, bound=()):
        assert self.version < 5, "v5 wants the id of the result's metadata"
        return string(prepared_id) + parameters(self.version, bound)

    def execute(self, prepared_id, bound=()):
        return self.request(EXECUTE, self.execute_body(prepared_id, bound))[1]

    def rows(self, text):
        """The rows of a query without paging: lists of bytes or None, whose metadata is skipped over by query flags."""
        return self.page(text)[0]

    def page(self, text, page_size=None, paging_state=None, bound=()):
        """The rows of one page, and the paging state of the next one or None."""
        body = long_string(text) + parameters(self.version, bound, page_size, paging_state, skip_metadata=True)
        return decode_page(self.request(QUERY, body)[1])


def decode_page(body):
    """Of a RESULT without metadata."""
    reader = Reader(body)
    kind, flags, columns = reader.int(), reader.int(), reader.int()
    assert kind == ROWS and flags & 4, (kind, flags)
    paging_state = reader.bytes() if flags & 2 else None
    return [[reader.bytes() for _ in range(columns)] for _ in range(reader.int())], paging_state


def number(of):
    """An int as CQL serializes it."""
    return struct.pack(">i", of)
