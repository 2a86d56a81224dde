"""Rules for what people read: comments, and the Markdown of README.md and docs/. lint.py runs them."""
import re

MAX_DOC_COLUMNS = 100
MAX_PARAGRAPH_LINES = 5
MAX_CELL = 200
FILES_OF_OTHERS = {"TOC.txt"}  # components of SSTables

HANGING = re.compile(r"(Of|As|What|That which|Those|Whose|Likewise|Such|Which|Whom|Also|Nor)\b")
SENTENCE = re.compile(r"[a-z)\]`\"]\. " + HANGING.pattern)
ENDS_SENTENCE = re.compile(r"[.?!][)\"]?$")
COMMENT = re.compile(r"^([^\"]*?)(?<!:)//+\s?(.*)$")
HASH_COMMENT = re.compile(r"^([^\"']*?)(?<![\w$#&])#(?![!#])\s?(.*)$")
WITH_SLASHES = {".cc", ".h", ".java", ".go", ".rs", ".js"}
WITH_HASHES = {".py", ".cmake", ".sh"}


def comment_pattern(source):
    if source.path.suffix in WITH_SLASHES:
        return COMMENT
    if source.path.suffix in WITH_HASHES or source.path.name == "CMakeLists.txt" or source.text.startswith("#!"):
        return HASH_COMMENT
    return None


def comment_openings(root, sources):
    """A sentence that begins so hangs on the line above, or has no subject."""
    for source in sources:
        pattern = comment_pattern(source)
        if pattern is None:
            continue
        before = None  # the line of the same comment
        for number, line in enumerate(source.lines, 1):
            match = pattern.match(line)
            alone = bool(match) and not match.group(1).strip()
            opening = match and hanging_opening(before if alone else None, match.group(2))
            if opening:
                yield source, number, f"a sentence that begins with '{opening}': begin with its subject"
            before = match.group(2) if alone else None


def hanging_opening(before, text):
    """The word that a sentence of the line begins with and should not, or None. `before`: the line above, of the same text."""
    begins = not before or ENDS_SENTENCE.search(before.rstrip())
    found = begins and HANGING.match(text) or SENTENCE.search(text)
    return found.group(1) if found else None


# --- Markdown


def documents(sources):
    return [source for source in sources if source.name == "README.md" or re.fullmatch(r"docs/[^/]+\.md", source.name)]


def prose_lines(source):
    """Number and text of each line; a line of fenced code has the text None."""
    fenced = False
    for number, line in enumerate(source.lines, 1):
        fence = line.lstrip().startswith("```")
        yield number, None if fenced or fence else line
        fenced ^= fence


def is_table(line):
    return line.lstrip().startswith("|")


def doc_columns(root, sources):
    for source in documents(sources):
        for number, line in prose_lines(source):
            if line and not is_table(line) and len(line) > MAX_DOC_COLUMNS and " " in line.strip():
                yield source, number, f"{len(line)} columns, {MAX_DOC_COLUMNS} at most"


def doc_openings(root, sources):
    """As comment_openings. An item of a list and a heading are texts of their own; tables are left out."""
    for source in documents(sources):
        before = None
        for number, line in prose_lines(source):
            text = (line or "").strip()
            item = re.sub(r"^([-*+]|\d+\.)\s+", "", text)
            if not text or is_table(text) or text.startswith("#"):
                before = None
                continue
            opening = hanging_opening(before if item == text else None, item)
            if opening:
                yield source, number, f"a sentence that begins with '{opening}': begin with its subject"
            before = text


def doc_paragraphs(root, sources):
    """An item of a list is a paragraph of its own."""
    for source in documents(sources):
        first, count = 0, 0
        for number, line in [*prose_lines(source), (len(source.lines) + 1, None)]:
            text = (line or "").strip()
            ends = not text or text.startswith(("#", "|", "<")) or re.match(r"([-*+]|\d+\.)\s", text)
            if ends:
                if count > MAX_PARAGRAPH_LINES:
                    yield source, first, f"a paragraph of {count} lines, {MAX_PARAGRAPH_LINES} at most"
                first, count = number, int(bool(re.match(r"([-*+]|\d+\.)\s", text)))
            else:
                first = first if count else number
                count += 1


def doc_cells(root, sources):
    for source in documents(sources):
        for number, line in prose_lines(source):
            if line and is_table(line):
                for cell in re.split(r"(?<!\\)\|", line):
                    if len(cell.strip()) > MAX_CELL:
                        yield source, number, f"a table cell of {len(cell.strip())} characters, {MAX_CELL} at most"


def anchors(text):
    """The names that GitHub gives to headings."""
    titles = re.findall(r"^#+\s+(.*?)\s*$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles)
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


def doc_links(root, sources):
    for source in (source for source in sources if source.path.suffix == ".md"):
        for number, line in prose_lines(source):
            for target in re.findall(r"\]\(([^)\s]+)(?:\s[^)]*)?\)", re.sub(r"`[^`]*`", "", line or "")):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                path = source.path.parent / name if name else source.path
                if not path.exists():
                    yield source, number, f"a link to {name}, which is not there"
                elif anchor and path.suffix == ".md" and anchor not in anchors(path.read_text()):
                    yield source, number, f"a link to #{anchor}, a heading that {path.name} does not have"


def doc_files(root, sources):
    """A source file that a document names is there, below the root or in any folder of src/ and tests/."""
    known = ["/" + path.relative_to(root).as_posix() for path in root.rglob("*") if "build" not in path.parts]
    for source in documents(sources):
        for number, line in prose_lines(source):
            for name in re.findall(r"`([\w./-]+\.(?:h|cc|py|txt|java))`", line or ""):
                if name not in FILES_OF_OTHERS and not any(path.endswith("/" + name) for path in known):
                    yield source, number, f"{name} is not there"


# --- commands of README.md

PROGRAMS = {"apt-get", "cd", "cmake", "cqlsh", "curl", "docker", "export", "git", "kill", "ninja", "pip", "pipx", "python3", "sudo"}
BUILT = {"cassandra-like", "nodetool", "simulate"}


def readme_commands(root, sources):
    """Commands of `sh` blocks are files of this tree, built programs, or well known; nodetool can do the command. Debian's pip
    installs only into virtual environments."""
    commands = nodetool_commands(root)
    for source in (source for source in sources if source.name == "README.md"):
        shell = False
        for number, line in enumerate(source.lines, 1):
            if line.startswith("```"):
                shell = not shell and line.strip() in ("```sh", "```bash")
                continue
            for command in re.sub(r"(^|\s)#.*", "", line).split(" && ") if shell else []:
                words = [word for word in command.split() if "=" not in word.split("/")[0]]
                while words and words[0] in ("sudo", "$"):
                    words.pop(0)
                if words and (wrong := wrong_command(root, words, commands)):
                    yield source, number, wrong


def wrong_command(root, words, nodetool):
    program = re.sub(r"^~/.*/bin/", "", words[0])  # of a virtual environment
    if words[0] == "pip":
        return "Debian's pip installs only into virtual environments: python3 -m venv"
    if "/" in program and not (built(program) or (root / program).is_file()):
        return f"the command {program} is not there"
    if "/" not in program and program not in PROGRAMS | BUILT:
        return f"the command {program} is neither here nor among the known ones"
    if program.endswith("nodetool") and not nodetool.intersection(words[1:]):
        return "nodetool has no such command, or cannot do it"
    return None


def built(program):
    parts = program.removeprefix("./").split("/")
    return len(parts) == 3 and parts[0] == "build" and (parts[2] in BUILT or parts[2].endswith("_test"))


def nodetool_commands(root):
    text = "".join(path.read_text() for path in sorted((root / "tools").glob("**/nodetool*.cc")))
    return set(re.findall(r'\{\s*"([a-z]+)",\s*"[^"]*",\s*run_', text)) | {"help"}
