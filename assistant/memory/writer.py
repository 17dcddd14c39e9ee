"""One writer: a single thread owns the connection, everybody else hands it functions.

A write that the disk or another process refuses stays in the queue and is tried again, so that
nothing answered is lost while the program lives; the person is told once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from sqlite_utils import Database

from assistant.errors import AssistantError, StorageError
from assistant.events import Failed
from assistant.memory.banks import Banks, bank_id
from assistant.sealed import SqlError, SqlOperationalError
from assistant.workers import CancelToken, Inbox, Ticket, Worker

T = TypeVar("T")
RETRY_SECONDS = 1.0
QUEUE = 4096


class Store:
    """One bank at a time. Open it once per process; a second one on the folder is refused."""

    def __init__(
        self, banks: Banks, bank: str, tell: Callable[[Failed], None] = lambda event: None
    ) -> None:
        """bank: a person's name or id; "" is a guest, whose bank is in memory only.

        Raises ConfigError, DataInUse, StorageError.
        """
        self.banks = banks
        self._tell = tell
        self._bank = _id(bank)
        self._lock = banks.claim()
        try:
            banks.take_over(bank)
            self._db = self._open(self._bank)
        except BaseException:
            self._lock.release()
            raise
        self._queue: Inbox[tuple[Callable[[], Any], Ticket[Any]]] = Inbox(QUEUE)
        self._overflowing = False
        self._giving_up = CancelToken()
        self._worker = Worker("writer", self._write).start()

    @property
    def bank(self) -> str:
        """The id of the bank that is open; "" for a guest."""
        return self._bank

    def submit(self, work: Callable[[Database], T]) -> Ticket[T]:
        """Run `work` in one transaction on the writer's thread; the ticket holds its result."""

        def run() -> T:
            with self._db.atomic():
                return work(self._db)

        return self._enqueue(run)

    def rebind(self, bank: str, carry: Callable[[Database, Database], None]) -> Ticket[None]:
        """Between two writes, go over to another bank; what is handed in later is written there.

        carry: gets (old, new) within a transaction of the new bank; not called, and nothing
        changes, when that bank is open already. The ticket holds ConfigError or StorageError
        when the bank cannot be opened; then the old one stays.
        """
        return self._enqueue(lambda: self._change(bank, carry))

    def reader(self) -> Database:
        """A second connection to the open bank, which cannot write. Raises StorageError."""
        return self.banks.read(self._bank) if self._bank else self.banks.guest_reader()

    def close(self, seconds: float = 1.0) -> None:
        """Write what is queued, then let go of the folder."""
        self._queue.close()
        if not self._worker.join(seconds):
            self._giving_up.cancel()
            self._worker.join(seconds)
        with suppress(*SqlError):
            self._db.close()
        self._lock.release()

    def _open(self, bank: str) -> Database:
        return self.banks.connect(bank) if bank else self.banks.guest()

    def _change(self, bank: str, carry: Callable[[Database, Database], None]) -> None:
        bank = _id(bank)
        if bank == self._bank:
            return
        new = self._open(bank)
        try:
            with new.atomic():
                carry(self._db, new)
        except BaseException:
            new.close()
            raise
        old, self._db, self._bank = self._db, new, bank
        with suppress(*SqlError):
            old.close()

    def _enqueue(self, run: Callable[[], T]) -> Ticket[T]:
        ticket: Ticket[T] = Ticket()
        if self._queue.offer((run, ticket)):
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

    def _write(self) -> None:
        for run, ticket in self._queue:
            self._attempt(run, ticket)

    def _attempt(self, run: Callable[[], Any], ticket: Ticket[Any]) -> None:
        told = False
        while True:
            try:
                result = run()
            except SqlOperationalError as error:
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


def _id(bank: str) -> str:
    return bank_id(bank) if bank else ""


def _explain(error: Exception) -> StorageError:
    return StorageError(
        f"Writing to the database was refused ({error}); it is tried again until it succeeds. "
        "Free some disk space, or end the program that holds the file."
    )
