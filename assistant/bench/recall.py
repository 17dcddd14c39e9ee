"""Is what was told found again? Evidence recall on LoCoMo and on Chinese conversations of our own.

Each conversation becomes an index of its turns; a question counts by the share of its evidence
turns among the first 5 and 10. Plain FTS5 (BM25, porter) is measured on the same rows in the same
run. LoCoMo's adversarial questions have no answer and are left out. What memory adds to an answer
is measured at the end (answer_path.py).
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from assistant.bench import answer_path
from assistant.config import Config
from assistant.cores import physical_cores
from assistant.errors import InputError
from assistant.memory.embed import Engines, Reranker, TextEncoder
from assistant.memory.floats import Floats
from assistant.memory.search import Index, Row, Sources
from assistant.memory.tokens import has_cjk
from assistant.weights import find

FILE = "conversations.json"
CHINESE = Path(__file__).with_name("recall_zh.jsonl")
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
ADVERSARIAL = 5
DEPTHS = (5, 10)
_TURN = re.compile(r"D\d+:\d+")


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    evidence: frozenset[str]
    category: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """What one bank holds, and what is asked of it."""

    name: str
    rows: tuple[Row, ...]
    questions: tuple[Question, ...]


@dataclass(slots=True)
class Tally:
    """Recall of every question, by depth and category, and what the searches took."""

    ours: dict[tuple[int, str], list[float]] = field(default_factory=dict)
    plain: dict[tuple[int, str], list[float]] = field(default_factory=dict)
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    stages: dict[str, float] = field(default_factory=dict)
    """processor seconds in the engines"""
    rows: int = 0
    indexing: float = 0.0
    """processor seconds"""

    def count(self, kind: str, question: Question, found: Sequence[str]) -> None:
        """`kind`: "ours" or "plain"."""
        for depth in DEPTHS:
            share = len(question.evidence & set(found[:depth])) / len(question.evidence)
            getattr(self, kind).setdefault((depth, question.category), []).append(share)

    def recall(self, kind: str, depth: int, category: str = "") -> float | None:
        """Mean over the questions; None when there are none of the category."""
        values = [
            value
            for (deep, name), shares in getattr(self, kind).items()
            if deep == depth and category in ("", name)
            for value in shares
        ]
        return round(sum(values) / len(values), 4) if values else None

    def figures(self) -> dict[str, Any]:
        searches = max(1, len(self.wall))
        categories = sorted({name for _, name in self.ours})
        return {
            "recall@5": self.recall("ours", 5),
            "recall@10": self.recall("ours", 10),
            "bm25_recall@5": self.recall("plain", 5),
            "bm25_recall@10": self.recall("plain", 10),
            "multihop@10": self.recall("ours", 10, "multi-hop"),
            "bm25_multihop@10": self.recall("plain", 10, "multi-hop"),
            "by_category": {
                name: {
                    "questions": len(self.ours[5, name]),
                    **{f"recall@{depth}": self.recall("ours", depth, name) for depth in DEPTHS},
                    **{f"bm25@{depth}": self.recall("plain", depth, name) for depth in DEPTHS},
                }
                for name in categories
            },
            "questions": sum(len(self.ours[5, name]) for name in categories),
            "rows": self.rows,
            "retrieval_ms_p50": _milliseconds(_percentile(self.wall, 0.5)),
            "retrieval_ms_p95": _milliseconds(_percentile(self.wall, 0.95)),
            "retrieval_cpu_ms": _milliseconds(sum(self.cpu) / searches),
            "cpu_ms_by_stage": {
                name: _milliseconds(spent / searches) for name, spent in self.stages.items()
            },
            "indexing_cpu_ms_per_row": _milliseconds(self.indexing / max(1, self.rows)),
        }


def _percentile(values: Sequence[float], share: float) -> float:
    """By nearest rank; 0 when there is nothing."""
    return sorted(values)[math.ceil(share * len(values)) - 1] if values else 0.0


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 2)


# The conversations


def read_locomo(folder: Path) -> list[Conversation]:
    """conversations.json of LoCoMo. Raises InputError."""
    path = folder / FILE if folder.is_dir() else folder
    try:
        samples = json.loads(path.read_text("utf-8"))
        return [_locomo(sample, number) for number, sample in enumerate(samples)]
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not LoCoMo's {FILE} ({error!r}).") from None


def _locomo(sample: dict[str, Any], number: int) -> Conversation:
    talk = sample["conversation"]
    sessions = [name for name, turns in talk.items() if isinstance(turns, list)]
    rows = [
        Row(
            id=turn["dia_id"],
            text=_shown(turn),
            at=_moment(talk.get(f"{session}_date_time", "")),
            language="en",
            speaker=turn["speaker"],
            session=session,
            position=position,
        )
        for session in sessions
        for position, turn in enumerate(talk[session])
    ]
    known = {row.id for row in rows}
    questions = [
        Question(item["question"], evidence, CATEGORIES[item["category"]])
        for item in sample["qa"]
        if item["category"] != ADVERSARIAL
        # a few name turns that are not there, or several in one text
        and (evidence := frozenset(_TURN.findall(" ".join(item["evidence"]))) & known)
    ]
    return Conversation(str(sample.get("sample_id", number)), tuple(rows), tuple(questions))


def _shown(turn: dict[str, Any]) -> str:
    """What was said, and in brackets what the picture shows that was sent with it."""
    caption = turn.get("blip_caption")
    return f"{turn['text']} [{caption}]" if caption else str(turn["text"])


def _moment(text: str) -> float:
    try:
        return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


def read_chinese(path: Path = CHINESE) -> list[Conversation]:
    """Conversations of one bank a conversation; one JSON object a session. Raises InputError."""
    banks: dict[str, tuple[list[Row], list[Question]]] = {}
    try:
        for line in path.read_text("utf-8").splitlines():
            talk = json.loads(line)
            rows, questions = banks.setdefault(talk["bank"], ([], []))
            session = str(talk["session"])
            at = datetime.fromisoformat(talk["at"]).replace(tzinfo=UTC).timestamp()
            for position, (speaker, text) in enumerate(talk["turns"], 1):
                place = f"{session}:{position}"
                rows.append(Row(place, text, at, "zh", speaker, session, position))
            for item in talk["questions"]:
                evidence = frozenset(item["evidence"])
                kind = "multi-hop" if len(evidence) > 1 else "single-hop"
                questions.append(Question(item["question"], evidence, kind))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} cannot be read ({error!r}).") from None
    return [Conversation(name, tuple(rows), tuple(asked)) for name, (rows, asked) in banks.items()]


# Measuring


class Plain:
    """What anybody would write first: FTS5 with porter over "speaker: text", words joined by OR.

    Chinese is cut into pairs of characters, or it would find nothing at all.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute("create virtual table f using fts5(text, tokenize='porter unicode61')")
        self._ids = [row.id for row in rows]
        self._db.executemany(
            "insert into f (rowid, text) values (?, ?)",
            ((n, " ".join(_words(f"{row.speaker}: {row.text}"))) for n, row in enumerate(rows)),
        )

    def search(self, question: str, k: int) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in _words(question))
        found = self._db.execute(
            "select rowid from f where f match ? order by bm25(f) limit ?", (words or '""', k)
        )
        return [self._ids[number] for (number,) in found]


def _words(text: str) -> Iterator[str]:
    for word in re.findall(r"\w+", text.lower()):
        yield from (map("".join, pairwise(word)) if has_cjk(word) and len(word) > 1 else [word])


class Timed:
    """Engines that note the processor time spent in them."""

    def __init__(self, engines: Sources) -> None:
        self._engines = engines
        self.spent: dict[str, float] = {}

    def encoder(self, language: str) -> TextEncoder | None:
        engine = self._engines.encoder(language)
        return _TimedEncoder(engine, self._add) if engine else None

    def reranker(self, language: str) -> Reranker | None:
        engine = self._engines.reranker(language)
        return _TimedReranker(engine, self._add) if engine else None

    def _add(self, stage: str, work: Callable[[], Floats]) -> Floats:
        began = time.process_time()
        try:
            return work()
        finally:
            spent = time.process_time() - began
            self.spent[stage] = self.spent.get(stage, 0.0) + spent


Add = Callable[[str, Callable[[], Floats]], Floats]


class _TimedEncoder:
    def __init__(self, engine: TextEncoder, add: Add) -> None:
        self._engine, self._add = engine, add
        self.name, self.gap = engine.name, engine.gap

    def passages(self, texts: Sequence[str]) -> Floats:
        return self._engine.passages(texts)

    def query(self, text: str) -> Floats:
        return self._add("embed", partial(self._engine.query, text))


class _TimedReranker:
    def __init__(self, engine: Reranker, add: Add) -> None:
        self._engine, self._add = engine, add

    def scores(self, question: str, texts: Sequence[str]) -> Floats:
        return self._add("rerank", partial(self._engine.scores, question, texts))


def measure(conversations: Sequence[Conversation], engines: Sources) -> Iterator[Tally]:
    """The tally so far, after each conversation; always the same one."""
    tally, timed = Tally(), Timed(engines)
    tally.stages = timed.spent
    for conversation in conversations:
        index = Index(sqlite3.connect(":memory:"), timed)
        began = time.process_time()
        index.add(conversation.rows)
        tally.indexing += time.process_time() - began
        tally.rows += len(conversation.rows)
        plain = Plain(conversation.rows)
        before = dict(timed.spent)
        index.search("Who?", 1)  # loads the rows and the reranker
        timed.spent.clear()
        timed.spent.update(before)
        for question in conversation.questions:
            wall, cpu = time.perf_counter(), time.process_time()
            hits = index.search(question.text, max(DEPTHS))
            tally.wall.append(time.perf_counter() - wall)
            tally.cpu.append(time.process_time() - cpu)
            tally.count("ours", question, [hit.id for hit in hits])
            tally.count("plain", question, plain.search(question.text, max(DEPTHS)))
        yield tally


def report(
    folder: Path | None,
    config: Config,
    emit: Callable[..., None],
    *,
    memories: int = answer_path.MEMORIES,
    as_json: bool,
) -> None:
    """The command: an object after each conversation, the figures last.

    Chinese conversations are always measured; LoCoMo when its folder is named; the answer path
    with so many made-up memories, 0 for none.
    """
    began = time.perf_counter()
    engines = Engines(find, threads=physical_cores())
    result: dict[str, Any] = {}
    parts = [("_zh", read_chinese())]
    if folder is not None:
        parts.insert(0, ("", read_locomo(folder)))
    for ending, conversations in parts:
        tally = Tally()
        for conversation, tally in zip(conversations, measure(conversations, engines), strict=True):
            row = {"conversation": conversation.name, "questions_so_far": len(tally.wall)}
            row |= {f"recall@{depth}_so_far": tally.recall("ours", depth) for depth in DEPTHS}
            emit(row, None if as_json else ", ".join(f"{key} {row[key]}" for key in row))
        result |= {key + ending: value for key, value in tally.figures().items()}
    if memories:
        result |= answer_path.measure(memories)
    result["seconds"] = round(time.perf_counter() - began, 1)
    text = "\n".join(f"{key}: {value}" for key, value in result.items())
    emit(result, None if as_json else text)
