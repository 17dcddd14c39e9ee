"""Where a slot's value may stand in what was said: candidates, and features that a ranker weighs.

Nothing here knows a service; what is learned goes by the words of a slot's name and by its type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from assistant.bench.sgd_data import Frame, spaced
from assistant.mind.flows import Flow, Slot
from assistant.mind.slots import Found, read

NOW = datetime(2019, 3, 1, 9)
"""the day on which the dialogues of the data set take place"""
TYPED = ("number", "date", "time", "money", "choice", "flag", "duration")
LONGEST = 8
"""words of a name"""
_TOKEN = re.compile(r"[^\W_]+(?:['’&./-][^\W_]+)*|[^\w\s]")
_JOINTS = frozenset(["of", "the", "and", "at", "in", "on", "for", "de", "la", "&", "-", "'", ","])
"""what may stand inside a name, between two capitalised words"""
_PRONOUN = re.compile(r"I(?:'\w+)?")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One possible value of a slot."""

    value: str
    spoken: str
    features: tuple[str, ...]


@dataclass(slots=True)
class Memory:
    """What is known in a dialogue before a turn."""

    filled: dict[str, dict[str, str]] = field(default_factory=dict)
    """service → slot → value as spoken"""
    offers: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    """service → slot → (act, value) of what the assistant named and nobody has taken yet"""

    def hear(self, frames: Iterable[Frame]) -> None:
        """Note what the assistant named."""
        for frame in frames:
            for act, slot, values in frame.acts:
                if slot and values and act in ("OFFER", "CONFIRM", "REQUEST"):
                    self.offers.setdefault(frame.service, {})[slot] = (act, values[0])


@dataclass(slots=True)
class Moment:
    """One turn in one service."""

    text: str
    service: str
    flow: Flow
    wanted: frozenset[str]
    acts: tuple[str, ...]
    filled: dict[str, str]
    common: frozenset[str]
    """words that are never a name (learned: the most frequent ones)"""
    language: str = "en"
    words: list[str] = field(default_factory=list)
    reads: dict[tuple[object, ...], list[Found]] = field(default_factory=dict)
    """what the readers found, shared by slots of the same kind and by the services of a turn"""
    names: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.words = [token.lower() for token in _TOKEN.findall(self.text)]

    def find(self, slot: Slot, *, wanted: bool) -> list[Found]:
        """The typed reader's values."""
        label = slot.name if slot.type == "flag" else ""
        key = (slot.type, label, tuple(choice.value for choice in slot.choices), wanted)
        if key not in self.reads:
            self.reads[key] = read(slot, self.text, self.language, NOW, wanted=wanted)
        return self.reads[key]

    def spans(self) -> list[tuple[int, int]]:
        """Where names may stand."""
        if not self.names:
            plain = self.text
            for kind in ("date", "time"):
                for item in self.find(Slot("", kind), wanted=False):
                    gap = "." * (item.end - item.start)
                    plain = plain[: item.start] + gap + plain[item.end :]
            self.names = chunks(plain, self.common)
        return self.names


def informable(flow: Flow) -> list[str]:
    """Slots that a person can give."""
    names = dict.fromkeys(name for intent in flow.intents.values() for name in intent.slots)
    return [name for name in names if name in flow.slots]


def chunks(text: str, common: frozenset[str]) -> list[tuple[int, int]]:
    """Runs of words that may be a name: capitalised ones, and rare ones."""
    tokens = [(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(text)]
    spans: list[tuple[int, int]] = []
    for capital in (True, False):
        inside = [
            _naming(word, place, common, capital=capital)
            for place, (word, _, _) in enumerate(tokens)
        ]
        for place in range(1, len(tokens) - 1):
            around = tokens[place - 1][0][:1] + tokens[place + 1][0][:1]
            if tokens[place][0].lower() in _JOINTS and len(around) == 2 and around.isupper():
                inside[place] = inside[place - 1]
        spans += _runs(tokens, inside)
    commas = [(start, text.find(",", start, end)) for start, end in spans]
    return list(dict.fromkeys([*spans, *(part for part in commas if part[1] > part[0])]))


def _runs(
    tokens: Sequence[tuple[str, int, int]], inside: Sequence[bool]
) -> Iterator[tuple[int, int]]:
    start = None
    for place, naming in enumerate([*inside, False]):
        if naming and start is None:
            start = place
        elif not naming and start is not None:
            if place - start <= LONGEST:
                yield tokens[start][1], tokens[place - 1][2]
            start = None


def _naming(word: str, place: int, common: frozenset[str], *, capital: bool) -> bool:
    low = word.lower()
    if not word[0].isalnum() or _PRONOUN.fullmatch(word):
        return False
    if word[0].isupper() and place > 0:
        return True
    if capital:
        return word[0].isdigit() or (word[0].isupper() and low not in common)
    return low not in common and not word.isdigit()


def candidates(moment: Moment, name: str) -> list[Candidate]:
    """All possible values of a slot in the words of this turn."""
    slot = moment.flow.slots[name]
    wanted = name in moment.wanted
    found: dict[tuple[str, int, int], str] = {}
    if slot.type not in TYPED:
        found = {(moment.text[start:end], start, end): "name" for start, end in moment.spans()}
    elif slot.type == "flag":
        said = moment.find(slot, wanted=wanted)
        found = {(item.value, item.start, item.end): "read" for item in said}
        found = found or {("yes", 0, 0): "guess"}
    else:
        for loose in (False, True):
            for item in moment.find(slot, wanted=loose):
                place = (item.value, item.start, item.end)
                found.setdefault(place, "loose" if loose else "strict")
    result = []
    for (value, start, end), how in found.items():
        spoken = moment.text[start:end].strip(" .,!?")
        marks = tuple(_features(moment, slot, (start, end), how))
        result.append(Candidate(value, spoken or value, marks))
    return result


def _marks(slot: Slot) -> list[str]:
    """Words that stand for a slot, so that what is learned serves other services."""
    words = spaced(slot.name).split()
    return [spaced(slot.name), *(f"~{word}" for word in words), f"type {slot.type}"]


def _features(moment: Moment, slot: Slot, span: tuple[int, int], how: str) -> Iterator[str]:
    asked = "wanted" if slot.name in moment.wanted else "other" if moment.wanted else "none"
    have = "had" if slot.name in moment.filled else "new"
    yield f"{asked} {have} {slot.type}"
    yield f"{asked} {how} {slot.type}"
    if slot.type == "flag":
        known = set(" ".join(slot.words.get("en", ())).lower().split())
        yield f"flag words {len(known & set(moment.words) - moment.common)}"
        context = [f"w {word}" for word in moment.words]
        context += [f"w {a} {b}" for a, b in pairwise(moment.words)]
    else:
        context = _context(moment.text, *span)
    for mark in (asked, *_marks(slot)):
        for item in context:
            yield f"{mark} | {item}"


def _context(text: str, start: int, end: int) -> list[str]:
    left = [token.lower() for token in _TOKEN.findall(text[:start])][-3:]
    right = [token.lower() for token in _TOKEN.findall(text[end:])][:2]
    inside = _TOKEN.findall(text[start:end])
    shape = "Cap" if text[start:end][:1].isupper() and start else "low"
    return [
        f"l1 {left[-1] if left else '^'}",
        f"l2 {' '.join(left[-2:])}",
        f"l3 {' '.join(left)}",
        f"r1 {right[0] if right else '$'}",
        f"r2 {' '.join(right)}",
        f"size {min(len(inside), 5)} {shape}",
        f"all {start == 0} {end >= len(text.rstrip('.!? '))}",
        *(f"in {word.lower()}" for word in inside[:4]),
    ]


def accept_features(moment: Moment) -> tuple[str, ...]:
    """Is what the assistant named last taken? Words, and what it did with its own."""
    words, acts = moment.words, " ".join(moment.acts)
    return (
        f"acts {acts}",
        f"head {' '.join(words[:2])}",
        f"head {acts} {' '.join(words[:1])}",
        f"asks {'?' in words} {acts}",
        *(f"w {word}" for word in words),
        *(f"w {a} {b}" for a, b in pairwise(words)),
        *(f"{acts} w {word}" for word in words),
    )
