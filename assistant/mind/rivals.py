"""What a new memory has to do with an old one about the same thing.

Both are of one key (mind/described.py). Compares values only; knows no table and no time.
"""

from __future__ import annotations

import re
from typing import Literal

from assistant.mind.memories import Memory
from assistant.mind.norms import canonical, core, meaning, negative
from assistant.mind.pronouns import RELATIONS

Relation = Literal["same", "richer", "against", "other"]
"""says it already; says more of it; cannot be true beside it; has nothing to do with it"""


def compatible(one: str, other: str) -> bool:
    """Two subjects may be one person: "sister" and "sister anna", "anna" and "sister anna"."""
    if one == other:
        return True
    first, second = _parts(canonical(one)), _parts(canonical(other))
    if first == second:
        return True
    if first[0] and second[0]:
        return first[0] == second[0] and (not first[1] or not second[1])
    return bool(first[1]) and first[1] == second[1]


def _parts(subject: str) -> tuple[str, str]:
    """ "best friend tom" → "best friend", "tom"; "anna" → "", "anna"."""
    found = list(RELATIONS.finditer(subject))
    if subject == "user":
        return subject, ""
    if not found:
        return ("", subject) if " " not in subject else (subject, "")
    end = found[-1].end()
    return subject[:end].strip(), subject[end:].strip()


def relation(old: Memory, new: Memory) -> Relation:
    """`new` was said after `old`, or is believed to be."""
    if old.single or new.single:
        return _of_single(old, new)
    before, now = set(meaning(old.text)), set(meaning(new.text))
    if negative(old.text) != negative(new.text):
        about = before <= now or now <= before
        return "against" if about and not _two_days(old, new) else "other"
    if _two_days(old, new):
        return "other"
    if now <= before:
        return "same"
    if before < now or _changed_detail(old, new):
        return "richer"
    return "other"


def _of_single(old: Memory, new: Memory) -> Relation:
    if negative(old.text) != negative(new.text):
        return "against"
    if new.day or old.day:  # an appointment that was moved
        same = meaning(old.text) == meaning(new.text)
        return "same" if same else "against"
    before, now = core(old.text), core(new.text)
    if set(now) <= set(before):
        return "same"
    return "richer" if set(before) < set(now) else "against"


def _two_days(old: Memory, new: Memory) -> bool:
    """Two events: the dentist of today and the one of next week."""
    return bool(old.day and new.day and old.day != new.day)


def _changed_detail(old: Memory, new: Memory) -> bool:
    """The same event of the same day at another hour."""
    same_day = bool(old.day) and old.day == new.day
    hours = [_without_numbers(text) for text in (old.text, new.text)]
    return same_day and hours[0] == hours[1]


def _without_numbers(text: str) -> set[str]:
    return {word for word in meaning(text) if not re.match(r"\d", word)}
