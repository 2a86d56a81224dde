"""The options of `run`."""
import random

import checks
import load


def pytest_addoption(parser):
    parser.addoption("--nodes", type=int, default=3, help="how many nodes, 3 to 9")
    parser.addoption("--minutes", type=float, default=1.5, help="how long a run lasts in all")
    parser.addoption("--seed", type=int, default=random.SystemRandom().randrange(1 << 32), help="of the faults")
    parser.addoption("--rate", type=int, default=200, help="requests a second")
    parser.addoption("--plant", choices=sorted(load.PLANTS), help="a bug that the checks have to find")


def pytest_terminal_summary(terminalreporter):
    for line in checks.REPORT:
        terminalreporter.write_line(line)
