"""All that one decision looks at, and what it comes to: values (D12)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from assistant.mind.cues import Common, plain
from assistant.mind.dialogue import Call, Dialogue, Done, Filled, Task, frozen
from assistant.mind.flows import Book, Choice, Flow, Intent, Known, Slot
from assistant.mind.slots import Found, read

_CLAUSE_END = re.compile(r"[,;:.!?，；：。！？](?!\d)")
_CONDITION_ENDS = {
    "en": re.compile(r",|\bthen\b|\b(?=(?:order|book|add|remind|submit|cancel|move|buy)\b)", re.I),
    "zh": re.compile(r"[,，]|就|则|那么|那就"),
}
MAX_SUSPENDED = 4
MAX_DONE = 6
MAX_TRAIL = 20
MAX_EARLIER = 8
MAX_QUEUE = 4
"""what a conversation keeps of its tasks at most (M8)"""


@dataclass(frozen=True)
class View:
    """One turn, seen by the policy."""

    dialogue: Dialogue
    text: str
    language: str
    turn: int
    now: datetime
    book: Book
    known: Known = field(default_factory=dict)
    denied: frozenset[str] = frozenset()
    """ "stock.order" or "stock.*": intents that are not permitted"""
    minutes: float = 30.0
    """how long a task waits for its values (D3)"""
    detach: Any = None
    """gate.Gate or None"""
    said: str = ""
    """the assistant's last words"""
    judged: bool = True
    """False: a condition was named that no rule can judge"""
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """what was already found out in this turn"""

    @cached_property
    def plain(self) -> str:
        """The text as cues see it."""
        return plain(self.text, self.language)

    @cached_property
    def _clauses(self) -> tuple[int, ...]:
        """Where the clauses begin in the plain text."""
        ends = (match.end() for match in _CLAUSE_END.finditer(self.text))
        return tuple(len(plain(self.text[:end], self.language)) for end in ends)

    def clause(self, place: int) -> int:
        """Where the clause begins that a place of the plain text lies in."""
        return max((start for start in self._clauses if start <= place), default=0)

    @cached_property
    def condition(self) -> tuple[int, int] | None:
        """Where in the text a condition stands that the rules cannot judge."""
        for phrase in self.common.phrases("condition"):
            word = re.escape(phrase) if self.language == "zh" else rf"\b{re.escape(phrase)}\b"
            begins = re.search(word, self.text, re.I)
            if begins is None:
                continue
            ends = _CONDITION_ENDS[self.language].search(self.text, begins.end())
            return begins.start(), ends.start() if ends else len(self.text)
        return None

    @cached_property
    def opening(self) -> int:
        """Where the plain text's fillers and openers ("well, can you …") end."""
        fillers = len(self.plain) - len(self.common.without_fillers(self.plain))
        return self.common.starts("opener", self.plain) or fillers

    @cached_property
    def common(self) -> Common:
        return Common(self.book, self.language)

    @property
    def stamp(self) -> float:
        return self.now.timestamp()

    def intent(self, task: Task) -> Intent:
        return self.book.flows[task.flow].intents[task.intent]

    def flow(self, task: Task) -> Flow:
        return self.book.flows[task.flow]

    def choices(self, slot: Slot) -> tuple[Choice, ...]:
        """What is known of a slot's values beside its own choices."""
        return tuple(self.known.get(slot.source, ())) if slot.source else ()

    def values(self, slot: Slot, *, wanted: bool = False) -> tuple[Found, ...]:
        """What of the text can fill a slot; read once in a turn."""
        key = ("values", id(slot), self.text, wanted)
        if key not in self.memo:
            found = read(
                slot, self.text, self.language, self.now, self.choices(slot), wanted=wanted
            )
            self.memo[key] = tuple(found)
        values: tuple[Found, ...] = self.memo[key]
        return values

    def permitted(self, intent: Intent) -> bool:
        return not {intent.full, f"{intent.flow}.*", "*"} & self.denied

    def last(self) -> Done | None:
        """What was done last, as long as it is fresh."""
        done = self.dialogue.done[-1] if self.dialogue.done else None
        return done if done and self.fresh(done.task) else None

    def last_of(self, flow: str) -> Done | None:
        """What was done last in a flow, whatever came in between, as long as it is fresh."""
        done = (one for one in reversed(self.dialogue.done) if one.task.flow == flow)
        return next((one for one in done if self.fresh(one.task)), None)

    def fresh(self, task: Task) -> bool:
        return self.stamp - task.touched <= self.minutes * 60

    def of(self, text: str) -> View:
        """The same moment with other words."""
        return replace(self, text=text)

    def with_dialogue(self, dialogue: Dialogue) -> View:
        return replace(self, dialogue=dialogue)


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done with a turn, and why."""

    act: str
    """run, ask:<slot>, confirm, refuse, cancelled, undone, cannot_undo, restarted, recall,
    resumed, rollback, model"""
    dialogue: Dialogue
    """after it; an action that is still to be carried out is not in it yet"""
    intent: str = ""
    continued: bool = False
    slots: Mapping[str, Filled] = field(default_factory=frozen)
    why: tuple[str, ...] = ()
    call: Call | None = None
    """to be carried out now"""
    task: Task | None = None
    """what is being done or was asked about"""
    done: Done | None = None
    """what is asked about, taken up again or undone"""
    unsure: bool = False
    """the gate cannot tell whether the words were meant for the task"""
    confirmed: bool = False
    """the user said yes to exactly these values"""
    looked_up: str = ""
    """the query of the flow that was carried out to name values to choose from"""
    slot: str = ""
    """which slot is asked for or recalled"""

    def to_dict(self) -> dict[str, Any]:
        """For the log and `:why`."""
        return {
            "act": self.act,
            "intent": self.intent,
            "continued": self.continued,
            "slots": {name: filled.value for name, filled in self.slots.items()},
            "why": list(self.why),
        }
