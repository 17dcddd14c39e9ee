"""Time on one session clock: 0 is the microphone's first sample."""

from __future__ import annotations

import time
from collections.abc import Callable

from assistant.workers import CancelToken, Lock


class RealClock:
    """Session time for devices: the wall's seconds since the microphone's first sample.

    It stands at 0 until `start()`, so start it yourself where no microphone will.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._origin: float | None = None

    def start(self, ago: float = 0.0) -> None:
        """Time 0 was `ago` seconds before this call; only the first call counts."""
        if self._origin is None:
            self._origin = self._monotonic() - ago

    def now(self) -> float:
        return 0.0 if self._origin is None else self._monotonic() - self._origin

    def wall(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))


class FrameClock:
    """Session time for a microphone that is a file: what it has delivered.

    In real time `now()` runs on between two frames; otherwise it is exactly what was delivered,
    so that waiting can be skipped without changing any result.
    """

    def __init__(self, *, realtime: bool, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._realtime = realtime
        self._monotonic = monotonic
        self._origin: float | None = None
        self._delivered = 0.0
        self._sleepers: list[tuple[float, CancelToken]] = []
        self._lock = Lock()

    def start(self) -> None:
        """The first frame begins now; only the first call counts."""
        if self._origin is None:
            self._origin = self._monotonic()

    def advance(self, seconds: float) -> None:
        """The microphone has delivered so much more."""
        self.start()
        with self._lock:
            self._delivered += seconds
            due = [token for until, token in self._sleepers if until <= self._delivered]
            self._sleepers = [item for item in self._sleepers if item[0] > self._delivered]
        for token in due:
            token.cancel()

    def now(self) -> float:
        if not self._realtime or self._origin is None:
            return self._delivered
        return max(self._delivered, self._monotonic() - self._origin)

    def wall(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Until the session is so much older; never longer than that in real seconds."""
        if seconds <= 0:
            return
        token = CancelToken()
        entry = (self.now() + seconds, token)
        with self._lock:
            self._sleepers.append(entry)
        token.wait(seconds)
        with self._lock:
            self._sleepers = [item for item in self._sleepers if item is not entry]
