"""Where a system under test stands: its own process, given one utterance at a time over a pipe.

Utterances and results are lines of JSON. While it waits for the next one, a system in real time
hears silence, as it would in a room; a fast one stands still. Knows nothing of the systems but
`System`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar, get_type_hints

import numpy as np

from assistant.audio import files
from assistant.config import Config
from assistant.events import Audio
from assistant.stages import Clock
from assistant.workers import Closed, Inbox

SETTLE = 0.3
"""seconds of silence, at least, before an utterance is said"""
LINGERS = 0.5
"""seconds for which the speech detector may still hear a voice that has ended"""
FRAME_SECONDS = files.FRAME / files.RATE
SILENCE = Audio(np.zeros(files.FRAME, np.float32), files.RATE)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setup:
    """What a system under test is told at its start."""

    system: str
    config: Config
    recording: Path
    fast: bool = False
    conversation: bool = False
    """no utterance begins a conversation of its own"""

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "system": self.system,
            "config": {
                one.name: {item.name: getattr(section, item.name) for item in fields(section)}
                for one in fields(self.config)
                for section in (getattr(self.config, one.name),)
            },
            "recording": str(self.recording),
            "fast": self.fast,
            "conversation": self.conversation,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Setup:
        types = get_type_hints(Config)
        config = Config(
            **{
                name: types[name](
                    **{k: tuple(v) if isinstance(v, list) else v for k, v in section.items()}
                )
                for name, section in data["config"].items()
            }
        )
        return cls(
            data["system"], config, Path(data["recording"]), data["fast"], data["conversation"]
        )


@dataclass(slots=True)
class Work:
    """What the engines computed for one utterance, in seconds."""

    asr: float = 0.0
    asr_sound: float = 0.0
    """of speech that was recognised"""
    tts: float = 0.0
    tts_sound: float = 0.0
    """of speech that was made"""
    llm: float = 0.0
    """between the first token of a reply and its last"""
    tokens: int = 0
    """after the first one of a reply"""

    def to_dict(self) -> dict[str, float]:
        return {one.name: round(getattr(self, one.name), 4) for one in fields(self)}


@dataclass(slots=True)
class Told:
    """What a system did with one utterance."""

    turns: list[dict[str, Any]] = field(default_factory=list)
    """text, reply, by ("model" or "rule"), at (when its words were final), latency_ms, ahead"""
    refused: list[str] = field(default_factory=list)
    """why sound was no turn"""
    failed: list[str] = field(default_factory=list)
    work: Work = field(default_factory=Work)

    def to_dict(self) -> dict[str, Any]:
        return {
            "turns": self.turns,
            "refused": self.refused,
            "failed": self.failed,
            "work": self.work.to_dict(),
        }


class System(Protocol):
    """What can be measured."""

    @property
    def clock(self) -> Clock: ...

    def begin(self) -> None:
        """A new conversation; returns when nothing is computed any more."""

    def told(self) -> Told:
        """What happened since the last call."""

    def run(self) -> None:
        """Hear and answer until the segments end."""

    def close(self) -> None: ...


def timed(items: Iterator[T], add: Callable[[float, T], None]) -> Iterator[T]:
    """The items; `add` gets the seconds for which each was waited."""
    while True:
        begin = time.perf_counter()
        try:
            item = next(items)
        except StopIteration:
            return
        add(time.perf_counter() - begin, item)
        yield item


class Stand:
    """Between the pipe and a system. `orders` are read on a worker of their own."""

    def __init__(self, setup: Setup, tell: Callable[[dict[str, Any]], None]) -> None:
        self._setup = setup
        self._tell = tell
        self._orders: Inbox[Audio] = Inbox(4)
        closing = setup.config.endpoint.long_ms / 1000 + LINGERS
        self._closing = round(closing / FRAME_SECONDS)
        self.system: System | None = None

    def read(self, lines: IO[str], gone: Callable[[], object]) -> None:
        """Take orders until the end is ordered; `gone` is called when the other side is."""
        for line in lines:
            order = json.loads(line)
            if order["order"] == "end":
                self._orders.close()
                return
            self._orders.put(files.read(order["path"]))
        gone()

    def segments(self) -> Iterator[Iterator[Audio]]:
        """For a FileMicrophone: each utterance with the silence in front of it."""
        assert self.system is not None, "who is measured comes first"
        began: float | None = None
        while True:
            ended = self.system.clock.now()
            start = time.monotonic()
            told = self.system.told()
            if not self._setup.conversation:
                self.system.begin()
            if began is not None:
                self._tell({"event": "result", "from": began, "to": ended, **told.to_dict()})
            before = SETTLE + time.monotonic() - start
            place: list[float] = []
            yield self._segment(before, place, first=began is None)
            if not place:
                return
            began = place[0]
            yield iter([SILENCE] * self._closing)  # and after it, until idle again

    def _segment(self, before: float, place: list[float], *, first: bool) -> Iterator[Audio]:
        """Silence until what was missed meanwhile is made up for, and until there is an order."""
        assert self.system is not None
        for _ in range(round(before / FRAME_SECONDS) + 1):
            yield SILENCE
        if first:
            self._tell({"event": "ready"})
        while True:
            try:
                audio = self._orders.get(None if self._setup.fast else 0.0)
            except TimeoutError:
                yield SILENCE
            except Closed:
                return
            else:
                place.append(self.system.clock.now())
                yield audio
                return


def peak_memory_mb() -> float:
    """Largest resident size of this process so far, in MB (10^6 bytes)."""
    import resource

    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size * (1 if sys.platform == "darwin" else 1024) / 1e6
