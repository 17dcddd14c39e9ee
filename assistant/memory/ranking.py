"""How several rankings of the same rows become one. Pure numbers; knows no database, no engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Weights:
    """What counts how much. Chosen on LoCoMo by leaving one conversation out; see bench recall."""

    words_before: float = 0.7
    """share of a row's score by words that the next row gets: answers follow questions"""
    words_after: float = 0.3
    meaning_before: float = 0.2
    meaning_after: float = 0.1
    speaker_words: float = 0.8
    """more by so much when the speaker is the one person named in the question"""
    speaker_meaning: float = 2.0
    """in standard deviations"""
    meaning: float = 0.7
    """weight of the ranking by meaning; that by words has 1"""
    reranked: float = 4.0
    damping: int = 10
    """the k of reciprocal rank fusion: smaller trusts the first places more"""
    recent: float = 0.1
    important: float = 0.1
    """at most this share of the best score is added"""


ENGLISH = Weights()
OTHER = Weights(meaning=2.0)
"""Chinese: pairs of characters miss what is said in other words; the encoder does not."""


def neighbours(sessions: Sequence[str], positions: NDArray[Any]) -> tuple[Numbers, Numbers]:
    """For each row the index of the one just before and just after in its session, or -1.

    A row without a session stands alone.
    """
    places = {
        (session, int(position)): row
        for row, (session, position) in enumerate(zip(sessions, positions, strict=True))
        if session
    }
    pairs = list(zip(sessions, positions, strict=True))
    before = [places.get((session, int(position) - 1), -1) for session, position in pairs]
    after = [places.get((session, int(position) + 1), -1) for session, position in pairs]
    return np.array(before, np.int64), np.array(after, np.int64)


def lend(
    scores: Floats, before: Numbers, after: Numbers, from_before: float, from_after: float
) -> Floats:
    """Scores with a share of those of the neighbouring rows."""
    padded = np.append(scores, np.float32(0))  # index -1 is nobody
    return np.asarray(scores + from_before * padded[before] + from_after * padded[after])


def standardized(scores: Floats, known: NDArray[np.bool_]) -> Floats:
    """Standard scores over the rows that are known; 0 for the others."""
    result = np.zeros_like(scores)
    if known.any():
        own = scores[known]
        result[known] = (own - own.mean()) / max(float(own.std()), 1e-6)
    return result


def ranks(scores: Floats, taken: NDArray[np.bool_]) -> Numbers:
    """Place of each row, best 0, equals sharing one; -1 for rows that are not taken."""
    result = np.full(len(scores), -1, np.int64)
    ascending = np.sort(scores[taken])
    better = len(ascending) - np.searchsorted(ascending, scores[taken], "right")
    result[taken] = better
    return result


def reciprocal(places: Numbers, damping: int) -> Floats:
    """1 / (k + place), places counted from 1; 0 for rows without one."""
    return np.where(places >= 0, 1.0 / (damping + 1 + places), 0.0).astype(np.float32)


def mild(at: NDArray[np.float64], importance: Floats, now: float, weights: Weights) -> Floats:
    """A factor near 1: how much a row gains by being recent (days, halves in 30) or important."""
    days = np.maximum(now - at, 0.0) / 86_400
    recency = np.exp2(-days / 30)
    return np.asarray(1 + weights.recent * recency + weights.important * importance, np.float32)
