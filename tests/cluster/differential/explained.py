"""Differences that are Cassandra's own, each with its name in docs/COMPATIBILITY.md. They are counted, and are no failures.

Some are known by the words of the two answers alone, the others by what was asked, and by what was asked before, too.
"""
import dataclasses
import re
import struct

from session import shown

# name: what we answer, what Cassandra answers, both as `session.shown` has them
BY_WORDS = {
    "errors of user types are invalid requests": (r"^error 0x2200 ", r"^error 0x0000 .org\.apache\.cassandra\.serializers\.MarshalException"),
    "bytes that are too short for a literal of a tuple": (r"^error 0x2200 .Not enough bytes to read", r""),
    "Java exceptions": (r"", r"^error 0x(0000 .|2000 .Failed parsing statement: .* reason: )(java\.lang\.)?(NullPointerException|IndexOutOfBoundsException|ClassCastException|UnsupportedOperationException|NumberFormatException)"),
    "what a JVM says of a cast": (r"cannot be cast to String", r"cannot be cast to class java\.lang\.String"),
    "what the JSON parser says": (r"(Could not decode|Error decoding) JSON string", r"(Could not decode|Error decoding) JSON string"),
    "hex constants for a tinyint": (r"^error 0x2200 .Invalid HEX constant \(0x\w*\) for .* of type tinyint", r""),
    "numbers beyond a double": (r"", r"reason: NumberFormatException"),
    "functions of timeuuids": (r"", r"^(rows|prepared) .*LegacyTimeUUIDType"),
}
# Of statements on tables with a descending column.
OF_DESCENDING_COLUMNS = {
    "{} for a map in a descending column": (r"", r"^error 0x0000 .java\.lang\.ClassCastException: class org\.apache\.cassandra\.db\.marshal\.MapType cannot be cast to class .*SetType"),
    "casts of descending columns to their own type": (r"^(rows|prepared)", r"^error 0x2200 .Invalid call to function system\.cast_as_"),
    "similarity of descending columns": (r"", r"^error 0x2200 .Function system\.similarity_\w+ requires a float vector argument, but found argument \w+ of type vector<float"),
    "CONTAINS and descending columns": (r"", r"Cannot use CONTAINS( KEY)? on non-(collection|map) column"),
    "arithmetic for descending columns": (r"", r"^error 0x2200 .Ambiguous .* operation with args"),
}
FAILED_INSIDE = re.compile(r"^Operation failed - received 0 responses and 1 failures: UNKNOWN")
NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:E-?[0-9]+)?")


@dataclasses.dataclass
class Difference:
    """`before`: the statements of this case so far."""
    statement: object
    before: list
    ours: object
    theirs: object

    @property
    def texts(self):
        s = self.statement
        return [text for text, _ in s.batch[1]] if s.batch else [s.text]

    @property
    def values(self):
        s = self.statement
        found = [v for _, values in s.batch[1] for v in values] if s.batch else s.options.values
        return [v for v in found if isinstance(v, bytes)]

    def on_table(self, statements):
        """Those of the statements that say the name of a table of this one."""
        tables = {s.table for s in self.before if s.kind == "schema" and s.table and any(re.search(rf"\b{s.table}\b", text) for text in self.texts)}
        return [s for s in statements if any(re.search(rf"\b{table}\b", text) for table in tables for text in ([t for t, _ in s.batch[1]] if s.batch else [s.text]))]

    def schema(self, pattern):
        """Schema statements on the tables of this statement that begin like this."""
        return [m for m in (re.match(pattern, s.text) for s in self.on_table(self.before) if s.kind == "schema") if m]

    def asks(self, pattern):
        return any(re.search(pattern, text, re.IGNORECASE | re.DOTALL) for text in self.texts)

    @property
    def both_rows(self):
        """Whether both answers are rows, and alike but for these."""
        a, b = self.ours, self.theirs
        return a.kind == b.kind == "rows" and (a.columns, a.warnings) == (b.columns, b.warnings)


def has_descending_columns(d):
    return bool(d.schema(r"CREATE TABLE .*CLUSTERING ORDER BY \(.* DESC"))


# --- What fails inside of Cassandra: a read or write failure without a reason ---

def failed_inside(d, code):
    return d.theirs.kind == "error" and d.theirs.error[0] == code and FAILED_INSIDE.match(d.theirs.error[1])


def rows_of_two_versions(d):
    """NullPointerException in Row.Merger or Cell.Serializer, "is not a subset of" in Columns.Serializer."""
    return failed_inside(d, 0x1300) and d.schema(r"ALTER TABLE \S+ (ADD|DROP) ")


def groups_in_pages(d):
    """RTBoundCloser: "has an open RT bound as its last item"."""
    return failed_inside(d, 0x1300) and d.asks(r"\bGROUP\s+BY\b") and d.statement.options.page_size is not None and any(re.match("DELETE|BEGIN", s.text) or s.batch for s in d.on_table(d.before))


def null_inside_of_a_bound(d):
    """NullPointerException in the comparison of a tuple's or a user type's fields."""
    return (failed_inside(d, 0x1300) or failed_inside(d, 0x1500)) and d.asks(r"[<>]|\bIN\b|^DELETE") and (d.asks(r"\bnull\b") or any(b"\xff\xff\xff\xff" in v for v in d.values))


def null_inside_of_a_list(d):
    """Stored in a clustering, refused by the memtable, or a NullPointerException, where the list is not used for IN."""
    refused = d.ours.kind == "error" and d.ours.error[:2] == (0x2200, "Null value read when not allowed")
    return refused and (d.theirs.kind in ("void", "rows") or failed_inside(d, 0x1300) or failed_inside(d, 0x1500) or d.theirs.kind == "error" and "NullPointerException" in d.theirs.error[1])


def null_as_bound(d):
    went_on = d.theirs.kind in ("rows", "void") or failed_inside(d, 0x1500) or d.theirs.kind == "error" and d.theirs.error[1] == "Key may not be empty"
    return went_on and d.ours.kind == "error" and re.match("Invalid null value in condition for column", d.ours.error[1]) and d.asks(r"[<>]=?\s*\(?(null|[?:(])")


# --- Words of errors ---

def which_value_of_a_document(d):
    said = [re.match(r"(?:Error decoding JSON value for (.*?): |JSON values map contains unrecognized column: (.*))", a.error[1]) if a.kind == "error" else None for a in (d.ours, d.theirs)]
    return all(said) and said[0].groups() != said[1].groups()


def order_of_fields(d):
    if d.ours.kind != "error" or d.theirs.kind != "error":
        return False
    words = [a.error[1] for a in (d.ours, d.theirs)]
    return d.ours.error[0] == d.theirs.error[0] and "{" in words[0] and sorted(re.findall(r"\S", words[0])) == sorted(re.findall(r"\S", words[1]))


# --- Rows ---

def json_of_all_columns_in_order(d):
    return d.both_rows and d.asks(r"^SELECT\s+JSON\s+\*.*\bIN\b.*\bORDER\s+BY\b") and sorted(d.ours.rows) == sorted(d.theirs.rows)


def cells(d):
    """Pairs of cells that differ, with the type of their column; None when there are more rows on one side."""
    if not d.both_rows or len(d.ours.rows) != len(d.theirs.rows):
        return None
    pairs = [(type, a, b) for x, y in zip(d.ours.rows, d.theirs.rows) for (_, type), a, b in zip(d.ours.columns, x, y) if a != b]
    return pairs if all(a is not None and b is not None for _, a, b in pairs) else None


def spelling_of_a_varint(d):
    found = cells(d)
    return found and all(type.startswith("varint ") and int.from_bytes(a, "big", signed=True) == int.from_bytes(b, "big", signed=True) for type, a, b in found)


def same_number(a, b):
    if a == b:
        return True
    if not (NUMBER.fullmatch(a) and NUMBER.fullmatch(b)):
        return False
    x, y = float(a), float(b)
    return x == y or max(abs(x), abs(y)) < 3.4e38 and struct.pack(">f", x) == struct.pack(">f", y)


def text_of_a_float(d):
    """More digits than are needed, in JSON and in casts to text."""
    found = cells(d)
    if not found or not all(type.startswith(("text ", "ascii ")) for type, _, _ in found):
        return False
    for _, a, b in found:
        a, b = a.decode(), b.decode()
        if NUMBER.sub("0", a) != NUMBER.sub("0", b) or len(a) > len(b) or not all(map(same_number, NUMBER.findall(a), NUMBER.findall(b))):
            return False
    return True


def lost_by_an_index_on_a_key(d):
    """We have all rows that Cassandra has, in the same order, and more, in a table whose rows had a TTL."""
    if not d.both_rows or not (d.schema(r".*default_time_to_live") or any(re.search(r"\bTTL [1-9]", t) for s in d.on_table(d.before) for t in ([t for t, _ in s.batch[1]] if s.batch else [s.text]))):
        return False
    keys = [m[1] for m in d.schema(r"CREATE TABLE .*PRIMARY KEY \((.*)\)\)")]
    indexed = [m[1] for m in d.schema(r"CREATE INDEX \S+ ON \S+ \((.*)\) USING")]
    if not any(d.asks(rf"{re.escape(column)} =") for column in indexed for key in keys if re.search(rf"(^|[ (]){re.escape(column)}($|[,)])", key)):
        return False
    rest = iter(d.ours.rows)
    return all(row in rest for row in d.theirs.rows)


BY_REASON = {
    "null as the bound of a slice": null_as_bound,
    "null inside of a bound list": null_inside_of_a_list,
    "reads of rows of two versions of a table": rows_of_two_versions,
    "groups in pages where ranges are deleted": groups_in_pages,
    "null inside of a bound": null_inside_of_a_bound,
    "which of several values of a JSON document is wrong": which_value_of_a_document,
    "order of fields in messages": order_of_fields,
    "SELECT JSON * in the order of its text": json_of_all_columns_in_order,
    "which spelling of a varint a row has": spelling_of_a_varint,
    "more digits than a float needs": text_of_a_float,
    "rows that an index on a key column lost": lost_by_an_index_on_a_key,
}


def explanation(statement, before, ours, theirs):
    """The name of a difference that is explained, or None. `before`: the statements of this case so far."""
    d = Difference(statement, before, ours, theirs)

    def says(patterns):
        return re.search(patterns[0], shown(ours)) and re.search(patterns[1], shown(theirs))

    for name, patterns in BY_WORDS.items():
        if says(patterns):
            return name
    for name, patterns in OF_DESCENDING_COLUMNS.items():
        if says(patterns) and has_descending_columns(d):
            return name
    return next((name for name, holds in BY_REASON.items() if holds(d)), None)
