"""A system to compare with, on the same microphone, clock, speech detector and recording.

How it recognises and answers is an Answerer; to add one, write such a class and name it:
`--against package.module:Class`. It waits for a fixed silence, and does nothing before that.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Protocol

from assistant.audio.mic import FileMicrophone
from assistant.audio.recording import Recording
from assistant.audio.speaker import SilentSpeaker
from assistant.bench.latency_stand import Setup, Stand, Told
from assistant.clock import FrameClock
from assistant.config import Config
from assistant.ears import Ears
from assistant.ears import Event as Sound
from assistant.endpoint import Endpoint
from assistant.errors import InputError
from assistant.events import Audio, Ended, Failed, SpeechStarted, Utterance
from assistant.marks import Heard, Raw, latency
from assistant.mouth import Delivery
from assistant.stages import Cancel
from assistant.vad import load_vad
from assistant.weights import find
from assistant.workers import Activity, CancelToken, Generation, Inbox, Worker

SILENCE_MS = 600
"""closing silence, whatever ours is set to"""
KNOWN = {
    "streaming": "assistant.bench.latency_streaming:Streaming",
    "plain": "assistant.bench.latency_plain:Plain",
}
"""names for --against"""


@dataclass(frozen=True, slots=True)
class Token:
    """The model has written so many tokens more."""

    count: int = 1


@dataclass(frozen=True, slots=True)
class Sentence:
    """The model has written this, complete."""

    text: str


Step = Token | Sentence | Audio
"""what is made of a reply: written, complete, to be played"""


class Answerer(Protocol):
    """Recognises and answers, in one thread. Made with the Config; it warms its engines then."""

    def __init__(self, config: Config) -> None: ...

    def begin(self) -> None:
        """A new conversation."""

    def transcribe(self, audio: Audio) -> str:
        """The words of an utterance (16 kHz), "" when nothing was said."""

    def reply(self, text: str) -> Iterator[Step]:
        """Make the reply; a sound is played as soon as it comes. Closed early when interrupted."""


def answerer(name: str) -> type[Answerer]:
    """The class of a name for --against. Raises InputError."""
    module, _, attribute = KNOWN.get(name, name).partition(":")
    try:
        found: type[Answerer] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"--against {name}: there is no such system ({error}); known: {', '.join(KNOWN)}, "
            "or a class of your own as package.module:Class."
        ) from error
    return found


class Peer:
    """Implements latency_stand.System around an Answerer."""

    def __init__(self, setup: Setup, stand: Stand, made: Answerer) -> None:
        config = setup.config
        self.clock = FrameClock(realtime=not setup.fast)
        self._answerer = made
        self._recording = Recording(setup.recording)
        self._speaker = SilentSpeaker(self.clock, self._recording, config.audio.volume)
        self._busy = Activity()
        self._work = Generation()
        self._told = Told()
        self._inbox: Inbox[tuple[Utterance, CancelToken]] = Inbox(64)
        self._microphone = FileMicrophone(
            stand.segments(),
            self.clock,
            fast=setup.fast,
            idle=lambda: not self._busy.busy and self._speaker.busy_until <= self.clock.now(),
            busy=lambda: self._busy.busy,
        )
        self._ears = Ears(
            self._microphone,
            load_vad(config.vad, find),
            Endpoint(replace(config.endpoint, silence_ms=SILENCE_MS), config.vad),
            self._tell,
            record=self._recording.heard,
        )

    def begin(self) -> None:
        self._answerer.begin()

    def told(self) -> Told:
        told, self._told = self._told, Told()
        return told

    def run(self) -> None:
        with Worker("ears", self._ears.run):
            for utterance, token in self._inbox:
                try:
                    self._answer(utterance, token)
                finally:
                    self._busy.end()

    def close(self) -> None:
        self._microphone.close()
        self._recording.close()

    def _tell(self, event: Sound) -> None:
        if isinstance(event, SpeechStarted):  # whoever speaks interrupts
            self._work.advance()
            self._speaker.stop()
        elif isinstance(event, Utterance):
            self._busy.begin()
            self._inbox.put((event, self._work.current))
        elif isinstance(event, Failed):
            self._told.failed.append(f"{event.stage}: {event.error}")
        elif isinstance(event, Ended):
            self._inbox.close()

    def _answer(self, utterance: Utterance, token: CancelToken) -> None:
        told, clock = self._told, self.clock
        begin = time.perf_counter()
        text = self._answerer.transcribe(utterance.audio).strip()
        recognised = clock.now()
        told.work.asr += time.perf_counter() - begin
        told.work.asr_sound += utterance.audio.seconds
        if not any(char.isalnum() for char in text):
            told.refused.append("nothing was recognised")
            return
        raw, delivery = Raw(), Delivery()
        reply = self._answerer.reply(text)
        self._deliver(reply, token, raw, delivery)
        heard = Heard(text, "", utterance.end, utterance.closed, max(recognised, utterance.closed))
        told.turns.append(
            {
                "text": text,
                "reply": delivery.text,
                "by": "model",
                "at": round(utterance.closed, 3),
                "interrupted": token.cancelled,
                "latency_ms": latency(heard, raw, delivery),
                "ahead": {},
            }
        )

    def _deliver(self, reply: Iterator[Step], cancel: Cancel, raw: Raw, delivery: Delivery) -> None:
        work, last = self._told.work, time.perf_counter()
        for step in reply:
            now, spent = self.clock.now(), time.perf_counter() - last
            if cancel.cancelled:
                break
            if isinstance(step, Token):
                if raw.first is not None or step.count > 1:
                    work.llm += spent
                    work.tokens += step.count
                raw.first = raw.first or now
            elif isinstance(step, Sentence):
                delivery.sentences.append(step.text)
                delivery.first_sentence = delivery.first_sentence or now
            else:
                work.tts += spent
                work.tts_sound += step.seconds
                at = self._speaker.play(step)
                delivery.first_audio = delivery.first_audio or at
            last = time.perf_counter()
        close: Any = getattr(reply, "close", None)
        if close is not None:
            close()
