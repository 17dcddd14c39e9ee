"""What the next prompt should know: searched out between turns, read in the turn (V1, V2, V11).

`stage` runs on a background thread and looks up what the last words were about; `for_turn` only
reads what is in the process. What was staged is dropped when the topic has moved:

- words without a topic of their own ("and when is it?", 那是几点) go on with the last one;
- so do words that speak of somebody named before ("does she work there?", 她…);
- else one strong term has to be shared with what was searched for or with what was found.

It knows no prompt and writes nothing but vectors, through the one writer.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache

from assistant.memory.search import Hit, Index, Row
from assistant.memory.shelf import Shelf
from assistant.memory.staged import Seen, Staged, Trace
from assistant.memory.tokens import language_of
from assistant.memory.topics import refers, strong
from assistant.mind.block import TURN, Block, Budget, Line, Sayable, compose, estimate
from assistant.mind.known import relevant
from assistant.mind.memories import Memory
from assistant.mind.prompt import note_lines
from assistant.mind.state import State
from assistant.mind.texts import prompts
from assistant.stages import Cancel

log = logging.getLogger(__name__)

FACT = "fact:"
"""begins the id of a memory's row"""
STATE_SHARE = 0.5
"""of the tokens, for what this conversation's own state tells; memory has the rest"""
LAG = 1
"""turns after the one it was searched for in which something staged may be used"""
LIKELY = -4.0
"""a reranker's logit below which a text has nothing to do with the question"""
OUTLIER = 2.3
"""Standard deviations above the mean cosine from which a meaning fits, where nothing reads again:
of the multilingual encoder everything has 0.8 or so."""
NEAR = 10
"""turns of this conversation that may stand in the prompt word for word (cache.Conversation)"""
CATCH_UP = 32
"""rows embedded after a search"""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is searched for, and when."""

    session: str
    turn: int
    query: str
    topics: frozenset[str]


class Recaller:
    """Recall for one bank. `stage` and `catch_up` from one thread, the rest from any."""

    def __init__(
        self,
        shelf: Shelf,
        open_index: Callable[[], Index],
        budget: str = "mid",
        tokens: int = 320,
    ) -> None:
        """`open_index`: called on the background thread when it is first needed.

        `budget` (low, mid, high) and `tokens`: how much of the prompt memory may take.
        """
        self._shelf = shelf
        self._open = open_index
        self._level = budget
        self._tokens = tokens
        self._index: Index | None = None
        self._staged: Staged | None = None
        self._forgotten = 0
        """how often what was staged was forgotten: a search under way then comes too late"""
        self.opening: tuple[Sayable, ...] = ()
        """what opens a conversation: the summary of the last one (V6)"""
        self.earlier: tuple[Sayable, ...] = ()
        """what the turns were about that have left the prompt (V9)"""
        self.trace = Trace()
        """of the last prompt"""

    # On the turn path

    def for_turn(
        self, session: str, turn: int, text: str, language: str, known: State, today: date
    ) -> Block:
        """The lines of memory for a turn's prompt; for no words yet, what can be prepared.

        A read from memory in the process: no disk, no engine, no lock.
        """
        notes = note_lines(known, today, int(self._tokens * STATE_SHARE))
        room = self._tokens - sum(map(estimate, notes))
        budget = Budget.of(self._level, room, len(self._shelf))
        profile = self._shelf.profile(budget.profile, today.isoformat())
        staged, reason = self._fitting(session, turn, text)
        lines = (*self.opening, *self.earlier, *(staged.lines if staged else ()))
        found = self._shelf.find(text, language, budget.found) if _asks(text) else []
        block = compose(profile, lines, found, notes, budget, today)
        block = replace(block, notes=tuple(notes))
        if not text:  # nobody waits yet: what the turn compares word by word is taken apart now
            relevant(language, block.lines)
        dropped = block.dropped if not reason else (("staged", reason), *block.dropped)
        query, seen = (staged.query, staged.seen) if staged else ("", ())
        self.trace = Trace(query, seen, tuple(one.id for one in found), dropped, block)
        return block

    def _fitting(self, session: str, turn: int, text: str) -> tuple[Staged | None, str]:
        """What is staged, if it is for this turn; else why not."""
        staged = self._staged
        if staged is None:
            return None, ""
        if staged.session != session or not 0 <= turn - staged.turn <= LAG:
            return None, "old"
        if moved(text, staged.topics):
            return None, "moved"
        return staged, ""

    def reopen(self) -> None:
        """Another bank: its index is opened when it is next needed. From the staging thread."""
        self._index = None
        self.forget_staged()

    def forget_staged(self) -> None:
        """Another conversation, or something was forgotten: nothing looked up before counts."""
        self._forgotten += 1
        self._staged = None
        self.earlier = ()

    # In the background

    def stage(self, session: str, turn: int, texts: Sequence[str], cancel: Cancel) -> Staged | None:
        """Look up what the last one or two user turns, up to `turn`, were about.

        None when there are no words, it failed or `cancel` came; it never raises (C4).
        """
        forgotten = self._forgotten
        try:
            staged = self._look_up(session, turn, texts, cancel)
        except Exception as error:
            log.warning("memory is not searched: %s", error)
            return None
        if staged is not None and not cancel.cancelled and forgotten == self._forgotten:
            self._staged = staged
            return staged
        return None

    def catch_up(self, cancel: Cancel, limit: int = CATCH_UP) -> int:
        """Embed rows that were written since; how many. It never raises."""
        try:
            return 0 if cancel.cancelled else self._opened().catch_up(limit, cancel)
        except Exception as error:
            log.warning("memory is not indexed: %s", error)
            return 0

    def _opened(self) -> Index:
        if self._index is None:
            self._index = self._open()
        return self._index

    def _look_up(
        self, session: str, turn: int, texts: Sequence[str], cancel: Cancel
    ) -> Staged | None:
        query, own = _query(texts)
        if not query:
            return None
        last = self._staged
        if not own and last and last.session == session and 0 <= turn - last.turn <= LAG:
            # "And when is it?": the topic of before, and what was found for it.
            return Staged(session, turn, last.query, last.lines, last.seen, last.topics)
        budget = Budget.of(self._level, self._tokens, len(self._shelf))
        if cancel.cancelled:
            return None
        index = self._opened()
        hits = index.search(query, 2 * budget.lines, cancel=cancel)
        rows = index.rows([hit.id for hit in hits])
        asked = _Asked(session, turn, query, strong(query))
        sifted = [self._sift(hit, rows.get(hit.id), asked) for hit in hits]
        called = self._shelf.find(query, language_of(query), budget.found)
        lines = _each_once([*(line for _, line in sifted if line is not None), *called])
        lines = lines[: budget.lines]
        topics = asked.topics.union(*(strong(line.text) for line in lines))
        seen = tuple(seen for seen, _ in sifted)
        return Staged(session, turn, query, tuple(lines), seen, topics)

    def _sift(self, hit: Hit, row: Row | None, asked: _Asked) -> tuple[Seen, Sayable | None]:
        line: Sayable | None = None
        if row is None:
            reason = "gone"
        elif not _likely(hit, row, asked):
            reason = "unlikely"
        elif _in_prompt(row, asked):
            reason = "now"
        else:
            line = self._line(hit.id, row)
            reason = ""
        text = row.text if row is not None else ""
        why = hit.why
        return Seen(hit.id, text, why.words, why.meaning, why.reranked, reason), line

    def _line(self, id: str, row: Row) -> Sayable:
        if id.startswith(FACT):
            bare = id.removeprefix(FACT)
            # A bank may hold more than the shelf; what the shelf has is newer than the row.
            return self._shelf.get(bare) or Line(bare, row.text)
        return Line(id, said_once(row)) if id.startswith(TURN) else Line(id, row.text)


def moved(text: str, topics: frozenset[str]) -> bool:
    """The words have a topic of their own that is none of these (see the module's docstring)."""
    own = strong(text)
    return bool(own) and not refers(text) and own.isdisjoint(topics)


def said_once(row: Row) -> str:
    """A turn as a line of notes; its day is ISO, as in everything that is kept."""
    language = language_of(row.text)
    day = date.fromtimestamp(row.at).isoformat()
    return str(prompts(language)["memory"]["said"].format(day=day, words=row.text))


def _query(texts: Sequence[str]) -> tuple[str, bool]:
    """What to search for, and whether the last words have a topic of their own.

    Where they have none, or speak of somebody named before, the words before them come along.
    """
    said = [text.strip() for text in texts[-2:] if text.strip()]
    if not said:
        return "", False
    own = bool(strong(said[-1]))
    return (said[-1] if own and not refers(said[-1]) else " ".join(said)), own


def _likely(hit: Hit, row: Row, asked: _Asked) -> bool:
    """Better none than a wrong one: it shares a topic, or whoever read both is pleased, or, where
    nobody could, its meaning stands out."""
    if not asked.topics.isdisjoint(strong(row.text)):
        return True
    why = hit.why
    if why.reranked is not None:
        return why.reranked >= LIKELY
    return why.standard is not None and why.standard >= OUTLIER


def _in_prompt(row: Row, asked: _Asked) -> bool:
    """A turn of this conversation that may still stand there word for word."""
    of_now = row.id.startswith(TURN) and row.session == asked.session
    return of_now and asked.turn - row.position < NEAR


def _each_once(lines: Sequence[Sayable]) -> list[Sayable]:
    """By id; without the turns that a memory among them was drawn from."""
    every = {one.id: one for one in lines}
    drawn = {f"{TURN}{one.session}:{one.turn}" for one in lines if isinstance(one, Memory)}
    return [one for id, one in every.items() if id not in drawn]


@cache
def _asking() -> tuple[re.Pattern[str], re.Pattern[str]]:
    english, chinese = (prompts(name)["memory"]["asks"] for name in ("en", "zh"))
    return re.compile(english, re.I), re.compile(chinese)


def _asks(text: str) -> bool:
    """Only a question makes somebody wait for what its words call up."""
    return bool(text.strip()) and any(pattern.search(text) for pattern in _asking())
