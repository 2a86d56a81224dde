"""Peers that misbehave: a stranger that opens connections to a node in whatever name, and a forged node that is connected to."""
import socket
import struct
import threading
import time

from frames import MAX_PAYLOAD
from internode import (CRC, ECHO_REQ, ECHO_RSP, LARGE, LZ4, MESSAGE_SPLIT, PORT, SMALL, accept, frames, initiate, message, parse_message, stored)
from node import closes

OUTSIDE = "127.0.0.99"  # where strangers' sockets come from
ACCEPT_SIZE = 12


class Stranger:
    """A connection to a node's storage port, from `source`, in the name of `claims`."""

    def __init__(self, node, claims=OUTSIDE, kind=SMALL, framing=CRC, hello=None, receive_buffer=None, source=OUTSIDE):
        self.framing = framing
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.bind((source, 0))
        self.socket.connect((node, PORT))
        if hello is None:
            self.socket.sendall(initiate(claims, kind, framing))
            self.version = struct.unpack(">I", self.read(ACCEPT_SIZE)[4:8])[0]
        elif hello:
            self.socket.sendall(hello)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def name(self):
        """As a log names it: /address:port, of the socket."""
        return "%s:%d" % self.socket.getsockname()

    def read(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionResetError("closed by the node")
            data += part
        return data

    def send_raw(self, data):
        """False: the node has closed the connection."""
        try:
            self.socket.sendall(data)
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False

    def send(self, *messages):
        return self.send_raw(frames(messages, stored) if self.framing == LZ4 else frames(messages))

    def send_while(self, data, seconds, enough=None):
        """The same bytes again and again, as fast as the node takes them; how many bytes that were."""
        sent, end = 0, time.monotonic() + seconds
        view = memoryview(data)
        self.socket.settimeout(0.2)
        at = 0
        while time.monotonic() < end and not (enough is not None and sent >= enough):
            try:
                written = self.socket.send(view[at:])
            except TimeoutError:
                continue
            except OSError:
                break
            sent += written
            at = (at + written) % len(data)
        self.socket.settimeout(20)
        return sent

    def is_open(self):
        """Drops what the node has said so far. False: it has closed the connection."""
        try:
            while self.socket.recv(1 << 20, socket.MSG_DONTWAIT):
                pass
            return False
        except BlockingIOError:
            return True

    def closed(self, seconds=20):
        """Whether the node closes the connection in time, whatever it says before."""
        return closes(self.socket, seconds)


class ForgedNode:
    """Listens at an address as a node does, accepts what nodes connect with, and answers by handlers: verb to a function of (peer,
    number, payload) that returns the messages to send back. Answers ECHO_REQ unless it is told otherwise."""

    def __init__(self, address, version=12):
        self.address, self.version = address, version
        self.handlers = {ECHO_REQ: lambda peer, number, payload: [message(ECHO_RSP, number=number)]}
        self.received = []  # (peer, verb, number, flags, params, payload)
        self.links = {}
        self.lock = threading.Lock()
        self.reads = threading.Event()  # cleared: what comes stays unread
        self.reads.set()
        self.is_closed = False
        self.accepted = []
        self.listener = socket.create_server((address, PORT), backlog=512, reuse_port=False)
        threading.Thread(target=self.listen, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.is_closed = True
        self.reads.set()
        self.listener.shutdown(socket.SHUT_RDWR)  # ends accept(), which close() does not
        self.listener.close()
        with self.lock:
            links, self.links = list(self.links.values()), {}
        for link in links:
            link.close()
        for connection in self.accepted:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()

    def listen(self):
        while not self.is_closed:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.accepted.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            self.take_messages(connection)
        except OSError:
            pass

    def take_messages(self, connection):
        data = self.more(connection)
        while len(data) < 19:
            data += self.more(connection)
        peer = socket.inet_ntoa(data[9:13])
        framing = data[7] >> 2 & 1 | data[7] >> 3 & 2
        connection.sendall(accept(self.version))
        data = data[19:]
        head, large = (3 if framing == CRC else 5), b""
        while True:
            while len(data) < head:
                data += self.more(connection)
            bits = int.from_bytes(data[:head], "little")
            size = bits & MAX_PAYLOAD
            whole = bits >> (17 if framing == CRC else 34) & 1
            while len(data) < head + 3 + size + 4:
                data += self.more(connection)
            payload, data = data[head + 3:head + 3 + size], data[head + 3 + size + 4:]
            if not whole:
                large += payload
                if parse_message(large) is None:
                    continue
                payload, large = large, b""
            at = 0
            while at < len(payload):
                number, verb, flags, params, body, at = parse_message(payload, at)
                self.received.append((peer, verb, number, flags, params, body))
                handler = self.handlers.get(verb)
                answers = handler(peer, number, body) if handler else None
                if answers:
                    self.send(peer, *answers)

    def more(self, connection):
        self.reads.wait()
        data = connection.recv(1 << 18)
        if not data:
            raise ConnectionResetError("closed by the node")
        return data

    def send(self, peer, *messages):
        """To a node, in this one's own name."""
        large = any(len(each) > MESSAGE_SPLIT for each in messages)
        with self.lock:
            kind = LARGE if large else SMALL
            link = self.links.get((peer, kind))
            if link is None:
                link = self.links[peer, kind] = Stranger(peer, claims=self.address, kind=kind)
            if not link.send(*messages):
                self.links.pop((peer, kind)).close()

    def count(self, verb):
        return sum(1 for each in list(self.received) if each[1] == verb)
