"""Which languages are worth trying, and in which characters their words are written."""

from __future__ import annotations

from functools import cache
from typing import Any

from assistant.evidence import tidy

UNLIKELY = 0.1
"""how much less likely a language other than English and Chinese is before anything is heard"""
DOUBT_CHINESE = 0.03
"""probability of English from which Chinese is not believed without trying English"""
DOUBT_ENGLISH = 0.5
"""share of English's probability from which Chinese is tried as well"""


def words(text: str, language: str) -> str:
    """Tidy words; Chinese in simplified characters, which Whisper base writes by chance."""
    return tidy(simplified(text) if language == "zh" else text)


@cache
def _converter() -> Any:
    import opencc

    return opencc.OpenCC("t2s")


def simplified(text: str) -> str:
    """Traditional Chinese characters turned into simplified ones."""
    converted: str = _converter().convert(text)
    return converted


def candidates(probabilities: dict[str, float]) -> tuple[str, ...]:
    """One language, or two to be tried, the likeliest first.

    Whisper hears an accent as the speaker's first language: English by a Chinese child is 60 %
    Chinese to it, or Latin. Decoding both tells them apart without doubt (mean log-probability
    -0.2 against -1.3), and costs half as much as encoding.
    """
    english, chinese = (probabilities.get(name, 0.0) for name in ("en", "zh"))
    home = "zh" if chinese > english else "en"
    likeliest = max(probabilities, key=lambda name: probabilities[name])
    if likeliest not in ("en", "zh") and probabilities[likeliest] * UNLIKELY > max(
        english, chinese
    ):
        return likeliest, home
    if home == "zh":
        return ("zh", "en") if english > DOUBT_CHINESE else ("zh",)
    return ("en", "zh") if chinese > english * DOUBT_ENGLISH else ("en",)
