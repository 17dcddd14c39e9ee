"""Do two stored sentences say the same, or the opposite? By words, strict on what may not differ.

Two sentences that differ in a number, a day, a name, a person or a denial are never the same,
however near they sound. What comes to the same thing is data: prompts/consolidate.toml.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from assistant.mind.memories import Memory
from assistant.mind.texts import prompts
from assistant.mind.values import values
from assistant.mind.words import CJK, stem, tokens

NEAR = {"bge-small-en-v1.5": 0.965}
"""Cosine from which two English sentences that differ in one word say the same, by encoder.

Measured on tests/duplicates.jsonl: look-alikes reach .953 ("likes cooking (outdoors)"). With e5
Chinese look-alikes are at .95 to .99, paraphrases at .97 to .99: there the word rules decide.
"""
COMMON = 2
"""words that two such sentences share at least"""

_NAME = re.compile(r"\b[A-Z][\w'’-]*")
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_WIDE = re.compile(f"[{CJK}]")


@dataclass(frozen=True, slots=True)
class Sense:
    """What a sentence says, in a form that can be compared."""

    subject: str
    language: str
    denied: bool
    """an odd number of denials"""
    against: bool
    """its verb is one of dislike"""
    exact: tuple[str, ...]
    """numbers, days, times and names, each kind in its order: never to differ"""
    content: tuple[str, ...]
    """content words in their order, like ones made equal"""

    @property
    def frame(self) -> tuple[str, str, tuple[str, ...]]:
        """Sentences with another one say something else, whatever the rest."""
        return self.subject, self.language, self.exact

    @property
    def stance(self) -> bool:
        """For (True) or against."""
        return self.denied == self.against


@dataclass(frozen=True, slots=True)
class _Words:
    same: re.Pattern[str]
    """one group for each row of what comes to the same thing"""
    stand_for: tuple[str, ...]
    negations: frozenset[str]
    negating: re.Pattern[str]
    opposite: dict[str, str]
    light: frozenset[str]
    telling: frozenset[str]
    exacting: frozenset[str]


@cache
def _words(language: str) -> _Words:
    texts = prompts("consolidate")[language]
    edge = r"\b" if language == "en" else ""
    return _Words(
        re.compile(edge + "(?:" + "|".join(f"({many})" for _, many in texts["same"]) + ")" + edge),
        tuple(one for one, _ in texts["same"]),
        frozenset(texts["negations"].split()),
        re.compile(texts["negating"]),
        {stem(word): stem(other) for word, other in texts["opposite"].items()},
        frozenset(texts["light"].split()),
        frozenset(stem(word) for word in texts["telling"].split()),
        frozenset(stem(word) for word in texts["exacting"].split()),
    )


def sense_of(memory: Memory) -> Sense:
    """The sense of a stored sentence."""
    return _sense(memory.text, memory.subject.lower(), memory.language)


@lru_cache(maxsize=32_768)
def _sense(text: str, subject: str, language: str) -> Sense:
    wide = _WIDE.search(text) is not None
    words = _words("zh" if wide else "en")
    names = () if wide else _names(text, words)
    exact, rest = _exact(text)
    read = _read_wide if wide else _read
    denials, content = read(rest.lower(), words)
    against = any(word in words.opposite for word in content)
    same = tuple(words.opposite.get(word, word) for word in content)
    numbers = tuple(word for word in same if word[0].isdigit())
    exact = (*exact, *numbers, *names)
    return Sense(subject, language, denials % 2 == 1, against, exact, same)


def _names(text: str, words: _Words) -> tuple[str, ...]:
    """Capitals, also at the beginning unless the word is a common one."""
    found = (re.sub(r"['’]s?$", "", one.group()).lower() for one in _NAME.finditer(text))
    return tuple(one for one in found if one not in words.light and stem(one) not in words.telling)


def _exact(text: str) -> tuple[tuple[str, ...], str]:
    """Days and times by kind, and the text without them."""
    found = [("day", one.group(), *one.span()) for one in _ISO.finditer(text)]
    for value in values(text):
        if value.kind != "count" and all(value.end <= a or value.start >= b for *_, a, b in found):
            found.append((value.kind, " ".join(tokens(value.text)), value.start, value.end))
    rest = text
    for *_, start, end in sorted(found, key=lambda one: -one[2]):
        rest = f"{rest[:start]} {rest[end:]}"
    found.sort(key=lambda one: (one[0], one[2]))
    return tuple(f"{kind} {what}" for kind, what, *_ in found), rest


def _read(text: str, words: _Words) -> tuple[int, tuple[str, ...]]:
    """Denials and content words of an English sentence."""
    text = " ".join(tokens(text))
    denials = len(words.negating.findall(text))
    text = words.negating.sub(" ", text)
    text = words.same.sub(lambda found: words.stand_for[(found.lastindex or 1) - 1], text)
    plain = text.split()
    denials += sum(word in words.negations for word in plain)
    kept = (word for word in plain if word not in words.light and word not in words.negations)
    return denials, tuple(stem(word) for word in kept)


def _read_wide(text: str, words: _Words) -> tuple[int, tuple[str, ...]]:
    """Denials and content characters of a Chinese sentence."""
    text = "".join(tokens(text)) if not re.search("[a-z]", text) else text
    text = re.sub(r"[\s，。、！？,.!?]", "", text)
    denials = len(words.negating.findall(text))
    text = words.negating.sub("", text)
    marks: list[str] = []
    text = words.same.sub(
        lambda found: _marked(marks, words.stand_for[(found.lastindex or 1) - 1]), text
    )
    for word in sorted(words.negations, key=len, reverse=True):
        denials += text.count(word)
        text = text.replace(word, "")
    for word in sorted(words.light, key=len, reverse=True):
        text = text.replace(word, "")
    pieces = re.findall(r"\ue000\d+\ue001|\d+|[a-z]+|.", text)
    return denials, tuple(
        marks[int(one[1:-1])] if one.startswith("\ue000") else one for one in pieces
    )


def _marked(marks: list[str], word: str) -> str:
    """A place that later replacements do not look into."""
    marks.append(word)
    return f"\ue000{len(marks) - 1}\ue001"


def opposed(one: Sense, other: Sense) -> bool:
    """The same of the same, once yes and once no. Two denials of different verbs are no
    contradiction: "does not like" and "does not hate"."""
    return (
        one.frame == other.frame
        and one.content == other.content
        and one.stance != other.stance
        and not (one.denied and other.denied)
    )


def same(one: Sense, other: Sense) -> bool:
    """The same words, or words that come to the same thing."""
    return one == other and bool(one.content or one.exact)


def comparable(one: Sense, other: Sense) -> bool:
    """They differ in one word of each at most, in the same place: worth a look at their meaning."""
    if (one.frame, one.denied, one.against) != (other.frame, other.denied, other.against):
        return False
    if one.language != "en" or not one.content or not other.content:
        return False  # one character is no word
    words = _words("en")
    left, right = _difference(one.content, other.content)
    telling = set(left + right) & words.telling or set(one.content) & words.exacting
    common = len(one.content) - len(left)
    return len(left) <= 1 and len(right) <= 1 and common >= COMMON and not telling


def _difference(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """What is left of two rows of words without their common beginning and end."""
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return one[start : len(one) - end], other[start : len(other) - end]
