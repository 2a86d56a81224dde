"""What the tests of bad days share: one small table, and how a node refuses to start."""
import resource
import struct
import subprocess

from node import BUILD

ADDRESS = "127.0.0.64"
KEYSPACE = "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
TABLE = "CREATE TABLE k.t (k int PRIMARY KEY, v text)"


def refusal(node, limits=None, code=3):
    """What a node that does not start says, in one line."""
    def limit():
        for which, value in (limits or {}).items():
            resource.setrlimit(which, (value, value))

    done = subprocess.run([*node.prefix, BUILD / "cassandra-like", "-c", node.config, "--shards", str(node.shards)], capture_output=True, text=True,
                          timeout=60, cwd=node.home, preexec_fn=limit)
    assert done.returncode == code, done.stderr
    (line,) = done.stderr.splitlines()
    return line.removeprefix("cassandra-like: ")


def log_of(node):
    return (node.home / "logs" / "system.log").read_text()


def keys(client, table="k.t"):
    return {struct.unpack(">i", key)[0] for key, in client.rows(f"SELECT k FROM {table}")}


def put(client, first, end, size=10):
    for k in range(first, end):
        client.query(f"INSERT INTO k.t (k, v) VALUES ({k}, '{'x' * size}')")
