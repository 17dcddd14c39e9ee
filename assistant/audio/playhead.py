"""The queue of a sound device: what is heard next, and when each sample is heard."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from assistant.events import Audio, Samples
from assistant.workers import Lock

FADE_SECONDS = 0.005
"""of a sound that is stopped, so that it does not click"""
_SLIP_SECONDS = 0.03
"""A block that far from where counting puts it means the device paused."""

Played = Callable[[Audio, float], None]
Cut = Callable[[float], None]


class Playhead:
    """The queue of a sound device: fills its blocks and knows the time of every sample.

    Times are seconds on the session clock. `on_begin` and `on_cut` are called while a block is
    being filled or playback stopped, with what was heard and when; they must not wait.
    """

    def __init__(self, rate: int, on_begin: Played, on_cut: Cut) -> None:
        self._rate = rate
        self._on_begin = on_begin
        self._on_cut = on_cut
        self._queue: deque[Samples] = deque()
        self._offset = 0
        self._waiting = 0
        self._running = False
        self._next = 0.0
        self._last = 0.0
        self._lock = Lock()

    def push(self, samples: Samples, earliest: float) -> float:
        """Queue samples (at the device's rate); returns when they begin, not before `earliest`."""
        with self._lock:
            begin = self.end if self._waiting else max(self._next, earliest)
            if len(samples):
                self._queue.append(samples)
                self._waiting += len(samples)
            return begin

    @property
    def rate(self) -> int:
        """Hertz"""
        return self._rate

    @property
    def waiting(self) -> float:
        """seconds of sound not yet handed to the device"""
        return self._waiting / self._rate

    @property
    def end(self) -> float:
        """when the last queued sample will have been heard"""
        with self._lock:
            return self._next + self._waiting / self._rate if self._waiting else self._last

    def fill(self, out: Samples, heard_at: float) -> None:
        """Write the next block, shape (n,), whose first sample is heard at `heard_at`."""
        with self._lock:
            if not self._running or abs(heard_at - self._next) > _SLIP_SECONDS:
                self._next = heard_at
            done = 0
            while done < len(out) and self._queue:
                sound = self._queue[0]
                if self._offset == 0:
                    self._on_begin(Audio(sound, self._rate), self._next + done / self._rate)
                part = sound[self._offset : self._offset + len(out) - done]
                out[done : done + len(part)] = part
                done += len(part)
                self._offset += len(part)
                if self._offset == len(sound):
                    self._queue.popleft()
                    self._offset = 0
            out[done:] = 0
            self._running = done == len(out)
            self._waiting -= done
            if done:
                self._last = self._next + done / self._rate
            self._next += len(out) / self._rate

    def stop(self) -> float:
        """Drop everything but a short fade; returns when the last sample is heard."""
        with self._lock:
            tail = self._queue[0][self._offset :] if self._offset else np.zeros(0, np.float32)
            tail = tail[: int(FADE_SECONDS * self._rate)]
            was_playing = bool(self._queue)
            self._queue.clear()
            self._waiting = len(tail)
            if len(tail):
                fade = np.linspace(1, 0, len(tail), dtype=np.float32)
                # one sample in front keeps _offset above 0: the tail is no new sound
                self._queue.append(np.concatenate([tail[:1], tail * fade]))
                self._offset = 1
                self._last = self._next + len(tail) / self._rate
            if was_playing:
                self._on_cut(self._last)
            return self._last
