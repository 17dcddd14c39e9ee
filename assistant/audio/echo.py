"""Our own voice taken out of what the microphone hears, one frame after another.

The reference is what was really played; its delay is found and its drift followed. Two cancellers
run side by side, because one leaves no echo and the other leaves all speech. Whether a person
speaks is not decided here; that is barge_in.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assistant.audio.echo_delay import FFT, WINDOW, DelayTracker
from assistant.audio.echo_engines import LinearFilter, Suppressor
from assistant.audio.echo_reference import Reference
from assistant.audio.echo_residual import Residual
from assistant.events import Frame, Samples

RATE = 16000
FRAME = 512
COMPARE_EVERY = 8
"""frames between two looks at the delay"""
TAIL = 0.6
"""Seconds after the last played sound for which the room, and a late echo, may hold it."""
SLIP = int(0.03 * RATE)
"""Samples a frame's time may differ from counting before the microphone has lost sound."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A frame of the microphone without our own voice."""

    speech: Samples
    """shape (512,): all that a person says, and a part of our echo; for recognition"""
    sure: Samples
    """shape (512,): almost no echo, and of a person what is not covered by it; 10 ms late"""
    playing: bool = False
    """our own voice may be in this frame; otherwise both are as the microphone heard them"""
    begins: bool = False
    """and a stretch of it, after silence, has begun since the last frame"""
    excess_db: float = 0.0
    """how much louder `speech` is than the echo that is expected to be left in it"""
    aligned: bool = False
    """the echo of this sound has been found: `speech` and `excess_db` mean something"""
    steady: bool = False
    """and for so long that the filter has learnt what there is to learn"""


class EchoCanceller:
    """Feed it every frame of the microphone, in order."""

    def __init__(self, reference: Reference) -> None:
        self._reference = reference
        self._tracker = DelayTracker()
        self._filter = LinearFilter()
        self._suppressor = Suppressor()
        self._residual = Residual()
        self._recent: Samples = np.zeros(WINDOW, np.float32)
        self._count = 0
        self._next: int | None = None
        self._told = 0
        self._quiet = RATE
        self._jumps = 0.0
        """of the delay: the suppressor finds it by itself and is thrown off by a jump"""

    @property
    def delay_ms(self) -> float:
        """of the echo behind the announced sound; 0 before it is found"""
        return self._tracker.delay / RATE * 1000 if self._tracker.found else 0.0

    @property
    def drift_ppm(self) -> float:
        """by which the microphone's clock is slower than the speaker's"""
        return self._tracker.drift * 1e6

    def clean(self, frame: Frame) -> Cleaned:
        """Take our own voice out of a frame."""
        at = self._place(frame)
        self._recent = np.concatenate([self._recent[FRAME:], frame.samples])
        self._tracker.advance(FRAME)
        self._count += 1
        if not self._reference.end:  # nothing was ever played
            return Cleaned(frame.samples, frame.samples)
        played = self._read(at, self._tracker.delay)
        early = played if self._jumps == 0.0 else self._read(at, self._tracker.delay - self._jumps)
        # without a break, for it would let through the first sounds after one
        sure = self._suppressor.clean(frame.samples, early)
        self._quiet = 0 if played.any() or early.any() else self._quiet + FRAME
        if self._quiet > TAIL * RATE:
            return Cleaned(frame.samples, frame.samples)
        begins = self._reference.begun(at + FRAME - round(self._tracker.delay))
        if begins:
            self._tracker.restart()
        if self._count % COMPARE_EVERY == 0:
            self._compare(at + FRAME)
        if not self._tracker.found:
            return Cleaned(frame.samples, sure, playing=True, begins=begins)
        speech = self._filter.clean(frame.samples, played)
        tracker = self._tracker
        excess = self._residual.excess(speech, frame.samples - speech, learn=tracker.settled)
        return Cleaned(speech, sure, True, begins, excess, tracker.usable, tracker.steady)

    def _place(self, frame: Frame) -> int:
        """The frame's place by counting, which does not jitter, as long as its time agrees."""
        told = round(frame.at * RATE)
        if self._next is None or abs(told - self._told) > SLIP:  # sound was lost
            at = told
        else:
            at = self._next
            if abs(told - at) > SLIP:  # counting has drifted off; so has the delay that follows it
                self._tracker.slide(told - at)
                at = told
        self._next, self._told = at + FRAME, told + FRAME
        return at

    def _read(self, at: int, delay: float) -> Samples:
        return self._reference.between(at - delay, 1 - self._tracker.drift, FRAME)

    def _compare(self, end: int) -> None:
        before = self._tracker.delay
        begin = end - self._tracker.lead()
        place = self._tracker.compare(self._recent, self._reference.read(begin, FFT))
        if place is not None and place.moved:
            self._jumps += place.delay - before
