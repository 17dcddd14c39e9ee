"""The table of long-term facts, read: rows and memories, ids, and how fast they fade.

Functions on the database for the one writer or a reader; what is written is memory/facts.py's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from sqlite_utils import Database

from assistant.errors import AssistantError
from assistant.memory.rows import Row
from assistant.mind.memories import Memory

DAY_SECONDS = 86400.0
GROWTH = 1.5
MOST_STRENGTH = 365.0
"""of the forgetting curve: with it half is left after three and a half years"""
_NAMES = tuple(field.name for field in fields(Memory))
_FLAGS = frozenset(("lasting", "single", "pinned"))


def row_of(memory: Memory) -> dict[str, Any]:
    """A memory as a row of the table."""
    row: dict[str, Any] = {name: getattr(memory, name) for name in _NAMES}
    row |= {name: int(row[name]) for name in _FLAGS}
    return row | {"sources": json.dumps(list(memory.sources))}


def memory_of(row: Mapping[str, Any]) -> Memory:
    """A row as a memory; what an older row lacks has its default."""
    known = {name: row[name] for name in _NAMES if row.get(name) is not None}
    known |= {name: bool(known[name]) for name in _FLAGS if name in known}
    if "sources" in known:
        known["sources"] = tuple(json.loads(known["sources"] or "[]"))
    return Memory(**known)


def search_row(memory: Memory) -> Row:
    """A memory as it is found."""
    return Row(
        f"fact:{memory.id}",
        memory.text,
        at=memory.said,
        language=memory.language,
        speaker=memory.speaker,
        session=memory.session,
        position=memory.turn,
        importance=memory.importance,
    )


def load_memories(active: bool = True) -> Callable[[Database], list[Memory]]:
    """All that is believed, oldest first; with `active` False also what has ended."""

    def work(db: Database) -> list[Memory]:
        where = "where ended is null " if active else ""
        return [memory_of(row) for row in db.query(f"select * from facts {where}order by learned")]

    return work


def get(id: str) -> Callable[[Database], Memory | None]:
    """One memory, ended or not."""

    def work(db: Database) -> Memory | None:
        row = next(db.query("select * from facts where id = ?", [id]), None)
        return memory_of(row) if row is not None else None

    return work


def find_key(subject: str, key: str) -> Callable[[Database], list[Memory]]:
    """What is believed of a subject under a key, newest first."""

    def work(db: Database) -> list[Memory]:
        rows = db.query(
            "select * from facts where ended is null and subject = ? and key = ? "
            "order by said desc",
            [subject, key],
        )
        return [memory_of(row) for row in rows]

    return work


def resolve(prefix: str) -> Callable[[Database], str]:
    """The id that begins so. Raises AssistantError when there is none, or more than one."""

    def work(db: Database) -> str:
        wanted = prefix.strip().lower().removeprefix("fact:")
        rows = db.execute(
            "select id from facts where substr(id, 1, ?) = ? limit 3", [len(wanted), wanted]
        ).fetchall()
        if not wanted or not rows:
            raise AssistantError(
                f"There is no memory {prefix!r}; `memory show` lists what is known with its ids."
            )
        if len(rows) > 1:
            raise AssistantError(f"More than one memory begins with {prefix!r}; give more of it.")
        return str(rows[0][0])

    return work


def retention(memory: Memory, now: float) -> float:
    """How much of it is left, 1 to 0: R = exp(-days / (5 S)), S its strength.

    MemoryBank's curve (Zhong et al. 2023), with the strength in the denominator, so that what is
    used often fades more slowly; days since it was last said or used.
    """
    days = max(0.0, now - max(memory.said, memory.used, memory.learned)) / DAY_SECONDS
    return math.exp(-days / (5 * max(memory.strength, 0.1)))


def stronger(memory: Memory, now: float) -> Memory:
    """The memory after one more use."""
    strength = max(memory.strength, min(memory.strength * GROWTH, MOST_STRENGTH))
    return replace(memory, strength=strength, uses=memory.uses + 1, used=max(memory.used, now))
