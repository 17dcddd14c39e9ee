"""Rooms made from a seed, in which our own voice comes back to the microphone.

A loudspeaker that bends loud sounds, a room response of decaying noise, a delay, two clocks that
drift apart, a noise floor. Knows nothing of cancellers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assistant.events import Audio, Samples

RATE = 16000
PERSON_LEVEL = 0.05
"""Root mean square of a person's active speech at the microphone (-26 dBFS)."""
NOISE = 10 ** (-62 / 20)
"""Root mean square of the room's own noise."""
REVERBERATION = (0.2, 0.5)
"""Seconds in which a room's echo falls by 60 dB (RT60)."""
DELAY = (0.040, 0.250)
"""Seconds from the announced playback to its sound at the microphone."""
DRIFT = (50, 200)
"""Parts per million between the two clocks, either way."""
DIRECT = (0.0, 6.0)
"""Decibels of the direct sound above the reverberation."""
JITTER = 0.00003
"""Seconds by which the announced begin of a sound may be wrong, either way."""
GAP = (0.05, 0.6)
"""Seconds between two sentences."""


Announced = list[tuple[Audio, float]]
"""Sounds with the session time at which the speaker said they would be heard."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What was played and what the microphone heard, from session time 0."""

    played: Announced
    spoken: Samples
    """the same as it really was, at 16 kHz"""
    heard: Samples
    """at 16 kHz"""

    def joined(self, sound: Samples, at: float) -> Scene:
        """With another sound in the room from second `at` on; both end together at the latest."""
        begin = round(at * RATE)
        heard = self.heard.copy()
        part = sound[: max(0, len(heard) - begin)]
        heard[begin : begin + len(part)] += part
        return replace(self, heard=heard)


def loudness(samples: Samples) -> float:
    """Root mean square over the parts of 20 ms within 30 dB of the loudest; 0 for silence."""
    hop = RATE // 50
    count = len(samples) // hop
    if not count:
        return 0.0
    power = np.square(samples[: count * hop].reshape(count, hop)).mean(axis=1)
    return float(np.sqrt(power[power >= power.max() * 1e-3].mean()))


def levelled(samples: Samples, level: float = PERSON_LEVEL) -> Samples:
    """The same sound with that loudness."""
    found = loudness(samples)
    return samples if found == 0 else (samples * (level / found)).astype(np.float32)


def scene(
    rng: np.random.Generator,
    replies: Sequence[Audio],
    seconds: float,
    level_db: float,
    other: tuple[Samples, float] | None = None,
) -> Scene:
    """Replies in random order, their echo at `level_db` relative to a person's speech.

    `other`: another sound in the room and the second at which it begins.
    """
    played, spoken = _speech(rng, replies, round(seconds * RATE))
    echo = levelled(_echo(rng, spoken), PERSON_LEVEL * 10 ** (level_db / 20))
    heard = echo + NOISE * rng.standard_normal(len(echo)).astype(np.float32)
    made = Scene(played, spoken, heard.astype(np.float32))
    return made if other is None else made.joined(*other)


def cough(rng: np.random.Generator) -> Samples:
    """One or two bursts of noise that begin at once and die away; like a cough or a knock."""
    bursts = []
    for _ in range(rng.integers(1, 3)):
        time = np.arange(round(rng.uniform(0.12, 0.25) * RATE)) / RATE
        envelope = np.minimum(time / 0.008, 1) * np.exp(-time / rng.uniform(0.03, 0.07))
        noise = np.fft.rfft(rng.standard_normal(len(time)))
        hertz = np.fft.rfftfreq(len(time), 1 / RATE)
        noise[(hertz < rng.uniform(200, 500)) | (hertz > rng.uniform(2000, 5000))] = 0
        bursts += [np.fft.irfft(noise, len(time)) * envelope, np.zeros(round(0.12 * RATE))]
    return levelled(np.concatenate(bursts).astype(np.float32))


def _speech(
    rng: np.random.Generator, replies: Sequence[Audio], length: int
) -> tuple[Announced, Samples]:
    """Sentence after sentence: as it was announced, and as it really was."""
    import soxr

    announced, real = [], np.zeros(length, np.float32)
    at = round(0.5 * RATE)
    while at < length:
        reply = replies[int(rng.integers(len(replies)))]
        announced.append((reply, at / RATE + float(rng.uniform(-JITTER, JITTER))))
        samples = soxr.resample(reply.samples, reply.rate, RATE)[: length - at]
        real[at : at + len(samples)] = samples
        at += len(samples) + round(rng.uniform(*GAP) * RATE)
    return announced, real


def _echo(rng: np.random.Generator, spoken: Samples) -> Samples:
    """As the microphone hears it, at no particular level."""
    import soxr

    driven = np.tanh(1.5 * spoken) / 1.5
    drift = rng.uniform(*DRIFT) * rng.choice([-1, 1])
    driven = soxr.resample(driven, 1e6, 1e6 + drift)[: len(spoken)]
    response = _room(rng)
    size = len(driven) + len(response)
    echo = np.fft.irfft(np.fft.rfft(driven, size) * np.fft.rfft(response, size), size)
    late = np.concatenate([np.zeros(round(rng.uniform(*DELAY) * RATE)), echo])[: len(spoken)]
    return np.pad(late, (0, len(spoken) - len(late))).astype(np.float32)


def _room(rng: np.random.Generator) -> Samples:
    """Exponentially decaying noise behind a direct sound (Polack's model of reverberation)."""
    rt60 = rng.uniform(*REVERBERATION)
    time = np.arange(round(rt60 * RATE)) / RATE
    tail = rng.standard_normal(len(time)) * 10 ** (-3 * time / rt60)
    tail[: RATE // 500] = 0
    tail *= 10 ** (-rng.uniform(*DIRECT) / 20) / np.sqrt(np.square(tail).sum())
    tail[0] = 1.0
    return tail.astype(np.float32)
