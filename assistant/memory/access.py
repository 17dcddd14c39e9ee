"""A bank opened for one command: read beside a running assistant, or written by nobody else.

Raises InputError for a bank that is not there, DataInUse while an assistant runs, StorageError for
whatever SQLite refuses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from sqlite_utils import Database

from assistant.errors import InputError, StorageError
from assistant.memory.banks import OLD, Banks, bank_id
from assistant.memory.vault import KEY, VAULT
from assistant.sealed import SqlError
from assistant.workers import Ticket

T = TypeVar("T")


class Direct:
    """In the place of a Store: writes at once, on the thread that asks for it."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def submit(self, work: Callable[[Database], T]) -> Ticket[T]:
        ticket: Ticket[T] = Ticket()
        ticket.set_result(in_one(self._db, work))
        return ticket


def existing(banks: Banks, name: str) -> str:
    """The id of a bank that is there. Raises InputError naming those that are."""
    key = bank_id(name)
    if banks.exists(key):
        return key
    if not banks.names() and (banks.home / OLD).is_file():
        raise InputError(
            f"{banks.home / OLD} is the memory of an earlier version; start the assistant once "
            "(run.py chat): that encrypts it, one bank for each person."
        )
    there = f"there are: {', '.join(banks.names())}" if banks.names() else "there is none yet"
    raise InputError(f"There is no memory of {key} in {banks.folder}; {there}.")


def key_place(banks: Banks) -> str:
    """Where the key of the banks is kept."""
    try:
        kept = json.loads((banks.folder / VAULT).read_text(encoding="utf-8"))["kept"]
    except (OSError, ValueError, KeyError, TypeError):
        return "no place yet"
    return str(banks.folder / KEY) if kept == "file" else "the system's keyring"


@contextmanager
def reading(banks: Banks, name: str) -> Iterator[Database]:
    """A connection that cannot write."""
    key = existing(banks, name)
    with _explained(banks.path(key)), closing(banks.read(key)) as db:
        yield db


@contextmanager
def claimed(banks: Banks, default: str) -> Iterator[None]:
    """The folder, for this process alone. `default`: memory.bank, for what is taken over."""
    with banks.claim():
        banks.take_over(default)
        yield


@contextmanager
def writing(banks: Banks, name: str, default: str, *, new: bool = False) -> Iterator[Database]:
    """The writer's connection; with `new` the bank is made when it is not there."""
    with claimed(banks, default):
        key = bank_id(name) if new else existing(banks, name)
        with _explained(banks.path(key)), closing(banks.connect(key)) as db:
            yield db


def in_one(db: Database, work: Callable[[Database], T]) -> T:
    """In one transaction: all of it or nothing."""
    with db.atomic():
        return work(db)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except SqlError as error:
        raise StorageError(
            f"{path}: the database refused ({error}), so nothing was changed; free some disk "
            "space, or end the program that holds the file, then try again."
        ) from None
