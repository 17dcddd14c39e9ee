"""The queue of a sound device: what is heard next, and when each sample is heard."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from assistant.events import Audio, Samples
from assistant.workers import Lock

FADE_SECONDS = 0.005
"""of a sound that is stopped, so that it does not click"""
_SLIP_SECONDS = 0.03
"""A block that far from where counting puts it means the device paused."""

REWIND_SECONDS = 0.3
"""said again when a held sound goes on, so that a word that was cut is whole"""

Played = Callable[[Audio, float], None]
Cut = Callable[[float], None]


class Sink(Protocol):
    """Learns what is really heard: a recording, the reference of an echo canceller."""

    def played(self, audio: Audio, at: float) -> None:
        """A sound that is heard from session time `at` on; it may lie in the future."""

    def cut(self, at: float) -> None:
        """Playback ended at `at`: what was announced beyond it was never heard."""


@dataclass(slots=True)
class Held:
    """What waits while playback is held. For it the time stands still since the cut."""

    frozen: float
    """when the first sample after the cut was to be heard"""
    sounds: list[Audio] = field(default_factory=list)
    repeated: float = 0.0
    """seconds before the cut with which it goes on"""

    @property
    def seconds(self) -> float:
        """that it will take"""
        return sum(sound.seconds for sound in self.sounds)

    def keep_rest(self, sound: Audio, cut: int) -> None:
        """A sound was cut at a sample: it goes on a little before, but not in front of itself."""
        begin = max(0, cut - round(REWIND_SECONDS * sound.rate))
        rest = sound.samples[begin:].copy()
        if begin:
            ramp = min(len(rest), int(FADE_SECONDS * sound.rate))
            rest[:ramp] *= np.linspace(0, 1, ramp, dtype=np.float32)
        self.repeated = (cut - begin) / sound.rate
        self.sounds.append(Audio(rest, sound.rate))

    def push(self, sound: Audio, now: float) -> float:
        """Another sound comes; returns when it is to be heard, the time standing still."""
        if not self.sounds:
            self.frozen = now
        begin = self.frozen - self.repeated + self.seconds
        if len(sound.samples):
            self.sounds.append(sound)
        return begin

    def later(self, now: float) -> float:
        """Seconds by which everything is later than told when it goes on now."""
        return max(0.0, now + self.repeated - self.frozen)


class Playhead:
    """The queue of a sound device: fills its blocks and knows the time of every sample.

    Times are seconds on the session clock. `on_begin` and `on_cut` are called while a block is
    being filled or playback stopped, with what was heard and when; they must not wait.

    For what is queued the time stands still while it is held: `push` goes on to tell places behind
    the announced ones, and `resume` tells by how much all of them, old and new, are later.
    """

    def __init__(self, rate: int, on_begin: Played, on_cut: Cut) -> None:
        self._rate = rate
        self._on_begin = on_begin
        self._on_cut = on_cut
        self._fade: Samples = np.zeros(0, np.float32)
        self._queue: deque[Samples] = deque()
        self._offset = 0
        self._waiting = 0
        self._held: Held | None = None
        self._running = False
        self._next = 0.0
        self._last = 0.0
        self._lock = Lock()

    def push(self, samples: Samples, earliest: float) -> float:
        """Queue samples (at the device's rate); returns when they begin, not before `earliest`."""
        with self._lock:
            if self._held is not None:
                sound = Audio(samples, self._rate)
                return self._held.push(sound, max(self._next, earliest))
            if not self._waiting and earliest > self._next:
                self._next, self._running = earliest, False
            begin = self._end()
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
        """seconds of sound not yet handed to the device, held or not"""
        held = self._held
        return self._waiting / self._rate + (held.seconds if held is not None else 0.0)

    @property
    def end(self) -> float:
        """When the last queued sample will have been heard; if it is held, as if it went on now."""
        with self._lock:
            waiting = self.waiting
            return self._next + waiting if waiting else self._last

    def fill(self, out: Samples, heard_at: float) -> None:
        """Write the next block, shape (n,), whose first sample is heard at `heard_at`."""
        with self._lock:
            if not self._running or abs(heard_at - self._next) > _SLIP_SECONDS:
                self._next = heard_at
            done = min(len(out), len(self._fade))
            out[:done], self._fade = self._fade[:done], self._fade[done:]
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

    def hold(self) -> float:
        """Fade out and keep what is queued; returns when the last sample is heard."""
        with self._lock:
            if self._held is None:
                self._held = self._silence()
            return self._last

    def resume(self) -> float:
        """Go on; returns how many seconds later than announced everything queued is heard."""
        with self._lock:
            held, self._held = self._held, None
            if held is None or not held.sounds:
                return 0.0
            later = held.later(self._end())
            for sound in held.sounds:
                self._queue.append(sound.samples)
                self._waiting += len(sound.samples)
            return later

    def stop(self) -> float:
        """Drop everything but a short fade; returns when the last sample is heard."""
        with self._lock:
            self.hold()
            self._held = None
            return self._last

    def _end(self) -> float:
        """When a sound that is queued now begins."""
        return self._next + self._waiting / self._rate

    def _silence(self) -> Held:
        """Take everything out of the queue but a short fade."""
        held = Held(self._next)
        if self._offset:
            sound = self._queue.popleft()
            held.keep_rest(Audio(sound, self._rate), self._offset)
            tail = sound[self._offset :][: int(FADE_SECONDS * self._rate)]
            self._fade = tail * np.linspace(1, 0, len(tail), dtype=np.float32)
            self._last = self._next + len(tail) / self._rate
        held.sounds += [Audio(sound, self._rate) for sound in self._queue]
        self._queue.clear()
        self._offset, self._waiting = 0, len(self._fade)
        if held.sounds:
            self._on_cut(self._last)
        return held
