"""A node of ours for a suite: started on a loopback address of its own, in a directory of its own."""
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("CASSANDRA_LIKE_BUILD", ROOT / "build" / "release")).resolve()
# default_compaction of Cassandra's cassandra_latest.yaml
LATEST_COMPACTION = ("{class_name: UnifiedCompactionStrategy, parameters: {scaling_parameters: T4, max_sstables_to_compact: 64,"
                     " target_sstable_size: 1GiB, sstable_growth: 0.3333333333333333, min_sstable_size: 100MiB}}")


def answers(address, port):
    try:
        socket.create_connection((address, port), 0.2).close()
        return True
    except OSError:
        return False


def closes(connection, seconds=10):
    """Whether the node at the other end of the socket closes it in time, whatever it says before."""
    connection.settimeout(seconds)
    try:
        while connection.recv(1 << 16):
            pass
        return True
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


class Node:
    def __init__(self, address, shards=2, settings=None):
        self.address = address
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="cassandra-like-"))
        self.config = self.home / "cassandra.yaml"
        self.shards = shards
        self.process = None
        self.prefix = []  # of the command line
        self.environment = None  # this process's
        values = {
            "cluster_name": "Test Cluster", "num_tokens": 16, "listen_address": address, "rpc_address": address,
            "data_file_directories": f"[{self.home}/data]", "commitlog_directory": f"{self.home}/commitlog",
            "hints_directory": f"{self.home}/hints", "saved_caches_directory": f"{self.home}/caches",
            "cdc_raw_directory": f"{self.home}/cdc", "log_directory": f"{self.home}/logs",
            "admin_address": address, "endpoint_snitch": "SimpleSnitch",
            "seed_provider": f"[{{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{{seeds: \"{address}\"}}]}}]",
            **(settings or {}),
        }
        self.admin_address = values["admin_address"]
        self.config.write_text("".join(f"{key}: {value}\n" for key, value in values.items()))

    def start(self, wait=True, limits=None):
        """Seconds until the CQL port answered. `limits` maps resource.RLIMIT_* to the process's limit, or to its soft and hard one."""
        began = time.time()

        def limit():
            for which, value in (limits or {}).items():
                resource.setrlimit(which, value if isinstance(value, tuple) else (value, value))

        with open(self.home / "output.log", "ab") as output:
            self.process = subprocess.Popen([*self.prefix, BUILD / "cassandra-like", "-c", self.config, "--shards", str(self.shards)],
                                            stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd=self.home,
                                            env=self.environment, preexec_fn=limit)
        while wait and not answers(self.address, 9042):
            if self.process.poll() is not None or time.time() - began > 60:
                raise RuntimeError("the node did not start:\n" + (self.home / "output.log").read_text()[-3000:])
            time.sleep(0.005)
        return time.time() - began

    def stop(self):
        """The exit code after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill(self):
        self.process.kill()
        self.process.wait(60)

    def restart(self):
        assert self.stop() == 0
        self.start()

    def nodetool(self, *arguments, check=True):
        done = subprocess.run([*self.prefix, BUILD / "nodetool", "-h", self.admin_address, *arguments], capture_output=True, text=True, timeout=60)
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_kib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])

    def destroy(self):
        if self.process is not None and self.process.poll() is None:
            self.kill()
        if "KEEP" not in os.environ: shutil.rmtree(self.home, ignore_errors=True)
