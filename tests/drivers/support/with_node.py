"""Runs a driver's suite beside a node of ours: with_node.py ADDRESS COMMAND...

The suite finds in its environment

  SCENARIO_HOST     the node's address
  SCENARIO_NODES    the addresses of all nodes of its cluster, with commas between them
  SCENARIO_SCHEMA   the file schema.cql
  SCENARIO_REPLICAS how many replicas its keyspace has
  SCENARIO_CONTROL  `address:port` where the node is controlled. A client sends one command a line, and reads a line when it
                    is done: `ok`, for a node beside it with its address behind it, or `error` and why.

                      stop, kill, start, restart   the node; stop is SIGTERM, kill is SIGKILL
                      secured                      starts a node beside it, where clients log in as cassandra/cassandra
                      sharded                      starts a node of three shards that tells drivers of them

With SCENARIO_COUNT=3 the node is the first of three, and the keyspace has three replicas. The last node is killed before the suite
begins and started again while it runs. `kill` and `restart` are of all nodes at once: a restart kills the last and stops the others.

With CASSANDRA_HOST the node is the Cassandra there, and SCENARIO_CONTROL is missing: the tests that need it are skipped.
"""
import os
import pathlib
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "cluster" / "support"))
from node import Node  # noqa: E402

SCHEMA = ROOT / "tests" / "drivers" / "schema.cql"
BESIDE = {
    "secured": {"settings": {"authenticator": "PasswordAuthenticator"}},
    "sharded": {"settings": {"enable_shard_aware_drivers": "true"}, "shards": 3},
}


class Nodes:
    """The node of a suite at ADDRESS, its companions in the ring, and those beside it that were asked for, at the addresses behind it."""

    def __init__(self, address, count):
        self.prefix, _, last = address.rpartition(".")
        self.last = int(last)
        addresses = [address] + [f"{self.prefix}.{self.last + 4 + n}" for n in range(1, count)]
        seeds = f'[{{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{{seeds: "{address}"}}]}}]'
        self.ring = [Node(each, settings={"seed_provider": seeds, "auto_bootstrap": "false"}) for each in addresses]
        self.main = self.ring[0]
        self.beside = {}
        self.lock = threading.Lock()

    def start(self):
        starts = [threading.Thread(target=node.start) for node in self.ring if node.process is None or node.process.poll() is not None]
        for start in starts:
            start.start()
        for start in starts:
            start.join()
        end = time.time() + 90
        while any(node.nodetool("status").stdout.count("\nUN ") < len(self.ring) for node in self.ring):
            if time.time() > end:
                raise RuntimeError("the nodes do not see each other: " + self.main.nodetool("status").stdout)
            time.sleep(0.05)

    def stop(self):
        self.main.stop()

    def kill(self):
        for node in self.ring:
            node.kill()

    def restart(self):
        for node in self.ring[1:]:
            node.kill() if node is self.ring[-1] else node.stop()
        assert self.main.stop() == 0
        self.start()

    def lose_one_for_a_while(self):
        """The last node is killed, and comes back in a moment."""
        if len(self.ring) > 1:
            self.ring[-1].kill()
            back = threading.Timer(10, self.obey, ["start"])
            back.daemon = True
            back.start()

    def start_beside(self, name):
        if name not in self.beside:
            node = self.beside[name] = Node(f"{self.prefix}.{self.last + 1 + list(BESIDE).index(name)}", **BESIDE[name])
            node.start()
        return self.beside[name].address

    def obey(self, command):
        with self.lock:
            if command in BESIDE:
                return f"ok {self.start_beside(command)}"
            if command not in ("stop", "kill", "start", "restart"):
                return f"error no such command: {command}"
            getattr(self, command)()
            return "ok"

    def destroy(self):
        for node in (*self.ring, *self.beside.values()):
            node.destroy()


def serve(nodes):
    """Starts to take commands; the address to send them to."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            for line in self.rfile:
                try:
                    answer = nodes.obey(line.decode().strip())
                except Exception as e:
                    answer = "error " + " ".join(str(e).split())
                self.wfile.write(f"{answer}\n".encode())

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    server = Server((nodes.main.address, 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"{nodes.main.address}:{server.server_address[1]}"


def main(address, *command):
    environment = dict(os.environ, SCENARIO_SCHEMA=str(SCHEMA), SCENARIO_REPLICAS="1")
    if "CASSANDRA_HOST" in os.environ:
        return subprocess.run(command, env=dict(environment, SCENARIO_HOST=os.environ["CASSANDRA_HOST"], SCENARIO_NODES=os.environ["CASSANDRA_HOST"])).returncode
    count = int(os.environ.get("SCENARIO_COUNT", "1"))
    nodes = Nodes(address, count)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # leaves no node behind
    try:
        with tempfile.NamedTemporaryFile("w", suffix=".cql") as schema:
            schema.write(SCHEMA.read_text().replace("'replication_factor': 1", f"'replication_factor': {count}"))
            schema.flush()
            nodes.start()
            environment.update(SCENARIO_SCHEMA=schema.name, SCENARIO_REPLICAS=str(count), SCENARIO_HOST=address,
                               SCENARIO_NODES=",".join(node.address for node in nodes.ring), SCENARIO_CONTROL=serve(nodes))
            nodes.lose_one_for_a_while()
            return subprocess.run(command, env=environment).returncode
    finally:
        nodes.destroy()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
