#!/usr/bin/env python3
"""Fills CQL servers, one after the other, and prints how much they write, keep and compact for it.

    bench/disk_use.py NAME=PID@ADDRESS:DIRECTORY [...] --nodetool NAME=COMMAND [...] [--rows 10000000] [--overwrites 2000000]

DIRECTORY holds all files of the server, its commit log too. COMMAND is the server's nodetool, without its last arguments.

Each server makes and fills table beside.kv (bench/latte/kv.rn), then gets overwrites of random rows and ends its compactions by
itself. A major compaction follows. Prints a table in Markdown:

- written: bytes that the process handed to the disk, by the live data (the table's files after the major compaction)
- kept: the table's files before the major compaction, by the live data
- compaction: MB of input that the major compaction reads in a second of CPU

Later reads of the same rows: bench/beside.py --keep --rows N. latte: cargo install latte-cli
"""
import argparse
import dataclasses
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

import beside

QUIET_SECONDS = 10  # without compactions in nodetool's list


@dataclasses.dataclass
class Disk:
    server: beside.Server
    directory: pathlib.Path
    nodetool: list

    def run_nodetool(self, *words):
        ran = subprocess.run([*self.nodetool, *words], capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(f"{self.server.name}: nodetool {' '.join(words)}:\n{ran.stdout + ran.stderr}")
        return ran.stdout

    def written_bytes(self):
        lines = pathlib.Path(f"/proc/{self.server.pids[0]}/io").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("write_bytes"))

    def table_bytes(self):
        """Without snapshots, which lie in folders below."""
        files = (file for file in self.directory.rglob("beside/kv-*/*") if file.is_file())
        return sum(file.stat().st_size for file in files)

    def sstables(self):
        return sum(1 for _ in self.directory.rglob("beside/kv-*/*-Data.db"))

    def wait_for_compactions(self):
        quiet_since = time.monotonic()
        while time.monotonic() - quiet_since < QUIET_SECONDS:
            if not re.search(r"^pending tasks:?\s+0\s*$", self.run_nodetool("compactionstats"), re.M):
                quiet_since = time.monotonic()
            time.sleep(1)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="+", metavar="NAME=PID@ADDRESS:DIRECTORY")
    parser.add_argument("--nodetool", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--rows", type=int, default=10000000)
    parser.add_argument("--overwrites", type=int, default=2000000)
    parser.add_argument("--concurrency", type=int, default=128, help="requests in flight")
    options = parser.parse_args()
    commands = dict(text.split("=", 1) for text in options.nodetool)
    disks = []
    for text in options.servers:
        place, _, directory = text.partition(":")
        server = beside.Server.of(place)
        if server.name not in commands or not pathlib.Path(directory).is_dir():
            parser.error(f"{server.name} needs a directory and --nodetool {server.name}=COMMAND")
        disks.append(Disk(server, pathlib.Path(directory), shlex.split(commands[server.name])))
    # beside.load() looks at these.
    options.rf, options.consistency, options.warm, options.workloads = 1, "LOCAL_ONE", True, ["kv:write"]
    return options, disks


def overwrite(options, server):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        beside.latte(options, "run", "-q", "-w", "0", "-d", str(options.overwrites), "-f", "write", "-o", report.name,
                     "--concurrency", str(options.concurrency), *beside.parameters(options, "kv"),
                     "--consistency", options.consistency, str(beside.SCRIPTS / "kv.rn"), *server.addresses)


def measure(options, disk):
    server, began, cpu, written = disk.server, time.monotonic(), disk.server.cpu_seconds(), disk.written_bytes()
    beside.load(options, server)
    loaded = time.monotonic() - began
    overwrite(options, server)
    disk.run_nodetool("flush", "beside")
    disk.wait_for_compactions()
    used, written = server.cpu_seconds() - cpu, disk.written_bytes() - written
    kept, sstables = disk.table_bytes(), disk.sstables()

    cpu = server.cpu_seconds()
    disk.run_nodetool("compact", "beside", "kv")
    disk.wait_for_compactions()
    compacting = server.cpu_seconds() - cpu
    live = disk.table_bytes()
    operations = options.rows + options.overwrites
    print(f"| {server.name} | {loaded:.0f} s | {1e6 * used / operations:.1f} us | {live / 1e6:.0f} MB | {written / live:.2f} | {kept / live:.2f} | "
          f"{sstables} | {kept / 1e6 / compacting:.0f} MB/s |", flush=True)


def main():
    options, disks = arguments()
    print("| server | load | CPU per write, compactions included | live data | written | kept | SSTables | compaction |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for disk in disks:
        measure(options, disk)


if __name__ == "__main__":
    sys.exit(main())
