"""Which words of a sentence were heard when its sound was cut.

The length of each word is estimated from its letters and syllables; the silences of the sound tell
where its commas and full stops really are. Knows nothing of the voice that spoke.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assistant.events import Audio
from assistant.speakable import speakable

Silence = tuple[float, float]
"""begin and end, seconds into a sentence's sound"""

HOP_SECONDS = 0.01
QUIET = 0.003
"""root mean square below which a hop is silent; speech has 0.1"""
PAUSE_SECONDS = 0.14
"""Shorter silences are the closures of consonants (up to 0.12 s); commas were seen to take 0.2."""
USUAL_END = 0.3
"""seconds of silence at the end of a sentence whose sound nobody has looked at"""

LETTER, SYLLABLE, WORD, LAST, PAUSE = 0.036, 0.058, 0.031, 0.116, 0.218
"""Seconds for each, fitted to the phoneme durations of Piper's en_US-joe on 54 sentences (r = 0.11
s): LAST is the lengthening of a word before a mark. Only their ratios matter."""
CHARACTER = 0.2
"""of Chinese, a syllable each"""
DIGIT = 5 * LETTER + 1.5 * SYLLABLE
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_UNIT = re.compile(rf"[{_HAN}][^\w\s]*|[^\s{_HAN}]+")
"""a Chinese character or another word, with the marks behind it"""
_MARK = re.compile(r"[,;:.!?，；：。！？、—][\"'”’)]*$")


@dataclass(frozen=True, slots=True)
class _Word:
    end: int
    """characters of the text up to here"""
    seconds: float
    """that it takes, about"""
    pauses: bool
    """a mark stands behind it"""


def silences(audio: Audio) -> list[Silence]:
    """The pauses in a sound, the one at its end included."""
    hop = round(HOP_SECONDS * audio.rate)
    count = len(audio.samples) // hop
    power = np.square(audio.samples[: count * hop].reshape(count, hop)).mean(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], power < QUIET**2, [0]]).astype(int)))
    found = zip(edges[::2] * HOP_SECONDS, edges[1::2] * HOP_SECONDS, strict=True)
    return [(float(begin), float(end)) for begin, end in found if end - begin >= PAUSE_SECONDS]


def heard_words(
    text: str, language: str, seconds: float, cut: float, pauses: Sequence[Silence] = ()
) -> str:
    """The words of a sentence whose sound of `seconds` was cut at `cut`, whole words only.

    `pauses`: as `silences` found them, in seconds from the sentence's begin.
    """
    words = _words(text, language)
    ends = _ends(words, seconds, pauses)
    heard = sum(end <= cut + 1e-6 for end in ends)
    return text[: words[heard - 1].end].strip() if heard else ""


def _words(text: str, language: str) -> list[_Word]:
    found = []
    for match in _UNIT.finditer(text):
        marked = _MARK.search(match[0]) is not None
        length = _length(match[0], language)
        found.append(_Word(match.end(), length + (LAST if marked and length else 0), marked))
    return found


def _length(word: str, language: str) -> float:
    """Seconds that a word takes, about, without the pause behind it; a lone mark takes none."""
    total = 0.0
    for part in re.findall(r"[\w']+", speakable(word, language)):
        han = len(re.findall(f"[{_HAN}]", part))
        digits = sum(char.isdigit() for char in part)
        letters = sum(char.isalpha() for char in part) - han
        syllables = len(re.findall(r"[aeiouyà-ÿ]+", re.sub(r"e$", "", part.casefold())))
        total += han * CHARACTER + digits * DIGIT
        if letters:
            total += WORD + letters * LETTER + max(1, syllables) * SYLLABLE
    return total


def _ends(words: Sequence[_Word], seconds: float, pauses: Sequence[Silence]) -> list[float]:
    """When each word ends: proportionally, between the silences that are known."""
    last = [begin for begin, end in pauses if end >= seconds - 2 * HOP_SECONDS]
    speech = last[-1] if last else max(seconds - USUAL_END, 0.5 * seconds)
    inner = [pause for pause in pauses if pause[0] > 0 and pause[1] < speech]
    marks = [number for number, word in enumerate(words[:-1]) if word.pauses]
    ends = _spread(words, 0.0, speech)
    anchors = _matched(marks, [ends[mark] for mark in marks], inner)
    found: list[float] = []
    corners = [(-1, (0.0, 0.0)), *anchors, (len(words) - 1, (speech, seconds))]
    for (before, (_, begin)), (mark, (end, _)) in pairwise(corners):
        found += _spread(words[before + 1 : mark + 1], begin, end)
    return found


def _spread(words: Sequence[_Word], begin: float, end: float) -> list[float]:
    """Words between two times, pauses between them."""
    lengths = np.array([word.seconds for word in words])
    gaps = np.array([PAUSE if word.pauses else 0.0 for word in words[:-1]] + [0.0])
    total = float(lengths.sum() + gaps.sum())
    if not total:
        return [end] * len(words)
    after = np.cumsum(lengths + gaps) - gaps
    return [begin + (end - begin) * float(one) / total for one in after]


def _matched(
    marks: Sequence[int], expected: Sequence[float], pauses: Sequence[Silence]
) -> list[tuple[int, Silence]]:
    """Marks with their silences, in order: as many as fit, each as near as can be.

    Dynamic programming: a mark without a pause and a pause without a mark are both possible.
    """
    best: list[list[tuple[float, list[tuple[int, Silence]]]]] = [
        [(0.0, [])] * (len(pauses) + 1) for _ in range(len(marks) + 1)
    ]
    for row, (mark, place) in enumerate(zip(marks, expected, strict=True)):
        for column, pause in enumerate(pauses):
            cost, chain = best[row][column]
            gain = cost + (pause[1] - pause[0]) / PAUSE - abs(pause[0] - place)
            taken = (gain, [*chain, (mark, pause)])
            skipped = max(best[row][column + 1], best[row + 1][column], key=lambda item: item[0])
            best[row + 1][column + 1] = max(taken, skipped, key=lambda item: item[0])
    return best[-1][-1][1]
