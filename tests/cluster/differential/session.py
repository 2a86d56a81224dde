"""One keyspace on both nodes, and the comparison of what the two answer."""
import asyncio
import dataclasses
import re

from protocol import Answer, Connection

MAX_PAGES = 300
REFUSED = re.compile(r"(are|is) not supported yet")
UNORDERED = re.compile(r" \(known type signatures: .*|(?<=can be matched by following signatures: ).*")  # in the order of a Java hash table
INDEX_SECONDS = 20


@dataclasses.dataclass
class Difference:
    statement: object
    what: str
    ours: object
    theirs: object


def compared(answer):
    """All of an answer that has to be the same on both nodes."""
    error = answer.error and (answer.error[0], UNORDERED.sub("", answer.error[1]), answer.error[2])
    return (answer.kind, error, answer.warnings, answer.columns, answer.rows, answer.other, answer.paging_state is not None)


def shown(answer):
    if answer.kind == "error":
        return f"error {answer.error[0]:#06x} {answer.error[1]!r} {answer.error[2].hex()}" + (f" warnings {answer.warnings}" if answer.warnings else "")
    parts = [answer.kind]
    if answer.warnings:
        parts.append(f"warnings {answer.warnings}")
    if answer.columns:
        parts.append("columns " + ", ".join(f"{name} {type}" for name, type in answer.columns))
    if answer.kind == "rows":
        rows = ["(" + ", ".join("null" if v is None else "0x" + v.hex() for v in row) + ")" for row in answer.rows[:20]]
        parts.append(f"{len(answer.rows)} rows " + " ".join(rows) + (" and more pages" if answer.paging_state is not None else ""))
    return " | ".join(parts + ([str(answer.other)] if answer.other is not None and answer.kind != "rows" else []))


def refused(answer):
    """Whether this node says that it has not the feature: no difference, when the statement changes nothing on the other."""
    return answer.kind == "error" and REFUSED.search(answer.error[1]) is not None


class Session:
    """`revive` starts our node again when it has ended."""

    def __init__(self, addresses, keyspace, revive):
        self.addresses, self.keyspace, self.revive = addresses, keyspace, revive
        self.connections = ()

    async def open(self, index):
        return await Connection.open(self.addresses[index])

    async def connect(self):
        self.close()
        self.connections = [await self.open(0), await self.open(1)]
        await self.both(lambda c: c.query(f"USE {self.keyspace}"))

    async def create(self):
        self.close()
        self.connections = [await self.open(0), await self.open(1)]
        await self.both(lambda c: c.query(f"DROP KEYSPACE IF EXISTS {self.keyspace}"))
        await self.both(lambda c: c.query(f"CREATE KEYSPACE {self.keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"))
        await self.both(lambda c: c.query(f"USE {self.keyspace}"))

    async def drop(self):
        await self.both(lambda c: c.query(f"DROP KEYSPACE IF EXISTS {self.keyspace}"))
        self.close()

    def close(self):
        for connection in self.connections:
            connection.close()

    async def both(self, ask):
        """What each of the two answers. A connection that is closed is an answer, too."""
        async def one(index):
            try:
                return await ask(self.connections[index])
            except (ConnectionError, asyncio.TimeoutError) as e:
                self.connections[index].close()
                if index == 0:
                    self.revive()
                self.connections[index] = await self.open(index)
                await self.connections[index].query(f"USE {self.keyspace}")
                return Answer("silence" if isinstance(e, asyncio.TimeoutError) else "closed", other=str(e))
        return await asyncio.gather(one(0), one(1))

    async def run(self, statement):
        """Sends it to both: None, or what is different. Sets `self.answers` to the last answers of the two."""
        if statement.mode == "batch":
            self.answers = await self.both(lambda c: c.batch(*statement.batch, statement.options))
            return self.difference(statement, "answer")
        if statement.mode == "query":
            return await self.pages(statement, statement.options, lambda c, options: c.query(statement.text, options))
        self.answers = prepared = await self.both(lambda c: c.prepare(statement.text))
        found = self.difference(statement, "PREPARE")
        if found or prepared[0].kind != "prepared":
            return found
        by_connection = dict(zip(self.connections, prepared))
        return await self.pages(statement, statement.options, lambda c, options: c.execute(by_connection[c], options))

    async def pages(self, statement, options, ask):
        states = [options.paging_state] * 2
        for page in range(MAX_PAGES):
            index = {connection: i for i, connection in enumerate(self.connections)}
            self.answers = await self.both(lambda c: ask(c, dataclasses.replace(options, paging_state=states[index[c]])))
            found = self.difference(statement, "answer" if page == 0 else f"page {page + 1}")
            states = [answer.paging_state for answer in self.answers]
            if found or states[0] is None:
                break
        if found is None and statement.text.startswith("CREATE INDEX") and self.answers[0].kind == "schema_change":
            await self.wait_for_index(statement.text.split()[2])
        return found

    def difference(self, statement, what):
        ours, theirs = self.answers
        return None if compared(ours) == compared(theirs) else Difference(statement, what, ours, theirs)

    async def wait_for_index(self, name):
        """Until both have built it."""
        text = f"SELECT * FROM system.\"IndexInfo\" WHERE table_name = '{self.keyspace}' AND index_name = '{name}'"
        for connection in self.connections:
            for _ in range(INDEX_SECONDS * 20):
                if (await connection.query(text)).rows:
                    break
                await asyncio.sleep(0.05)
