"""A node on a bad day: directories of others, few descriptors, little memory, a full disk, damaged files. It refuses by name or
goes on; nothing that was acknowledged is lost, and no answer lacks rows without a word."""
import hashlib
import os
import pathlib
import resource
import socket
import stat
import struct
import subprocess
import threading
import time

import pytest

import wire
from bad_node import ADDRESS, KEYSPACE, TABLE, keys, log_of, put, refusal
from node import BUILD, Node


# --- directories that Cassandra wrote

LB = [f"{table}/lb-1-big-{component}"
      for table in ("system/local-7ad54392bcdd35a684174e047860b377", "system_schema/tables-afddfb9dbc1e30688056eed6c302ba09",
                    "shop/orders-e81535a0e6b111f181c4eb789883ce23")
      for component in ("CompressionInfo.db", "Data.db", "Digest.crc32", "Filter.db", "Index.db", "Statistics.db", "Summary.db", "TOC.txt")]
DA_NUMBERED = [f"shop/orders-e81535a0e6b111f181c4eb789883ce23/da-3-bti-{component}"
               for component in ("CompressionInfo.db", "Data.db", "Digest.crc32", "Filter.db", "Partitions.db", "Rows.db", "Statistics.db", "TOC.txt")]


def lay(node, names):
    for name in names:
        file = node.home / "data" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(name.encode())


def tree(home):
    return {str(path.relative_to(home)): path.is_file() and hashlib.md5(path.read_bytes()).hexdigest()
            for path in home.rglob("*") if "logs" not in path.parts}


@pytest.mark.parametrize("policy", ["", "ignore", "best_effort", "stop", "stop_paranoid", "die"])
@pytest.mark.parametrize("names", [LB, LB + DA_NUMBERED], ids=["lb", "lb and da"])
def test_sstables_of_another_format_refuse_the_start_and_stay(make_node, policy, names):
    node = make_node(**({"disk_failure_policy": policy} if policy else {}), uuid_sstable_identifiers_enabled="true")
    lay(node, names)
    before = tree(node.home)
    message = refusal(node)
    assert message.startswith(f"{node.home}/data/") and "lb-1-big-Data.db is of format lb-big, which is not supported yet" in message
    assert "nodetool upgradesstables" in message
    assert tree(node.home) == before


# --- descriptors


def test_more_sstables_than_descriptors(make_node):
    node = make_node(shards=2)
    few = {resource.RLIMIT_NOFILE: 64}
    node.start(limits=few)
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        for flush in range(40):
            put(client, flush * 3, flush * 3 + 3)
            node.nodetool("flush", "k")
        assert keys(client) == set(range(120))
    assert node.stop() == 0
    node.start(limits=few)
    node.kill()
    node.start(limits=few)
    with wire.Client(ADDRESS) as client:
        assert keys(client) == set(range(120))


def test_clients_leave_descriptors_to_files_and_to_operators(make_node):
    node = make_node()
    node.start(limits={resource.RLIMIT_NOFILE: 200})
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        crowd = [socket.create_connection((ADDRESS, 9042), 5) for _ in range(400)]
        try:
            crowd[-1].settimeout(10)
            assert crowd[-1].recv(1) == b""  # one too many is closed
            put(client, 0, 10)
            node.nodetool("flush", "k")
            node.nodetool("snapshot", "-t", "crowded", "k")
            put(client, 10, 20)
            client.query("CREATE TABLE k.other (k int PRIMARY KEY)")
            assert keys(client) == set(range(20))
            # More of them wait in the kernel's queue: the acceptor does not spin.
            before = node.cpu_seconds()
            time.sleep(2)
            assert node.cpu_seconds() - before < 0.4
        finally:
            for each in crowd:
                each.close()
        assert "since three quarters of the descriptors are in use: raise the limit of open files (ulimit -n)" in \
            log_of(node)
    assert node.stop() == 0


def test_the_limit_of_descriptors_is_raised_at_the_start(make_node):
    node = make_node()
    node.start(limits={resource.RLIMIT_NOFILE: (256, 4000)})
    assert resource.prlimit(node.process.pid, resource.RLIMIT_NOFILE) == (4000, 4000)


@pytest.mark.parametrize("limit, shards", [(10, 1), (39, 1), (63, 4)])
def test_too_few_descriptors_to_start(make_node, limit, shards):
    node = make_node(shards=shards)
    message = refusal(node, {resource.RLIMIT_NOFILE: limit})
    known_shards = 1 if limit < 40 else shards  # with so few the configuration is not read
    assert message == (f"The process may have {limit} open files, and this node needs {32 + 8 * known_shards} (32, and 8 for each shard): "
                       "raise the limit (ulimit -n)")
    node.start(limits={resource.RLIMIT_NOFILE: 32 + 8 * shards})
    with wire.Client(ADDRESS) as client:
        assert len(client.rows("SELECT key FROM system.local")) == 1
    assert node.stop() == 0


# --- threads


@pytest.fixture
def few_threads():
    """Limits how many threads a process may have: a function that returns what its command line begins with."""
    made = []

    def limit(threads):
        group = next((root / f"cassandra-like-threads-{os.getpid()}" for root in map(pathlib.Path, ("/sys/fs/cgroup/pids", "/sys/fs/cgroup"))
                      if (root / "cgroup.procs").exists()), None)
        try:
            if group not in made:
                group.mkdir()
                made.append(group)
            (group / "pids.max").write_text(str(threads))
        except (AttributeError, OSError):
            pytest.skip("no control group with a limit of threads can be made here")
        return ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]

    yield limit
    for group in made:
        group.rmdir()


# The main thread, the one that waits for signals, one of each of the three pools, the shards' and that of HTTP.
FEWEST_THREADS = 8


def test_as_few_threads_as_a_node_of_two_shards_needs(make_node, few_threads):
    node = make_node(shards=2)
    node.prefix = few_threads(FEWEST_THREADS)
    node.start()
    node.prefix = []
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        for round_ in range(5):
            put(client, round_ * 100, round_ * 100 + 100, 1000)
            node.nodetool("flush", "k")
        node.nodetool("compact", "k")
        assert keys(client) == set(range(500))
    lines = [line for line in log_of(node).splitlines() if "cannot make the thread of" in line]
    assert len({line.split("thread of ")[1].split(":")[0] for line in lines}) == len(lines) and lines
    assert all("raise the limit of threads (ulimit -u, pids.max of the control group)" in line for line in lines)
    assert node.stop() == 0


@pytest.mark.parametrize("limit", range(1, FEWEST_THREADS))
def test_too_few_threads_to_start(make_node, few_threads, limit):
    node = make_node(shards=2)
    node.prefix = few_threads(limit)
    message = refusal(node)
    assert message.startswith("cannot make the thread of ") and "Resource temporarily unavailable: raise the limit of threads" in message


# --- the size of files


def test_a_commit_log_segment_that_may_not_be_so_large_refuses_the_start(make_node):
    node = make_node()
    message = refusal(node, {resource.RLIMIT_FSIZE: 1 << 20})
    assert "/commitlog/" in message and "File too large: raise the limit of the size of files (ulimit -f)" in message


@pytest.mark.parametrize("policy, ends", [("stop", True), ("ignore", False)])
def test_a_commit_log_segment_that_may_not_be_so_large_any_more(make_node, policy, ends):
    node = make_node(commitlog_segment_size="1MiB", commit_failure_policy=policy)
    node.start()
    acknowledged = 0
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        resource.prlimit(node.process.pid, resource.RLIMIT_FSIZE, (512 << 10, resource.RLIM_INFINITY))
        with pytest.raises((wire.Refused, wire.Closed, OSError)):
            for acknowledged in range(20000):
                put(client, acknowledged, acknowledged + 1, 1000)
        if ends:
            assert node.process.wait(30) == 1
        else:
            for _ in range(30):
                with pytest.raises(wire.Refused):
                    put(client, acknowledged, acknowledged + 1, 1000)
            resource.prlimit(node.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            put(client, acknowledged, acknowledged + 1, 1000)
            assert node.stop() == 0
    lines = [line for line in log_of(node).splitlines() if "raise the limit of the size of files (ulimit -f)" in line]
    assert lines and all("/commitlog/" in line for line in lines)
    assert len(lines) <= 11
    node.start()
    with wire.Client(ADDRESS) as client:
        assert keys(client) >= set(range(acknowledged))
    assert node.stop() == 0


def test_sstables_that_may_not_be_so_large(make_node):
    node = make_node(commitlog_segment_size="1MiB", disk_failure_policy="ignore")
    node.start(limits={resource.RLIMIT_FSIZE: 1 << 20})
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query("CREATE TABLE k.t (k int PRIMARY KEY, v text) WITH compression = {'enabled': false}")
        put(client, 0, 1500, 1000)
        failed = node.nodetool("flush", "k", check=False)
        assert failed.returncode == 2
        assert "-Data.db: File too large: raise the limit of the size of files (ulimit -f)" in failed.stderr
        assert keys(client) == set(range(1500))
    assert node.stop() == 1
    node.start()
    with wire.Client(ADDRESS) as client:
        assert keys(client) == set(range(1500))
    assert node.stop() == 0


# --- memory


def test_an_address_space_that_is_too_small_is_named(make_node):
    node = make_node(memtable_heap_space="256MiB", memtable_offheap_space="256MiB", file_cache_size="64MiB")
    message = refusal(node, {resource.RLIMIT_AS: 512 << 20})
    assert message.startswith("The address space is limited to 512 MiB, and this node needs ")
    assert "raise the limit (ulimit -v), or lower memtable_heap_space" in message
    needed = int(message.split(" needs ")[1].split()[0])
    node.start(limits={resource.RLIMIT_AS: needed << 20})
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        put(client, 0, 500, 50000)
        assert len(keys(client)) == 500
    assert node.stop() == 0


class Counting(threading.Thread):
    """Increments a counter, one after the other, and knows how many were acknowledged and how many may have been applied."""

    def __init__(self, increments):
        super().__init__(daemon=True)
        self.increments, self.acknowledged, self.unknown = increments, 0, 0
        self.start()

    def run(self):
        client = None
        while self.acknowledged + self.unknown < self.increments:
            try:
                if client is None:
                    client = wire.Client(ADDRESS)
                    update = client.prepare("UPDATE k.c SET n = n + 1 WHERE k = ?")
            except (OSError, wire.Closed):
                client = None
                time.sleep(0.01)
                continue
            try:
                client.execute(update, (wire.number(self.acknowledged % 5),))
                self.acknowledged += 1
            except (OSError, wire.Closed, wire.Refused):
                self.unknown += 1
                client = None


def write_large_values(number, stop):
    client = None
    while not stop.is_set():
        try:
            client = client or wire.Client(ADDRESS)
            client.query(f"INSERT INTO k.t (k, v) VALUES ({number}, '{'x' * 60000}')")
        except (OSError, wire.Closed, wire.Refused):
            client = None
            time.sleep(0.01)


@pytest.mark.parametrize("kills", [0, 2])
def test_counters_among_large_writes_with_little_memory(make_node, kills):
    node = make_node(shards=2, memtable_heap_space="1MiB", memtable_offheap_space="1MiB")
    node.start()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        client.query("CREATE TABLE k.c (k int PRIMARY KEY, n counter)")
    stop = threading.Event()
    others = [threading.Thread(target=write_large_values, args=(i, stop), daemon=True) for i in range(3)]
    for thread in others:
        thread.start()
    counting = [Counting(500) for _ in range(6)]
    for _ in range(kills):
        time.sleep(0.5)
        node.kill()
        node.start()
    for thread in counting:
        thread.join()
    stop.set()
    for thread in others:
        thread.join()

    def total():
        with wire.Client(ADDRESS) as client:
            return sum(struct.unpack(">q", n)[0] for n, in client.rows("SELECT n FROM k.c"))

    before = total()
    acknowledged, unknown = (sum(getattr(c, name) for c in counting) for name in ("acknowledged", "unknown"))
    assert acknowledged <= before <= acknowledged + unknown
    assert kills or unknown == 0
    node.nodetool("flush")
    assert total() == before
    node.kill()
    node.start()
    assert total() == before


def test_a_table_takes_little_memory_also_with_sstables_in_three_directories(make_node):
    tables = 300
    node = make_node(shards=2)
    node.config.write_text(node.config.read_text().replace(f"[{node.home}/data]", f"[{node.home}/data1, {node.home}/data2, {node.home}/data3]"))
    node.start()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        before = node.memory_kib()
        for table in range(tables):
            client.query(f"CREATE TABLE k.t{table} (k int PRIMARY KEY, v text)")
        for table in range(tables):
            for k in range(5):
                client.query(f"INSERT INTO k.t{table} (k, v) VALUES ({k}, 'value')")
        node.nodetool("flush", "k")
        assert sum(len(keys(client, f"k.t{table}")) for table in range(tables)) == 5 * tables
        assert (node.memory_kib() - before) / tables < 45
    assert node.stop() == 0


@pytest.fixture
def control_group():
    """A control group of 128 MiB, and one core of the machine's."""
    limits = {"memory/{}/memory.limit_in_bytes": str(128 << 20), "cpu/{}/cpu.cfs_quota_us": "100000",
              "{}/memory.max": str(128 << 20), "{}/cpu.max": "100000 100000"}
    name, made = f"cassandra-like-{os.getpid()}", []
    try:
        for file, limit in limits.items():
            path = pathlib.Path("/sys/fs/cgroup") / file.format(name)
            if not (path.parent.parent / "cgroup.procs").exists():
                continue  # groups of the other version
            try:
                if path.parent not in made:
                    path.parent.mkdir()
                    made.append(path.parent)
                path.write_text(limit)
            except OSError:
                continue  # not allowed
        if not any((group / file).exists() for group in made for file in ("memory.max", "memory.limit_in_bytes")):
            pytest.skip("no control group with a limit of memory can be made here")
        yield made
    finally:
        for group in made:
            group.rmdir()


def test_a_container_of_128_mib_takes_more_than_its_memory(control_group, make_node):
    node = make_node(shards=2)
    enter = "; ".join(f"echo $$ > {group}/cgroup.procs" for group in control_group)
    node.prefix = ["sh", "-c", f'{enter}; exec "$@"', "sh"]
    node.start()
    assert "1 cores and 128.000MiB of memory, the limit of the control group" in (node.home / "output.log").read_text()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        put(client, 0, 20000, size=10000)
        assert keys(client) == set(range(20000))
    node.kill()
    node.start()
    with wire.Client(ADDRESS) as client:
        assert keys(client) == set(range(20000))
    assert node.stop() == 0


# --- disks


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", disk], capture_output=True).returncode != 0:
        pytest.skip("a file system of 16 MB can only be mounted by root")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def fill(disk):
    with open(disk / "ballast", "wb", buffering=0) as ballast:
        try:
            while ballast.write(bytes(4096)):
                pass
        except OSError:
            pass


def test_a_last_flush_that_fails_shows_in_the_exit_code(make_node, small_disk):
    node = make_node(data_file_directories=f"[{small_disk}/data]", disk_failure_policy="ignore")
    node.start()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        put(client, 0, 200, 1000)
    fill(small_disk)
    assert node.stop() == 1
    output = (node.home / "output.log").read_text()
    assert "not all memtables could be flushed: the commit log has what they hold" in output and "No space left on device" in output
    (small_disk / "ballast").unlink()
    node.start()
    with wire.Client(ADDRESS) as client:
        assert keys(client) == set(range(200))
    assert node.stop() == 0


def test_a_full_disk_is_survived_and_flushes_begin_again(make_node, small_disk):
    node = make_node(data_file_directories=f"[{small_disk}/data]", disk_failure_policy="ignore", memtable_heap_space="1MiB",
                     memtable_offheap_space="1MiB")
    node.start()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        put(client, 0, 100, 1000)
        fill(small_disk)
        failed = node.nodetool("flush", "k", check=False)
        assert failed.returncode == 2 and "No space left on device" in failed.stderr
        failed = node.nodetool("snapshot", "-t", "full", "k", check=False)
        assert failed.returncode != 0
        put(client, 100, 200, 1000)
        assert keys(client) == set(range(200))
        (small_disk / "ballast").unlink()
        deadline = time.time() + 15
        while not list((small_disk / "data" / "k").glob("t-*/da-*-TOC.txt")):
            assert time.time() < deadline, "no flush came by itself"
            time.sleep(0.1)
            put(client, 200, 210, 1000)
        assert keys(client) == set(range(210))
    assert node.stop() == 0


@pytest.mark.parametrize("policy, code", [("stop", 1), ("die", 1)])
def test_a_full_disk_ends_the_node_where_the_policy_says_so(make_node, small_disk, policy, code):
    node = make_node(commitlog_directory=f"{small_disk}/commitlog", commit_failure_policy=policy, commitlog_segment_size="1MiB",
                     commitlog_total_space="4MiB", disk_failure_policy=policy)
    node.start()
    acknowledged = 0
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        fill(small_disk)
        with pytest.raises((wire.Refused, wire.Closed, OSError)):
            for acknowledged in range(20000):
                put(client, acknowledged, acknowledged + 1, 1000)
    assert node.process.wait(30) == code
    (small_disk / "ballast").unlink()
    node.start()
    with wire.Client(ADDRESS) as client:
        assert keys(client) >= set(range(acknowledged))
    assert node.stop() == 0


def test_a_table_that_is_dropped_on_a_full_disk_keeps_its_sstables(make_node, small_disk):
    node = make_node(shards=2, data_file_directories=f"[{small_disk}/data]", disk_failure_policy="ignore")
    node.start()
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        put(client, 0, 100)
        node.nodetool("flush", "k")
        put(client, 100, 110)
        sstables = {path.name for path in small_disk.glob("data/k/t-*/da-*-Data.db")}
        assert len(sstables) == 2
        fill(small_disk)
        client.query("DROP TABLE k.t")
    kept = {path.name for path in small_disk.glob("data/k/t-*/**/da-*-Data.db")}
    assert kept >= sstables
    assert "of dropped table k.t" in log_of(node)
    (small_disk / "ballast").unlink()
    assert node.stop() == 0


def test_an_index_whose_build_was_killed_lacks_no_rows(make_node):
    node = make_node(shards=2)
    node.start()
    rows = 3000
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        insert = client.prepare("INSERT INTO k.t (k, v) VALUES (?, ?)")
        for k in range(rows):
            client.execute(insert, (wire.number(k), b"same"))
        node.nodetool("flush")
    for delay in (0, 0.002, 0.01):
        with wire.Client(ADDRESS) as client:
            client.query("DROP INDEX IF EXISTS k.by_v")
            client.send(wire.QUERY, wire.long_string("CREATE INDEX by_v ON k.t (v)") + wire.parameters(4))
            time.sleep(delay)
            node.kill()
        node.start()
        with wire.Client(ADDRESS) as client:
            try:
                assert len(client.rows("SELECT k FROM k.t WHERE v = 'same'")) == rows
            except wire.Refused as error:
                assert "ALLOW FILTERING" in error.message  # it was killed before there was an index
    with wire.Client(ADDRESS) as client:
        client.query("CREATE INDEX IF NOT EXISTS by_v ON k.t (v)")
        assert len(client.rows("SELECT k FROM k.t WHERE v = 'same'")) == rows
    assert node.stop() == 0


def test_files_are_their_owners(make_node):
    node = make_node()
    old = os.umask(0)
    try:
        node.start()
    finally:
        os.umask(old)
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        put(client, 0, 10)
    node.nodetool("flush")
    node.nodetool("snapshot", "-t", "mine", "k")
    log = log_of(node)
    assert ("Running as root: whoever takes over the node has the machine" in log) == (os.geteuid() == 0)
    seen = {False: set(), True: set()}
    for folder in ("data", "commitlog", "logs", "hints", "caches"):
        for path in [node.home / folder, *(node.home / folder).rglob("*")]:
            if path.exists():
                seen[path.is_dir()].add(stat.S_IMODE(path.stat().st_mode))
    assert seen == {False: {0o640}, True: {0o750}}


# --- a second client at the same moment


def test_a_table_changes_under_its_readers_and_writers(make_node):
    node = make_node(shards=2, memtable_heap_space="2MiB", memtable_offheap_space="2MiB")
    node.start()
    stop = threading.Event()
    broken = []
    counter = iter(range(10**9))

    def loop(step):
        with wire.Client(ADDRESS) as client:
            while not stop.is_set():
                try:
                    step(client)
                except wire.Refused as error:
                    if error.code not in (wire.INVALID, 0x2400):
                        broken.append(str(error))
                except (wire.Closed, OSError) as error:
                    return broken.append(repr(error))

    def write(client):
        put(client, next(counter) % 1000, 0)
        k = next(counter) % 1000
        put(client, k, k + 1, 1000)

    def pages(client):
        state = None
        while True:
            _, state = client.page("SELECT * FROM k.t", 20, state)
            if state is None or stop.is_set():
                return

    def drop(client):
        client.query("DROP TABLE IF EXISTS k.t")
        client.query(TABLE.replace("TABLE", "TABLE IF NOT EXISTS"))
        time.sleep(0.3)

    def truncate(client):
        client.query("TRUNCATE k.t")
        time.sleep(0.1)

    def alter(client):
        column = f"extra{next(counter)}"
        client.query(f"ALTER TABLE k.t ADD {column} int")
        client.query(f"ALTER TABLE k.t DROP {column}")
        time.sleep(0.05)

    def maintain(_):
        for words in (("flush", "k"), ("compact", "k"), ("tablestats",)):
            node.nodetool(*words, check=False)

    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
    threads = [threading.Thread(target=loop, args=(step,), daemon=True)
               for step in (write, write, lambda c: c.rows("SELECT * FROM k.t"), pages, drop, truncate, alter, maintain)]
    for thread in threads:
        thread.start()
    time.sleep(8)
    stop.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert broken == [] and node.process.poll() is None
    with wire.Client(ADDRESS) as client:
        put(client, 2000, 2100)
        before = keys(client)
    node.kill()
    node.start()
    with wire.Client(ADDRESS) as client:
        assert keys(client) == before


def test_two_nodes_on_one_directory(make_node):
    first = make_node()
    first.start()
    second = Node("127.0.0.65", settings={"data_file_directories": f"[{first.home}/data]"})
    try:
        message = refusal(second)
        assert f"{first.home}/data" in message and "stop that process, or write another directory" in message
    finally:
        second.destroy()
    assert first.stop() == 0


def test_a_port_that_another_process_has_is_named(make_node):
    for port, key in ((9042, "native_transport_port"), (19042, "native_shard_aware_transport_port"), (7000, "storage_port")):
        with socket.create_server((ADDRESS, port)):
            message = refusal(make_node(shards=2, enable_shard_aware_drivers="true", **{key: port}))
        assert f": {key}: cannot listen on {ADDRESS}:{port}: Address already in use: stop what listens there" in message


# --- the operators' log


def test_changes_of_roles_are_logged_without_passwords(make_node):
    node = make_node(authenticator="PasswordAuthenticator")
    node.start()
    with wire.Client(ADDRESS, user=("cassandra", "cassandra")) as client:
        client.query("CREATE ROLE readers")
        client.query("CREATE ROLE alice WITH PASSWORD = 'secret one' AND LOGIN = true")
        client.query("CREATE ROLE IF NOT EXISTS alice WITH PASSWORD = 'secret two'")
        client.query("ALTER ROLE alice WITH SUPERUSER = true")
        client.query("GRANT readers TO alice")
        client.query("REVOKE readers FROM alice")
        client.query('CREATE ROLE "bob\nERROR [main] a line of his own"')
        client.query("DROP ROLE alice")
    log = log_of(node)
    told = [line.split(" - ", 1)[1].split(": done for cassandra at ")[0] for line in log.splitlines() if ": done for cassandra at" in line]
    assert told == ["CREATE ROLE readers", "CREATE ROLE alice", "ALTER ROLE alice", "GRANT readers to alice", "REVOKE readers from alice",
                    r"CREATE ROLE bob\nERROR [main] a line of his own", "DROP ROLE alice"]
    assert "secret" not in log
    assert node.stop() == 0


def test_replaybatchlog_and_names_that_are_too_long(make_node):
    node = make_node()
    node.start()
    assert node.nodetool("replaybatchlog").stdout == ""
    with wire.Client(ADDRESS) as client:
        client.query(KEYSPACE)
        client.query(TABLE)
        with pytest.raises(wire.Refused, match="Index name must not be more than 254 characters long"):
            client.query(f"CREATE INDEX {'x' * 255} ON k.t (v)")
        client.query(f"CREATE INDEX {'x' * 254} ON k.t (v)")
        put(client, 0, 1)
        assert client.rows("SELECT k FROM k.t WHERE v = 'xxxxxxxxxx'") == [[wire.number(0)]]
        node.nodetool("flush")
    node.restart()
    with wire.Client(ADDRESS) as client:
        assert client.rows("SELECT k FROM k.t WHERE v = 'xxxxxxxxxx'") == [[wire.number(0)]]
