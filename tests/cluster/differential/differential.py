"""Sends the same random statements to a node of ours and to a real Cassandra, and compares every answer.

  run --seed 1 --statements 2000         2,000 statements, always the same ones for this seed
  run --seed 1 --statements 400 --case 7 the 400 statements of one case of it

CASSANDRA_HOST is the address of a Cassandra 5.0.9 that may be filled with keyspaces (they are dropped at the end). CASSANDRA_TOOL, when
it is set, is a command that takes `nodetool --ip ADDRESS flush`, `start --ip ADDRESS` and `stop --ip ADDRESS`: with it Cassandra is flushed when our node is, and with
--restart-cassandra restarted, too.

With --ring that Cassandra is one of several replicas, and our node joins their ring as a coordinator without tokens: see ring.py.

The statements are divided into cases; each has a keyspace, and its statements are a function of the seed and the case's number alone. Cases
run side by side. After each quarter of their statements all wait, and memtables are flushed, or our node is restarted. A case
ends early when the data may no longer be the same on both.
"""
import argparse
import asyncio
import collections
import copy
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from cases import Case
from explained import Difference, explanation
from node import LATEST_COMPACTION, Node, answers
from ring import RingSession
from session import Session, refused, shown

READ_DIFFERENCES = 50  # of one case, before it ends
MINIMISED = 12  # differences for which a short run is looked for
ATTEMPTS = 40
READ_FAILURES = (0x1200, 0x1300)
QUARTERS = 4
SETTINGS = {"sasi_indexes_enabled": "true", "materialized_views_enabled": "true", "user_defined_functions_enabled": "true", "default_secondary_index": "sai", "storage_compatibility_mode": "NONE",
            "uuid_sstable_identifiers_enabled": "true", "sstable": "{selected_format: bti}", "transient_replication_enabled": "true",
            "default_compaction": LATEST_COMPACTION}


@dataclasses.dataclass
class Found:
    case: object
    number: int
    index: int
    difference: object


class Run:
    def __init__(self, arguments):
        self.arguments = arguments
        self.tool = os.environ.get("CASSANDRA_TOOL", "").split()
        self.theirs = os.environ["CASSANDRA_HOST"]
        settings = dict(SETTINGS)
        if arguments.ring:
            RingSession.replicas = [self.theirs, *arguments.ring]
            seeds = f"[{{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{{seeds: \"{self.theirs}\"}}]}}]"
            settings |= {"cluster_name": arguments.cluster_name, "join_ring": "false", "seed_provider": seeds}
        self.session = RingSession if arguments.ring else Session
        self.node = Node(arguments.address, shards=2, settings=settings)
        self.run = 0
        self.skipped = collections.Counter()
        self.kinds = collections.Counter()
        self.found = []

    def addresses(self):
        return self.arguments.address, self.theirs

    def revive(self):
        if self.node.process.poll() is None:
            return
        print(f"our node ended with {self.node.process.returncode}:\n" + (self.node.home / "output.log").read_text()[-3000:], flush=True)
        self.node.start()

    async def ask_cassandra(self, *arguments):
        for address in [self.theirs, *self.arguments.ring] if self.tool else []:
            command = [address if word == self.theirs else word for word in [*self.tool, *arguments]]
            done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {(done.stdout + done.stderr)[-1000:]}")

    async def counter_cache(self, mebibytes):
        """A counter that is deleted goes on, in Cassandra, from what its counter cache still holds. Without the cache it begins again."""
        await self.ask_cassandra("nodetool", "--ip", self.theirs, "setcachecapacity", "100", "0", str(mebibytes))

    # --- One case ---

    async def begin(self, number):
        case = Case(self.arguments.seed, number, self.arguments.case_size)
        case.number, case.session, case.open, case.reads, case.explained = number, self.session(self.addresses(), case.name, self.revive), True, 0, []
        await case.session.create()
        for index, statement in enumerate(case.setup):
            await self.step(case, index - len(case.setup), statement)
        return case

    async def quarter(self, case, part):
        size = -(-len(case.statements) // QUARTERS)
        for index in range(part * size, min(len(case.statements), (part + 1) * size)):
            if not case.open:
                return
            await self.step(case, index, case.statements[index])

    async def step(self, case, index, statement):
        if not case.open:
            return
        before = [*case.setup, *case.statements][:len(case.setup) + index]
        for _ in range(2):
            difference = await case.session.run(statement)
            ours, theirs = case.session.answers
            name = difference and (re.sub(r"'[^']*'", "'…'", ours.error[1]) if refused(ours) else explanation(Difference(statement, before, case.explained, ours, theirs)))
            # A read of Cassandra's may fail while other cases compact and change the schema.
            if not difference or name or ours.kind != "rows" or theirs.kind != "error" or theirs.error[0] not in READ_FAILURES:
                break
        if name:
            self.skipped[name] += 1
            case.explained.append((name, statement))
            if self.arguments.show_explained:
                self.show("explained by " + name, case, index, statement)
            case.open = {ours.kind, theirs.kind} <= {"error", "rows", "prepared"}
            if ours.kind != theirs.kind and "prepared" in (ours.kind, theirs.kind):
                await case.session.connect()  # the first statement that a connection prepares has a warning
            return
        self.run += 1
        self.kinds[theirs.kind] += 1
        if difference:
            self.found.append(Found(case, case.number, index, difference))
            self.show(difference.what, case, index, statement)
            case.reads += 1
            changes = ours.kind != theirs.kind and not {ours.kind, theirs.kind} <= {"error", "rows", "prepared"}
            case.open = not changes and case.reads < READ_DIFFERENCES

    def show(self, what, case, index, statement):
        ours, theirs = case.session.answers
        print(f"--- seed {self.arguments.seed} case {case.number} statement {index}, {what}\n    {statement}\n    ours:   {shown(ours)}\n    theirs: {shown(theirs)}", flush=True)

    # --- All cases ---

    async def between(self, part, cases):
        """What happens to the nodes after a quarter."""
        if part in (0, 2):
            self.node.nodetool("flush")
            await self.ask_cassandra("nodetool", "--ip", self.theirs, "flush")
        if part in (1, 2):
            self.node.restart()
            if self.arguments.restart_cassandra and part == 1:
                await self.ask_cassandra("stop", "--ip", self.theirs)
                await self.ask_cassandra("start", "--ip", self.theirs, "--seeds", self.theirs, "--heap", "2G")
                await self.counter_cache(0)
            await asyncio.gather(*(case.session.connect() for case in cases))

    async def wave(self, numbers):
        cases = await asyncio.gather(*map(self.begin, numbers))
        for part in range(QUARTERS):
            await asyncio.gather(*(self.quarter(case, part) for case in cases))
            # Cassandra cannot flush some of the values that it takes: a keyspace that nobody compares any more goes first.
            await self.drop([case for case in cases if not case.open])
            cases = [case for case in cases if case.open]
            if part + 1 < QUARTERS:
                await self.between(part, cases)
        await self.drop(cases)

    async def drop(self, cases):
        if not self.arguments.keep:
            await asyncio.gather(*(case.session.drop() for case in cases))

    async def all(self):
        total = -(-self.arguments.statements // self.arguments.case_size)
        numbers = list(range(total)) if self.arguments.case is None else [self.arguments.case]
        await self.counter_cache(0)
        for at in range(0, len(numbers), self.arguments.parallel):
            await self.wave(numbers[at:at + self.arguments.parallel])
            print(f"{self.run} statements, {len(self.found)} differences", flush=True)
        if self.arguments.minimise:
            await self.minimise()
        await self.counter_cache(50)

    # --- A short run that shows a difference ---

    async def minimise(self):
        seen = set()
        for found in self.found:
            text = kind_of(found)
            if text in seen or len(seen) >= MINIMISED:
                continue
            seen.add(text)
            statements = [s for s in found.case.statements[:max(found.index, 0)] if s.kind in ("write", "schema")]
            last = found.difference.statement
            if not await self.differs(found, statements, last):
                print(f"case {found.number} statement {found.index}: no difference when memtables are not flushed and nothing restarts")
                continue
            statements = await self.shorter(found, statements, last)
            print(f"=== case {found.number} statement {found.index}, a short run:")
            for statement in [*found.case.setup, *statements, last]:
                print(f"    {statement}")
            sys.stdout.flush()

    async def shorter(self, found, statements, last):
        """Delta debugging: leaves out ever smaller parts, as long as the difference stays."""
        attempts, parts = 0, 2
        while statements and attempts < ATTEMPTS:
            size = -(-len(statements) // parts)
            for at in range(0, len(statements), size):
                attempts += 1
                fewer = statements[:at] + statements[at + size:]
                if await self.differs(found, fewer, last):
                    statements, parts = fewer, max(parts - 1, 2)
                    break
            else:
                if size == 1:
                    break
                parts = min(parts * 2, len(statements))
        return statements

    async def differs(self, found, statements, last):
        name = found.case.name + "_m"
        session = self.session(self.addresses(), name, self.revive)
        await session.create()
        for statement in [*found.case.setup, *statements]:
            await session.run(statement)
        last = copy.copy(last)
        last.text = last.text.replace(found.case.name, name)
        difference = await session.run(last)
        await session.drop()
        return difference is not None


def kind_of(found):
    """Differences of the same kind have the same text here."""
    sides = []
    for answer in (found.difference.ours, found.difference.theirs):
        sides.append(f"error {answer.error[0]:#06x} " + re.sub(r"[0-9]+|'[^']*'|0x[0-9a-f]+|\"[^\"]*\"", "…", answer.error[1])[:70] if answer.kind == "error" else answer.kind)
    return " | ".join(sides)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--statements", type=int, default=2000)
    parser.add_argument("--case", type=int, help="only this one")
    parser.add_argument("--case-size", type=int, default=250)
    parser.add_argument("--parallel", type=int, default=24, help="cases at the same time")
    parser.add_argument("--address", default=os.environ.get("CASSANDRA_LIKE_ADDRESS", "127.0.0.66"), help="of our node")
    parser.add_argument("--ring", nargs="+", metavar="ADDRESS", default=[], help="the other replicas of the ring of CASSANDRA_HOST")
    parser.add_argument("--cluster-name", default="peer", help="of that ring")
    parser.add_argument("--restart-cassandra", action="store_true")
    parser.add_argument("--minimise", action="store_true", help="look for a short run that shows the difference")
    parser.add_argument("--show-explained", action="store_true", help="the differences that are Cassandra's, too")
    parser.add_argument("--keep", action="store_true", help="do not drop the keyspaces")
    arguments = parser.parse_args()
    if not os.environ.get("CASSANDRA_HOST") or not answers(os.environ["CASSANDRA_HOST"], 9042):
        print("skipped: CASSANDRA_HOST names no Cassandra that answers")
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # leaves no node behind
    began, run = time.time(), Run(arguments)
    try:
        run.node.start()
        asyncio.run(run.all())
    finally:
        run.node.destroy()
    for text, count in run.skipped.most_common():
        print(f"skipped {count} times: {text}")
    for text, count in collections.Counter(map(kind_of, run.found)).most_common():
        print(f"{count} differences: {text}")
    print(f"seed {arguments.seed}: {run.run} statements in {time.time() - began:.0f} s: " + ", ".join(f"{count} {kind}" for kind, count in run.kinds.most_common()))
    print(f"{run.run - len(run.found)} passed, {len(run.found)} failed, {sum(run.skipped.values())} skipped")
    return 1 if run.found else 0


if __name__ == "__main__":
    sys.exit(main())
