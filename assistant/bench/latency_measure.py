"""From a two-channel recording to what a person waited. Knows samples, not systems or models.

Left is what the microphone heard, right what was played. Where an utterance lies in the left
channel is found by its loudest frame; when its speech ends is known from the clean file, for an
energy threshold finds that end late in room noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assistant.events import Samples

RATE = 16000
FRAME = 512
"""samples; every utterance begins at a multiple of it"""
LOUD = 10 ** (-45 / 20)
"""-45 dBFS: what is played is free of noise, so anything louder is a voice"""
SILENCE = 0.3
"""seconds without sound that part one stretch of voice from the next"""
SAME = 2e-3
"""mean difference of two frames that are the same but for 16 bit"""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Voice without a longer silence in it, in seconds."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Landmark:
    """The loudest frame of an utterance, by which it is found again."""

    samples: Samples
    """float32, shape (512,)"""
    number: int
    """frames before it"""


@dataclass(frozen=True, slots=True)
class Heard:
    """What the recording says of one utterance, in seconds of session time."""

    start: float
    """first sample of the utterance"""
    end: float
    """last sound of the voice"""
    wait: float | None
    """from there to the first sound that begins after it; None: nothing was played"""
    early: tuple[float, ...]
    """sounds that began within it, before the end"""


def voiced(samples: Samples, rate: int, gap: float = SILENCE) -> list[Stretch]:
    """Stretches of sound louder than LOUD; silences shorter than `gap` seconds are part of them."""
    loud = np.flatnonzero(np.abs(samples) > LOUD)
    if not len(loud):
        return []
    breaks = np.flatnonzero(np.diff(loud) > gap * rate)
    starts = [loud[0], *loud[breaks + 1]]
    ends = [*loud[breaks], loud[-1]]
    return [Stretch(s / rate, (e + 1) / rate) for s, e in zip(starts, ends, strict=True)]


def landmark(samples: Samples) -> Landmark:
    """Of an utterance at 16 kHz; the frame that is filled up with zeros counts as well."""
    padded = np.pad(samples, (0, -len(samples) % FRAME)).reshape(-1, FRAME)
    number = int(np.square(padded).sum(axis=1).argmax())
    return Landmark(padded[number].copy(), number)


def place(left: Samples, mark: Landmark) -> int | None:
    """The sample at which the utterance begins; None when it is not there.

    `left` begins at a multiple of FRAME.
    """
    frames = left[: len(left) // FRAME * FRAME].reshape(-1, FRAME)
    if not len(frames):
        return None
    apart = np.abs(frames - mark.samples).mean(axis=1)
    number = int(apart.argmin())
    if apart[number] > SAME or number < mark.number:
        return None
    return (number - mark.number) * FRAME


def hear(
    left: Samples, right: Samples, begin: float, mark: Landmark, speech_end: float
) -> Heard | None:
    """Measure a part of the recording that begins at `begin`; None: the utterance is not in it.

    `speech_end`: seconds from the beginning of the clean file to the end of its speech.
    """
    at = place(left, mark)
    if at is None:
        return None
    end = at / RATE + speech_end
    starts = [sound.start for sound in voiced(right, RATE)]
    after = [start for start in starts if start >= end]
    early = tuple(round(begin + one, 3) for one in starts if at / RATE <= one < end)
    return Heard(begin + at / RATE, begin + end, after[0] - end if after else None, early)


def window(path: Path, begin: float, end: float) -> tuple[Samples, Samples, float]:
    """Left, right and the true beginning of a part of the recording, on the grid of the frames."""
    import soundfile

    first = max(0, int(begin * RATE) // FRAME * FRAME)
    samples, _ = soundfile.read(
        path, frames=max(0, int(end * RATE) - first), start=first, dtype="float32", always_2d=True
    )
    return samples[:, 0], samples[:, 1], first / RATE


def percentiles(milliseconds: Sequence[float]) -> dict[str, float | int | None]:
    """Median, 95th and 99th percentile (linear between neighbours), and how many there are."""
    if not milliseconds:
        return {"p50": None, "p95": None, "p99": None, "n": 0}
    found = np.percentile(np.asarray(milliseconds, np.float64), [50, 95, 99])
    names = ("p50", "p95", "p99")
    return {
        **{name: round(float(value), 1) for name, value in zip(names, found, strict=True)},
        "n": len(milliseconds),
    }
