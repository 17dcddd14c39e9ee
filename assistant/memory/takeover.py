"""What an earlier version kept as plain files becomes encrypted: copied, read again, then removed.

Cut off anywhere it begins again at the next start, and nothing is lost or there twice. Knows
neither keys nor banks but through what it is handed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from assistant.errors import StorageError
from assistant.memory.db import migrations
from assistant.sealed import connect, is_plain, raw_key

TABLES = {"sessions": "id", "turns": "session", "states": "session", "jobs": "session"}
"""what the plain database held, each with the column that names the session"""
MARK = "taken_over"
"""row of a bank's meta table: ids of the sessions that were copied and read again"""
SIDES = ("-wal", "-shm", "-journal")
"""what SQLite keeps beside a database"""

Digest = tuple[int, int]
"""of a table: how many rows, and the sum of their hashes (so that their order is nothing)"""


def take_over_memory(
    path: Path, bank_of: Callable[[str], str], open_bank: Callable[[str], Database]
) -> None:
    """Move each person's rows of a plain database into their own bank, then remove it.

    bank_of: the id of a bank today, from the one it had in the plain database
    open_bank: a new connection to the bank with this id
    Raises StorageError, SqlError, OSError.
    """
    if path.exists():
        old = _alone(path)
        try:
            migrations.apply(old)
            for (name,) in old.execute("SELECT DISTINCT bank FROM sessions").fetchall():
                _move_bank(path, old, name, bank_of(name), open_bank)
        finally:
            old.close()
    remove(path)


def seal(path: Path, key: bytes) -> None:
    """Encrypt a plain database in place: export, read again, replace.

    Raises StorageError, SqlError, OSError.
    """
    new = path.with_name(path.name + ".new")
    remove(new)
    if not is_plain(path):
        return
    old = _alone(path)
    try:
        (version,) = old.execute("PRAGMA user_version").fetchone()
        old.execute("ATTACH DATABASE ? AS sealed KEY ?", [str(new.absolute()), raw_key(key)])
        old.execute("SELECT sqlcipher_export('sealed')").fetchall()
        old.execute(f"PRAGMA sealed.user_version = {int(version)}")
        old.execute("DETACH DATABASE sealed")
        copy = connect(new, key, read_only=True)
        try:
            _compare(path, _everything(old), _everything(copy))
        finally:
            copy.close()
    finally:
        old.close()
    with new.open("rb+") as file:
        os.fsync(file.fileno())
    new.replace(path)


def remove(path: Path) -> None:
    """Delete a database and what stands beside it. Raises StorageError when something is left."""
    every = [path, *(path.with_name(path.name + side) for side in SIDES)]
    why = ""
    for one in every:
        try:
            one.unlink(missing_ok=True)
        except OSError as error:
            why = why or f" ({error.strerror or error})"
    if left := [str(one) for one in every if one.exists()]:
        raise StorageError(
            f"{', '.join(left)}: cannot be deleted{why}; end the program that holds it, "
            "then try again or delete it yourself."
        )


def _alone(path: Path) -> Database:
    """Open a plain database with its log folded in: from now on it is one file."""
    db = connect(path, None)
    try:
        (mode,) = db.execute("PRAGMA journal_mode = DELETE").fetchone()
        if mode != "delete":
            raise StorageError(f"{path}: another program holds it; end that, then start again.")
    except BaseException:
        db.close()
        raise
    return db


def _move_bank(
    path: Path, old: Database, name: str, bank: str, open_bank: Callable[[str], Database]
) -> None:
    new = open_bank(bank)
    try:
        marked = _marked(new)
        found = old.execute("SELECT id FROM sessions WHERE bank = ?", [name]).fetchall()
        # Those that are marked have gone on in the bank: they are its own by now.
        sessions = [row[0] for row in found if row[0] not in marked]
        with new.atomic():
            for table in TABLES:
                columns = _columns(old, table)
                marks = ", ".join("?" * len(columns))
                sql = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})"
                new.conn.executemany(sql, _rows(old, table, columns, sessions, bank))
    finally:
        new.close()
    new = open_bank(bank)
    try:
        _compare(path, *(_content(db, old, sessions, bank) for db in (old, new)))
        row = {"key": MARK, "value": json.dumps(sorted(marked | set(sessions)))}
        new.table("meta").upsert(row, pk="key")
    finally:
        new.close()


def _marked(db: Database) -> set[str]:
    row = db.execute("SELECT value FROM meta WHERE key = ?", [MARK]).fetchone()
    return set(json.loads(row[0])) if row else set()


def _columns(db: Database, table: str) -> list[str]:
    return sorted(column.name for column in db.table(table).columns)


def _rows(
    db: Database, table: str, columns: Sequence[str], sessions: Iterable[str], bank: str
) -> Iterator[tuple[Any, ...]]:
    """The rows of these sessions, under the id that the bank has today."""
    names = ", ".join("?" if name == "bank" else name for name in columns)
    values = [bank] if "bank" in columns else []
    for session in sessions:
        sql = f"SELECT {names} FROM {table} WHERE {TABLES[table]} = ?"
        yield from db.execute(sql, [*values, session])


def _content(
    db: Database, old: Database, sessions: Sequence[str], bank: str
) -> Mapping[str, Digest]:
    return {
        table: _digest(_rows(db, table, _columns(old, table), sessions, bank)) for table in TABLES
    }


def _everything(db: Database) -> Mapping[str, Digest]:
    """Every table, and how all is laid out."""
    schema = db.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
    ).fetchall()
    tables = [name for kind, name, *_ in schema if kind == "table"]
    found = {name: _digest(db.execute(f'SELECT * FROM "{name}"')) for name in tables}
    return {**found, "sqlite_master": _digest(schema)}


def _digest(rows: Iterable[Sequence[Any]]) -> Digest:
    count = total = 0
    for row in rows:
        count += 1
        total += int.from_bytes(hashlib.sha256(repr(tuple(row)).encode()).digest(), "big")
    return count, total


def _compare(path: Path, there: Mapping[str, Digest], here: Mapping[str, Digest]) -> None:
    for table in sorted({*there, *here}):
        old, new = there.get(table, (0, 0)), here.get(table, (0, 0))
        if old != new:
            raise StorageError(
                f"{path}: this memory of an earlier version could not be copied whole (of "
                f"{old[0]} rows of {table}, {new[0]} came back); nothing was removed: free some "
                "disk space and start again, or use --data DIR."
            )
