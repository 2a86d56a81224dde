"""Every scenario gives the answers that a real Cassandra 5.0 gave: from memory, after a flush, and after a kill."""
import pytest

import scenario
from node import Node


@pytest.fixture(scope="module")
def node():
    node = Node("127.0.0.41")
    node.start()
    yield node
    node.destroy()


def selects(text):
    """The part of a transcript's statements that change nothing."""
    return [s for s in scenario.statements(text) if s.upper().startswith("SELECT")]


@pytest.mark.parametrize("path", scenario.scenarios(), ids=lambda path: path.stem)
def test_answers_like_cassandra(node, path):
    cluster, session = scenario.connect(node.address)
    try:
        assert scenario.transcript(session, path.read_text()) == scenario.expected(path).read_text()
    finally:
        cluster.shutdown()


def last_answers(address, paths):
    cluster, session = scenario.connect(address)
    try:
        return {p.stem: scenario.transcript(session, ";\n".join(selects(p.read_text())) + ";\n") for p in paths}
    finally:
        cluster.shutdown()


def test_a_flush_and_a_kill_change_no_answer(node):
    before = last_answers(node.address, scenario.scenarios())
    node.nodetool("flush")
    assert last_answers(node.address, scenario.scenarios()) == before
    node.kill()
    node.start()
    assert last_answers(node.address, scenario.scenarios()) == before
