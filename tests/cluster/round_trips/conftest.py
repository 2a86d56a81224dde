"""The options of `run`."""
from jvm import SETTINGS

REPORT = []  # lines for the end of the run


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=2, help="of schemas and writes")
    parser.addoption("--format", choices=[*SETTINGS, "all"], help="of the files; without it, the seed chooses one")
    parser.addoption("--rows", type=int, default=40000, help="of the wide partition, and of a table of many")


def pytest_generate_tests(metafunc):
    options = metafunc.config.option
    chosen = options.format or list(SETTINGS)[options.seed % len(SETTINGS)]
    metafunc.parametrize("version", SETTINGS if chosen == "all" else [chosen])


def pytest_terminal_summary(terminalreporter):
    for line in REPORT:
        terminalreporter.write_line(line)
