"""Encrypted SQLite files: one way to open them, and what their errors are called.

Knows neither tables nor where a key comes from. SQLCipher's errors are not sqlite3's, so that
sqlite-utils would not know them: those a statement raises here are of both families.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote

from sqlcipher3 import dbapi2 as sqlcipher
from sqlite_utils import Database

from assistant.errors import StorageError

T = TypeVar("T")

SqlError: tuple[type[Exception], ...] = (sqlite3.Error, sqlcipher.Error)
SqlOperationalError: tuple[type[Exception], ...] = (
    sqlite3.OperationalError,
    sqlcipher.OperationalError,
)
"""a full disk, a lock that is held: it may work later"""
SqlIntegrityError: tuple[type[Exception], ...] = (sqlite3.IntegrityError, sqlcipher.IntegrityError)

BUSY_SECONDS = 5.0
"""how long SQLite itself waits for a lock that another connection holds"""
KEY_BYTES = 32
_PLAIN = b"SQLite format 3\0"
"""how a file begins that is not encrypted (SQLite file format, section 1.3)"""


class _OperationalError(sqlcipher.OperationalError, sqlite3.OperationalError):  # type: ignore[misc]
    """For whoever expects either driver."""


class _IntegrityError(sqlcipher.IntegrityError, sqlite3.IntegrityError):  # type: ignore[misc]
    """For whoever expects either driver."""


class Connection(sqlcipher.Connection):  # type: ignore[misc]
    """Raises errors of both drivers; only those of fetching rows are SQLCipher's alone."""

    def execute(self, *arguments: Any) -> Any:
        return _translated(super().execute, *arguments)

    def executemany(self, *arguments: Any) -> Any:
        return _translated(super().executemany, *arguments)

    def executescript(self, *arguments: Any) -> Any:
        return _translated(super().executescript, *arguments)


def _translated(call: Callable[..., T], *arguments: Any) -> T:
    try:
        return call(*arguments)
    except sqlcipher.OperationalError as error:
        raise _OperationalError(*error.args) from error
    except sqlcipher.IntegrityError as error:
        raise _IntegrityError(*error.args) from error


def connect(
    path_or_uri: Path | str,
    key: bytes | None,
    *,
    read_only: bool = False,
    busy: float = BUSY_SECONDS,
) -> Database:
    """A connection that any thread may use, one at a time; without a key the file is plain.

    path_or_uri: a path, or a text that begins with "file:" (sqlite.org/uri.html)
    key: 32 bytes, used as they are (no derivation: it opens in a millisecond)
    read_only: nothing can be written, and a file that is missing is not made
    Raises StorageError.
    """
    is_uri = isinstance(path_or_uri, str) and path_or_uri.startswith("file:")
    uri = str(path_or_uri) if is_uri else _uri(Path(path_or_uri), "rw" if read_only else "rwc")
    connection = None
    try:
        connection = sqlcipher.connect(
            uri,
            uri=True,
            timeout=busy,
            check_same_thread=False,
            isolation_level=None,
            factory=Connection,
        )
        _prepare(connection, key, read_only)
        return Database(connection)
    except SqlError as error:
        if connection is not None:
            connection.close()
        _refuse(path_or_uri, error)


def raw_key(key: bytes) -> str:
    """The key as SQLCipher takes it without deriving another from it."""
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes, not {len(key)}")
    return f"x'{key.hex()}'"


def is_plain(path: Path) -> bool:
    """The file is there and is an SQLite database without encryption. Raises OSError."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_PLAIN)) == _PLAIN


def _uri(path: Path, mode: str) -> str:
    """Three slashes and the absolute path: right for POSIX, drive letters and network shares."""
    text = quote(os.fsencode(path.absolute().as_posix()), safe="/:")
    return f"file://{'' if text.startswith('/') else '/'}{text}?mode={mode}"


def _prepare(connection: Any, key: bytes | None, read_only: bool) -> None:
    # Its log goes to stderr; what is wrong is said in the error.
    connection.execute("PRAGMA cipher_log_level = NONE")
    if key is not None:
        connection.execute(f'PRAGMA key = "{raw_key(key)}"')
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # reads the first page
    if read_only:
        connection.execute("PRAGMA query_only = ON")
    else:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _refuse(path: Path | str, error: Exception) -> NoReturn:
    if isinstance(error, SqlOperationalError):
        raise StorageError(
            f"{path}: the database cannot be opened ({error}); free some space if the disk is "
            "full, or end the program that holds it, or use --data DIR."
        ) from None
    raise StorageError(
        f"{path}: the database cannot be opened with this key, or is damaged ({error}); put back "
        "the vault.json and the key (key file or keyring entry) it was made with, or move the "
        "file away to start anew and bring back a backup with run.py memory import, or use "
        "--data DIR."
    ) from None
