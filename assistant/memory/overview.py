"""What a bank holds, for a person to see: facts, the last summary, counts. Reads only."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlite_utils import Database

from assistant.memory.facts import memory_of
from assistant.mind.memories import Memory


@dataclass(frozen=True, slots=True)
class Found:
    """A text that was searched for."""

    kind: str
    """fact, turn or summary"""
    id: str
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of one bank."""

    facts: int
    """believed"""
    ended: int
    origins: dict[str, int] = field(default_factory=dict)
    """of all facts, where they come from"""
    turns: int = 0
    sessions: int = 0
    queued: int = 0
    """notes that are still to be taken"""
    summaries: int = 0
    vectors: int = 0
    first: float | None = None
    """when the first and the last turn were, seconds since 1970"""
    last: float | None = None


def known(every: bool = False) -> Callable[[Database], list[Memory]]:
    """The facts that are believed, with `every` those of the past too; by subject, newest last."""

    def work(db: Database) -> list[Memory]:
        where = "" if every else "where ended is null"
        order = "order by subject != 'user', subject, ended is not null, said, id"
        return [memory_of(row) for row in db.query(f"select * from facts {where} {order}")]

    return work


def last_summary(db: Database) -> dict[str, Any] | None:
    """The newest conversation's summary, its lists as lists."""
    row = next(db.query("select * from summaries order by at desc limit 1"), None)
    if row is None:
        return None
    lists = ("topics", "resolved", "facts", "follow_ups")
    return {**row, **{name: json.loads(row[name] or "[]") for name in lists}}


def texts(db: Database, ids: Sequence[str]) -> dict[str, Found]:
    """What stands in the search rows of some ids."""
    marks = ", ".join("?" * len(ids))
    rows = db.execute(f"select id, text, at from search_texts where id in ({marks})", list(ids))
    found = {}
    for one, text, at in rows.fetchall():
        kind, _, key = one.partition(":")
        found[one] = Found(kind, key, text, at)
    return found


def searchable(db: Database) -> bool:
    """The bank has rows that can be searched."""
    return bool(db.table("search_texts").exists() and db.table("search_texts").count)


def stats(db: Database) -> Stats:
    """Count everything."""

    def count(sql: str) -> int:
        return int(db.execute(f"select count(*) from {sql}").fetchone()[0])

    first, last = db.execute("select min(at), max(at) from turns").fetchone()
    origins = db.execute("select origin, count(*) from facts group by origin order by 2 desc, 1")
    return Stats(
        facts=count("facts where ended is null"),
        ended=count("facts where ended is not null"),
        origins={origin or "said": number for origin, number in origins.fetchall()},
        turns=count("turns"),
        sessions=count("sessions"),
        queued=count("jobs where status = 'queued'"),
        summaries=count("summaries"),
        vectors=count("search_vectors") if db.table("search_vectors").exists() else 0,
        first=first,
        last=last,
    )


def session_ids(prefix: str) -> Callable[[Database], list[str]]:
    """The conversations whose ids begin so."""

    def work(db: Database) -> list[str]:
        rows = db.execute("select id from sessions order by id").fetchall()
        return [key for (key,) in rows if prefix and key.startswith(prefix)]

    return work


def shortened(ids: Sequence[str], least: int = 6) -> dict[str, str]:
    """Each id by as many letters as tell them all apart, for a person to type."""
    size = least
    while len({one[:size] for one in ids}) < len(set(ids)):
        size += 1
    return {one: one[:size] for one in ids}
