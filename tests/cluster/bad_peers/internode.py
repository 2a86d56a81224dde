"""The internode protocol as far as a peer needs it that lies: handshake, messages, gossip, mutations and reads as plain bytes.

Numbers are big-endian. A vint is Cassandra's: the ones at the front of the first byte tell how many bytes follow it.
"""
import socket
import struct
import time
import uuid

from frames import crc24, crc32, lz4_segment, segment

PORT = 7000
URGENT, SMALL, LARGE, STREAMING = 1, 2, 3, 4  # types of connections
UNPROTECTED, LZ4, CRC = 0, 1, 2  # framings
MAGIC = 0xCA552DFA
MESSAGE_SPLIT = 65536 - 12  # a larger message has frames of its own

MUTATION_REQ, HINT_REQ, READ_REPAIR_REQ, READ_REQ, RANGE_REQ = 0, 1, 2, 3, 9
SYN, ACK, ACK2, SHUTDOWN = 14, 15, 16, 29
SCHEMA_PUSH_REQ, TRUNCATE_REQ, SCHEMA_PULL_REQ = 18, 19, 28
ECHO_REQ, PING_REQ = 31, 37
MUTATION_RSP, READ_REPAIR_RSP, READ_RSP, SCHEMA_PULL_RSP, ECHO_RSP, PING_RSP, FAILURE_RSP = 60, 62, 63, 88, 91, 97, 99

FORWARD_TO, RESPOND_TO = 0, 1  # types of params
CALL_BACK_ON_FAILURE = 1
CENTURIES = 1 << 43  # milliseconds

SCHEMA, DC, RACK, RELEASE_VERSION = 2, 3, 4, 5
NET_VERSION, HOST_ID, TOKENS, RPC_READY, INTERNAL_ADDRESS, NATIVE_ADDRESS, STATUS_WITH_PORT = 11, 12, 13, 14, 15, 16, 17
X1 = 21  # an application state without a meaning


def vint(value):
    for more in range(8):
        if value < 1 << 7 * (more + 1):
            first = 0xFF << (8 - more) & 0xFF
            return (value | first << 8 * more).to_bytes(more + 1, "big")
    return b"\xff" + value.to_bytes(8, "big")


def read_vint(data, at):
    """The value, and where it ends."""
    first = data[at]
    more = 8
    while more and first >> (8 - more) != (1 << more) - 1:
        more -= 1
    value = first & (0xFF >> (more + 1)) if more < 8 else 0
    for i in range(more):
        value = value << 8 | data[at + 1 + i]
    return value, at + 1 + more


def endpoint(address, port=PORT):
    return b"\x06" + socket.inet_aton(address) + struct.pack(">H", port)


def counted(data):
    return vint(len(data)) + data


# --- handshake


def initiate(claims, kind=SMALL, framing=CRC, versions=(12, 13)):
    flags = (8 if kind == STREAMING else kind) | (framing & 1) << 2 | (framing & 2) << 3
    flags |= versions[0] << 8 | versions[0] << 16 | versions[1] << 24
    head = struct.pack(">II", MAGIC, flags) + endpoint(claims)
    return head + crc32(head)[::-1]


def accept(version=12):
    head = struct.pack(">II", 13, version)
    return head + crc32(head)[::-1]


# --- messages


def message(verb, payload=b"", number=1, expires=10_000, created=None, flags=0, params=()):
    """`created`: milliseconds since 1970; now, if it is not said."""
    created = int(time.time() * 1000) if created is None else created
    head = vint(number) + struct.pack(">I", created & 0xFFFFFFFF) + vint(expires) + vint(verb) + vint(flags) + vint(len(params))
    return head + b"".join(vint(kind) + counted(value) for kind, value in params) + counted(payload)


def parse_message(data, at=0):
    """Number, verb, flags, params and payload of the message there, and where it ends; None when it is not whole."""
    try:
        number, at = read_vint(data, at)
        at += 4
        _, at = read_vint(data, at)
        verb, at = read_vint(data, at)
        flags, at = read_vint(data, at)
        count, at = read_vint(data, at)
        params = []
        for _ in range(count):
            kind, at = read_vint(data, at)
            size, at = read_vint(data, at)
            params.append((kind, data[at:at + size]))
            at += size
        size, at = read_vint(data, at)
    except IndexError:
        return None
    return None if at + size > len(data) else (number, verb, flags, params, data[at:at + size], at + size)


def frames(messages, wrap=segment):
    """Messages as they leave: small ones share frames, a large one has its own."""
    out, together = [], b""
    for each in messages:
        if len(each) > MESSAGE_SPLIT:
            out += [wrap(each[at:at + MESSAGE_SPLIT], False) for at in range(0, len(each), MESSAGE_SPLIT)]
            continue
        if len(together) + len(each) > MESSAGE_SPLIT:
            out.append(wrap(together, True))
            together = b""
        together += each
    if together:
        out.append(wrap(together, True))
    return b"".join(out)


def stored(payload, whole=True):
    """A frame of a connection with LZ4 that is not compressed."""
    return lz4_segment(payload, 0, whole)


def bomb(size, compressed=None):
    """A frame with LZ4 that says it holds `size` bytes, out of a few: one zero, repeated."""
    if compressed is None:
        rest = max(0, size - 1 - 4 - 15 - 12)
        length = b"\xff" * (rest // 255) + bytes([rest % 255])
        compressed = b"\x1f\x00\x01\x00" + length + b"\xc0" + bytes(12)
    head = (len(compressed) | size << 17 | 1 << 34).to_bytes(5, "little")
    return head + crc24(head) + compressed + crc32(compressed)


# --- gossip


def utf(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack(">H", len(data)) + data


def digests(entries):
    return struct.pack(">i", len(entries)) + b"".join(endpoint(address) + struct.pack(">ii", generation, version)
                                                      for address, generation, version in entries)


def states(entries):
    """`entries`: address to (generation, heartbeat, application states); these: number to text, or to (text, version)."""
    out = struct.pack(">i", len(entries))
    for address, (generation, heartbeat, values) in entries.items():
        out += endpoint(address) + state(generation, heartbeat, values)
    return out


def state(generation, heartbeat, values):
    out = struct.pack(">iii", generation, heartbeat, len(values))
    for place, (kind, value) in enumerate(values.items()):
        text, version = value if isinstance(value, tuple) else (value, place + 1)
        out += struct.pack(">i", kind) + utf(text) + struct.pack(">i", version)
    return out


def syn(cluster, entries=(), partitioner="org.apache.cassandra.dht.Murmur3Partitioner"):
    return utf(cluster) + utf(partitioner) + digests(entries)


def ack(asked=(), told=None):
    return digests(asked) + states(told or {})


def tokens(numbers):
    """TOKENS: their bytes as characters."""
    data = b"".join(struct.pack(">iq", 8, number) for number in numbers) + bytes(4)
    return data.decode("latin-1").encode().replace(b"\0", b"\xc0\x80")


def take_address(data, at):
    """An address and where it ends."""
    return socket.inet_ntoa(data[at + 1:at + 5]), at + 1 + data[at]


def parse_states(data, at=0):
    """The entries of an ACK2's payload, by address."""
    out = {}
    count, = struct.unpack_from(">i", data, at)
    at += 4
    for _ in range(count):
        address, at = take_address(data, at)
        generation, heartbeat, values = struct.unpack_from(">iii", data, at)
        at += 12
        found = {}
        for _ in range(values):
            kind, length = struct.unpack_from(">iH", data, at)
            version, = struct.unpack_from(">i", data, at + 6 + length)
            found[kind] = (data[at + 6:at + 6 + length], version)
            at += 10 + length
        out[address] = (generation, heartbeat, found)
    return out


def parse_digests(data, at=0):
    """Address to generation and greatest version, and where they end."""
    out = {}
    count, = struct.unpack_from(">i", data, at)
    at += 4
    for _ in range(count):
        address, at = take_address(data, at)
        out[address] = struct.unpack_from(">ii", data, at)
        at += 8
    return out, at


# --- mutations and reads

EPOCH_SECONDS = 1442880000
EPOCH_MICROS = EPOCH_SECONDS * 1_000_000


def stats(micros, seconds=EPOCH_SECONDS):
    return vint(micros - EPOCH_MICROS) + vint(seconds - EPOCH_SECONDS) + vint(0)


def names(columns):
    return vint(len(columns)) + b"".join(counted(name.encode()) for name in columns)


def row(clustering, cells):
    """A row with all of the header's columns; each its cell's bytes behind the flags."""
    return b"\x24" + clustering + vint(0) + b"".join(b"\x08" + cell for cell in cells)


def update(table, key, columns, rows, micros=None):
    """A partition's part of a mutation; `table` is a uuid.UUID."""
    micros = int(time.time() * 1e6) if micros is None else micros
    return table.bytes + counted(key) + b"\x10" + stats(micros) + names(columns) + vint(len(rows)) + b"".join(rows) + b"\x01"


def partition_deletion(table, key, micros=None):
    micros = int(time.time() * 1e6) if micros is None else micros
    seconds = micros // 1_000_000
    return table.bytes + counted(key) + b"\x14" + stats(micros, seconds) + names([]) + vint(0) + vint(0) + vint(0) + b"\x01"


def mutation(*updates):
    return vint(len(updates)) + b"".join(updates)


def hint(host_id, body, created=None, gc_grace=864000):
    """HINT_REQ for the node with this id."""
    created = int(time.time() * 1000) if created is None else created
    return host_id.bytes + counted(struct.pack(">q", created) + vint(gc_grace) + body)


def member(address, host_id, owned, **changed):
    """The application states of a node that has joined the ring."""
    values = {HOST_ID: str(host_id), NET_VERSION: "12", RELEASE_VERSION: "5.0.9", DC: "datacenter1", RACK: "rack1", SCHEMA: str(uuid.uuid4()), RPC_READY: "true",
              NATIVE_ADDRESS: f"{address}:9042", INTERNAL_ADDRESS: f"{address}:{PORT}", TOKENS: tokens(owned), STATUS_WITH_PORT: f"NORMAL,{owned[0]}"}
    return values | {KINDS[name]: value for name, value in changed.items()}


KINDS = {"dc": DC, "rack": RACK, "release": RELEASE_VERSION, "schema": SCHEMA, "status": STATUS_WITH_PORT}


# --- changes of the schema

COLUMNS = ["clustering_order", "column_name_bytes", "kind", "position", "type"]  # of system_schema.columns


def texts(*values):
    """A clustering of texts, none of them empty; bytes go as they are."""
    return b"\0" + b"".join(counted(value if isinstance(value, bytes) else value.encode()) for value in values)


def column_row(table, name, cql_type, kind="regular", position=-1):
    cells = [counted(b"none"), counted(name.encode()), counted(kind.encode()), struct.pack(">i", position), counted(cql_type.encode())]
    return row(texts(table, name), cells)


def schema_push(*mutations):
    return message(SCHEMA_PUSH_REQ, struct.pack(">i", len(mutations)) + b"".join(mutations), flags=CALL_BACK_ON_FAILURE)
