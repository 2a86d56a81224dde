"""CQL types and values of them, each in both forms that a client can send: as a literal and as bytes."""
import collections
import dataclasses
import ipaddress
import re
import struct
import uuid

# A value; `data` is None for null. `literal` is None for a value that only bytes can say.
Value = collections.namedtuple("Value", "literal data")
NULL = Value("null", None)


@dataclasses.dataclass(frozen=True)
class Type:
    kind: str  # native, list, set, map, tuple, udt or vector
    name: str  # as it is written in CQL
    arguments: tuple = ()  # of collections, tuples and vectors; of UDTs the types of fields
    fields: tuple = ()  # UDT: names
    dimension: int = 0
    frozen: bool = True

    @property
    def multicell(self):
        return not self.frozen and self.kind in ("list", "set", "map", "udt")

    @property
    def is_collection(self):
        return self.kind in ("list", "set", "map")


def signed(size, numbers):
    return [Value(str(n), n.to_bytes(size, "big", signed=True)) for n in numbers]


def varint_bytes(n):
    return n.to_bytes((n if n >= 0 else ~n).bit_length() // 8 + 1, "big", signed=True)


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def texts(strings):
    return [Value(quoted(s), s.encode()) for s in strings]


def floats(layout, numbers):
    found = [Value(text, struct.pack(layout, float(text))) for text in numbers]
    return found + [Value("NaN", struct.pack(layout, float("nan"))), Value("Infinity", struct.pack(layout, float("inf"))),
                    Value("-Infinity", struct.pack(layout, float("-inf")))]


def decimal(text, unscaled, scale):
    return Value(text, scale.to_bytes(4, "big", signed=True) + varint_bytes(unscaled))


def zigzag(n):
    n = (n << 1) ^ (n >> 63)
    size = max(1, (n.bit_length() - 1) // 7 + 1)
    if size > 8:
        return b"\xff" + n.to_bytes(8, "big")
    return ((((0xFF << (9 - size)) & 0xFF) << (8 * (size - 1))) | n).to_bytes(size, "big")


def duration(text, months, days, nanoseconds):
    return Value(text, zigzag(months) + zigzag(days) + zigzag(nanoseconds))


def uuids(strings):
    return [Value(s, uuid.UUID(s).bytes) for s in strings]


NATIVE = {
    "ascii": texts(["", "a", "b", "ab", "it's", "zz"]),
    "text": texts(["", "a", "b", "ba", "é", "日本", "it's", "a" * 40]),
    "blob": [Value("0x" + data.hex(), data) for data in (b"", b"\0", b"\1", b"\0\1", b"\x7f\xff", b"\xff", b"\xff\0")],
    "boolean": [Value("true", b"\1"), Value("false", b"\0"), Value("TRUE", b"\1")],
    "tinyint": signed(1, [0, 1, 2, -1, 127, -128]),
    "smallint": signed(2, [0, 1, 2, -1, 32767, -32768]),
    "int": signed(4, [0, 1, 2, 3, -1, 2147483647, -2147483648]),
    "bigint": signed(8, [0, 1, 2, 3, -1, 9223372036854775807, -9223372036854775808]),
    "varint": [Value(str(n), varint_bytes(n)) for n in (0, 1, 2, -1, 127, 128, -128, -129, 10 ** 30, -10 ** 30)],
    "decimal": [decimal("0", 0, 0), decimal("1", 1, 0), decimal("-2.5", -25, 1), decimal("1.0", 10, 1), decimal("1.00", 100, 2),
                decimal("1e10", 1, -10), decimal("0.000001", 1, 6), decimal("123456789012345678901234567890.5", 1234567890123456789012345678905, 1)],
    "float": floats(">f", ["0.0", "-0.0", "1.5", "-2", "3.4e38"]),
    "double": floats(">d", ["0.0", "-0.0", "1.5", "-2", "1e300"]),
    "timestamp": [Value("0", bytes(8)), Value("'2020-02-29 12:34:56.789+0000'", (1582979696789).to_bytes(8, "big")),
                  Value("'1969-12-31T23:59:59Z'", (-1000).to_bytes(8, "big", signed=True)), Value("'2020-02-29'", (1582934400000).to_bytes(8, "big")),
                  Value("1582979696789", (1582979696789).to_bytes(8, "big")), Value("-1000", (-1000).to_bytes(8, "big", signed=True))],
    "date": [Value("'1970-01-01'", (1 << 31).to_bytes(4, "big")), Value("'2020-02-29'", ((1 << 31) + 18321).to_bytes(4, "big")),
             Value("2147483647", ((1 << 31) - 1).to_bytes(4, "big")), Value("'1969-12-31'", ((1 << 31) - 1).to_bytes(4, "big"))],
    "time": [Value("'00:00:00'", bytes(8)), Value("'12:34:56.789'", (45296789000000).to_bytes(8, "big")), Value("'23:59:59.999999999'", (86399999999999).to_bytes(8, "big")),
             Value("45296789000000", (45296789000000).to_bytes(8, "big"))],
    "uuid": uuids(["00000000-0000-0000-0000-000000000000", "5132b130-ae79-11e4-ab27-0800200c9a66", "6ba7b810-9dad-41d1-80b4-00c04fd430c8", "ffffffff-ffff-4fff-bfff-ffffffffffff"]),
    "timeuuid": uuids(["5132b130-ae79-11e4-ab27-0800200c9a66", "5132b131-ae79-11e4-ab27-0800200c9a66", "5132b130-ae79-11e4-0b27-0800200c9a66", "00000000-0000-1000-8000-000000000000"]),
    "inet": [Value(quoted(s), ipaddress.ip_address(s).packed) for s in ("127.0.0.1", "10.0.0.255", "::1", "2001:db8::ff00:42:8329")],
    "duration": [duration("1mo2d3ns", 1, 2, 3), duration("89h4m48s", 0, 0, 320688 * 10 ** 9), duration("-1y", -12, 0, 0), duration("P1Y2M10DT2H30M", 14, 10, 9000 * 10 ** 9),
                 duration("2w", 0, 14, 0)],
}
NATIVE["varchar"] = NATIVE["text"]
NATIVE["counter"] = NATIVE["bigint"]
ZERO_SIZED = ("int", "bigint", "float", "double", "boolean", "varint", "decimal", "timestamp", "uuid", "timeuuid", "inet")  # empty bytes are a value
FIXED = {"boolean": 1, "bigint": 8, "double": 8, "float": 4, "int": 4, "timestamp": 8, "uuid": 16, "timeuuid": 16}
NUMERIC = ("tinyint", "smallint", "int", "bigint", "varint", "decimal", "float", "double")
NATIVE_TYPES = {name: Type("native", name) for name in NATIVE}


def native(name):
    return NATIVE_TYPES[name]


def collection(kind, *arguments, frozen):
    name = f"{kind}<{', '.join(a.name for a in arguments)}>"
    return Type(kind, f"frozen<{name}>" if frozen else name, arguments, frozen=frozen)


def tuple_of(*arguments):
    return Type("tuple", f"tuple<{', '.join(a.name for a in arguments)}>", arguments)


def vector(element, dimension):
    return Type("vector", f"vector<{element.name}, {dimension}>", (element,), dimension=dimension)


def udt(name, fields, types, frozen):
    return Type("udt", f"frozen<{name}>" if frozen else name, tuple(types), tuple(fields), frozen=frozen)


def frozen(type):
    if type.frozen:
        return type
    return dataclasses.replace(type, name=f"frozen<{type.name}>", frozen=True)


def sized(data):
    return b"\xff\xff\xff\xff" if data is None else struct.pack(">i", len(data)) + data


def fixed_size(type):
    if type.kind == "vector":
        size = fixed_size(type.arguments[0])
        return None if size is None else size * type.dimension
    return FIXED.get(type.name) if type.kind == "native" else None


def unsigned_vint(n):
    return bytes([n]) if n < 128 else (0x8000 | n).to_bytes(2, "big")


EQUAL_DECIMALS = re.compile(r"\b1\.00?\b")


class Values:
    """Picks values. Few of each type, so that keys meet again and again."""

    short_tuples = 0.1  # the share of tuples that lack their last elements

    def __init__(self, random):
        self.random = random

    def of(self, type, few=False):
        """A valid value, not null. `few` narrows natives to the first three: for keys."""
        return getattr(self, "_" + type.kind)(type, few)

    def _native(self, type, few):
        pool = NATIVE[type.name]
        return self.random.choice(pool[:3] if few else pool)

    def _elements(self, type, few, distinct=False):
        """`distinct`: Cassandra keeps any one of equal keys in a literal, and it is left to chance which. Sets are equal in any order."""
        elements = [self.of(type.arguments[0], few) for _ in range(self.random.choice((0, 1, 1, 2, 2, 3)))]
        if not distinct:
            return elements
        elements = [e for e in elements if not EQUAL_DECIMALS.search(e.literal)]
        return list({tuple(sorted(e.data)): e for e in elements}.values())

    def _list(self, type, few):
        elements = self._elements(type, few)
        return Value("[" + ", ".join(e.literal for e in elements) + "]", struct.pack(">i", len(elements)) + b"".join(sized(e.data) for e in elements))

    def _set(self, type, few):
        elements = self._elements(type, few, True)
        return Value("{" + ", ".join(e.literal for e in elements) + "}", struct.pack(">i", len(elements)) + b"".join(sized(e.data) for e in elements))

    def _map(self, type, few):
        pairs = [(key, self.of(type.arguments[1], few)) for key in self._elements(type, few, True)]
        literal = "{" + ", ".join(f"{key.literal}: {value.literal}" for key, value in pairs) + "}"
        return Value(literal, struct.pack(">i", len(pairs)) + b"".join(sized(key.data) + sized(value.data) for key, value in pairs))

    def _maybe_null(self, type, few):
        return NULL if self.random.random() < 0.1 else self.of(type, few)

    def _tuple(self, type, few):
        values = [self._maybe_null(a, few) for a in type.arguments]
        if self.random.random() < self.short_tuples:
            values = values[:self.random.randint(1, len(values))]
        return Value("(" + ", ".join(v.literal for v in values) + ")", b"".join(sized(v.data) for v in values))

    def _udt(self, type, few):
        values = [self._maybe_null(a, few) for a in type.arguments]
        pairs = list(zip(type.fields, values))
        data = b"".join(sized(v.data) for v in values)
        if self.random.random() < 0.2:  # a literal need not name every field, and names them in any order
            named = [pair for pair in pairs if pair[1] is not NULL]
            self.random.shuffle(named)
            pairs = named or pairs
        return Value("{" + ", ".join(f"{name}: {value.literal}" for name, value in pairs) + "}", data)

    def _vector(self, type, few):
        elements = [self.of(type.arguments[0], few) for _ in range(type.dimension)]
        literal = "[" + ", ".join(e.literal for e in elements) + "]"
        if fixed_size(type.arguments[0]) is not None:
            return Value(literal, b"".join(e.data for e in elements))
        return Value(literal, b"".join(unsigned_vint(len(e.data)) + e.data for e in elements))
