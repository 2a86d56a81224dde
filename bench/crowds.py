#!/usr/bin/env python3
"""How long a client's point read waits behind 500 reads of one partition that another client has sent at once.

    bench/crowds.py ADDRESS [--rounds 20]

Works with any CQL server; keyspace "crowds" is made and dropped. The wait is the longest of a round, the figure the median
of the later half of the rounds. It is meaningless when the machine has other work.
"""
import argparse
import multiprocessing
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "cluster" / "support"))
import wire

READS = ["SELECT count(*)", "SELECT max(v)", "SELECT *"]
CROWD, ROWS, KEYS = 500, 900, 1000


def fill(client):
    client.query("DROP KEYSPACE IF EXISTS crowds")
    client.query("CREATE KEYSPACE crowds WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    client.query("CREATE TABLE crowds.wide (k int, c int, v blob, PRIMARY KEY (k, c))")
    client.query("CREATE TABLE crowds.kv (k int PRIMARY KEY, v blob)")
    wide = client.prepare("INSERT INTO crowds.wide (k, c, v) VALUES (1, ?, ?)")
    kv = client.prepare("INSERT INTO crowds.kv (k, v) VALUES (?, ?)")
    for insert, count in ((wide, ROWS), (kv, KEYS)):
        for row in range(count):
            client.execute(insert, [wire.number(row), b"v" * 100])


def read_points(address, pipe, stop):
    """A process of its own: the begin and the end of each read go to the pipe."""
    spans = []
    with wire.Client(address) as client:
        read = client.prepare("SELECT v FROM crowds.kv WHERE k = ?")
        while not stop.is_set():
            began = time.monotonic()
            client.execute(read, [wire.number(len(spans) % KEYS)])
            spans.append((began, time.monotonic()))
            time.sleep(0.0005)
    pipe.send(spans)


def send_crowds(client, read, rounds):
    """The begin and the end of each crowd."""
    body = client.execute_body(client.prepare(read + " FROM crowds.wide WHERE k = 1"))
    crowd = b"".join(wire.frame(4, wire.EXECUTE, body, stream) for stream in range(CROWD))
    spans = []
    for _ in range(rounds):
        time.sleep(0.2)
        began = time.monotonic()
        client.send_raw(crowd)
        for _ in range(CROWD):
            client.receive()
        spans.append((began, time.monotonic()))
    return spans


def measure(client, address, read, rounds):
    pipe, other_end = multiprocessing.Pipe()
    stop = multiprocessing.Event()
    reader = multiprocessing.Process(target=read_points, args=(address, other_end, stop))
    reader.start()
    other_end.close()  # so that a reader that failed is noticed
    try:
        crowds = send_crowds(client, read, rounds)[rounds // 2:]
    finally:
        stop.set()
        points = pipe.recv()
        reader.join()
    waits = [max((end - began for began, end in points if end >= first and began <= last), default=0) for first, last in crowds]
    took = statistics.median(last - first for first, last in crowds)
    print(f"| `{read}` | {took * 1000:.0f} | {statistics.median(waits) * 1000:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    with wire.Client(options.address, timeout=120) as client:
        fill(client)
        print("| 500 reads | they took, ms | a point read waited, ms |\n| --- | --- | --- |")
        for read in READS:
            measure(client, options.address, read, options.rounds)
        client.query("DROP KEYSPACE crowds")


if __name__ == "__main__":
    main()
