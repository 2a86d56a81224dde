import pytest

from bad_node import ADDRESS
from node import Node


@pytest.fixture
def make_node():
    made = []

    def make(shards=1, **settings):
        made.append(Node(ADDRESS, shards=shards, settings=settings))
        return made[-1]

    yield make
    for node in made:
        node.destroy()
