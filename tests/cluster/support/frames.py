"""The native protocol below any client: opcodes, notations, frames, and the segments that carry those of v5.

Bodies are plain bytes; numbers on the wire are big-endian, but for those of a segment's header and trailer.
"""
import struct
import zlib

ERROR, STARTUP, READY, AUTHENTICATE, OPTIONS, QUERY, RESULT, PREPARE, EXECUTE = 0, 1, 2, 3, 5, 7, 8, 9, 10
BATCH, AUTH_RESPONSE, AUTH_SUCCESS = 13, 15, 16
COMPRESSED, WARNING = 1, 8  # flags of a frame
VOID, ROWS, SET_KEYSPACE, PREPARED, SCHEMA_CHANGE = 1, 2, 3, 4, 5  # kinds of a RESULT
SERVER_ERROR, PROTOCOL_ERROR, BAD_CREDENTIALS, OVERLOADED = 0x0000, 0x000A, 0x0100, 0x1001
SYNTAX_ERROR, INVALID, UNPREPARED = 0x2000, 0x2200, 0x2500
ONE, QUORUM, ALL = 1, 4, 5  # consistency levels
UNSET = object()  # a bound value that leaves the column as it is

HEADER_SIZE = 9
SEGMENT_HEADER_SIZE, SEGMENT_TRAILER_SIZE = 6, 4  # without compression
MAX_PAYLOAD = 0x1FFFF


def encoded(text):
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


def string(text):
    data = encoded(text)
    return struct.pack(">H", len(data)) + data


def long_string(text):
    data = encoded(text)
    return struct.pack(">i", len(data)) + data


def string_map(entries):
    return struct.pack(">H", len(entries)) + b"".join(string(k) + string(v) for k, v in entries.items())


def value(data):
    """A bound value: bytes, None (null) or UNSET."""
    if data is None:
        return b"\xff\xff\xff\xff"
    return b"\xff\xff\xff\xfe" if data is UNSET else long_string(data)


def values(data):
    return struct.pack(">H", len(data)) + b"".join(map(value, data))


def query_flags(version, flags):
    return struct.pack(">I" if version >= 5 else ">B", flags)


class Reader:
    """A cursor in a body."""

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

    def strings(self):
        return tuple(self.string() for _ in range(self.short()))


def frame(version, opcode, body, stream=0, flags=0):
    return struct.pack(">BBhBi", version, flags, stream, opcode, len(body)) + body


def read_header(data):
    """Flags, stream, opcode and the length of the body of the frame at the front."""
    return struct.unpack(">xBhBi", data[:HEADER_SIZE])


def crc24(data):
    """The header's checksum: polynomial 0x1974F0B, started with 0x875060, low byte first."""
    crc = 0x875060
    for byte in data:
        crc ^= byte << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= 0x1974F0B
    return crc.to_bytes(3, "little")


def crc32(payload):
    return zlib.crc32(payload, zlib.crc32(b"\xfa\x2d\x55\xca")).to_bytes(4, "little")


def segment(payload, self_contained=True):
    """Of a connection without compression."""
    header = (len(payload) | self_contained << 17).to_bytes(3, "little")
    return header + crc24(header) + payload + crc32(payload)


def lz4_segment(payload, uncompressed_size, self_contained=True):
    """Of a connection with LZ4. uncompressed_size 0: the payload is as it is."""
    header = (len(payload) | uncompressed_size << 17 | self_contained << 34).to_bytes(5, "little")
    return header + crc24(header) + payload + crc32(payload)


def segments(data, wrap=segment):
    """Those that carry a frame, as many as it needs."""
    pieces = [data[at:at + MAX_PAYLOAD] for at in range(0, len(data), MAX_PAYLOAD)]
    return b"".join(wrap(piece, len(pieces) == 1) for piece in pieces)


def payload_size(data):
    """Of the segment, without compression, that begins with these bytes."""
    return int.from_bytes(data[:3], "little") & MAX_PAYLOAD
