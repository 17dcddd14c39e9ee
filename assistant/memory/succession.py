"""What else a new fact changes: what it ends beside its own rival, and a person's new name (V16).

Functions on the database for memory/facts.py; they read, and say what is to be written.
"""

from __future__ import annotations

import re
from dataclasses import replace

from sqlite_utils import Database

from assistant.memory.fact_rows import memory_of
from assistant.mind.amend import contrast
from assistant.mind.endings import ending, ends, partner, replaced
from assistant.mind.memories import Memory
from assistant.mind.norms import norm
from assistant.mind.rivals import compatible
from assistant.mind.words import is_cjk


def outlived(db: Database, new: Memory) -> list[Memory]:
    """What is believed and is no longer so after `new`, beside what it replaces by its key."""
    over = ending(new)
    found = []
    for old in _believed(db):
        if old.id == new.id or old.origin == "insight":
            continue
        near = compatible(old.subject, new.subject)
        if over is None:
            if near and replaced(old, new):
                found.append(old)
            continue
        if not near and over.whose == "partner" and new.subject == "user":
            near = partner(old.subject) or bool(over.name)
        if not near and over.whose == "subject":
            near = old.subject == "user"
        if near and ends(old, new, over):
            found.append(old)
    return found


def renamed(db: Database, new: Memory) -> list[tuple[Memory, Memory]]:
    """(as it is, as it is right) for all that speaks of a person by a misheard name."""
    names = contrast(new.value)
    if names is None:
        return []
    right, wrong = names
    if right.lower() not in new.text.lower():
        return []
    place = re.compile(
        re.escape(wrong) if is_cjk(wrong) else rf"\b{re.escape(wrong)}\b", re.I
    )  # fmt: skip
    speak = [old for old in _believed(db) if place.search(old.text) and old.id != new.id]
    if not (new.key == "name" or any(place.search(old.subject) for old in speak)):
        return []
    theirs = {old.subject for old in speak if place.search(old.subject)}
    several = any(not compatible(one, other) for one in theirs for other in theirs)
    result = []
    for old in speak:
        was = place.sub(wrong.lower(), new.subject)
        if several and not compatible(old.subject, was):
            continue
        now = replace(
            old,
            text=place.sub(right, old.text),
            subject=place.sub(right.lower(), old.subject),
            value=place.sub(right, old.value),
            key=place.sub(right.lower(), old.key),
            version=old.version + 1,
        )
        result.append((old, replace(now, norm=norm(now))))
    return result


def _believed(db: Database) -> list[Memory]:
    rows = db.query("select * from facts where ended is null order by learned")
    return [memory_of(row) for row in rows]
