"""What `bench latency` is asked to measure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assistant.bench.latency_corpus import LONGEST


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be measured."""

    corpus: Path | None
    """None: the demo's conversation, synthesised"""
    folders: tuple[str, ...] = ()
    limit: int | None = None
    longest: float = LONGEST
    against: tuple[str, ...] = ()
    conversation: bool = False
    fast: bool = False
    load: int = 0
    """cores that other processes keep busy"""
    profile: str = ""
    record: Path | None = None
    """a folder in which the recordings stay"""
