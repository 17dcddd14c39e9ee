"""Reminders: note, list, remove. Keeps them; ringing is not its job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, time, timedelta
from typing import Any

from sqlite_utils import Database

from assistant.errors import InputError
from assistant.mind.dialogue import Call, frozen
from assistant.mind.flows import Choice
from assistant.skills.office import clean, day, rows, run, writing
from assistant.skills.registry import Outcome, action, source


@source("reminders.what")
def known_reminders(db: Database) -> tuple[Choice, ...]:
    """Every reminder that stands, by its number, called what it is about."""
    return tuple(
        Choice(str(row["id"]), {"en": (row["what"],), "zh": (row["what"],)})
        for row in _standing(db)
    )


@action("reminders.add", ("ok", "past", "nothing"), ("date",))
def add(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Note what and when; without a day the next time the clock shows that hour."""
    what = clean(slots.get("what", ""))
    if not what:
        return Outcome("nothing", ok=False)
    try:
        at = time.fromisoformat(slots.get("time", ""))
    except ValueError:
        raise InputError(f"That is no time: {slots.get('time', '')!r}.") from None
    at = at.replace(tzinfo=now.tzinfo)
    if slots.get("date"):
        date = day(slots["date"])
        if datetime.combine(date, at) <= now:
            return Outcome("past", ok=False)
    else:
        later = datetime.combine(now.date(), at) > now
        date = now.date() if later else now.date() + timedelta(days=1)
    with writing(db):
        made = run(
            db,
            "INSERT INTO reminders (what, date, time, state) VALUES (?, ?, ?, 'open')",
            *(what, date.isoformat(), f"{at:%H:%M}"),
        )
    back = Call("reminders.remove", frozen({"reminder": str(made)}))
    offered = {"reminder": (str(made),)}  # "cancel that reminder"
    return Outcome("ok", {"date": date.isoformat()}, offered, back)


@action("reminders.list", ("ok", "none"), ("each", "count"))
def list_(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """All that stand, or those of a day, the next first."""
    found = [row for row in _standing(db) if slots.get("date") in (None, "", row["date"])]
    if not found:
        return Outcome("none")
    each = json.dumps([_told(row) for row in found], ensure_ascii=False)
    offered = {"reminder": tuple(str(row["id"]) for row in found)}
    return Outcome("ok", {"each": each, "count": str(len(found))}, offered)


@action("reminders.remove", ("ok", "none"), ("what", "date", "time"))
def remove(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Take one off."""
    return _switch(db, slots.get("reminder", ""), "open", "removed", "reminders.restore")


@action("reminders.restore", ("ok", "none"), ("what", "date", "time"))
def restore(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Bring one back that was taken off."""
    return _switch(db, slots.get("reminder", ""), "removed", "open", "reminders.remove")


def _standing(db: Database) -> list[dict[str, Any]]:
    return rows(db, "SELECT * FROM reminders WHERE state = 'open' ORDER BY date, time, id")


def _switch(db: Database, number: str, old: str, new: str, back: str) -> Outcome:
    with writing(db):
        found = rows(db, "SELECT * FROM reminders WHERE id = ? AND state = ?", number, old)
        if not found:
            return Outcome("none", ok=False)
        run(db, "UPDATE reminders SET state = ? WHERE id = ?", new, number)
    return Outcome("ok", _told(found[0]), inverse=Call(back, frozen({"reminder": number})))


def _told(row: Mapping[str, Any]) -> dict[str, str]:
    return {"what": row["what"], "date": row["date"], "time": row["time"]}
