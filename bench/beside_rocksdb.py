#!/usr/bin/env python3
"""Runs RocksDB's db_bench and this project's engine_bench in turn, each on one core, and prints the ratios.

    CASSANDRA_LIKE_BUILD=build/release bench/beside_rocksdb.py [--num 1000000] [--rounds 3] [--core 0]

Same sizes on both sides: keys of 16 bytes, values of 170, 128 MiB of memtables, 512 MiB of cache, LZ4, bloom filters of 10
bits, the log on and not synced for each write, flushes and compactions on the same core. Prints a table in Markdown:
operations a second, the median of the rounds, and ours divided by RocksDB's.

db_bench: apt-get install rocksdb-tools
"""
import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("CASSANDRA_LIKE_BUILD", ROOT / "build" / "release")).resolve()
FILLS, READS = ["fillrandom", "overwrite", "readrandom"], ["readwhilewriting", "seekrandom"]
VALUE, KEY, WRITES_A_SECOND = 170, 16, 10000


def commands(num, folder):
    """For each side, its commands in their order."""
    sizes = [f"--num={num}", f"--value_size={VALUE}", "--seek_nexts=10"]
    rocksdb = ["db_bench", *sizes, f"--db={folder}/rocksdb", f"--key_size={KEY}", "--write_buffer_size=67108864",
               "--max_write_buffer_number=2", "--cache_size=536870912", "--compression_type=lz4", "--compression_ratio=0.5",
               "--bloom_bits=10", "--threads=1"]
    # The limit is for readwhilewriting alone.
    limited = ["--use_existing_db=1", f"--benchmark_write_rate_limit={WRITES_A_SECOND * (KEY + VALUE)}"]
    ours = [str(BUILD / "engine_bench"), *sizes, f"--db={folder}/ours", f"--write_rate={WRITES_A_SECOND}",
            "--memtables=128", "--cache=512", f"--benchmarks={','.join(FILLS + READS)}"]
    return {"RocksDB": [[*rocksdb, f"--benchmarks={','.join(FILLS)}"], [*rocksdb, *limited, f"--benchmarks={','.join(READS)}"]],
            "cassandra-like": [ours]}


def run(core, command):
    ran = subprocess.run(["taskset", "-c", core, *command], capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{(ran.stdout + ran.stderr)[-2000:]}")
    return {name: float(rate) for name, rate in re.findall(r"^(\w+) +: .* ([0-9.]+) ops/sec", ran.stdout, re.MULTILINE)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num", type=int, default=1000000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--core", default="0")
    options = parser.parse_args()
    if shutil.which("db_bench") is None:
        sys.exit("db_bench is missing: apt-get install rocksdb-tools")
    rates = {}
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            for side, runs in commands(options.num, folder).items():
                for command in runs:
                    for name, rate in run(options.core, command).items():
                        rates.setdefault((name, side), []).append(rate)
    print("| workload | RocksDB, operations a second | cassandra-like | ratio |\n| --- | --- | --- | --- |")
    for name in FILLS + READS:
        theirs, ours = (statistics.median(rates[name, side]) for side in ("RocksDB", "cassandra-like"))
        print(f"| {name} | {theirs:,.0f} | {ours:,.0f} | {ours / theirs:.2f} |")


if __name__ == "__main__":
    main()
