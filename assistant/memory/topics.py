"""What a text is about, as terms that can be looked up: stems, Chinese pairs, shared concepts.

A concept is a word for the same thing in both languages (prompts/concepts.toml): with it an
English memory is found by a Chinese question. Knows no memory and no database.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from assistant.memory.tokens import has_cjk
from assistant.mind.texts import prompts
from assistant.mind.words import CJK, stem

CONCEPT = "#"
"""begins a term that stands for a concept"""
WEAK = "~"
"""begins a term that says little alone: a single character, a taste, a day"""
REMEMBERED = 4096
"""texts whose terms are kept at hand: the lines of a prompt come again every turn"""

_RUN = re.compile(f"[{CJK}]+")
_WORD = re.compile(rf"\d+|[^\W\d_{CJK}]+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class _Concepts:
    """The table of concepts, turned round."""

    words: dict[str, tuple[str, ...]]
    """English stem → terms"""
    wide: tuple[tuple[str, re.Pattern[str]], ...]
    """for Chinese"""
    phrases: tuple[tuple[str, re.Pattern[str]], ...]
    """for English: how an aspect is asked for or said without its word"""


@lru_cache(maxsize=REMEMBERED)
def topics(text: str) -> tuple[str, ...]:
    """The terms of a text, each once; () for one that is about nothing by itself ("and when?")."""
    bare = _DATE.sub(" ", text)
    found = dict.fromkeys(_english(bare))
    if has_cjk(bare):
        found |= dict.fromkeys(_chinese(bare))
    return tuple(found)


def strong(text: str) -> frozenset[str]:
    """Those of its terms that say what a text is about even alone."""
    return frozenset(term for term in topics(text) if not term.startswith(WEAK))


def refers(text: str) -> bool:
    """Speaks of somebody who was named before: "does she …", 她…"""
    return bool(_lists()["refers"].search(text))


def _english(text: str) -> Iterator[str]:
    words = _WORD.findall(text.lower())
    if not words:
        return
    concepts, skipped = _concepts(), _lists()["skipped"]
    for word in words:
        root = stem(word)
        yield from concepts.words.get(root, ())
        if root not in skipped and (len(root) > 1 or root.isdigit()):
            yield WEAK + root if root.isdigit() and len(root) < 3 else root
    yield from (term for term, pattern in concepts.phrases if pattern.search(text))


def _chinese(text: str) -> Iterator[str]:
    light = _lists()["light"]
    for run in _RUN.findall(_lists()["cut"].sub(" ", text)):
        pairs = (run[n : n + 2] for n in range(len(run) - 1))
        yield from (pair for pair in pairs if not light.issuperset(pair))
        yield from (WEAK + char for char in run if char not in light)
    yield from (term for term, pattern in _concepts().wide if pattern.search(text))


@cache
def _lists() -> dict[str, Any]:
    here = Path(__file__)
    data = tomllib.loads(here.with_name("topics.toml").read_text("utf-8"))
    asked = tomllib.loads(here.with_name("search.toml").read_text("utf-8"))
    english = f"{asked['en']['words']} {data['en']}".split()
    chinese = f"{asked['zh']['words']} {data['zh']}".split()
    longest = sorted(chinese, key=len, reverse=True)
    return {
        "skipped": frozenset(map(stem, english)),
        "cut": re.compile("|".join(map(re.escape, longest))),
        "light": frozenset(data["light"]),
        "refers": re.compile(data["refers"], re.I),
    }


@cache
def _concepts() -> _Concepts:
    words: dict[str, tuple[str, ...]] = {}
    wide, phrases = [], []
    for number, item in enumerate(prompts("concepts")["concept"]):
        if item.get("kind") == "day":
            continue  # a day is in no topic: most plans have one
        weak = WEAK if item.get("kind") == "taste" else ""
        term = f"{weak}{CONCEPT}{number}"
        for root in {stem(word) for word in _WORD.findall(item["en"])}:
            words[root] = (*words.get(root, ()), term)
        if item.get("zh"):
            wide.append((term, re.compile(item["zh"])))
        phrases += [
            (term, re.compile(item[name], re.I)) for name in ("ask", "also") if item.get(name)
        ]
    return _Concepts(words, tuple(wide), tuple(phrases))
