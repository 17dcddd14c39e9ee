"""From sentences to sound: synthesised on a worker of its own while the next one is being written.

Knows where each sentence lies on the session clock, and so what of it was really heard.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from assistant.events import Failed
from assistant.stages import Cancel, Clock, Speaker, Voice
from assistant.wording import words
from assistant.workers import Closed, Inbox, Worker


@dataclass(frozen=True, slots=True)
class Placed:
    """A sentence on the session clock, in seconds."""

    text: str
    begin: float
    end: float


@dataclass(slots=True)
class Delivery:
    """How a reply went out."""

    sentences: list[str] = field(default_factory=list)
    placed: list[Placed] = field(default_factory=list)
    first_sentence: float | None = None
    """when the first sentence was complete"""
    first_audio: float | None = None
    """when its sound began"""
    until: float = math.inf
    """when playback was first cut"""

    @property
    def text(self) -> str:
        return _join(self.sentences)

    @property
    def end(self) -> float:
        return max((item.end for item in self.placed), default=0.0)

    def cut(self, at: float) -> float:
        """Playback was cut at `at`; the first cut counts. Returns its time."""
        self.until = min(self.until, at)
        return self.until

    def heard(self, until: float) -> str:
        """The words played by the time `until`, cut at a word by its share of the time."""
        parts = []
        for item in self.placed:
            if item.end <= until:
                parts.append(item.text)
            elif item.begin < until:
                share = (until - item.begin) / (item.end - item.begin)
                parts.append(_first_part(item.text, share))
        return _join(part for part in parts if part)


class Mouth(Protocol):
    """Where a reply goes: a speaker or a page."""

    def deliver(
        self,
        sentences: Iterable[str],
        language: str,
        cancel: Cancel,
        written: Callable[[str], None],
    ) -> Delivery:
        """Blocks until every sentence is handed over; `written` gets the text so far."""

    def stop(self) -> float:
        """Silence at once; the session time of the last sound heard."""

    @property
    def busy_until(self) -> float: ...


class Page:
    """Replies are shown, not spoken."""

    def __init__(self, clock: Clock, show: Callable[[str], None]) -> None:
        self._clock = clock
        self._show = show

    def deliver(
        self,
        sentences: Iterable[str],
        language: str,
        cancel: Cancel,
        written: Callable[[str], None],
    ) -> Delivery:
        delivery = Delivery()
        for text in sentences:
            now = self._clock.now()
            delivery.sentences.append(text)
            delivery.first_sentence = delivery.first_sentence or now
            delivery.first_audio = delivery.first_audio or now
            delivery.placed.append(Placed(text, now, now))
            written(delivery.text)
            self._show(text)
        return delivery

    def stop(self) -> float:
        return self._clock.now()

    @property
    def busy_until(self) -> float:
        return 0.0


class Speech:
    """Replies are spoken; a language that no voice speaks is shown and said to be so once."""

    def __init__(
        self,
        voice: Voice,
        speaker: Speaker,
        clock: Clock,
        tell: Callable[[Failed], None],
        notice: Callable[[str], None],
        language_of: Callable[[str, str], str],
    ) -> None:
        """`language_of(text, expected)` tells which language a sentence is really in."""
        self._language_of = language_of
        self._voice = voice
        self._speaker = speaker
        self._clock = clock
        self._tell = tell
        self._notice = notice
        self._unspoken: set[str] = set()

    def deliver(
        self,
        sentences: Iterable[str],
        language: str,
        cancel: Cancel,
        written: Callable[[str], None],
    ) -> Delivery:
        delivery = Delivery()
        queue: Inbox[str] = Inbox(8)
        worker = Worker("voice", lambda: self._synthesize(queue, language, cancel, delivery))
        with worker:
            try:
                for text in sentences:
                    if delivery.first_sentence is None:
                        delivery.first_sentence = self._clock.now()
                    delivery.sentences.append(text)
                    written(delivery.text)
                    queue.put(text)
            except Closed:
                pass  # the voice gave up; what is written is shown
            finally:
                queue.close()
            worker.join(60.0)
        if cancel.cancelled:
            self._speaker.stop()
        return delivery

    def stop(self) -> float:
        return self._speaker.stop()

    @property
    def busy_until(self) -> float:
        return self._speaker.busy_until

    def _synthesize(
        self, queue: Inbox[str], language: str, cancel: Cancel, delivery: Delivery
    ) -> None:
        for text in queue:
            if cancel.cancelled:
                continue
            try:
                self._speak(text, language, cancel, delivery)
            except Exception as error:
                self._tell(Failed("tts", error))
                self._shown(text, delivery)

    def _speak(self, text: str, language: str, cancel: Cancel, delivery: Delivery) -> None:
        spoken_in = self._language_of(text, language)
        if spoken_in not in self._voice.languages:
            self._say_it_is_shown(spoken_in, delivery)
            self._shown(text, delivery)
            return
        begin = end = None
        for audio in self._voice.synthesize(text, spoken_in):
            if cancel.cancelled:
                break
            at = self._speaker.play(audio)
            begin = at if begin is None else begin
            end = at + audio.seconds
        if begin is None or end is None:
            return
        delivery.placed.append(Placed(text, begin, end))
        if delivery.first_audio is None:
            delivery.first_audio = begin

    def _shown(self, text: str, delivery: Delivery) -> None:
        now = self._clock.now()
        delivery.placed.append(Placed(text, now, now))

    def _say_it_is_shown(self, language: str, delivery: Delivery) -> None:
        if language in self._unspoken:
            return
        self._unspoken.add(language)
        self._notice(words("no_voice", language, code=language))
        for spoken_in in sorted(self._voice.languages)[:1]:
            for audio in self._voice.synthesize(words("only_shown", spoken_in), spoken_in):
                at = self._speaker.play(audio)
                if delivery.first_audio is None:
                    delivery.first_audio = at


def _join(parts: Iterable[str]) -> str:
    """Sentences in one line: a space between them, none after Chinese punctuation."""
    text = ""
    for part in parts:
        text += part if not text or text[-1] in "。！？；，" else f" {part}"
    return text


def _first_part(text: str, share: float) -> str:
    pieces = text.split()
    if len(pieces) > 1:
        return " ".join(pieces[: int(len(pieces) * share)])
    return text[: int(len(text) * share)]
