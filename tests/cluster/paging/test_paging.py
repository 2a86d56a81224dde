"""A page begun on one server goes on at the other: each page of both, whichever gave the state that it starts from."""
import os

import pytest
from data import KEYSPACE, QUERIES, REFUSED_BY_CASSANDRA, fill
from node import Node, answers
from wire import PROTOCOL_ERROR, Client, Refused

ADDRESS = "127.0.0.57"
PEER = os.environ.get("CASSANDRA_HOST")
PAGE_SIZES = (1, 2, 3, 5, 100)
MOST_PAGES = 500
OF_BOTH = [text for text in QUERIES if text != REFUSED_BY_CASSANDRA]


@pytest.fixture(scope="module")
def node():
    it = Node(ADDRESS)
    it.start()
    try:
        with Client(ADDRESS) as client:
            fill(client)
        yield it
    finally:
        it.destroy()


@pytest.fixture(scope="module")
def peer():
    if not PEER or not answers(PEER, 9042):
        pytest.skip("CASSANDRA_HOST names no Cassandra that answers")
    with Client(PEER, timeout=60) as client:
        fill(client)
    return PEER


def connected(address, version):
    client = Client(address, version)
    client.query(f"USE {KEYSPACE}")
    return client


def pages(client, text, page_size, state=None):
    """All pages from a state on, as (rows, state of the next)."""
    for _ in range(MOST_PAGES):
        rows, state = client.page(text, page_size, state)
        yield rows, state
        if state is None:
            return
    raise AssertionError(f"{text} does not end")


def joined(client, text, page_size, state=None):
    return [row for rows, _ in pages(client, text, page_size, state) for row in rows]


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("text", QUERIES)
def test_the_pages_joined_are_the_result(node, text, version):
    with connected(ADDRESS, version) as client:
        whole = client.rows(text)
        for page_size in PAGE_SIZES:
            assert joined(client, text, page_size) == whole, page_size


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("text", OF_BOTH)
def test_both_give_the_same_pages(node, peer, text, version):
    """Rows and states are the same bytes, so that each state is continued by both."""
    with connected(ADDRESS, version) as ours, connected(peer, version) as theirs:
        assert ours.rows(text) == theirs.rows(text)
        for page_size in PAGE_SIZES:
            assert list(pages(ours, text, page_size)) == list(pages(theirs, text, page_size)), page_size


@pytest.mark.parametrize("versions", [(4, 3), (3, 4), (5, 4), (4, 5)])
@pytest.mark.parametrize("text", OF_BOTH)
def test_a_page_goes_on_at_the_other_server(node, peer, text, versions):
    for first, second in ((ADDRESS, peer), (peer, ADDRESS)):
        with connected(first, versions[0]) as begins, connected(second, versions[1]) as ends:
            whole = begins.rows(text)
            rows, state = begins.page(text, 2)
            while state is not None:
                # Cassandra asserts that a state which it gives on has marks of the connection's version.
                assert rows + joined(ends, text, 2, state) == whole
                more, state = begins.page(text, 2, state)
                rows += more


@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_page_goes_on_after_a_restart_with_other_shards(node, version):
    text = "SELECT * FROM t"
    with connected(ADDRESS, version) as client:
        whole = client.rows(text)
        first, state = client.page(text, 7)
    node.shards = 3 if node.shards == 2 else 2
    node.restart()
    with connected(ADDRESS, version) as client:
        assert first + joined(client, text, 4, state) == whole


GARBLED = (b"", b"\0", b"garbled", b"\xff" * 40, b"\x7f\xff\xff\xff" * 3, b"\0\0\0\0\x80\0\0\0\0\0\0\0")


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("text", ["SELECT * FROM t", "SELECT count(*) FROM t", "INSERT INTO q (k, c) VALUES (1, 1)", "no statement"])
def test_what_is_no_state_is_refused(node, version, text):
    addresses = [ADDRESS] + ([PEER] if PEER else [])
    for address in addresses:
        for state in GARBLED:
            with Client(address, version) as client, pytest.raises(Refused) as refused:
                client.page(text, 3, state)
            assert refused.value.code == PROTOCOL_ERROR
            assert refused.value.args[0].endswith("Invalid value for the paging state"), (address, state)
