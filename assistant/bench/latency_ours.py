"""The product itself under test: the real Talk, its engines watched, spoken to by strangers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from assistant.app import Source, Talk
from assistant.bench.latency_stand import Setup, Stand, Told, Work, timed
from assistant.clock import FrameClock, RealClock
from assistant.config import Config
from assistant.events import Audio, Failed, Transcript, Turn
from assistant.loop import Finished, Replied, Said, Shown
from assistant.stages import Cancel, LanguageModel, Message, Recognizer, Voice
from assistant.workers import Lock

SETTLE_SECONDS = 30.0
"""longest wait for a prompt to be evaluated between two utterances"""
NEVER_MINUTES = 24 * 60.0
"""nobody tidies up while somebody else is measured"""


class Ours:
    """Implements latency_stand.System."""

    def __init__(self, setup: Setup, stand: Stand) -> None:
        self._lock = Lock()
        self._told = Told()
        self._turns: dict[tuple[str, int], dict[str, Any]] = {}
        self._said: list[float] = []
        source = Source(
            segments=lambda mind: stand.segments(),
            fast=setup.fast,
            patient=True,
            record=setup.recording,
            speaker=False,
        )
        self._talk = Talk(_stranger(setup.config), source, self._show)
        self._watch()

    @property
    def clock(self) -> FrameClock | RealClock:
        return self._talk.clock

    def begin(self) -> None:
        begin_anew(self._talk)

    def told(self) -> Told:
        with self._lock:
            told, self._told = self._told, Told()
            told.turns = list(self._turns.values())
            for turn, at in zip(told.turns, self._said, strict=False):
                turn["at"] = round(at, 3)
            self._turns, self._said = {}, []
            return told

    def run(self) -> None:
        self._talk.run()

    def close(self) -> None:
        self._talk.__exit__()

    def _show(self, event: Shown) -> None:
        now = self._talk.clock.now() if hasattr(self, "_talk") else 0.0
        with self._lock:
            if isinstance(event, Said):
                self._hear(event.transcript, now)
            elif isinstance(event, (Replied, Finished)):
                turn = event.turn
                key = turn.session, turn.turn
                if isinstance(event, Replied) or key in self._turns:  # else of an utterance before
                    self._turns[key] = _record(turn)
            elif isinstance(event, Failed):
                self._told.failed.append(f"{event.stage}: {event.error}")

    def _hear(self, transcript: Transcript, now: float) -> None:
        if transcript.text:
            self._said.append(now)
        else:
            self._told.refused.append(transcript.why_empty or "nothing to answer")

    def _watch(self) -> None:
        """Take the time of the engines, from their own methods."""
        engines = self._talk.engines
        assert engines.recognizer is not None and engines.voice is not None
        _watch_recognizer(engines.recognizer, self)
        _watch_model(engines.replies, self)
        _watch_voice(engines.voice, self)

    @property
    def work(self) -> Work:
        """Of the utterance under way."""
        return self._told.work


def begin_anew(talk: Talk) -> None:
    """Forget the conversation and whoever spoke; wait until the next prompt is evaluated."""
    mind = talk.mind
    mind.bank.forget_all()
    mind.bank.store.submit(lambda db: None).result(SETTLE_SECONDS)
    mind.scribe.enqueue(None)
    mind.scribe.activity.wait_idle(SETTLE_SECONDS)
    if talk.engines.recognizer is not None:
        talk.engines.recognizer.expect(mind.turns.expected(), asked=mind.turns.asking)


def _stranger(config: Config) -> Config:
    """Somebody whom nobody knows, with a memory of their own."""
    memory = replace(config.memory, bank="", key="file", idle_minutes=NEVER_MINUTES)
    return replace(config, memory=memory)


def _record(turn: Turn) -> dict[str, Any]:
    return {
        "text": turn.user_text,
        "reply": turn.reply,
        "by": "model" if turn.raw else "rule",
        "act": turn.decisions[-1]["act"] if turn.decisions else "",
        "interrupted": turn.interrupted,
        "latency_ms": dict(turn.latency_ms),
        "ahead": dict(turn.ahead),
    }


def _watch_recognizer(recognizer: Recognizer, ours: Ours) -> None:
    plain = recognizer.transcribe

    def transcribe(audio: Audio, *, speech_share: float = 1.0) -> Transcript:
        begin = time.perf_counter()
        said = plain(audio, speech_share=speech_share)
        ours.work.asr += time.perf_counter() - begin
        ours.work.asr_sound += audio.seconds
        return said

    recognizer.transcribe = transcribe  # type: ignore[method-assign]


def _watch_model(model: LanguageModel, ours: Ours) -> None:
    plain = model.stream

    def stream(messages: Sequence[Message], cancel: Cancel, *, max_tokens: int) -> Iterator[str]:
        begun = False

        def add(seconds: float, piece: str) -> None:
            nonlocal begun
            if begun:
                ours.work.llm += seconds
                ours.work.tokens += 1
            begun = True

        return timed(plain(messages, cancel, max_tokens=max_tokens), add)

    model.stream = stream  # type: ignore[method-assign]


def _watch_voice(voice: Voice, ours: Ours) -> None:
    plain = voice.synthesize

    def add(seconds: float, audio: Audio) -> None:
        ours.work.tts += seconds
        ours.work.tts_sound += audio.seconds

    def synthesize(text: str, language: str) -> Iterator[Audio]:
        return timed(iter(plain(text, language)), add)

    voice.synthesize = synthesize  # type: ignore[method-assign]
