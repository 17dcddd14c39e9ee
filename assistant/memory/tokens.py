"""What of a text is searched for by words: English as it is, Chinese and Japanese by characters.

SQLite's unicode61 takes a whole run of Chinese for one word. So each run is stored as its pairs of
characters and its single ones: the pairs rank, the single ones still find a word said otherwise.
Knows no database.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

MOST_TERMS = 48
"""of a question; a longer one is not more exact, only slower"""

_CJK = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_RUN = re.compile(f"[{_CJK}]+")
_WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")


def has_cjk(text: str) -> bool:
    """Holds Chinese characters or kana."""
    return _RUN.search(text) is not None


def language_of(text: str) -> str:
    """ "zh" for what is written in Chinese characters or kana, else "en"."""
    return "zh" if has_cjk(text) else "en"


def terms(text: str) -> str:
    """What is stored for the word search: a text's words and characters, with spaces between."""
    return " ".join(_split(_tidy(text)))


def query_terms(text: str, leave_out: Collection[str] = ()) -> list[str]:
    """The words of a question that may stand in its answer, each once; all when none is left.

    `leave_out`: names (lower case) that say who is meant, not what.
    """
    tidy = _tidy(text)
    skipped = _english() | set(leave_out)
    found = [term for term in _split(_cut(tidy)) if term not in skipped]
    return list(dict.fromkeys(found or _split(tidy)))[:MOST_TERMS]


def _tidy(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()


def _split(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if not _RUN.match(word):
            yield word
            continue
        yield from (word[n : n + 2] for n in range(len(word) - 1))
        yield from word


def _cut(text: str) -> str:
    return _RUN.sub(lambda run: _chinese().sub(" ", run[0]), text)


@cache
def _lists() -> dict[str, list[str]]:
    path = Path(__file__).with_name("search.toml")
    data = tomllib.loads(path.read_text("utf-8"))
    return {language: section["words"].split() for language, section in data.items()}


@cache
def _english() -> frozenset[str]:
    return frozenset(_lists()["en"])


@cache
def _chinese() -> re.Pattern[str]:
    words = sorted(_lists()["zh"], key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)))
