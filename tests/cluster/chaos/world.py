"""The machines of a run: each node in a network namespace of its own, on one bridge, with a wall clock that can be set.

The suite itself moves into a namespace that nobody else sees; the bridge is in it, and clients reach the nodes over it. What the
machine forbids is named in `World.missing`, and its faults are left out:

  partitions, slow links   network namespaces (as root, or as a user who may make user namespaces); without them the nodes are on
                           loopback
  slow links               the kernel's sch_netem for delay and loss, sch_tbf for narrow ones
  clock skew               libfaketime (Debian: faketime)
"""
import ctypes
import glob
import os
import pathlib
import shutil
import signal
import subprocess
import time

from node import Node
from node_ring import ring_seen_by, seeds, start_all

CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
LOOPBACK, BRIDGED = "127.0.0.{}", "10.77.0.{}"
NOWHERE = "02:00:00:00:ee:ee"  # a hardware address that no machine has


def sh(command, check=True):
    done = subprocess.run(command.split(), capture_output=True, text=True)
    assert not check or done.returncode == 0, f"{command}: {done.stderr}"
    return done.returncode == 0


def leave_the_network():
    """Moves this process into an empty network namespace; False where that is forbidden."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if shutil.which("ip") is None or shutil.which("nsenter") is None:
        return False
    if libc.unshare(CLONE_NEWNET) == 0:
        return True
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        return False
    pathlib.Path("/proc/self/setgroups").write_text("deny")
    pathlib.Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    pathlib.Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    return True


class Machine(Node):
    """A node, the network that it is in, and its wall clock."""

    def __init__(self, number, address, namespace, faketime, settings):
        super().__init__(address, settings={**settings, "admin_address": "127.0.0.1"} if namespace else settings)
        self.number, self.namespace = number, namespace
        self.skew = 0
        self.paused = False
        self.wanted = True  # whether it is meant to run
        self.ends = []  # when it was killed or stopped: what it had promised to pass on may be gone
        self.clock = self.home / "clock"
        if namespace:
            self.prefix = ["nsenter", "-t", str(namespace.pid), "-n"]
        if faketime:
            self.environment = {**os.environ, "LD_PRELOAD": faketime, "FAKETIME_TIMESTAMP_FILE": str(self.clock), "FAKETIME_CACHE_DURATION": "1",
                                "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}
        self.set_skew(0)

    def set_skew(self, seconds):
        """Takes up to a second to be seen."""
        self.skew = seconds
        whole = self.clock.with_suffix(".new")
        whole.write_text(f"{seconds:+d}\n")
        whole.replace(self.clock)

    def start(self, **options):
        self.wanted, self.paused = True, False
        return super().start(**options)

    def stop(self):
        self.wanted = False
        self.ends.append(time.time())
        return super().stop()

    def kill(self):
        self.wanted = False
        self.ends.append(time.time())
        super().kill()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        self.paused = True

    def go_on(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
        self.paused = False

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def destroy(self):
        self.go_on()
        super().destroy()
        if self.namespace:
            self.namespace.kill()
            self.namespace.wait()

    # --- its link

    def inside(self, command, check=True):
        return sh(f"nsenter -t {self.namespace.pid} -n {command}", check)

    def lose(self, other):
        """What it sends to the other vanishes."""
        self.inside(f"ip neigh replace {other.address} lladdr {NOWHERE} dev eth0 nud permanent")

    def refuse(self, other):
        """It learns at once that there is no way to the other."""
        self.inside(f"ip route replace unreachable {other.address}/32")

    def find(self, other):
        """Heals both. A neighbour's address is found anew."""
        self.inside(f"ip neigh del {other.address} dev eth0", check=False)
        self.inside(f"ip route del unreachable {other.address}/32", check=False)

    def slow(self, discipline):
        self.inside(f"tc qdisc replace dev eth0 root {discipline}")

    def speed_up(self):
        self.inside("tc qdisc del dev eth0 root", check=False)


class World:
    def __init__(self, count, settings):
        self.missing = []
        self.problems = []
        bridged = leave_the_network()
        if bridged:
            for command in ("ip link set lo up", "ip link add bridge type bridge", f"ip addr add {BRIDGED.format(100)}/24 dev bridge", "ip link set bridge up"):
                sh(command)
        else:
            self.missing.append("partitions and slow links: no network namespaces here (root, ip and nsenter are wanted)")
        faketime = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
        if faketime is None:
            self.missing.append("clock skew: no libfaketime here (Debian: faketime)")
        self.has_skew, self.has_links = faketime is not None, bridged
        addresses = [BRIDGED.format(n) if bridged else LOOPBACK.format(20 + n) for n in range(1, count + 1)]
        settings = {"seed_provider": seeds(*addresses[:2]), "auto_bootstrap": "false", "dynamic_snitch": "false", **settings}
        self.nodes = [Machine(n + 1, address, self.make_namespace(n + 1, address) if bridged else None, faketime, settings=settings)
                      for n, address in enumerate(addresses)]
        self.disciplines = self.find_disciplines() if bridged else []

    @staticmethod
    def make_namespace(number, address):
        holder = subprocess.Popen(["unshare", "-n", "sleep", "infinity"])
        while os.readlink(f"/proc/{holder.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            time.sleep(0.005)
        sh(f"ip link add port{number} type veth peer name eth0 netns {holder.pid}")
        sh(f"ip link set port{number} master bridge up")
        for command in ("ip link set lo up", f"ip addr add {address}/24 dev eth0", "ip link set eth0 up"):
            sh(f"nsenter -t {holder.pid} -n {command}")
        return holder

    def find_disciplines(self):
        """Kinds of slow links that the kernel has."""
        kinds = {"netem": ["netem delay 150ms 50ms loss 2%", "netem delay 40ms loss 10%"],
                 "tbf": ["tbf rate 200kbit burst 4kb latency 400ms", "tbf rate 1mbit burst 8kb latency 100ms"]}
        found = []
        for kind, disciplines in kinds.items():
            if shutil.which("tc") and self.nodes[0].inside(f"tc qdisc replace dev eth0 root {disciplines[0]}", check=False):
                self.nodes[0].speed_up()
                found += disciplines
            else:
                self.missing.append(f"slow links by {kind}: the kernel has no sch_{kind}, or there is no tc")
        return found

    def start(self):
        start_all(self.nodes)

    def look_for_the_dead(self):
        """Notes and starts again the nodes that have ended and were not meant to. Calls may not overlap with a fault's."""
        for node in self.nodes:
            if node.wanted and not node.is_running():
                last = [line for line in (node.home / "output.log").read_text(errors="replace").splitlines() if line.strip()][-3:]
                if not any("Unable to gossip with any peers" in line for line in last):  # it was started while it was cut off
                    self.problems.append(f"node {node.number} ended by itself with {node.process.returncode}: {' | '.join(last)}")
                node.start(wait=False)

    def whole(self):
        """Whether every node sees every node up."""
        return all(list(ring_seen_by(node, check=False).values()) == ["UN"] * len(self.nodes) for node in self.nodes)

    def log_counts(self):
        """How often each kind of complaint is in the logs: level and the words of it that are no names or numbers."""
        counts = {}
        for node in self.nodes:
            for line in (node.home / "output.log").read_text(errors="replace").splitlines():
                if " ERROR " in line or "CHECK" in line or "[error]" in line:
                    counts[line[-160:]] = counts.get(line[-160:], 0) + 1
        return counts

    def destroy(self):
        for node in self.nodes:
            node.destroy()
