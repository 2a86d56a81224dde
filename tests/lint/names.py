"""Two types never share a name, wherever in src/ they are: who searches for one must not find another."""
import re

TYPE = re.compile(r"(?:^|\s)(?:enum\s+class|enum|class|struct|union)\s+(\w+)\s*(?:final\b\s*)?(?::[^:].*)?$", re.DOTALL)
SYNTAX_TREE = "ast"  # its types are named after the statements and terms that they are the syntax of


def types(bare):
    """Line and name of each type that is defined directly in a namespace."""
    stack, line, header = [], 1, ""
    for part in re.split(r"([{};])", re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", lambda m: "\n" * m.group(0).count("\n"), bare, flags=re.MULTILINE)):
        text = header.strip()
        if part == "{":
            space = re.search(r"namespace\s*([\w:]*)$", text)
            if not space and all(stack) and (found := TYPE.search(text)):
                yield line, found.group(1)
            stack.append(bool(space) and not space.group(1).endswith(SYNTAX_TREE))
        elif part == "}" and stack:
            stack.pop()
        header = "" if part in ("{", "}", ";") else part
        line += part.count("\n")


def type_names(root, sources):
    seen = {}
    for source in sources:
        if source.is_code and source.name.startswith("src/"):
            for line, name in types(source.bare):
                if seen.setdefault(name, source.name) != source.name:
                    yield source, line, f"a type '{name}' is also in {seen[name]}"
