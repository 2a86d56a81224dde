"""What the clients of a run know, and what no answer may contradict. Nothing here talks to a node.

A register has one writer, which numbers its writes 1, 2, 3, …; some of them delete the row. Once write n is acknowledged or was
read, every read that begins later shows n or a later one. A counter's additions are acknowledged, unknown (a timeout), or refused;
a read that begins later shows all of the first and none of the last. The rows of a logged batch are all there in the end, or none;
what was acknowledged is there, and what was refused is not.
"""
import threading

REPORT = []  # lines for the end of the run

ACKNOWLEDGED, UNKNOWN, REFUSED = "acknowledged", "unknown", "refused"


def is_deletion(n):
    return n % 6 == 5


class Register:
    def __init__(self, key):
        self.key = key
        self.lock = threading.Lock()
        self.tried = self.floor = 0
        self.refused = set()
        self.last = (0, None, 0)  # the last that was acknowledged: its number, its coordinator, when it was sent
        self.story = []  # of the last writes

    def begin_write(self):
        with self.lock:
            self.tried += 1
            return self.tried

    def end_write(self, n, outcome, coordinator, when):
        with self.lock:
            self.story = self.story[-11:] + [f"{n} {outcome} by {coordinator} at {when:.2f}"]
            if outcome == ACKNOWLEDGED:
                self.floor = max(self.floor, n)
                self.last = (n, coordinator, when)
            elif outcome == REFUSED:
                self.refused.add(n)

    def begin_read(self):
        with self.lock:
            return self.floor

    def shown(self, found, floor, tried):
        """The write that a read shows, None when it may not show it. `found` None: there is no row."""
        if found is not None:
            return found if floor <= found <= tried and not is_deletion(found) and found not in self.refused else None
        if floor == 0:
            return 0
        return next((n for n in range(floor, tried + 1) if is_deletion(n) and n not in self.refused), None)

    def end_read(self, floor, found, coordinator):
        """A complaint, or None."""
        with self.lock:
            n = self.shown(found, floor, self.tried)
            if n is None:
                return (f"register {self.key}: a read by {coordinator} shows {found}, and {floor} to {self.tried} are possible; "
                        f"refused: {sorted(self.refused)[-5:]}; its writes: {'; '.join(self.story)}")
            self.floor = max(self.floor, n)


class Counter:
    def __init__(self, key):
        self.key = key
        self.lock = threading.Lock()
        self.floor = self.acknowledged = self.tried = 0

    def begin_add(self, amount):
        with self.lock:
            self.tried += amount

    def end_add(self, amount, outcome):
        with self.lock:
            if outcome == ACKNOWLEDGED:
                self.acknowledged += amount
                self.floor = max(self.floor, self.acknowledged)
            elif outcome == REFUSED:
                self.tried -= amount

    def begin_read(self):
        with self.lock:
            return self.floor, self.tried

    def end_read(self, token, found, coordinator):
        """A complaint, or None."""
        with self.lock:
            floor, most = token[0], max(token[1], self.tried)  # what was refused since was there for this read
            if not floor <= (found or 0) <= most:
                return f"counter {self.key}: a read by {coordinator} shows {found}, and {floor} to {most} are possible"
            self.floor = max(self.floor, found or 0)


class Batches:
    """By number: the outcome, and whether the coordinator's clock was ahead. Its batch log is replayed when the others' clocks come there."""
    PARTS = 3

    def __init__(self):
        self.lock = threading.Lock()
        self.outcomes = {}

    def end(self, number, outcome, ahead=False):
        with self.lock:
            self.outcomes[number] = (outcome, ahead)

    def complaints(self, rows):
        """`rows`: pairs of a batch and a part that are there."""
        found = {}
        for number, part in rows:
            found.setdefault(number, set()).add(part)
        complaints = [f"batch {number}: its parts {sorted(parts)} are there, and nobody wrote it" for number, parts in found.items() if number not in self.outcomes]
        for number, (outcome, ahead) in sorted(self.outcomes.items()):
            there = len(found.get(number, ()))
            if outcome == ACKNOWLEDGED and there < self.PARTS or outcome == REFUSED and there > 0 or not ahead and 0 < there < self.PARTS:
                complaints.append(f"batch {number}: {outcome}, and {there} of {self.PARTS} parts are there")
        return complaints
