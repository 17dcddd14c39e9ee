"""The two echo cancellers behind one call, and whether they can be used here.

WebRTC's AEC3 works at once and leaves almost no echo, but eats speech that is not louder than the
echo. Speex's adaptive filter leaves speech whole and a part of the echo. Neither aligns anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assistant.events import Samples

RATE = 16000
"""Hertz"""
AEC3_BLOCK = 160
"""samples AEC3 works on; frames of 512 come out so much later"""
SPEEX_BLOCK = 128
SPEEX_TAPS = 4096
"""samples of room response that are modelled (256 ms)"""
FULL = 32768.0


class Suppressor:
    """WebRTC AEC3: what it lets through is almost surely not our own voice. 10 ms late."""

    def __init__(self) -> None:
        from pywebrtc_audio import EchoCanceller

        self._engine: Any = EchoCanceller(sample_rate=RATE)
        self._heard = self._played = np.zeros(0, np.float32)
        self._ready = np.zeros(AEC3_BLOCK, np.float32)

    def clean(self, heard: Samples, played: Samples) -> Samples:
        """Equal lengths in, the same length out, float32."""
        count = len(heard)
        heard = np.concatenate([self._heard, heard])
        played = np.concatenate([self._played, played])
        whole = len(heard) // AEC3_BLOCK * AEC3_BLOCK
        out = self._engine.process(heard[:whole], played[:whole])
        self._heard, self._played = heard[whole:], played[whole:]
        ready = np.concatenate([self._ready, out])
        self._ready = ready[count:]
        return ready[:count]


class LinearFilter:
    """Speex's adaptive filter alone: subtracts what it can predict, changes nothing else."""

    def __init__(self) -> None:
        from pyaec import Aec

        self._engine: Any = Aec(SPEEX_BLOCK, SPEEX_TAPS, RATE, enable_preprocess=False)

    def clean(self, heard: Samples, played: Samples) -> Samples:
        """A multiple of SPEEX_BLOCK samples in, the same length out, float32."""
        out: list[int] = []
        microphone, speaker = _pcm(heard), _pcm(played)
        for at in range(0, len(microphone), SPEEX_BLOCK):
            stop = at + SPEEX_BLOCK
            out += self._engine.cancel_echo(microphone[at:stop], speaker[at:stop])
        return np.asarray(out, np.float32) / np.float32(FULL)


def missing() -> str:
    """Why no echo can be cancelled here, as part of a sentence; empty when it can."""
    try:
        LinearFilter()
        Suppressor()
    except Exception as error:  # a library that does not load: ImportError, OSError, AttributeError
        name = getattr(error, "name", None) or type(error).__name__
        return f"the echo canceller cannot be loaded ({name})"
    return ""


def _pcm(samples: Samples) -> list[int]:
    clipped = np.clip(samples * FULL, -FULL, FULL - 1)
    values: list[int] = clipped.astype(np.int16).tolist()
    return values
