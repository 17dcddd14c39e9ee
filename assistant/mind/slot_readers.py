"""One reader per type of slot, its values without overlaps.

Knows nothing of labels and corrections; they are heard in slots.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from functools import cache

from assistant.mind.flows import Choice, Slot
from assistant.mind.slot_amounts import read_money, read_numbers, read_quantities
from assistant.mind.slot_choices import read_choices
from assistant.mind.slot_codes import read_codes
from assistant.mind.slot_dates import read_dates
from assistant.mind.slot_durations import lengths, read_durations
from assistant.mind.slot_times import read_ranges, read_times
from assistant.mind.slot_view import Candidate, View, either
from assistant.mind.slot_words import GAP, read_flags, read_texts


def overlap(one: Candidate, other: Candidate) -> bool:
    return one.start < other.end and other.start < one.end


def read_slot(
    slot: Slot, seen: View, now: datetime, every: tuple[Choice, ...], wanted: bool
) -> list[Candidate]:
    """What the reader of the slot's type sees, without overlaps, in order of text."""
    found = sorted(
        _see(slot, seen, now, every, wanted),
        key=lambda item: (-round(item.sure, 1), item.start - item.end),
    )
    kept: list[Candidate] = []
    for item in found:
        rivals = [other for other in kept if overlap(item, other)]
        if any(other.sure > item.sure or other.value == item.value for other in rivals):
            continue
        if any((o.end - o.start) > (item.end - item.start) for o in rivals):
            continue
        if rivals and slot.type not in ("choice", "code"):
            continue
        kept.append(item)
    return sorted(kept, key=lambda item: (item.start, -item.sure))


def _see(
    slot: Slot, seen: View, now: datetime, every: tuple[Choice, ...], wanted: bool
) -> Iterable[Candidate]:
    match slot.type:
        case "number":
            found = read_numbers(seen, wanted, [] if wanted else _taken(seen, now))
        case "date":
            found = read_dates(seen, now.date(), wanted)
        case "time":
            found = read_times(seen, wanted, now)
        case "flag":
            found = read_flags(seen, slot, wanted)
        case "code" | "choice":
            return _see_known(slot, seen, every, wanted)
        case "name" | "text":
            found = read_texts(seen, slot, wanted)
        case _:
            found = _SIMPLE[slot.type](seen, wanted)
    return found


_SIMPLE = {
    "money": read_money,
    "time_range": read_ranges,
    "duration": read_durations,
    "quantity": read_quantities,
}


def _see_known(slot: Slot, seen: View, every: tuple[Choice, ...], wanted: bool) -> list[Candidate]:
    found = list(read_choices(seen, every, wanted)) if every else []
    if slot.type == "choice" and not _has_codes(every):
        return found
    if any(item.sure == 1.0 for item in found):
        return found
    return found + list(read_codes(seen, slot, every, wanted))


def _has_codes(every: tuple[Choice, ...]) -> bool:
    return any(char.isdigit() for choice in every for char in choice.value)


def _taken(seen: View, now: datetime) -> list[tuple[int, int]]:
    """Where numbers belong to dates, times, sums of money, lengths and codes."""
    spans = [
        *read_dates(seen, now.date(), False),
        *read_times(seen, False, now),
        *read_ranges(seen, False),
        *read_money(seen, False),
        *read_codes(seen, Slot("", "code"), (), False),
    ]
    return [(item.start, item.end) for item in spans] + [
        seen.span(start, end) for start, end, _ in lengths(seen)
    ]


def without_moment(seen: View, slot: Slot, item: Candidate, now: datetime) -> Candidate:
    """What stands in a gap without the date and time at its ends: "call Anna tomorrow at three"."""
    if not any(GAP in word for word in slot.words.get(seen.language, ())) or item.sure < 1.0:
        return item
    spans = [
        (found.start, found.end)
        for found in (*read_dates(seen, now.date(), False), *read_times(seen, False, now),
                      *read_ranges(seen, False))
        if item.start <= found.start and found.end <= item.end
    ]  # fmt: skip
    loose = _loose(seen.language)
    start, end = item.start, item.end
    for begin, stop in sorted(spans, key=lambda span: -span[1]):
        if begin > start and loose.fullmatch(seen.plain, stop, end):
            end = begin
            while match := loose.search(seen.plain, start, end):
                if match.start() == match.end() or match.start() <= start:
                    break
                end = match.start()
    for begin, stop in sorted(spans):
        if stop < end and begin == start:
            start = stop + len(seen.plain[stop:end]) - len(seen.plain[stop:end].lstrip(" ,"))
    return Candidate(seen.text[start:end], start, end, item.sure) if start < end else item


@cache
def _loose(language: str) -> re.Pattern[str]:
    """What ties a date or a time to a text: "on", "at"."""
    if language == "zh":
        return re.compile(rf"[\s,.!?]*{either(language, 'at')}?[\s,.!?]*$")
    return re.compile(rf"[\s,.!?]*(?:\b(?:{either(language, 'at')}|on|in)\b)?[\s,.!?]*$")
