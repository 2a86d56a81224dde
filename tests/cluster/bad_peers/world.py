"""Who is attacked, and who stands beside: a ring of three nodes, a client that knows what it has to read, and what an attack cost."""
import os
import pathlib
import threading
import time

from node_ring import ONE, PATIENCE, run, wait_until

ADDRESSES = ["127.0.0.90", "127.0.0.91", "127.0.0.92"]
ALONE = "127.0.0.93"
FORGED = "127.0.0.98"  # where forged nodes listen
MIB = 1024  # of /proc's KiB
SLACK = 48 * MIB  # what a node may grow that has done nothing wrong


def make_tables(session, factor):
    run(session, f"CREATE KEYSPACE k WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {factor}}}")
    run(session, "CREATE TABLE k.t (k int PRIMARY KEY, v int)")
    run(session, "CREATE TABLE k.wide (k int, c int, v blob, PRIMARY KEY (k, c))")


def table_id(session, name, keyspace="k"):
    text = "SELECT id FROM system_schema.tables WHERE keyspace_name = %s AND table_name = %s"
    return run(session, text, (keyspace, name), ONE)[0].id


class Beside:
    """A client that writes and reads at QUORUM, in turn at each of the nodes, while strangers do what they do. It reads what it
    wrote, and no request takes as long as PATIENCE."""

    def __init__(self, clients, nodes):
        self.session = clients.session(*nodes)
        self.stop, self.wrong, self.rounds = threading.Event(), [], 0
        self.thread = threading.Thread(target=self.work, daemon=True)

    def work(self):
        while not self.stop.is_set() or self.rounds < 3:
            self.rounds += 1
            try:
                run(self.session, "INSERT INTO k.t (k, v) VALUES (%s, %s)", (1_000_000 + self.rounds % 10, self.rounds))
                rows = run(self.session, "SELECT v FROM k.t WHERE k = %s", (1_000_000 + self.rounds % 10,))
                if [row.v for row in rows] != [self.rounds]:
                    self.wrong.append((self.rounds, rows))
            except Exception as e:  # every failure counts
                self.wrong.append(repr(e))
            time.sleep(0.01)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.stop.set()
        self.thread.join(PATIENCE)
        assert kind is not None or not self.thread.is_alive(), "the client beside waits"
        assert kind is not None or self.wrong == [], self.wrong[:3]


class Cost:
    """What an attack costs a node: the most memory, and the lines of its log, counted from here on."""

    def __init__(self, node):
        self.node = node
        pathlib.Path(f"/proc/{node.process.pid}/clear_refs").write_text("5")  # the peak is what is used now
        self.before = node.memory_kib()
        self.log = node.home / "logs" / "system.log"
        self.skip = os.path.getsize(self.log)

    def memory_kib(self):
        status = pathlib.Path(f"/proc/{self.node.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) - self.before

    def check_memory(self, most):
        grown = self.memory_kib()
        assert grown <= most, f"{grown // MIB} MiB more than before, {most // MIB} are allowed"

    def lines(self, *parts):
        """Those that hold all the parts."""
        with open(self.log, "rb") as file:
            file.seek(self.skip)
            lines = file.read().decode("utf-8", "replace").splitlines()
        return [line for line in lines if all(part in line for part in parts)]

    def wait_for_line(self, *parts):
        return wait_until(lambda: self.lines(*parts), lambda: f"no line with {parts}: {self.lines()[-10:]}")[0]

    def check_log(self, most):
        count = len(self.lines())
        assert count <= most, f"{count} lines, {most} are allowed: {self.lines()[:3]}"
