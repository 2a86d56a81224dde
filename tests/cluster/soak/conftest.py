"""The options of `run`."""
import random

REPORT = []  # lines for the end of the run


def pytest_addoption(parser):
    parser.addoption("--minutes", type=float, default=5, help="how long the load lasts")
    parser.addoption("--rate", type=int, default=300, help="requests a second of each of the three workers")
    parser.addoption("--seed", type=int, default=random.SystemRandom().randrange(1 << 32), help="of requests and upkeep")
    parser.addoption("--latency", action="store_true", help="reads during compactions are held to twice their time without; nothing else may run")


def pytest_terminal_summary(terminalreporter):
    for line in REPORT:
        terminalreporter.write_line(line)
