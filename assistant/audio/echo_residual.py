"""How much louder a sound is than the echo a linear filter is known to leave behind.

Pure: the filter's output and the echo it took away in, decibels out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assistant.events import Samples

RATE = 16000
WINDOW = 512
HOP = 256
RELEASE = 0.75
"""a room's echo falls no faster than by this from hop to hop (16 ms)"""
FIRST_STEP, LAST_STEP, SLOWING = 3.0, 0.15, 0.98
"""decibels the leak moves at once: at first, at last, and how fast from one to the other"""
LOWEST_LEAK, HIGHEST_LEAK = -40.0, 6.0
"""decibels"""
HEARD = 1e-4
"""echo power in a band below which nothing is learnt about the leak"""
FLOOR = 1e-7


class Residual:
    """Learns in bands of hearing which part of the echo the filter leaves: the median leak."""

    def __init__(self) -> None:
        self._bands = _bands()
        self._width = self._bands.sum(axis=1)
        self._window = np.sqrt(np.hanning(WINDOW + 1)[:WINDOW]).astype(np.float32)
        self._left = self._taken = np.zeros(HOP, np.float32)
        self._echo = np.zeros(len(self._bands))
        self.forget()

    def forget(self) -> None:
        """The filter learns anew."""
        self._leak = np.zeros(len(self._bands))
        self._count = 0

    def excess(self, left: Samples, taken: Samples, *, learn: bool = True) -> float:
        """Decibels of the filter's output `left` above the leak of the echo `taken` out.

        Both have the same multiple of HOP samples. `learn`: the filter is where it should be.
        """
        power = expected = 0.0
        for at in range(0, len(left), HOP):
            more, less = self._hop(left[at : at + HOP], taken[at : at + HOP], learn)
            power += more
            expected += less
        return 10 * float(np.log10((power + 1e-9) / (expected + 1e-5)))

    def _hop(self, left: Samples, taken: Samples, learn: bool) -> tuple[float, float]:
        out = self._power(self._left, left) + FLOOR
        self._echo = np.maximum(self._power(self._taken, taken), RELEASE * self._echo)
        self._left, self._taken = left, taken
        if learn:
            self._learn(10 * np.log10(out / (self._echo + FLOOR)))
        expected = 10 ** (self._leak / 10) * self._echo
        return float(out @ self._width), float(expected @ self._width)

    def _power(self, before: Samples, now: Samples) -> NDArray[np.float64]:
        spectrum = np.fft.rfft(np.concatenate([before, now]) * self._window)
        power: NDArray[np.float64] = self._bands @ np.square(np.abs(spectrum)) / self._width
        return power

    def _learn(self, ratio: NDArray[np.float64]) -> None:
        """Move the leak of each band that has echo towards the median of its ratio."""
        echoing = self._echo > HEARD
        if not echoing.any():
            return
        step = max(LAST_STEP, FIRST_STEP * SLOWING**self._count)
        self._count += 1
        moved = self._leak + step * np.where(ratio > self._leak, 0.5, -0.5)
        self._leak = np.where(echoing, np.clip(moved, LOWEST_LEAK, HIGHEST_LEAK), self._leak)


def _bands() -> NDArray[np.float64]:
    """Which bins belong to which band, shape (bands, bins), one ERB wide (Glasberg & Moore)."""
    hertz = np.arange(WINDOW // 2 + 1) * RATE / WINDOW
    band = (21.4 * np.log10(1 + 0.00437 * hertz)).astype(int)
    return np.stack([(band == number).astype(float) for number in np.unique(band)])
