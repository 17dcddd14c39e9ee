"""Steps of tidying up, written with what stood there before; a whole run can be taken back.

Functions on the database, to be handed to Store.submit. A step whose rows have changed since it
was planned is left out: whoever spoke meanwhile is right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlite_utils import Database

from assistant.memory.facts import memory_of, row_of, search_row
from assistant.memory.rows import Rows
from assistant.memory.tidy import Step
from assistant.mind.memories import Memory

PAGE = 500
"""rows that are read at a time"""
CURSOR, LAST, DRAWN = "consolidation", "consolidation_run", "insight:"
"""keys in the table meta"""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A run that was begun."""

    run: int
    active: int
    """memories at its beginning"""
    ended: int = 0


def apply(steps: Sequence[Step], run: int, now: float) -> Callable[[Database], list[Step]]:
    """Carry out the steps whose rows are as they were planned on; those that were."""

    def work(db: Database) -> list[Step]:
        return [step for step in steps if _fits(db, step) and _carry_out(db, step, run, now)]

    return work


def _fits(db: Database, step: Step) -> bool:
    planned = [*(before for before, _ in step.changes), *step.unchanged]
    if any(_stored(db, one.id) != one for one in planned):
        return False
    return step.new is None or not _taken(db, step.new.norm)


def _stored(db: Database, key: str) -> Memory | None:
    """Whole: a use leaves the version as it is, and must not be lost either."""
    row = _row(db, key)
    return memory_of(row) if row is not None else None


def _version(db: Database, key: str) -> int | None:
    row = db.execute("select version from facts where id = ?", [key]).fetchone()
    return row[0] if row else None


def _taken(db: Database, norm: str, besides: str = "") -> bool:
    """Another active memory says it already."""
    same = "select 1 from facts where norm = ? and ended is null and id != ?"
    return db.execute(same, [norm, besides]).fetchone() is not None


def _carry_out(db: Database, step: Step, run: int, now: float) -> bool:
    shown = Rows(db)
    for before, after in step.changes:
        _record(db, run, now, step.op, before.id, _row(db, before.id))
        db.table("facts").update(before.id, row_of(after))
        if (before.ended is None) != (after.ended is None):
            shown.hide([f"fact:{after.id}"], after.ended is not None)
    if step.new is not None:
        old = _row(db, step.new.id)
        _record(db, run, now, step.op, step.new.id, old)
        db.table("facts").upsert(row_of(step.new), pk="id")
        shown.write(search_row(step.new))
    return True


def _record(
    db: Database, run: int, now: float, op: str, key: str, row: Mapping[str, Any] | None
) -> None:
    before = json.dumps(row, ensure_ascii=False) if row is not None else None
    db.table("changes").insert({"run": run, "at": now, "op": op, "fact": key, "before": before})


def _row(db: Database, key: str) -> dict[str, Any] | None:
    found: dict[str, Any] | None = next(db.query("select * from facts where id = ?", [key]), None)
    return found


def undo_run(run: int) -> Callable[[Database], int]:
    """Put back what a run of tidying up changed; how many memories are as they were.

    Their version rises all the same. What has changed since the run stays as it is, and so does an
    ended memory that somebody has said anew meanwhile. Runs are counted from 1.
    """

    def work(db: Database) -> int:
        if run < 1:
            return 0
        changed: dict[str, list[str | None]] = {}
        for key, before in db.execute(
            "select fact, before from changes where run = ? order by number", [run]
        ).fetchall():
            changed.setdefault(key, []).append(before)
        back = sum(_put_back(db, key, rows) for key, rows in reversed(changed.items()))
        db.execute("delete from changes where run = ?", [run])
        return back

    return work


def _put_back(db: Database, key: str, rows: Sequence[str | None]) -> bool:
    """From the first row before to what the last one became."""
    first, last = (json.loads(text) if text else None for text in (rows[0], rows[-1]))
    expected = 1 if last is None else last["version"] + 1
    if _version(db, key) != expected:
        return False
    name = f"fact:{key}"
    if first is None:
        db.execute("delete from facts where id = ?", [key])
        Rows(db).remove([name])
        return True
    if first["ended"] is None and _taken(db, first["norm"], key):
        return False
    db.table("facts").update(key, {**first, "version": expected + 1})
    Rows(db).hide([name], first["ended"] is not None)
    return True


def last_run(db: Database) -> int:
    """The number of the newest run, 0 when there was none."""
    numbers = [
        json.loads(value)["run"] if key == CURSOR else int(value)
        for key, value in db.execute(
            "select key, value from meta where key in (?, ?)", [CURSOR, LAST]
        ).fetchall()
    ]
    return max(numbers, default=0)


def begin(active: int) -> Callable[[Database], Cursor]:
    """Go on with the run that was stopped, or begin another."""

    def work(db: Database) -> Cursor:
        row = db.execute("select value from meta where key = ?", [CURSOR]).fetchone()
        if row is not None:
            return Cursor(**json.loads(row[0]))
        cursor = Cursor(last_run(db) + 1, active)
        _keep(db, cursor)
        return cursor

    return work


def write(steps: Sequence[Step], run: int, now: float) -> Callable[[Database], list[Step]]:
    """Carry out a batch, and count it in the cursor of the run."""

    def work(db: Database) -> list[Step]:
        row = db.execute("select value from meta where key = ?", [CURSOR]).fetchone()
        if row is None:
            return []  # everything was forgotten meanwhile
        done = apply(steps, run, now)(db)
        cursor = Cursor(**json.loads(row[0]))
        ended = sum(one.ended for one in done if one.op != "outdated")
        _keep(db, replace(cursor, ended=cursor.ended + ended))
        for one in done:
            if one.new is not None:
                value = {"key": f"{DRAWN}{one.new.id}", "value": str(run)}
                db.table("meta").upsert(value, pk="key")
        return done

    return work


def finish(run: int) -> Callable[[Database], None]:
    """The run is over."""

    def work(db: Database) -> None:
        db.execute("delete from meta where key = ?", [CURSOR])
        db.table("meta").upsert({"key": LAST, "value": str(run)}, pk="key")

    return work


def drawn(db: Database) -> frozenset[str]:
    """Ids of all insights there ever were, the forgotten ones too."""
    rows = db.execute("select key from meta where key like ?", [f"{DRAWN}%"]).fetchall()
    return frozenset(key.removeprefix(DRAWN) for (key,) in rows)


def page(after: str) -> Callable[[Database], list[dict[str, Any]]]:
    """The next rows of the facts, by id."""

    def work(db: Database) -> list[dict[str, Any]]:
        sql = "select * from facts where id > ? order by id limit ?"
        return list(db.query(sql, [after, PAGE]))

    return work


def _keep(db: Database, cursor: Cursor) -> None:
    value = json.dumps({"run": cursor.run, "active": cursor.active, "ended": cursor.ended})
    db.table("meta").upsert({"key": CURSOR, "value": value}, pk="key")
