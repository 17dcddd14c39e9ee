"""Where a conversation stands among its tasks: frozen values, JSON in and out (D5).

A task is one intent of a flow with the slots filled so far. At most one is being worked on; others
wait, suspended; what was done is kept for "undo that" and "what time was that room?".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Self

CONFIRM = "?confirm"
"""what a task has asked for when it waits for a yes"""


def frozen(values: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """A mapping nobody can change."""
    return MappingProxyType(dict(values or {}))


@dataclass(frozen=True, slots=True)
class Filled:
    """A slot's value."""

    value: str
    """resolved: "2026-12-01", "10:00-12:00", "500 CNY", "A302" """
    spoken: str
    """as it was said: "tomorrow", "ten to twelve", "五百块", "a three oh two" """
    turn: int
    """the turn in which it was said, from 1"""


@dataclass(frozen=True, slots=True)
class Call:
    """An action with its arguments."""

    action: str
    """ "rooms.book" """
    slots: Mapping[str, str] = field(default_factory=frozen)


@dataclass(frozen=True, slots=True)
class Task:
    """One intent of a flow, being filled."""

    flow: str
    intent: str
    slots: Mapping[str, Filled] = field(default_factory=frozen)
    asked: str = ""
    """the slot that was asked for last, CONFIRM, or "" """
    offered: Mapping[str, tuple[str, ...]] = field(default_factory=frozen)
    """slot → values that were named to choose from ("the first one")"""
    declined: tuple[str, ...] = ()
    """optional slots that were offered and not wanted: never offered again"""
    maybe: Mapping[str, Filled] = field(default_factory=frozen)
    """values that were not heard surely: "Do you mean …?" """
    earlier: tuple[Mapping[str, Filled], ...] = ()
    """the slots before each change, newest last ("undo that")"""
    changed: bool = False
    """a value was changed after it had been given: a write is read back first"""
    stale: bool = False
    """something else was talked of since a yes was asked for: it is asked for again"""
    touched: float = 0.0
    """when it was last worked on, seconds since the epoch (TTL)"""

    @property
    def name(self) -> str:
        return f"{self.flow}.{self.intent}"


@dataclass(frozen=True, slots=True)
class Done:
    """A task whose action was carried out."""

    task: Task
    outcome: str
    values: Mapping[str, str] = field(default_factory=frozen)
    inverse: Call | None = None
    """what undoes it; None: it cannot be undone"""
    write: bool = False
    offered: Mapping[str, tuple[str, ...]] = field(default_factory=frozen)
    """slot → values it named, best first"""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """All tasks of a conversation."""

    task: Task | None = None
    suspended: tuple[Task, ...] = ()
    """newest last"""
    done: tuple[Done, ...] = ()
    """newest last"""
    trail: tuple[str, ...] = ()
    """ "T1:rooms.find -> rooms" (D11)"""
    queue: tuple[str, ...] = ()
    """parts of a compound sentence that wait until the task under way is done (D4)"""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; `from_dict` reads them back."""
        return {
            "task": _plain(self.task),
            "suspended": [_plain(task) for task in self.suspended],
            "done": [_plain(done) for done in self.done],
            "trail": list(self.trail),
            "queue": list(self.queue),
        }

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read what to_dict wrote. ValueError when it is damaged."""
        try:
            assert isinstance(data, dict)
            return cls(
                task=_task(data["task"]) if data.get("task") else None,
                suspended=tuple(_task(item) for item in data.get("suspended", ())),
                done=tuple(_done(item) for item in data.get("done", ())),
                trail=tuple(str(item) for item in data.get("trail", ())),
                queue=tuple(str(item) for item in data.get("queue", ())),
            )
        except (AssertionError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"state.dialogue is damaged ({error})") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Task | Done | Filled | Call):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    return value


def _filled(data: Mapping[str, Any]) -> Mapping[str, Filled]:
    return frozen({key: Filled(**item) for key, item in data.items()})


def _task(data: Mapping[str, Any]) -> Task:
    return Task(
        flow=str(data["flow"]),
        intent=str(data["intent"]),
        slots=_filled(data["slots"]),
        asked=str(data.get("asked", "")),
        offered=frozen({key: tuple(item) for key, item in data.get("offered", {}).items()}),
        declined=tuple(data.get("declined", ())),
        maybe=_filled(data.get("maybe", {})),
        earlier=tuple(_filled(item) for item in data.get("earlier", ())),
        changed=bool(data.get("changed", False)),
        stale=bool(data.get("stale", False)),
        touched=float(data.get("touched", 0.0)),
    )


def _done(data: Mapping[str, Any]) -> Done:
    inverse = data.get("inverse")
    return Done(
        task=_task(data["task"]),
        outcome=str(data["outcome"]),
        values=frozen(data.get("values")),
        inverse=Call(inverse["action"], frozen(inverse["slots"])) if inverse else None,
        write=bool(data.get("write", False)),
        offered=frozen({key: tuple(item) for key, item in data.get("offered", {}).items()}),
    )


def fill(task: Task, new: Mapping[str, Filled]) -> Task:
    """Key by key; what is not in `new` stays (M2)."""
    return replace(task, slots=frozen({**task.slots, **new})) if new else task
