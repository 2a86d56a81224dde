"""One statement while it is written: its text, and the values that its bind markers stand for."""
import dataclasses
import re

from json_values import Json
from protocol import UNSET, Options
from values import NATIVE, NUMERIC, NULL, Values, native, sized

TOKENS = re.compile(r"\s+|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[A-Za-z_][A-Za-z_0-9]*|[0-9.]+|.", re.DOTALL)
ODD_TOKENS = ["(", ")", "[", "]", "{", "}", ",", ";", "=", "<", "?", ":x", "'x'", "1", "1.5", "-", "+", "*", ".", "null", "select", "from", "where", "and", "in", "x", "$$a$$", "0xab",
              "\"Q\"", "@", "'", "--", "/*", "token", "key", "contains", "like", "is not null", "limit", "order by", "if", "using"]
HINTED = {"int": ["(int)%s", "blob_as_int(int_as_blob(%s))"], "text": ["(text)%s", "blob_as_text(text_as_blob(%s))"], "bigint": ["(bigint)%s", "blob_as_bigint(bigint_as_blob(%s))"],
          "blob": ["int_as_blob(5)", "text_as_blob('a')"], "timestamp": ["to_timestamp(5132b130-ae79-11e4-ab27-0800200c9a66)"], "date": ["to_date('2020-02-29')"]}


@dataclasses.dataclass
class Statement:
    """What is sent. `kind`: read, write, schema or other; the runner waits for indexes after schema."""
    kind: str
    text: str
    options: Options
    mode: str = "query"  # query, prepare or batch
    table: str = None
    batch: tuple = None  # kind, texts with their values

    def __str__(self):
        o = self.options
        said = [f"{name}={value!r}" for name, value in (("timestamp", o.timestamp), ("now", o.now), ("page_size", o.page_size), ("paging_state", o.paging_state)) if value is not None]
        if o.values:
            shown = ["UNSET" if v is UNSET else "null" if v is None else "0x" + v.hex() for v in o.values]
            said.append("values=" + (str(dict(zip(o.names, shown))) if o.names else "[" + ", ".join(shown) + "]"))
        if self.batch:
            said.append(f"batch {self.batch[0]}: " + "; ".join(f"{text} {[v.hex() if isinstance(v, bytes) else v for v in values]}" for text, values in self.batch[1]))
        return f"{self.mode}: {self.text}" + (" -- " + ", ".join(said) if said else "")


class Writer:
    """Appends terms to a text. `binding` is the share of values that are bound, `chaos` that of values which are not what they should be."""

    def __init__(self, random, binding=0.0, named=False, chaos=0.0):
        self.random, self.binding, self.named, self.chaos = random, binding, named, chaos
        self.pool = Values(random)
        self.values, self.names = [], []

    def chance(self, p):
        return self.random.random() < p

    def bind(self, data):
        self.values.append(data)
        if not self.named:
            return "?"
        self.names.append(f"n{len(self.names)}")
        return ":" + self.names[-1]

    def value(self, value):
        """A value as a literal or a marker."""
        if value.literal is None or self.chance(self.binding):
            return self.bind(value.data)
        return value.literal

    def term(self, type, few=False, nulls=0.0):
        """A term for a receiver of this type; mostly a fit one."""
        if self.chaos and self.chance(self.chaos):
            return self.odd_term(type)
        if nulls and self.chance(nulls):
            return self.bind(UNSET) if self.binding and self.chance(0.3) else self.value(NULL)
        value = self.pool.of(type, few)
        if type.name in HINTED and self.chance(0.03):
            pattern = self.random.choice(HINTED[type.name])
            return pattern % value.literal if "%s" in pattern else pattern
        if self.chance(0.01):
            json = Json(self.random, self.chaos)
            return f"from_json({self.value(json.value(json.of(type, few)))})"
        if type.name in NUMERIC and self.chance(0.02):
            return f"{self.pool.of(type, True).literal} {self.random.choice('+-*/%')} {self.random.choice(['1', '2', '-1', '3'])}"
        return self.value(value)

    def odd_term(self, type):
        choice = self.random.randrange(10)
        if choice <= 4:
            other = native(self.random.choice(list(NATIVE)))
            value = self.pool.of(other)
            return self.value(value)
        if choice == 5:
            return self.value(NULL)
        if choice == 6 and self.binding:
            return self.bind(self.random.choice([UNSET, b"", b"\0", b"\xff" * 3, b"\0" * 5, sized(b"\1"), b"\0\0\0\1" + sized(b"abc"), b"\xff\xff\xff\xff"]))
        if choice == 7:
            return self.random.choice(["[1, 'a']", "{1, 2}", "{1: 2}", "(1, 2)", "{a: 1}", "[]", "{}", "[null]", "{null}", "{1: null}", "[[1]]", "()", "(int)'a'", "(text)1", "-'a'", "1 + 'a'",
                                       "unknown_function(1)", "blob_as_int(1)", "int_as_blob('a')", "to_date(1)", "{f0: 1}", "{f0: 'a', f9: 2}", "9999999999999999999999", "'2020-13-01'",
                                       "''", "0x", "0x123", "P1Y", "1h1h", "'300.1.1.1'", "'24:00:00'", "-0", "1.", "true", "nan", "-infinity", "1 / 0", "1.5 % 2", "(tinyint)300",
                                       "cast((int)1 as varchar)", "sum(1)", "(u0){f0: nope()}", "(u0){nope: 1}", "('Int32Type')'a'", "(vector<int, -1>)[1]"])
        return self.pool.of(type).literal.replace(",", "", 1) if choice == 8 else self.value(self.pool.of(type))

    def list_of(self, type, count, few=True):
        """What follows IN: a list of terms, or one marker for the whole list."""
        if self.binding and self.chance(0.4):
            values = [self.pool.of(type, few) for _ in range(count)]
            return self.bind(len(values).to_bytes(4, "big") + b"".join(sized(v.data) for v in values))
        return "(" + ", ".join(self.term(type, few) for _ in range(count)) + ")"

    def options(self, **fields):
        return Options(values=tuple(self.values), names=tuple(self.names) if self.named and self.values else None, **fields)


def garbled(random, text):
    """The text with one or two tokens lost, doubled, swapped or replaced."""
    tokens = TOKENS.findall(text)
    for _ in range(random.choice([1, 1, 2])):
        words = [i for i, token in enumerate(tokens) if not token.isspace()]
        if not words:
            break
        at = random.choice(words)
        how = random.randrange(5)
        if how == 0:
            del tokens[at]
        elif how == 1:
            tokens.insert(at, tokens[at] + " ")
        elif how == 2:
            other = random.choice(words)
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif how == 3:
            tokens[at] = random.choice(ODD_TOKENS)
        else:
            tokens.insert(at, random.choice(ODD_TOKENS) + " ")
    return "".join(tokens)
