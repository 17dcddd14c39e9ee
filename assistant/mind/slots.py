"""Typed values out of spoken words, relative to a given moment.

One reader per type sees all values it can; here they are put in order, corrections ("two, no,
three") and labels ("the reason is …") are heard, and what the slot does not allow is dropped.
Knows nothing of tasks: which slot is asked for is told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache

from assistant.mind import slot_spoken
from assistant.mind.flows import Choice, Slot
from assistant.mind.slot_readers import overlap, read_slot
from assistant.mind.slot_view import Candidate, View, either, view
from assistant.mind.slot_words import GAP, gaps, label_pattern

SURE = 0.85
"""at or above: taken"""
MAYBE = 0.6
"""from here to SURE: to be asked ("Do you mean …?"); below: not returned"""

_LONGEST = 600
"""characters that are read; no person says more in one breath"""


@dataclass(frozen=True, slots=True)
class Found:
    """A value in a text."""

    value: str
    """resolved, in the form flows.TYPES names for its type"""
    spoken: str
    """as it stands in the text"""
    start: int
    end: int
    sure: float = 1.0
    """0 to 1; below SURE it is to be asked, never guessed"""


def read(
    slot: Slot,
    text: str,
    language: str,
    now: datetime,
    known: Sequence[Choice] = (),
    *,
    wanted: bool = False,
) -> list[Found]:
    """All values in a text that can fill a slot, the surest first, then as they were said.

    `wanted`: the assistant has just asked for it, so that bare forms count ("ten", "302").
    `slot.least` and `slot.most` bound numbers, sums, minutes, and of a date the days from today:
    where most is 0, a bare "Friday" is the last one.
    """
    seen = view(text[:_LONGEST], language)
    every = (*slot.choices, *known)
    found = read_slot(slot, seen, now, every, wanted)
    if slot.type in ("name", "text"):
        return [_found(seen, item) for item in found]
    found = _corrected(seen, slot, now, every, found)
    named = _labelled(seen, slot, now, every)
    if named:
        rest = [f for f in found if not any(overlap(f, item) for item in named)]
        found = _chosen_by_label(slot, named, rest)
    found = [item for item in found if item.sure >= MAYBE and _allowed(slot, item.value, now)]
    found.sort(key=lambda item: (-item.sure, item.start))
    best = {item.value: item for item in reversed(found)}
    return [_found(seen, item) for item in found if best[item.value] is item]


def spoken(slot_type: str, value: str, language: str, now: datetime) -> str:
    """A value as a person says it: "tomorrow", "2 to 4 pm", 五百元."""
    return slot_spoken.say(slot_type, value, language, now)


def _found(seen: View, item: Candidate) -> Found:
    said = seen.text[item.start : item.end]
    return Found(item.value, said, item.start, item.end, round(item.sure, 3))


# ── labels: "<slot word> is X" ──


def _labelled(seen: View, slot: Slot, now: datetime, every: tuple[Choice, ...]) -> list[Candidate]:
    """Values that stand right after the slot's own word, as sure as can be."""
    if any(GAP in word for said in slot.words.values() for word in said):
        named = [item for item in gaps(seen, slot, seen.plain) if item.end > item.start]
        found = [_tail(seen, slot, now, every, item.start, item.end) for item in named]
        if any(found):
            return [item for item in found if item]
    label = label_pattern(slot, seen.language, strict=True)
    if label is None or slot.type == "flag":
        return []
    ends = [match.end() for match in label.finditer(seen.plain)]
    found = [_tail(seen, slot, now, every, end, len(seen.text)) for end in ends[:3]]
    return [item for item in found if item]


def _tail(
    seen: View, slot: Slot, now: datetime, every: tuple[Choice, ...], start: int, end: int
) -> Candidate | None:
    """The first value in a part of the text, if only fillers stand before it."""
    part = view(seen.text[start:end], seen.language)
    if not part.text.strip():
        return None
    found = read_slot(slot, part, now, every, True)
    found = _corrected(part, slot, now, every, found)
    if not found:
        return None
    first = min(found, key=lambda item: (item.start, -item.sure))
    if not _only_fillers(part.plain[: first.start], part.language):
        return None
    sure = first.sure if first.sure < SURE else 1.0
    return Candidate(first.value, first.start + start, first.end + start, sure)


def _chosen_by_label(slot: Slot, named: list[Candidate], rest: list[Candidate]) -> list[Candidate]:
    if slot.type in ("number", "money", "code", "choice"):
        return named
    return named + [Candidate(f.value, f.start, f.end, min(f.sure, 0.99)) for f in rest]


@cache
def _fillers(language: str) -> re.Pattern[str]:
    some = either(language, "fillers", "articles", "leads", "labels", "at")
    return re.compile(rf"(?:{some}|[\s,.:!?-])*")


def _only_fillers(plain: str, language: str) -> bool:
    return len(plain) < 30 and bool(_fillers(language).fullmatch(plain))


# ── corrections: "two, no, three o'clock", "tomorrow — sorry, Friday" ──


def _corrected(
    seen: View,
    slot: Slot,
    now: datetime,
    every: tuple[Choice, ...],
    found: list[Candidate],
) -> list[Candidate]:
    """Without what was taken back; what follows the correction may be a bare form."""
    if slot.type in ("name", "text"):
        return found
    weak, strong, excluded = _corrections(seen.language)
    found = [f for f in found if not excluded.search(seen.plain, 0, f.start)] or found
    if not found:
        return found
    last = next(reversed(list(strong.finditer(seen.plain))), None)
    if last and found[0].end <= last.start():
        after = [f for f in found if f.start >= last.end()]
        after = after or _bare(seen, slot, now, every, last.end())
        if after:
            return after
    kept: list[Candidate] = []
    for item in found:
        while kept and weak.fullmatch(seen.plain, kept[-1].end, item.start):
            kept.pop()
        kept.append(item)
    tail = weak.match(seen.plain, kept[-1].end)
    if tail and tail.end() < len(seen.plain):
        following = _bare(seen, slot, now, every, tail.end())
        if following and following[0].start <= tail.end() + 1:
            return kept[:-1] + following
    return kept


def _bare(
    seen: View, slot: Slot, now: datetime, every: tuple[Choice, ...], start: int
) -> list[Candidate]:
    """The values after a place in the text, read as if they had been asked for."""
    part = view(seen.text[start:], seen.language)
    return [
        Candidate(f.value, f.start + start, f.end + start, f.sure)
        for f in read_slot(slot, part, now, every, slot.type != "flag")
    ]


@cache
def _corrections(language: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    weak, strong = either(language, "weak_corrections"), either(language, "strong_corrections")
    excluded = either(language, "excluded")
    if language == "zh":
        return (
            # the unit may stand between: "两个人，不，三个人"
            re.compile(rf"[个位名]?[人间台本张盒包箱份]?[\s,.!?-]*(?:{weak}[\s,.!?-]*)+"),
            re.compile(strong),
            re.compile(rf"{excluded}$"),
        )
    articles = rf"(?:(?:{either(language, 'articles')}|{either(language, 'at')}|on|in) )?"
    return (
        re.compile(rf"[\s,.!?-]*(?:\b{weak}\b[\s,.!?-]*)+{articles}"),
        re.compile(rf"\b{strong}\b"),
        re.compile(rf"\b{excluded} {articles}$"),
    )


# ── what a slot allows ──


def _allowed(slot: Slot, value: str, now: datetime) -> bool:
    if slot.type == "code":
        return not slot.pattern or bool(re.fullmatch(slot.pattern, value))
    if slot.type == "date":
        amount = float((date.fromisoformat(value) - now.date()).days)
    elif slot.type in ("number", "money", "quantity", "duration"):
        amount = float(value.split(maxsplit=1)[0])
    else:
        return True
    least = slot.least is None or amount >= slot.least
    return least and (slot.most is None or amount <= slot.most)
