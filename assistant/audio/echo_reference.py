"""What the speaker really played, on the session clock: the reference of the echo canceller.

Takes what a Recording takes (`played`, `cut`) and gives it back at 16 kHz, also between samples.
Knows nothing of the microphone.
"""

from __future__ import annotations

from collections import deque
from functools import cache

import numpy as np

from assistant.events import Audio, Samples
from assistant.workers import Lock

RATE = 16000
"""Hertz"""
BEHIND = 2 * RATE
"""Samples kept behind the place that was read last: the longest look back for a delay."""
AHEAD = 120 * RATE
"""Samples a sound may lie ahead of that place; what is announced beyond it is not kept."""
FADE = RATE // 200
"""Samples of the fade-out where a sound is cut: 5 ms, as the speaker does."""
SEAM = 8
"""Samples between two sounds that are one stretch for the speaker: the rest is rounding."""
TAPS, PHASES = 16, 256
"""Windowed-sinc interpolation: taps of the kernel, steps between two samples."""


class Reference:
    """Sound that was or will be heard, by its place on the session clock. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._samples: Samples = np.zeros(BEHIND, np.float32)
        self._start = 0
        self._end = 0
        self._read = 0
        self._begins: deque[int] = deque()

    def played(self, audio: Audio, at: float) -> None:
        """A sound heard from session time `at` on, at any rate; it may lie in the future."""
        import soxr

        samples = audio.samples
        if audio.rate != RATE:
            samples = soxr.resample(samples, audio.rate, RATE).astype(np.float32, copy=False)
        begin = round(at * RATE)
        with self._lock:
            if abs(begin - self._end) > SEAM:
                self._begins.append(begin)
            self._put(samples, begin)

    def cut(self, at: float) -> None:
        """Playback ended at `at`: what was announced beyond it was never heard."""
        with self._lock:
            keep = max(self._start, round(at * RATE))
            if keep >= self._end:
                return
            begin, stop = keep - self._start, self._end - self._start
            fade = min(FADE, begin)
            self._samples[begin - fade : begin] *= np.linspace(1, 0, fade, dtype=np.float32)
            self._samples[begin:stop] = 0
            self._end = keep
            while self._begins and self._begins[-1] >= keep:
                self._begins.pop()

    @property
    def end(self) -> int:
        """place of the last sample that is known, in samples"""
        return self._end

    def begun(self, place: int) -> bool:
        """A stretch of sound has begun before a place, since that was last asked."""
        with self._lock:
            begun = False
            while self._begins and self._begins[0] < place:
                self._begins.popleft()
                begun = True
            return begun

    def read(self, begin: int, count: int) -> Samples:
        """Samples from a place on, shape (count,); silence where nothing was played."""
        with self._lock:
            self._forget(begin + count - BEHIND)
            out = np.zeros(count, np.float32)
            low, high = max(begin, self._start), min(begin + count, self._end)
            if low < high:
                out[low - begin : high - begin] = self._samples[
                    low - self._start : high - self._start
                ]
            return out

    def between(self, begin: float, step: float, count: int) -> Samples:
        """Samples at the places begin, begin + step, … (in samples, `step` near 1).

        Band-limited interpolation with a windowed sinc (Smith, Digital Audio Resampling).
        """
        places = begin + step * np.arange(count)
        whole = np.floor(places).astype(np.int64)
        first = int(whole[0]) - TAPS // 2 + 1
        known = self.read(first, int(whole[-1]) - first + TAPS // 2 + 1)
        if not known.any():
            return np.zeros(count, np.float32)
        phase = np.minimum(((places - whole) * PHASES).round().astype(np.int64), PHASES)
        taps = (whole - first - TAPS // 2 + 1)[:, None] + np.arange(TAPS)
        mixed: Samples = np.einsum("ij,ij->i", known[taps], _kernel()[phase])
        return mixed

    def _put(self, samples: Samples, at: int) -> None:
        samples = samples[max(0, self._start - at) : max(0, self._read + AHEAD - at)]
        begin = max(at, self._start) - self._start
        stop = begin + len(samples)
        if stop > len(self._samples):
            grown = np.zeros(max(stop, 2 * len(self._samples)), np.float32)
            grown[: self._end - self._start] = self._samples[: self._end - self._start]
            self._samples = grown
        self._samples[begin:stop] += samples
        self._end = max(self._end, self._start + stop)

    def _forget(self, before: int) -> None:
        """Drop what nobody asks for any more, a good deal at a time."""
        self._read = max(self._read, before + BEHIND)
        if before - self._start < BEHIND:
            return
        left = self._samples[max(0, before - self._start) : max(0, self._end - self._start)].copy()
        self._samples = np.zeros(len(left) + BEHIND, np.float32)
        self._samples[: len(left)] = left
        self._start, self._end = before, max(self._end, before)


@cache
def _kernel() -> Samples:
    """Kernels for every step between two samples, shape (PHASES + 1, TAPS)."""
    at = np.arange(TAPS) - TAPS // 2 + 1 - np.arange(PHASES + 1)[:, None] / PHASES
    window = np.cos(np.pi * at / (TAPS + 1)) ** 2
    kernel: Samples = (np.sinc(at) * window).astype(np.float32)
    return kernel
