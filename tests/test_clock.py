"""Session time: real and delivered by files."""

from __future__ import annotations

from assistant.clock import FrameClock, RealClock
from assistant.testing import wait_for
from assistant.workers import Worker


class Wall:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def test_real_time_stands_until_the_first_sample_and_starts_once() -> None:
    wall = Wall()
    clock = RealClock(wall)
    wall.time += 5
    assert clock.now() == 0.0
    clock.start(ago=0.25)
    wall.time += 1
    clock.start()
    assert clock.now() == 1.25


def test_fast_time_is_exactly_what_was_delivered() -> None:
    wall = Wall()
    clock = FrameClock(realtime=False, monotonic=wall)
    clock.start()
    wall.time += 9
    assert clock.now() == 0.0
    clock.advance(0.5)
    assert clock.now() == 0.5


def test_real_file_time_runs_on_between_frames() -> None:
    wall = Wall()
    clock = FrameClock(realtime=True, monotonic=wall)
    assert clock.now() == 0.0
    clock.start()
    wall.time += 0.02
    assert abs(clock.now() - 0.02) < 1e-9
    clock.advance(0.5)
    assert clock.now() == 0.5


def test_a_sleeper_wakes_when_the_session_is_old_enough() -> None:
    clock = FrameClock(realtime=False)
    woken: list[float] = []

    def sleep() -> None:
        clock.sleep(30.0)
        woken.append(clock.now())

    with Worker("sleeper", sleep):
        wait_for(lambda: bool(clock._sleepers))
        clock.advance(29.0)
        assert not woken
        clock.advance(1.0)
        wait_for(lambda: bool(woken))
    assert woken == [30.0]


def test_sleep_of_no_time_returns() -> None:
    FrameClock(realtime=False).sleep(0.0)
    RealClock().sleep(-1.0)
