"""Differences that are Cassandra's own, each with its name in docs/COMPATIBILITY.md. They are counted, and are no failures."""
import re

# name: what we answer, what Cassandra answers, both as `session.shown` has them
EXPLAINED = {
    "errors of user types are invalid requests": (r"^error 0x2200 ", r"^error 0x0000 .org\.apache\.cassandra\.serializers\.MarshalException"),
    "{} for a map in a descending column": (r"", r"^error 0x0000 .java\.lang\.ClassCastException: class org\.apache\.cassandra\.db\.marshal\.MapType cannot be cast to class .*SetType"),
    "bytes that are too short for a literal of a tuple": (r"^error 0x2200 .Not enough bytes to read", r""),
    "null as the bound of a slice": (r"^error 0x2200 .Invalid null value in condition for column", r"^(rows|void|error 0x1500)"),
    "reads and writes that fail inside of Cassandra": (r"", r"^error 0x1[35]00 .Operation failed - received 0 responses and 1 failures: UNKNOWN"),
    "Java exceptions": (r"", r"^error 0x(0000 .|2000 .Failed parsing statement: .* reason: )(java\.lang\.)?(NullPointerException|IndexOutOfBoundsException|ClassCastException|UnsupportedOperationException|NumberFormatException)"),
    "which of several values of a JSON document is wrong": (r"^error 0x2200 .(Error decoding JSON value for|JSON values map contains)", r"^error 0x2200 .(Error decoding JSON value for|JSON values map contains)"),
    "what a JVM says of a cast": (r"cannot be cast to String", r"cannot be cast to class java\.lang\.String"),
    "casts of descending columns to their own type": (r"^(rows|prepared)", r"^error 0x2200 .Invalid call to function system\.cast_as_"),
    "what the JSON parser says": (r"(Could not decode|Error decoding) JSON string", r"(Could not decode|Error decoding) JSON string"),
    "hex constants for a tinyint": (r"^error 0x2200 .Invalid HEX constant \(0x\w*\) for .* of type tinyint", r""),
    "similarity of descending columns": (r"", r"^error 0x2200 .Function system\.similarity_\w+ requires a float vector argument, but found argument \w+ of type vector<float"),
    "CONTAINS and descending columns": (r"", r"Cannot use CONTAINS( KEY)? on non-(collection|map) column"),
    "arithmetic for descending columns": (r"", r"^error 0x2200 .Ambiguous .* operation with args"),
    "numbers beyond a double": (r"", r"reason: NumberFormatException"),
    "functions of timeuuids": (r"", r"^(rows|prepared) .*LegacyTimeUUIDType"),
    "order of fields in messages": (r"\{.*: ", r"\{.*: "),
}


def explanation(ours, theirs):
    """The name of a difference that is explained, or None. `ours` and `theirs` are answers as text."""
    for name, (our_pattern, their_pattern) in EXPLAINED.items():
        if not re.search(our_pattern, ours) or not re.search(their_pattern, theirs):
            continue
        if name != "order of fields in messages" or sorted(re.findall(r"\S", ours)) == sorted(re.findall(r"\S", theirs)):
            return name
    return None
