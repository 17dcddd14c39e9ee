"""Meeting rooms: which are free, booking, moving, cancelling. Every rule is checked again here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from sqlite_utils import Database

from assistant.errors import InputError
from assistant.mind.dialogue import Call, frozen
from assistant.mind.flows import Choice
from assistant.skills.office import rows, run, whole, writing
from assistant.skills.registry import Outcome, action, source

OPENS, CLOSES = 8 * 60, 20 * 60
"""minutes of the day between which another time is proposed"""
STEP = 30
"""minutes between two proposals"""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one day, minutes from midnight."""

    day: str
    start: int
    end: int

    @property
    def time(self) -> str:
        return f"{_clock(self.start)}-{_clock(self.end)}"


@source("rooms.room")
def known_rooms(db: Database) -> tuple[Choice, ...]:
    """Every room by its code."""
    return tuple(
        Choice(row["code"], {"en": (row["code"],), "zh": (row["code"],)})
        for row in rows(db, "SELECT code FROM rooms ORDER BY code")
    )


@action(
    "rooms.find",
    (
        *("ok", "one", "free", "taken", "unfit", "later", "without", "too_big", "none"),
        *("unknown", "past"),
    ),
    ("rooms", "near_time", "most"),
)
def find(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Rooms that are free then and have what is wished; the nearest thing when there is none."""
    span = _span(slots)
    if _past(span, now):
        return Outcome("past", ok=False)
    every = rows(db, "SELECT * FROM rooms ORDER BY code")
    people = whole(slots, "people") or 0
    if slots.get("room"):
        return _ask_for_one(db, slots, every, span)
    if people > max((room["seats"] for room in every), default=0):
        return Outcome("too_big", {"most": str(max(room["seats"] for room in every))}, ok=False)
    fit = [room for room in every if _fits(room, slots)]
    if people:
        fit.sort(key=lambda room: room["seats"])
    free = _free(db, fit, span)
    if free:
        return _named("ok" if len(free) > 1 else "one", free)
    return _alternative(db, fit, every, span, people)


def _ask_for_one(
    db: Database, slots: Mapping[str, str], every: list[dict[str, Any]], span: Span
) -> Outcome:
    """ "Is A302 free?" """
    room = next((one for one in every if one["code"] == slots["room"]), None)
    if room is None:
        return Outcome("unknown", ok=False)
    others = _free(db, [one for one in every if _fits(one, slots)], span)
    if not _fits(room, slots):
        return _named("unfit", others, ok=False)
    if _free(db, [room], span):
        return Outcome("free", offered={"room": (room["code"],)})
    return _named("taken", others, ok=False)


def _alternative(
    db: Database, fit: list[dict[str, Any]], every: list[dict[str, Any]], span: Span, people: int
) -> Outcome:
    """Nothing is free: another time for such a room, or another room at that time."""
    big = [room for room in every if room["seats"] >= people]
    without = _free(db, big, span)
    if without:
        return _named("without", without, ok=False)
    length = span.end - span.start
    starts = sorted(range(OPENS, CLOSES - length + 1, STEP), key=lambda at: abs(at - span.start))
    for start in starts:
        near = Span(span.day, start, start + length)
        if found := _free(db, fit, near):
            named = _named("later", found, ok=False)
            values = {**named.values, "near_time": near.time}
            return Outcome("later", values, {**named.offered, "time": (near.time,)}, ok=False)
    return Outcome("none", ok=False)


@action(
    "rooms.book",
    ("ok", "already", "taken", "full", "unknown", "past", "too_small", "no_projector", "no_window"),
    ("rooms", "seats"),
)
def book(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Book a room that is free and has what is wished."""
    span = _span(slots)
    with writing(db):
        if fault := _cannot(db, slots, slots.get("room", ""), span, now):
            return fault
        if _clash(db, slots["room"], span, exactly=True):
            return Outcome("already")
        if fault := _occupied(db, slots, slots["room"], span):
            return fault
        made = run(
            db,
            "INSERT INTO bookings (room, date, start, end, people, projector, made_at, state)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, 'booked')",
            *(slots["room"], span.day, _clock(span.start), _clock(span.end)),
            *(whole(slots, "people"), int(slots.get("projector") == "yes")),
            now.isoformat(timespec="seconds"),
        )
    return Outcome("ok", inverse=Call("rooms.cancel", frozen({"id": str(made)})))


@action(
    "rooms.move",
    (
        *("ok", "same", "none", "taken", "full", "unknown", "past"),
        *("too_small", "no_projector", "no_window"),
    ),
    ("rooms", "seats", "to_room"),
)
def move(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Another time, day or room for the booking of a room, the latest one if there are several."""
    with writing(db):
        # day and time are where it goes, not where it is
        found = _bookings(db, {key: slots.get(key, "") for key in ("id", "room")}, now)
        if not found:
            return Outcome("none", ok=False)
        old = found[-1]
        before = f"{old['start']}-{old['end']}"
        room = slots.get("new_room") or old["room"]
        wished = {"people": str(old["people"] or ""), **slots}
        if old["projector"] and "projector" not in slots:
            wished["projector"] = "yes"
        day, time_ = slots.get("date") or old["date"], slots.get("time") or before
        span = _span({"date": day, "time": time_})
        if (room, span.day, span.time) == (old["room"], old["date"], before):
            return Outcome("same", _told(old))
        if fault := _cannot(db, wished, room, span, now):
            return fault
        if fault := _occupied(db, wished, room, span, but=old["id"]):
            return fault
        run(
            db,
            "UPDATE bookings SET room = ?, date = ?, start = ?, end = ? WHERE id = ?",
            *(room, span.day, _clock(span.start), _clock(span.end), old["id"]),
        )
    back = {"id": str(old["id"]), "room": room, "new_room": old["room"], "date": old["date"]}
    told = {"to_room": room, "date": span.day, "time": span.time}
    return Outcome("ok", told, inverse=Call("rooms.move", frozen({**back, "time": before})))


@action("rooms.cancel", ("ok", "none", "several"), ("each", "count"))
def cancel(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Give a booking up. Which one has to be clear."""
    with writing(db):
        found = _bookings(db, slots, now)
        if not found:
            return Outcome("none", ok=False)
        if len(found) > 1:
            values = {"each": _each(found), "count": str(len(found))}
            days = tuple(dict.fromkeys(row["date"] for row in found))
            times = tuple(f"{row['start']}-{row['end']}" for row in found)
            offered = {"date": days} if len(days) > 1 else {"time": times}
            return Outcome("several", values, offered, ok=False)
        run(db, "UPDATE bookings SET state = 'cancelled' WHERE id = ?", found[0]["id"])
    again = Call("rooms.restore", frozen({"id": str(found[0]["id"])}))
    return Outcome("ok", _told(found[0]), inverse=again)


@action("rooms.restore", ("ok", "none", "taken"))
def restore(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Bring a cancelled booking back, unless somebody else has the room by now."""
    with writing(db):
        found = rows(
            db, "SELECT * FROM bookings WHERE id = ? AND state = 'cancelled'", slots.get("id", "")
        )
        if not found:
            return Outcome("none", ok=False)
        row = found[0]
        span = _span({"date": row["date"], "time": f"{row['start']}-{row['end']}"})
        if _clash(db, row["room"], span):
            return Outcome("taken", _told(row), ok=False)
        run(db, "UPDATE bookings SET state = 'booked' WHERE id = ?", row["id"])
    back = Call("rooms.cancel", frozen({"id": str(row["id"])}))
    return Outcome("ok", _told(row), inverse=back)


@action("rooms.mine", ("ok", "none"), ("each", "count"))
def mine(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """What is booked, from now on or on one day."""
    day = slots.get("date", "")
    sql = "SELECT * FROM bookings WHERE state = 'booked' AND "
    if day:
        found = rows(db, sql + "date = ? ORDER BY start", day)
    else:
        today = now.date().isoformat()
        found = rows(db, sql + "date >= ? ORDER BY date, start", today)
    if not found:
        return Outcome("none")
    offered = {"room": tuple(dict.fromkeys(row["room"] for row in found))}
    return Outcome("ok", {"each": _each(found), "count": str(len(found))}, offered)


# Rules


def _cannot(
    db: Database, slots: Mapping[str, str], room: str, span: Span, now: datetime
) -> Outcome | None:
    """Why this room cannot be had then, whoever else wants it."""
    every = rows(db, "SELECT * FROM rooms ORDER BY code")
    wanted = next((one for one in every if one["code"] == room), None)
    if wanted is None:
        return Outcome("unknown", {"rooms": "|".join(one["code"] for one in every)}, ok=False)
    if _past(span, now):
        return Outcome("past", ok=False)
    name = (
        "too_small" if wanted["seats"] < (whole(slots, "people") or 0)
        else "no_projector" if slots.get("projector") == "yes" and not wanted["projector"]
        else "no_window" if slots.get("window") == "yes" and not wanted["window"]
        else ""
    )  # fmt: skip
    if not name:
        return None
    named = _named(name, _free(db, [one for one in every if _fits(one, slots)], span), ok=False)
    return Outcome(name, {**named.values, "seats": str(wanted["seats"])}, named.offered, ok=False)


def _occupied(
    db: Database, slots: Mapping[str, str], room: str, span: Span, but: int = 0
) -> Outcome | None:
    if not _clash(db, room, span, but):
        return None
    every = rows(db, "SELECT * FROM rooms ORDER BY code")
    free = _free(db, [one for one in every if _fits(one, slots)], span)
    named = _named("taken", free, ok=False, slot="new_room" if but else "room")
    return named if free else Outcome("full", ok=False)


def _clash(db: Database, room: str, span: Span, but: int = 0, *, exactly: bool = False) -> bool:
    same = "start = ? AND end = ?" if exactly else "start < ? AND end > ?"
    times = (span.start, span.end) if exactly else (span.end, span.start)
    sql = f"SELECT 1 FROM bookings WHERE state = 'booked' AND room = ? AND date = ? AND {same}"
    return bool(rows(db, f"{sql} AND id <> ?", room, span.day, *map(_clock, times), but))


def _free(db: Database, wanted: list[dict[str, Any]], span: Span) -> list[str]:
    busy = {
        row["room"]
        for row in rows(
            db,
            "SELECT room FROM bookings"
            " WHERE state = 'booked' AND date = ? AND start < ? AND end > ?",
            *(span.day, _clock(span.end), _clock(span.start)),
        )
    }
    return [room["code"] for room in wanted if room["code"] not in busy]


def _fits(room: Mapping[str, Any], slots: Mapping[str, str]) -> bool:
    if room["seats"] < (whole(slots, "people") or 0):
        return False
    return all(slots.get(wish) != "yes" or room[wish] for wish in ("window", "projector"))


def _bookings(db: Database, slots: Mapping[str, str], now: datetime) -> list[dict[str, Any]]:
    """The booking meant, by number or by room (and when, to cancel it); the latest made last."""
    sql = "SELECT * FROM bookings WHERE state = 'booked' AND "
    if slots.get("id"):
        return rows(db, sql + "id = ?", slots["id"])
    found = rows(
        db,
        sql + "room = ? AND (date > ? OR (date = ? AND end > ?)) ORDER BY id",
        *(slots.get("room", ""), *[now.date().isoformat()] * 2, f"{now:%H:%M}"),
    )
    return [row for row in found if _meant(row, slots)]


def _meant(row: Mapping[str, Any], slots: Mapping[str, str]) -> bool:
    day, time_ = slots.get("date"), slots.get("time")
    return (not day or row["date"] == day) and (
        not time_ or f"{row['start']}-{row['end']}" == time_
    )


# Values


def _named(name: str, free: list[str], *, ok: bool = True, slot: str = "room") -> Outcome:
    return Outcome(name, {"rooms": "|".join(free)}, {slot: tuple(free)} if free else {}, ok=ok)


def _told(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "room": row["room"],
        "date": row["date"],
        "time": f"{row['start']}-{row['end']}",
    }


def _each(found: list[dict[str, Any]]) -> str:
    return json.dumps([_told(row) for row in found], ensure_ascii=False)


def _span(slots: Mapping[str, str]) -> Span:
    """Raises InputError when day or time are not what their types promise."""
    day, when = slots.get("date", ""), slots.get("time", "")
    try:
        start, _, end = when.partition("-")
        first, last = time.fromisoformat(start), time.fromisoformat(end)
        date.fromisoformat(day)
    except ValueError:
        raise InputError(f"A room needs a day and a time, not {day!r} {when!r}.") from None
    span = Span(day, first.hour * 60 + first.minute, last.hour * 60 + last.minute)
    if span.end <= span.start:
        raise InputError(f"A room cannot be had from {start} to {end}: the end is not later.")
    return span


def _past(span: Span, now: datetime) -> bool:
    today = now.date().isoformat()
    return span.day < today or (span.day == today and span.end <= now.hour * 60 + now.minute)


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
