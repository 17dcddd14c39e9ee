"""Where in the microphone's sound the echo of a reference lies, and how two clocks drift apart.

Generalised cross-correlation with phase transform (Knapp & Carter 1976) over a smoothed spectrum,
followed by a second-order loop. Pure: sound in, numbers out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistant.events import Samples

RATE = 16000
WINDOW = 4096
"""samples of the microphone compared at a time, a quarter of a second"""
LONGEST = int(0.40 * RATE)
"""samples an echo may lag behind the announced sound"""
EARLIEST = int(0.05 * RATE)
"""samples an echo may be early: sound servers report latencies that are off"""
FFT = 16384
MARGIN = 64
"""Samples of the echo path left in front of its strongest part, for the adaptive filter."""
BAND = (200.0, 6000.0)
"""Hertz, where speech from a small loudspeaker has energy"""
SMOOTH = 0.7
"""share of the spectrum kept from one comparison to the next (four a second)"""
QUIET = 1e-4
"""root mean square of a reference that tells nothing (-80 dBFS)"""
SHARP = 16.0
"""A peak so many times the mean of all lags is an echo and no chance: at 8 one was found in 18
of 38 pairs of strangers, and true echoes are found no later up to 20."""
NEAR = 8
"""Samples an echo may have drifted since the last comparison; further off it has moved."""
AGREE = 2
"""comparisons in a row that must name a new place before it is believed"""
GAIN, DRIFT_GAIN = 0.5, 0.1
"""of the loop, for the place and for its drift, per comparison"""
MAX_DRIFT = 500e-6
JOLT = 1.5
"""samples by which a correction upsets a filter"""
ROUSED, CALM = RATE // 4, 2 * RATE
"""samples in which a filter recovers from that, barely and wholly"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the echo is."""

    delay: float
    """samples the reference must be delayed; MARGIN before the strongest part"""
    drift: float
    """samples the delay grows per sample"""
    moved: bool
    """it is far from where it was; what was learnt with the old place is doubtful"""


class DelayTracker:
    """Follows the delay of an echo. Ask `window` which reference to compare, then `compare`."""

    def __init__(self) -> None:
        self._spectrum: NDArray[np.complex128] = np.zeros(FFT // 2 + 1, np.complex128)
        self._omega = 2 * np.pi * np.arange(FFT // 2 + 1) / FFT
        hertz = np.arange(FFT // 2 + 1) * RATE / FFT
        self._band = (hertz >= BAND[0]) & (hertz <= BAND[1])
        self._delay = float(-EARLIEST)
        self._drift = 0.0
        self._candidate = 0.0
        self._agreed = 0
        self._calm = 0
        self.found = False
        """an echo has been found at least once"""
        self.settled = False
        """it has been found since the last `restart`"""

    @property
    def delay(self) -> float:
        """samples, as in Place"""
        return self._delay

    @property
    def drift(self) -> float:
        """samples per sample"""
        return self._drift

    @property
    def usable(self) -> bool:
        """what a filter makes of this delay means something"""
        return self.settled and self._calm >= ROUSED

    @property
    def steady(self) -> bool:
        """a filter had the time to learn with this delay"""
        return self.settled and self._calm >= CALM

    def advance(self, samples: int) -> None:
        """So much sound has passed: the delay drifts on."""
        self._delay += self._drift * samples
        self._calm += samples

    def restart(self) -> None:
        """Another sound begins, and its place is not quite sure: look before relying on it."""
        self._spectrum = np.zeros_like(self._spectrum)
        self._agreed = 0
        self.settled = False

    def slide(self, samples: float) -> None:
        """The microphone's places were corrected by so much; its sound is the same."""
        self._delay += samples

    def lead(self) -> int:
        """Samples before the microphone's window at which the reference window begins.

        The reference window has FFT samples; a lag of 0 in it is the earliest echo.
        """
        return FFT - EARLIEST

    def compare(self, heard: Samples, reference: Samples) -> Place | None:
        """WINDOW samples of the microphone with FFT of the reference; None: nothing to learn."""
        if float(np.sqrt(np.square(reference).mean())) < QUIET:
            return None
        padded = np.zeros(FFT, np.float32)
        padded[FFT - WINDOW :] = heard * np.hanning(WINDOW).astype(np.float32)
        cross = np.fft.rfft(padded) * np.fft.rfft(reference).conj()
        # kept relative to the delay that is followed, so that drift does not smear it
        turn = self._turn(self._delay + EARLIEST)
        self._spectrum = SMOOTH * self._spectrum + (1 - SMOOTH) * cross * turn
        return self._follow(self._spectrum * turn.conj())

    def _follow(self, spectrum: NDArray[np.complex128]) -> Place | None:
        size = np.abs(spectrum)
        phase = np.where(self._band, spectrum / (size + 1e-12), 0)
        likely = np.abs(np.fft.irfft(phase))[: LONGEST + EARLIEST]
        peak = int(likely.argmax())
        if likely[peak] < SHARP * likely.mean():
            return None
        place = peak - EARLIEST + _between(likely, peak) - MARGIN
        error = place - self._delay
        if self.found and abs(error) <= NEAR:
            self._agreed = 0
            if self.settled:
                drift = self._drift + DRIFT_GAIN * error / WINDOW
                self._drift = float(np.clip(drift, -MAX_DRIFT, MAX_DRIFT))
            if abs(error) > JOLT:
                self._calm = 0
            self._shift(error * (GAIN if self.settled else 1.0))
            self.settled = True
            return Place(self._delay, self._drift, moved=False)
        return self._jump(place)

    def _jump(self, place: float) -> Place | None:
        self._agreed = self._agreed + 1 if abs(place - self._candidate) <= NEAR else 1
        self._candidate = place
        if self._agreed < AGREE:
            return None
        self._calm = 0
        self._agreed, self.found, self.settled = 0, True, True
        self._shift(place - self._delay)
        return Place(self._delay, self._drift, moved=True)

    def _shift(self, samples: float) -> None:
        """Correct the delay; what was compared before is now off by so much less."""
        self._delay += samples
        self._spectrum = self._spectrum * self._turn(samples)

    def _turn(self, samples: float) -> NDArray[np.complex128]:
        turned: NDArray[np.complex128] = np.exp(1j * self._omega * samples)
        return turned


def _between(values: NDArray[np.float64], peak: int) -> float:
    """Where the top of a parabola through a peak and its neighbours lies, in samples."""
    if not 0 < peak < len(values) - 1:
        return 0.0
    left, top, right = (float(values[peak + step]) for step in (-1, 0, 1))
    bend = left - 2 * top + right
    return 0.0 if bend >= 0 else 0.5 * (left - right) / bend
