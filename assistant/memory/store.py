"""What is written and read, as functions on the database (to be handed to Store.submit)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlite_utils import Database

from assistant.errors import StaleWrite, StorageError
from assistant.events import Turn
from assistant.memory import writer
from assistant.redact import redact

Store = writer.Store
"""runs these functions"""


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation of one bank."""

    id: str
    bank: str
    before: str | None = None
    """the session that has ended and that this one follows; None when it is resumed"""


@dataclass(frozen=True, slots=True)
class Job:
    """Slow work that belongs to a turn."""

    session: str
    turn: int
    user_text: str
    language: str
    last_reply: str
    """what the assistant had said just before"""
    at: float = 0.0
    """when it was said, seconds since 1970"""


def open_session(bank: str, now: float, hours: float) -> Callable[[Database], Session]:
    """The bank's last session when it was touched within `hours`, else a new one.

    A session whose notes are still to be taken is not over, however old it is.
    """

    def work(db: Database) -> Session:
        rows = db.query(
            "select id, touched >= ? or exists (select 1 from jobs where session = sessions.id and "
            "status = 'queued') as going_on from sessions where bank = ? and private is null "
            "order by touched desc limit 1",
            [now - hours * 3600, bank],
        )
        last = next(rows, None)
        if last is not None and last["going_on"]:
            return Session(last["id"], bank)
        db.execute("update sessions set ended = touched where bank = ? and ended is null", [bank])
        new = uuid.uuid4().hex[:12]
        db.table("sessions").insert({"id": new, "bank": bank, "started": now, "touched": now})
        return Session(new, bank, last["id"] if last is not None else None)

    return work


def begin_session(
    session: str,
    bank: str,
    state: dict[str, Any],
    now: float,
    old: str | None = None,
    *,
    private: bool = False,
) -> Callable[[Database], None]:
    """Another session begins with a state, and the `old` one is over.

    Of a `private` one nothing is stored but that there was one.
    """

    def work(db: Database) -> None:
        if old is not None:
            db.execute("update sessions set ended = ? where id = ?", [now, old])
        row = {"id": session, "bank": bank, "started": now, "touched": now}
        db.table("sessions").insert({**row, "private": 1 if private else None})
        if not private:
            begin_state(session, state, now)(db)

    return work


def keep_turn(turn: Turn, now: float, *, note: bool) -> Callable[[Database], None]:
    """Write the turn as far as it is known; with `note` also queue its state update.

    Secrets are taken out here once more, whoever hands the turn in (M12).
    """
    user_text, raw = redact(turn.user_text).text, redact(turn.raw).text

    def work(db: Database) -> None:
        if is_private(db, turn.session) or _is_forgotten(db, turn):
            return
        row = {
            "session": turn.session,
            "turn": turn.turn,
            "at": now,
            "user_text": user_text,
            "language": turn.language,
            "raw": raw,
            "reply": turn.reply,
            "heard": turn.heard,
            "interrupted": int(turn.interrupted),
            "latency_ms": json.dumps(turn.latency_ms),
            "state_before": turn.state_before.get("version", 0),
            "decisions": json.dumps(turn.decisions, ensure_ascii=False),
        }
        db.table("turns").upsert(row, pk=("session", "turn"))
        db.table("sessions").update(turn.session, {"touched": now})
        if note:
            job = {"session": turn.session, "turn": turn.turn, "kind": "notes"}
            db.table("jobs").insert(
                {**job, "status": "queued", "attempts": 0, "changed": now},
                pk=("session", "turn", "kind"),
                ignore=True,
            )

    return work


def commit_state(
    session: str, turn: int, expected: int, state: dict[str, Any], now: float
) -> Callable[[Database], None]:
    """Write a state and close the job of its turn, in one transaction.

    Raises StaleWrite when the stored version is no longer `expected`.
    """

    def work(db: Database) -> None:
        if is_private(db, session):
            return
        keep_state(session, turn, expected, state, now)(db)
        db.table("turns").update((session, turn), {"state_after": state["version"]})
        end_job(session, turn, "done", now)(db)

    return work


def keep_state(
    session: str, turn: int, expected: int, state: dict[str, Any], now: float
) -> Callable[[Database], None]:
    """Write a state that belongs to no note: compare and set. Raises StaleWrite."""

    def work(db: Database) -> None:
        if is_private(db, session):
            return
        stored = current_version(db, session)
        if stored != expected:
            raise StaleWrite(f"The state is at version {stored}, not at {expected}; read it again.")
        if state["version"] != expected:
            row = {"session": session, "version": state["version"], "at": now, "turn": turn}
            db.table("states").insert({**row, "state": json.dumps(state, ensure_ascii=False)})

    return work


def begin_state(session: str, state: dict[str, Any], now: float) -> Callable[[Database], None]:
    """The state a session begins with, before its first turn."""

    def work(db: Database) -> None:
        row = {"session": session, "version": state["version"], "at": now, "turn": 0}
        db.table("states").insert({**row, "state": json.dumps(state, ensure_ascii=False)})

    return work


def end_job(
    session: str, turn: int, status: str, now: float, error: str = ""
) -> Callable[[Database], None]:
    """Set a job's status: done or failed."""

    def work(db: Database) -> None:
        db.execute(
            "update jobs set status = ?, error = ?, changed = ?, attempts = attempts + 1 "
            "where session = ? and turn = ? and kind = 'notes'",
            [status, error, now, session, turn],
        )

    return work


def give_up_jobs(session: str, now: float) -> Callable[[Database], None]:
    """What is queued to be noted was taken back."""

    def work(db: Database) -> None:
        db.execute(
            "update jobs set status = 'undone', changed = ? where session = ? and "
            "status = 'queued' and kind = 'notes'",
            [now, session],
        )

    return work


def load_job(session: str, turn: int) -> Callable[[Database], Job | None]:
    """The state update that a turn still needs, with what it has to be written from."""

    def work(db: Database) -> Job | None:
        sql = (
            "select t.user_text, t.language, t.at, (select heard from turns where "
            "session = t.session and turn = t.turn - 1) as said "
            "from turns t join jobs j on j.session = t.session "
            "and j.turn = t.turn where t.session = ? and t.turn = ? and j.kind = 'notes' "
            "and j.status = 'queued'"
        )
        row = next(db.query(sql, [session, turn]), None)
        if row is None:
            return None
        said = redact(row["user_text"]).text  # rows of an earlier version hold what was said
        return Job(session, turn, said, row["language"], row["said"] or "", row["at"])

    return work


def _is_forgotten(db: Database, turn: Turn) -> bool:
    """The person has had this turn forgotten: a late record does not bring it back."""
    row = db.execute(
        "select user_text from turns where session = ? and turn = ?", [turn.session, turn.turn]
    ).fetchone()
    return row is not None and not row[0] and bool(turn.user_text)


def is_private(db: Database, session: str) -> bool:
    """Nothing of this conversation is to be kept."""
    row = db.execute("select private from sessions where id = ?", [session]).fetchone()
    return bool(row and row[0])


def current_version(db: Database, session: str) -> int:
    row = db.execute("select max(version) from states where session = ?", [session]).fetchone()
    return int(row[0] or 0)


def load_state(session: str) -> Callable[[Database], dict[str, Any]]:
    """The newest state as a dictionary; {} when there is none. StorageError when it is damaged."""

    def work(db: Database) -> dict[str, Any]:
        row = db.execute(
            "select state from states where session = ? order by version desc limit 1", [session]
        ).fetchone()
        try:
            return dict(json.loads(row[0])) if row else {}
        except (ValueError, TypeError) as error:
            raise StorageError(f"The stored state is damaged ({error}).") from None

    return work


def load_states(session: str, last: int) -> Callable[[Database], list[dict[str, Any]]]:
    """The states before the newest one, at most `last`, oldest first; damaged ones are left out."""

    def work(db: Database) -> list[dict[str, Any]]:
        rows = db.execute(
            "select state from states where session = ? order by version desc limit ? offset 1",
            [session, last],
        ).fetchall()
        found = []
        for (text,) in reversed(rows):
            with suppress(ValueError, TypeError):
                found.append(dict(json.loads(text)))
        return found

    return work


def load_turns(session: str, last: int) -> Callable[[Database], list[dict[str, Any]]]:
    """The last turns, oldest first, and every older one whose update is still queued."""

    def work(db: Database) -> list[dict[str, Any]]:
        sql = (
            "select t.*, j.status = 'queued' as queued from turns t left join jobs j "
            "on j.session = t.session and j.turn = t.turn and j.kind = 'notes' "
            "where t.session = ? and (j.status = 'queued' or t.turn > "
            "(select coalesce(max(turn), 0) from turns where session = ?) - ?) order by t.turn"
        )
        rows = db.query(sql, [session, session, last])
        return [{**row, "user_text": redact(row["user_text"]).text} for row in rows]

    return work
