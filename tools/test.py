#!/usr/bin/env python3
"""Installs, builds and tests everything: tools/test [--quick] [--drivers].

  --quick    lint and the C++ tests only
  --drivers  the client suites only (tests/drivers/*/run, tests/cluster/*/run), and every one of them: a skipped one has failed

A suite is a folder with a `run` script. It prints lines `N passed, N failed, N skipped`, which are added up; exit code 77 means
that it was skipped because its toolchain or registry does not answer, and its last line says why. The last line of this program is
the sum over everything; the exit code is 1 when anything failed.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASE = ROOT / "build" / "release"
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
SIMULATION_SEEDS = 200
SUITE_TIMEOUT_SECONDS = 900


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, name, passed, failed, skipped, began, note=""):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        print(f"{name}: {passed} passed, {failed} failed, {skipped} skipped ({time.time() - began:.1f} s)"
              + (f": {note}" if note else ""), flush=True)


def run(command, **options):
    """Runs a command; its exit code and all that it printed. A program that hangs is ended and has failed."""
    try:
        done = subprocess.run([str(c) for c in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=SUITE_TIMEOUT_SECONDS, **options)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as e:
        output = e.stdout.decode(errors="replace") if isinstance(e.stdout, bytes) else e.stdout or ""
        return 1, output + f"\nstill running after {SUITE_TIMEOUT_SECONDS} s, ended\n"


def lint(totals):
    began = time.time()
    code, output = run([sys.executable, ROOT / "tests/lint/lint.py"])
    counted(totals, "lint", code, output, began)


def counted(totals, name, code, output, began, may_skip=True):
    """Adds up the lines of a suite. A failure without such a line counts as one."""
    sums = [sum(column) for column in zip(*(map(int, found) for found in COUNTS.findall(output)))] or [0, 0, 0]
    lines = output.strip().splitlines()
    if code == 77:
        skipped, failed = (sums[2] or 1, 0) if may_skip else (sums[2], 1)
        totals.add(name, sums[0], failed, skipped, began, lines[-1] if lines else "")
        return
    if code != 0 and sums[1] == 0:
        sums[1] = 1
    if sum(sums) == 0:
        sums[0] = 1
    if sums[1]:
        print("\n".join(lines[-200:]))
    totals.add(name, *sums, began)


def unit_tests(totals):
    for program in sorted(RELEASE.glob("*_test")):
        began = time.time()
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "report.json"
            code, output = run([program, f"--gtest_output=json:{report}", "--gtest_brief=1"])
            try:
                suites = json.loads(report.read_text())["testsuites"]
            except (OSError, ValueError):
                print(output[-20000:])
                totals.add(program.name, 0, 1, 0, began, f"ended with {code} and no report")
                continue
        tests = [test for suite in suites for test in suite["testsuite"]]
        failed = sum("failures" in test for test in tests)
        skipped = sum(test.get("result") == "SKIPPED" or test.get("status") == "NOTRUN" for test in tests)
        if failed or code != 0:
            print(output[-20000:])
        failed = max(failed, 1 if code != 0 else 0)
        totals.add(program.name, max(len(tests) - failed - skipped, 0), failed, skipped, began)


def simulation(totals):
    program = RELEASE / "simulate"
    if not program.exists():
        return
    began = time.time()
    code, output = run([program, "--seed", 1, "--runs", SIMULATION_SEEDS])
    counted(totals, f"simulate ({SIMULATION_SEEDS} seeds)", code, output, began)


def suites(totals, may_skip):
    for script in sorted([*ROOT.glob("tests/drivers/*/run"), *ROOT.glob("tests/cluster/*/run")]):
        began = time.time()
        environment = dict(os.environ, CASSANDRA_LIKE_BUILD=str(RELEASE))
        if script.parent.name not in ("differential", "paging"):
            environment.pop("CASSANDRA_HOST", None)  # the other suites would take it for the node to test
        code, output = run([script], env=environment)
        counted(totals, "/".join(script.parts[-3:-1]), code, output, began, may_skip)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="lint and the C++ tests only")
    parser.add_argument("--drivers", action="store_true", help="the client suites only")
    arguments = parser.parse_args()

    began = time.time()
    if subprocess.run([ROOT / "tools/build"], cwd=ROOT).returncode != 0:
        print("0 passed, 1 failed, 0 skipped")
        return 1
    print(f"build: {time.time() - began:.1f} s", flush=True)
    totals = Totals()
    if not arguments.drivers:
        lint(totals)
        unit_tests(totals)
        if not arguments.quick:
            simulation(totals)
    if not arguments.quick:
        suites(totals, may_skip=not arguments.drivers)
    print(f"{totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped")
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
