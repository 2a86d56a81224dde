#!/usr/bin/env python3
"""The rules of the house that a program can check. Prints `file:line: message` for each breach.

Usage: lint.py [ROOT]. Ends with `N passed, N failed, N skipped`, one for each rule; exit code 1 when one failed.
"""
import pathlib
import re
import shutil
import subprocess
import sys

import batches
import coroutines
import names
import prose

MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 70
SKIPPED_FOLDERS = {"build", ".git", "node_modules", "__pycache__", "data", "corpus", "venv", ".venv"}
CODE = {".cc", ".h"}
TEXT = CODE | {".py", ".md", ".yaml", ".yml", ".cmake", ".txt", ".json", ".js", ".java", ".go", ".rs", ".sh", ""}

# Outside src/runtime/linux all of these come through runtime/.
BANNED = [
    (r"\b(system|steady|high_resolution)_clock\b", "a clock: take runtime's Clock"),
    (r"\bstd::(j?thread|async)\b", "a thread: take runtime's Executor"),
    (r"\bthis_thread\b", "a thread: take runtime's Executor"),
    (r"\b(random_device|srand|getrandom|getentropy)\b", "randomness: take runtime's Random"),
    (r"\bfetch_(add|sub)\([^;]*\)\s*[-+]\s*[a-z_]\w*", "sometimes twice the value before, with GCC 12: load the sum afterwards"),
    (r"(?<![\w.>:])(rand|usleep|nanosleep|gettimeofday|clock_gettime)\s*\(", "the world: take it from runtime"),
    (r"(?<!\w)(std)?::(rand|time|sleep|clock)\s*\(|\btime\((nullptr|NULL|0)\)", "the world: take it from runtime"),
    (r"(?<![\w.>])(socket|bind|accept|connect)\s*\(\s*(AF_|fd\b|sock)", "a socket: take runtime's Network"),
    (r"\b(i|o)?fstream\b|\bstd::filesystem\b|\b(f|fd|freo)open\s*\(", "a file: take runtime's Disk"),
    (r"(?<!\w)::(open|openat|creat|socket|mmap(?!.*MAP_ANONYMOUS)|fsync|fdatasync|rename|unlink|mkdir)\s*\(", "a system call: take it from runtime"),
]


class Source:
    """One file: its lines, and for C++ the text without comments and literals (same length, same lines)."""

    def __init__(self, root, path):
        self.path = path
        self.name = path.relative_to(root).as_posix()
        self.data = path.read_bytes()
        self.text = self.data.decode("utf-8", errors="replace")
        self.lines = self.text.split("\n")
        self.is_code = path.suffix in CODE
        self.bare = strip(self.text) if self.is_code else self.text


def strip(text):
    """Blanks comments, strings and characters; newlines stay."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
        re.DOTALL)

    def blank(match):
        kept = match.group(0)
        inner = re.sub(r"[^\n]", " ", kept)
        return '""' + inner[2:] if kept[0] in '"R' and len(kept) > 1 else inner

    return pattern.sub(blank, text)


def files(root):
    out = []
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.is_file() and path.suffix in TEXT and not SKIPPED_FOLDERS.intersection(parts[:-1]):
            out.append(Source(root, path))
    return out


def numbered(source, pattern, text=None):
    for number, line in enumerate((text if text is not None else source.text).split("\n"), 1):
        for match in re.finditer(pattern, line):
            yield number, match


# --- include direction


def read_rules(path):
    """Folder -> every folder that it may include."""
    direct = {}
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            folder, _, rest = line.partition(":")
            direct[folder.strip()] = rest.split()

    def closure(folder):
        out = {folder}
        for lower in direct[folder]:
            out |= closure(lower)
        return out

    return {folder: closure(folder) for folder in direct}


def folder_of(path, rules):
    """The longest row of the table that holds the path."""
    parts = path.split("/")[:-1]
    for size in range(len(parts), 0, -1):
        if "/".join(parts[:size]) in rules:
            return "/".join(parts[:size])
    return None


def include_direction(root, sources):
    rules = read_rules(pathlib.Path(__file__).resolve().parent / "include_rules.txt")
    for source in sources:
        if not source.is_code or not source.name.startswith("src/"):
            continue
        folder = folder_of(source.name[4:], rules)
        if folder is None:
            yield source, 1, "is in no folder that tests/lint/include_rules.txt lists"
            continue
        for number, match in numbered(source, r'^\s*#\s*include\s+"([^"]+)"'):
            target = match.group(1)
            if target.startswith(("cassandra_like/", "absl/")):
                continue
            lower = folder_of(target, rules)
            if lower is None or not (root / "src" / target).exists():
                yield source, number, f'"{target}" is no header of src/ (the include root)'
            elif lower not in rules[folder]:
                yield source, number, f"{folder} may not include {lower}"


def no_asio_outside(root, sources):
    for source in sources:
        if source.is_code and source.name.startswith(("src/", "include/")) and not source.name.startswith("src/runtime/linux/"):
            for number, _ in numbered(source, r"boost/(asio|beast)|boost::(asio|beast)|\basio::"):
                yield source, number, "Asio outside src/runtime/linux"


def banned_calls(root, sources):
    for source in sources:
        if not source.is_code or not source.name.startswith("src/") or source.name.startswith("src/runtime/linux/"):
            continue
        for pattern, advice in BANNED:
            for number, match in numbered(source, pattern, source.bare):
                yield source, number, f"'{match.group(0).strip()}' is {advice}"


# --- lengths


def file_length(root, sources):
    for source in sources:
        count = len(source.lines) - (source.lines[-1] == "")
        if (source.is_code or source.path.suffix == ".py") and count > MAX_FILE_LINES:
            yield source, MAX_FILE_LINES, f"{count} lines, {MAX_FILE_LINES} at most: it has two jobs"


ACCESS = re.compile(r"\s*(public|protected|private)\s*")


def functions(bare):
    """First line and length of each outermost function, told by what stands before its brace. Lines of data (`= {...}`) in it
    do not count."""
    stack = []  # (kind, first line, header); kinds: scope, function, initializer, data, other
    header_start, header = None, ""
    line, data_lines = 1, 0
    for char in blank_directives(bare):
        if char == "{":
            kind = brace_kind(header.strip(), any(entry[0] == "function" for entry in stack))
            stack.append((kind, header_start or line, header))
            if kind != "initializer":
                header_start, header = None, ""
        elif char == "}" and stack:
            kind, first, before = stack.pop()
            if kind == "function":
                yield first, line - first + 1 - data_lines
                data_lines = 0
            if kind == "data" and not any(entry[0] == "data" for entry in stack):
                data_lines += line - first
            header_start, header = (first, before + "{}") if kind == "initializer" else (None, "")
        elif (char == ";" and not open_parenthesis(header)) or (char == ":" and ACCESS.fullmatch(header)):
            header_start, header = None, ""
        else:
            if not char.isspace() and header_start is None:
                header_start = line
            header += char
        line += char == "\n"


def blank_directives(bare):
    return re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), bare, flags=re.MULTILINE)


def open_parenthesis(header):
    return header.count("(") > header.count(")")


def brace_kind(header, in_function):
    if in_function:
        return "data" if header.endswith("=") else "other"
    if re.search(r"\b(namespace|extern)\b[^()]*$", header) or re.match(r"extern\b", header):
        return "scope"
    if re.search(r"\)\s*(noexcept)?\s*:[^:{}]*[\w>]$", header):
        return "initializer"  # of a member, before a constructor's body
    if re.search(r"\b(class|struct|union|enum)\b", header) and not re.search(r"\)\s*(const|noexcept|override|final|\s)*(->.*)?$", header):
        return "scope"
    if "(" in header and not open_parenthesis(header) and not re.search(r"=\s*[\w:<>]*$", header):
        return "function"
    return "other"


def function_length(root, sources):
    for source in sources:
        if source.is_code:
            for first, length in functions(source.bare):
                if length > MAX_FUNCTION_LINES:
                    yield source, first, f"a function of {length} lines, {MAX_FUNCTION_LINES} at most"


# --- text


def unfinished_work(root, sources):
    words = "|".join(["TO" + "DO", "FIX" + "ME"])
    for source in sources:
        for number, match in numbered(source, rf"\b({words})\b"):
            yield source, number, f"'{match.group(0)}': finish it, or say what is not there in the answer to the user"


def hygiene(root, sources):
    for source in sources:
        recorded = source.name.startswith("tests/") and source.path.suffix in {".txt", ".json"}
        if recorded or source.name == "LICENSE" or not source.data:
            continue
        if not source.data.endswith(b"\n"):
            yield source, len(source.lines), "no newline at the end"
        if source.data.endswith(b"\n\n"):
            yield source, len(source.lines) - 1, "an empty line at the end"
        if b"\r" in source.data:
            yield source, source.data[:source.data.index(b"\r")].count(b"\n") + 1, "a carriage return"
        if "\ufffd" in source.text and b"\xef\xbf\xbd" not in source.data:
            yield source, 1, "not UTF-8"
        for number, _ in numbered(source, r"[ \t]+$"):
            yield source, number, "space at the end of the line"
        if source.path.suffix not in ("", ".go"):
            for number, _ in numbered(source, r"^\s*\t"):
                yield source, number, "a tab"
        for number, _ in numbered(source, r"^(<{7}|>{7}) "):
            yield source, number, "a conflict marker"
        if source.path.suffix == ".h" and "#pragma once" not in source.text:
            yield source, 1, "no #pragma once"
        if source.path.suffix == ".h" and source.name.startswith(("src/", "include/")) and not source.text.startswith("//"):
            yield source, 1, "does not open with what it is for"


class Skip(Exception):
    pass


def formatting(root, sources):
    program = shutil.which("clang-format-14")
    if program is None and (plain := shutil.which("clang-format")):
        if " 14." in subprocess.run([plain, "--version"], capture_output=True, text=True).stdout:
            program = plain
    if program is None:
        raise Skip("clang-format 14 is not installed")
    by_path = {str(source.path): source for source in sources if source.is_code}
    if not by_path:
        return
    done = subprocess.run([program, "--dry-run", "--style=file", *by_path], capture_output=True, text=True)
    seen = set()  # one line for each file is enough
    for match in re.finditer(r"^(.*?):(\d+):\d+: (?:warning|error): ", done.stderr, re.MULTILINE):
        path, number = match.group(1), int(match.group(2))
        if path in by_path and path not in seen:
            seen.add(path)
            yield by_path[path], number, "not as clang-format -i leaves it"


RULES = [include_direction, no_asio_outside, banned_calls, *coroutines.RULES, file_length, function_length,
         unfinished_work, hygiene, formatting, batches.names_of_batches, batches.hidden_names, names.type_names, prose.comment_openings,
         prose.doc_openings, prose.doc_columns, prose.doc_paragraphs, prose.doc_cells, prose.doc_links, prose.doc_files,
         prose.readme_commands]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    sources = files(root)
    passed = failed = skipped = 0
    for rule in RULES:
        try:
            breaches = list(rule(root, sources))
        except Skip as why:
            print(f"{rule.__name__} skipped: {why}")
            skipped += 1
            continue
        for source, number, message in breaches:
            print(f"{source.name}:{number}: {message}")
        failed += bool(breaches)
        passed += not breaches
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
