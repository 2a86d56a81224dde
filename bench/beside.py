#!/usr/bin/env python3
"""Loads CQL servers with latte, one after the other in each round, and prints what an operation costs each of them.

    bench/beside.py NAME=PID@ADDRESS [NAME=PID@ADDRESS ...] [options] WORKLOAD ...

A server of several nodes is NAME=PID,PID@ADDRESS,ADDRESS. Workloads are kv:write, kv:read, kv:mixed, timeline:latest,
timeline:append, and index:write_TABLE and index:read_TABLE of the tables plain, low, medium and high.

Prints a table in Markdown: the median of the rounds for CPU (user and system time of the server's processes for an
operation), rate and latencies, and the first server's CPU as a ratio: the median of the rounds' ratios.

The servers run on one core and the client on another, so CPU for an operation does not depend on which is faster.
Without --keep, tables are made and filled first. Cassandra has to be warm: let it run every workload with --warm once.

latte: cargo install latte-cli
"""
import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

SCRIPTS = pathlib.Path(__file__).resolve().parent / "latte"
TICKS = os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass
class Server:
    name: str
    pids: list
    addresses: list

    @classmethod
    def of(cls, text):
        name, _, rest = text.partition("=")
        pids, _, addresses = rest.partition("@")
        if not (name and pids and addresses):
            raise argparse.ArgumentTypeError(f"{text} is not NAME=PID@ADDRESS")
        return cls(name, [int(pid) for pid in pids.split(",")], addresses.split(","))

    def cpu_seconds(self):
        ticks = 0
        for pid in self.pids:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / TICKS

    def resident_mib(self):
        status = [pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() for pid in self.pids]
        return sum(int(line.split()[1]) for lines in status for line in lines if line.startswith("VmRSS")) // 1024


@dataclasses.dataclass
class Measure:
    micros: float  # CPU for an operation
    rate: float
    latencies: dict  # percentile: milliseconds


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="+", metavar="SERVER or WORKLOAD")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=12, help="that count, of each workload")
    parser.add_argument("--warmup", type=int, default=5, help="seconds of the workload before")
    parser.add_argument("--concurrency", type=int, default=128, help="requests in flight")
    parser.add_argument("--connections", type=int, default=1, help="to each node, or to each shard that latte sees")
    parser.add_argument("--rate", type=int, help="operations a second; as many as possible by default")
    parser.add_argument("--rows", type=int, default=1000000)
    parser.add_argument("--rf", type=int, default=1)
    parser.add_argument("--consistency", default="LOCAL_ONE")
    parser.add_argument("--keep", action="store_true", help="the tables of the run before")
    parser.add_argument("--warm", action="store_true", help="on all cores, 40 s of each workload, and no table")
    parser.add_argument("--server-core", default="0")
    parser.add_argument("--client-core", default="1")
    options = parser.parse_intermixed_args()
    options.workloads = [text for text in options.servers if "=" not in text]
    options.servers = [Server.of(text) for text in options.servers if "=" in text]
    if not options.servers or not options.workloads:
        parser.error("a server and a workload at least")
    if options.warm:
        options.seconds, options.warmup = 40, 0
    return options


def latte(options, *words):
    place = [] if options.warm else ["taskset", "-c", options.client_core]
    ran = subprocess.run([*place, "latte", *words], cwd=tempfile.gettempdir(), capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"latte {' '.join(words)}:\n{(ran.stdout + ran.stderr)[-2000:]}")


def parameters(options, script):
    names = {"kv": {"rf": options.rf, "rows": options.rows}, "index": {"rf": options.rf, "rows": options.rows},
             "timeline": {"rf": options.rf, "series": 1000, "points": max(1, options.rows // 1000)}}
    return [word for name, value in names[script].items() for word in ("-P", f"{name}={value}")]


def load(options, server):
    for script in dict.fromkeys(workload.split(":")[0] for workload in options.workloads):
        file = str(SCRIPTS / f"{script}.rn")
        latte(options, "schema", *parameters(options, script), file, *server.addresses)
        latte(options, "load", "-q", "--concurrency", str(options.concurrency), *parameters(options, script),
              "--consistency", options.consistency, file, *server.addresses)


def run(options, server, workload):
    script, function = workload.split(":")
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        def phase(seconds):
            words = ["run", "-q", "-w", "1", "-d", f"{seconds}s", "-f", function, "-o", report.name,
                     "--concurrency", str(options.concurrency), "-c", str(options.connections),
                     *parameters(options, script), "--consistency", options.consistency]
            if options.rate:
                words += ["-r", str(options.rate)]
            latte(options, *words, str(SCRIPTS / f"{script}.rn"), *server.addresses)

        if options.warmup:
            phase(options.warmup)
        before = server.cpu_seconds()
        phase(options.seconds)
        used = server.cpu_seconds() - before
        told = json.loads(pathlib.Path(report.name).read_text())
    result = told["result"]
    if result["error_count"]:
        sys.exit(f"{server.name} {workload}: {result['error_count']} requests failed")
    values = [value["value"] for value in result["cycle_latency"]["percentiles"]]
    return Measure(1e6 * used / result["cycle_count"], result["cycle_throughput"]["value"],
                   dict(zip(told["percentiles"], values)))


def run_round(options, workload, number):
    """The measures in the order of the servers. Who comes first changes with each round: the second finds a warmer client."""
    measures = {}
    for server in options.servers[:: -1 if number % 2 else 1]:
        measures[server.name] = run(options, server, workload)
    return [measures[server.name] for server in options.servers]


def median(measures, value):
    return statistics.median(value(measure) for measure in measures)


def main():
    options = arguments()
    for server in options.servers:
        for pid in server.pids if not options.warm else []:
            subprocess.run(["taskset", "-apc", options.server_core, str(pid)], stdout=subprocess.DEVNULL, check=True)
        if not options.keep:
            load(options, server)
    print("| workload | server | CPU per operation | beside the first | operations a second | p50, p99, p99.9 |")
    print("| --- | --- | --- | --- | --- | --- |")
    for workload in options.workloads:
        rounds = [run_round(options, workload, number) for number in range(options.rounds)]
        for n, server in enumerate(options.servers):
            mine = [measures[n] for measures in rounds]
            ratio = statistics.median(measures[n].micros / measures[0].micros for measures in rounds)
            latencies = ", ".join(f"{median(mine, lambda m, q=q: m.latencies[q]):.2f}" for q in (50.0, 99.0, 99.9))
            print(f"| {workload} | {server.name} | {median(mine, lambda m: m.micros):.1f} us | {ratio:.2f} | "
                  f"{median(mine, lambda m: m.rate):.0f} | {latencies} ms |", flush=True)
    for server in options.servers:
        print(f"\n{server.name}: {server.resident_mib()} MiB resident")


if __name__ == "__main__":
    main()
