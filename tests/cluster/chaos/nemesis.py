"""The faults of a run, drawn from its seed: now and then two at a time, each with its end."""
import collections
import random
import signal
import time

from node import answers

MOST_AT_ONCE = 2
STOPPED_WHILE_STARTING = (-signal.SIGTERM, 128 + signal.SIGTERM)  # before and after the node took charge of the signal


class Fault:
    """`begin` says what it did, or None when it cannot be done now. `end` heals it."""

    def __init__(self, world, draw):
        self.world, self.draw = world, draw

    def seconds(self):
        return self.draw.choice((1, 1, 2, 2, 4, 4, 8, 25))

    def pick_running(self):
        """A node whose process no other fault has."""
        free = [node for node in self.world.nodes if node.wanted and not node.paused and node.is_running()]
        return self.draw.choice(free) if free else None

    def end(self):
        pass


class Kill(Fault):
    name = "kill -9"

    def begin(self):
        self.node = self.pick_running()
        if self.node is not None:
            self.node.kill()
            return f"node {self.node.number}"

    def end(self):
        self.node.start(wait=False)


class KillAll(Fault):
    name = "kill -9 of all"

    def begin(self):
        if any(not node.wanted or node.paused for node in self.world.nodes):
            return None
        for node in self.world.nodes:
            node.kill()
        return "all"

    def seconds(self):
        return 1

    def end(self):
        for node in self.world.nodes:
            node.start(wait=False)


class Stop(Fault):
    name = "stop (SIGTERM)"

    def begin(self):
        self.node = self.pick_running()
        if self.node is None:
            return None
        serves = answers(self.node.address, 9042)
        code = self.node.stop()
        if code != 0 and (serves or code not in STOPPED_WHILE_STARTING):
            self.world.problems.append(f"node {self.node.number} ended with {code} after SIGTERM")
        return f"node {self.node.number}"

    def end(self):
        if not self.node.is_running():
            self.node.start(wait=False)


class Pause(Fault):
    name = "SIGSTOP"

    def begin(self):
        self.node = self.pick_running()
        if self.node is not None:
            self.node.pause()
            return f"node {self.node.number}"

    def end(self):
        self.node.go_on()


class Cut(Fault):
    """Some nodes from the others."""
    ways = ("lose", "both")

    def begin(self):
        nodes = self.draw.sample(self.world.nodes, len(self.world.nodes))
        few = self.draw.randrange(1, len(nodes) // 2 + 1)
        self.cut = [(a, b) for a in nodes[:few] for b in nodes[few:]]
        how, direction = self.ways
        if direction == "one":
            self.cut = self.cut if self.draw.random() < 0.5 else [(b, a) for a, b in self.cut]
        else:
            self.cut += [(b, a) for a, b in self.cut]
        for a, b in self.cut:
            getattr(a, how)(b)
        return "nodes " + ", ".join(str(node.number) for node in nodes[:few])

    def end(self):
        for a, b in self.cut:
            a.find(b)


class CutBothWays(Cut):
    name = "cut both ways, silently"


class CutOneWay(Cut):
    name = "cut one way, silently"
    ways = ("lose", "one")


class CutLoudly(Cut):
    name = "cut both ways, unreachable"
    ways = ("refuse", "both")


class CutPair(Cut):
    name = "cut between two"

    def begin(self):
        a, b = self.draw.sample(self.world.nodes, 2)
        self.cut = [(a, b), (b, a)]
        for a, b in self.cut:
            a.lose(b)
        return f"nodes {a.number}, {b.number}"


class Slow(Fault):
    name = "slow link"

    def begin(self):
        self.node = self.draw.choice(self.world.nodes)
        discipline = self.draw.choice(self.world.disciplines)
        self.node.slow(discipline)
        return f"node {self.node.number}: {discipline}"

    def end(self):
        self.node.speed_up()


class Skew(Fault):
    name = "clock skew"

    def begin(self):
        if any(node.skew for node in self.world.nodes):
            return None
        self.node = self.draw.choice(self.world.nodes)
        self.node.set_skew(self.draw.choice((-600, 600)))
        return f"node {self.node.number} by {self.node.skew:+d} s"

    def seconds(self):
        return self.draw.choice((10, 20, 30))

    def end(self):
        self.node.set_skew(0)


class Flush(Fault):
    """No fault, but what an operator does: memtables go to disk, so later starts and reads meet files."""
    name = "nodetool flush"

    def begin(self):
        node = self.pick_running()
        if node is None:
            return None
        node.nodetool("flush", check=False)
        return f"node {node.number}"

    def seconds(self):
        return 0


class Nemesis:
    def __init__(self, world, seed):
        self.world, self.draw = world, random.Random(seed)
        self.kinds = [Kill, Kill, Kill, KillAll, Stop, Stop, Pause, Pause, Pause, Flush]
        if world.has_links:
            self.kinds += [CutBothWays, CutBothWays, CutOneWay, CutOneWay, CutLoudly, CutPair, CutPair]
        if world.disciplines:
            self.kinds += [Slow]
        if world.has_skew:
            self.kinds += [Skew]
        self.active = []
        self.counts = collections.Counter()
        self.story = []

    def tell(self, text):
        self.story.append(f"{time.strftime('%H:%M:%S')} {text}")

    def run(self, seconds):
        end = time.time() + seconds
        while time.time() < end:
            self.end_those_due(time.time())
            if not self.active or len(self.active) < MOST_AT_ONCE and self.draw.random() < 0.2:
                self.begin_one()
            self.world.look_for_the_dead()
            time.sleep(min(self.draw.choice((0.2, 1, 2)), max(0, end - time.time())))
        self.end_those_due(None)

    def begin_one(self):
        fault = self.draw.choice(self.kinds)(self.world, self.draw)
        seconds = fault.seconds()
        what = fault.begin()
        if what is None:
            return
        self.counts[fault.name] += 1
        self.tell(f"{fault.name}, {seconds} s: {what}")
        self.active.append((time.time() + seconds, fault))

    def end_those_due(self, now):
        for due, fault in list(self.active):
            if now is None or due <= now:
                fault.end()
                self.active.remove((due, fault))
                self.tell(f"{fault.name} ends")
                if now is not None and not self.active:
                    time.sleep(self.draw.choice((0, 1, 3, 6)))  # most of the requests succeed in such a while
