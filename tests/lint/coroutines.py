"""Rules for what GCC 12 miscompiles in coroutines, and for what a coroutine or a loop must not borrow. lint.py runs them."""
import re

FOLDERS = ("src/", "tools/")
AWAIT = re.compile(r"\b(co_await|co_return|co_yield|CO_TRY|CO_ASSIGN_OR_RETURN)\b")
LAMBDA_WITH_CAPTURES = re.compile(
    r"(?<![\w)\]])\[(?!\s*\])[^\[\];]*\]\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?(?:mutable\b|noexcept\b|->[^{]*)?\s*\{")
LAMBDA = re.compile(r"(?:^|[^\w)\]\s])\s*\[(?P<captures>[^\[\]]*)\]\s*(?:\((?P<parameters>[^()]*(?:\([^()]*\)[^()]*)*)\)\s*)?"
                    r"(?:mutable\b|noexcept\b|->.*)?\s*$", re.DOTALL)
BLOCK = re.compile(r"(?:else\s+)?(?P<word>if|for|while|switch|catch|else|do|try|case|default)\b")
FUNCTION = re.compile(r"\((?P<parameters>[^()]*(?:\([^()]*\)[^()]*)*)\)\s*(?:const\b|noexcept\b|override\b|final\b|\s)*(?:->.*)?$", re.DOTALL)
LOOP_OVER_TEMPORARY = re.compile(r"\bfor \([^;{}]*?(?<!:):(?!:)\s*(?:\*[^;{}]*\(|[^;{}]*\)\.value\(\))[^;{}]*\)\s*(?:\{|\n|[a-z])")
BRACED_ARGUMENT = re.compile(r"[(,]\s*[\w:]*(?:<[^<>()]*>)?\s*\{")
REFERENCE = re.compile(r"(?:\bconst\b.*&|&&)\s*(?:\w+\s*)?(?:=.*)?$", re.DOTALL)  # that a temporary can be passed to


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def awaited_expressions(bare):
    """Position and text of each operand of co_await."""
    for match in re.finditer(r"\bco_await\b", bare):
        depth, end = 0, match.end()
        while end < len(bare) and (depth > 0 or bare[end] not in ")]};,"):
            depth += (bare[end] in "([{") - (bare[end] in ")]}")
            end += 1
        yield match.start(), bare[match.end():end]


def in_folders(sources):
    return (source for source in sources if source.is_code and source.name.startswith(FOLDERS))


def temporaries_of_awaits(root, sources):
    """GCC 12 destroys such a temporary twice when it stands in an awaited call."""
    for source in in_folders(sources):
        for start, text in awaited_expressions(source.bare):
            if LAMBDA_WITH_CAPTURES.search(text):
                yield source, line_of(source.bare, start), "a lambda with captures in an awaited call: name it before"
            elif BRACED_ARGUMENT.search(re.sub(r"\[\s*\]\s*\([^()]*\)", ")", text)):
                yield source, line_of(source.bare, start), "a braced argument in an awaited call: name it before"


def awaits_of_choices(root, sources):
    """GCC 12 destroys what a co_await in a branch of ?: results in twice. The condition may be awaited."""
    for source in in_folders(sources):
        for start, _ in awaited_expressions(source.bare):
            begin = max(source.bare.rfind(char, 0, start) for char in ";{}")
            if "?" in source.bare[begin + 1:start]:
                yield source, line_of(source.bare, start), "a co_await inside ?: whose result GCC 12 destroys twice"


def blocks_of_awaits(bare):
    """For each word that makes a coroutine: its position, and what stands before the braces around it, the innermost first, up to
    those of its function or lambda."""
    stack, header, depth = [], 0, 0  # of open braces: (header, depth of parentheses outside)
    words = {match.start() for match in AWAIT.finditer(bare)}
    for at, char in enumerate(bare):
        if at in words:
            yield at, list(around(stack))
        if char == "{":
            stack.append((bare[header:at].strip(), depth))
            header, depth = at + 1, 0
        elif char == "}" and stack:
            depth = stack.pop()[1]
            header = at + 1
        elif char == ";" and depth == 0:
            header = at + 1
        depth += (char == "(") - (char == ")")


def around(stack):
    for header, _ in reversed(stack):
        yield header
        if LAMBDA.search(header) or (FUNCTION.search(header) and not BLOCK.match(header)):
            return


def split_parameters(text):
    depth, part = 0, ""
    for char in text:
        depth += (char in "<([{") - (char in ">)]}")
        if char == "," and depth == 0:
            yield part
            part = ""
        else:
            part += char
    yield part


def frames_that_borrow(root, sources):
    """A coroutine's frame outlives the full expression that made it: captures and references may be gone then. GCC 12 also copies
    the captures of a lambda wrongly."""
    for source in in_folders(sources):
        seen = set()
        for at, headers in blocks_of_awaits(source.bare):
            number = line_of(source.bare, at)
            if any(re.match(r"catch\b", header) for header in headers) and source.bare.startswith("co_await", at):
                yield source, number, "a co_await in a catch block: keep the error and await behind it"
            outer = headers[-1] if headers else ""
            if outer in seen:
                continue
            seen.add(outer)
            found = LAMBDA.search(outer)
            if found and found.group("captures").strip():
                yield source, number, "a coroutine that is a lambda with captures: make it a function with parameters"
                continue
            found = found or FUNCTION.search(outer)
            for parameter in split_parameters(found.group("parameters") or "") if found else []:
                if REFERENCE.search(parameter.strip()):
                    yield source, number, f"a coroutine with the reference '{' '.join(parameter.split())}': take a value or a pointer"


def loops_over_temporaries(root, sources):
    """`for (x : *f())`: until C++23 the Result that f() returns is gone before the first turn."""
    for source in sources:
        if source.is_code:
            for match in LOOP_OVER_TEMPORARY.finditer(source.bare):
                yield source, line_of(source.bare, match.start()), "a loop over a part of a temporary: name the result before"


RULES = [temporaries_of_awaits, awaits_of_choices, frames_that_borrow, loops_over_temporaries]
