"""Did anybody really say this? Judged by figures, never by what the words are.

Whisper was trained on captions, so silence and noise make it write "Thank you." or repeat itself.
Pure functions on what the recogniser measured; they know no model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assistant.config import AsrConfig

_REMARK = re.compile(r"\[[^\]]*\]|\([^)]*\)|（[^）]*）|【[^】]*】|\*[^*]+\*|[♪♫♬♩]+|<\|[^|]*\|>")
_SPACE = re.compile(r"\s+")
MIN_REPEATS = ((1, 6), (2, 4), (3, 3))
"""(length of the repeated piece in tokens at most, repeats in a row that make a loop)"""
LONG_REPEATS = 3
LOOP_DOUBT = 0.5
"""a text that repeats itself is believed only on clear speech, as each repeat makes it surer"""
NO_WORDS = "it does not sound like words"
LONGEST_PIECE = 24
MAX_TOKENS_PER_SECOND = 15.0
"""Quick English is 5 to 6 tokens a second, quick Chinese about 11."""
SPARE_TOKENS = 12
"""a short burst may still hold this many more"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What recognition measured for one stretch of sound."""

    text: str
    """tidy"""
    looping: bool
    """it repeated itself, or held more than anybody can say in the time"""
    log_prob: float
    """mean log-probability of the tokens"""
    no_speech: float
    """probability of Whisper's no-speech token, 0 to 1"""


def tidy(text: str) -> str:
    """Words only: remarks such as [BLANK_AUDIO], (music) and notes are taken out."""
    text = _SPACE.sub(" ", _REMARK.sub(" ", text)).strip()
    return text if any(letter.isalnum() for letter in text) else ""


def most_tokens(seconds: float) -> int:
    """More tokens than anybody can say in this time are a loop."""
    return int(SPARE_TOKENS + MAX_TOKENS_PER_SECOND * seconds)


def _wanted(length: int) -> int:
    """Repeats in a row of a piece of so many tokens that make a loop."""
    return next((times for most, times in MIN_REPEATS if length <= most), LONG_REPEATS)


def once(tokens: Sequence[int]) -> list[int]:
    """The tokens with each loop said once; what people do repeat stays."""
    kept: list[int] = []
    start = 0
    while start < len(tokens):
        step = 1
        for length in range(1, min(LONGEST_PIECE, (len(tokens) - start) // 2) + 1):
            end = start + length
            while end < len(tokens) and tokens[end] == tokens[end - length]:
                end += 1
            if end - start >= length * _wanted(length):
                # a last repeat that was cut off belongs to the loop
                whole = end if end == len(tokens) else end - (end - start) % length
                kept += tokens[start : start + length]
                step = whole - start
                break
        else:
            kept.append(tokens[start])
        start += step
    return kept


def why_refused(evidence: Evidence, config: AsrConfig) -> str:
    """The check that refuses this text, "" when it stands."""
    if not evidence.text:
        return "no words"
    if doubt(evidence, config) > (LOOP_DOUBT if evidence.looping else 1):
        return "the same words over and over" if evidence.looping else NO_WORDS
    return ""


def doubt(evidence: Evidence, config: AsrConfig) -> float:
    """Mean of both figures, each as a share of its threshold; above 1 it is no speech.

    Neither is enough alone: Whisper is sure of "you" in silence (log-probability -0.4, no-speech
    0.92) and unsure of a clear "two" (-0.9, 0.58). With Whisper base and beam 2, 49 of 50 noises
    give 1.13 and more and digital silence 0.98; 64 short real words give at most 0.97, one
    misheard one 1.06. With beam 5 a chime gives 0.99, and with tiny.en both kinds meet around 1:
    this is the second check, after the speech detector, to which all those noises are no speech.
    """
    unsure = evidence.log_prob / min(config.log_prob_threshold, -1e-6)
    silent = evidence.no_speech / max(config.no_speech_threshold, 1e-6)
    return (unsure + silent) / 2
