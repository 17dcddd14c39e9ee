"""Plain words of the flow files, looked for in what was said: cues, phrases, common words.

A pattern is plain words; `*` stands for up to four words (eight Chinese characters), `(a|b)` for
alternatives, `{noun}` for a noun of the flow. Knows nothing of tasks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from assistant.mind.flows import Book, Words

GAP = {"en": r"(?:\S+ ){0,4}?", "zh": r".{0,8}?"}
_PUNCTUATION = re.compile(r"[^\w'%$€£¥:.\-/ ]+|(?<!\d)[.:/-]+|[.:/-]+(?!\d)")
_APART = re.compile(r"\s+")
_TOKEN = re.compile(r"\*|\(|\)|\||\{noun\}|[^\s*()|{}]+|\s+")


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a pattern stands in the plain form of a text."""

    start: int
    end: int
    weight: int
    """words (characters in Chinese) that the pattern itself names"""


@lru_cache(maxsize=256)
def plain(text: str, language: str) -> str:
    """Lower case, one space between words, no punctuation but inside numbers; Chinese unspaced."""
    text = text.lower().replace("’", "'")
    text = _APART.sub(" ", _PUNCTUATION.sub(" ", text)).strip()
    return text.replace(" ", "") if language == "zh" else text


@lru_cache(maxsize=4096)
def compiled(pattern: str, language: str, nouns: tuple[str, ...] = ()) -> re.Pattern[str]:
    """A pattern for `plain` text. ValueError when its brackets do not match."""
    wide = language == "zh"
    parts: list[str] = []
    for token in _TOKEN.findall(pattern.lower()):
        if token == "*":
            parts.append(GAP[language if wide else "en"])
        elif token == "{noun}":
            parts.append("(?:" + "|".join(re.escape(noun) for noun in _longest(nouns)) + ")")
        elif token == "(":
            parts.append("(?:")
        elif token in ")|":
            parts.append(token)
        elif token.isspace():
            if not wide and parts and not parts[-1].endswith("?") and parts[-1] not in ("(?:", "|"):
                parts.append(" ")
        else:
            parts.append(re.escape(token))
    body = "".join(parts).strip()
    try:
        return re.compile(body if wide else rf"(?<![\w'])(?:{_tidy(body)})(?![\w'])")
    except re.error as error:
        raise ValueError(f"{pattern!r}: {error}") from None


def _tidy(body: str) -> str:
    """A gap at the end, or before a bracket's end, eats no space that is not there."""
    return re.sub(r" (?=\)|\||$)", "", body)


def _longest(nouns: Sequence[str]) -> list[str]:
    return sorted((noun.lower() for noun in nouns), key=len, reverse=True)


def hits(
    patterns: Iterable[str], text: str, language: str, nouns: tuple[str, ...] = ()
) -> list[Hit]:
    """All places of all patterns in a `plain` text, the most telling first."""
    found = []
    for pattern in patterns:
        for match in compiled(pattern, language, nouns).finditer(text):
            found.append(Hit(*match.span(), weight(pattern, language)))
    return sorted(found, key=lambda hit: (-hit.weight, hit.start))


@lru_cache(maxsize=4096)
def weight(pattern: str, language: str) -> int:
    """Words a pattern names at least; of alternatives one counts."""
    flat = re.sub(r"\(([^()|]*)[^()]*\)", r"\1", pattern).replace("*", " ")
    return len(re.sub(r"\s", "", flat)) if language == "zh" else len(flat.split())


def of(words: Words, language: str) -> tuple[str, ...]:
    """What is said in a language; () when the data has nothing for it."""
    return tuple(words.get(language, ()))


class Common:
    """The words that belong to no flow."""

    def __init__(self, book: Book, language: str) -> None:
        self._book = book
        self._language = language

    def phrases(self, name: str) -> tuple[str, ...]:
        return of(self._book.common.get(name, {}), self._language)

    def has(self, name: str, text: str) -> bool:
        """One of the phrases stands somewhere in the `plain` text."""
        return any(compiled(p, self._language).search(text) for p in self.phrases(name))

    def starts(self, name: str, text: str) -> int:
        """Where the phrase ends that the text begins with (after fillers); 0 when none does."""
        rest = self.without_fillers(text)
        skipped = len(text) - len(rest)
        ends = [
            match.end()
            for phrase in self.phrases(name)
            if (match := compiled(phrase, self._language).match(rest)) and match.end()
        ]
        return skipped + max(ends) if ends else 0

    def whole(self, name: str, text: str) -> bool:
        """The text is one of the phrases and nothing else, but for fillers and politeness."""
        rest = self._bare(text)
        while rest:
            ends = [
                match.end()
                for phrase in self.phrases(name)
                if (match := compiled(phrase, self._language).match(rest)) and match.end()
            ]
            if not ends:
                return False
            rest = self._bare(rest[max(ends) :])
            if not rest:
                return True
        return False

    def without_fillers(self, text: str) -> str:
        """The text from its first telling word on."""
        while True:
            for phrase in self.phrases("filler"):
                match = compiled(phrase, self._language).match(text)
                if match and match.end():
                    text = text[match.end() :].lstrip()
                    break
            else:
                return text

    def _bare(self, text: str) -> str:
        text = self.without_fillers(text.strip())
        for name in ("thanks", "polite", "filler"):
            for phrase in self.phrases(name):
                pattern = compiled(phrase, self._language).pattern
                text = re.sub(rf"\s*(?:{pattern})$", "", text)
                text = re.sub(rf"^(?:{pattern})\s*", "", text)
        return text.strip()
