"""Differences that are Cassandra's own, each with its name in docs/COMPATIBILITY.md. They are counted, and are no failures.

Some are known by the words of the two answers alone, the others by what was asked, and by what was asked before, too.
"""
import dataclasses
import fractions
import re
import struct

from session import compared, shown

# name: what we answer, what Cassandra answers, both as `session.shown` has them
BY_WORDS = {
    "bytes that are too short for a vector": (r"^error 0x2200 .Not enough bytes to read", r"^error 0x0000 .java\.lang\.IndexOutOfBoundsException"),
    "increments of the wrong size": (r"^(void|error 0x2200 )", r"^error 0x0000 .java\.lang\.IndexOutOfBoundsException"),
    "counters from JSON": (r"^error 0x", r"^error 0x0000 .java\.lang\.UnsupportedOperationException"),
    "null inside of a bound list": (r"^error 0x2200 .(Null value read when not allowed|Invalid null value in condition)", r"^error 0x0000 .java\.lang\.NullPointerException: Cannot invoke \"java\.nio\.ByteBuffer\.(remaining|duplicate)"),
    "a set that is subtracted from a map": (r"^error 0x2200 .Value for a map substraction has to be a set", r"^error 0x0000 .java\.lang\.ClassCastException"),
    "GROUP BY of a literal": (r"^error 0x2200 .Only column names and functions can be in the GROUP BY clause", r"^error 0x0000 .java\.lang\.ClassCastException: class .*Selectable\$WithTerm"),
    "operations without a column": (r"^error 0x2000 ", r"^error 0x2000 .Failed parsing statement: .* reason: NullPointerException .*ColumnIdentifier\.equals"),
    "numbers beyond a double": (r"", r"^error 0x2000 .Failed parsing statement: .* reason: NumberFormatException"),
    "what a JVM says of a cast": (r"cannot be cast to String", r"cannot be cast to class java\.lang\.String"),
    "hex constants for a tinyint": (r"^error 0x2200 .Invalid HEX constant \(0x\w*\) for .* of type tinyint", r""),
}
# Of statements on tables with a descending column.
OF_DESCENDING_COLUMNS = {
    "{} for a map in a descending column": (r"", r"^error 0x0000 .java\.lang\.ClassCastException: class org\.apache\.cassandra\.db\.marshal\.MapType cannot be cast to class .*SetType"),
    "casts of descending columns to their own type": (r"", r"^error 0x2200 .Invalid call to function system\.cast_as_"),
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


def floor_of_a_time(d):
    """An invalid request of the replica, told as its failure."""
    return failed_inside(d, 0x1300) and d.asks(r"GROUP BY .*\bfloor\(")


def decimal_without_digits(d):
    """NumberFormatException: "Zero length BigInteger", where a decimal of a scale alone was written."""
    written = (v for s in d.on_table(d.before) for v in ([v for _, values in s.batch[1] for v in values] if s.batch else s.options.values))
    return failed_inside(d, 0x1300) and d.schema(r"CREATE TABLE .*\bdecimal\b") and any(isinstance(v, bytes) and len(v) == 4 for v in written)


def fields_of_a_key(d):
    """NullPointerException and IndexOutOfBoundsException in TupleType.compareCustom, of fields that are null or missing in a key or an indexed column."""
    fields = r"(tuple<|\bu\d\b|vector<)"
    return (failed_inside(d, 0x1300) or failed_inside(d, 0x1500)) and d.schema(r"CREATE TABLE .*" + fields) and (d.schema("CREATE INDEX") or d.asks(r"[<>]|\bIN\b|^DELETE"))


def rows_of_two_versions(d):
    """NullPointerException in Row.Merger or Cell.Serializer, "is not a subset of" in Columns.Serializer."""
    return failed_inside(d, 0x1300) and d.schema(r"ALTER TABLE \S+ (ADD|DROP) ")


def groups_in_pages(d):
    """RTBoundCloser: "has an open RT bound as its last item"."""
    return failed_inside(d, 0x1300) and d.asks(r"\bGROUP\s+BY\b") and (d.statement.options.page_size is not None or d.asks(r"\bLIMIT\b")) and any(re.match("DELETE|BEGIN", s.text) or s.batch for s in d.on_table(d.before))


def null_inside_of_a_list(d):
    """Stored in a clustering, refused by the memtable, or a NullPointerException, where the list is not used for IN."""
    refused = d.ours.kind == "error" and d.ours.error[:2] == (0x2200, "Null value read when not allowed")
    return refused and (d.theirs.kind in ("void", "rows") or failed_inside(d, 0x1300) or failed_inside(d, 0x1500) or d.theirs.kind == "error" and "NullPointerException" in d.theirs.error[1])


def null_as_bound(d):
    went_on = d.theirs.kind in ("rows", "void") or failed_inside(d, 0x1500) or d.theirs.kind == "error" and d.theirs.error[1] == "Key may not be empty"
    return went_on and d.ours.kind == "error" and re.match("Invalid null value in condition for column", d.ours.error[1]) and d.asks(r"[<>]")


# --- Words of errors ---

def error_of_a_user_type(d):
    both = d.ours.kind == d.theirs.kind == "error" and (d.ours.error[0], d.theirs.error[0]) == (0x2200, 0x0000)
    return both and d.theirs.error[1] == "org.apache.cassandra.serializers.MarshalException: " + d.ours.error[1]


def short_literal_of_a_tuple(d):
    short = d.ours.kind == "error" and re.match(r"Not enough bytes to read (size of )?\S+ (component|field)", d.ours.error[1]) and d.asks(r"\b0x")
    return short and (d.theirs.kind in ("prepared", "void", "rows") or d.theirs.error[1].startswith("java.lang.IndexOutOfBoundsException"))


def which_value_of_a_document(d):
    said = [re.match(r"(?:Error decoding JSON value for (.*?): |JSON values map contains unrecognized column: (.*))", a.error[1]) if a.kind == "error" else None for a in (d.ours, d.theirs)]
    return all(said) and said[0].groups() != said[1].groups()


def what_the_parser_says(d):
    """The same up to the words of Jackson."""
    if d.ours.kind != "error" or d.theirs.kind != "error" or (d.ours.error[0], d.ours.error[2]) != (d.theirs.error[0], d.theirs.error[2]):
        return False
    said = [re.match(r"(.*?(?:Could not decode JSON string as a map|Could not decode JSON string '.*?'|Error decoding JSON string)): (?:Unexpected|Unrecognized|Illegal|Invalid|Cannot|No content|com\.fasterxml|Leading)", a.error[1], re.DOTALL) for a in (d.ours, d.theirs)]
    return all(said) and said[0][1] == said[1][1]


def java_exception_in_json(d):
    """TupleType.toJSONString of a tuple or a user type that has fewer fields than its type, and ByteType.toJSONString of no byte."""
    return d.ours.kind == "rows" and d.theirs.kind == "error" and re.match(r"java\.lang\.(IndexOutOfBoundsException$|NullPointerException)", d.theirs.error[1]) and d.asks(r"^SELECT\s+JSON|\bto_json\(")


def exception_in_json_order(d):
    """The JSON text is no value of the column that ORDER BY names."""
    return d.ours.kind == "rows" and d.theirs.kind == "error" and d.theirs.error[1].startswith("java.lang.") and d.asks(r"^SELECT\s+JSON\s+\*.*\bIN\b.*\bORDER\s+BY\b")


def timeuuid_of_a_function(d):
    name = "'org.apache.cassandra.db.marshal.LegacyTimeUUIDType'"
    columns = tuple((column, type.replace(name, "timeuuid")) for column, type in d.theirs.columns)
    return name in str(d.theirs.columns) and compared(d.ours) == compared(dataclasses.replace(d.theirs, columns=columns))


def order_of_fields(d):
    if d.ours.kind == d.theirs.kind in ("rows", "prepared"):
        names = [tuple(sorted(name) for name, _ in a.columns) for a in (d.ours, d.theirs)]
        plain = [compared(dataclasses.replace(a, columns=tuple(type for _, type in a.columns))) for a in (d.ours, d.theirs)]
        if "{" in str(d.ours.columns) and names[0] == names[1] and plain[0] == plain[1]:
            return True
        # The name of what is selected is in the text.
        return d.asks(r"^SELECT\s+JSON\s.*\[\{") and d.ours.columns[0][0] == "[json]" and cells(d) and all(sorted(a) == sorted(b) for _, a, b in cells(d))
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


def number(type, data):
    if type == "varint":
        return int.from_bytes(data, "big", signed=True)
    return int.from_bytes(data[4:], "big", signed=True) * fractions.Fraction(10) ** -int.from_bytes(data[:4], "big", signed=True)


def spelling_of_a_number(d):
    """Of a clustering: 1 and 1.0 name the same row."""
    found = [(type.split(" ")[0], a, b) for type, a, b in cells(d) or ()]
    key = "".join(m[1] for m in d.schema(r"CREATE TABLE .*PRIMARY KEY \((.*)\)"))
    types = {m[2] for text in [m[0] for m in d.schema(r"CREATE TABLE .*")] for m in re.finditer(r'("[^"]+"|\w+) (varint|decimal)\b', text) if m[1] in key}
    return found and all(type in types and number(type, a) == number(type, b) for type, a, b in found)


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


def lost_rows(d):
    """We have all rows that Cassandra has, in the same order, and more, in a table whose rows had a TTL."""
    written = (text for s in d.on_table(d.before) for text in ([t for t, _ in s.batch[1]] if s.batch else [s.text]))
    if not d.both_rows or not (d.schema(r".*default_time_to_live") or any(re.search(r"\bTTL [1-9]", text) for text in written)):
        return False
    rest = iter(d.ours.rows)
    return all(row in rest for row in d.theirs.rows)


def is_key(d, column):
    keys = [m[1] for m in d.schema(r"CREATE TABLE .*PRIMARY KEY \((.*)\)\)")]
    return any(re.search(rf"(^|[ (]){re.escape(column)}($|[,)])", key) for key in keys)


def lost_by_an_index_on_a_key(d):
    indexed = [m[1] for m in d.schema(r"CREATE INDEX \S+ ON \S+ \((.*)\) USING")]
    return lost_rows(d) and any(d.asks(rf"{re.escape(column)} =") and is_key(d, column) for column in indexed)


def hidden_by_a_ttl(d):
    """A row that is named by its whole key: SinglePartitionReadCommand.isRowComplete takes it for complete."""
    asked = re.findall(r'("[^"]+"|\w+)\)? (?:=|IN)', " ".join(d.texts))
    return lost_rows(d) and any(is_key(d, column) for column in asked) and not d.asks(r"ALLOW FILTERING|[<>]")


def ended_by_deleted_elements(d):
    """RowFilter takes the tombstone of an element of a static collection for the element, and the page counts a partition that has no row."""
    static = {m[1] for text in d.schema(r"CREATE TABLE .*") for m in re.finditer(r'("[^"]+"|\w+) (?:set|list|map)<[^()]* static', text[0])}
    short = d.both_rows and d.theirs.paging_state is None and d.theirs.rows == d.ours.rows[:len(d.theirs.rows)]
    return short and d.statement.options.page_size is not None and any(d.asks(rf"{re.escape(column)} CONTAINS") for column in static)


BY_REASON = {
    "null as the bound of a slice": null_as_bound,
    "null inside of a bound list": null_inside_of_a_list,
    "floor of a time in GROUP BY": floor_of_a_time,
    "reads of rows of two versions of a table": rows_of_two_versions,
    "groups in pages where ranges are deleted": groups_in_pages,
    "fields that are null or missing in a key": fields_of_a_key,
    "decimals without digits": decimal_without_digits,
    "what the JSON parser says": what_the_parser_says,
    "tuples with missing fields in JSON": java_exception_in_json,
    "functions of timeuuids": timeuuid_of_a_function,
    "bytes that are too short for a literal of a tuple": short_literal_of_a_tuple,
    "errors of user types are invalid requests": error_of_a_user_type,
    "which of several values of a JSON document is wrong": which_value_of_a_document,
    "order of fields in messages": order_of_fields,
    "SELECT JSON * in the order of its text, which is none": exception_in_json_order,
    "SELECT JSON * in the order of its text": json_of_all_columns_in_order,
    "which spelling of a number a row has": spelling_of_a_number,
    "more digits than a float needs": text_of_a_float,
    "rows that an index on a key column lost": lost_by_an_index_on_a_key,
    "rows that an expired TTL hides": hidden_by_a_ttl,
    "pages that end at deleted elements of a static collection": ended_by_deleted_elements,
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
