"""What a turn may read without waiting: the state and the last turns, in memory (V1).

Knows nothing of the database; the store's rows are handed in once, at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from assistant.config import MindConfig
from assistant.memory.store import Job
from assistant.mind.notes import provisional
from assistant.mind.prompt import Exchange
from assistant.mind.state import State
from assistant.workers import Lock

T = TypeVar("T")
Submit = Callable[[State, State], object]
MAX_PAST = 32
"""earlier states at hand for "undo that" (M10)"""
MAX_LEFT = 24
"""turns beyond the window whose topics are still told (V9)"""
SLACK = 4
"""The window shrinks by so many turns at once: the evaluated prompt prefix lasts longer."""


@dataclass(frozen=True, slots=True)
class _Entry:
    turn: int
    exchange: Exchange
    language: str
    queued: bool
    """its state update is still to come: stays word for word in the prompt"""
    at: float = 0.0
    """when it was said, seconds since 1970"""


class Conversation:
    """The hot cache of one session. Safe to read and write from any thread."""

    def __init__(
        self,
        session: str,
        state: State,
        turns: Sequence[dict[str, Any]],
        recent_turns: int,
        limits: MindConfig | None = None,
        past: Sequence[State] = (),
    ) -> None:
        """`turns`: rows of the turns table with `queued`; `past`: earlier states; oldest first."""
        self._limits = limits or MindConfig()
        self._lock = Lock()
        self._keep = recent_turns
        self._take_up(session, state, past)
        self._entries = [
            _Entry(
                row["turn"],
                Exchange(row["user_text"], row["heard"]),
                row["language"],
                bool(row["queued"]),
                row["at"],
            )
            for row in turns
            if row["user_text"] or row["heard"]  # else it was forgotten
        ]
        self._next = max((row["turn"] for row in turns), default=0) + 1
        self._known = self._guessed()

    _entries: list[_Entry]

    def _take_up(self, session: str, state: State, past: Sequence[State] = ()) -> None:
        self.session = session
        self._state = state
        self._past = tuple(past)[-MAX_PAST:]
        self._back = 0
        """how many steps "undo that" has gone back since the last change"""
        self._entries = []
        self._next = 1
        self._forgotten: set[int] = set()
        self._left: tuple[_Entry, ...] = ()
        """turns that no longer stand in the window"""

    def begin(self, session: str, compute: Callable[[State], State], submit: Submit) -> State:
        """Another session, in place: its first state is computed from the newest one.

        `submit(before, after)` hands the change to the store and does not block.
        """
        with self._lock:
            before = self._state
            self._take_up(session, compute(before))
            self._known = self._guessed()
            submit(before, self._state)
            return self._state

    @property
    def state(self) -> State:
        return self._state

    @property
    def known(self) -> State:
        """The state as it will be, as far as rules can tell, once the queued updates are in.

        For the prompt only: nothing of it is committed.
        """
        return self._known

    @property
    def next_turn(self) -> int:
        return self._next

    def recent(self) -> list[Exchange]:
        """The turns that stand word for word in the prompt, oldest first."""
        with self._lock:
            return [entry.exchange for entry in self._entries]

    def left(self) -> list[tuple[int, Exchange, str]]:
        """(turn, exchange, language) of what has left the window, oldest first; bounded."""
        with self._lock:
            return [(entry.turn, entry.exchange, entry.language) for entry in self._left]

    def answered(
        self, turn: int, exchange: Exchange, language: str, at: float = 0.0, *, queued: bool
    ) -> None:
        """A turn is over; the same number again replaces it. `at`: seconds since 1970."""
        with self._lock:
            others = [entry for entry in self._entries if entry.turn != turn]
            self._entries = [*others, _Entry(turn, exchange, language, queued, at)]
            self._next = max(self._next, turn + 1)
            self._trim()
            self._known = self._guessed()

    def heard(self, turn: int, text: str) -> None:
        """Only a part of the reply was really heard; that part stays in the prompt (M7)."""
        with self._lock:
            self._entries = [
                replace(entry, exchange=Exchange(entry.exchange.user, text))
                if entry.turn == turn
                else entry
                for entry in self._entries
            ]

    def swap(
        self, before: State, after: State, submit: Callable[[], T], job: Job | None = None
    ) -> T | None:
        """Put `after` in place of `before`, and hand it to the store in the same order.

        None when somebody else was quicker: then `before` is no longer the state (M11), or the
        turn of the `job` it comes from belongs to another conversation or has been forgotten.
        """
        with self._lock:
            if self._state is not before or (job is not None and not self.concerns(job)):
                return None
            if after is not before:
                self._state = after
                # A cut reply and the tasks are nothing that roll_back goes back to.
                same = replace(
                    after,
                    version=before.version,
                    interrupted=before.interrupted,
                    dialogue=before.dialogue,
                )
                if same != before:
                    self._past = (*self._past, before)[-MAX_PAST:]
                    self._back = 0
            result = submit()
            self._known = self._guessed()
            return result

    def change(self, compute: Callable[[State], State], submit: Callable[[State, State], T]) -> T:
        """Compute the next state from the newest one; begun again as often as another is quicker.

        `submit(before, after)` must not block: it hands the write to the store.
        """
        while True:
            before = self._state
            after = compute(before)
            done: list[T] = []

            def handed(old: State = before, new: State = after, into: list[T] = done) -> bool:
                into.append(submit(old, new))
                return True

            if self.swap(before, after, handed):
                return done[0]

    def roll_back(self, submit: Callable[[State, State], T]) -> tuple[State, T] | None:
        """The state before the last change, as a new version; again goes further back (M10).

        What is queued to be noted is given up. None when there is nothing earlier.
        """
        with self._lock:
            place = len(self._past) - 1 - self._back
            if any(entry.queued for entry in self._entries):
                # What was said last is not in the state yet: giving it up is going back.
                self._entries = [replace(entry, queued=False) for entry in self._entries]
                target = self._state
            elif place < 0:
                return None
            else:
                target, self._back = self._past[place], self._back + 1
            self._entries = self._entries[:-1]  # what was said is taken back as well
            before = self._state
            # What was carried out stays carried out: only its own inverse takes that back.
            # No question comes alive again: its answer belongs to a moment that is over.
            tasks = replace(target.dialogue, task=None, queue=(), done=before.dialogue.done)
            self._state = replace(target, version=before.version + 1, dialogue=tasks)
            self._known = self._guessed()
            return self._state, submit(before, self._state)

    def forget(self, turn: int, compute: Callable[[State], State], submit: Submit) -> None:
        """What was said in a turn is gone: from the window, the queue, the state and its past."""
        with self._lock:
            self._entries = [entry for entry in self._entries if entry.turn != turn]
            self._left = tuple(entry for entry in self._left if entry.turn != turn)
            self._forgotten.add(turn)
            self._past, self._back = (), 0
            before, self._state = self._state, compute(self._state)
            self._known = self._guessed()
            submit(before, self._state)

    def concerns(self, job: Job) -> bool:
        """The job is of this conversation, and the person has not had its turn forgotten."""
        return job.session == self.session and job.turn not in self._forgotten

    def is_forgotten(self, turn: int) -> bool:
        """The person had this turn forgotten: nothing may come of it any more."""
        return turn in self._forgotten

    def noted(self, turn: int) -> None:
        """The state update of a turn is committed (or given up)."""
        with self._lock:
            self._entries = [
                replace(entry, queued=False) if entry.turn == turn else entry
                for entry in self._entries
            ]
            self._trim()
            self._known = self._guessed()

    def reread(self, state: State) -> None:
        """Somebody else has written a newer state."""
        with self._lock:
            self._state = state
            self._known = self._guessed()

    def job(self, turn: int) -> Job | None:
        """The state update that a turn still needs."""
        with self._lock:
            said = ""
            for entry in self._entries:
                if entry.turn == turn and entry.queued:
                    text, language = entry.exchange.user, entry.language
                    return Job(self.session, turn, text, language, said, entry.at)
                said = entry.exchange.reply
            return None

    def recalls(self, turn: int) -> bool:
        """The turn is still at hand."""
        with self._lock:
            return any(entry.turn == turn for entry in self._entries)

    def queued(self) -> list[int]:
        """Turns whose update is still to come, oldest first."""
        with self._lock:
            return [entry.turn for entry in self._entries if entry.queued]

    def _guessed(self) -> State:
        said = [(e.turn, e.exchange.user, e.language) for e in self._entries if e.queued]
        return provisional(self._state, said, self._limits)

    def _trim(self) -> None:
        """Window of recent turns, then queued ones up to as many again (M8: bounded)."""
        if len(self._entries) <= self._keep + SLACK:
            return
        old, recent = self._entries[: -self._keep], self._entries[-self._keep :]
        waiting = [entry for entry in old if entry.queued]
        self._left = (*self._left, *(entry for entry in old if not entry.queued))[-MAX_LEFT:]
        self._entries = [*waiting[-self._keep :], *recent]
