"""Clients that misbehave: each gets an error or a closed connection, the node's memory stays bounded, and a client that
behaves does not notice.

Memory is the process's VmRSS. The well-behaved client's 99th percentile is compared with the one of a moment before, and with the
one of a process that sends bytes back: other things run on the machine and delay all three. The best of several windows counts.
"""
import concurrent.futures
import multiprocessing
import os
import random
import resource
import signal
import socket
import struct
import time

import pytest

import wire
from node import Node, closes

ADDRESS = os.environ.get("BAD_INPUT_ADDRESS", "127.0.0.45")
MIB = 1024  # of /proc's KiB
SLACK = 48 * MIB  # what a node may grow that has done nothing wrong
FRAME = 16 << 20  # native_transport_max_frame_size
IN_FLIGHT = 64  # MiB; native_transport_max_request_data_in_flight
WINDOW_SECONDS = 0.4
WINDOWS = 5
MOST_WINDOWS = 25  # so many when all before had met another process


def create_tables(client):
    client.query("CREATE KEYSPACE b WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    client.query("CREATE TABLE b.t (k int PRIMARY KEY, v text)")


@pytest.fixture(scope="module")
def node():
    node = Node(ADDRESS, shards=1, settings={"native_transport_max_request_data_in_flight": f"{IN_FLIGHT}MiB",
                                             "native_transport_max_request_data_in_flight_per_ip": f"{IN_FLIGHT}MiB"})
    node.start()
    with wire.Client(ADDRESS) as client:
        create_tables(client)
        client.query("CREATE TABLE b.wide (k int, c int, v blob, PRIMARY KEY (k, c))")
        insert = client.prepare("INSERT INTO b.wide (k, c, v) VALUES (?, ?, ?)")
        for c in range(256):
            client.execute(insert, (wire.number(1), wire.number(c), os.urandom(4096)))
        # The first large request takes memory once: this is not measured.
        client.query(f"INSERT INTO b.t (k, v) VALUES (0, '{'x' * (4 << 20)}')")
        client.query("TRUNCATE b.t")
    yield node
    assert node.stop() == 0
    node.destroy()


def send_back(peer):
    while received := peer.recv(1):
        peer.send(received)


class Well:
    """A client that writes and reads, one request after the other, and knows how long each took. After each pair of requests it
    sends two bytes to a process that sends them back: that takes long when the machine is busy, whatever the node does."""

    def __init__(self, address, user):
        self.client = wire.Client(address, user=user)
        self.insert = self.client.prepare("INSERT INTO b.t (k, v) VALUES (?, ?)")
        self.select = self.client.prepare("SELECT v FROM b.t WHERE k = ?")
        self.echo, peer = socket.socketpair()
        if os.fork() == 0:
            self.echo.close()
            send_back(peer)
            os._exit(0)
        peer.close()
        self.window()

    def window(self):
        """The 99th percentiles of the requests and of the bytes that come back."""
        times, echoes, end = [], [], time.perf_counter() + WINDOW_SECONDS
        while time.perf_counter() < end:
            began = time.perf_counter()
            self.client.execute(self.insert, (wire.number(1), b"well"))
            self.client.execute(self.select, (wire.number(1),))
            answered = time.perf_counter()
            for _ in range(2):
                self.echo.send(b"?")
                self.echo.recv(1)
            times.append(answered - began)
            echoes.append(time.perf_counter() - answered)
            time.sleep(0.0005)
        return tuple(sorted(one)[len(one) * 99 // 100] for one in (times, echoes))


NOISE = 0.003  # seconds: a busy machine's scheduling makes that of any process


def bound(before, echo):
    return max(2 * before, 2 * echo, NOISE)


def stand_by(address, user, enough, stop, out):
    well = Well(address, user)
    before = min(well.window() for _ in range(WINDOWS))[0]
    out.put(before)
    windows = []
    while not enough.is_set():
        during, echo = well.window()
        windows.append((during / bound(before, echo), during, echo))
        if len(windows) >= WINDOWS and (min(windows)[0] <= 1 or len(windows) >= MOST_WINDOWS):
            enough.set()
    out.put(min(windows)[1:])
    stop.wait()


class Bystander:
    """A well-behaved client in a process of its own. Fails when its p99 within `with` is more than twice the one before, more
    than twice the one of bytes that another process sends back, and more than NOISE. A short attack goes on for as long as the
    client measures: `while beside.is_measuring():`."""

    def __init__(self, address=ADDRESS, user=None):
        context = multiprocessing.get_context("fork")
        self.enough, self.stop, self.out = context.Event(), context.Event(), context.Queue()
        self.process = context.Process(target=stand_by, args=(address, user, self.enough, self.stop, self.out), daemon=True)
        self.process.start()

    def __enter__(self):
        self.before = self.out.get(timeout=60)
        return self

    def is_measuring(self):
        return not self.enough.is_set()

    def __exit__(self, kind, *_):
        self.stop.set()
        during, echo = self.out.get(timeout=60)
        self.process.join()
        if kind is None:
            assert during <= bound(self.before, echo), (f"p99 {during * 1e3:.2f} ms, before {self.before * 1e3:.2f} ms, "
                                                        f"of bytes sent back {echo * 1e3:.2f} ms")


def growth(node, before, bound):
    grown = node.memory_kib() - before
    assert grown <= bound, f"{grown // MIB} MiB more than before, {bound // MIB} are allowed"


def refused(client):
    with pytest.raises(wire.Refused) as caught:
        client.receive()
    return caught.value


# --- the well-behaved client

def test_a_node_that_stalls_is_noticed(node):
    with pytest.raises(AssertionError, match="^p99 "):
        with Bystander() as beside:
            while beside.is_measuring():
                os.kill(node.process.pid, signal.SIGSTOP)
                time.sleep(0.05)
                os.kill(node.process.pid, signal.SIGCONT)
                time.sleep(0.005)


# --- garbage

def test_garbage(node):
    before = node.memory_kib()
    source = random.Random(1)
    with Bystander() as beside:
        while beside.is_measuring():
            for i in range(300):
                with wire.Client(ADDRESS, version=4 + i % 2, start=i % 3 == 0) as client:
                    try:
                        client.send_raw(source.randbytes(source.randrange(1, 20000)))
                        client.socket.shutdown(socket.SHUT_WR)
                        assert closes(client.socket)
                    except (wire.Closed, OSError):
                        pass
    growth(node, before, SLACK)


def test_other_protocols(node):
    hellos = [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", bytes.fromhex("16030100c8010000c40303") + bytes(190),
              b"SSH-2.0-x\r\n", b"\r\n" * 50]
    for hello in hellos:
        with wire.Client(ADDRESS, start=False) as client:
            client.send_raw(hello)
            client.socket.shutdown(socket.SHUT_WR)
            assert closes(client.socket)


def test_a_damaged_segment_closes_the_connection(node):
    with wire.Client(ADDRESS, version=5) as client:
        good = wire.segment(wire.frame(5, wire.OPTIONS, b""))
        client.send_raw(good[:-1] + bytes([good[-1] ^ 1]))
        assert "CRC mismatch" in refused(client).message
        assert closes(client.socket)


# --- sizes that are only announced

def test_an_announced_frame_of_2_gib(node):
    before = node.memory_kib()
    with Bystander() as beside:
        while beside.is_measuring():
            clients = []
            for version in (3, 4):
                for _ in range(50):
                    client = wire.Client(ADDRESS, version=version)
                    client.send_raw(struct.pack(">BBhBi", version, 0, 1, wire.QUERY, 0x7FFFFFFF))
                    client.send_raw(os.urandom(1 << 16))
                    clients.append(client)
            growth(node, before, SLACK)
            for client in clients:
                client.close()
    # v5: a length that no segment has.
    with wire.Client(ADDRESS, version=5) as client:
        client.send_raw(wire.segment(struct.pack(">BBhBi", 5, 0, 1, wire.QUERY, 0x7FFFFFFF) + bytes(100), self_contained=True))
        assert refused(client).code == wire.PROTOCOL_ERROR
        assert closes(client.socket)
    growth(node, before, SLACK)


def test_a_negative_length(node):
    for version in (3, 4, 5):
        with wire.Client(ADDRESS, version=version) as client:
            header = struct.pack(">BBhBi", version, 0, 1, wire.QUERY, -1)
            client.send_raw(header if version < 5 else wire.segment(header))
            client.socket.shutdown(socket.SHUT_WR)
            assert closes(client.socket)


def test_a_frame_above_the_limit_is_refused_and_the_next_is_served(node):
    before = node.memory_kib()
    with wire.Client(ADDRESS, version=4) as client:
        client.send_raw(struct.pack(">BBhBi", 4, 0, 1, wire.QUERY, FRAME + 1))
        for _ in range(16):
            client.send_raw(bytes(1 << 20))
        client.send_raw(bytes(1))
        assert "Request is too big" in refused(client).message
        assert client.rows("SELECT v FROM b.t WHERE k = 12345") == []
    growth(node, before, SLACK)


def test_counts_that_promise_more_than_comes(node):
    with wire.Client(ADDRESS, version=4) as client:
        values = wire.long_string("SELECT v FROM b.t") + struct.pack(">HBH", 1, 1, 0xFFFF)
        batch = struct.pack(">BH", 0, 0xFFFF)
        length = wire.long_string("INSERT INTO b.t (k, v) VALUES (1, ?)") + struct.pack(">HBHi", 1, 1, 1, 0x7FFFFFFF)
        text = struct.pack(">i", 0x7FFFFFFF) + b"SELECT"
        for opcode, body in [(wire.QUERY, values), (13, batch), (wire.QUERY, length), (wire.QUERY, text)]:
            client.send(opcode, body)
            assert refused(client).code == wire.PROTOCOL_ERROR
        # A collection's count, in a value.
        client.query("CREATE TABLE IF NOT EXISTS b.l (k int PRIMARY KEY, l frozen<list<int>>)")
        with pytest.raises(wire.Refused) as caught:
            client.query("INSERT INTO b.l (k, l) VALUES (1, ?)", (struct.pack(">i", 0x7FFFFFFF),))
        assert caught.value.code == wire.INVALID


# --- clients that wait

def test_half_a_frame_and_silence(node):
    """Held open, it costs what was sent; it is closed by native_transport's stall timeout, of a minute (test at the end)."""
    before = node.memory_kib()
    with Bystander() as beside:
        while beside.is_measuring():
            clients = []
            for i in range(200):
                client = wire.Client(ADDRESS, version=4 + i % 2, start=i % 4 != 0)
                half = wire.frame(4, wire.QUERY, bytes(100_000))[:50_000]
                client.send_raw(half if not client.segmented else wire.segment(bytes(100_000))[:50_000])
                clients.append(client)
            time.sleep(1)
            growth(node, before, SLACK + 200 * 128)
            for client in clients:
                client.close()


def test_halves_of_large_frames(node):
    """They count as in flight before they are whole: what does not fit is not read."""
    before = node.memory_kib()
    with Bystander():
        clients = []
        for i in range(40):
            client = wire.Client(ADDRESS, version=4 + i % 2)
            client.socket.settimeout(0.2)
            large = wire.frame(client.version, wire.QUERY, bytes(FRAME - 9))[:-1000]
            if client.segmented:
                large = b"".join(wire.segment(large[at:at + 0x1FFFF], False) for at in range(0, len(large), 0x1FFFF))
            try:
                client.send_raw(large)
            except TimeoutError:
                pass
            clients.append(client)
        growth(node, before, SLACK + 2 * IN_FLIGHT * MIB)  # a buffer doubles as it grows
        for client in clients:
            client.close()
    with wire.Client(ADDRESS) as client:  # there is room again
        client.query(f"INSERT INTO b.t (k, v) VALUES (0, '{'x' * (4 << 20)}')")
        client.query("TRUNCATE b.t")


def test_five_thousand_idle_connections(node):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 6000:
        pytest.skip("this process may not open 5,000 connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    before = node.memory_kib()
    clients = []
    with Bystander():
        try:
            for i in range(5000):
                clients.append(wire.Client(ADDRESS, version=4 + i % 2))
            time.sleep(WINDOW_SECONDS * 3)
            growth(node, before, SLACK + 5000 * 8)  # 8 KiB each
            assert clients[0].rows("SELECT v FROM b.t WHERE k = 12345") == []
            assert clients[-1].rows("SELECT v FROM b.t WHERE k = 12345") == []
        finally:
            for client in clients:
                client.close()


def test_clients_that_never_read_their_answers(node):
    """Each may hold max_unsent_bytes (8 MiB) and one answer more, and all of them what answers may take; further requests are
    not read, or refused. The memory comes back when they are gone."""
    before = node.memory_kib()
    with Bystander():
        clients = []
        for _ in range(20):
            client = wire.Client(ADDRESS, version=4, receive_buffer=4096)
            client.socket.settimeout(1)
            request = wire.frame(4, wire.QUERY, wire.long_string("SELECT * FROM b.wide WHERE k = 1") + wire.parameters(4))
            try:
                for _ in range(3000):  # of a MiB each
                    client.send_raw(request)
            except TimeoutError:
                pass
            clients.append(client)
        time.sleep(1)
        growth(node, before, SLACK + IN_FLIGHT * MIB)
    for client in clients:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    time.sleep(12)  # free memory goes back every ten seconds
    growth(node, before, 8 * MIB)


# --- statements

def test_a_hundred_thousand_prepared_statements(node):
    """The cache has prepared_statements_cache_size; the texts that a restart needs are in a table."""
    before = node.memory_kib()
    with Bystander(), wire.Client(ADDRESS) as client:
        body = "SELECT v FROM b.t WHERE k = %d"
        first = client.prepare(body % 0)
        for begin in range(1, 100_001, 10):
            for i in range(begin, begin + 10):
                client.send(wire.PREPARE, wire.long_string(body % i), stream=i - begin)
            for _ in range(10):
                client.receive()
        with pytest.raises(wire.Refused) as caught:
            client.execute(first)
        assert caught.value.code == wire.UNPREPARED
        again = client.prepare(body % 0)
        assert again == first
        client.execute(again)
    growth(node, before, 256 * MIB)


def test_scans_that_find_nothing(node):
    """A read takes turns with the other work of its shard, however much it has to look at."""
    with wire.Client(ADDRESS) as client:
        client.query("CREATE TABLE b.many (k int, c int, v int, PRIMARY KEY (k, c))")
        insert = client.prepare("INSERT INTO b.many (k, c, v) VALUES (?, ?, 1)")
        for k in range(100):
            for c in range(1000):
                client.execute(insert, (wire.number(k % 10), wire.number(c + 1000 * (k // 10))))
        with Bystander():
            end = time.monotonic() + 2 * WINDOWS * WINDOW_SECONDS
            while time.monotonic() < end:
                for partition in "", "k = 7 AND ":
                    answer = client.query(f"SELECT c FROM b.many WHERE {partition}v = 2 ALLOW FILTERING")
                    assert answer.endswith(bytes(4)), "no rows"
        client.query("DROP TABLE b.many")


@pytest.mark.parametrize("depth", [1000, 100_000])
def test_nested_brackets(node, depth):
    before = node.memory_kib()
    nested = [
        "SELECT v FROM b.t WHERE k = " + "(" * depth + "1" + ")" * depth,
        "INSERT INTO b.t (k, v) VALUES (1, " + "[" * depth + "]" * depth + ")",
        "INSERT INTO b.t (k, v) VALUES (1, " + "{" * depth + "}" * depth + ")",
        "INSERT INTO b.t (k, v) VALUES (1, " + "{1:" * depth + "1" + "}" * depth + ")",
        "INSERT INTO b.t (k, v) VALUES (1, " + "[" * depth,
        "CREATE TABLE b.x (k int PRIMARY KEY, v " + "frozen<list<" * depth + "int" + ">>" * depth + ")",
        "CREATE TABLE b.x (k int PRIMARY KEY, v 'ListType(" + "FrozenType(ListType(" * depth + "Int32Type" + "))" * depth + ")')",
        "SELECT " + "text_as_blob(" * depth + "v" + ")" * depth + " FROM b.t",
        "SELECT " + "CAST(" * depth + "v" + " AS text)" * depth + " FROM b.t",
        "SELECT " + "-" * 1 + "(" * depth + "k" + ")" * depth + " FROM b.t",
        "SELECT v FROM b.t WHERE k = " + "(int)" * depth + "1",
        "SELECT v FROM b.t WHERE k = " + "- " * depth + "1",
        "SELECT v FROM b.t WHERE k = 1" + " + 1" * depth,
        "INSERT INTO b.t JSON '" + "[" * depth + "]" * depth + "'",
        "/*" * depth + "*/ SELECT v FROM b.t",
    ]
    with wire.Client(ADDRESS) as client:
        for text in nested:
            for opcode in (wire.QUERY, wire.PREPARE):
                client.send(opcode, wire.long_string(text) + (wire.parameters(4) if opcode == wire.QUERY else b""))
                try:
                    client.receive()
                except wire.Refused as e:
                    assert e.code in (wire.SYNTAX_ERROR, wire.INVALID, wire.SERVER_ERROR), text[:60]
        assert client.rows("SELECT v FROM b.t WHERE k = 12345") == []
    growth(node, before, SLACK)


def test_values_that_no_index_can_have(node):
    with wire.Client(ADDRESS) as client:
        client.query("CREATE TABLE b.indexed (k int, c blob, v blob, m map<blob, blob>, PRIMARY KEY (k, c))")
        for target in ("c", "v", "entries(m)"):
            client.query(f"CREATE INDEX ON b.indexed ({target})")

        def ask(condition, *values):
            return client.query(f"SELECT * FROM b.indexed WHERE {condition} ALLOW FILTERING", values)

        longest = bytes(65535)
        for condition, values, beyond in (
                ("v = ?", (longest,), (longest + b"x",)),
                ("c = ?", (longest,), (longest + b"x",)),
                ("(c) = (?)", (longest,), (longest + b"x",)),
                ("m[?] = ?", (bytes(30000), bytes(35529)), (bytes(30000), bytes(35530)))):
            ask(condition, *values)
            with pytest.raises(wire.Refused, match="2200 Index expression values may not be larger than 64K"):
                ask(condition, *beyond)
        ask("k = 1 AND c = ?", longest + b"x")  # is not asked of an index
        client.query("DROP TABLE b.indexed")


def test_invalid_utf8(node):
    with wire.Client(ADDRESS) as client:
        for bad in (b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"):
            client.send(wire.QUERY, wire.long_string(b"INSERT INTO b.t (k, v) VALUES (1, '" + bad + b"')") + wire.parameters(4))
            assert refused(client).code in (wire.PROTOCOL_ERROR, wire.SYNTAX_ERROR)
        for bad in (b"\xff", b"\xc3\x28"):  # of values Cassandra takes surrogates and the like
            with pytest.raises(wire.Refused) as caught:
                client.query("INSERT INTO b.t (k, v) VALUES (1, ?)", (bad,))
            assert caught.value.code == wire.INVALID
        assert client.rows("SELECT v FROM b.t WHERE k = 12345") == []


# --- decompression bombs

def lz4_length(n):
    """The half of a token, and the bytes that follow when it is not enough."""
    return (n, b"") if n < 15 else (15, b"\xff" * ((n - 15) // 255) + bytes([(n - 15) % 255]))


def lz4_run(head, repeats, tail):
    """The block of head, its last byte so many times more, and a tail of at least five bytes."""
    (literals, more_literals), (match, more_match), (last, more_last) = map(lz4_length, (len(head), repeats - 4, len(tail)))
    return (bytes([literals << 4 | match]) + more_literals + head + struct.pack("<H", 1) + more_match
            + bytes([last << 4]) + more_last + tail)


def lz4_zeros(size):
    return lz4_run(b"\0", size - 6, bytes(5))


def snappy_zeros(size):
    out, n = b"", size
    while n >= 128:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    out += bytes([n]) + b"\0\0"  # a literal of one byte
    left = size - 1
    return out + b"\xfe\1\0" * (left // 64) + (bytes([(left % 64 - 1) << 2 | 2]) + b"\1\0" if left % 64 else b"")


@pytest.mark.parametrize("name", ["lz4", "snappy"])
@pytest.mark.parametrize("size", [FRAME + 1, 255 << 20, (1 << 31) - 1])
def test_a_decompression_bomb_in_a_frame(node, name, size):
    before = node.memory_kib()
    if name == "lz4":
        body = struct.pack(">I", size) + lz4_zeros(min(size, 255 << 20))
    else:
        body = snappy_zeros(min(size, 255 << 20))
    with Bystander():
        for _ in range(10):
            with wire.Client(ADDRESS, version=4, compression=name) as client:
                client.send_raw(struct.pack(">BBhBi", 4, wire.COMPRESSED, 1, wire.QUERY, len(body)) + body)
                refused(client)  # packed, so that its code is not to be read here
    growth(node, before, SLACK)


def test_a_packed_frame_below_the_limit_is_served(node):
    """The bombs above are refused for their size, not for how they are packed."""
    text, spaces, tail = b"SELECT v FROM b.t WHERE k = 12345", 4 << 20, wire.parameters(4)
    body = struct.pack(">i", len(text) + spaces) + text
    packed = struct.pack(">I", len(body) + spaces + len(tail)) + lz4_run(body + b" ", spaces - 3, b"  " + tail)
    with wire.Client(ADDRESS, version=4, compression="lz4") as client:
        client.send_raw(struct.pack(">BBhBi", 4, wire.COMPRESSED, 1, wire.QUERY, len(packed)) + packed)
        assert client.receive()[0] == wire.RESULT


def test_a_decompression_bomb_in_segments(node):
    """A segment holds at most 128 KiB, packed or not; a message of many is counted as it grows."""
    before = node.memory_kib()
    with Bystander() as beside:
        while beside.is_measuring():
            # More than the block expands to, and less: both are damage.
            for announced in (0x1FFFF, 1000):
                with wire.Client(ADDRESS, version=5, compression="lz4") as client:
                    client.send_raw(wire.lz4_segment(lz4_zeros(60000), announced))
                    assert closes(client.socket)
            # A message that says 2 GiB, in segments of 1:200.
            with wire.Client(ADDRESS, version=5, compression="lz4") as client:
                header = struct.pack(">BBhBi", 5, 0, 1, wire.QUERY, 0x7FFFFFFF)
                try:
                    client.send_raw(wire.lz4_segment(header, 0, self_contained=False))
                    for _ in range(2000):
                        client.send_raw(wire.lz4_segment(lz4_zeros(0x1FFFF), 0x1FFFF, self_contained=False))
                except wire.Closed:
                    pass
                growth(node, before, SLACK)
    growth(node, before, SLACK)


# --- passwords

@pytest.fixture
def guarded():
    node = Node(ADDRESS.rsplit(".", 1)[0] + ".46", shards=1, settings={"authenticator": "PasswordAuthenticator"})
    node.start()
    yield node
    assert node.stop() == 0
    node.destroy()


def attempt(node, name, password):
    """What the node says of it, and after how long."""
    with wire.Client(node.address, start=True) as client:
        began = time.perf_counter()
        with pytest.raises(wire.Refused) as caught:
            client.login(name, password)
        return caught.value, time.perf_counter() - began


def test_a_wrong_password_says_nothing_of_what_was_wrong(guarded):
    with wire.Client(guarded.address, user=("cassandra", "cassandra")) as client:
        client.query("CREATE ROLE nologin WITH password = 'right' AND login = false")
        client.query("CREATE ROLE nohash WITH login = true")
    names = ("cassandra", "nobody", "nologin", "nohash")
    answers, times = {name: set() for name in names}, dict.fromkeys(names, 60.0)
    for tried in range(20):
        for name in names:
            error, seconds = attempt(guarded, name, "wrong")
            answers[name].add((error.code, error.message.replace(name, "NAME")))
            times[name] = min(times[name], seconds)
        if tried >= 4 and max(times.values()) < 1.4 * min(times.values()):
            break  # the machine may be busy for a while
    assert set(map(tuple, answers.values())) == {((wire.BAD_CREDENTIALS, "Provided username NAME and/or password are incorrect"),)}
    assert max(times.values()) < 1.4 * min(times.values()), times  # without hashing it would be less than 0.6
    assert min(times.values()) > 0.2, "wrong passwords are answered late"


def test_a_flood_of_wrong_passwords_does_not_stall_others(guarded):
    right = ("cassandra", "cassandra")
    with wire.Client(guarded.address, user=right) as client:
        create_tables(client)
    began, tried = time.time(), []

    def flood():
        while time.time() < began + 6:
            try:
                attempt(guarded, "cassandra", "wrong")
            except (wire.Closed, OSError):
                pass
            tried.append(1)

    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        with Bystander(guarded.address, right):
            began = time.time()
            floods = [pool.submit(flood) for _ in range(40)]
            for done in floods:
                done.result()
    # A shard checks one at a time, each takes some 60 ms of hashing and more of waiting.
    assert len(tried) < 6 / 0.06 + 2 * 40, f"{len(tried)} passwords in 6 s"
    with wire.Client(guarded.address, user=right) as late:
        assert late.rows("SELECT v FROM b.t WHERE k = 12345") == []


# --- last, since it waits

def test_half_a_frame_is_closed_in_the_end(node):
    clients = []
    for version, start in ((4, True), (5, True), (4, False)):
        client = wire.Client(ADDRESS, version=version, start=start)
        client.send_raw(b"\x04\0" if not start else wire.frame(4, wire.QUERY, bytes(100))[:50] if version == 4 else wire.segment(bytes(100))[:50])
        clients.append(client)
    idle = wire.Client(ADDRESS)
    for client in clients:
        assert closes(client.socket, 90)
    assert idle.rows("SELECT v FROM b.t WHERE k = 12345") == []


# --- the admin port


def admin_answer(node, data, end=False):
    """The status line that a stranger's bytes are answered with; empty: the connection was closed."""
    with socket.create_connection((node.address, 7199), 10) as client:
        client.sendall(data)
        if end:
            client.shutdown(socket.SHUT_WR)
        answer = b""
        while part := client.recv(65536):
            answer += part
            if b"\r\n\r\n" in answer:
                break
    return answer.split(b"\r\n")[0].decode("latin-1")


def page(method, path, **headers):
    lines = [f"{method} {path} HTTP/1.1"] + [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


@pytest.mark.parametrize("headers", [
    # Requests of chromium: a form of another site, a fetch of it, and a page whose name was pointed at this machine.
    {"Host": "{}:7199", "Origin": "http://evil.example", "Content-Type": "text/plain", "Content-Length": "0"},
    {"Host": "{}:7199", "Origin": "null", "Sec_Fetch_Site": "cross-site", "Content-Length": "0"},
    {"Host": "evil.example:7199", "Origin": "http://evil.example:7199", "X_Requested_By": "x", "Content-Length": "0"},
    {"Host": "evil.example:7199", "X_Requested_By": "x", "Content-Length": "0"},
    {"Host": "{}:7199", "Content-Length": "0"},
])
def test_a_web_page_cannot_command_the_node(node, headers):
    headers = {name: value.format(node.address) for name, value in headers.items()}
    for path in ("/v1/stop", "/v1/drain", "/v1/snapshots?tag=x"):
        assert admin_answer(node, page("POST", path, **headers)) == "HTTP/1.1 403 Forbidden"
    assert node.nodetool("statusbinary").stdout == "running\n"


def test_a_page_of_another_name_cannot_read(node):
    assert admin_answer(node, page("GET", "/v1/info", Host="evil.example:7199")) == "HTTP/1.1 403 Forbidden"
    assert admin_answer(node, page("GET", "/metrics", Host="localhost:7199")) == "HTTP/1.1 200 OK"
    assert admin_answer(node, page("GET", "/metrics", Host=f"{node.address}:7199")) == "HTTP/1.1 200 OK"


def test_a_tag_is_no_path(node):
    for tag in ("..%00", "..", "a%2Fb", "%0a", "."):
        request = page("POST", f"/v1/snapshots/?tag={tag}".replace("/?", "?"), Host=node.address, X_Requested_By="x")
        assert admin_answer(node, request) == "HTTP/1.1 400 Bad Request"


def test_half_sent_requests_do_not_lock_nodetool_out(node):
    stuck = [socket.create_connection((node.address, 7199), 10) for _ in range(200)]
    for client in stuck:
        client.sendall(b"POST /v1/flush HTTP/1.1\r\nHost: loc")
    try:
        for _ in range(5):
            assert node.nodetool("statusbinary").stdout == "running\n"
    finally:
        for client in stuck:
            client.close()


def test_strange_bytes_on_the_admin_port(node):
    for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\x04\x00\x00\x00\x05\x00\x00\x00\x00\r\n\r\n",
                 b"GET http://evil/v1/info HTTP/1.1\r\nHost: localhost\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
        assert admin_answer(node, data, end=True) in ("HTTP/1.1 400 Bad Request", "")
    upgrade = page("GET", "/v1/version", Host="localhost", Connection="Upgrade", Upgrade="websocket")
    assert admin_answer(node, upgrade) == "HTTP/1.1 200 OK"
    for _ in range(100):
        admin_answer(node, os.urandom(500), end=True)
    assert node.nodetool("statusbinary").stdout == "running\n"
