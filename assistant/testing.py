"""Fakes that keep the real contracts (stages.py), for tests that need neither weights nor time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from assistant.audio import files
from assistant.audio.speaker import SilentSpeaker
from assistant.events import Audio, Frame, Samples, Transcript
from assistant.stages import Cancel, Clock, Message
from assistant.workers import CancelToken, Closed, Inbox


class FakeClock:
    """Implements stages.Clock. Time passes when a test says so, or when someone sleeps."""

    def __init__(self, wall: float = 1_700_000_000.0) -> None:
        self._now = 0.0
        self._wall = wall

    def start(self, ago: float = 0.0) -> None:
        """As the real clocks do; here time has always run."""

    def advance(self, seconds: float) -> None:
        self._now += seconds

    def now(self) -> float:
        return self._now

    def wall(self) -> float:
        return self._wall + self._now

    def sleep(self, seconds: float) -> None:
        self._now += max(0.0, seconds)


class ScriptedModel:
    """Implements stages.LanguageModel with answers given beforehand.

    Each call of `stream` takes the next answer: a text is streamed word by word, an exception is
    raised. With `hold()` it stops before every piece until `release()`.
    """

    def __init__(self, *answers: str | Exception, clock: FakeClock | None = None) -> None:
        self._answers: deque[str | Exception] = deque(answers)
        self._clock = clock
        self._steps: Inbox[None] | None = None
        self._reached: Inbox[None] = Inbox(10_000)
        self.seconds_per_piece = 0.0
        """passes on the clock before each piece"""
        self.prompts: list[list[Message]] = []
        """messages of every `stream`"""
        self.prepared: list[list[Message]] = []
        """messages of every `prepare`"""
        self.given: list[str] = []
        """pieces that were taken from us, all calls together"""
        self.cancelled = 0
        """calls that ended because they were cancelled"""

    def enqueue(self, *answers: str | Exception) -> None:
        self._answers.extend(answers)

    def hold(self) -> None:
        """From now on each piece needs one `release`."""
        self._steps = Inbox(10_000)

    def release(self, pieces: int = 1) -> None:
        assert self._steps is not None, "hold() comes first"
        for _ in range(pieces):
            self._steps.put(None)

    def release_all(self) -> None:
        """Held no longer."""
        steps, self._steps = self._steps, None
        if steps is not None:
            steps.close()

    def wait_until_asked(self, seconds: float = 5.0) -> None:
        """Block until a piece is wanted; TimeoutError when nobody asks."""
        self._reached.get(seconds)

    def prepare(self, messages: Sequence[Message], cancel: Cancel, *, words: bool = False) -> None:
        self.prepared.append(list(messages))

    def interrupt(self) -> None:
        """It looks at its cancel token before every piece."""

    def stream(
        self, messages: Sequence[Message], cancel: Cancel, *, max_tokens: int
    ) -> Iterator[str]:
        self.prompts.append(list(messages))
        if not self._answers:
            raise AssertionError(f"no answer was enqueued for {messages[-1:]}")
        answer = self._answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        for piece in _pieces(answer)[:max_tokens]:
            self._wait()
            if cancel.cancelled:
                self.cancelled += 1
                return
            self.given.append(piece)
            yield piece

    def _wait(self) -> None:
        self._reached.offer(None)
        if self._clock is not None:
            self._clock.advance(self.seconds_per_piece)
        if self._steps is not None:
            try:
                self._steps.get(5.0)
            except Closed:
                return


class ScriptedMemory:
    """Implements skills.memory.Remembered: given sentences, and what was asked of it."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.private = False

    def told(self, now: datetime) -> Sequence[str]:
        return self.lines

    def forget_last(self) -> bool:
        return bool(self.lines and self.lines.pop())

    def forget_about(self, words: str) -> bool:
        kept = [line for line in self.lines if words.casefold() not in line.casefold()]
        found = len(kept) < len(self.lines)
        self.lines = kept
        return found

    def go_private(self) -> None:
        self.lines.clear()
        self.private = True

    def forget_all(self) -> None:
        self.lines.clear()


class ScriptedRecognizer:
    """Implements stages.Recognizer: each call takes the next text, Transcript or exception."""

    def __init__(self, *answers: str | Transcript | Exception, language: str = "en") -> None:
        self._answers: deque[str | Transcript | Exception] = deque(answers)
        self._language = language
        self.heard: list[Audio] = []
        """what was handed in"""
        self.expected: list[tuple[str, ...]] = []
        """words of every `expect`"""

    def expect(self, words: Sequence[str], *, asked: bool = False) -> None:
        self.expected.append(tuple(words))

    def enqueue(self, *answers: str | Transcript | Exception) -> None:
        self._answers.extend(answers)

    def glimpse(self, audio: Audio) -> Transcript:
        """Nothing yet."""
        return Transcript("", self._language, 0.0, "scripted")

    def transcribe(self, audio: Audio, *, speech_share: float = 1.0) -> Transcript:
        self.heard.append(audio)
        if not self._answers:
            raise AssertionError("no transcript was enqueued")
        answer = self._answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Transcript):
            return answer
        return Transcript(answer, self._language, 0.9, "" if answer else "scripted")


class ScriptedDetector:
    """Implements stages.SpeechDetector: loud frames are speech."""

    def __init__(self, level: float = 0.01) -> None:
        self._level = level

    def probability(self, frame: Frame) -> float:
        return 0.95 if float(np.sqrt(np.square(frame.samples).mean())) > self._level else 0.02

    def reset(self) -> None:
        """It remembers nothing."""


class ScriptedMicrophone:
    """Implements stages.Microphone: given sound, as fast as it is taken, on a FakeClock or none."""

    def __init__(self, audio: Iterable[Audio], clock: FakeClock | None = None) -> None:
        """Blocks at 16 kHz; `speech` and `silence` make them."""
        self._audio = audio
        self._clock = clock
        self._closing = CancelToken()

    def frames(self) -> Iterator[Frame]:
        for frame in files.frames(self._audio):
            if self._closing.cancelled:
                return
            if self._clock is not None:
                self._clock.advance(files.FRAME / files.RATE)
            yield frame

    def close(self) -> None:
        self._closing.cancel()


class WavMicrophone(ScriptedMicrophone):
    """Implements stages.Microphone on a sound file, without waiting."""

    def __init__(self, path: Path, clock: FakeClock | None = None) -> None:
        super().__init__(files.stream(path), clock)


class ToneVoice:
    """Implements stages.Voice: a text always makes the same tone, 60 ms for each character."""

    SECONDS_PER_CHARACTER = 0.06
    RATE = 16_000

    def __init__(self, *languages: str, clock: FakeClock | None = None) -> None:
        self._languages = frozenset(languages or ("en",))
        self._clock = clock
        self.seconds_per_text = 0.0
        """passes on the clock for each text"""
        self.spoken: list[tuple[str, str]] = []
        """(text, language) of every call"""
        self.failure: Exception | None = None
        """raised instead of speaking"""

    @property
    def languages(self) -> frozenset[str]:
        return self._languages

    def synthesize(self, text: str, language: str) -> Iterator[Audio]:
        self.spoken.append((text, language))
        if self.failure is not None:
            raise self.failure
        if self._clock is not None:
            self._clock.advance(self.seconds_per_text)
        if any(char.isalnum() for char in text):
            pitch = 200.0 + sum(text.encode()) % 400
            yield Audio(tone(len(text) * self.SECONDS_PER_CHARACTER, pitch, self.RATE), self.RATE)


class MemorySpeaker(SilentSpeaker):
    """Implements stages.Speaker on a clock, and keeps what was played."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.played: list[tuple[float, Audio]] = []
        """(begin, sound) in order, whether or not it was stopped later"""
        self.stops: list[float] = []
        """what every `stop` returned"""
        self.failure: Exception | None = None
        """raised instead of playing"""

    def play(self, audio: Audio) -> float:
        if self.failure is not None:
            raise self.failure
        begin = super().play(audio)
        self.played.append((begin, audio))
        return begin

    def stop(self) -> float:
        last = super().stop()
        self.stops.append(last)
        return last


def tone(seconds: float, pitch: float = 220.0, rate: int = 16_000, level: float = 0.3) -> Samples:
    """A sine of `pitch` Hz."""
    time = np.arange(round(seconds * rate)) / rate
    return (level * np.sin(2 * np.pi * pitch * time)).astype(np.float32)


def speech(seconds: float) -> Audio:
    """What a ScriptedDetector takes for speech, at 16 kHz."""
    return Audio(tone(seconds), 16_000)


def silence(seconds: float) -> Audio:
    return Audio(np.zeros(round(seconds * 16_000), np.float32), 16_000)


def wait_for(check: Callable[[], bool], seconds: float = 5.0) -> None:
    """Until another thread has made it true; AssertionError after the time."""
    never = CancelToken()
    for _ in range(int(seconds / 0.002)):
        if check():
            return
        never.wait(0.002)
    raise AssertionError(f"not true after {seconds} s")


def _pieces(text: str) -> list[str]:
    """Words with the space in front of them, as a tokenizer cuts."""
    words = text.split(" ")
    return [word if number == 0 else f" {word}" for number, word in enumerate(words)]
