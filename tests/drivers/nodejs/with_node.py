"""Runs a command beside a node of ours: its address is in CASSANDRA_HOST, and its process id in CASSANDRA_PID."""
import os
import subprocess
import sys

from node import Node

if "CASSANDRA_HOST" in os.environ:
    sys.exit(subprocess.run(sys.argv[1:]).returncode)
node = Node("127.0.0.47")
try:
    node.start()
    sys.exit(subprocess.run(sys.argv[1:], env=dict(os.environ, CASSANDRA_HOST=node.address)).returncode)
finally:
    node.destroy()
