"""The working memory of one conversation: frozen values, JSON in and out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from assistant.mind.dialogue import Dialogue


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing the user said, with the sentence that goes into the prompt."""

    value: str
    """the words that carry it: "tomorrow at ten" """
    note: str
    """a whole sentence about the user: "The user has a dentist appointment tomorrow at ten." """
    language: str
    """ISO 639-1 code of the note"""
    turn: int
    """the turn in which it was said, from 1"""
    day: str = ""
    """the ISO date on which it was said: what "tomorrow" in it counts from"""


def _frozen(facts: Mapping[str, Fact] | None = None) -> Mapping[str, Fact]:
    return MappingProxyType(dict(facts or {}))


@dataclass(frozen=True, slots=True)
class State:
    """What is known now. `State()` is the beginning of a conversation."""

    version: int = 0
    """rises by one with every change"""
    task: str = ""
    """what the user wants done at the moment"""
    facts: Mapping[str, Fact] = field(default_factory=_frozen)
    """hard data of the task: time, place, amount; oldest first"""
    pending: tuple[str, ...] = ()
    """questions still to ask"""
    steps: tuple[str, ...] = ()
    """done so far"""
    preference: Mapping[str, Fact] = field(default_factory=_frozen)
    """what stays true beyond the task: name, tastes, family, home"""
    history_summary: str = ""
    """the compressed rest"""
    interrupted: str = ""
    """the part of a reply the user cut off, "" when nothing was cut"""
    dialogue: Dialogue = field(default_factory=Dialogue)
    """the tasks: under way, suspended, done"""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; `from_dict` reads them back."""
        values = {name: getattr(self, name) for name in self.__slots__}
        for name in ("facts", "preference"):
            values[name] = {key: asdict(fact) for key, fact in values[name].items()}
        for name in ("pending", "steps"):
            values[name] = list(values[name])
        values["dialogue"] = self.dialogue.to_dict()
        return values

    @classmethod
    def from_dict(cls, data: object) -> State:
        """Read what to_dict wrote; keys may be absent or unknown, a wrong type is a ValueError."""
        if not isinstance(data, dict):
            raise ValueError(f"a state is a JSON object, not {type(data).__name__}")
        version = data.get("version", 0)
        if not isinstance(version, int) or isinstance(version, bool) or version < 0:
            raise ValueError(f"state.version is a whole number from 0, not {version!r}")
        return cls(
            version=version,
            task=_text(data, "task"),
            facts=_facts(data, "facts"),
            pending=_texts(data, "pending"),
            steps=_texts(data, "steps"),
            preference=_facts(data, "preference"),
            history_summary=_text(data, "history_summary"),
            interrupted=_text(data, "interrupted"),
            dialogue=Dialogue.from_dict(data.get("dialogue", {})),
        )


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name, "")
    if not isinstance(value, str):
        raise ValueError(f"state.{name} is text, not {value!r}")
    return value


def _texts(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = data.get(name, ())
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"state.{name} is a list of texts, not {value!r}")
    return tuple(value)


def _facts(data: Mapping[str, Any], name: str) -> Mapping[str, Fact]:
    value = data.get(name, {})
    if not isinstance(value, dict):
        raise ValueError(f"state.{name} is an object of facts, not {value!r}")
    return _frozen({key: _fact(f"{name}.{key}", item) for key, item in value.items()})


def _fact(path: str, item: object) -> Fact:
    if not isinstance(item, dict):
        raise ValueError(f"state.{path} is a fact, not {item!r}")
    texts = {name: item.get(name, "") for name in ("value", "note", "language", "day")}
    turn = item.get("turn", 0)
    if not all(isinstance(text, str) for text in texts.values()) or not texts["note"]:
        raise ValueError(f"state.{path} needs the texts value, note and language")
    if not isinstance(turn, int) or isinstance(turn, bool):
        raise ValueError(f"state.{path}.turn is a whole number, not {turn!r}")
    return Fact(**texts, turn=turn)
