"""When the stages of a turn were reached, and what each of them took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assistant.mouth import Delivery


@dataclass(frozen=True, slots=True)
class Heard:
    """What a person said, and when, in session seconds."""

    text: str
    language: str
    end: float
    """last sound of the voice"""
    closed: float
    """when the endpoint was sure"""
    recognised: float
    """when the words were known"""
    ahead: Mapping[str, Any] = field(default_factory=dict)
    """what the silence before `closed` was used for (events.Turn.ahead)"""


@dataclass(slots=True)
class Raw:
    """The model's output as it comes."""

    pieces: list[str] = field(default_factory=list)
    first: float | None = None
    error: Exception | None = None
    """why nothing more came"""

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def latency(heard: Heard, raw: Raw, delivery: Delivery) -> dict[str, float]:
    """Milliseconds from each mark to the next; they add up to `voice_to_voice`."""
    marks = {
        "endpoint": heard.closed,
        "asr": heard.recognised,
        "first_token": raw.first,
        "first_sentence": delivery.first_sentence,
        "first_audio": delivery.first_audio,
    }
    result: dict[str, float] = {}
    previous = heard.end
    for name, at in marks.items():
        if at is None:
            continue
        result[name] = round(max(0.0, at - previous) * 1000, 1)
        previous = max(previous, at)  # what was ready before the end was sure took no time
    if delivery.first_audio is not None:
        result["voice_to_voice"] = round((delivery.first_audio - heard.end) * 1000, 1)
    return result
