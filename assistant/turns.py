"""One turn after another (D7): state before → reply → delivered → kept, update queued (M3).

The same for speech and text. Nothing here waits for disk, search or background work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from assistant.errors import Cancelled
from assistant.events import Failed, Turn
from assistant.memory.cache import Conversation
from assistant.memory.extract import Scribe
from assistant.memory.store import Store, keep_turn
from assistant.mind.prompt import Exchange, reply_messages
from assistant.mind.reply import answer
from assistant.mouth import Delivery, Mouth
from assistant.stages import Cancel, Clock, LanguageModel, Message
from assistant.wording import words

SLACK_SECONDS = 0.1
"""A reply cut so shortly before its end was heard whole: a device is not exact to the sample."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a person said, and when, in session seconds."""

    text: str
    language: str
    end: float
    """last sound of the voice"""
    closed: float
    """when the endpoint was sure"""
    recognised: float
    """when the words were known"""


@dataclass(slots=True)
class _Raw:
    """The model's output as it comes."""

    pieces: list[str] = field(default_factory=list)
    first: float | None = None

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class Turns:
    """Answers what was heard and keeps it."""

    def __init__(
        self,
        conversation: Conversation,
        store: Store,
        model: LanguageModel,
        scribe: Scribe,
        mouth: Mouth,
        clock: Clock,
        tell: Callable[[Failed], None],
        *,
        max_tokens: int,
    ) -> None:
        self._conversation = conversation
        self._store = store
        self._model = model
        self._scribe = scribe
        self._mouth = mouth
        self._clock = clock
        self._tell = tell
        self._max_tokens = max_tokens
        self._last: tuple[Turn, Delivery] | None = None

    def take(self, heard: Heard, cancel: Cancel, *, again: bool = False) -> Turn:
        """Answer; `again` replaces the last turn, whose reply nobody has heard."""
        number = self._conversation.next_turn - (1 if again else 0)
        state, known = self._conversation.state, self._conversation.known
        recent = self._conversation.recent()
        if again:
            recent = recent[:-1]
        turn = Turn(
            session=self._conversation.session,
            turn=number,
            user_text=heard.text,
            language=heard.language,
            state_before=state.to_dict(),
            raw="",
            reply="",
            heard="",
        )
        raw = _Raw()
        messages = reply_messages(known, recent, heard.text, heard.language)
        pieces = self._pieces(messages, cancel, raw)

        def written(text: str) -> None:
            # Before the sentence is heard it is on its way to the disk, without anybody waiting.
            partial = replace(turn, reply=text, heard=text, raw=raw.text)
            self._store.submit(keep_turn(partial, self._clock.wall(), note=True))

        delivery = self._mouth.deliver(
            self._replies(pieces, heard, cancel), heard.language, cancel, written
        )
        turn = replace(
            turn,
            raw=raw.text,
            reply=delivery.text,
            heard=delivery.text,
            interrupted=cancel.cancelled,
            latency_ms=_latency(heard, raw, delivery),
        )
        return self._keep(turn, delivery)

    def cut(self, at: float) -> Turn | None:
        """The reply was cut at session time `at`: record what was really heard of it (M7)."""
        if self._last is None:
            return None
        turn, delivery = self._last
        at = delivery.cut(at)
        if at >= delivery.end - SLACK_SECONDS and not turn.interrupted:
            return None  # it was complete
        turn = replace(turn, heard=delivery.heard(at), interrupted=True)
        self._last = (turn, delivery)
        self._conversation.heard(turn.turn, turn.heard)
        self._store.submit(keep_turn(turn, self._clock.wall(), note=True))
        return turn

    def take_notes(self, turn: int) -> None:
        """Hand the turn to the scribe."""
        self._scribe.enqueue(turn)

    def _keep(self, turn: Turn, delivery: Delivery) -> Turn:
        self._last = (turn, delivery)
        self._conversation.answered(
            turn.turn, Exchange(turn.user_text, turn.heard), turn.language, queued=True
        )
        self._store.submit(keep_turn(turn, self._clock.wall(), note=True))
        return turn

    def _pieces(self, messages: Sequence[Message], cancel: Cancel, raw: _Raw) -> Iterator[str]:
        for piece in self._model.stream(messages, cancel, max_tokens=self._max_tokens):
            if raw.first is None:
                raw.first = self._clock.now()
            raw.pieces.append(piece)
            yield piece

    def _replies(self, pieces: Iterator[str], heard: Heard, cancel: Cancel) -> Iterator[str]:
        """Sentences of the reply; a failing or silent model gives one that says so."""
        said = False
        try:
            for sentence in answer(pieces, heard.language, heard.text):
                said = True
                yield sentence
        except Cancelled:
            return
        except Exception as error:
            self._tell(Failed("llm", error))
            yield words("failed_llm", heard.language)
            return
        if not said and not cancel.cancelled:
            yield words("empty_reply", heard.language)


def _latency(heard: Heard, raw: _Raw, delivery: Delivery) -> dict[str, float]:
    """Milliseconds from each mark to the next; they add up to `voice_to_voice`."""
    marks = {
        "endpoint": heard.closed,
        "asr": heard.recognised,
        "first_token": raw.first,
        "first_sentence": delivery.first_sentence,
        "first_audio": delivery.first_audio,
    }
    latency: dict[str, float] = {}
    previous = heard.end
    for name, at in marks.items():
        if at is None:
            continue
        latency[name] = round(max(0.0, at - previous) * 1000, 1)
        previous = max(previous, at)
    if delivery.first_audio is not None:
        latency["voice_to_voice"] = round((delivery.first_audio - heard.end) * 1000, 1)
    return latency
