"""From sentences to what is heard: a reply that is being made is delivered sentence by sentence.

Knows where each sentence lies on the session clock, and so what of it was really heard.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from assistant.audio.spoken_words import Silence, heard_words, silences
from assistant.events import Audio, Failed
from assistant.rendering import Item, Rendering
from assistant.stages import Cancel, Clock, Speaker, Voice
from assistant.wording import words
from assistant.workers import Activity


@dataclass(frozen=True, slots=True)
class Placed:
    """A sentence on the session clock, in seconds."""

    text: str
    begin: float
    end: float
    language: str = "en"
    """that it is spoken in"""
    pauses: tuple[Silence, ...] = ()
    """silences in its sound, seconds from its begin"""


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

    def delay(self, after: float, seconds: float) -> None:
        """What was to end later than `after` is heard so much later: playback was held."""
        self.placed[:] = [
            replace(item, begin=item.begin + seconds, end=item.end + seconds)
            if item.end > after
            else item
            for item in self.placed
        ]

    def heard(self, until: float) -> str:
        """The words played by the time `until`, to the word."""
        parts = []
        for item in self.placed:
            if item.end <= until:
                parts.append(item.text)
            elif item.begin < until:
                seconds, cut = item.end - item.begin, until - item.begin
                parts.append(heard_words(item.text, item.language, seconds, cut, item.pauses))
        return _join(part for part in parts if part)


class Mouth(Protocol):
    """Where a reply goes: a speaker or a page."""

    def render(
        self,
        sentences: Callable[[Cancel], Iterator[str]],
        language: str,
        ready: Callable[[], None] = lambda: None,
    ) -> Rendering:
        """Begin to make a reply; nothing of it is heard or seen. `sentences` runs on a worker."""

    def deliver(
        self,
        rendering: Rendering,
        language: str,
        cancel: Cancel,
        written: Callable[[str], None],
    ) -> Delivery:
        """Blocks until every sentence is handed over; `written` gets the text so far."""

    def hold(self) -> float:
        """Silence at once, and what is queued is kept; the session time of the last sound heard."""

    def resume(self) -> None:
        """Go on from about where `hold` came."""

    def stop(self) -> float:
        """Silence at once; the session time of the last sound heard."""

    @property
    def busy_until(self) -> float: ...

    @property
    def activity(self) -> Activity:
        """What is being made."""


class Page:
    """Replies are shown, not spoken."""

    def __init__(self, clock: Clock, show: Callable[[str], None]) -> None:
        self._clock = clock
        self._show = show
        self.activity = Activity()

    def render(
        self,
        sentences: Callable[[Cancel], Iterator[str]],
        language: str,
        ready: Callable[[], None] = lambda: None,
    ) -> Rendering:
        return Rendering(sentences, lambda text: iter(()), self._clock, self.activity, ready)

    def deliver(
        self,
        rendering: Rendering,
        language: str,
        cancel: Cancel,
        written: Callable[[str], None],
    ) -> Delivery:
        rendering.adopt(cancel)
        delivery = Delivery()
        for item in rendering.items():
            now = self._clock.now()
            delivery.sentences.append(item.text)
            delivery.first_sentence = delivery.first_sentence or item.written
            delivery.first_audio = delivery.first_audio or now
            delivery.placed.append(Placed(item.text, now, now))
            written(delivery.text)
            self._show(item.text)
        return delivery

    def hold(self) -> float:
        return self._clock.now()

    def resume(self) -> None:
        """What is shown stays."""

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
        self._current: Delivery | None = None
        self._held_at = 0.0
        self.activity = Activity()

    def render(
        self,
        sentences: Callable[[Cancel], Iterator[str]],
        language: str,
        ready: Callable[[], None] = lambda: None,
    ) -> Rendering:
        def speak(text: str) -> Iterator[Audio]:
            spoken_in = self._language_of(text, language)
            if spoken_in in self._voice.languages:
                yield from self._voice.synthesize(text, spoken_in)

        return Rendering(sentences, speak, self._clock, self.activity, ready)

    def deliver(
        self,
        rendering: Rendering,
        language: str,
        cancel: Cancel,
        written: Callable[[str], None],
    ) -> Delivery:
        rendering.adopt(cancel)
        delivery = self._current = Delivery()
        for item in rendering.items():
            if delivery.first_sentence is None:
                delivery.first_sentence = item.written
            delivery.sentences.append(item.text)
            written(delivery.text)
            try:
                self._play(item, language, cancel, delivery)
            except Exception as error:
                self._tell(Failed("tts", error))
                self._shown(item.text, delivery)
        if cancel.cancelled:
            self._speaker.stop()
        return delivery

    def hold(self) -> float:
        self._held_at = self._speaker.hold()
        return self._held_at

    def resume(self) -> None:
        later = self._speaker.resume()
        if self._current is not None:
            self._current.delay(self._held_at, later)

    def stop(self) -> float:
        return self._speaker.stop()

    @property
    def busy_until(self) -> float:
        return self._speaker.busy_until

    def _play(self, item: Item, language: str, cancel: Cancel, delivery: Delivery) -> None:
        spoken_in = self._language_of(item.text, language)
        if spoken_in not in self._voice.languages:
            if not cancel.cancelled:
                self._say_it_is_shown(spoken_in, delivery)
            self._shown(item.text, delivery)
            return
        placed: Placed | None = None
        for sound in item.sounds:
            if cancel.cancelled:
                break
            if isinstance(sound, Exception):
                raise sound
            at = self._speaker.play(sound)
            if delivery.first_audio is None:
                delivery.first_audio = at
            if placed is None:
                placed = Placed(item.text, at, at, spoken_in)
                delivery.placed.append(placed)
            placed = delivery.placed[-1]  # it may have been moved meanwhile
            late = at - placed.begin
            pauses = [(late + one, late + other) for one, other in silences(sound)]
            delivery.placed[-1] = replace(
                placed, end=at + sound.seconds, pauses=(*placed.pauses, *pauses)
            )

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
