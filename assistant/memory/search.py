"""Retrieval over long-term memory: by words (FTS5), by meaning (vectors), fused, read once more.

Rows lie in the bank's own database, beside what they were made from. One thread owns an Index, in
the background: nothing here is ever called while somebody waits for an answer. It commits nothing;
whoever calls decides on transactions. It knows no driver: plain `execute` on whatever it is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assistant.memory import ranking
from assistant.memory.embed import Reranker, TextEncoder
from assistant.memory.ranking import Floats, Numbers
from assistant.memory.tokens import has_cjk, language_of, query_terms, terms

FOUND_BY_WORDS = 400
RERANKED = 25
READ = 4400
"""Characters the reranker gets at most, its time on two slow cores being 0.3 s then; long rows
come out at 18 or so, which find as much as 25."""
LONGEST = 320
"""characters of one of them"""
_QUESTION = re.compile(r"[^.!?]+\?")
ASKED = 100
"""characters of it that are read"""
CHUNK = 8192
"""vectors that are widened to float32 at a time"""
BATCH = 32
"""rows that are embedded at a time"""

SCHEMA = (
    "create table if not exists search_texts (number integer primary key autoincrement, "
    "id text not null unique, text text not null, language text not null, at real not null, "
    "speaker text not null, session text not null, position integer not null, "
    "importance real not null, hidden integer not null default 0)",
    "create virtual table if not exists search_words using fts5(words, tokenize='porter unicode61')",
    "create table if not exists search_vectors (serial integer primary key autoincrement, "
    "number integer not null, encoder text not null, vector blob not null, "
    "unique (number, encoder))",
)


class Connection(Protocol):
    """sqlite3, sqlcipher3 or sqlite-utils."""

    def execute(self, sql: str, parameters: Any = (), /) -> Any: ...


class Sources(Protocol):
    """Where the engines come from; None when the weights are missing (embed.Engines)."""

    def encoder(self, language: str) -> TextEncoder | None: ...

    def reranker(self, language: str) -> Reranker | None: ...


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
class Why:
    """How a row came to be found; places are counted from 1."""

    words: int | None
    """place in the ranking by words"""
    meaning: int | None
    cosine: float | None
    """with the encoder's own scale: compare only hits of one question"""
    reranked: float | None
    """the reranker's logit: above 0 it takes the text for an answer"""


@dataclass(frozen=True, slots=True)
class Hit:
    id: str
    score: float
    """of the fused ranking; compare only within one answer"""
    why: Why


@dataclass(frozen=True, slots=True)
class _Table:
    """The rows' columns, in order of their numbers."""

    numbers: Numbers
    ids: list[str]
    at: NDArray[np.float64]
    importance: Floats
    shown: NDArray[np.bool_]
    speakers: list[str]
    """lower case"""
    english: NDArray[np.bool_]
    before: Numbers
    after: Numbers


class _Vectors:
    """All vectors of one encoder, as they lie in the database; grows at its end."""

    def __init__(self) -> None:
        self.numbers: Numbers = np.zeros(0, np.int64)
        self._matrix: NDArray[np.float16] = np.zeros((0, 0), np.float16)

    def extend(self, numbers: Sequence[int], blobs: Sequence[bytes]) -> None:
        new = np.frombuffer(b"".join(blobs), np.float16).reshape(len(blobs), -1)
        same = self._matrix.shape[1] == new.shape[1]
        self._matrix = np.concatenate([self._matrix, new]) if same else new
        kept = self.numbers if same else self.numbers[:0]
        self.numbers = np.concatenate([kept, np.array(numbers, np.int64)])

    def products(self, vector: Floats) -> Floats:
        """Cosines with all of them, by brute force."""
        steps = range(0, len(self._matrix), CHUNK)
        parts = [self._matrix[n : n + CHUNK].astype(np.float32) @ vector for n in steps]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)


class Index:
    """The searchable rows of one bank."""

    def __init__(
        self, db: Connection, engines: Sources, *, english: ranking.Weights = ranking.ENGLISH
    ) -> None:
        self._db = db
        self._engines = engines
        self._weights = english
        self._table: _Table | None = None
        self._vectors: dict[str, _Vectors] = {}
        self._serial = 0
        self._seen: Any = None
        self._mixed = False
        """something other than English is told or asked: English rows get the second vector too"""
        for statement in SCHEMA:
            db.execute(statement)

    # Writing

    def add(self, rows: Iterable[Row]) -> None:
        """Put rows in, or others in place of those with the same ids, and embed them."""
        for row in rows:
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
        self.catch_up()

    def remove(self, ids: Iterable[str]) -> None:
        """Forget rows for good."""
        for one in ids:
            found = self._db.execute("select number from search_texts where id = ?", (one,))
            for (number,) in found.fetchall():
                self._db.execute("delete from search_words where rowid = ?", (number,))
                self._db.execute("delete from search_vectors where number = ?", (number,))
                self._db.execute("delete from search_texts where number = ?", (number,))
        self._table = None

    def hide(self, ids: Iterable[str], hidden: bool = True) -> None:
        """Keep rows, but leave them out of every answer: what is superseded."""
        for one in ids:
            self._db.execute("update search_texts set hidden = ? where id = ?", (int(hidden), one))
        self._table = None

    def catch_up(self, limit: int = 10_000) -> int:
        """Embed rows that still lack a vector; how many were. 0 when nothing is left to do.

        For what was written while weights were missing, or before a second language came up.
        """
        done = self._embed("en", "language like 'en%'", limit)
        others = "1" if self._mixed else "language not like 'en%'"
        return done + self._embed("zh", others, limit - done)

    def _embed(self, language: str, wanted: str, limit: int) -> int:
        done = 0
        lacking = (
            f"from search_texts where {wanted} and not hidden and not exists (select 1 from "
            "search_vectors where number = search_texts.number and encoder = ?)"
        )
        while done < limit:
            encoder = self._engines.encoder(language) if self._any(wanted) else None
            if encoder is None:
                break
            rows = self._db.execute(
                f"select number, text, speaker {lacking} order by number limit ?",
                (encoder.name, min(BATCH, limit - done)),
            ).fetchall()
            if not rows:
                break
            texts = [
                _spoken(text, speaker) if language == "en" else text for _, text, speaker in rows
            ]
            for (number, *_), vector in zip(rows, encoder.passages(texts), strict=True):
                self._db.execute(
                    "insert into search_vectors (number, encoder, vector) values (?, ?, ?)",
                    (number, encoder.name, vector.astype(np.float16).tobytes()),
                )
            done += len(rows)
        return done

    def _any(self, wanted: str) -> bool:
        """An engine is not loaded for a language that nobody speaks."""
        found = self._db.execute(f"select 1 from search_texts where {wanted} limit 1")
        return found.fetchone() is not None

    # Reading

    def search(
        self, query: str, k: int, *, rerank: bool = True, now: float | None = None
    ) -> list[Hit]:
        """The k rows that may best answer a question, best first; fewer when nothing fits.

        `now` counts recency; the newest row's time when None.
        """
        table = self._fresh()
        if not len(table.numbers) or not query.strip():
            return []
        english = language_of(query) == "en"
        self._mixed = self._mixed or not english
        weights = self._weights if english else ranking.CHINESE
        named, names = _named(query, table.speakers)
        words = self._by_words(table, query_terms(query, names), named, weights)
        cosines, known, meaning = self._by_meaning(table, query, english, named, weights)
        by_words = ranking.ranks(words, (words > 0) & table.shown)
        by_meaning = ranking.ranks(meaning, known)
        fused = ranking.reciprocal(by_words, weights.damping)
        fused += weights.meaning * ranking.reciprocal(by_meaning, weights.damping)
        moment = float(table.at.max()) if now is None else now
        fused *= ranking.mild(table.at, table.importance, moment, weights)
        best = np.argsort(-fused, kind="stable")[: max(k, RERANKED)]
        best = best[fused[best] > 0]
        logits = self._again(table, query, best[:RERANKED], english) if rerank else {}
        if logits:
            read = np.full(len(fused), -np.inf, np.float32)
            read[list(logits)] = list(logits.values())
            places = ranking.ranks(read, np.isfinite(read))
            fused += weights.reranked * ranking.reciprocal(places, weights.damping)
            best = best[np.argsort(-fused[best], kind="stable")]
        return [
            Hit(
                table.ids[row],
                float(fused[row]),
                Why(
                    int(by_words[row]) + 1 if by_words[row] >= 0 else None,
                    int(by_meaning[row]) + 1 if by_meaning[row] >= 0 else None,
                    float(cosines[row]) if known[row] else None,
                    logits.get(int(row)),
                ),
            )
            for row in best[:k]
        ]

    def _by_words(
        self, table: _Table, wanted: list[str], named: NDArray[Any], weights: ranking.Weights
    ) -> Floats:
        """BM25 of each row with its neighbours' shares; 0 where nothing fits."""
        scores = np.zeros(len(table.numbers), np.float32)
        if wanted:
            found = self._db.execute(
                "select rowid, -bm25(search_words) from search_words where search_words match ? "
                "order by rank limit ?",
                (" OR ".join(f'"{word}"' for word in wanted), FOUND_BY_WORDS),
            ).fetchall()
            rows = np.searchsorted(table.numbers, [number for number, _ in found])
            scores[rows] = [score for _, score in found]
        scores = np.where(table.shown, scores, 0)
        scores = ranking.lend(
            scores, table.before, table.after, weights.words_before, weights.words_after
        )
        return np.asarray(scores * (1 + weights.speaker_words * named), np.float32)

    def _by_meaning(
        self,
        table: _Table,
        query: str,
        english: bool,
        named: NDArray[Any],
        weights: ranking.Weights,
    ) -> tuple[Floats, NDArray[np.bool_], Floats]:
        """Cosines, which rows have one, and what they are ranked by."""
        cosines = np.zeros(len(table.numbers), np.float32)
        known = np.zeros(len(table.numbers), bool)
        meaning = np.full(len(table.numbers), -np.inf, np.float32)
        for language in ("en", "zh") if english else ("zh",):
            found = self._cosines(table, query, language)
            if found is None:
                continue
            scores, own = found
            standard = ranking.standardized(scores, own)
            lent = ranking.lend(
                standard, table.before, table.after, weights.meaning_before, weights.meaning_after
            )
            better = own & (lent > meaning)
            meaning = np.where(better, lent, meaning)
            cosines = np.where(better, scores, cosines)
            known |= own
        return cosines, known, meaning + weights.speaker_meaning * named

    def _cosines(
        self, table: _Table, query: str, language: str
    ) -> tuple[Floats, NDArray[np.bool_]] | None:
        """With one encoder's vectors; None when there are none."""
        encoder = self._engines.encoder(language) if self._vectors else None
        vectors = self._vectors.get(encoder.name) if encoder else None
        if encoder is None or vectors is None:
            return None
        rows = np.searchsorted(table.numbers, vectors.numbers)
        rows = np.minimum(rows, len(table.numbers) - 1)
        alive = table.numbers[rows] == vectors.numbers  # those of removed rows lie about
        scores = np.zeros(len(table.numbers), np.float32)
        scores[rows[alive]] = vectors.products(encoder.query(query))[alive]
        known = np.zeros(len(table.numbers), bool)
        known[rows[alive]] = True
        return scores, known & table.shown

    def _again(self, table: _Table, query: str, rows: Numbers, english: bool) -> dict[int, float]:
        """The reranker's logits of the rows in its language, each read with what it answered."""
        rows = rows[table.english[rows]]
        reranker = self._engines.reranker("en") if english and len(rows) > 1 else None
        if reranker is None:
            return {}
        before = table.before[rows]
        numbers = table.numbers[np.concatenate([rows, before[before >= 0]])].tolist()
        marks = ", ".join("?" * len(numbers))
        texts = {
            number: (text, speaker)
            for number, text, speaker in self._db.execute(
                f"select number, text, speaker from search_texts where number in ({marks})", numbers
            ).fetchall()
        }
        passages = []
        for row, earlier in zip(rows, before, strict=True):
            own = _spoken(*texts[int(table.numbers[row])])
            if earlier >= 0 and table.shown[earlier]:
                own = _asked(texts[int(table.numbers[earlier])][0]) + own
            passages.append(own[:LONGEST])
        spent = np.cumsum([len(query) + len(passage) for passage in passages])
        read = max(1, int(np.searchsorted(spent, READ, "right")))
        logits = reranker.scores(query, passages[:read])
        return dict(zip(rows[:read].tolist(), logits.tolist(), strict=True))

    def _fresh(self) -> _Table:
        """The columns and vectors, read anew only after a change, whoever made it."""
        version = self._db.execute("pragma data_version").fetchone()
        if self._table is None or version != self._seen:
            self._seen = version
            self._table = _read_table(self._db)
            self._mixed = self._mixed or not self._table.english.all()
        self._read_vectors()
        return self._table

    def _read_vectors(self) -> None:
        found: dict[str, list[tuple[int, bytes]]] = {}
        for serial, number, encoder, vector in self._db.execute(
            "select serial, number, encoder, vector from search_vectors where serial > ? "
            "order by serial",
            (self._serial,),
        ):
            found.setdefault(encoder, []).append((number, vector))
            self._serial = serial
        for encoder, rows in found.items():
            numbers, blobs = zip(*rows, strict=True)
            self._vectors.setdefault(encoder, _Vectors()).extend(numbers, blobs)


def _read_table(db: Connection) -> _Table:
    rows = db.execute(
        "select number, id, at, importance, hidden, speaker, session, position, language "
        "from search_texts order by number"
    ).fetchall()
    columns = list(zip(*rows, strict=True)) or [()] * 9
    positions = np.array(columns[7], np.int64)
    before, after = ranking.neighbours(columns[6], positions)
    return _Table(
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


def _spoken(text: str, speaker: str) -> str:
    """As the English engines read it: they connect the name in a question with who said it."""
    return f"{speaker}: {text}" if speaker else text


def _asked(text: str) -> str:
    """The last question of the turn before: an answer says little without it."""
    questions = _QUESTION.findall(text)
    return questions[-1].strip()[-ASKED:] + " " if questions else ""


def _named(query: str, speakers: Sequence[str]) -> tuple[Floats, set[str]]:
    """1 for the rows of the only speaker named in the question, and all named words."""
    asked = query.lower()
    words = set(terms(query).split())
    hits = {
        speaker: names
        for speaker in set(speakers)
        if speaker and (names := _names_in(speaker, asked, words))
    }
    only = next(iter(hits)) if len(hits) == 1 else None
    named = np.array([speaker == only for speaker in speakers], np.float32)
    return named, {name for names in hits.values() for name in names}


def _names_in(speaker: str, asked: str, words: set[str]) -> set[str]:
    """The parts of a speaker's name that a question holds."""
    if has_cjk(speaker):
        return set(terms(speaker).split()) if speaker in asked else set()
    return set(terms(speaker).split()) & words
