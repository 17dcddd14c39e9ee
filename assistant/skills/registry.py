"""Actions by name: what a task does when it has all it needs (M14)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlite_utils import Database

from assistant.mind.dialogue import Call, frozen
from assistant.mind.flows import Choice


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an action."""

    name: str
    """which of the intent's sentences tells it: "ok", "none", "taken" …"""
    values: Mapping[str, str] = field(default_factory=frozen)
    """for the sentence, and for what comes next"""
    offered: Mapping[str, tuple[str, ...]] = field(default_factory=frozen)
    """slot → values found, best first: "book the first one" """
    inverse: Call | None = None
    """what undoes it"""
    ok: bool = True
    """False: nothing was done (a part that depends on it is not carried out)"""


Action = Callable[[Any, Mapping[str, str], datetime], Outcome]
"""what it works on (the office's database, or the bank), its slots, the time"""
Source = Callable[[Database], tuple[Choice, ...]]

ACTIONS: dict[str, Action] = {}
SOURCES: dict[str, Source] = {}
OUTCOMES: dict[str, tuple[str, ...]] = {}
"""action → names of the outcomes it can have; a flow has a sentence for each"""
VALUES: dict[str, tuple[str, ...]] = {}
"""action → names of the values its outcomes bring along, for places in sentences"""
WORKS_ON: dict[str, str] = {}
"""action → "office" or "memory" """


def action(
    name: str,
    outcomes: Iterable[str] = ("ok",),
    values: Iterable[str] = (),
    *,
    on: str = "office",
) -> Callable[[Action], Action]:
    """Register a function as the action of that name."""

    def keep(function: Action) -> Action:
        ACTIONS[name] = function
        OUTCOMES[name] = tuple(outcomes)
        VALUES[name] = tuple(values)
        WORKS_ON[name] = on
        return function

    return keep


def source(name: str) -> Callable[[Source], Source]:
    """Register a function as the source of a slot's known values."""

    def keep(function: Source) -> Source:
        SOURCES[name] = function
        return function

    return keep
