"""The active memories of a bank in the process: what a turn may read without waiting (V1, V2).

One writer at a time, any number of readers; a reader takes no lock and never waits: it reads
values that are replaced whole. No disk, no engine, no clock. The rows are kept as plain tuples,
which the garbage collector passes over after having seen them once.
"""

from __future__ import annotations

import heapq
import math
import time
from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from itertools import islice
from operator import attrgetter
from sys import intern
from typing import Any

import numpy as np

from assistant.memory.postings import Posting, among, best_of, length, newest
from assistant.memory.topics import CONCEPT, WEAK, topics
from assistant.mind.memories import Memory
from assistant.workers import Lock

MOST = 100_000
"""memories that are held; of a larger bank the most important and recent"""
STEP = 8
"""memories that are put at a time, less than 1 ms, before others may run"""
PAUSE = 1e-4
"""Seconds: a thread that only yields takes the interpreter again before a reader has woken up."""
SCANNED = 2500
"""postings that one question adds up at most"""
TERMS = 8
"""of a question, the rarest ones: common words add little"""
COMMON = 3
"""commoner words that decide among what was found"""
COMPARED = 128
"""memories found so far, the newest of equals, among which a commoner word decides"""
CANDIDATES = 32
"""of equally good ones, how many are compared further"""
RARE = 0.25
"""A word that more of the memories hold finds nothing by itself."""
LEADERS = 128
"""the best of the profile that are kept at hand"""
HALF_LIFE = 2 * 365 * 86_400.0
"""seconds after which importance counts half"""
PASSING = 1 / 3
"""importance of what belonged to a task, beside what lasts"""
NAMED = "@"
"""begins the term of whom a memory is about"""
SESSION = "$"
"""begins the term of the session it was said in"""
SHARES = {WEAK: 0.3, CONCEPT: 0.7}
"""weight of a kind of term beside a word's own"""

_NAMES = tuple(item.name for item in fields(Memory))
_values = attrgetter(*_NAMES)
_REPEATED = ("subject", "key", "language", "day", "origin", "speaker", "session", "why_ended")
_PLACES = tuple(_NAMES.index(name) for name in _REPEATED)
_DAY, _ID, _LANGUAGE, _IMPORTANCE = map(_NAMES.index, ("day", "id", "language", "importance"))
_ABOUT = tuple(_NAMES.index(name) for name in ("text", "subject", "session"))

Row = tuple[Any, ...]


class Shelf:
    """Hot copy of the active memories, indexed by what they are about."""

    def __init__(
        self, most: int = MOST, pause: Callable[[], None] = lambda: time.sleep(PAUSE)
    ) -> None:
        """`pause`: called between two steps of a long write, so that a reader gets its turn."""
        self._most = most
        self._pause = pause
        self._lock = Lock()
        """for writers only"""
        self._next = 0
        self._rows: dict[int, Row] = {}
        self._numbers: dict[str, int] = {}
        self._postings: dict[str, Posting] = {}
        """term → numbers of the memories that hold it, ascending"""
        self._leaders: list[tuple[float, int]] = []
        """the best ranks, negative so that the best is first; replaced, never changed"""
        self._shown = self._leaders
        self._front: list[Memory] = []
        """the leaders, made into memories by the writer: no reader has to do it"""

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, memories: Iterable[Memory]) -> None:
        """Hold these, in place of those with the same ids; what has ended is dropped."""
        source = iter(memories)
        while step := list(islice(source, STEP)):
            with self._lock:
                for memory in step:
                    self._put(memory)
                if len(self._rows) > self._most:
                    self._make_room()
                self._show()
            self._pause()

    def drop(self, ids: Iterable[str]) -> None:
        """Forget these; unknown ids do no harm."""
        with self._lock:
            for one in ids:
                self._drop(one)
            self._fill_leaders()
            self._show()

    def clear(self) -> None:
        with self._lock:
            self._rows, self._numbers, self._postings, self._leaders = {}, {}, {}, []
            self._show()

    def get(self, id: str) -> Memory | None:
        number = self._numbers.get(id)
        row = None if number is None else self._rows.get(number)
        return None if row is None else Memory(*row)

    def all(self) -> list[Memory]:
        """Every memory held, in the order they came."""
        return [Memory(*row) for row in list(self._rows.values())]

    def of_session(self, session: str) -> list[Memory]:
        """What was last said in a session, in the order it came."""
        posting = self._postings.get(SESSION + session)
        found = [] if posting is None else newest(posting).tolist()
        return [Memory(*row) for number in found if (row := self._rows.get(number)) is not None]

    def of_turn(self, session: str, turn: int) -> list[Memory]:
        """What was last said in one turn."""
        return [memory for memory in self.of_session(session) if memory.turn == turn]

    def profile(self, most: int, today: str = "") -> list[Memory]:
        """Pinned ones, then by importance x lasting x recency.

        What is about a day before `today` (ISO) is history: it can only be found. Beyond the first
        LEADERS every memory has to be looked at: not for the turn path.
        """
        if most > LEADERS < len(self._rows):
            best = sorted(self.all(), key=rank, reverse=True)
        else:
            best = self._front
        return list(islice((one for one in best if not one.day or one.day >= today), most))

    def find(self, text: str, language: str, most: int) -> list[Memory]:
        """Memories that share rare words or concepts with a text, best first; [] when none does.

        `language` (ISO 639-1): of two that fit alike, the one in this language comes first.
        """
        asked = self._asked(text)
        if not asked:
            return []
        rows, found = self._rows, []
        for number, score in self._scored(asked):
            if score > 0 and (row := rows.get(number)) is not None:
                found.append((score * _mild(row, language), number, row))
        found.sort(key=lambda one: one[:2], reverse=True)
        return [Memory(*row) for *_, row in found[:most]]

    def _asked(self, text: str) -> list[tuple[float, Posting]]:
        """Weight and postings of each term of a question that anything here holds, rarest first."""
        total, postings, asked = len(self._rows) + 1, self._postings, []
        rare = False
        for term in topics(text):
            for key in (term, NAMED + term):  # a name in the subject counts twice
                if (posting := postings.get(key)) is not None:
                    count = length(posting)
                    weight = SHARES.get(term[:1], 1.0) * math.log(total / count)
                    asked.append((weight, posting))
                    rare |= term[:1] != WEAK and count <= max(1, RARE * total)
        asked.sort(key=lambda one: length(one[1]))
        return asked[:TERMS] if rare else []

    def _scored(self, asked: list[tuple[float, Posting]]) -> list[tuple[int, float]]:
        """Number and score of the best: the sum of the weights of the terms they share."""
        taken: list[tuple[float, Any]] = []
        left = SCANNED
        for weight, posting in asked:
            if taken and length(posting) > left:
                break
            # Of a word that too many hold, the newest ones.
            taken.append((weight, newest(posting, left)))
            left -= len(taken[-1][1])
        scores = np.zeros(self._next, np.float32)
        for weight, numbers in taken:
            scores[numbers] += weight
        every = np.concatenate([numbers for _, numbers in taken])
        best = best_of(every, scores[every], COMPARED)
        values = scores[best]
        for weight, posting in asked[len(taken) :][:COMMON]:
            # A commoner word finds nothing new, but it tells apart what was found.
            values[among(best, posting)] += weight
        near = best_of(np.arange(len(best)), values, CANDIDATES)
        return list(zip(best[near].tolist(), values[near].tolist(), strict=True))

    # Writing: with the lock held

    def _put(self, memory: Memory) -> None:
        if memory.ended is not None:
            self._drop(memory.id)
            return
        row = list(_values(memory))
        for place in _PLACES:
            row[place] = intern(row[place])
        new = tuple(row)
        number = self._numbers.get(memory.id)
        if number is not None:
            old = self._rows[number]
            self._leave(number)
            if [old[place] for place in _ABOUT] == [new[place] for place in _ABOUT]:
                self._rows[number] = new  # only its use or its validity changed
                self._lead(number, new)
                return
            self._drop(memory.id)
        number, self._next = self._next, self._next + 1
        self._rows[number] = new
        self._numbers[memory.id] = number
        for term in _terms(new):
            self._post(term, number)
        self._lead(number, new)

    def _drop(self, id: str) -> None:
        number = self._numbers.pop(id, None)
        if number is None:
            return
        row = self._rows.pop(number)
        self._leave(number)
        for term in _terms(row):
            posting = self._postings.get(term)
            if isinstance(posting, array) and len(posting) > 1:
                del posting[bisect_left(posting, number)]
            else:
                self._postings.pop(term, None)

    def _post(self, term: str, number: int) -> None:
        posting = self._postings.get(term)
        if posting is None:
            self._postings[intern(term)] = number
        elif isinstance(posting, array):
            posting.append(number)
        else:
            self._postings[term] = array("i", (posting, number))

    def _lead(self, number: int, row: Row) -> None:
        """Put a memory among the best, if it belongs there."""
        entry = (-rank(Memory(*row)), number)
        leaders = self._leaders
        if len(leaders) < min(LEADERS, len(self._rows)) or entry < leaders[-1]:
            leaders = leaders.copy()
            insort(leaders, entry)
            self._leaders = leaders[:LEADERS]

    def _leave(self, number: int) -> None:
        if any(one == number for _, one in self._leaders):
            self._leaders = [entry for entry in self._leaders if entry[1] != number]

    def _fill_leaders(self) -> None:
        """Look for the best anew once half of them are gone; others may run meanwhile."""
        if len(self._leaders) < min(LEADERS // 2, len(self._rows)):
            ranks = ((-rank(Memory(*row)), number) for number, row in self._each())
            self._leaders = heapq.nsmallest(LEADERS, ranks)

    def _show(self) -> None:
        """Make memories of the leaders, when one has changed."""
        if self._shown is not self._leaders:
            self._shown = self._leaders
            self._front = [Memory(*self._rows[number]) for _, number in self._leaders]

    def _make_room(self) -> None:
        """Drop the least important and oldest, a sixteenth at once: it does not happen often."""
        spare = len(self._rows) - self._most + self._most // 16
        ranks = ((rank(Memory(*row)), row[_ID]) for _, row in self._each())
        for _, one in heapq.nsmallest(spare, ranks):
            self._drop(one)

    def _each(self) -> Iterator[tuple[int, Row]]:
        for place, item in enumerate(list(self._rows.items())):
            if not place % (STEP * 32):
                self._pause()
            yield item


def rank(memory: Memory) -> float:
    """log2 of importance x lasting x recency, up to a constant: who is told of first.

    Recency halves in HALF_LIFE; so the order of two memories never changes with time alone.
    """
    weight = max(memory.importance, 0.01) * (1.0 if memory.lasting else PASSING)
    pinned = 1e6 if memory.pinned else 0.0
    return pinned + math.log2(weight) + memory.said / HALF_LIFE


def _terms(row: Row) -> Iterator[str]:
    """The terms by which a memory is found, those of its subject once more."""
    text, subject, session = (row[place] for place in _ABOUT)
    found = topics.__wrapped__(text)  # nobody will ask for these again soon
    yield from found
    yield from (NAMED + term for term in topics(subject))
    if session:
        yield SESSION + session


def _mild(row: Row, language: str) -> float:
    """A factor near 1 that decides between memories that fit alike."""
    return float(1 + 0.1 * row[_IMPORTANCE] + 0.05 * (row[_LANGUAGE] == language))
