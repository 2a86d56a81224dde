"""JSON texts of random values, in the forms that INSERT JSON and from_json take, and some that they do not."""
import json

from values import EQUAL_DECIMALS, NATIVE, NUMERIC, Value, native, quoted

UNQUOTED = NUMERIC + ("counter",)  # JSON numbers, where they are finite
ODD = ["null", "1", "-1", "1.5", "1e3", "true", '"true"', '"a"', '""', "[]", "{}", "[1]", "[null]", '{"a": 1}', '{"f0": 1}', '["a", 2]', '{"1": 2}', '"1"', '" 1"', "9223372036854775808", '"0x"', '"0xab"', '"ab"', '"2020-02-29"']
DURATIONS = ['"1d"', '"1y2mo"', '"-1h30m"', '"P1Y2M"', '""', '"x"', '"1h1d"', '"1y1y"', '"1d2"', '"P"', '"9999999999y"', "5", "[]"]
BROKEN = ["", " ", "nope", "[", '{"a"', "{", '"a', "1 2", "01", "[1,]", "{1: 2}", "'a'", "nan", "[1 2]", "+1"]


class Json:
    def __init__(self, random, chaos=0.0):
        self.random, self.chaos = random, chaos

    def chance(self, p):
        return self.random.random() < p

    def of(self, type, few=False):
        """The JSON text of a value."""
        if self.chaos and self.chance(self.chaos):
            if type.name == "duration" and self.chance(0.7):
                return self.random.choice(DURATIONS)
            return self.random.choice(ODD) if self.chance(0.7) else self.of(native(self.random.choice(list(NATIVE))))
        return getattr(self, "_" + type.kind)(type, few)

    def _native(self, type, few):
        pool = NATIVE[type.name]
        literal = self.random.choice(pool[:3] if few else pool).literal
        text = literal[1:-1].replace("''", "'") if literal.startswith("'") else literal
        if type.name == "boolean":
            text = text.lower()
        is_number = type.name in UNQUOTED and text[-1].isdigit() or type.name in ("timestamp", "time", "date") and not literal.startswith("'")
        bare = type.name == "boolean" or is_number
        return text if bare and not self.chance(0.15) else json.dumps(text, ensure_ascii=self.chance(0.5))

    def _items(self, type, few, distinct):
        items = [self.of(type, few) for _ in range(self.random.choice((0, 1, 1, 2, 2, 3)))]
        return [item for item in dict.fromkeys(items) if not EQUAL_DECIMALS.search(item)] if distinct else items

    def _list(self, type, few):
        return "[" + ", ".join(self._items(type.arguments[0], few, False)) + "]"

    def _set(self, type, few):
        return "[" + ", ".join(self._items(type.arguments[0], few, True)) + "]"

    def _map(self, type, few):
        """One entry, where two keys might be the same in different words."""
        keys = [key if key.startswith('"') else json.dumps(key) for key in self._items(type.arguments[0], few, True)]
        if type.arguments[0].name not in ("int", "bigint", "smallint", "tinyint", "text", "varchar", "uuid", "inet"):
            keys = keys[:1]
        return "{" + ", ".join(f"{key}: {self.maybe_null(type.arguments[1], few) if self.chaos else self.of(type.arguments[1], few)}" for key in keys) + "}"

    def maybe_null(self, type, few):
        return "null" if self.chance(0.1) else self.of(type, few)

    def _tuple(self, type, few):
        return "[" + ", ".join(self.maybe_null(a, few) for a in type.arguments) + "]"

    def _vector(self, type, few):
        return "[" + ", ".join(self.of(type.arguments[0], few) for _ in range(type.dimension)) + "]"

    def _udt(self, type, few):
        return self.object([(name, self.maybe_null(a, few)) for name, a in zip(type.fields, type.arguments) if not self.chance(0.1)])

    def object(self, members):
        """`members`: names as CQL writes them, and JSON texts."""
        return "{" + ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {text}" for name, text in members) + "}"

    def value(self, text):
        """The JSON text as a CQL value."""
        if self.chaos and self.chance(self.chaos):
            text = self.random.choice(BROKEN + ODD)
        return Value(quoted(text), text.encode())
