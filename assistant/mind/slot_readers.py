"""One reader per type of slot, its values without overlaps.

Knows nothing of labels and corrections; they are heard in slots.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from functools import cache, lru_cache

from assistant.mind.flows import Choice, Slot
from assistant.mind.slot_amounts import read_money, read_numbers, read_quantities
from assistant.mind.slot_choices import read_choices
from assistant.mind.slot_codes import read_codes
from assistant.mind.slot_dates import read_dates
from assistant.mind.slot_durations import lengths, read_durations
from assistant.mind.slot_times import read_ranges, read_times
from assistant.mind.slot_view import Candidate, View, either
from assistant.mind.slot_words import read_flags, read_texts


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
    found: Iterable[Candidate]
    match slot.type:
        case "number":
            found = _numbers(seen, now, wanted)
        case "date":
            past = slot.most is not None and slot.most <= 0
            found = read_dates(seen, now.date(), wanted, past=past)
        case "time":
            found = _beside_dates(read_times(seen, wanted, now), seen, now.date())
        case "quantity":
            found = list(read_quantities(seen, wanted)) or _numbers(seen, now, wanted)
        case "time_range":
            found = _beside_dates(read_ranges(seen, wanted), seen, now.date())
        case "flag":
            found = read_flags(seen, slot, wanted)
        case "code" | "choice":
            return _see_known(slot, seen, every, wanted)
        case "name" | "text":
            found = read_texts(seen, slot, wanted, free_text(seen, now))
        case _:
            found = _SIMPLE[slot.type](seen, wanted)
    return found


_SIMPLE = {
    "money": read_money,
    "duration": read_durations,
}


def _see_known(slot: Slot, seen: View, every: tuple[Choice, ...], wanted: bool) -> list[Candidate]:
    found = list(read_choices(seen, every, wanted)) if every else []
    if slot.type == "choice" and not _has_codes(every):
        return found
    return found + list(read_codes(seen, slot, every, wanted))


def _has_codes(every: tuple[Choice, ...]) -> bool:
    return any(char.isdigit() for choice in every for char in choice.value)


@lru_cache(maxsize=256)
def _moments(seen: View, now: datetime) -> tuple[tuple[int, int], ...]:
    """Where dates and times stand."""
    spans = (*read_times(seen, False, now), *read_ranges(seen, False))
    return (*_dates(seen, now.date()), *((item.start, item.end) for item in spans))


@lru_cache(maxsize=256)
def _dates(seen: View, today: date) -> tuple[tuple[int, int], ...]:
    return tuple((item.start, item.end) for item in read_dates(seen, today, False))


@lru_cache(maxsize=256)
def _taken(seen: View, now: datetime) -> tuple[tuple[int, int], ...]:
    """Where numbers belong to dates, times, sums of money, lengths and codes."""
    spans = (*read_money(seen, False), *read_codes(seen, Slot("", "code"), (), False))
    return (
        *_moments(seen, now),
        *((item.start, item.end) for item in spans),
        *(seen.span(start, end) for start, end, _ in lengths(seen)),
    )


def _numbers(seen: View, now: datetime, wanted: bool) -> list[Candidate]:
    """Numbers that are nothing else; if there are none, what was wanted may look like a time."""
    found = list(read_numbers(seen, wanted, _taken(seen, now)))
    return found or (list(read_numbers(seen, True, ())) if wanted else [])


def _beside_dates(found: Iterable[Candidate], seen: View, today: date) -> Iterator[Candidate]:
    """Times that are no part of a date: not the 12 of "May 12 at three"."""
    for item in found:
        inside = (
            start <= item.start < end and (start < item.start or item.end < end)
            for start, end in _dates(seen, today)
        )
        if not any(inside):
            yield item


@lru_cache(maxsize=256)
def free_text(seen: View, now: datetime) -> str:
    """The plain text with dates and times, and the words that tie them to it, blanked out."""
    plain, before, after = seen.plain, *_ties(seen.language)
    for start, end in _moments(seen, now):
        if after.match(seen.plain, end):
            continue
        tie = before.search(seen.plain, 0, start)
        begin = tie.start() if tie else start
        plain = plain[:begin] + " " * (end - begin) + plain[end:]
    return plain


@cache
def _ties(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """ "on" and "at" before a time; what follows a time that is part of a name: 三点的会."""
    at = either(language, "at")
    if language == "zh":
        return re.compile(rf"{at}$"), re.compile(r"的(?!时候)")
    return re.compile(rf"\b(?:{at}|on|in) $"), re.compile(r"(?!)")
