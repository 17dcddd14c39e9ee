"""A text as the rules of finished.py look at it, and the word lists they look with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from assistant.mind.texts import prompts

WORD = re.compile(r"[\w']+(?:[.:]\d+)?")


@dataclass(frozen=True, slots=True)
class Said:
    """A text in the forms the rules look at."""

    text: str
    language: str
    plain: str
    """lower-case words, single spaces (Chinese: none), no punctuation"""
    core: str
    """the same without openers and politeness"""


def said_of(text: str, language: str) -> Said:
    if not language:
        return Said(text, language, "", "")
    text = text.strip().replace("’", "'")
    words = [match.group().lower() for match in WORD.finditer(text)]
    plain = ("" if language == "zh" else " ").join(words)
    return Said(text, language, plain, _core(plain, language))


def _core(plain: str, language: str) -> str:
    while match := head("edges", language).match(plain):
        plain = plain[match.end() :]
    while match := tail("polite", language).search(plain):
        plain = plain[: match.start()]
    return plain


@cache
def any_of(name: str, language: str) -> str:
    """The alternatives of a list, longest first; nothing matches a list that is not there."""
    words = prompts("finished")[language].get(name, ())
    return "(?:" + ("|".join(sorted(words, key=len, reverse=True)) or "(?!)") + ")"


@cache
def head(name: str, language: str) -> re.Pattern[str]:
    edge = "" if language == "zh" else r"(?![\w'])[ ]?"
    return re.compile(any_of(name, language) + edge)


@cache
def tail(name: str, language: str) -> re.Pattern[str]:
    edge = "" if language == "zh" else r"(?:^|[ ])"
    return re.compile(edge + any_of(name, language) + "$")


@cache
def bounded(name: str, language: str) -> str:
    return any_of(name, language) if language == "zh" else rf"\b{any_of(name, language)}\b"


def begins(said: Said, name: str) -> bool:
    return head(name, said.language).match(said.core) is not None


def whole(said: Said, name: str) -> bool:
    pattern = any_of(name, said.language)
    return any(re.fullmatch(pattern, form) for form in (said.core, said.plain) if form)
