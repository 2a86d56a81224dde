"""A pytest plugin that ends with the line that tools/test adds up."""


def pytest_terminal_summary(terminalreporter):
    count = lambda *names: sum(len(terminalreporter.stats.get(name, [])) for name in names)
    terminalreporter.write_line(f"{count('passed')} passed, {count('failed', 'error')} failed, {count('skipped')} skipped")
