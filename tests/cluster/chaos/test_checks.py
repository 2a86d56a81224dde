"""The checks themselves: what they accept and what they find."""
from checks import ACKNOWLEDGED, REFUSED, UNKNOWN, Batches, Counter, Register


def register(*outcomes):
    register = Register(7)
    for outcome in outcomes:
        register.end_write(register.begin_write(), outcome, 1, 0.0)
    return register


def read(thing, found):
    return thing.end_read(thing.begin_read(), found, 1)


def test_a_register_shows_what_was_acknowledged_or_something_later():
    assert read(register(ACKNOWLEDGED, UNKNOWN), 1) is None
    assert read(register(ACKNOWLEDGED, UNKNOWN), 2) is None
    assert "shows 1, and 2 to 2 are possible" in read(register(ACKNOWLEDGED, ACKNOWLEDGED), 1)
    assert "shows None" in read(register(ACKNOWLEDGED), None)
    assert "shows 3" in read(register(ACKNOWLEDGED), 3)
    assert "shows 2" in read(register(ACKNOWLEDGED, REFUSED), 2)


def test_a_register_does_not_go_back():
    seen = register(ACKNOWLEDGED, UNKNOWN)
    early = seen.begin_read()
    assert read(seen, 2) is None
    assert seen.end_read(early, 1, 1) is None  # it began before
    assert "shows 1" in read(seen, 1)


def test_a_deleted_row_stays_away():
    deleted = register(ACKNOWLEDGED, ACKNOWLEDGED, ACKNOWLEDGED, ACKNOWLEDGED, UNKNOWN)
    assert read(deleted, None) is None
    assert "shows 4" in read(deleted, 4)
    assert read(register(), None) is None


def test_a_counter_is_exact():
    counter = Counter(1)
    for amount, outcome in ((1, ACKNOWLEDGED), (10, UNKNOWN), (100, REFUSED)):
        counter.begin_add(amount)
        counter.end_add(amount, outcome)
    assert "shows None, and 1 to 11" in read(counter, None)
    assert read(counter, 1) is None
    assert read(counter, 11) is None
    assert "shows 1, and 11 to 11" in read(counter, 1)
    assert "shows 12" in read(counter, 12)
    assert "shows 111" in read(counter, 111)


def test_a_batch_is_whole_in_the_end():
    batches = Batches()
    for number, outcome, ahead in ((1, ACKNOWLEDGED, False), (2, UNKNOWN, False), (3, REFUSED, False), (4, UNKNOWN, True)):
        batches.end(number, outcome, ahead)
    whole = [(1, 0), (1, 1), (1, 2)]
    assert batches.complaints(whole) == []
    assert batches.complaints(whole + [(2, 0), (2, 1), (2, 2), (4, 0)]) == []
    assert batches.complaints(whole[:2]) == ["batch 1: acknowledged, and 2 of 3 parts are there"]
    assert batches.complaints(whole + [(2, 1)]) == ["batch 2: unknown, and 1 of 3 parts are there"]
    assert batches.complaints(whole + [(3, 1), (9, 0)]) == ["batch 9: its parts [0] are there, and nobody wrote it", "batch 3: refused, and 1 of 3 parts are there"]
