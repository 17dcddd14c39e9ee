"""What crosses a boundary: frozen values, nothing else.

Times are seconds on the session clock (0 = the microphone's first sample).
Samples are mono float32 in [-1, 1].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Audio:
    """A stretch of mono sound that carries its own rate."""

    samples: Samples
    """float32, shape (n,), -1 to 1"""
    rate: int
    """Hertz"""

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate


@dataclass(frozen=True, slots=True)
class Frame:
    """What the microphone delivers: 512 samples at 16 kHz."""

    samples: Samples
    """float32, shape (512,)"""
    at: float
    """time of the first sample, seconds"""


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """Enough speech to be sure that a person speaks."""

    at: float


@dataclass(frozen=True, slots=True)
class Utterance:
    """Everything a person said until the closing silence was long enough."""

    audio: Audio
    """with the pre-roll, without most of the closing silence"""
    start: float
    """first speech"""
    end: float
    """last speech"""
    closed: float
    """when the endpoint was sure"""
    speech_share: float
    """share of the frames between start and end that are speech, 0 to 1"""


@dataclass(frozen=True, slots=True)
class Paused:
    """A pause that may become the end: recognition may start on what there is."""

    utterance: Utterance


@dataclass(frozen=True, slots=True)
class Speaking:
    """Somebody has been speaking for a while: these are the words so far."""

    utterance: Utterance


@dataclass(frozen=True, slots=True)
class Resumed:
    """The pause was none: the same person speaks on."""

    at: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The microphone has nothing more to give."""

    at: float


@dataclass(frozen=True, slots=True)
class Transcript:
    """Recognised words; empty text means: nobody said anything."""

    text: str
    language: str
    """ISO 639-1 code"""
    confidence: float
    """mean token probability, 0 to 1"""
    why_empty: str = ""
    """which check refused it, when text is empty"""
    redone: bool = False
    """the 30 s window was needed"""


@dataclass(frozen=True, slots=True)
class Failed:
    """A stage that could not do its work; the loop lives on."""

    stage: str
    error: Exception


@dataclass(frozen=True, slots=True)
class Turn:
    """One structured record per turn (M13): enough to answer 'why did it forget?'."""

    session: str
    turn: int
    user_text: str
    language: str
    state_before: dict[str, Any]
    raw: str
    """the model's output as it came"""
    reply: str
    heard: str
    """the part of the reply that was really played (or shown)"""
    interrupted: bool = False
    latency_ms: dict[str, float] = field(default_factory=dict)
    """endpoint, asr, first_token, first_sentence, first_audio, voice_to_voice"""
    ahead: dict[str, Any] = field(default_factory=dict)
    """what the closing silence was used for: `used`, `pauses`, `resumed`, `patience_ms`, `why`,
    `asr_ms` and `wasted` (asr_ms, tokens, sound_s)"""
    decisions: list[dict[str, Any]] = field(default_factory=list)
    """what the policy decided and why: act, intent, continued, slots, why"""
    searched: list[str] = field(default_factory=list)
    """what was looked up in memory before this turn, and what of it was found or dropped"""
    recalled: list[str] = field(default_factory=list)
    """memories that stood in the prompt, as the model read them"""
    state_after: dict[str, Any] | None = None
    """None until the background update is committed"""
    retained: list[str] = field(default_factory=list)
    """what became of the words in memory: "add: The user likes tea." """
