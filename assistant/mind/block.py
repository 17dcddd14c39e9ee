"""Which remembered lines stand in the prompt: within a budget, none twice, in an order that lasts.

The order is that of change, as in prompt.py: first who the user is, then what was searched out for
this topic, last what the very words just said have called up. Knows no store and no clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Protocol

from assistant.mind.days import relative
from assistant.mind.memories import Memory
from assistant.mind.words import CJK, stem

LEVELS = {"low": (6, 3, 1), "mid": (12, 6, 2), "high": (24, 12, 4)}
"""lines in all; of the profile when a bank holds more than the budget; found by the last words"""
PROFILE_SHARE = 0.5
"""of the tokens, when a bank holds more than the budget"""
FOUND_TOKENS = 24
"""kept free for each line that the last words may call up: it is what was asked for"""
LETTERS = 4
"""of a token; on 2056 lines of talk the estimate is a third too high, twice it is 1 too low"""
REMEMBERED = 4096
"""lines whose words are kept at hand: the same ones come again every turn"""
TURN = "turn:"
SUMMARY = "summary:"
"""begin the ids of lines that are no memories: what was said once, what a session was about"""

_WIDE = re.compile(f"[{CJK}]")
_SINGLE = re.compile(r"\d|[^\w\s]")
_LETTER = re.compile(rf"[^\W\d{CJK}]")
_WORD = re.compile(rf"[{CJK}]|\d+|[^\W\d_{CJK}]+")
_ARTICLES = frozenset(("a", "an", stem("the")))


class Sayable(Protocol):
    """A Memory, or a Line."""

    @property
    def id(self) -> str: ...

    @property
    def text(self) -> str:
        """A whole sentence with absolute dates."""
        ...


@dataclass(frozen=True, slots=True)
class Line:
    """Something to be said in the prompt that is no memory: what the user once said."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of the prompt memory may take (C5)."""

    lines: int
    """in all"""
    tokens: int
    profile: int
    """lines of the profile"""
    profile_tokens: int
    found: int
    """lines that the last words may call up: they are evaluated while somebody waits"""

    @classmethod
    def of(cls, level: str, tokens: int, held: int) -> Budget:
        """`level`: low, mid or high; `held`: memories in the bank. A few are all told (V15)."""
        lines, profile, found = LEVELS[level]
        if held <= lines:
            return cls(lines, tokens, lines, tokens, found)
        return cls(lines, tokens, profile, int(tokens * PROFILE_SHARE), found)


@dataclass(frozen=True, slots=True)
class Block:
    """The lines of memory in a prompt."""

    lines: tuple[str, ...] = ()
    """as they are said, in order"""
    ids: tuple[str, ...] = ()
    """of each line"""
    tokens: int = 0
    """a cautious estimate"""
    steady: int = 0
    """the first so many are the profile"""
    dropped: tuple[tuple[str, str], ...] = ()
    """id and reason of what was left out: twice, known, budget"""
    notes: tuple[str, ...] | None = None
    """the lines of the state that stand beside them; None: all"""

    @property
    def profile(self) -> tuple[str, ...]:
        """Lines that stand before those of the state: they change seldom."""
        return self.lines[: self.steady]

    @property
    def moment(self) -> tuple[str, ...]:
        """Lines that stand after those of the state: they come and go with the topic."""
        return self.lines[self.steady :]

    @property
    def used(self) -> tuple[str, ...]:
        """Ids of the memories that were called up for what was said: that strengthens them.

        The profile is shown every turn and proves nothing.
        """
        return tuple(one for one in self.ids[self.steady :] if not one.startswith((TURN, SUMMARY)))


class _Writer:
    """A block as it grows."""

    def __init__(self, known: Iterable[str], today: date) -> None:
        self._today = today
        self._known = {_content(line) for line in known}
        self._said: set[frozenset[str]] = set()
        self._ids: list[str] = []
        self._lines: list[str] = []
        self._tokens = 0
        self._dropped: list[tuple[str, str]] = []

    def add(self, items: Iterable[Sayable], lines: int, tokens: int) -> None:
        """Take items until there are so many lines, and so many tokens, in all."""
        for item in items:
            said = _said(item.text, self._today)
            reason = self._against(item.id, said, lines, tokens)
            if reason:
                self._dropped.append((item.id, reason))
                continue
            self._ids.append(item.id)
            self._lines.append(said)
            self._said.add(_content(said))
            self._tokens += estimate(said)

    def _against(self, id: str, said: str, lines: int, tokens: int) -> str:
        """Why a line is left out; "" when it is not."""
        content = _content(said)
        if id in self._ids or content in self._said:
            return "twice"
        if content in self._known:
            return "known"
        full = len(self._lines) >= lines or self._tokens + estimate(said) > tokens
        return "budget" if full else ""

    def __len__(self) -> int:
        return len(self._lines)

    def block(self, steady: int) -> Block:
        dropped = tuple(self._dropped)
        return Block(tuple(self._lines), tuple(self._ids), self._tokens, steady, dropped)


def compose(
    profile: Sequence[Memory],
    staged: Sequence[Sayable],
    found: Sequence[Sayable],
    known_lines: Iterable[str],
    budget: Budget,
    today: date,
) -> Block:
    """The block of one prompt (C6): the best of each kind first, as far as the budget goes.

    `profile` best first. What comes later never changes what stands before it, so that a prompt
    evaluated with the first two kinds is the beginning of the prompt with all three.
    """
    writer = _Writer(known_lines, today)
    # The order they were learned in: a new one is appended, none moves.
    chosen = sorted(_fitting(profile, budget), key=lambda one: (one.learned, one.id))
    writer.add(chosen, budget.profile, budget.profile_tokens)
    steady = len(writer)
    whole = budget.profile >= budget.lines
    room = budget.lines if whole else budget.lines - budget.found
    free = min(budget.found * FOUND_TOKENS, budget.tokens // 2)
    writer.add(staged, room, budget.tokens - free)
    room = min(budget.lines, len(writer) + budget.found)
    writer.add(found, room, budget.tokens)
    return writer.block(steady)


def _fitting(profile: Sequence[Memory], budget: Budget) -> Iterator[Memory]:
    """The best ones; chosen before they are put in order, and by nothing that changes with it."""
    tokens = 0
    for memory in profile[: budget.profile]:
        tokens += estimate(memory.text)
        if tokens > budget.profile_tokens:
            return
        yield memory


@lru_cache(maxsize=REMEMBERED)
def estimate(text: str) -> int:
    """Tokens of a line, rather too many than too few.

    One for each Chinese character, digit and mark, one for four letters or each word that is
    shorter, one for the end of the line.
    """
    words = _WIDE.sub(" ", text).split()
    letters = sum(-(-len(_LETTER.findall(word)) // LETTERS) for word in words)
    return int(letters) + len(_WIDE.findall(text)) + len(_SINGLE.findall(text)) + 1


@lru_cache(maxsize=REMEMBERED)
def _said(text: str, today: date) -> str:
    """Dates as they are said today (the text is a kept one, the day the same all day)."""
    return relative(text, today)


@lru_cache(maxsize=REMEMBERED)
def _content(line: str) -> frozenset[str]:
    """Two lines with the same content say the same."""
    return frozenset(map(stem, _WORD.findall(line.lower()))) - _ARTICLES
