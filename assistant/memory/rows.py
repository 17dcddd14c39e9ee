"""The rows that can be found, in the bank's own database: texts, their words, their vectors.

It commits nothing: whoever calls decides on transactions. It knows no driver (sqlite3, sqlcipher3
and sqlite-utils all have `execute`), no engine and no ranking.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assistant.memory.floats import Floats, one_core
from assistant.memory.ranking import Numbers, neighbours
from assistant.memory.tokens import language_of, terms

CHUNK = 8192
"""vectors that are widened to float32 at a time"""

SCHEMA = (
    "create table if not exists search_texts (number integer primary key autoincrement, "
    "id text not null unique, text text not null, language text not null, at real not null, "
    "speaker text not null, session text not null, position integer not null, "
    "importance real not null, hidden integer not null default 0)",
    "create virtual table if not exists search_words "
    "using fts5(words, tokenize='porter unicode61')",
    "create table if not exists search_vectors (serial integer primary key autoincrement, "
    "number integer not null, encoder text not null, vector blob not null, "
    "unique (number, encoder))",
)


class Connection(Protocol):
    """sqlite3, sqlcipher3 or sqlite-utils."""

    def execute(self, sql: str, parameters: Any = (), /) -> Any: ...


@dataclass(frozen=True, slots=True)
class Row:
    """A text that may be found: a fact or a turn."""

    id: str
    text: str
    at: float = 0.0
    """seconds since 1970"""
    language: str = ""
    """guessed from the characters when empty"""
    speaker: str = ""
    session: str = ""
    """rows of a session with neighbouring positions are each other's context"""
    position: int = 0
    importance: float = 0.5
    """0 to 1"""


@dataclass(frozen=True, slots=True)
class Table:
    """The rows' columns, in order of their numbers."""

    numbers: Numbers
    ids: list[str]
    at: NDArray[np.float64]
    importance: Floats
    shown: NDArray[np.bool_]
    """not hidden"""
    speakers: list[str]
    """lower case"""
    english: NDArray[np.bool_]
    before: Numbers
    """index of the row just before in the session, or -1"""
    after: Numbers

    def places(self, numbers: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
        """Where rows stand, and which of them are still there."""
        rows = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        return rows, self.numbers[rows] == numbers


class Vectors:
    """All vectors of one encoder (float16), in the order they were written; those of rows that
    are gone lie about until the next start."""

    def __init__(self) -> None:
        self.numbers: Numbers = np.zeros(0, np.int64)
        self._matrix: NDArray[np.float16] = np.zeros((0, 0), np.float16)

    def extend(self, numbers: Sequence[int], blobs: Sequence[bytes]) -> None:
        new = np.frombuffer(b"".join(blobs), np.float16).reshape(len(blobs), -1)
        self._matrix = np.concatenate([self._matrix, new]) if len(self._matrix) else new
        self.numbers = np.concatenate([self.numbers, np.array(numbers, np.int64)])

    def products(self, vector: Floats) -> Floats:
        """Cosines with all of them, by brute force."""
        starts = range(0, len(self._matrix), CHUNK)
        with one_core():
            parts = [self._matrix[n : n + CHUNK].astype(np.float32) @ vector for n in starts]
        return np.concatenate(parts)


class Rows:
    """Written and read by one thread; sees what other connections have committed."""

    def __init__(self, db: Connection, *, create: bool = True) -> None:
        """`create`: make the tables where there are none; a reader cannot."""
        self._db = db
        self._table: Table | None = None
        self._version: Any = None
        self._serial = 0
        self.vectors: dict[str, Vectors] = {}
        """by the encoder's name, as `table` last found them"""
        for statement in SCHEMA if create else ():
            db.execute(statement)

    def write(self, row: Row) -> None:
        """Put a row in, in place of one with the same id."""
        self.remove([row.id])
        values = (row.id, row.text, row.language or language_of(row.text), row.at, row.speaker)
        number = self._db.execute(
            "insert into search_texts (id, text, language, at, speaker, session, position, "
            "importance) values (?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, row.session, row.position, row.importance),
        ).lastrowid
        self._db.execute(
            "insert into search_words (rowid, words) values (?, ?)", (number, terms(row.text))
        )
        self._table = None

    def remove(self, ids: Iterable[str]) -> None:
        for one in ids:
            found = self._db.execute("select number from search_texts where id = ?", (one,))
            for (number,) in found.fetchall():
                self._db.execute("delete from search_words where rowid = ?", (number,))
                self._db.execute("delete from search_vectors where number = ?", (number,))
                self._db.execute("delete from search_texts where number = ?", (number,))
        self._table = None

    def hide(self, ids: Iterable[str], hidden: bool) -> None:
        for one in ids:
            self._db.execute("update search_texts set hidden = ? where id = ?", (int(hidden), one))
        self._table = None

    def forget_table(self) -> None:
        """Something was changed on this very connection, which data_version does not show."""
        self._table = None

    def any(self, english: bool) -> bool:
        """There is a row in English, or one in another language."""
        found = self._db.execute(f"select 1 from search_texts where {_language(english)} limit 1")
        return found.fetchone() is not None

    def lacking(
        self, encoder: str, english: bool | None, after: int, limit: int
    ) -> list[tuple[int, str, str]]:
        """Number, text and speaker of rows without a vector, those beyond number `after`.

        `english` None: of any language.
        """
        rows: list[tuple[int, str, str]] = self._db.execute(
            f"select number, text, speaker from search_texts where {_language(english)} "
            "and number > ? and not hidden and not exists (select 1 from search_vectors "
            "where number = search_texts.number and encoder = ?) order by number limit ?",
            (after, encoder, limit),
        ).fetchall()
        return rows

    def keep(self, number: int, encoder: str, vector: Floats) -> None:
        """A row's vector, unless the row is gone or somebody else was quicker."""
        self._db.execute(
            "insert or ignore into search_vectors (number, encoder, vector) select ?, ?, ? "
            "where exists (select 1 from search_texts where number = ?)",
            (number, encoder, vector.astype(np.float16).tobytes(), number),
        )

    def get(self, ids: Sequence[str]) -> dict[str, Row]:
        """Rows by id, as they were written; without those that are hidden or not there."""
        marks = ", ".join("?" * len(ids))
        found = self._db.execute(
            "select id, text, at, language, speaker, session, position, importance "
            f"from search_texts where id in ({marks}) and not hidden",
            tuple(ids),
        )
        return {row[0]: Row(*row) for row in found.fetchall()}

    def having(self, words: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Number and BM25 (higher is better) of the rows that hold any of the words, best first."""
        if not words:
            return []
        rows: list[tuple[int, float]] = self._db.execute(
            "select rowid, -bm25(search_words) from search_words where search_words match ? "
            "order by rank limit ?",
            (" OR ".join(f'"{word}"' for word in words), limit),
        ).fetchall()
        return rows

    def texts(self, numbers: Sequence[int]) -> dict[int, tuple[str, str]]:
        """Text and speaker by number."""
        marks = ", ".join("?" * len(numbers))
        found = self._db.execute(
            f"select number, text, speaker from search_texts where number in ({marks})",
            tuple(numbers),
        )
        return {number: (text, speaker) for number, text, speaker in found.fetchall()}

    def table(self) -> Table:
        """The columns, read anew only after a change, whoever made it; the vectors with them."""
        version = self._db.execute("pragma data_version").fetchone()
        if self._table is None or version != self._version:
            self._version = version
            self._table = self._read()
        self._read_vectors()
        return self._table

    def _read(self) -> Table:
        rows = self._db.execute(
            "select number, id, at, importance, hidden, speaker, session, position, language "
            "from search_texts order by number"
        ).fetchall()
        columns = list(zip(*rows, strict=True)) or [()] * 9
        before, after = neighbours(columns[6], np.array(columns[7], np.int64))
        return Table(
            np.array(columns[0], np.int64),
            list(columns[1]),
            np.array(columns[2], np.float64),
            np.array(columns[3], np.float32),
            np.array(columns[4], np.int64) == 0,
            [speaker.lower() for speaker in columns[5]],
            np.array([language.startswith("en") for language in columns[8]], bool),
            before,
            after,
        )

    def _read_vectors(self) -> None:
        found: dict[str, tuple[list[int], list[bytes]]] = {}
        for serial, number, encoder, vector in self._db.execute(
            "select serial, number, encoder, vector from search_vectors where serial > ? "
            "order by serial",
            (self._serial,),
        ).fetchall():
            numbers, blobs = found.setdefault(encoder, ([], []))
            numbers.append(number)
            blobs.append(vector)
            self._serial = serial
        for encoder, (numbers, blobs) in found.items():
            self.vectors.setdefault(encoder, Vectors()).extend(numbers, blobs)


def _language(english: bool | None) -> str:
    if english is None:
        return "1"
    return "language like 'en%'" if english else "language not like 'en%'"
