"""The only place that starts threads.

Worker runs one function and is joined on exit, Inbox is a bounded queue that can be closed,
CancelToken makes work old for good (it can never be revived), Generation hands them out.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future as Ticket
from contextlib import suppress
from types import TracebackType
from typing import Generic, NoReturn, TypeVar

T = TypeVar("T")

__all__ = [
    "Activity",
    "CancelToken",
    "Closed",
    "Gate",
    "Generation",
    "Inbox",
    "Lock",
    "Ticket",
    "Worker",
    "after",
    "leave",
]

JOIN_SECONDS = 1.5
"""A worker that has not ended by then is left to die with the process."""


class CancelToken:
    """Once cancelled, always cancelled: a new piece of work gets a new token."""

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def cancel(self) -> None:
        self._event.set()

    def wait(self, seconds: float) -> bool:
        """True as soon as cancelled, False after the time."""
        return self._event.wait(seconds)


class Generation:
    """Hands out the one token that is current; the one before it becomes old."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._token = CancelToken()
        self._number = 0

    @property
    def number(self) -> int:
        return self._number

    @property
    def current(self) -> CancelToken:
        return self._token

    def advance(self) -> CancelToken:
        """Make all earlier work old and return the token for the new."""
        with self._lock:
            self._token.cancel()
            self._token = CancelToken()
            self._number += 1
            return self._token


class Closed(Exception):
    """The inbox takes nothing more, or has nothing more to give."""


class Inbox(Generic[T]):
    """Bounded queue: producers block when it is full, consumers block when it is empty."""

    def __init__(self, size: int = 64) -> None:
        self._items: deque[T] = deque()
        self._size = size
        self._closed = False
        self._changed = threading.Condition()

    def put(self, item: T) -> None:
        """Raises Closed once the inbox is closed, also while waiting for room."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._items) < self._size)
            if self._closed:
                raise Closed
            self._items.append(item)
            self._changed.notify_all()

    def offer(self, item: T) -> bool:
        """Put without waiting; False when full or closed (for real-time callbacks)."""
        with self._changed:
            if self._closed or len(self._items) >= self._size:
                return False
            self._items.append(item)
            self._changed.notify_all()
            return True

    def get(self, timeout: float | None = None) -> T:
        """Raises Closed when closed and empty, TimeoutError after the timeout."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._closed or self._items, timeout):
                raise TimeoutError
            if not self._items:
                raise Closed
            item = self._items.popleft()
            self._changed.notify_all()
            return item

    def __iter__(self) -> Iterator[T]:
        while True:
            try:
                yield self.get()
            except Closed:
                return

    def __len__(self) -> int:
        return len(self._items)

    def close(self) -> None:
        """What is queued can still be taken; then Closed."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def closed(self) -> bool:
        return self._closed


class _WorkerThread(threading.Thread):
    """Told apart from timers and from threads of libraries."""


class Worker:
    """A named thread around one function, joined on exit. A fault goes to `on_error`."""

    def __init__(
        self,
        name: str,
        run: Callable[[], object],
        *,
        on_error: Callable[[Exception], None] | None = None,
        stop: Callable[[], None] | None = None,
    ) -> None:
        self._run = run
        self._on_error = on_error
        self._stop = stop
        self._thread = _WorkerThread(target=self._body, name=name, daemon=True)
        self.error: Exception | None = None

    def _body(self) -> None:
        try:
            self._run()
        except Exception as error:
            self.error = error
            if self._on_error is not None:
                self._on_error(error)

    def start(self) -> Worker:
        self._thread.start()
        return self

    def join(self, seconds: float | None = JOIN_SECONDS) -> bool:
        """True when the worker has ended."""
        if self._thread.is_alive():
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self) -> None:
        """Wait for the end, however long; raises what the worker raised."""
        self.join(None)
        if self.error is not None:
            raise self.error

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def __enter__(self) -> Worker:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._stop is not None:
            self._stop()
        self.join()


class Activity:
    """Counts pieces of work in progress, so that others can wait for quiet."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    def begin(self) -> None:
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    @property
    def busy(self) -> bool:
        return self._count > 0

    def wait_idle(self, seconds: float | None = None) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._count == 0, seconds)


class Lock:
    """A mutual exclusion for values that two threads touch (context manager)."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def after(seconds: float, call: Callable[[], object]) -> Callable[[], None]:
    """Run `call` later unless the returned function is called first."""
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()
    return timer.cancel


def leave(code: int) -> NoReturn:
    """End the process. Tidying up under a worker still inside an engine was seen to crash."""
    if any(isinstance(thread, _WorkerThread) for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # nobody reads it any more
                stream.flush()
        os._exit(code)
    sys.exit(code)


class Gate:
    """Background work passes while nobody keeps it closed; closing makes the work inside old."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._token = CancelToken()
        self._closers = 0
        self._ended = False

    def close(self) -> None:
        """Stop what is inside (between two of its steps) and let nothing in until `open`."""
        with self._changed:
            self._closers += 1
            self._token.cancel()

    def open(self) -> None:
        """Take back one `close`; work passes again when all are taken back."""
        with self._changed:
            self._closers = max(0, self._closers - 1)
            if not self._closers and not self._ended:
                self._token = CancelToken()
                self._changed.notify_all()

    def end(self) -> None:
        """Close for good; whoever waits is woken with Closed."""
        with self._changed:
            self._ended = True
            self._token.cancel()
            self._changed.notify_all()

    def enter(self) -> CancelToken:
        """Wait until open; the token becomes old when the gate closes. Raises Closed at the end."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closers or self._ended)
            if self._ended:
                raise Closed
            return self._token
