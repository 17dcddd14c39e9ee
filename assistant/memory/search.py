"""Retrieval over long-term memory: by words (FTS5), by meaning (vectors), fused, read once more.

One thread owns an Index, in the background: nothing here is ever called while somebody waits for
an answer. Without weights it searches by words alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assistant.memory import ranking
from assistant.memory.embed import Reranker, TextEncoder
from assistant.memory.floats import Floats
from assistant.memory.indexing import (
    Write,
    hide_rows,
    in_steps,
    keep_vectors,
    prepare,
    remove_rows,
    stopped,
    write_rows,
)
from assistant.memory.ranking import Numbers
from assistant.memory.rows import Connection, Row, Rows, Table
from assistant.memory.tokens import has_cjk, language_of, query_terms, terms
from assistant.stages import Cancel

__all__ = ["Hit", "Index", "Row", "Sources", "Why"]

FOUND_BY_WORDS = 400
RERANKED = 25
READ = 4000
"""Characters that the reranker gets at most, 0.3 s on two slow cores: of long rows that is 18 or
so, which was as good as 25."""
LONGEST = 320
"""characters of one row that it reads"""
ASKED = 100
"""characters of the question before it"""
BATCH = 32
"""rows whose vectors are written at a time"""
_QUESTION = re.compile(r"[^.!?]+\?")


class Sources(Protocol):
    """Where the engines come from; None when the weights are missing (embed.Engines)."""

    def encoder(self, language: str) -> TextEncoder | None: ...

    def reranker(self, language: str) -> Reranker | None: ...


@dataclass(frozen=True, slots=True)
class Why:
    """How a row came to be found; places are counted from 1."""

    words: int | None
    """place in the ranking by words"""
    meaning: int | None
    cosine: float | None
    """each encoder has its own scale: compare only hits of one question"""
    reranked: float | None
    """the reranker's logit: above 0 it takes the text for an answer"""
    standard: float | None = None
    """the cosine in standard deviations above the mean of the rows"""


@dataclass(frozen=True, slots=True)
class Hit:
    id: str
    score: float
    """of the fused ranking; compare only within one answer"""
    why: Why


@dataclass(frozen=True, slots=True)
class _Query:
    text: str
    english: bool
    words: list[str]
    named: Floats
    """1 for the rows of the one speaker who is named"""
    weights: ranking.Weights


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What the vectors say of each row."""

    known: NDArray[np.bool_]
    cosines: Floats
    standards: Floats
    scores: Floats
    """what is ranked"""


class Index:
    """The searchable rows of one bank. Commits nothing; the caller decides on transactions.

    With `write` it only reads from `db`, which may be another connection to the same bank.
    """

    def __init__(
        self,
        db: Connection,
        engines: Sources,
        write: Write | None = None,
        *,
        english: ranking.Weights = ranking.ENGLISH,
        other: ranking.Weights = ranking.OTHER,
    ) -> None:
        self._write = write or (lambda work: work(db))
        if write is not None:
            write(prepare)
        self._rows = Rows(db, create=write is None)
        self._engines = engines
        self._weights = english, other
        self._mixed = False
        """something else than English was told or asked: English rows get both vectors"""

    def add(self, rows: Iterable[Row]) -> None:
        """Put rows in, or others in place of those with the same ids, and embed them."""
        self._change(partial(write_rows, list(rows)))
        self.catch_up()

    def remove(self, ids: Iterable[str]) -> None:
        """Forget rows for good."""
        self._change(partial(remove_rows, list(ids)))

    def hide(self, ids: Iterable[str], hidden: bool = True) -> None:
        """Keep rows, but leave them out of every answer: what is superseded."""
        self._change(partial(hide_rows, list(ids), hidden))

    def rows(self, ids: Sequence[str]) -> dict[str, Row]:
        """What was put in, by id; without what is hidden or gone."""
        return self._rows.get(ids)

    def _change(self, work: Callable[[Connection], None]) -> None:
        self._write(work)
        self._rows.forget_table()

    def catch_up(self, limit: int = 1_000_000, cancel: Cancel | None = None) -> int:
        """Embed rows that lack a vector; how many were. 0 when nothing is left to do.

        They may have been written without weights, or before a second language came up. What was
        embedded when `cancel` came is kept.
        """
        # An engine is not loaded for a language that nobody speaks.
        english, others = self._rows.any(True), self._rows.any(False)
        self._mixed = self._mixed or (english and others)
        done = self._embed("en", True, limit, cancel) if english else 0
        if others or self._mixed:
            done += self._embed("zh", None if self._mixed else False, limit - done, cancel)
        return done

    def _embed(self, language: str, english: bool | None, limit: int, cancel: Cancel | None) -> int:
        encoder, done, last = self._engines.encoder(language), 0, 0
        while encoder is not None and done < limit and not stopped(cancel):
            rows = self._rows.lacking(encoder.name, english, last, min(BATCH, limit - done))
            if not rows:
                break
            texts = [
                # The English encoder connects the name in a question with who said it.
                _spoken(text, speaker) if language == "en" else text
                for _, text, speaker in rows
            ]
            vectors = in_steps(encoder.passages, texts, cancel)
            numbers = [number for number, *_ in rows[: len(vectors)]]
            self._write(partial(keep_vectors, encoder.name, numbers, vectors))
            done, last = done + len(numbers), rows[-1][0]
        return done

    def search(
        self,
        query: str,
        k: int,
        *,
        rerank: bool = True,
        now: float | None = None,
        cancel: Cancel | None = None,
    ) -> list[Hit]:
        """The k rows that may best answer a question, best first; fewer when nothing fits.

        `now` counts recency; the newest row's time when None. [] as soon as `cancel` is.
        """
        table = self._rows.table()
        if not len(table.numbers) or not query.strip():
            return []
        asked = self._understood(query, table)
        words = self._by_words(asked, table)
        if stopped(cancel):
            return []
        meaning = self._by_meaning(asked, table)
        weights = asked.weights
        by_words = ranking.ranks(words, (words > 0) & table.shown)
        by_meaning = ranking.ranks(meaning.scores, meaning.known)
        fused = ranking.reciprocal(by_words, weights.damping)
        fused += weights.meaning * ranking.reciprocal(by_meaning, weights.damping)
        moment = float(table.at.max()) if now is None else now
        mild = ranking.mild(table.at, table.importance, moment, weights)
        fused *= mild
        best = np.argsort(-fused, kind="stable")[: max(k, RERANKED)]
        best = best[fused[best] > 0]
        logits = self._read_again(asked, table, best[:RERANKED], cancel) if rerank else {}
        if stopped(cancel):
            return []
        if logits:
            read = np.full(len(fused), -np.inf, np.float32)
            read[list(logits)] = list(logits.values())
            places = ranking.ranks(read, np.isfinite(read))
            fused += weights.reranked * ranking.reciprocal(places, weights.damping) * mild
            best = best[np.argsort(-fused[best], kind="stable")]
        return [
            Hit(
                table.ids[row],
                float(fused[row]),
                Why(
                    _place(by_words[row]),
                    _place(by_meaning[row]),
                    float(meaning.cosines[row]) if meaning.known[row] else None,
                    logits.get(int(row)),
                    float(meaning.standards[row]) if meaning.known[row] else None,
                ),
            )
            for row in best[:k]
        ]

    def _understood(self, query: str, table: Table) -> _Query:
        english = language_of(query) == "en"
        self._mixed = self._mixed or not english
        named, names = _named(query, table.speakers)
        weights = self._weights[0 if english else 1]
        return _Query(query, english, query_terms(query, names), named, weights)

    def _by_words(self, query: _Query, table: Table) -> Floats:
        """BM25 of each row with its neighbours' shares; 0 where nothing fits."""
        weights = query.weights
        scores = np.zeros(len(table.numbers), np.float32)
        found = self._rows.having(query.words, FOUND_BY_WORDS)
        if found:
            rows, there = table.places(np.array([number for number, _ in found], np.int64))
            scores[rows[there]] = np.array([score for _, score in found], np.float32)[there]
        lent = ranking.lend(
            np.where(table.shown, scores, np.float32(0)),
            *(table.before, table.after),
            *(weights.words_before, weights.words_after),
        )
        return np.asarray(lent * (1 + weights.speaker_words * query.named), np.float32)

    def _by_meaning(self, query: _Query, table: Table) -> _Meaning:
        """From each encoder that has vectors of the rows; of two for a row, the better."""
        weights = query.weights
        known = np.zeros(len(table.numbers), bool)
        cosines = np.zeros(len(table.numbers), np.float32)
        standards = np.zeros(len(table.numbers), np.float32)
        scores = np.full(len(table.numbers), -np.inf, np.float32)
        for language in ("en", "zh") if query.english else ("zh",):
            own, products = self._cosines(query, language, table)
            standard = ranking.standardized(products, own)
            lent = ranking.lend(
                standard,
                *(table.before, table.after),
                *(weights.meaning_before, weights.meaning_after),
            )
            better = own & (lent > scores)
            scores = np.where(better, lent, scores)
            cosines = np.where(better, products, cosines)
            standards = np.where(better, standard, standards)
            known |= own
        scores += weights.speaker_meaning * query.named
        return _Meaning(known, cosines, standards, scores)

    def _cosines(
        self, query: _Query, language: str, table: Table
    ) -> tuple[NDArray[np.bool_], Floats]:
        """Which rows have one, and the cosines."""
        known = np.zeros(len(table.numbers), bool)
        products = np.zeros(len(table.numbers), np.float32)
        encoder = self._engines.encoder(language) if self._rows.vectors else None
        vectors = self._rows.vectors.get(encoder.name) if encoder else None
        if encoder is not None and vectors is not None:
            rows, there = table.places(vectors.numbers)
            products[rows[there]] = vectors.products(encoder.query(query.text))[there]
            products[table.english != query.english] += encoder.gap
            known[rows[there]] = True
        return known & table.shown, products

    def _read_again(
        self, query: _Query, table: Table, rows: Numbers, cancel: Cancel | None
    ) -> dict[int, float]:
        """The reranker's logits of rows in its language, each read with what it answered."""
        rows = rows[table.english[rows]]
        reranker = self._engines.reranker("en") if query.english and len(rows) > 1 else None
        if reranker is None:
            return {}
        before = table.before[rows]
        numbers = np.concatenate([rows, before[before >= 0]])
        texts = self._rows.texts(table.numbers[numbers].tolist())
        passages = []
        for row, earlier in zip(rows, before, strict=True):
            passage = _spoken(*texts[int(table.numbers[row])])
            if earlier >= 0 and table.shown[earlier]:
                passage = _last_question(texts[int(table.numbers[earlier])][0]) + passage
            passages.append(passage[:LONGEST])
        lengths = np.cumsum([len(query.text) + len(passage) for passage in passages])
        count = max(1, int(np.searchsorted(lengths, READ, "right")))
        scores = partial(reranker.scores, query.text)
        logits = in_steps(scores, passages[:count], cancel)
        return {int(row): float(logit) for row, logit in zip(rows[:count], logits, strict=False)}


def _place(rank: Any) -> int | None:
    return int(rank) + 1 if rank >= 0 else None


def _spoken(text: str, speaker: str) -> str:
    return f"{speaker}: {text}" if speaker else text


def _last_question(text: str) -> str:
    """Of the turn before: an answer says little without it."""
    questions = _QUESTION.findall(text)
    return questions[-1].strip()[-ASKED:] + " " if questions else ""


def _named(query: str, speakers: Sequence[str]) -> tuple[Floats, set[str]]:
    """1 for the rows of the only speaker named in the question, and all words of names in it."""
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
    parts = set(terms(speaker).split())
    if has_cjk(speaker):
        return parts if speaker in asked else set()
    return parts & words
