#!/usr/bin/env python3
"""clang-tidy 19 with the checks of .clang-tidy over src/ and tools/: tidy.py [--all].

It reads the batches of build/release, twenty files at once, so that a header is parsed once for all of them: --all takes about
five minutes of one core. Without --all only batches with a file that differs from main are read, or, on main itself, from the
commit before. Ends with `N passed, N failed, N skipped`, one for each batch.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
NOT_FOR_CLANG = re.compile(r"-Wno-(maybe-uninitialized|restrict|stringop\S*|array-bounds|dangling-pointer\S*|free-nonheap-object"
                           r"|mismatched-new-delete|subobject-linkage)|-fdiagnostics-color\S*|-Werror")


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else []


def changed_files():
    head, base = git("rev-parse", "HEAD"), git("merge-base", "HEAD", "main")
    base = base if base and base != head else ["HEAD~1"]
    return {str(ROOT / name) for name in git("diff", "--name-only", *base)}


def included(file):
    """The files of a batch: it names them below the project's folder."""
    return [str(ROOT / name) for name in re.findall(r'#include "([^"]+)"', pathlib.Path(file).read_text())]


def batches():
    """Source file, folder and command of each compilation of src/ and tools/."""
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        name = entry["file"].removeprefix(f"{BUILD}/").removeprefix(f"{ROOT}/")
        if name.startswith(("src/", "tools/")):
            command = entry["command"][entry["command"].index(" -"):]
            yield entry["file"], entry["directory"], NOT_FOR_CLANG.sub("", command)


def read(batch):
    """The findings, each `file:line: text [check]`."""
    file, directory, command = batch
    arguments = re.sub(r"\s-[oc] \S+", "", command).split()
    done = subprocess.run(["clang-tidy-19", "--quiet", file, "--", *arguments], cwd=directory, capture_output=True, text=True)
    found = re.findall(r"^(/\S+?):(\d+):\d+: (?:warning|error): (.*)$", done.stdout, re.MULTILINE)
    if done.returncode != 0 and not found:
        found = [(file, "1", f"clang-tidy ended with {done.returncode}: {done.stderr.strip()[-300:]}")]
    return sorted({f"{os.path.relpath(path, ROOT)}:{line}: {text}" for path, line, text in found})


def main():
    if shutil.which("clang-tidy-19") is None or not (BUILD / "compile_commands.json").exists():
        print("clang-tidy-19 is not installed, or build/release is not configured\n0 passed, 0 failed, 1 skipped")
        return 77
    wanted = list(batches())
    if "--all" not in sys.argv:
        changed = changed_files()
        wanted = [batch for batch in wanted if changed.intersection([batch[0], *included(batch[0])])]
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for findings in pool.map(read, wanted):
            for line in findings:
                print(line)
            failed += bool(findings)
            passed += not findings
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
