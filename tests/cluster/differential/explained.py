"""Differences that are Cassandra's own, each with its name in docs/COMPATIBILITY.md. They are counted, and are no failures.

`RULES` at the end is the table of them. A rule looks at the words of the two answers, at what was asked, and at what was asked before.
"""
import dataclasses
import fractions
import math
import re
import struct

from frames import ONE
from session import compared, shown

TWO_VERSIONS = "reads of rows of two versions of a table"
NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:E-?[0-9]+)?")


@dataclasses.dataclass
class Difference:
    """`before`: the statements of this case so far. `explained`: the names of its differences so far, each with its statement."""
    statement: object
    before: list
    explained: list
    ours: object
    theirs: object

    @property
    def texts(self):
        return texts_of(self.statement)

    def on_table(self, statements):
        """Those of the statements that say the name of a table of this one."""
        tables = {s.table for s in self.before if s.kind == "schema" and s.table and any(re.search(rf"\b{s.table}\b", text) for text in self.texts)}
        return [s for s in statements if any(re.search(rf"\b{table}\b", text) for table in tables for text in texts_of(s))]

    def schema(self, pattern):
        """Schema statements on the tables of this statement that begin like this."""
        return [m for m in (re.match(pattern, s.text) for s in self.on_table(self.before) if s.kind == "schema") if m]

    def was_explained(self, name):
        """Whether an earlier difference on a table of this statement has that name."""
        return bool(self.on_table([statement for explained, statement in self.explained if explained == name]))

    def asks(self, pattern):
        return any(re.search(pattern, text, re.IGNORECASE | re.DOTALL) for text in self.texts)

    @property
    def both_rows(self):
        """Whether both answers are rows, and alike but for these."""
        a, b = self.ours, self.theirs
        return a.kind == b.kind == "rows" and (a.columns, a.warnings) == (b.columns, b.warnings)

    @property
    def messages(self):
        """The words of both errors, when both are errors with the same code."""
        a, b = self.ours, self.theirs
        return [a.error[1], b.error[1]] if a.kind == b.kind == "error" and a.error[0] == b.error[0] else None


def texts_of(statement):
    return [text for text, _ in statement.batch[1]] if statement.batch else [statement.text]


def values_of(statement):
    values = [v for _, values in statement.batch[1] for v in values] if statement.batch else statement.options.values
    return [v for v in values if isinstance(v, bytes)]


def cells(d):
    """Pairs of cells that differ, with the type of their column; None when there are more rows on one side."""
    if not d.both_rows or len(d.ours.rows) != len(d.theirs.rows):
        return None
    pairs = [(type, a, b) for x, y in zip(d.ours.rows, d.theirs.rows) for (_, type), a, b in zip(d.ours.columns, x, y) if a != b]
    return pairs if all(a is not None and b is not None for _, a, b in pairs) else None


def more_rows(d):
    """We have all rows that Cassandra has, in the same order, and more: a page of ours may end earlier by as many."""
    if not d.both_rows:
        return False
    theirs = iter(d.theirs.rows)
    wanted, common = next(theirs, None), 0
    for row in d.ours.rows:
        if row == wanted:
            wanted, common = next(theirs, None), common + 1
    behind = len(d.theirs.rows) - common
    return behind == 0 or (d.ours.paging_state is not None and behind <= len(d.ours.rows) - common)


# --- What was asked before ---

def has_descending_columns(d):
    return d.schema(r"CREATE TABLE .*CLUSTERING ORDER BY \(.* DESC")


def has_two_versions(d):
    return d.schema(r"ALTER TABLE \S+ (ADD|DROP) ")


def lacks_values_where_reads_fail(d):
    """A replica that failed to read rows of two versions answers at other times without the columns that it stumbles over."""
    if not (in_a_ring(d) and has_two_versions(d) and d.was_explained(TWO_VERSIONS) and d.both_rows and len(d.ours.rows) == len(d.theirs.rows)):
        return False
    return all(a == b or None in (a, b) for rows in zip(d.ours.rows, d.theirs.rows) for a, b in zip(*rows))


def wrote_scale_without_digits(d):
    return d.schema(r"CREATE TABLE .*\bdecimal\b") and any(len(v) == 4 for s in d.on_table(d.before) for v in values_of(s))


def asks_for_scale_without_digits(d):
    return d.schema(r"CREATE TABLE .*\bdecimal\b") and any(len(v) == 4 for v in values_of(d.statement))


def compares_fields(d):
    return d.schema(r"CREATE TABLE .*(tuple<|\bu\d\b|vector<)") and (d.schema("CREATE INDEX") or d.asks(r"[<>]|\bIN\b|^DELETE"))


def wrote_equal_keys(d):
    """Maps.Literal keeps entries in a HashMap of terms: which of equal keys comes first, and which value last, is left to chance."""
    def repeats(text):
        keys = [re.sub(r"(, null)+$", "", key) for key in re.findall(r"\(([^()]*)\): ", text)]
        return len(keys) > len(set(keys))
    return any(repeats(text) for s in d.on_table(d.before) for text in texts_of(s))


def deleted_before_pages(d):
    paged = d.statement.options.page_size is not None or d.asks(r"\bLIMIT\b")
    return paged and any(re.match("DELETE|BEGIN", s.text) or s.batch for s in d.on_table(d.before))


def wrote_ttl(d):
    return d.schema(r".*default_time_to_live") or any(re.search(r"\bTTL [1-9]", text) for s in d.on_table(d.before) for text in texts_of(s))


def is_key(d, column):
    keys = [m[1] for m in d.schema(r"CREATE TABLE .*PRIMARY KEY \((.*)\)\)")]
    return any(re.search(rf"(^|[ (]){re.escape(column)}($|[,)])", key) for key in keys)


def in_a_ring(d):
    return d.statement.options.consistency != ONE


def failed_with_the_same_responses(d):
    answered = [re.search(r"received ([0-9]+) responses", text) for text in d.messages or [""]]
    return in_a_ring(d) and all(answered) and answered[0][1] == answered[1][1]


def counts_after_a_deletion(d):
    """Which replica leads an increment is left to chance, and the sums of one leader may come back where another one begins again."""
    made = d.schema(r"CREATE TABLE .*\bcounter\b")
    return in_a_ring(d) and made and any(re.search(r"\bDELETE\b", text) for s in d.on_table(d.before) for text in texts_of(s))


# --- Words of errors ---

def other_value_of_a_document(d):
    kinds = r"Error decoding JSON value for (.*?): |JSON values map contains unrecognized column: (.*)|((?:Unable to convert .* to a|Invalid) duration.*)"
    said = [re.match(f"(?:{kinds})", text) for text in d.messages or [""]]
    return all(said) and said[0].groups() != said[1].groups()


def same_but_for_jackson(d):
    jackson = r"(.*?(?:Could not decode JSON string as a map|Could not decode JSON string '.*?'|Error decoding JSON string)): (?:Unexpected|Unrecognized|Non-standard|Illegal|Invalid|Cannot|No content|com\.fasterxml|Leading)"
    said = [re.match(jackson, text, re.DOTALL) for text in d.messages or [""]]
    return all(said) and said[0][1] == said[1][1] and d.ours.error[2] == d.theirs.error[2]


def same_words(d):
    return d.ours.kind == d.theirs.kind == "error" and d.theirs.error[1].endswith(": " + d.ours.error[1])


def same_but_for_the_type(d):
    name = "'org.apache.cassandra.db.marshal.LegacyTimeUUIDType'"
    columns = tuple((column, type.replace(name, "timeuuid")) for column, type in d.theirs.columns)
    return compared(d.ours) == compared(dataclasses.replace(d.theirs, columns=columns))


def same_in_another_order(d):
    """Of fields between braces: in names of columns, in errors, and in the text of SELECT JSON."""
    if d.ours.kind == d.theirs.kind in ("rows", "prepared"):
        names = [tuple(sorted(name) for name, _ in a.columns) for a in (d.ours, d.theirs)]
        plain = [compared(dataclasses.replace(a, columns=tuple(type for _, type in a.columns))) for a in (d.ours, d.theirs)]
        if "{" in str(d.ours.columns) and names[0] == names[1] and plain[0] == plain[1]:
            return True
        # The name of what is selected is in the text.
        return d.asks(r"^SELECT\s+JSON\s.*\[\{") and d.ours.columns[0][0] == "[json]" and cells(d) and all(sorted(a) == sorted(b) for _, a, b in cells(d))
    words = d.messages
    return words and re.search(r"\{| ,|used by tables", words[0]) and sorted(re.findall(r"\S", words[0])) == sorted(re.findall(r"\S", words[1]))


# --- Rows ---

def same_rows(d):
    return d.both_rows and sorted(d.ours.rows) == sorted(d.theirs.rows)


def number(type, data):
    if type == "varint":
        return int.from_bytes(data, "big", signed=True)
    if type == "decimal":
        return int.from_bytes(data[4:], "big", signed=True) * fractions.Fraction(10) ** -int.from_bytes(data[:4], "big", signed=True)
    # The parts of a vector, or the one; all NaNs are the same.
    layout, size = (">d", 8) if type in ("double", "vector<double") else (">f", 4)
    parts = [data[at:at + size] for at in range(0, len(data), size)]
    return ["NaN" if math.isnan(struct.unpack(layout, part)[0]) else part for part in parts]


def number_type(type):
    """Of the type of a column in an answer: how it begins in CREATE TABLE."""
    vector = re.match(r"'org\.apache\.cassandra\.db\.marshal\.VectorType\(org\.apache\.cassandra\.db\.marshal\.(Float|Double)Type ", type)
    return "vector<" + vector[1].lower() if vector else type.split(" ")[0]


def same_numbers_of_a_key(d):
    """1 and 1.0 name the same row, and so do NaNs of any bits."""
    found = [(number_type(type), a, b) for type, a, b in cells(d) or ()]
    key = "".join(m[1] for m in d.schema(r"CREATE TABLE .*PRIMARY KEY \((.*)\)"))
    types = {m[2] for text in [m[0] for m in d.schema(r"CREATE TABLE .*")] for m in re.finditer(r'("[^"]+"|\w+) (varint|decimal|(?:vector<)?(?:float|double))\b', text) if m[1] in key}
    return found and all(type in types and number(type, a) == number(type, b) for type, a, b in found)


def same_tuples_of_a_key(d):
    """Fields at the end that are null may as well be missing."""
    def trimmed(data):
        while data and data.endswith(b"\xff" * 4):
            data = data[:-4]
        return data
    found = cells(d)
    keys = [m[0] for m in d.schema(r"CREATE TABLE .*PRIMARY KEY")]
    in_key = any(is_key(d, m[1]) for text in keys for m in re.finditer(r'("[^"]+"|\w+) (?:frozen<)?(?:tuple<|u\d\b)', text))
    return found and in_key and all(re.match(r"tuple<|\w+\.u\d\{", type) and trimmed(a) == trimmed(b) for type, a, b in found)


def same_number(a, b):
    if a == b:
        return True
    if not (NUMBER.fullmatch(a) and NUMBER.fullmatch(b)):
        return False
    x, y = float(a), float(b)
    return x == y or max(abs(x), abs(y)) < 3.4e38 and struct.pack(">f", x) == struct.pack(">f", y)


def more_digits(d):
    """In JSON and in casts to text."""
    found = cells(d)
    if not found or not all(type.startswith(("text ", "ascii ")) for type, _, _ in found):
        return False
    for _, a, b in found:
        a, b = a.decode(), b.decode()
        if NUMBER.sub("0", a) != NUMBER.sub("0", b) or len(a) > len(b) or not all(map(same_number, NUMBER.findall(a), NUMBER.findall(b))):
            return False
    return True


def lost_by_an_index_on_a_key(d):
    indexed = [m[1] for m in d.schema(r"CREATE INDEX \S+ ON \S+ \((.*)\) USING")]
    return more_rows(d) and wrote_ttl(d) and any(d.asks(rf"{re.escape(column)} =") and is_key(d, column) for column in indexed)


def asks_for_a_key_by_an_index(d):
    indexed = [m[1] for m in d.schema(r"CREATE INDEX \S+ ON \S+ \((.*)\) USING")]
    compact = d.schema(r"CREATE TABLE (?!.*PRIMARY KEY \(\(.*\),).*COMPACT STORAGE")
    return more_rows(d) and compact and any(d.asks(rf"{re.escape(column)} =") for column in indexed)


def hidden_by_a_ttl(d):
    asked = re.findall(r'("[^"]+"|\w+)\)? (?:=|IN)', " ".join(d.texts))
    return more_rows(d) and wrote_ttl(d) and any(is_key(d, column) for column in asked) and not d.asks(r"ALLOW FILTERING|[<>]")


def expired_markers(d):
    """Timestamps of INSERTs into this table whose TTL has passed."""
    default = [0] + [int(m[2]) for m in d.schema(r"(CREATE|ALTER) TABLE .*default_time_to_live = ([0-9]+)")]
    for s in d.on_table(d.before):
        inserts = [part for text in texts_of(s) for part in re.split(r"(?=\b(?:INSERT INTO|UPDATE|DELETE)\b)", text) if part.startswith("INSERT INTO")]
        for text in inserts:
            ttl, at = re.search(r"\bTTL ([0-9]+)", text), re.search(r"\bTIMESTAMP ([0-9]+)", text) or re.search(r"^BEGIN \S* ?BATCH USING TIMESTAMP ([0-9]+)", s.text)
            seconds = int(ttl[1]) if ttl else default[-1]
            if seconds and s.options.timestamp and s.options.now + seconds <= d.statement.options.now:
                yield int(at[1]) if at else s.options.timestamp


def timestamps(d):
    """Of all that was written to this table."""
    for s in d.on_table(d.before):
        yield from [s.options.timestamp] if s.options.timestamp else []
        yield from (int(t) for text in [*texts_of(s), s.text] for t in re.findall(r"\bTIMESTAMP ([0-9]+)", text))


def columns_of(d):
    """The columns of this table with their kinds, as they were made, added and renamed."""
    kinds = {}
    for m in d.schema(r"CREATE TABLE \S+ \((.*), PRIMARY KEY \(\((.*?)\)(?:, )?(.*?)\)\)"):
        columns = m[1]
        while "<" in columns:  # commas between types
            columns = re.sub(r"<[^<>]*>", "", columns)
        kinds.update((re.match(r'(?:"[^"]*")+|\w+', c)[0], "static" if c.endswith(" static") else "regular") for c in columns.split(", "))
        kinds.update((name, "partition") for name in m[2].split(", "))
        kinds.update((name, "clustering") for name in m[3].split(", ") if name)
    for m in d.schema(r"ALTER TABLE \S+ (?:ADD (\S+) .*?( static)?$|RENAME (.+) TO (\S+))"):
        if m[1]:
            kinds.setdefault(m[1], "static" if m[2] else "regular")
        elif kinds.get(m[3]) in ("partition", "clustering") and m[4] not in kinds:  # others are refused
            kinds[m[4]] = kinds.pop(m[3])
    return kinds


def skipped_by_an_expired_marker(d):
    """We have rows in which nothing that was selected has a value, and something is older than a marker that is no longer alive. A partition that has no other
    rows may show its static columns instead; a page or LIMIT that counts fewer rows goes further."""
    kinds = columns_of(d)
    named = [kind for name, kind in kinds.items() if kind in ("static", "regular") and d.asks(re.escape(name))]
    if not d.both_rows or not named or d.statement.options.now is None or d.asks(r"^SELECT\s+(DISTINCT\s+)?\*|^SELECT\s+JSON\b|\bGROUP BY\b"):
        return False
    plain = {name.strip('"').replace('""', '"'): kind for name, kind in kinds.items()}
    of = [plain.get(name) for name, _ in d.ours.columns]

    def has_no(row, *of_kinds):
        return all(value is None for value, kind in zip(row, of) if kind in of_kinds)

    rest, skipped = list(d.theirs.rows), 0
    for row in d.ours.rows:
        if skipped and rest and rest[0] != row and has_no(rest[0], "clustering", "regular"):
            rest.pop(0)
        if rest and rest[0] == row:
            rest.pop(0)
        elif has_no(row, "regular"):
            skipped += 1
        else:
            return False
    is_cut = d.ours.paging_state is not None or d.asks(r"\bLIMIT\b") or all(has_no(row, "clustering", "regular") for row in rest)
    return skipped and is_cut and any(min(timestamps(d)) < marker for marker in expired_markers(d))


def not_counted_behind_an_expired_marker(d):
    """Theirs counts fewer rows, or has fewer groups, where something is older than a marker that is no longer alive."""
    if not d.both_rows or d.statement.options.now is None or not d.asks(r"\bGROUP BY\b|\bcount\s*\("):
        return False
    counts = [i for i, (name, _) in enumerate(d.ours.columns) if name.startswith("count") or name.startswith("system.count")]

    def parts(row):
        return [value for i, value in enumerate(row) if i not in counts], [int.from_bytes(row[i] or b"", "big") for i in counts]

    rest = [parts(row) for row in d.theirs.rows]
    for group, numbers in map(parts, d.ours.rows):
        if rest and rest[0][0] == group and all(a <= b for a, b in zip(rest[0][1], numbers)):
            rest.pop(0)
    return not rest and any(min(timestamps(d)) < marker for marker in expired_markers(d))


def has_index_entries_without_clusterings(d):
    """An index on a column of the partition key has entries of partitions that were written only static columns. It is asked with a condition on a clustering column, or where a range was
    deleted: the clustering without values is then compared, or becomes the bound of a range tombstone, which ByteBufferCloner copies."""
    kinds = columns_of(d)
    indexed = [m[1] for m in d.schema(r"CREATE INDEX \S+ ON \S+ \((.*)\) USING")]
    written = [text for s in d.on_table(d.before) if s.kind == "write" for text in texts_of(s)]
    by_index = any(kinds.get(column) == "partition" and d.asks(rf"\bWHERE\b.*{re.escape(column)} =") for column in indexed)
    by_clustering = any(kind == "clustering" and d.asks(rf"\bWHERE\b.*{re.escape(column)}") for column, kind in kinds.items())
    by_range = any(re.search(r"\bDELETE FROM\b.*[<>]", text) for text in written)
    return by_index and (by_clustering or by_range) and any(kind == "static" and column in text for column, kind in kinds.items() for text in written)


def ended_by_deleted_elements(d):
    static = {m[1] for text in d.schema(r"CREATE TABLE .*") for m in re.finditer(r'("[^"]+"|\w+) (?:set|list|map)<[^()]* static', text[0])}
    short = d.both_rows and d.theirs.paging_state is None and d.theirs.rows == d.ours.rows[:len(d.theirs.rows)]
    return short and d.statement.options.page_size is not None and any(d.asks(rf"{re.escape(column)} CONTAINS") for column in static)


def ended_by_an_index_on_a_static_column(d):
    """The next page of a partition begins behind a clustering, and the one entry of the index has none: Cassandra finds no more."""
    kinds = columns_of(d)
    indexed = [m[1] for m in d.schema(r"CREATE INDEX \S+ ON \S+ \((?:\w+\()?([^()]*)\)+ USING")]
    asked = [column for column in indexed if kinds.get(column) == "static" and d.asks(rf"\bWHERE\b.*{re.escape(column)}")]
    in_partition = all(d.asks(rf"\bWHERE\b.*{re.escape(column)}") for column, kind in kinds.items() if kind == "partition")
    return asked and in_partition and d.statement.options.page_size is not None


def stays_at_null(d):
    """A null in the list, as a literal or as a bound element of no bytes."""
    null = d.asks(r"\bIN \([^)]*\bnull\b") or d.asks(r"\bIN [?:]") and any(b"\xff\xff\xff\xff" in v for v in values_of(d.statement))
    return null and more_rows(d)


# --- The table ---

@dataclasses.dataclass
class Rule:
    """All of it has to be so. `ours` and `theirs`: in what `session.shown` says of the answers; `asks`: in the text of the statement."""
    name: str
    ours: str = ""
    theirs: str = ""
    asks: str = ""
    holds: object = lambda d: True


INVALID, SYNTAX, SERVER = r"^error 0x2200 .", r"^error 0x2000 .", r"^error 0x0000 ."
FAILED = r"Operation failed - received [01] responses and [12] failures: UNKNOWN"  # inside, without a reason
READ_FAILED, WRITE_FAILED = r"^error 0x1300 ." + FAILED, r"^error 0x1500 ." + FAILED
EITHER_FAILED = r"^error 0x1[35]00 ." + FAILED
# A counter's write that throws inside answers nobody: a WriteTimeout of the type COUNTER.
COUNTER_FAILED = r"^error 0x1100 .Operation timed out - received only 0 responses\.. 0001000000000000000100" + b"\7COUNTER".hex()

ONLY_STATIC = INVALID + "Cannot restrict clustering columns when selecting only static columns"

RULES = [
    # Exceptions: of a name, or with the name.
    Rule("bytes that are too short for a vector", INVALID + "Not enough bytes to read", SERVER + r"java\.lang\.(IndexOutOfBoundsException|AssertionError: Invalidate data at offset)"),
    Rule("bytes that are too short for a duration", INVALID + "Not enough bytes to read a duration", SERVER + r"java\.lang\.AssertionError: Unexpected error"),
    Rule("bytes of a collection in a tuple", INVALID + "Not enough bytes to read", SERVER + r"org\.apache\.cassandra\.serializers\.MarshalException: Expected \d+ values? for .*tuple<.* but got more"),
    Rule("increments of the wrong size", r"^error 0x2200 ", SERVER + r"java\.lang\.IndexOutOfBoundsException", r"\bUPDATE\b.*\bSET\b.*[-+]"),
    Rule("DROP of the only value of a COMPACT STORAGE table", INVALID + "Cannot drop column .*, the only value", SERVER + r"java\.lang\.IndexOutOfBoundsException", r"\bDROP\b"),
    Rule("counters from JSON", r"^error 0x", SERVER + r"java\.lang\.UnsupportedOperationException"),
    Rule("null inside of a bound list", INVALID + "(Null value read when not allowed|Invalid null value in condition)", SERVER + r"java\.lang\.NullPointerException: Cannot invoke \"java\.nio\.ByteBuffer\.(remaining|duplicate)"),
    Rule("a set that is subtracted from a map", INVALID + "Value for a map substraction has to be a set", SERVER + r"java\.lang\.ClassCastException"),
    Rule("map literals for what is no map", INVALID + r".*\{.*\} (cannot be passed as argument|is not of type) ", SERVER + r"java\.lang\.ClassCastException: .* cannot be cast to class org\.apache\.cassandra\.db\.marshal\.MapType"),
    Rule("map literals for what is no map", INVALID, SERVER + r"java\.lang\.ClassCastException('|: .* cannot be cast to class org\.apache\.cassandra\.db\.marshal\.MapType)", r"^SELECT\s.*\{.*:"),
    Rule("null in a set, or as a key, of a SELECT clause", INVALID + "null is not supported inside collections", SERVER + r"java\.lang\.NullPointerException", r"^SELECT\s.*\{"),
    Rule("null in a set, in rows that an expired TTL hides", INVALID + "null is not supported inside collections", r"^rows", r"^SELECT\s.*\{", wrote_ttl),
    Rule("elements of several types in a literal", "^rows", SERVER + r"java\.lang\.(IndexOutOfBounds|BufferUnderflow)Exception", r"^SELECT\s.*\{"),
    Rule("counters to JSON inside of a literal", "^rows", SERVER + r"java\.lang\.UnsupportedOperationException", r"^SELECT\s(JSON\b)?.*[\[{(]"),
    Rule("null as the element that is selected", "^prepared|" + INVALID + "(Invalid null value for element selection|Invalid amount of bind variables)", SERVER + r"java\.lang\.NullPointerException", r"\[(null|NULL)\]"),
    Rule("null as the bound of the elements that are selected", INVALID + "Invalid null value for slice selection", SERVER + r"java\.lang\.NullPointerException", r"\[.*\bnull\b.*\]"),
    Rule("columns that a map or user type literal selects", "", ONLY_STATIC, r"^SELECT\s.*\{.*:"),
    Rule("columns that a map or user type literal selects", ONLY_STATIC, "", r"^SELECT\s.*\{.*:"),
    Rule("columns that a map or user type literal selects", INVALID, INVALID + "(Cannot infer type for term|Cannot assign value )", r"^SELECT\s.*\{.*:"),
    Rule("names of fields that are none", INVALID + ".* is not a valid field identifier of type", INVALID + r"org\.apache\.cassandra\.cql3\.selection\.Selectable.*Raw@\w+ is not a valid field identifier of type"),
    Rule("arrays for what is no list", INVALID + "Unsupported target type: ", SERVER + r"java\.lang\.IllegalArgumentException: Unsupported target type: "),
    Rule("GROUP BY of a literal", INVALID + "Only column names and functions can be in the GROUP BY clause", SERVER + r"java\.lang\.ClassCastException: class .*Selectable\$WithTerm"),
    Rule("operations without a column", SYNTAX, SYNTAX + r"Failed parsing statement: .* reason: NullPointerException (null|.*ColumnIdentifier\.equals)"),
    Rule("numbers beyond a double", "", SYNTAX + "Failed parsing statement: .* reason: NumberFormatException"),
    Rule("what a JVM says of a cast", "cannot be cast to String", r"cannot be cast to class java\.lang\.String"),
    Rule("hex constants for a tinyint", INVALID + r"Invalid HEX constant \(0x\w*\) for .* of type tinyint"),
    Rule("errors of user types are invalid requests", INVALID, SERVER + r"org\.apache\.cassandra\.serializers\.MarshalException: ", holds=same_words),
    Rule("bytes that are too short for a literal of a tuple", INVALID + r"Not enough bytes to read (size of )?\S+ (component|field)", r"^(prepared|void|rows|error 0x0000 .java\.lang\.IndexOutOfBoundsException|error 0x2200 )", r"\b0x"),
    Rule("tuples with missing fields in JSON", "^rows", SERVER + r"java\.lang\.(IndexOutOfBoundsException'|NullPointerException)", r"^SELECT\s+JSON|\bto_json\("),
    Rule("SELECT JSON * in the order of its text, which is none", "^rows", SERVER + r"java\.lang\.", r"^SELECT\s+JSON\s+\*.*\bIN\b.*\bORDER\s+BY\b"),
    # Descending columns.
    Rule("{} for a map in a descending column", "", SERVER + r"java\.lang\.ClassCastException('|: class org\.apache\.cassandra\.db\.marshal\.MapType cannot be cast to class .*SetType)", r"\{\}", holds=has_descending_columns),
    Rule("map literals beside a descending column", "", SERVER + r"java\.lang\.ClassCastException('|: class org\.apache\.cassandra\.db\.marshal\.ReversedType cannot be cast to class .*MapType)", r"^SELECT\s.*\{.*:|\{\}", holds=has_descending_columns),
    Rule("set literals beside a descending set", "", SERVER + r"java\.lang\.ClassCastException('|: class org\.apache\.cassandra\.db\.marshal\.ReversedType cannot be cast to class .*SetType)", r"^SELECT\s.*[\[{].*\{.*[\]}]", holds=has_descending_columns),
    Rule("tuple literals beside a descending tuple", "", SERVER + r"java\.lang\.ClassCastException('|: class org\.apache\.cassandra\.db\.marshal\.ReversedType cannot be cast to class .*TupleType)", r"[{\[]", holds=has_descending_columns),
    Rule("casts of descending columns to their own type", "", INVALID + r"Invalid call to function system\.cast_as_", holds=has_descending_columns),
    Rule("similarity of descending columns", "", INVALID + r"Function system\.similarity_\w+ requires a float vector argument, but found argument .+ of type vector<float", holds=has_descending_columns),
    Rule("arrays for descending lists and vectors", "", SERVER + r"java\.lang\.IllegalArgumentException: Unsupported target type: (vector|frozen<(list|set))<", holds=has_descending_columns),
    Rule("arithmetic for descending columns", "", INVALID + "Ambiguous .* operation with args", holds=has_descending_columns),
    # Nulls.
    Rule("null as the bound of a slice", INVALID + "Invalid null value in condition for column", rf"^(rows|void|error 0x2200 .(Key may not be empty|Cannot page queries with both ORDER BY))|{WRITE_FAILED}|{COUNTER_FAILED}", "[<>]"),
    Rule("null inside of a bound list", INVALID + "Null value read when not allowed'", rf"^(void|rows|error .*NullPointerException)|{EITHER_FAILED}"),
    Rule("null among the values of IN in a filter", "^rows", "^rows", "ALLOW FILTERING", stays_at_null),
    # Failures inside: an invalid request of the replica; a NumberFormatException ("Zero length BigInteger"); exceptions in TupleType.compareCustom; in Row.Merger,
    # Cell.Serializer and Columns.Serializer ("is not a subset of"); in RTBoundCloser ("has an open RT bound as its last item").
    Rule("floor of a time in GROUP BY", "", READ_FAILED, r"GROUP BY .*\bfloor\("),
    Rule(TWO_VERSIONS, "", READ_FAILED, holds=has_two_versions),
    Rule(TWO_VERSIONS, "", SERVER + r"java\.(lang\.NullPointerException: Cannot invoke \"org\.apache\.cassandra\.db\.rows\.ComplexColumnData\$Builder\.newColumn|io\.IOError: java\.io\.EOFException: EOF after)", holds=has_two_versions),
    # In a ring ours asks them for more columns, and so they take another way to the rows.
    Rule(TWO_VERSIONS, READ_FAILED, "^rows", holds=lambda d: in_a_ring(d) and has_two_versions(d)),
    Rule(TWO_VERSIONS, "^rows", "^rows", holds=lacks_values_where_reads_fail),
    # An exception in Row.Merger, which ReplicaFilteringProtection calls.
    Rule("collections of rows that replicas are asked for again", "^rows", SERVER + r"java\.lang\.NullPointerException: Cannot invoke \"org\.apache\.cassandra\.db\.rows\.ComplexColumnData\$Builder\.newColumn", "ALLOW FILTERING", in_a_ring),
    Rule("groups in pages where ranges are deleted", "", READ_FAILED, r"\bGROUP\s+BY\b", deleted_before_pages),
    Rule("fields that are null or missing in a key", "", EITHER_FAILED, holds=compares_fields),
    # In a ring both ask replicas of theirs, and what one of them has flushed decides which rows it compares.
    Rule("fields that are null or missing in a key", READ_FAILED, "^rows", holds=lambda d: in_a_ring(d) and compares_fields(d)),
    Rule("index entries of a partition key without clusterings", "", READ_FAILED, "ALLOW FILTERING", has_index_entries_without_clusterings),
    Rule("pages that end at a row without its last clusterings", "^rows", READ_FAILED, holds=lambda d: bool(d.schema(r"CREATE TABLE .*COMPACT STORAGE"))),
    Rule("elements that another replica is asked for", "", READ_FAILED, r"\bDELETE\b.*\[", in_a_ring),
    Rule("counters that are deleted and counted again", "^rows", "^rows", holds=counts_after_a_deletion),
    Rule("tuples that are equal keys of a map literal", "^rows", "^rows", holds=wrote_equal_keys),
    Rule("decimals without digits", "", READ_FAILED, holds=wrote_scale_without_digits),
    # A coordinator that compares them itself, for one who asks or for the rows of several replicas, has no replica that failed.
    Rule("decimals without digits", "", SERVER + "java.lang.NumberFormatException: Zero length BigInteger", holds=asks_for_scale_without_digits),
    Rule("decimals without digits", "", SERVER + "java.lang.NumberFormatException: Zero length BigInteger", holds=lambda d: in_a_ring(d) and wrote_scale_without_digits(d)),
    # Two replicas fail at the same time, and the answer leaves when the first or when both have said so.
    Rule("how many replicas had failed", EITHER_FAILED, EITHER_FAILED, holds=failed_with_the_same_responses),
    # The same in other words.
    Rule("what the JSON parser says", "^error", "^error", holds=same_but_for_jackson),
    Rule("which of several values of a JSON document is wrong", "^error", "^error", holds=other_value_of_a_document),
    Rule("functions of timeuuids", "", r"'org\.apache\.cassandra\.db\.marshal\.LegacyTimeUUIDType'", holds=same_but_for_the_type),
    Rule("order of fields in messages", holds=same_in_another_order),
    # Rows.
    Rule("SELECT JSON * in the order of its text", "^rows", "^rows", r"^SELECT\s+JSON\s+\*.*\bIN\b.*\bORDER\s+BY\b", same_rows),
    Rule("which spelling of a number a row has", "^rows", "^rows", holds=same_numbers_of_a_key),
    Rule("which spelling of a tuple a row has", "^rows", "^rows", holds=same_tuples_of_a_key),
    Rule("more digits than a float needs", "^rows", "^rows", holds=more_digits),
    Rule("indexes and keys of tables with COMPACT STORAGE", "^rows", "^rows", holds=asks_for_a_key_by_an_index),
    Rule("rows that an index on a key column lost", "^rows", "^rows", holds=lost_by_an_index_on_a_key),
    Rule("rows that an expired TTL hides", "^rows", "^rows", holds=hidden_by_a_ttl),
    Rule("rows that an expired marker hides", "^rows", "^rows", holds=skipped_by_an_expired_marker),
    Rule("rows that an expired marker hides", "^rows", "^rows", holds=not_counted_behind_an_expired_marker),
    Rule("pages behind an index on a static column", "^rows", "^rows", holds=ended_by_an_index_on_a_static_column),
    Rule("pages that end at deleted elements of a static collection", "^rows", "^rows", holds=ended_by_deleted_elements),
]


def explanation(d):
    """The name of a difference that is explained, or None."""
    said = shown(d.ours), shown(d.theirs)
    for rule in RULES:
        if re.search(rule.ours, said[0]) and re.search(rule.theirs, said[1]) and (not rule.asks or d.asks(rule.asks)) and rule.holds(d):
            return rule.name
    return None
