"""The release build compiles the files of a library in batches (cmake/Folders.cmake): names that its unnamed namespaces define
must differ."""
import collections
import re

DECLARED = [
    ("type", re.compile(r"(?:template\s*<[^{}]*>\s*)?(?:enum\s+class|enum|class|struct|union)\s+(\w+)\s*(?:final\b|:|$)")),
    ("type", re.compile(r"using\s+(\w+)\s*=")),
    ("function", re.compile(r"[\w:<>,&*\s\[\]]*?[\s&*>](\w+)\s*\((.*)\)\s*(?:noexcept)?\s*(?:->.*)?$", re.DOTALL)),
    ("value", re.compile(r"(?:inline\s+|static\s+)?const(?:expr|init)?\s[\w:<>,&*\s]*?[\s&*>](\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|$)")),
]


def unnamed_statements(bare):
    """Line and text of each declaration that stands directly in an unnamed namespace."""
    bare = re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), bare, flags=re.MULTILINE)
    stack, line = [], 1
    header = ""
    for part in re.split(r"([{};])", bare):
        inside = "unnamed" in stack and set(stack) <= {"named", "unnamed"}
        if part == "{":
            text = header.strip()
            if re.search(r"namespace\s*$", text):
                stack.append("unnamed")
            elif re.search(r"namespace\s+[\w:]+\s*$", text):
                stack.append("named")
            else:
                if inside:
                    yield line, text
                stack.append("other")
        elif part == "}" and stack:
            stack.pop()
        elif part == ";" and inside:
            yield line, header.strip()
        header = "" if part in ("{", "}", ";") else part
        line += part.count("\n")


def definition(text):
    """What a name and its kind are, functions with their parameters; None for anything else."""
    for kind, pattern in DECLARED:
        match = pattern.match(text)
        if match and kind == "function":
            return match.group(1), re.sub(r"\s+", " ", re.sub(r"\b\w+\s*(?=,|$)", "", match.group(2)))
        if match:
            return match.group(1), "using " + text.split("=", 1)[1].strip() if text.startswith("using") else kind
    return None


def library(path):
    """The folder that a library is made of: the nearest one with a CMakeLists.txt."""
    return next((folder for folder in path.parents if (folder / "CMakeLists.txt").exists()), path.parent)


def header_definitions(bare):
    """What stands directly in the named namespaces of a header: a name in an unnamed namespace would hide it."""
    stack, header = [], ""
    for part in re.split(r"([{};])", re.sub(r"^[ \t]*#.*$", "", bare, flags=re.MULTILINE)):
        outside = not stack or set(stack) == {"namespace"}
        text = header.strip()
        if part == "{" and re.search(r"namespace(\s+[\w:]+)?\s*$", text):
            stack.append("namespace")
        elif part == "{":
            if outside:
                yield definition(text)
            stack.append("other")
        elif part == "}" and stack:
            stack.pop()
        elif part == ";" and outside:
            yield definition(text)
        header = "" if part in ("{", "}", ";") else part


def headers_of(source, by_name, seen):
    """Adds the names of all headers that a file includes, and that those include."""
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', source.text, re.MULTILINE):
        name = "src/" + name
        if name in by_name and name not in seen:
            seen.add(name)
            headers_of(by_name[name], by_name, seen)


def hidden_names(root, sources):
    """An unnamed namespace and a header of the same batch have one name for two things: calls in the batch find either."""
    by_name = {source.name: source for source in sources if source.name.startswith("src/") and source.is_code}
    libraries = collections.defaultdict(list)
    for source in by_name.values():
        if source.path.suffix == ".cc":
            libraries[library(source.path)].append(source)
    definitions = {name: {one for one in header_definitions(source.bare) if one} for name, source in by_name.items()
                   if source.path.suffix == ".h"}
    for files in libraries.values():
        headers = set()
        for source in files:
            headers_of(source, by_name, headers)
        known = {one: name for name in sorted(headers) for one in definitions.get(name, ()) if not one[1].startswith("using ")}
        for source in files:
            for line, text in unnamed_statements(source.bare):
                what = definition(text)
                if what in known:
                    yield source, line, f"'{what[0]}' is also in {known[what]}: one hides the other in a batch"


def names_of_batches(root, sources):
    seen = collections.defaultdict(dict)  # library -> definition -> file
    for source in sources:
        if not (source.name.startswith("src/") or source.name.startswith("tools/nodetool")) or source.path.suffix != ".cc":
            continue
        known = seen[library(source.path)]
        for line, text in unnamed_statements(source.bare):
            what = definition(text)
            if what is None or what[1].startswith("using "):
                continue
            if known.setdefault(what, source.name) != source.name:
                yield source, line, f"'{what[0]}' is also in {known[what]}, and both are compiled in one batch"
