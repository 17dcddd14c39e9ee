"""Where the words of something forgotten still stand in a text or a JSON value, and without them.

Pure: knows no table. Words are compared as whole words, in any case, width and punctuation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from assistant.memory.tokens import has_cjk

MARK = "[…]"
"""stands where words were taken out of a text that stays"""

_CJK = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_LETTER = rf"[^\W{_CJK}]"
_WORD = re.compile(rf"[{_CJK}]+|{_LETTER}+")
_END = re.compile(r"[.!?]+(?=\s|$)|[。！？\n]+")
_NAMES = frozenset(("act", "action", "asked", "flow", "intent", "outcome", "trail", "language"))
"""keys whose values are names of the program's own, never words of a person"""
_SAID = ("value", "spoken", "note", "text")
"""an object that holds it in one of these is about it as a whole: a fact, a slot"""
LEAST = 4
"""letters or digits of a value that can be looked for by itself: "ten" stands in too much"""


def telling(value: str) -> bool:
    """A value that says enough to be looked for wherever it stands: "Kim", "peanuts", "花生"."""
    words = _WORD.findall(_plain(value))
    if any(has_cjk(word) for word in words):
        return sum(map(len, words)) > 1
    return sum(map(len, words)) >= LEAST or any(len(w) > 1 and w[0].isupper() for w in words)


class Traces:
    """The words that have to go. Without any it finds nothing."""

    def __init__(self, words: Iterable[str]) -> None:
        patterns = {pattern for word in words if (pattern := _pattern(word))}
        longest_first = sorted(patterns, key=len, reverse=True)
        self._found = re.compile("|".join(longest_first), re.I) if patterns else None

    def __bool__(self) -> bool:
        return self._found is not None

    def in_text(self, text: str) -> bool:
        """The text holds one of them."""
        if self._found is None:
            return False
        if self._found.search(text) is not None:
            return True
        return not text.isascii() and self._found.search(_plain(text)) is not None

    def masked(self, text: str) -> str:
        """The text with a mark in their place."""
        if self._found is None or not self.in_text(text):
            return text
        return self._found.sub(MARK, self._searchable(text))

    def without(self, text: str) -> str:
        """The text without the sentences that hold one of them."""
        if self._found is None or not self.in_text(text):
            return text
        text = self._searchable(text)
        spans = [found.span() for found in self._found.finditer(text)]
        edges = sorted({0, len(text), *(end.end() for end in _END.finditer(text))})
        kept = [
            text[start:end]
            for start, end in pairwise(edges)
            if not any(first < end and last > start for first, last in spans)
        ]
        return "".join(kept).strip()

    def held_by(self, value: Any) -> bool:
        """Any text in a JSON value holds one of them, keys among them."""
        if isinstance(value, str):
            return self.in_text(value)
        if isinstance(value, dict):
            return any(self.held_by(one) for one in (*value, *value.values()))
        return isinstance(value, list) and any(self.held_by(one) for one in value)

    def pruned(self, value: Any) -> Any:
        """A JSON value without what holds one of them: facts, slots and entries go as a whole,
        of a longer text the sentences."""
        if isinstance(value, str):
            return self.without(value)
        if isinstance(value, list):
            return [self.pruned(one) for one in value if not self._about(one)]
        if isinstance(value, dict):
            return {key: self._field(key, one) for key, one in value.items() if self._stays(one)}
        return value

    def _field(self, key: str, value: Any) -> Any:
        if key in _NAMES:
            return value
        if key == "inverse" and self.held_by(value):
            return None  # half an action undoes nothing
        if key in ("slots", "values") and isinstance(value, dict):
            return {name: self.pruned(one) for name, one in value.items() if not self._about(one)}
        return self.pruned(value)

    def _stays(self, value: Any) -> bool:
        return not (isinstance(value, dict) and self._about(value))

    def _about(self, value: Any) -> bool:
        if isinstance(value, str):
            return self.in_text(value)
        return isinstance(value, dict) and any(
            isinstance(value.get(key), str) and self.in_text(value[key]) for key in _SAID
        )

    def _searchable(self, text: str) -> str:
        """As it is, unless only plain characters show all of them."""
        assert self._found is not None
        plain = _plain(text)
        as_it_is = len(self._found.findall(text)) >= len(self._found.findall(plain))
        return text if as_it_is else plain


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _pattern(text: str) -> str:
    """Its words in order, whatever stands between them; "" when it holds none."""
    words = _WORD.findall(_plain(text))
    if not words:
        return ""
    parts = [re.escape(words[0])]
    for last, word in pairwise(words):
        parts += [r"[\W_]*" if has_cjk(last + word) else r"[\W_]+", re.escape(word)]
    before = "" if has_cjk(words[0]) else f"(?<!{_LETTER})"
    after = "" if has_cjk(words[-1]) else f"(?!{_LETTER})"
    return before + "".join(parts) + after
