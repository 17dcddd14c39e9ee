"""Plain words of the flow files, looked for in what was said: cues, phrases, common words.

A pattern is plain words; `*` stands for up to four words (eight Chinese characters), `(a|b)` for
alternatives, `{noun}` for a noun of the flow. Knows nothing of tasks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from assistant.mind.flows import Book, Words

GAP = {"en": r"(?:\S+[ ]){0,4}?", "zh": r".{0,8}?"}
NOUN = {"en": "noun", "zh": "名词"}
"""what a noun counts as"""
EDGES = ("thanks", "polite", "filler")
"""common words that may stand at either end of a command"""
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
    pattern: str = ""


@lru_cache(maxsize=256)
def plain(text: str, language: str) -> str:
    """Lower case, one space between words, no punctuation but inside numbers; Chinese unspaced."""
    text = text.lower().replace("’", "'")
    text = _APART.sub(" ", _PUNCTUATION.sub(" ", text)).strip()
    return text.replace(" ", "") if language == "zh" else text


@cache
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


@cache
def any_of(patterns: tuple[str, ...], language: str, nouns: tuple[str, ...]) -> re.Pattern[str]:
    """All patterns at once: most texts hold none of them, and that is soon known."""
    bodies = (compiled(pattern, language, nouns).pattern for pattern in patterns)
    return re.compile("|".join(f"(?:{body})" for body in bodies) or r"(?!)")


@lru_cache(maxsize=64)
def units(text: str, language: str) -> frozenset[str]:
    """Words, or Chinese characters."""
    return frozenset(text if language == "zh" else text.split())


@cache
def heads(
    patterns: tuple[str, ...], language: str, nouns: tuple[str, ...]
) -> frozenset[str] | None:
    """What each pattern begins with, one of which a text has to hold; None: anything may be."""
    found: set[str] = set()
    for pattern in patterns:
        first = pattern.lower().lstrip()
        if first.startswith(("*", "((")):
            return None
        if first.startswith("{noun}"):
            starts: tuple[str, ...] = nouns
        elif first.startswith("("):
            starts = tuple(first[1 : first.index(")")].split("|"))
        else:
            starts = (first,)
        for start in starts:
            units = list(start.strip()) if language == "zh" else re.split(r"[\s*(]", start.strip())
            if not units or not units[0]:
                return None
            found.add(units[0].lower())
    return frozenset(found)


@lru_cache(maxsize=2048)
def hits(
    patterns: tuple[str, ...], text: str, language: str, nouns: tuple[str, ...] = ()
) -> tuple[Hit, ...]:
    """All places of all patterns in a `plain` text, the most telling first."""
    first = heads(patterns, language, nouns)
    if first is not None and first.isdisjoint(units(text, language)):
        return ()
    if not any_of(patterns, language, nouns).search(text):
        return ()
    found = []
    said = units(text, language)
    for pattern in patterns:
        begins = heads((pattern,), language, nouns)
        if begins is not None and begins.isdisjoint(said):
            continue
        for match in compiled(pattern, language, nouns).finditer(text):
            found.append(Hit(*match.span(), weight(pattern, language), pattern))
    return tuple(sorted(found, key=lambda hit: (-hit.weight, hit.start)))


@cache
def weight(pattern: str, language: str) -> int:
    """Words a pattern names at least; of alternatives one counts."""
    pattern = pattern.replace("{noun}", NOUN[language if language == "zh" else "en"])
    flat = re.sub(r"\(([^()|]*)[^()]*\)", r"\1", pattern).replace("*", " ")
    return len(re.sub(r"\s", "", flat)) if language == "zh" else len(flat.split())


def warm(book: Book, language: str) -> None:
    """Compile what the first turns would wait for."""
    for name, words in book.common.items():
        phrases = of(words, language)
        any_of(phrases, language, ())
        if name in EDGES:
            _at_end(phrases, language)
        if name not in ("smalltalk", "remark"):
            for phrase in phrases:
                compiled(phrase, language)
    for flow in book.flows.values():
        nouns = of(flow.nouns, language)
        any_of(nouns, language, ())
        for intent in flow.intents.values():
            for patterns in (of(intent.cues, language), of(intent.phrases, language)):
                any_of(patterns, language, nouns)
                for pattern in patterns:
                    compiled(pattern, language, nouns)
        for slot in flow.slots.values():
            any_of(of(slot.words, language), language, ())


def of(words: Words, language: str) -> tuple[str, ...]:
    """What is said in a language; () when the data has nothing for it."""
    return tuple(words.get(language, ()))


@lru_cache(maxsize=4096)
def longest(phrases: tuple[str, ...], language: str, text: str) -> int:
    """How far the longest of the phrases reaches that the `plain` text begins with."""
    if not any_of(phrases, language, ()).match(text):
        return 0
    found = (compiled(phrase, language).match(text) for phrase in phrases)
    return max((match.end() for match in found if match), default=0)


class Common:
    """The words that belong to no flow."""

    def __init__(self, book: Book, language: str) -> None:
        self._book = book
        self._language = language

    def phrases(self, name: str) -> tuple[str, ...]:
        words = self._book.common.get(name)
        return tuple(words.get(self._language, ())) if words else ()

    def has(self, name: str, text: str) -> bool:
        """One of the phrases stands somewhere in the `plain` text."""
        return any_of(self.phrases(name), self._language, ()).search(text) is not None

    def starts(self, name: str, text: str) -> int:
        """Where the phrase ends that the text begins with (after fillers); 0 when none does."""
        rest = self.without_fillers(text)
        end = longest(self.phrases(name), self._language, rest)
        return len(text) - len(rest) + end if end else 0

    def whole(self, name: str, text: str) -> bool:
        """The text is one of the phrases and nothing else, but for fillers and politeness."""
        if longest(self.phrases(name), self._language, text) == len(text) > 0:
            return True
        rest = self._bare(text)
        while rest:
            end = longest(self.phrases(name), self._language, rest)
            if not end:
                return False
            rest = self._bare(rest[end:])
            if not rest:
                return True
        return False

    def without_fillers(self, text: str) -> str:
        """The text from its first telling word on."""
        while end := longest(self.phrases("filler"), self._language, text):
            text = text[end:].lstrip()
        return text

    def places(self, name: str, text: str) -> tuple[Hit, ...]:
        return hits(self.phrases(name), text, self._language)

    def without(self, name: str, text: str) -> str:
        """The text without any of the phrases."""
        phrases = tuple(sorted(self.phrases(name), key=len, reverse=True))
        return any_of(phrases, self._language, ()).sub(" ", text)

    def _bare(self, text: str) -> str:
        """Without fillers and politeness at both ends."""
        text = self.without_fillers(text.strip())
        for name in EDGES:
            if end := longest(self.phrases(name), self._language, text):
                text = text[end:].strip()
            edge = _at_end(self.phrases(name), self._language)
            text = edge.sub("", text)
        return text.strip()


@lru_cache(maxsize=64)
def _at_end(phrases: tuple[str, ...], language: str) -> re.Pattern[str]:
    bodies = "|".join(f"(?:{compiled(phrase, language).pattern})" for phrase in phrases)
    return re.compile(rf"\s*(?:{bodies or '(?!)'})$")
