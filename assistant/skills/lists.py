"""Shopping and to-do lists."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlite_utils import Database

from assistant.mind.dialogue import Call, frozen
from assistant.mind.flows import Choice
from assistant.skills.office import clean, rows, run, writing
from assistant.skills.registry import Outcome, action, source

LISTS = ("shopping", "to-do")
"""the first is meant when none is named"""


@source("lists.item")
def known_items(db: Database) -> tuple[Choice, ...]:
    """What stands on any list."""
    items = dict.fromkeys(row["item"] for row in _standing(db))
    return tuple(Choice(item, {"en": (item,), "zh": (item,)}) for item in items)


@action("lists.add", ("ok", "already", "nothing", "unknown"), ("list", "item"))
def add(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Put things on a list, each once and by itself: "milk and eggs" are two."""
    name, items = slots.get("list") or LISTS[0], several(slots.get("item", ""))
    if not items:
        return Outcome("nothing", ok=False)
    if name not in LISTS:
        return Outcome("unknown", ok=False)
    with writing(db):
        standing = [row["item"] for row in _standing(db, name)]
        new = [item for item in items if not any(_same(old, item) for old in standing)]
        if not new:
            return Outcome("already", {"list": name, "item": "|".join(items)})
        made = [
            run(db, "INSERT INTO list_items (list, item, state) VALUES (?, ?, 'open')", name, item)
            for item in new
        ]
    back = Call("lists.remove", frozen({"id": "|".join(map(str, made))}))
    return Outcome("ok", {"list": name, "item": "|".join(new)}, inverse=back)


def several(text: str) -> list[str]:
    """ "bananas, apples and cheese" → three things."""
    parts = re.split(r"\s*(?:[,;，；、]|\band\b|和|还有)\s*", clean(text))
    return list(dict.fromkeys(part for part in parts if part))


@action("lists.show", ("ok", "several", "none"), ("items", "each", "count"))
def show(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """What stands on a list, or on all of them."""
    wanted = (slots["list"],) if slots.get("list") else LISTS
    full = {name: items for name in wanted if (items := [r["item"] for r in _standing(db, name)])}
    if not full:
        return Outcome("none")
    every = tuple(item for some in full.values() for item in some)
    values = {"items": "|".join(every), "count": str(len(every)), "list": next(iter(full))}
    if len(full) == 1:
        return Outcome("ok", values, {"item": every})
    each = [{"list": name, "items": "|".join(some)} for name, some in full.items()]
    return Outcome(
        "several", {**values, "each": json.dumps(each, ensure_ascii=False)}, {"item": every}
    )


@action("lists.remove", ("ok", "none", "which"), ("item", "list", "items"))
def remove(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Take something off its list; what is meant has to be clear."""
    if slots.get("id"):
        return _taken_off(db, slots["id"].split("|"))
    with writing(db):
        found = _meant(db, slots)
        if not found:
            return Outcome("none", ok=False)
        if len(found) > 1:
            items = tuple(dict.fromkeys(row["item"] for row in found))
            if len(items) > 1:
                return Outcome("which", {"items": "|".join(items)}, {"item": items}, ok=False)
            found = found[:1]  # the same thing on two lists: the one meant by default
        row = found[0]
        run(db, "UPDATE list_items SET state = 'removed' WHERE id = ?", row["id"])
    back = Call("lists.restore", frozen({"id": str(row["id"])}))
    return Outcome("ok", {"item": row["item"], "list": row["list"]}, inverse=back)


def _taken_off(db: Database, ids: Sequence[str]) -> Outcome:
    """What an undo takes off: exactly these."""
    with writing(db):
        sql = "UPDATE list_items SET state = 'removed' WHERE id = ? AND state = 'open'"
        gone = [one for one in ids if run(db, sql, one)]
    if not gone:
        return Outcome("none", ok=False)
    return Outcome("ok", inverse=Call("lists.restore", frozen({"id": "|".join(gone)})))


@action("lists.restore", ("ok", "none"))
def restore(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Put back what was taken off."""
    with writing(db):
        sql = "UPDATE list_items SET state = 'open' WHERE id = ? AND state = 'removed'"
        back = [one for one in slots.get("id", "").split("|") if run(db, sql, one)]
        if not back:
            return Outcome("none", ok=False)
    return Outcome("ok", inverse=Call("lists.remove", frozen({"id": slots["id"]})))


def _standing(db: Database, name: str = "") -> list[dict[str, Any]]:
    found = rows(db, "SELECT * FROM list_items WHERE state = 'open' ORDER BY id")
    return [row for row in found if name in ("", row["list"])]


def _meant(db: Database, slots: Mapping[str, str]) -> list[dict[str, Any]]:
    """By number; else the very words; else those that hold all the words, or are held by them."""
    standing = _standing(db, slots.get("list", ""))
    item = slots.get("item", "")
    exact = [row for row in standing if _same(row["item"], item)]
    standing.sort(key=lambda row: LISTS.index(row["list"]) if row["list"] in LISTS else len(LISTS))
    return exact or [row for row in standing if _holds(row["item"], item)]


def _same(one: str, other: str) -> bool:
    return one.casefold().split() == other.casefold().split()


def _holds(one: str, other: str) -> bool:
    one, other = one.casefold().strip(), other.casefold().strip()
    if not one or not other:
        return False
    if one.isascii() and other.isascii():
        words, said = set(one.split()), set(other.split())
        return words <= said or said <= words
    return one in other or other in one
