"""What a task is made of, as data: flows hold intents and slots (D8). Values only, no files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

TYPES = (
    "number",  # "12", "3.5"
    "money",  # "500 CNY", "23.5 EUR", "12" when no currency was said
    "date",  # "2026-12-01"
    "time",  # "14:30"
    "time_range",  # "10:00-12:00"
    "duration",  # whole minutes: "90"
    "quantity",  # "100" or "100 box"
    "code",  # "A302", "AP-1001"
    "name",  # of a person, place or thing, as said
    "choice",  # one of the slot's choices or of what its source knows
    "flag",  # "yes" or "no"
    "text",  # whatever was said
)
"""Kinds of values, each with the form its resolved value has."""

Texts = Mapping[str, str]
"""language → text"""
Words = Mapping[str, tuple[str, ...]]
"""language → several ways to say it"""


def _none() -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values a slot can have."""

    value: str
    words: Words = field(default_factory=_none)
    """how it is said; the value itself always counts as well"""


@dataclass(frozen=True, slots=True)
class Slot:
    """One thing a task needs to know."""

    name: str
    type: str
    words: Words = field(default_factory=_none)
    """what a person calls it ("time", "when"; "几点"): for "reason: …" and "what time was it?" """
    ask: Texts = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    source: str = ""
    """where further known values come from at run time: "rooms.room" """
    least: float | None = None
    most: float | None = None
    pattern: str = ""
    """regular expression that a code matches as a whole"""
    rest: bool = False
    """takes what is left of a request: "remind me *to call Anna* tomorrow" """


@dataclass(frozen=True, slots=True)
class Intent:
    """One thing a person can want of a flow."""

    flow: str
    name: str
    kind: str
    """ "read" or "write" """
    risk: str
    """ "low" or "high": a high one is carried out only after a yes (M12)"""
    action: str
    title: Texts
    """what it does, for "Shall I …?": "book the meeting room" """
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    offer: tuple[str, ...] = ()
    """optional slots that are asked for once"""
    cues: Words = field(default_factory=_none)
    """words that mean it together with a noun of the flow"""
    phrases: Words = field(default_factory=_none)
    """words that mean it alone"""
    confirm: Texts = field(default_factory=dict)
    """the question before it is carried out"""
    say: Mapping[str, Texts] = field(default_factory=dict)
    """outcome → language → sentence with {slot} and {value} places"""
    examples: Words = field(default_factory=_none)

    @property
    def full(self) -> str:
        return f"{self.flow}.{self.name}"

    @property
    def slots(self) -> tuple[str, ...]:
        return (*self.required, *self.optional)


@dataclass(frozen=True, slots=True)
class Flow:
    """A family of tasks about one kind of thing."""

    id: str
    name: Texts
    """how the assistant speaks of it: "the meeting room" """
    nouns: Words
    """business nouns: words that belong to this flow alone"""
    slots: Mapping[str, Slot]
    intents: Mapping[str, Intent]
    change: Mapping[str, str] = field(default_factory=dict)
    """done intent → intent that changes what was done: "book" → "move" """
    follow: Mapping[str, str] = field(default_factory=dict)
    """done intent → intent that picking one of its results begins: "find" → "book" """


@dataclass(frozen=True, slots=True)
class Book:
    """All flows, and the words that belong to none of them."""

    flows: Mapping[str, Flow]
    common: Mapping[str, Words]
    """yes, no, cancel, undo, restart, resume, change, then, if, … → language → phrases"""

    def intent(self, full: str) -> Intent:
        """ "rooms.book" → Intent. KeyError when there is none."""
        flow, _, name = full.partition(".")
        return self.flows[flow].intents[name]


Known = Mapping[str, tuple[Choice, ...]]
"""source → values known at the moment ("rooms.room" → every room)"""
