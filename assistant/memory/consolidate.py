"""Tidying up long-term memory while nobody speaks (V12): plan, count, then write in small batches.

Runs on a thread of its own. It stops between two steps when cancelled and goes on the next time
under the same number; what it changes can be taken back (memory/changes.py). It knows neither
what is said meanwhile nor what the running assistant holds in memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from sqlite_utils import Database

from assistant.errors import Cancelled
from assistant.memory.alike import NEAR
from assistant.memory.changes import (
    PAGE,
    Cursor,
    begin,
    drawn,
    finish,
    last_run,
    page,
    undo_run,
    write,
)
from assistant.memory.embed import TextEncoder
from assistant.memory.facts import memory_of
from assistant.memory.floats import Floats
from assistant.memory.insights import in_general, outdated, recurring
from assistant.memory.tidy import Look, Step, Tick, contradictions, fading, merges
from assistant.mind.memories import Memory
from assistant.stages import Cancel, LanguageModel
from assistant.workers import CancelToken, Ticket

__all__ = ["Report", "consolidate", "last_run", "undo_run"]

T = TypeVar("T")
BATCH = 16
"""steps of one transaction: the writer is never taken for longer"""
EMBEDDED = 500
"""sentences of one run whose meaning is looked at: some seconds"""
FADES = 4
"""one in so many active memories may fade in a run: after a year away not all is gone at once"""
FEW = 8
FEW_ENDED = 3
"""Of fewer memories than FEW so many may end, and never all."""


class Writer(Protocol):
    """memory.store.Store."""

    def submit(self, work: Callable[[Database], T]) -> Ticket[T]: ...


class Encoders(Protocol):
    """memory.embed.Engines."""

    def encoder(self, language: str) -> TextEncoder | None: ...


@dataclass(frozen=True, slots=True)
class Report:
    """What a run came to."""

    run: int
    seen: int = 0
    """active memories at its beginning"""
    merged: int = 0
    superseded: int = 0
    faded: int = 0
    insights: int = 0
    refused: str = ""
    """one sentence when nothing was done because it would have been too much"""
    stopped: bool = False
    """somebody spoke; the next run goes on from here"""
    seconds: float = 0.0


def consolidate(
    store: Writer,
    engines: Encoders | None,
    now: float,
    *,
    model: LanguageModel | None = None,
    cancel: Cancel | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> Report:
    """Merge duplicates, settle contradictions, let the passing fade, draw insights."""
    started = time.perf_counter()
    run = _Run(store, engines, now, model, cancel or CancelToken(), progress)
    try:
        run.go()
    except Cancelled:
        run.report = replace(run.report, stopped=True)
    return replace(run.report, seconds=round(time.perf_counter() - started, 3))


class _Run:
    """One run: reads everything once, then plans and writes stage by stage."""

    def __init__(
        self,
        store: Writer,
        engines: Encoders | None,
        now: float,
        model: LanguageModel | None,
        cancel: Cancel,
        progress: Callable[[str], None],
    ) -> None:
        self._store = store
        self._now = now
        self._model = model
        self._cancel = cancel
        self._progress = progress
        self._look = _Meaning(engines, self._tick).look()
        self._facts: dict[str, Memory] = {}
        self.report = Report(0)

    def go(self) -> None:
        """Raises Cancelled when somebody speaks."""
        self._progress("read")
        self._facts = {one.id: one for one in self._read()}
        cursor = self._do(begin(len(self._active())))
        self.report = Report(cursor.run, cursor.active)
        steps = self._plan(cursor)
        ending = cursor.ended + sum(one.ended for one in steps if one.op != "outdated")
        if _too_many(ending, cursor.active):
            why = REFUSED.format(ending=ending, active=cursor.active)
            self.report = replace(self.report, refused=why)
        else:
            self._progress("write")
            self._apply(steps)
            self._progress("insights")
            for one in self._insights():
                self._apply([one])
        self._do(finish(cursor.run))

    def _plan(self, cursor: Cursor) -> list[Step]:
        """What ends, in an order in which it can be written."""
        self._progress("duplicates")
        plan = self._planned(merges(self._active(), self._now, self._look, self._tick))
        self._progress("contradictions")
        plan += self._planned(contradictions(self._active(), self._now, self._tick))
        ended = cursor.ended + sum(one.ended for one in plan)
        room = min(cursor.active // FADES or 1, _most(cursor.active) - ended)
        self._progress("fading")
        plan += self._planned(fading(self._active(), self._now, max(0, room), self._tick))
        return plan

    def _planned(self, steps: Iterable[Step]) -> list[Step]:
        """The steps, and the memories as they will be after them."""
        found = list(steps)
        for step in found:
            self._facts.update({after.id: after for _, after in step.changes})
        return found

    def _active(self) -> list[Memory]:
        return [one for one in self._facts.values() if one.ended is None and not _insight(one)]

    def _insights(self) -> Iterator[Step]:
        """From what is really stored now: what was drawn must not outlive its sources."""
        self._facts = {one.id: one for one in self._read()}
        insights = [one for one in self._facts.values() if _insight(one) and one.ended is None]
        yield from outdated(insights, self._facts, self._now)
        known = self._drawn()
        new = recurring(self._active(), self._now, known, self._tick)
        yield from map(self._again, new)
        if self._model is not None:
            found = in_general(self._active(), self._now, known, self._model, self._cancel)
            yield from map(self._again, found)

    def _drawn(self) -> frozenset[str]:
        """Insights that are not drawn again: those believed, and those the person had forgotten."""
        ended = {
            one.id
            for one in self._facts.values()
            if _insight(one) and one.ended is not None and one.why_ended == "superseded"
        }
        believed = {one.id for one in self._facts.values() if _insight(one)}
        return (self._do(drawn) | believed) - ended

    def _again(self, step: Step) -> Step:
        """What was drawn once, ended with a source, and is true again from others."""
        old = self._facts.get(step.new.id) if step.new is not None else None
        if step.new is None or old is None:
            return step
        return replace(step, new=replace(step.new, version=old.version + 1))

    def _apply(self, steps: Sequence[Step]) -> None:
        for start in range(0, len(steps), BATCH):
            self._tick()
            batch = steps[start : start + BATCH]
            self._count(self._do(write(batch, self.report.run, self._now)))

    def _count(self, done: Sequence[Step]) -> None:
        counts = {"merged": 0, "superseded": 0, "faded": 0, "insight": 0, "outdated": 0}
        for step in done:
            counts[step.op] += step.ended or 1
        old = self.report
        self.report = replace(
            old,
            merged=old.merged + counts["merged"],
            superseded=old.superseded + counts["superseded"],
            faded=old.faded + counts["faded"],
            insights=old.insights + counts["insight"],
        )

    def _read(self) -> Iterator[Memory]:
        """Every row, page by page, so that the writer is free in between."""
        after = ""
        while True:
            self._tick()
            rows = self._do(page(after))
            yield from map(memory_of, rows)
            if len(rows) < PAGE:
                return
            after = rows[-1]["id"]

    def _do(self, work: Callable[[Database], T]) -> T:
        return self._store.submit(work).result()

    def _tick(self) -> None:
        if self._cancel.cancelled:
            raise Cancelled("Tidying up stopped: somebody speaks.")


REFUSED = (
    "Tidying up would have ended {ending} of {active} memories, more than half, so nothing was "
    "changed; look at them with: run.py memory show."
)


def _insight(memory: Memory) -> bool:
    return memory.origin == "insight"


def _most(active: int) -> int:
    """How many of so many active memories a run may end."""
    return min(FEW_ENDED, active - 1) if active < FEW else active // 2


def _too_many(ending: int, active: int) -> bool:
    return ending > max(0, _most(active))


class _Meaning:
    """Is the meaning of two sentences near enough? A sentence is embedded once, up to a limit."""

    def __init__(self, engines: Encoders | None, tick: Tick) -> None:
        self._encoder = engines.encoder("en") if engines is not None else None
        self._tick = tick
        self._vectors: dict[str, Floats] = {}

    def look(self) -> Look | None:
        """None without an encoder whose scale is known."""
        return self._near if self._encoder and self._encoder.name in NEAR else None

    def _near(self, one: Memory, other: Memory) -> bool:
        here, there = self._vector(one.text), self._vector(other.text)
        if here is None or there is None or self._encoder is None:
            return False
        return float(here @ there) >= NEAR[self._encoder.name]

    def _vector(self, text: str) -> Floats | None:
        if text not in self._vectors:
            self._tick()
            if self._encoder is None or len(self._vectors) >= EMBEDDED:
                return None
            self._vectors[text] = self._encoder.passages([text])[0]
        return self._vectors[text]
