"""The contracts between the rooms of the house. Engines and fakes implement these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from assistant.events import Audio, Frame, Transcript

Message = dict[str, str]
"""{'role': 'system' | 'user' | 'assistant', 'content': text}"""


class Cancel(Protocol):
    """Work that has become old asks this between two steps."""

    @property
    def cancelled(self) -> bool: ...


class Clock(Protocol):
    """Time comes in through the door, so that tests need no sleep."""

    def now(self) -> float:
        """Seconds on the session clock."""

    def wall(self) -> float:
        """Seconds since the epoch."""

    def sleep(self, seconds: float) -> None: ...


class Microphone(Protocol):
    """Frames of 512 samples at 16 kHz until closed or exhausted."""

    def frames(self) -> Iterator[Frame]: ...

    def close(self) -> None: ...


class SpeechDetector(Protocol):
    """Speech probability of one frame after another; remembers its context."""

    def probability(self, frame: Frame) -> float: ...

    def reset(self) -> None: ...


class Recognizer(Protocol):
    """Speech to text."""

    def transcribe(self, audio: Audio, *, speech_share: float = 1.0) -> Transcript: ...

    def glimpse(self, audio: Audio) -> Transcript:
        """The words so far of somebody who speaks on, roughly and quickly."""

    def expect(self, words: Sequence[str], *, asked: bool = False) -> None:
        """Names, codes and choices likely to be said next, likeliest first; from any thread.

        `asked`: somebody was asked for one of them.
        """


class LanguageModel(Protocol):
    """One context on the weights: it remembers the prompt it has already evaluated."""

    def prepare(self, messages: Sequence[Message], cancel: Cancel, *, words: bool = False) -> None:
        """Evaluate everything but the last message's words, so that a reply starts at once.

        `words`: those as well, because the rest of them is still to come.
        """

    def interrupt(self) -> None:
        """Leave the step in progress; what is not cancelled begins it again. From any thread."""

    def stream(
        self, messages: Sequence[Message], cancel: Cancel, *, max_tokens: int
    ) -> Iterator[str]:
        """Pieces of the answer, greedy. Ends silently when cancelled."""


class Voice(Protocol):
    """Text to speech."""

    @property
    def languages(self) -> frozenset[str]:
        """ISO 639-1 codes that an installed voice speaks."""

    def synthesize(self, text: str, language: str) -> Iterator[Audio]: ...


class Speaker(Protocol):
    """Plays what it is given, in order, and knows how much was heard."""

    def play(self, audio: Audio) -> float:
        """Queue sound; returns the session time at which it will begin."""

    @property
    def busy_until(self) -> float:
        """Session time at which the queue will be empty."""

    def hold(self) -> float:
        """Silence, and what is queued is kept; returns the session time of the last sound heard."""

    def resume(self) -> float:
        """Go on a little before the cut; returns how much later all that is queued is heard."""

    def stop(self) -> float:
        """Drop what is queued; returns the session time of the last sample played."""

    def close(self) -> None: ...
