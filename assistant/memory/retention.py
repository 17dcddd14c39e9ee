"""What has expired goes: words of old conversations, facts that ended long ago (M12).

`purge` is for the one writer (Store.submit) and commits nothing. It knows no settings and no clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Protocol, TypeVar

from sqlite_utils import Database

from assistant.memory.lineage import delete_facts
from assistant.memory.rows import Rows
from assistant.memory.scrub import squeeze
from assistant.sealed import SqlOperationalError
from assistant.workers import Ticket

T = TypeVar("T")

DAY = 86_400.0
JOB_DAYS = 30.0
"""for which the record of a note that was taken is kept"""

_NEWEST = "(select id from sessions where private is null order by touched desc limit 1)"
"""the session whose state the next conversation begins with"""


class Writer(Protocol):
    """memory.store.Store."""

    def submit(self, work: Callable[[Database], T], /) -> Ticket[T]: ...


@dataclass(frozen=True, slots=True)
class Purged:
    """How many rows are gone. True when any are."""

    turns: int = 0
    states: int = 0
    summaries: int = 0
    sessions: int = 0
    facts: int = 0
    changes: int = 0
    jobs: int = 0

    def __bool__(self) -> bool:
        return any(asdict(self).values())


def purge(now: float, turns_days: float, ended_days: float) -> Callable[[Database], Purged]:
    """Delete what was said more than `turns_days` ago and what ceased to be true more than
    `ended_days` ago; 0 keeps it for ever.

    A turn whose note is still to be taken stays, and so does the newest state of the newest
    session and of every session that still has turns.
    """

    def work(db: Database) -> Purged:
        Rows(db)  # a bank that was never searched has no tables for it yet
        gone: dict[str, int] = {}
        if turns_days > 0:
            gone |= _conversations(db, now - turns_days * DAY)
        if ended_days > 0:
            gone |= _ended(db, now - ended_days * DAY)
        done = "delete from jobs where status != 'queued' and changed < ?"
        gone["jobs"] = gone.get("jobs", 0) + _count(db, done, now - JOB_DAYS * DAY)
        if gone.get("turns") or gone.get("facts") or gone.get("summaries"):
            squeeze(db)
        return Purged(**gone)

    return work


def compact(store: Writer) -> bool:
    """Move the log into the database file and cut it off: it may hold what was deleted since.

    False when a reader is in the way; the next time does it.
    """
    return store.submit(checkpoint).result()


def checkpoint(db: Database) -> bool:
    """The first statement of a transaction only: it needs one that has touched nothing yet.

    https://www.sqlite.org/pragma.html#pragma_wal_checkpoint
    """
    try:
        busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except SqlOperationalError:
        return False
    return not busy


def _conversations(db: Database, before: float) -> dict[str, int]:
    old = db.execute(
        "select session, turn from turns where at < ? and not exists (select 1 from jobs where "
        "session = turns.session and turn = turns.turn and status = 'queued')",
        [before],
    ).fetchall()
    Rows(db).remove(f"turn:{session}:{turn}" for session, turn in old)
    jobs = 0
    for place in old:
        jobs += _count(db, "delete from jobs where session = ? and turn = ?", *place)
        db.execute("delete from turns where session = ? and turn = ?", place)
    states = _count(
        db,
        "delete from states where at < ? and not (version = (select max(version) from states s "
        "where s.session = states.session) and (session = " + _NEWEST + " or exists "
        "(select 1 from turns where session = states.session)))",
        before,
    )
    over = "at < ? and session is not " + _NEWEST
    summed = db.execute(f"select session from summaries where {over}", [before]).fetchall()
    Rows(db).remove(f"summary:{session}" for (session,) in summed)
    summaries = _count(db, f"delete from summaries where {over}", before)
    empty = " and ".join(
        f"not exists (select 1 from {table} where session = sessions.id)"
        for table in ("turns", "states", "summaries", "jobs")
    )
    sessions = _count(
        db, f"delete from sessions where touched < ? and id is not {_NEWEST} and {empty}", before
    )
    return {
        "turns": len(old), "states": states, "summaries": summaries,
        "sessions": sessions, "jobs": jobs,
    }  # fmt: skip


def _ended(db: Database, before: float) -> dict[str, int]:
    old = {key for (key,) in db.execute("select id from facts where ended < ?", [before])}
    delete_facts(db, old)
    changes = _count(db, "delete from changes where at < ?", before)
    for key in old:
        changes += _count(db, "delete from changes where fact = ?", key)
    return {"facts": len(old), "changes": changes}


def _count(db: Database, sql: str, *values: object) -> int:
    return int(db.execute(sql, values).rowcount)
