"""What memory adds to an answer: measured on a bank of made-up memories against an empty one.

The bank is a real encrypted file and its index is searched between the turns, as in the product;
what is timed is the turn itself: choosing the lines and putting the prompt together.
"""

from __future__ import annotations

import gc
import os
import random
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from assistant.dialogues import YOUNG
from assistant.memory.banks import Banks
from assistant.memory.recall import Recaller
from assistant.memory.search import Index, Row
from assistant.memory.shelf import Shelf
from assistant.mind.memories import Memory
from assistant.mind.prompt import reply_messages
from assistant.mind.state import State
from assistant.workers import CancelToken, Worker

SEED = 4
MEMORIES = 100_000
QUESTIONS = 2000
INDEXED = 500
"""memories that can be searched between the turns as well"""
TODAY = date(2026, 6, 1)
NOON = 1_780_000_000.0
DAY = 86_400.0
WORDS = Path(__file__).with_name("answer_path.toml")
IO = Path("/proc/thread-self/io")
LOADING_PAUSE = 0.005


@cache
def _words() -> dict[str, dict[str, Any]]:
    return tomllib.loads(WORDS.read_text("utf-8"))


class Invention:
    """Memories and questions from a seed, half of them English and half Chinese."""

    def __init__(self, seed: int = SEED) -> None:
        self._random = random.Random(seed)

    def memories(self, count: int) -> Iterator[Memory]:
        for number in range(count):
            language = "en" if number % 2 else "zh"
            filled, text = self._filled(language, "memories")
            about = f"{filled['relation']} {filled['name']}" if filled["relation"] in text else ""
            said = NOON - self._random.random() * 700 * DAY
            yield Memory(
                text=text,
                subject=about.lower() or filled["name"].lower(),
                key=f"made up {number}",
                language=language,
                lasting=filled["day"] not in text,
                day=filled["day"] if filled["day"] in text else "",
                importance=self._random.random(),
                session=f"session {number // 20}",
                turn=number % 20,
                id=f"{number:012x}",
                learned=said,
                said=said,
            )

    def questions(self, count: int) -> list[tuple[str, str]]:
        """Words and language."""
        languages = ["en" if number % 2 else "zh" for number in range(count)]
        return [(self._filled(one, "questions")[1], one) for one in languages]

    def _filled(self, language: str, kind: str) -> tuple[dict[str, str], str]:
        data, pick = _words()[language], self._random.choice
        names = {name: pick(data[name + "s"].split()) for name in ("relation", "verb", "thing")}
        names |= {name: self._name(data["syllables"].split()) for name in ("name", "place")}
        names["day"] = (TODAY + timedelta(self._random.randint(-400, 400))).isoformat()
        return names, str(pick(data[kind]).format(**names))

    def _name(self, syllables: list[str]) -> str:
        wide = not syllables[0].isascii()
        parts = self._random.choices(syllables, k=2 if wide else self._random.randint(2, 3))
        return "".join(parts).capitalize()


class _Wordless:
    """No engines: what is found between the turns is no matter here."""

    def encoder(self, language: str) -> None:
        return None

    def reranker(self, language: str) -> None:
        return None


@dataclass(slots=True)
class _Times:
    """Seconds of each turn."""

    added: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    """the same as processor time of the thread: without what others took of the machine"""
    full: list[float] = field(default_factory=list)
    loading: list[float] = field(default_factory=list)
    statements: int = 0
    io: dict[str, int] | None = None


def measure(memories: int = MEMORIES, questions: int = 0) -> dict[str, Any]:
    """The figures of the answer path, in milliseconds and megabytes; 0 questions: QUESTIONS."""
    with tempfile.TemporaryDirectory() as folder:
        return _Measure(Path(folder), memories).run(questions or QUESTIONS)


class _Measure:
    def __init__(self, folder: Path, memories: int) -> None:
        self._count = memories
        self._invention = Invention()
        banks = Banks(folder, "file")
        self._writer = banks.connect("bench")
        self._reader = banks.read("bench")
        self._shelf = Shelf()
        self._recaller = Recaller(self._shelf, self._open)
        self._empty = Recaller(Shelf(), self._open)
        self._state, self._times = State(), _Times()
        self._indexed: list[Memory] = []

    def _open(self) -> Index:
        def write(work: Callable[[Any], Any]) -> Any:
            with self._writer.atomic():
                return work(self._writer)

        index = Index(self._reader, _Wordless(), write)
        index.add(Row(f"fact:{one.id}", one.text, one.said) for one in self._indexed)
        return index

    def run(self, questions: int) -> dict[str, Any]:
        asked = self._invention.questions(questions)
        for words, language in self._invention.questions(50):  # what is loaded at the first turn
            self._turn(self._recaller, 0, words, language)
        threshold = gc.get_threshold()
        try:
            gc.collect()
            gc.freeze()  # as in the product (dialogues.Driver.warm), before the bank is there
            gc.set_threshold(YOUNG, 20, 100)
            shelf_mb = self._load()
            for turn, (words, language) in enumerate(asked, 1):
                self._ask(turn, words, language)
            self._times.io = self._read_by(asked)
        finally:
            gc.unfreeze()
            gc.set_threshold(*threshold)
            self._reader.close()
            self._writer.close()
        return self._figures(shelf_mb)

    def _load(self) -> float | None:
        """Fill the shelf in the background, with somebody asking meanwhile; its megabytes."""
        before = _resident()
        invented = self._invention.memories(self._count)

        def fill() -> None:
            self._shelf.put(self._kept(invented))

        with Worker("shelf", fill) as worker:
            number = 0
            while worker.alive:
                words, language = self._invention.questions(1)[0]
                number += 1
                self._times.loading.append(self._turn(self._recaller, 0, words, language)[0])
                worker.join(LOADING_PAUSE)
            worker.result()
        after = _resident()
        return None if before is None or after is None else (after - before) / 2**20

    def _kept(self, memories: Iterator[Memory]) -> Iterator[Memory]:
        for memory in memories:
            if len(self._indexed) < INDEXED:
                self._indexed.append(memory)
            yield memory

    def _ask(self, turn: int, words: str, language: str) -> None:
        """One turn: looked up before it, then timed with the bank and without."""
        said = [self._invention.questions(1)[0][0], words]  # half of them follow up on it

        def stage() -> None:
            self._recaller.stage("now", turn - 1, said[turn % 2 :], CancelToken())

        Worker("scribe", stage).start().result()
        self._turn(self._recaller, turn, "", "en")  # as the scribe prepares the prompt
        connection = self._reader.conn
        executed: list[str] = []
        connection.set_trace_callback(executed.append)
        full, full_cpu = self._turn(self._recaller, turn, words, language)
        connection.set_trace_callback(None)
        self._times.statements += len(executed)
        self._times.full.append(full)
        empty, empty_cpu = self._turn(self._empty, turn, words, language)
        self._times.added.append(full - empty)
        self._times.cpu.append(full_cpu - empty_cpu)

    def _turn(
        self, recaller: Recaller, turn: int, words: str, language: str
    ) -> tuple[float, float]:
        """Seconds that the turn took, and of them the thread's own."""
        began, busy = time.perf_counter(), time.thread_time()
        block = recaller.for_turn("now", turn, words, language, self._state, TODAY)
        reply_messages(
            self._state, (), words, language, block.profile, block.moment, notes=block.notes
        )
        return time.perf_counter() - began, time.thread_time() - busy

    def _read_by(self, asked: list[tuple[str, str]]) -> dict[str, int] | None:
        """What this thread read while it answered everything, without reading this very count."""
        if not IO.is_file():
            return None
        first, second = _io(), _io()
        for words, language in asked:
            self._turn(self._recaller, 0, words, language)
        third = _io()
        own = {name: second[name] - first[name] for name in first}
        return {
            name: third[name] - second[name] - own[name]
            for name in ("syscr", "rchar", "read_bytes")
        }

    def _figures(self, shelf_mb: float | None) -> dict[str, Any]:
        times, io = self._times, self._times.io
        return {
            "answer_path_memories": len(self._shelf),
            "answer_path_ms_p50": _milliseconds(times.added, 0.5),
            "answer_path_ms_p99": _milliseconds(times.added, 0.99),
            "answer_path_cpu_ms_p99": _milliseconds(times.cpu, 0.99),
            "answer_path_whole_ms_p99": _milliseconds(times.full, 0.99),
            "answer_path_loading_ms_p99": _milliseconds(times.loading, 0.99),
            "answer_path_disk_reads": None if io is None else io["syscr"],
            "answer_path_disk_bytes": None if io is None else io["rchar"] + io["read_bytes"],
            "answer_path_statements": times.statements,
            "shelf_mb": None if shelf_mb is None else round(shelf_mb, 1),
        }


def _milliseconds(seconds: list[float], share: float) -> float | None:
    """A percentile by nearest rank."""
    if not seconds:
        return None
    place = min(len(seconds) - 1, int(share * len(seconds)))
    return round(sorted(seconds)[place] * 1000, 3)


def _io() -> dict[str, int]:
    pairs = (line.split(":") for line in IO.read_text("ascii").splitlines())
    return {name: int(value) for name, value in pairs}


def _resident() -> int | None:
    """Bytes of this process in memory; None where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
