"""Real nodes under faults: nothing acknowledged is lost, reads do not go back, sums are exact, batches whole, and in the end all
replicas agree. A run has rounds: load under faults; healing; what has to hold then; a restart of each node under load that must not
notice."""
import random
import time

import pytest

import checks
from load import ALL, ONE, PLANTS, Load, Steady
from nemesis import Nemesis
from node_ring import ring_seen_by
from world import World

HEALING_SECONDS, HINTS_SECONDS, BATCHES_SECONDS = 120, 120, 120
OVERHEAD_SECONDS = 30  # of a round: what follows the faults, as a rule
LONGEST_ROUND_SECONDS = 180


MISSING = []  # what the machine forbids


class Run:
    def __init__(self, options):
        self.seed, self.plant, self.nodes = options.getoption("--seed"), options.getoption("--plant"), options.getoption("--nodes")
        self.rate, self.seconds = options.getoption("--rate"), options.getoption("--minutes") * 60
        self.draw = random.Random(f"{self.seed} run")
        # A node whose clock is wrong is as good as cut off with internode_timeout, and works without it.
        settings = {"phi_convict_threshold": self.draw.choice((5, 8)), "internode_timeout": self.draw.choice(("true", "false")),
                    "commitlog_sync": self.draw.choice(("periodic", "batch")), "hinted_handoff_enabled": "false" if self.plant == "no-hints" else "true"}
        if settings["commitlog_sync"] == "periodic":
            settings["commitlog_sync_period"] = "10000ms"
        self.world = World(self.nodes, settings)
        self.settings = settings
        self.failures, self.load = [], None
        self.rounds = self.restarts = self.steady_done = self.hints_checked = 0
        self.healed_after, self.hinted_after, self.whole_after = [], [], []
        self.began = time.time()

    def fail(self, text):
        self.failures.append(f"{time.strftime('%H:%M:%S')} {text}")

    def until(self, seconds, is_so, meanwhile=None):
        """Seconds until it is so, None when it does not become so."""
        began = time.time()
        while not is_so():
            if time.time() - began > seconds:
                return None
            if meanwhile:
                meanwhile()
            time.sleep(0.2)
        return time.time() - began

    # --- a run

    def go(self):
        self.world.start()
        self.nemesis = Nemesis(self.world, f"{self.seed} nemesis")
        if self.until(HEALING_SECONDS, self.world.whole) is None:
            self.fail("the nodes did not find each other")
            return
        self.load = Load(self.world, self.rate, self.plant)
        while not self.failures and (self.rounds == 0 or time.time() - self.began + OVERHEAD_SECONDS < self.seconds):
            left = self.seconds - (time.time() - self.began)
            self.rounds += 1
            self.round(max(20, min(left, LONGEST_ROUND_SECONDS) - OVERHEAD_SECONDS))
        self.load.close()

    def round(self, seconds):
        self.load.start(f"{self.seed} {self.rounds}")
        self.nemesis.run(seconds)
        self.load.stop()
        self.nemesis.tell("healed")
        self.heal()
        if self.failures:
            return
        self.check_hints()
        self.check_batches()
        self.check_agreement()
        self.restart_each()
        self.failures += self.load.complaints + self.world.problems

    def heal(self):
        """All nodes see each other, and each of them answers at ALL."""
        took = self.until(HEALING_SECONDS, self.world.whole, self.world.look_for_the_dead)
        if took is None:
            self.fail(f"{HEALING_SECONDS} s after the healing: " + "; ".join(f"node {node.number} sees {ring_seen_by(node, check=False)}" for node in self.world.nodes))
            return
        more = self.until(HEALING_SECONDS, lambda: all(self.works(node) for node in self.world.nodes))
        if more is None:
            self.fail(f"{HEALING_SECONDS} s after all nodes were up: not every node reads and writes at ALL")
            return
        self.healed_after.append(took + more)

    def works(self, node):
        door = self.load.doors[node]
        try:
            door.execute("steady write", (-node.number, self.rounds), ALL)
            return [row.n for row in door.execute("steady read", (-node.number,), ALL)] == [self.rounds]
        except Exception:
            return False

    # --- what has to hold after the healing

    def replicas(self, register):
        if self.nodes == 3:
            return self.world.nodes
        addresses = self.world.nodes[0].nodetool("getendpoints", "chaos", "registers", str(register.key)).stdout.split()
        return [node for node in self.world.nodes if node.address in addresses]

    def owes_hints(self, register):
        """Whether the coordinator of the last acknowledged write has lived long enough since to keep hints of it: until the write
        timed out for the others, and until its hints were flushed."""
        n, coordinator, when = register.last
        if n == 0:
            return False
        node = self.world.nodes[coordinator - 1]
        return not any(when < end < when + 45 for end in node.ends)

    def check_hints(self):
        owed = [(register, node) for register in self.load.registers if self.owes_hints(register) for node in self.replicas(register)]
        self.hints_checked += len(owed)
        missing = owed

        def all_there():
            nonlocal missing
            missing = [(register, node) for register, node in missing if not self.has(node, register)]
            return not missing

        took = self.until(HINTS_SECONDS, all_there)
        if took is None:
            for register, node in missing[:5]:
                self.fail(f"register {register.key}: node {node.number} shows {self.shown_by(node, register)} and not write {register.last[0]} "
                          f"{HINTS_SECONDS} s after the healing; tried: {register.tried}; its writes: {'; '.join(register.story)}")
        else:
            self.hinted_after.append(took)

    def has(self, node, register):
        """Whether the replica shows the last acknowledged write or a later one by itself."""
        found = self.shown_by(node, register)
        return not isinstance(found, Exception) and register.shown(found, register.last[0], register.tried) is not None

    def shown_by(self, node, register):
        try:
            rows = self.load.doors[node].execute("read", (register.key,), ONE)
            return rows[0].n if rows else None
        except Exception as e:
            return e

    def check_batches(self):
        complaints = []

        def are_whole():
            nonlocal complaints
            try:
                rows = self.load.doors[self.world.nodes[0]].execute("parts", (), ALL)
            except Exception as e:
                complaints = [f"the batches cannot be read at ALL: {e!r}"]
                return False
            complaints = self.load.batches.complaints([(row.b, row.part) for row in rows])
            return not complaints

        took = self.until(BATCHES_SECONDS, are_whole)
        if took is None:
            for complaint in complaints[:10]:
                self.fail(complaint)
        else:
            self.whole_after.append(took)

    def check_agreement(self):
        """Reads at ALL repair what no hint brought; then every replica shows the same by itself."""
        for node in self.world.nodes:
            if not self.load.scan(node, ALL):
                self.fail(f"node {node.number} does not scan at ALL after the healing")
            for counter in self.load.counters:
                if not self.load.sum(node, counter, ALL):
                    self.fail(f"node {node.number} does not read counter {counter.key} at ALL after the healing")
        for register in self.load.registers:
            shown = {node.number: [tuple(row) for row in self.load.doors[node].execute("read", (register.key,), ONE)] for node in self.replicas(register)}
            if len({str(rows) for rows in shown.values()}) > 1:
                self.fail(f"register {register.key}: the replicas show {shown} after a read at ALL")

    def restart_each(self):
        steady = Steady(self.world, ALL if self.plant == "rolling-at-all" else self.load.level)
        try:
            for node in self.world.nodes:
                time.sleep(1)
                code = node.stop()
                if code != 0:
                    self.fail(f"node {node.number} ended with {code} after SIGTERM")
                node.start()
                if self.until(HEALING_SECONDS, self.world.whole) is None:
                    self.fail(f"node {node.number} was restarted and is not up everywhere after {HEALING_SECONDS} s")
                    return
                self.restarts += 1
        finally:
            steady.stop()
            self.steady_done += steady.done
            for failure in steady.failures[:10]:
                self.fail(f"a request failed while node after node was restarted: {failure}")

    # --- the report

    def report(self):
        lines = [f"chaos: seed {self.seed}, {self.nodes} nodes, {self.rounds} rounds, {time.time() - self.began:.0f} s, {self.settings}"]
        lines += [f"  skipped: {what}" for what in self.world.missing]
        lines.append("  faults: " + ", ".join(f"{count} {name}" for name, count in sorted(self.nemesis.counts.items())))
        if self.load:
            for kind in self.load.WORKERS:
                answers = {answer: count for (of, answer), count in sorted(self.load.answers.items()) if of == kind}
                lines.append(f"  {kind}: " + ", ".join(f"{count} {answer}" for answer, count in answers.items()))
        seconds = lambda values: ", ".join(f"{value:.0f}" for value in values)
        lines.append(f"  seconds until all nodes answered at ALL: {seconds(self.healed_after)}; until the hints were there: {seconds(self.hinted_after)} "
                     f"({self.hints_checked} checked); until the batches were whole: {seconds(self.whole_after)}")
        lines.append(f"  rolling restart: {self.restarts} restarts, {self.steady_done} requests")
        lines += [f"  log: {count} times {line}" for line, count in sorted(self.world.log_counts().items())[:10]]
        return lines


def test_nothing_is_lost_under_faults(pytestconfig):
    run = Run(pytestconfig)
    try:
        run.go()
    finally:
        checks.REPORT += run.report()
        if run.failures:
            checks.REPORT += run.nemesis.story[-80:] + [f"to repeat: --nodes {run.nodes} --seed {run.seed}"]
            checks.REPORT += [f"node {node.number}: {node.home} (kept with KEEP=1)" for node in run.world.nodes]
        MISSING.extend(run.world.missing)
        run.world.destroy()
    if run.plant:
        assert run.failures, f"nothing was found, though {PLANTS[run.plant]}"
        checks.REPORT += [f"found: {failure}" for failure in run.failures[:5]]
    else:
        assert not run.failures, "\n".join(run.failures)


def test_every_kind_of_fault_could_be_tried():
    if MISSING:
        pytest.skip("; ".join(MISSING))
