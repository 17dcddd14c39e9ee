"""Typed values out of spoken words, relative to a given moment (contract; being written)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from assistant.mind.flows import Choice, Slot


SURE = 0.85


@dataclass(frozen=True, slots=True)
class Found:
    """A value in a text."""

    value: str
    """resolved, in the form flows.TYPES names for its type"""
    spoken: str
    """as it stands in the text"""
    start: int
    end: int
    sure: float = 1.0
    """0 to 1; below SURE it is to be asked, never guessed"""


def read(
    slot: Slot,
    text: str,
    language: str,
    now: datetime,
    known: Sequence[Choice] = (),
    *,
    wanted: bool = False,
) -> list[Found]:
    raise NotImplementedError


def spoken(slot_type: str, value: str, language: str, now: datetime) -> str:
    raise NotImplementedError
