"""A sentence in a form that is equal for equal meaning: without small words, in one wording.

"The user loves tea" and "The user really likes tea" are one; "does not like tea" is another.
It compares wordings of the same words, it does not know what words mean.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from assistant.mind.keys import reading
from assistant.mind.memories import Memory
from assistant.mind.texts import prompts
from assistant.mind.words import is_cjk, stems, tokens

_DATA: dict[str, Any] = prompts("memories")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_CONTRACTED = (
    (r"\bcan['’]t\b|\bcannot\b", "can not"), (r"\bwon['’]t\b", "will not"), (r"n['’]t\b", " not"),
)  # fmt: skip


def norm(memory: Memory) -> str:
    """Subject, yes or no, and content; of a `single` key its value alone."""
    subject = canonical(memory.subject)
    if memory.single:
        return f"{subject}|{memory.key}|{' '.join(core(memory.text))}"
    sign = "-" if negative(memory.text) else "+"
    return f"{subject}|{sign}|{' '.join(meaning(memory.text))}"


def canonical(subject: str) -> str:
    """A subject in the one wording that is compared: mum → mother."""
    said = _worded(subject, "zh" if is_cjk(subject) else "en")
    return re.sub(r"\s+", " ", said).strip() or subject


def meaning(text: str) -> tuple[str, ...]:
    """Content words in one wording, dates and numbers last and in order."""
    language = "zh" if is_cjk(text) else "en"
    days = _ISO.findall(text)
    said = _worded(_ISO.sub(" ", text), language)
    words = [word for word in _words(said, language) if word not in _negatives(language)]
    numbers = sorted(word for word in words if word[0].isdigit())
    return (*(word for word in words if not word[0].isdigit()), *numbers, *sorted(days))


def core(text: str) -> tuple[str, ...]:
    """The value of a fact of which only one can be true: "lives in Paris" → paris."""
    found = reading(text)
    if found is None or found.kind in ("favourite", "birthday", "married", "diet", "health"):
        return meaning(without_time(text))
    said = without_time(found.what)
    return meaning(said) or meaning(text)


def without_time(text: str) -> str:
    """Without since when it is so."""
    language = "zh" if is_cjk(text) else "en"
    ends = re.compile("|".join(_DATA[language]["words"]["since"]), re.I)
    bare = text.strip(" .!。！")
    return ends.sub("", bare) or bare


def negative(text: str) -> bool:
    """True for a sentence that denies something, "hates" and 讨厌 included."""
    language = "zh" if is_cjk(text) else "en"
    said = _worded(text, language)
    words = "|".join(_DATA[language]["words"]["negative"])
    return re.search(words if language == "zh" else rf"\b(?:{words})\b", said, re.I) is not None


def _worded(text: str, language: str) -> str:
    """In the one wording that is compared."""
    said = text.strip(" .!。！")
    if language == "en":
        said = said.lower()
        for pattern, full in _CONTRACTED:
            said = re.sub(pattern, full, said)
    for known, instead in _same(language):
        said = known.sub(instead, said)
    return said


@cache
def _same(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    table = _DATA[language]["same"]
    order = sorted(table.items(), key=lambda item: not item[1].startswith("not "))
    return tuple((re.compile(pattern, re.I), instead) for pattern, instead in order)


@cache
def _empty(language: str) -> frozenset[str]:
    words = _DATA[language]["words"]["empty"]
    return frozenset(stems(words)) if language == "en" else frozenset(words)


@cache
def _negatives(language: str) -> frozenset[str]:
    if language == "zh":
        return frozenset("不没别取消")
    return frozenset(stems(_DATA["en"]["words"]["negative"][0].replace("|", " ")))


def _words(text: str, language: str) -> list[str]:
    if language == "en":
        return [word for word in stems(text) if word not in _empty("en")]
    return [word for word in tokens(text) if word not in _empty("zh")]
