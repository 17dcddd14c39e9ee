"""What a bank's database is asked to do, as work for its one writer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from sqlite_utils import Database

from assistant.memory.fact_rows import memory_of
from assistant.memory.facts import Op
from assistant.memory.forget import Forgotten, forget
from assistant.memory.rows import Row, Rows
from assistant.memory.store import Job
from assistant.mind.block import TURN
from assistant.mind.memories import Memory


def most_important(most: int, start: int = 0) -> Callable[[Database], list[Memory]]:
    """The active memories, best first, from the `start`th on."""

    def work(db: Database) -> list[Memory]:
        sql = (
            "select * from facts where ended is null order by pinned desc, "
            "importance * (1 + 2 * lasting) desc, said desc, id limit ? offset ?"
        )
        return [memory_of(row) for row in db.query(sql, [most, start])]

    return work


def forget_turn(
    session: str, turns: Collection[int], ids: Sequence[str], now: float, db: Database
) -> Forgotten:
    """These, and everything the turns told, also what was noted of them a moment ago."""
    every = list(ids)
    for turn in turns:
        rows = db.execute("select id from facts where session = ? and turn = ?", [session, turn])
        every += [one for (one,) in rows.fetchall()]
    return forget(every, now, turns=[(session, turn) for turn in turns if turn])(db)


def is_gone(db: Database, session: str) -> bool:
    """The conversation was deleted, or is not to be kept."""
    row = db.execute("select private from sessions where id = ?", [session]).fetchone()
    return row is None or bool(row[0])


def keep_episode(job: Job, at: float, db: Database) -> list[Op]:
    if is_gone(db, job.session):
        return []
    row = Row(
        f"{TURN}{job.session}:{job.turn}", job.user_text, at, job.language, "user", job.session,
        job.turn,
    )  # fmt: skip
    Rows(db).write(row)
    return []
