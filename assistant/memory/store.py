"""One writer: a single thread owns the connection, everybody else hands it functions.

A write that the disk or another process refuses stays in the queue and is tried again, so that
nothing answered is lost while the program lives; the person is told once.
"""

from __future__ import annotations

import json
import os
import sqlite3
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout
from sqlite_utils import Database

from assistant.errors import AssistantError, DataInUse, StaleWrite, StorageError
from assistant.events import Failed, Turn
from assistant.memory.db import connect
from assistant.redact import redact
from assistant.workers import CancelToken, Inbox, Ticket, Worker

T = TypeVar("T")
RETRY_SECONDS = 1.0
QUEUE = 4096


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


class Store:
    """Open it once per process; a second instance on the same folder is refused."""

    def __init__(self, folder: Path, tell: Callable[[Failed], None] = lambda event: None) -> None:
        self._tell = tell
        self._lock = _claim(folder)
        try:
            self._db = connect(folder / "assistant.db")
        except BaseException:
            self._lock.release()
            raise
        self._queue: Inbox[tuple[Callable[[Database], Any], Ticket[Any]]] = Inbox(QUEUE)
        self._overflowing = False
        self._giving_up = CancelToken()
        self._worker = Worker("writer", self._write).start()

    def submit(self, work: Callable[[Database], T]) -> Ticket[T]:
        """Run `work` in one transaction on the writer's thread; the ticket holds its result."""
        ticket: Ticket[T] = Ticket()
        if self._queue.offer((work, ticket)):
            return ticket
        if self._queue.closed:
            ticket.set_exception(StorageError("The database is already closed."))
            return ticket
        # Whoever answers never waits for a disk that has been full for so long.
        error = StorageError("The database has refused for too long; what is said now is not kept.")
        ticket.set_exception(error)
        if not self._overflowing:
            self._overflowing = True
            self._tell(Failed("memory", error))
        return ticket

    def close(self, seconds: float = 1.0) -> None:
        """Write what is queued, then let go of the folder."""
        self._queue.close()
        if not self._worker.join(seconds):
            self._giving_up.cancel()
            self._worker.join(seconds)
        with suppress(sqlite3.Error):
            self._db.close()
        self._lock.release()

    def _write(self) -> None:
        for work, ticket in self._queue:
            self._attempt(work, ticket)

    def _attempt(self, work: Callable[[Database], Any], ticket: Ticket[Any]) -> None:
        told = False
        while True:
            try:
                with self._db.atomic():
                    result = work(self._db)
            except sqlite3.OperationalError as error:
                if not told:
                    told = True
                    self._tell(Failed("memory", _explain(error)))
                if self._giving_up.wait(RETRY_SECONDS):
                    ticket.set_exception(_explain(error))
                    return
            except AssistantError as error:
                ticket.set_exception(error)
                return
            except Exception as error:  # most writes have nobody who reads the ticket
                why = f"A write to the database failed for good and is lost ({error})."
                self._tell(Failed("memory", StorageError(why)))
                ticket.set_exception(error)
                return
            else:
                self._overflowing = False
                ticket.set_result(result)
                return


def _claim(folder: Path) -> FileLock:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.name == "posix":
            folder.chmod(0o700)
        lock = FileLock(folder / "lock", timeout=0, thread_local=False)
        lock.acquire()
    except Timeout:
        raise DataInUse(
            f"{folder}: another assistant is already running on this data; "
            "end it first, or give this one its own folder with --data DIR."
        ) from None
    except OSError as error:
        raise StorageError(
            f"{folder}: the data folder cannot be used ({error.strerror or error}); "
            "choose another with --data DIR."
        ) from None
    return lock


def _explain(error: sqlite3.Error) -> StorageError:
    return StorageError(
        f"Writing to the database was refused ({error}); it is tried again until it succeeds. "
        "Free some disk space, or end the program that holds the file."
    )


# What is written and read, as functions on the database (to be handed to Store.submit).


def open_session(bank: str, now: float, hours: float) -> Callable[[Database], Session]:
    """The bank's last session when it was touched within `hours`, else a new one.

    A session whose notes are still to be taken is not over, however old it is.
    """

    def work(db: Database) -> Session:
        rows = db.query(
            "select id, touched >= ? or exists (select 1 from jobs where session = sessions.id and "
            "status = 'queued') as going_on from sessions where bank = ? order by touched desc "
            "limit 1",
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


def keep_turn(turn: Turn, now: float, *, note: bool) -> Callable[[Database], None]:
    """Write the turn as far as it is known; with `note` also queue its state update.

    Secrets are taken out here once more, whoever hands the turn in (M12).
    """
    user_text, raw = redact(turn.user_text).text, redact(turn.raw).text

    def work(db: Database) -> None:
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
        keep_state(session, turn, expected, state, now)(db)
        db.table("turns").update((session, turn), {"state_after": state["version"]})
        end_job(session, turn, "done", now)(db)

    return work


def keep_state(
    session: str, turn: int, expected: int, state: dict[str, Any], now: float
) -> Callable[[Database], None]:
    """Write a state that belongs to no note: compare and set. Raises StaleWrite."""

    def work(db: Database) -> None:
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
            "select t.user_text, t.language, (select heard from turns where session = t.session "
            "and turn = t.turn - 1) as said from turns t join jobs j on j.session = t.session "
            "and j.turn = t.turn where t.session = ? and t.turn = ? and j.kind = 'notes' "
            "and j.status = 'queued'"
        )
        row = next(db.query(sql, [session, turn]), None)
        if row is None:
            return None
        said = redact(row["user_text"]).text  # rows of an earlier version hold what was said
        return Job(session, turn, said, row["language"], row["said"] or "")

    return work


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
