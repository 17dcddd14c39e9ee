"""What a turn would say: words without secrets, what the flows make of them, the model's prompt.

Nothing is kept or carried out here unless the flows are told to; so a turn can be planned while
it is not yet sure that it is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from assistant.dialogues import Driver, Handled, Unforeseen
from assistant.errors import Cancelled
from assistant.events import Failed
from assistant.marks import Heard, Raw
from assistant.memory.bank import Bank
from assistant.memory.cache import Conversation
from assistant.mind.block import Block
from assistant.mind.dialogue import Dialogue
from assistant.mind.judge import TOKENS, answers, judge_messages
from assistant.mind.prompt import reply_messages
from assistant.mind.reply import answer
from assistant.redact import redact
from assistant.rendering import Rendering
from assistant.stages import Cancel, Clock, LanguageModel, Message
from assistant.wording import words

_NO_WORDS = re.compile(r"[\W\d_]*(?:[A-Za-z]{1,2}[- ]?\d+)?[\W\d_]*$")
"""codes and numbers: no word tells the language"""

BRISK = 0.13
"""Seconds a token, below which the words after a breath are there before it is over."""

Sentences = Callable[[Cancel], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Prompted:
    """The prompt of a reply, and the memories in it."""

    messages: list[Message]
    recalled: tuple[str, ...]
    searched: tuple[str, ...]


@dataclass(slots=True)
class Foreseen:
    """What a turn would be, and its reply in the making; nothing of it has happened."""

    act: str = ""
    """what the policy would do"""
    reply: object = None
    """what the reply is made from: it serves a turn only where that is the same"""
    rendering: Rendering | None = None
    raw: Raw = field(default_factory=Raw)

    @property
    def by_model(self) -> bool:
        """The reply is the model's."""
        return isinstance(self.reply, list)

    def drop(self) -> None:
        """It comes to nothing."""
        if self.rendering is not None:
            self.rendering.drop()


class Planner:
    """Knows the conversation and asks the flows, the memory and the model."""

    def __init__(
        self,
        conversation: Conversation,
        model: LanguageModel,
        clock: Clock,
        tell: Callable[[Failed], None],
        *,
        max_tokens: int,
        driver: Driver | None = None,
        judge: LanguageModel | None = None,
        bank: Bank | None = None,
    ) -> None:
        self._conversation = conversation
        self._model = model
        self._clock = clock
        self._tell = tell
        self._max_tokens = max_tokens
        self._driver = driver
        self._judge = judge
        self._bank = bank
        self._judged: tuple[tuple[str, str], bool] | None = None

    def settled(
        self, heard: Heard, last_language: str | None, *, again: bool
    ) -> tuple[Heard, bool]:
        """What was said, without passwords and the like; and whether only such a thing was told."""
        text = self._without_secrets(heard.text, again=again)
        if _NO_WORDS.match(text) and last_language:  # "B105" is said in any language
            heard = replace(heard, language=last_language)
        secret = text != heard.text and "?" not in text and "？" not in text
        return replace(heard, text=text), secret

    def _without_secrets(self, text: str, *, again: bool) -> str:
        """What the person said, with passwords and the like taken out before anything sees it."""
        recent = self._conversation.recent()
        recent = recent[:-1] if again else recent
        said, before = (recent[-1].reply, recent[-1].user) if recent else ("", "")
        found = redact(text, after=said)
        return found.text if found.kinds else redact(text, after=before).text

    def decide(
        self, number: int, tasks: Dialogue, heard: Heard, cancel: Cancel, *, rehearse: bool = False
    ) -> Handled | None:
        """What the flows make of it; None when they cannot be asked.

        `rehearse`: nothing is carried out; raises Unforeseen where something would be.
        """
        if self._driver is None:
            return None
        said, now = self._said(), self.now()
        try:
            handled = self._driver.handle(
                tasks, heard.text, heard.language, number, now, said, rehearse=rehearse
            )
            if handled.question and self._meant(handled.question, heard.text, cancel):
                return self._driver.asked_again(handled, "the model: an answer")
            return handled
        except Unforeseen:
            raise
        except Exception as error:  # the model answers, as if there were no flows
            if not rehearse:  # told when the turn is taken
                self._tell(Failed("flows", error))
            return None

    def _meant(self, question: str, text: str, cancel: Cancel) -> bool:
        """One word from the model: was this an answer to the question?"""
        if self._judge is None:
            return False
        known = self._judged
        if known is not None and known[0] == (question, text):
            return known[1]
        messages = judge_messages(question, text)
        meant = answers("".join(self._judge.stream(messages, cancel, max_tokens=TOKENS)))
        if not cancel.cancelled:
            self._judged = ((question, text), meant)
        return meant

    def now(self) -> datetime:
        """Local time."""
        return datetime.fromtimestamp(self._clock.wall())

    def _said(self) -> str:
        recent = self._conversation.recent()
        return recent[-1].reply if recent else ""

    def prompt(self, heard: Heard, *, again: bool = False, ahead: bool = False) -> Prompted:
        """The model's prompt. `ahead`: it may come to nothing, so no memory counts as used."""
        block, searched = self._recalled(heard, ahead=ahead)
        messages = self._messages(heard, block, again=again)
        return Prompted(messages, tuple(block.lines), tuple(searched))

    def _recalled(self, heard: Heard, *, ahead: bool) -> tuple[Block, list[str]]:
        """What is remembered and may be needed now: a read from memory in the process (V1).

        And how it came about, for whoever asks why something was forgotten.
        """
        if self._bank is None:
            return Block(), []
        try:
            block = self._bank.block(heard.text, heard.language, used=not ahead)
            return block, self._bank.recaller.trace.lines()
        except Exception as error:  # C4: a failing memory never breaks a turn
            if not ahead:
                self._tell(Failed("memory", error))
            return Block(), []

    def interrupt(self) -> None:
        """Have the model leave what has become old."""
        self._model.interrupt()

    def hush(self) -> None:
        """Somebody speaks: have the model of the notes leave what has become old."""
        if self._judge is not None:
            self._judge.interrupt()

    def prepare(self, heard: Heard, cancel: Cancel) -> None:
        """Evaluate the words so far: more are to come.

        Behind the memories that are at hand without words, for those of half a sentence would
        push them out; and without the last word, which may be half a word.
        """
        words = re.sub(r"[\W_]+$", "", heard.text)
        if heard.language != "zh":
            words = words.rpartition(" ")[0]
        if not words:
            return
        words = words[0].upper() + words[1:]  # as a whole sentence will begin
        block = self._bank.block("", heard.language) if self._bank is not None else Block()
        *before, last = self._messages(heard, block)
        self._model.prepare([*before, {**last, "content": words}], cancel, words=True)

    def _messages(self, heard: Heard, block: Block, *, again: bool = False) -> list[Message]:
        recent = self._conversation.recent()
        return reply_messages(
            self._conversation.known,
            recent[:-1] if again else recent,
            heard.text,
            heard.language,
            block.profile,
            block.moment,
            notes=block.notes,
            today=self.now().date(),
        )

    def sentences(self, messages: Sequence[Message], heard: Heard, raw: Raw) -> Sentences:
        """The model's reply as it will be written; a failing or silent model says so."""

        def pieces(cancel: Cancel) -> Iterator[str]:
            for piece in self._model.stream(messages, cancel, max_tokens=self._max_tokens):
                if raw.first is None:
                    raw.first = self._clock.now()
                raw.pieces.append(piece)
                yield piece

        def written(cancel: Cancel) -> Iterator[str]:
            said = False

            def hurried() -> bool:
                begun, made = raw.first or 0.0, len(raw.pieces) - 1
                return made > 0 and (self._clock.now() - begun) / made < BRISK

            try:
                for sentence in answer(pieces(cancel), heard.language, heard.text, hurried):
                    said = True
                    yield sentence
            except Cancelled:
                return
            except Exception as error:
                raw.error = error
                yield words("failed_llm", heard.language)
                return
            if not said and not cancel.cancelled:
                yield words("empty_reply", heard.language)

        return written
