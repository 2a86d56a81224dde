"""The same statements in a ring: once through our node, which has no tokens, and once through a Cassandra that is a replica.

Each side has a keyspace of its own, whose names have the same length: what our node is sent is translated, and its answers are
translated back. The replicas are Cassandra's for both. A read through our node is asked once more through theirs.
"""
import asyncio
import dataclasses
import re

from frames import ALL, QUORUM
from protocol import Answer, Connection, Options
from session import Difference, Session, compared

THEIRS, OURS = "differential", "differentiam"
AGREEMENT_SECONDS = 30


def translated(value, old, new):
    """Names in texts, bytes, and whatever holds them."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, bytes):
        return value.replace(old.encode(), new.encode())
    if isinstance(value, (tuple, list)):
        return type(value)(translated(one, old, new) for one in value)
    if dataclasses.is_dataclass(value):
        return dataclasses.replace(value, **{f.name: translated(getattr(value, f.name), old, new) for f in dataclasses.fields(value)})
    return value


class Translated:
    """A connection that uses our keyspace wherever the other one is named."""

    def __init__(self, connection):
        self.connection = connection

    def close(self):
        self.connection.close()

    async def ask(self, what, *arguments):
        answer = await getattr(self.connection, what)(*translated(arguments, THEIRS, OURS))
        ids = answer.prepared_id, answer.result_id, answer.paging_state
        answer = translated(answer, OURS, THEIRS)
        answer.prepared_id, answer.result_id, answer.paging_state = ids
        return answer

    async def query(self, text, options=Options()):
        return await self.ask("query", text, options)

    async def prepare(self, text):
        return await self.ask("prepare", text)

    async def execute(self, prepared, options):
        ids = prepared.prepared_id, prepared.result_id
        return await self.ask("execute", Answer("prepared", prepared_id=ids[0], result_id=ids[1]), options)

    async def batch(self, kind, statements, options):
        return await self.ask("batch", kind, statements, options)


def without_id(answer):
    """The id of a prepared statement is a digest of the text and the keyspace; a warning names it."""
    if answer.kind != "prepared":
        return answer
    warnings = tuple(re.sub("statement id: [0-9a-f]+", "statement id", text) for text in answer.warnings)
    return dataclasses.replace(answer, warnings=warnings, other=answer.other[1:])


class RingSession(Session):
    schema_changes = asyncio.Lock()  # one at a time: between them all nodes agree
    replicas = ()

    async def open(self, index):
        connection = await super().open(index)
        return Translated(connection) if index == 0 else connection

    async def connect(self):
        await super().connect()
        await self.open_again()

    async def open_again(self):
        """Our keyspace, seen through theirs."""
        self.again = Translated(await super().open(1))
        await self.again.query(f"USE {self.keyspace}")

    async def create(self):
        self.close()
        self.connections = [await self.open(0), await self.open(1)]
        async with self.schema_changes:
            await self.both(lambda c: c.query(f"DROP KEYSPACE IF EXISTS {self.keyspace}"))
            await self.agreement()
            await self.both(lambda c: c.query(f"CREATE KEYSPACE {self.keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {len(self.replicas)}}}"))
            await self.agreement()
        await self.both(lambda c: c.query(f"USE {self.keyspace}"))
        await self.open_again()

    async def drop(self):
        async with self.schema_changes:
            await super().drop()
            await self.agreement()

    async def agreement(self, after="the keyspace was made or dropped"):
        """Waits until all nodes have one schema version, as drivers do."""
        text, versions = "SELECT schema_version FROM system.local", set()
        watchers = [await Connection.open(address) for address in (self.addresses[0], *self.replicas)]
        for _ in range(AGREEMENT_SECONDS * 20):
            versions = {(await watcher.query(text)).rows[0][0] for watcher in watchers}
            if len(versions) == 1:
                return [watcher.close() for watcher in watchers]
            await asyncio.sleep(0.05)
        raise RuntimeError(f"the nodes do not agree on the schema after {after}: {[v.hex() for v in versions]}")

    async def both(self, ask):
        answers = await super().both(ask)
        return [without_id(answer) for answer in answers]

    async def run(self, statement):
        statement.options = dataclasses.replace(statement.options, consistency=(QUORUM, ALL)[len(statement.text) % 2])
        if statement.kind == "schema":
            async with self.schema_changes:
                found = await super().run(statement)
                await self.agreement(statement.text)
                return found
        found = await super().run(statement)
        if found is None and statement.kind == "read" and statement.mode == "query" and self.answers[0].kind == "rows":
            return await self.read_back(statement)
        return found

    async def read_back(self, statement):
        """What our node has written, read through theirs. A paged read shows its first page."""
        ours, theirs = self.connections[0], self.again
        self.answers = [await ours.query(statement.text, statement.options), await theirs.query(statement.text, statement.options)]
        return None if compared(self.answers[0]) == compared(self.answers[1]) else Difference(statement, "read back", *self.answers)

    async def wait_for_index(self, name):
        """Until both are built on each replica, which knows of its own only."""
        for address in self.replicas:
            watcher = await Connection.open(address)
            for names in (THEIRS, OURS):
                keyspace = self.keyspace.replace(THEIRS, names)
                text = f"SELECT * FROM system.\"IndexInfo\" WHERE table_name = '{keyspace}' AND index_name = '{name}'"
                for _ in range(AGREEMENT_SECONDS * 20):
                    if (await watcher.query(text)).rows:
                        break
                    await asyncio.sleep(0.05)
            watcher.close()
