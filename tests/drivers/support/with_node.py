"""Runs a driver's suite beside a node of ours: with_node.py ADDRESS COMMAND...

The suite finds in its environment

  SCENARIO_HOST     the node's address
  SCENARIO_SCHEMA   the file schema.cql
  SCENARIO_CONTROL  `address:port` where the node is controlled. A client sends one command a line, and reads a line when it
                    is done: `ok`, for a node beside it with its address behind it, or `error` and why.

                      stop, kill, start, restart   the node; stop is SIGTERM, kill is SIGKILL
                      secured                      starts a node beside it, where clients log in as cassandra/cassandra
                      sharded                      starts a node of three shards that tells drivers of them

With CASSANDRA_HOST the node is the Cassandra there, and SCENARIO_CONTROL is missing: the tests that need it are skipped.
"""
import os
import pathlib
import signal
import socketserver
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "cluster" / "support"))
from node import Node  # noqa: E402

SCHEMA = ROOT / "tests" / "drivers" / "schema.cql"
BESIDE = {
    "secured": {"settings": {"authenticator": "PasswordAuthenticator"}},
    "sharded": {"settings": {"enable_shard_aware_drivers": "true"}, "shards": 3},
}


class Nodes:
    """The node of a suite at ADDRESS, and those beside it that were asked for, at the addresses behind it."""

    def __init__(self, address):
        self.main = Node(address)
        self.beside = {}
        self.lock = threading.Lock()

    def start_beside(self, name):
        if name not in self.beside:
            before, _, last = self.main.address.rpartition(".")
            node = self.beside[name] = Node(f"{before}.{int(last) + 1 + list(BESIDE).index(name)}", **BESIDE[name])
            node.start()
        return self.beside[name].address

    def obey(self, command):
        with self.lock:
            if command in BESIDE:
                return f"ok {self.start_beside(command)}"
            if command not in ("stop", "kill", "start", "restart"):
                return f"error no such command: {command}"
            getattr(self.main, command)()
            return "ok"

    def destroy(self):
        for node in (self.main, *self.beside.values()):
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
    environment = dict(os.environ, SCENARIO_SCHEMA=str(SCHEMA))
    if "CASSANDRA_HOST" in os.environ:
        return subprocess.run(command, env=dict(environment, SCENARIO_HOST=os.environ["CASSANDRA_HOST"])).returncode
    nodes = Nodes(address)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # leaves no node behind
    try:
        nodes.main.start()
        return subprocess.run(command, env=dict(environment, SCENARIO_HOST=address, SCENARIO_CONTROL=serve(nodes))).returncode
    finally:
        nodes.destroy()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
