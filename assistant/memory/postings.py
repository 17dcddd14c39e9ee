"""Lists of numbers by term, and which of them score best. They know no memory and no text."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np

from assistant.memory.floats import Floats

Posting = int | array  # type: ignore[type-arg]
"""numbers, ascending; most terms have only one, and an array for each would tire the collector"""
CUT = 0.6
"""Share of the best score below which a memory is not what was asked for."""


def length(posting: Posting) -> int:
    """How many memories hold the term."""
    return len(posting) if isinstance(posting, array) else 1


def newest(posting: Posting, most: int = 0) -> Any:
    """The newest `most` numbers (0: all), ascending; a copy, so that the writer may go on."""
    if isinstance(posting, array):
        return np.frombuffer(posting[-most:], np.int32)
    return np.array((posting,), np.int32)


def among(numbers: Any, posting: Posting) -> Any:
    """Which of the numbers (ascending) a posting holds."""
    if not isinstance(posting, array):
        return numbers == posting
    first = bisect_left(posting, int(numbers[0]))
    held = np.frombuffer(posting[first : bisect_right(posting, int(numbers[-1]), first)], np.int32)
    if not len(held):
        return np.zeros(len(numbers), bool)
    return held[np.minimum(np.searchsorted(held, numbers), len(held) - 1)] == numbers


def best_of(items: Any, scores: Floats, most: int) -> Any:
    """The items with a score near the best one, each once, at most the `most` last ones."""
    return np.unique(items[scores >= CUT * scores.max()])[-most:]
