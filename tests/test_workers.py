"""Threads, queues and gates: bounded, closable, and never revived."""

from __future__ import annotations

import subprocess
import sys

import pytest

from assistant.workers import Activity, Closed, Gate, Generation, Inbox, Worker


def test_a_cancelled_generation_is_never_current_again() -> None:
    work = Generation()
    old = work.current
    new = work.advance()
    assert old.cancelled
    assert not new.cancelled
    assert work.advance() is not old
    assert old.cancelled


def test_an_inbox_gives_what_it_holds_and_then_ends() -> None:
    inbox: Inbox[int] = Inbox(3)
    inbox.put(1)
    inbox.put(2)
    inbox.close()
    assert list(inbox) == [1, 2]
    with pytest.raises(Closed):
        inbox.put(3)


def test_a_full_inbox_refuses_an_offer_and_blocks_a_put() -> None:
    inbox: Inbox[int] = Inbox(1)
    assert inbox.offer(1)
    assert not inbox.offer(2)
    with Worker("producer", lambda: inbox.put(2)) as producer:
        assert inbox.get() == 1
        assert inbox.get() == 2
    assert not producer.alive


def test_closing_wakes_a_producer_that_waits_for_room() -> None:
    inbox: Inbox[int] = Inbox(1)
    inbox.put(1)
    with Worker("producer", lambda: inbox.put(2), stop=inbox.close) as producer:
        pass
    assert not producer.alive
    assert isinstance(producer.error, Closed)


def test_a_worker_tells_its_fault() -> None:
    told: list[Exception] = []

    def broken() -> None:
        raise ZeroDivisionError

    with Worker("broken", broken, on_error=told.append):
        pass
    assert [type(error) for error in told] == [ZeroDivisionError]


def test_a_gate_is_open_when_every_close_is_taken_back() -> None:
    gate = Gate()
    inside = gate.enter()
    gate.close()
    gate.close()
    assert inside.cancelled
    gate.open()
    waiting: list[bool] = []
    with Worker("waiting", lambda: waiting.append(gate.enter().cancelled)) as worker:
        assert worker.alive
        gate.open()
    assert waiting == [False]


def test_an_ended_gate_lets_nobody_wait() -> None:
    gate = Gate()
    gate.close()

    def enter() -> None:
        gate.enter()

    with Worker("waiting", enter, stop=gate.end) as worker:
        pass
    assert isinstance(worker.error, Closed)


def test_activity_counts() -> None:
    activity = Activity()
    activity.begin()
    activity.begin()
    activity.end()
    assert activity.busy
    assert not activity.wait_idle(0)
    activity.end()
    assert activity.wait_idle(0)


def test_waiting_for_a_result_raises_what_ended_the_worker() -> None:
    def broken() -> None:
        raise BrokenPipeError

    Worker("whole", lambda: None).start().result()
    with pytest.raises(BrokenPipeError):
        Worker("broken", broken).start().result()


@pytest.mark.parametrize("at_work", [True, False])
def test_a_worker_that_is_still_inside_does_not_hold_up_the_end(at_work: bool) -> None:
    """What runs at the interpreter's end would pull the engines away under it: it is left out."""
    program = (
        "import atexit, time; from assistant.workers import Worker, leave;"
        "atexit.register(print, 'tidied up');"
        f"Worker('deaf', lambda: time.sleep({10 if at_work else 0})).start().join(0.2);"
        "print('last words'); leave(130)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=9, check=False
    )
    assert ended.returncode == 130
    assert ended.stdout.split("\n")[:-1] == ["last words", *([] if at_work else ["tidied up"])]
