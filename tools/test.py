#!/usr/bin/env python3
"""Installs, builds and tests: tools/test [--quick | --all | --drivers | --sanitized | --only NAME... | --changed [BASE]].

  (nothing)       lint, unit tests, simulation and the short client suites on the release programs
  --quick         lint and unit tests
  --all           lint, clang-tidy, simulation and all client suites on the release programs, and what --sanitized runs
  --drivers       the client suites (tests/drivers/*/run, tests/cluster/*/run), and every one of them: a skipped one has failed
  --sanitized     the unit tests and 20 seeds under address and undefined behaviour sanitizers
  --only NAME...  tests by name: a folder of tests/ (cql: build/dev/cql_test), lint, tidy, simulate, or a suite (cluster/cqlsh)
  --changed       what --only would name for the files that differ from BASE: where HEAD left the branch main, or HEAD itself

A suite is a folder with a `run` script. It prints lines `N passed, N failed, N skipped`, which are added up; exit code 77 means
that it was skipped because its toolchain or registry does not answer, and its last line says why. The last line of this program is
the sum over everything; the exit code is 1 when anything failed.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/lint"))
from lint import read_rules  # noqa: E402  (the folders, and what each may include)

COUNTS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
SIMULATION_SEEDS = 200
SANITIZED_SEEDS = 20
SUITE_TIMEOUT_SECONDS = 900
PROGRAMS_AT_ONCE = 2
SUITES = {"/".join(path.parts[-3:-1]): path
          for path in sorted([*ROOT.glob("tests/drivers/*/run"), *ROOT.glob("tests/cluster/*/run")])}
# A minute in all.
SHORT_SUITES = [f"cluster/{name}" for name in ("bad_day", "cqlsh", "nodes", "operations", "paging", "schema", "seeds")]
# Lanes beside each other. Their suites have addresses of their own and look at no times; all others run alone.
SUITES_AT_ONCE = ([name for name in SUITES if name.startswith("drivers/")],
                  ["cluster/ccm", "cluster/crash", "cluster/sstables"], ["cluster/soak", "cluster/round_trips"])


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, name, passed, failed, skipped, began, note=""):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        print(f"{name}: {passed} passed, {failed} failed, {skipped} skipped ({time.time() - began:.1f} s)"
              + (f": {note}" if note else ""), flush=True)

    def add_output(self, name, code, output, began, may_skip=True):
        """Adds up the lines of a suite. A failure without such a line counts as one."""
        sums = [sum(column) for column in zip(*(map(int, found) for found in COUNTS.findall(output)))] or [0, 0, 0]
        lines = output.strip().splitlines()
        if code == 77:
            skipped, failed = (sums[2] or 1, 0) if may_skip else (sums[2], 1)
            self.add(name, sums[0], failed, skipped, began, lines[-1] if lines else "")
            return
        if code != 0 and sums[1] == 0:
            sums[1] = 1
        if sum(sums) == 0:
            sums[0] = 1
        if sums[1]:
            print("\n".join(lines[-200:]))
        self.add(name, *sums, began)


def run(command, **options):
    """Runs a command; its exit code and all that it printed. A program that hangs is ended and has failed."""
    try:
        done = subprocess.run([str(c) for c in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=SUITE_TIMEOUT_SECONDS, **options)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as e:
        output = e.stdout.decode(errors="replace") if isinstance(e.stdout, bytes) else e.stdout or ""
        return 1, output + f"\nstill running after {SUITE_TIMEOUT_SECONDS} s, ended\n"


def build(preset, *targets):
    began = time.time()
    if subprocess.run([ROOT / "tools/build", "--preset", preset, "--tests", *targets], cwd=ROOT).returncode != 0:
        return False
    print(f"build/{preset}: {time.time() - began:.1f} s", flush=True)
    return True


def script(totals, name, path, *arguments):
    began = time.time()
    totals.add_output(name, *run([sys.executable, ROOT / path, *arguments]), began)


def lint(totals):
    script(totals, "lint", "tests/lint/lint.py")
    script(totals, "lint_test", "tests/lint/lint_test.py")


def unit_test(totals, program):
    began = time.time()
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        code, output = run([program, f"--gtest_output=json:{report}", "--gtest_brief=1"])
        try:
            suites = json.loads(report.read_text())["testsuites"]
        except (OSError, ValueError):
            print(output[-20000:])
            totals.add(program.name, 0, 1, 0, began, f"ended with {code} and no report")
            return
    tests = [test for suite in suites for test in suite["testsuite"]]
    failed = sum("failures" in test for test in tests)
    skipped = sum(test.get("result") == "SKIPPED" or test.get("status") == "NOTRUN" for test in tests)
    if failed or code != 0:
        print(output[-20000:])
    failed = max(failed, 1 if code != 0 else 0)
    totals.add(program.name, max(len(tests) - failed - skipped, 0), failed, skipped, began)


def unit_tests(totals, programs):
    with concurrent.futures.ThreadPoolExecutor(PROGRAMS_AT_ONCE) as pool:
        list(pool.map(lambda program: unit_test(totals, program), programs))


def simulation(totals, preset, seeds):
    for nodes in (1, 3):
        began = time.time()
        code, output = run([ROOT / "build" / preset / "simulate", "--seed", 1, "--runs", seeds, "--nodes", nodes,
                            "--jobs", os.cpu_count()])
        totals.add_output(f"simulate ({seeds} seeds, nodes: {nodes})", code, output, began)


def client_suite(totals, name, may_skip):
    began = time.time()
    path = SUITES[name]
    environment = dict(os.environ, CASSANDRA_LIKE_BUILD=str(ROOT / "build/release"))
    if path.parent.name not in ("differential", "paging"):
        environment.pop("CASSANDRA_HOST", None)  # the other suites would take it for the node to test
    code, output = run([path], env=environment)
    totals.add_output(name, code, output, began, may_skip)


def client_suites(totals, names, may_skip):
    def one_after_the_other(some):
        for name in some:
            client_suite(totals, name, may_skip)

    together = [[name for name in lane if name in names] for lane in SUITES_AT_ONCE]
    one_after_the_other([name for name in names if not any(name in lane for lane in together)])
    with concurrent.futures.ThreadPoolExecutor(len(together)) as pool:
        list(pool.map(one_after_the_other, together))


# --- single tests, and the tests of what has changed


def test_folders():
    """Folder of tests/ -> its program."""
    return {path.parent.name: f"{path.parent.name}_test" for path in sorted(ROOT.glob("tests/*/CMakeLists.txt"))
            if path.parent.name not in ("lint", "support")}


def everything():
    return ["lint", *test_folders(), "simulate"]


def changed_files(base):
    """Paths that differ from `base` or are not committed."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.split("\n")

    if base is None:
        base = next((line for line in git("merge-base", "HEAD", "main") if line), "HEAD")
    return {line for line in git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard") if line}


def inputs_of(program):
    """Every file that a test program of the dev build is made of, but for headers."""
    done = subprocess.run(["ninja", "-C", ROOT / "build/dev", "-t", "inputs", program], capture_output=True, text=True)
    return [line.removeprefix(f"{ROOT}/") for line in done.stdout.splitlines()]


def names_of_changed(paths):
    """What --only takes, for the tests that can see a change of these files."""
    rules = read_rules(ROOT / "tests/lint/include_rules.txt")
    names, prefixes = {"lint"}, set()
    for path in paths:
        parts = path.split("/")
        suite = "/".join(parts[1:3])
        if path.endswith((".md", ".editorconfig")):
            continue
        if parts[0] == "tests" and suite in SUITES:
            names.add(suite)
        elif parts[0] == "src" and len(parts) > 2:
            above = {folder.split("/")[0] for folder, lower in rules.items()
                     if parts[1] in {one.split("/")[0] for one in lower}}
            prefixes |= {f"src/{folder}/" for folder in above}
        elif parts[0] == "tests" and path.endswith(".cc"):
            prefixes.add(path)
        elif parts[0] == "tests" and len(parts) > 2:
            prefixes.add("/".join(parts[:2]) + "/")
        elif parts[0] == "include":
            prefixes |= {"src/node/", "src/embedded/"}
        elif parts[0] == "tools" and path.endswith((".cc", ".h")):
            prefixes.add("tools/nodetool" if parts[1].startswith("nodetool") else path)
        elif parts[0] == "cmake" or path.endswith(("CMakeLists.txt", "CMakePresets.json")):
            return everything()
    for folder, program in {**test_folders(), "simulate": "simulate"}.items():
        if any(one.startswith(tuple(prefixes)) for one in inputs_of(program)):
            names.add(folder)
    return sorted(names)


def only(totals, names):
    folders = test_folders()
    unknown = [name for name in names if name not in {*folders, *SUITES, "lint", "tidy", "simulate"}]
    if unknown:
        sys.exit(f"tools/test: no test has the name {unknown[0]}; there are lint, tidy, simulate, {', '.join([*folders, *SUITES])}")
    targets = [folders[name] for name in names if name in folders] + ["simulate"] * ("simulate" in names)
    if targets and not build("dev", *targets):
        return False
    if SUITES.keys() & set(names) and not build("release", "programs"):
        return False
    if "lint" in names:
        lint(totals)
    if "tidy" in names:
        script(totals, "tidy", "tests/lint/tidy.py")
    unit_tests(totals, [ROOT / "build/dev" / folders[name] for name in names if name in folders])
    if "simulate" in names:
        simulation(totals, "dev", SANITIZED_SEEDS)
    client_suites(totals, [name for name in names if name in SUITES], may_skip=True)
    return True


def of_a_change(totals, quick):
    programs = list(test_folders().values())
    if not build("release", "programs", "simulate", *programs):
        return False
    lint(totals)
    unit_tests(totals, [ROOT / "build/release" / program for program in programs])
    if not quick:
        simulation(totals, "release", SIMULATION_SEEDS)
        client_suites(totals, SHORT_SUITES, may_skip=True)
    return True


def whole(totals):
    """Unit tests run once, under sanitizers: a release build of them, too, would take ten minutes more."""
    if not build("release", "programs", "simulate", "embedded_example", "bench/all"):
        return False
    lint(totals)
    script(totals, "tidy", "tests/lint/tidy.py", "--all")
    simulation(totals, "release", SIMULATION_SEEDS)
    client_suites(totals, SUITES, may_skip=True)
    return sanitized(totals)


def drivers(totals):
    if not build("release", "programs"):
        return False
    client_suites(totals, SUITES, may_skip=False)
    return True


def sanitized(totals):
    programs = list(test_folders().values())
    if not build("check", *programs, "simulate"):
        return False
    unit_tests(totals, [ROOT / "build/check" / program for program in programs])
    simulation(totals, "check", SANITIZED_SEEDS)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--quick", action="store_true", help="lint and the unit tests")
    choice.add_argument("--all", action="store_true", help="everything, as in CI")
    choice.add_argument("--drivers", action="store_true", help="the client suites")
    choice.add_argument("--sanitized", action="store_true", help="the unit tests and 20 seeds under sanitizers")
    choice.add_argument("--only", nargs="+", metavar="NAME", help="tests by name")
    choice.add_argument("--changed", nargs="?", const="", metavar="BASE", help="tests of the files that differ from BASE")
    arguments = parser.parse_args()

    totals = Totals()
    if arguments.changed is not None:
        if not (ROOT / "build/dev/build.ninja").exists() and not build("dev", "base_test"):
            return 1
        arguments.only = names_of_changed(changed_files(arguments.changed or None))
        print("changed: " + " ".join(arguments.only), flush=True)
    if arguments.only:
        built = only(totals, arguments.only)
    elif arguments.all:
        built = whole(totals)
    elif arguments.drivers:
        built = drivers(totals)
    elif arguments.sanitized:
        built = sanitized(totals)
    else:
        built = of_a_change(totals, arguments.quick)
    totals.failed += not built
    print(f"{totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped")
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
