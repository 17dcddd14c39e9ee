"""Where a slot's value may come from in one turn: the words, an offer, an earlier service.

Every candidate has features that a linear ranker (sgd_rank) weighs; nothing here knows a service.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from assistant.bench.sgd_data import Frame, spaced
from assistant.mind.flows import Flow, Slot
from assistant.mind.slots import read

NOW = datetime(2019, 3, 1, 9)
"""the day on which the dialogues of the data set take place"""
TYPED = ("number", "date", "time", "money", "choice", "flag", "duration")
OFFERS = ("OFFER", "CONFIRM", "REQUEST", "INFORM")
_TOKEN = re.compile(r"[^\W_]+(?:['’&./-][^\W_]+)*|[^\w\s]")
_JOINTS = frozenset("of the and at in on for de la & - ' ,".split())
LONGEST = 8


@dataclass(frozen=True, slots=True)
class Candidate:
    """One possible value of a slot."""

    source: str
    """ "text", "offer" or "carried" """
    value: str
    spoken: str
    features: tuple[str, ...]


@dataclass(slots=True)
class Memory:
    """What is known in a dialogue before a turn."""

    filled: dict[str, dict[str, str]] = field(default_factory=dict)
    """service → slot → value as spoken"""
    offers: dict[str, dict[str, tuple[str, str, int]]] = field(default_factory=dict)
    """service → slot → (act, value, turn)"""
    turn: int = 0

    def hear(self, frames: Iterable[Frame]) -> None:
        """Note what the assistant named."""
        for frame in frames:
            for act, slot, values in frame.acts:
                if slot and act in OFFERS and (values or act != "REQUEST"):
                    table = self.offers.setdefault(frame.service, {})
                    table[slot] = (act, values[0] if values else "", self.turn)


@dataclass(frozen=True, slots=True)
class Moment:
    """One turn in one service, ready for its candidates."""

    text: str
    service: str
    flow: Flow
    wanted: frozenset[str]
    acts: tuple[str, ...]
    memory: Memory
    common: frozenset[str]
    """words that are never a name (learned: the most frequent ones)"""


def informable(flow: Flow) -> list[str]:
    """Slots that a person can give."""
    names = dict.fromkeys(name for intent in flow.intents.values() for name in intent.slots)
    return [name for name in names if name in flow.slots]


def chunks(text: str, common: frozenset[str]) -> list[tuple[int, int]]:
    """Runs of words that may be a name: capitalised ones, and rare ones."""
    plain = text
    for start_, end_ in _moments(text):
        plain = plain[:start_] + "." * (end_ - start_) + plain[end_:]
    tokens = [(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(plain)]
    spans: list[tuple[int, int]] = []
    for strict in (True, False):
        start = None
        for place in range(len(tokens) + 1):
            word = tokens[place][0] if place < len(tokens) else ""
            inside = _naming(word, place, common, strict=strict)
            if not inside and start is not None and word.lower() in _JOINTS:
                after = tokens[place + 1][0] if place + 1 < len(tokens) else ""
                inside = after[:1].isupper() and tokens[place - 1][0][:1].isupper()
            if inside and start is None:
                start = place
            elif not inside and start is not None:
                if place - start <= LONGEST:
                    spans.append((tokens[start][1], tokens[place - 1][2]))
                start = None
    return list(dict.fromkeys([*spans, *_parts(text, spans)]))


def _moments(text: str) -> Iterator[tuple[int, int]]:
    """Where dates and times stand: no part of a name."""
    for slot in (Slot("", "date"), Slot("", "time")):
        for item in read(slot, text, "en", NOW):
            yield item.start, item.end


def _parts(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """ "Long Beach, CA" may be the first part alone."""
    for start, end in spans:
        comma = text.find(",", start, end)
        if comma > 0:
            yield start, comma


def _naming(word: str, place: int, common: frozenset[str], *, strict: bool) -> bool:
    if not word or not word[0].isalnum():
        return False
    low = word.lower()
    if word[0].isupper() and place > 0:
        return low not in ("i", "i'm", "i'd", "i'll", "i've") or len(word) > 4
    if strict:
        return word[0].isdigit() or (word[0].isupper() and low not in common)
    return low not in common and not word.isdigit()


def candidates(
    moment: Moment, name: str, spans: Sequence[tuple[int, int]]
) -> list[Candidate]:
    """All possible values of a slot in the words of this turn."""
    return list(_from_text(moment, moment.flow.slots[name], spans))


def accept_features(moment: Moment) -> tuple[str, ...]:
    """Is what the assistant named last taken? Words, what it did, how long ago it named it."""
    words = [token.lower() for token in _TOKEN.findall(moment.text)]
    grams = [*words, *(f"{a} {b}" for a, b in zip(words, words[1:], strict=False))]
    acts = " ".join(moment.acts)
    return (
        f"acts {acts}",
        f"head {' '.join(words[:2])}",
        f"head {acts} {' '.join(words[:1])}",
        f"asks {'?' in words} {acts}",
        *(f"w {gram}" for gram in grams),
        *(f"{acts} w {word}" for word in words),
    )


def slot_marks(slot: Slot) -> list[str]:
    """Words that stand for a slot, so that what is learned serves other services."""
    words = spaced(slot.name).split()
    return [spaced(slot.name), *(f"~{word}" for word in words), f"type {slot.type}"]


def _from_text(
    moment: Moment, slot: Slot, spans: Sequence[tuple[int, int]]
) -> Iterator[Candidate]:
    wanted = slot.name in moment.wanted
    sure: set[tuple[int, int]] = set()
    if slot.type in TYPED:
        strict = read(slot, moment.text, "en", NOW)
        loose = read(slot, moment.text, "en", NOW, wanted=True) if slot.type != "flag" else []
        if slot.type == "flag" and wanted:
            strict = read(slot, moment.text, "en", NOW, wanted=True)
        sure = {(item.start, item.end) for item in strict}
        both = {(item.value, item.start, item.end): None for item in (*strict, *loose)}
        found = list(both)
    else:
        found = [(moment.text[start:end], start, end) for start, end in spans]
    if slot.type == "flag" and not found:
        found = [("yes", 0, 0)]
    for value, start, end in found:
        spoken = moment.text[start:end].strip(" .,!?")
        marks = (
            *_span_features(moment, slot, start, end, wanted=wanted),
            f"{slot.type} {'strict' if (start, end) in sure else 'loose'} {wanted}",
        )
        yield Candidate("text", value, spoken or value, marks)


def _span_features(
    moment: Moment, slot: Slot, start: int, end: int, *, wanted: bool
) -> Iterator[str]:
    text = moment.text
    left = [token.lower() for token in _TOKEN.findall(text[:start])][-3:]
    right = [token.lower() for token in _TOKEN.findall(text[end:])][:2]
    inside = _TOKEN.findall(text[start:end])
    filled = moment.memory.filled.get(moment.service, {})
    state = f"{'wanted' if wanted else 'unasked' if not moment.wanted else 'other asked'}"
    have = "had" if slot.name in filled else "new"
    shape = "Cap" if text[start:end][:1].isupper() and start else "low"
    yield f"{state} {have} {slot.type}"
    context = [
        f"l1 {left[-1] if left else '^'}",
        f"l2 {' '.join(left[-2:])}",
        f"l3 {' '.join(left)}",
        f"r1 {right[0] if right else '$'}",
        f"r2 {' '.join(right)}",
        f"size {min(len(inside), 5)} {shape}",
        f"all {start == 0} {end >= len(text.rstrip('.!? '))}",
        *(f"in {word.lower()}" for word in inside[:4]),
    ]
    if slot.type == "flag":
        words = [token.lower() for token in _TOKEN.findall(text)]
        known = set(" ".join(text for text in slot.words.get("en", ())).lower().split())
        context = [f"w {word}" for word in words]
        context += [f"w {a} {b}" for a, b in zip(words, words[1:], strict=False)]
        yield f"flag read {end > start}"
        yield f"flag words {len(known & set(words) - moment.common)}"
    for mark in (state, *slot_marks(slot)):
        for item in context:
            yield f"{mark} | {item}"
