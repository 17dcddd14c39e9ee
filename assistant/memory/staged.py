"""What was looked up for the next turn, and how the memory of a prompt came about: values only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from assistant.mind.block import Block, Sayable


@dataclass(frozen=True, slots=True)
class Seen:
    """A row that was found, and what became of it."""

    id: str
    text: str
    words: int | None
    meaning: int | None
    reranked: float | None
    dropped: str = ""
    """why it was not staged: unlikely, gone or now (it stands in the prompt); "" when it was"""


@dataclass(frozen=True, slots=True)
class Staged:
    """What was looked up for the turn after this one."""

    session: str
    turn: int
    """the turn whose words it was searched for"""
    query: str
    lines: tuple[Sayable, ...] = ()
    seen: tuple[Seen, ...] = ()
    topics: frozenset[str] = frozenset()
    """of the query and of what was found"""


@dataclass(frozen=True, slots=True)
class Trace:
    """How the memory of one prompt came about, for whoever asks why it forgot."""

    query: str = ""
    seen: tuple[Seen, ...] = ()
    found: tuple[str, ...] = ()
    """ids that the very words called up"""
    dropped: tuple[tuple[str, str], ...] = ()
    """id, or "staged", and reason: moved, old, twice, known, budget"""
    block: Block = field(default_factory=Block)

    def lines(self) -> list[str]:
        """For a person: what was looked up, what of it was found, what was left out and why."""
        looked = [f"looked up: {self.query}"] if self.query else []
        for one in self.seen:
            places = {"words": one.words, "meaning": one.meaning}
            why = ", ".join(f"{name} {place}" for name, place in places.items() if place)
            looked.append(f"{one.id} ({one.dropped or why}): {one.text}")
        called = [f"called up by the words: {', '.join(self.found)}"] if self.found else []
        return [*looked, *called, *(f"left out ({why}): {id}" for id, why in self.dropped)]

    def to_dict(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "hits": [
                {
                    name: getattr(one, name)
                    for name in Seen.__slots__
                    if getattr(one, name) is not None
                }
                for one in self.seen
            ],
            "found": list(self.found),
            "dropped": [list(one) for one in self.dropped],
            "injected": [
                {"id": id, "text": text}
                for id, text in zip(self.block.ids, self.block.lines, strict=True)
            ],
            "tokens": self.block.tokens,
        }
