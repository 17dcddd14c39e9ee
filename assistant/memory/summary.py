"""What the last conversation was about, kept with the conversation and found again by search.

Functions on the database, to be handed to Store.submit. Written again as often as one likes: what
has not changed is not touched, so that its vector stays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlite_utils import Database

from assistant.errors import StorageError
from assistant.memory.rows import Row, Rows
from assistant.memory.store import load_state
from assistant.mind.flows import Book
from assistant.mind.memories import Memory
from assistant.mind.state import State
from assistant.mind.summing import LAST_TURNS, Said, Summary, summarise

IMPORTANCE = 0.6
"""of a summary among the rows that search finds"""
LISTS = ("topics", "resolved", "facts", "follow_ups")


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """A conversation's summary, and when that was."""

    session: str
    at: float
    """when the last turn of it was, seconds since 1970"""
    summary: Summary


def keep_summary(
    session: str, now: float, book: Book | None = None
) -> Callable[[Database], Summary | None]:
    """Sum a session up from what is stored of it; None where nothing worth it was said (V6, V10).

    Of a conversation that is not to be remembered nothing is kept.
    """

    def work(db: Database) -> Summary | None:
        row = next(db.query("select private from sessions where id = ?", [session]), None)
        if row is None or row["private"]:
            _drop(db, session)
            return None
        turns, at = _turns(db, session)
        state = _state(db, session)
        summary = summarise(state, turns, _memories(db, session), date.fromtimestamp(now), book)
        if not summary.text:
            _drop(db, session)
            return None
        _keep(db, session, at, summary)
        return summary

    return work


def last_summary(before_session: str = "") -> Callable[[Database], StoredSummary | None]:
    """The newest summary of the bank, not counting `before_session` and what came after it."""

    def work(db: Database) -> StoredSummary | None:
        row = next(
            db.query(
                "select m.* from summaries m join sessions s on s.id = m.session where s.id != ? "
                "and s.started <= coalesce((select started from sessions where id = ?), 1e18) "
                "order by m.at desc, s.started desc limit 1",
                [before_session, before_session],
            ),
            None,
        )
        return stored(row) if row is not None else None

    return work


def stored(row: Mapping[str, Any]) -> StoredSummary:
    """A row of the table `summaries`."""
    lists = {name: tuple(json.loads(row[name] or "[]")) for name in LISTS}
    summary = Summary(**lists, text=row["text"], language=row["language"] or "en")
    return StoredSummary(row["session"], row["at"], summary)


def _turns(db: Database, session: str) -> tuple[list[Said], float]:
    """The last turns, oldest first, and when the very last one was."""
    rows = list(
        db.query(
            "select turn, at, user_text, language, heard, decisions from turns where session = ? "
            "order by turn desc limit ?",
            [session, LAST_TURNS],
        )
    )
    said = [
        Said(
            row["turn"],
            row["user_text"],
            row["heard"] or "",
            row["language"] or "en",
            _by_rule(row["decisions"]),
        )
        for row in reversed(rows)
    ]
    return said, rows[0]["at"] if rows else 0.0


def _by_rule(decisions: str | None) -> bool:
    """A task took the words; they name no topic of their own."""
    acts = [one.get("act") for one in json.loads(decisions or "[]")]
    return bool(acts) and acts[-1] != "model"


def _memories(db: Database, session: str) -> list[Memory]:
    """What a summary needs of the session's facts."""
    rows = db.query(
        "select text, subject, key, coalesce(value, '') as value, coalesce(language, 'en') as "
        "language, coalesce(day, '') as day, coalesce(importance, 0.5) as importance, "
        "coalesce(origin, 'said') as origin, coalesce(turn, 0) as turn, "
        "coalesce(said, 0.0) as said from facts where session = ? and ended is null order by said",
        [session],
    )
    return [Memory(**row) for row in rows]


def _state(db: Database, session: str) -> State:
    """Without one that can be read the turns alone tell what it was about."""
    try:
        return State.from_dict(load_state(session)(db))
    except (StorageError, ValueError):
        return State()


def _keep(db: Database, session: str, at: float, summary: Summary) -> None:
    lists = {name: json.dumps(getattr(summary, name), ensure_ascii=False) for name in LISTS}
    row = {"session": session, "at": at, "language": summary.language, "text": summary.text}
    old = next(db.query("select * from summaries where session = ?", [session]), None)
    if old == row | lists:
        return
    db.table("summaries").upsert(row | lists, pk="session")
    if old is None or old["text"] != summary.text:
        shown = Row(_id(session), summary.text, at, summary.language, "", "", 0, IMPORTANCE)
        Rows(db).write(shown)


def _drop(db: Database, session: str) -> None:
    db.execute("delete from summaries where session = ?", [session])
    Rows(db).remove([_id(session)])


def _id(session: str) -> str:
    return f"summary:{session}"
