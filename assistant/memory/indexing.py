"""What the index does to a bank, as work for the one writer, and engines that stop between texts.

Vectors are made by a background thread that only reads; what it made is handed over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from assistant.memory.floats import Floats
from assistant.memory.rows import Connection, Row, Rows
from assistant.stages import Cancel

Write = Callable[[Callable[[Any], Any]], Any]
"""Runs work(db) in a transaction of the one writer; returns when it is done, raises what it did."""
STEP = 1
"""texts that are read between two looks at whether somebody speaks: 10 to 40 ms each"""


def stopped(cancel: Cancel | None) -> bool:
    """Somebody speaks, or the work is old."""
    return cancel is not None and cancel.cancelled


def in_steps(
    engine: Callable[[Sequence[str]], Floats], texts: Sequence[str], cancel: Cancel | None
) -> list[Any]:
    """What an engine makes of each text, as far as it came before somebody spoke."""
    size = len(texts) if cancel is None else STEP
    made: list[Any] = []
    for start in range(0, len(texts), max(1, size)):
        if stopped(cancel):
            break
        made.extend(engine(texts[start : start + size]))
    return made


def prepare(db: Connection) -> None:
    """Make the tables."""
    Rows(db)


def write_rows(rows: Sequence[Row], db: Connection) -> None:
    """Put rows in, in place of those with the same ids."""
    writer = Rows(db)
    for row in rows:
        writer.write(row)


def remove_rows(ids: Sequence[str], db: Connection) -> None:
    """Forget rows for good."""
    Rows(db).remove(ids)


def hide_rows(ids: Sequence[str], hidden: bool, db: Connection) -> None:
    """Keep rows, but leave them out of every answer."""
    Rows(db).hide(ids, hidden)


def keep_vectors(
    encoder: str, numbers: Sequence[int], vectors: Sequence[Floats], db: Connection
) -> None:
    """The vectors that one encoder made of rows."""
    writer = Rows(db, create=False)
    for number, vector in zip(numbers, vectors, strict=True):
        writer.keep(number, encoder, vector)
