"""Fixed assets: look up, register, write off one straight-line year."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlite_utils import Database

from assistant.mind.dialogue import Call, frozen
from assistant.mind.flows import Choice
from assistant.skills.office import clean, day, money, next_code, plainly, rows, run, whole, writing
from assistant.skills.registry import Outcome, action, source

CENT = 0.01
YEARS = 5
"""useful life of an asset for which none was said"""


@source("assets.asset")
def known_assets(db: Database) -> tuple[Choice, ...]:
    """Every asset by its number and its names."""
    return tuple(
        Choice(row["id"], {"en": (row["name_en"], row["id"]), "zh": (row["name_zh"], row["id"])})
        for row in rows(db, "SELECT * FROM assets WHERE state = 'active' ORDER BY id")
    )


@action("assets.look_up", ("ok", "unknown"), ("price", "book_price", "date", "years"))
def look_up(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """What an asset cost, when it was bought and what it is worth in the books."""
    row = _asset(db, slots)
    if row is None:
        return Outcome("unknown", ok=False)
    values = {
        "asset": row["id"],
        "price": _money(row["price"], row),
        "book_price": _money(row["book_value"], row),
        "date": row["bought"],
        "years": str(row["years"]),
    }
    return Outcome("ok", values)


@action("assets.register", ("ok", "nothing", "future"), ("asset_number", "price", "date", "years"))
def register(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Take an asset into the books, bought today unless a day was said."""
    price, currency = money(slots, "price")
    years = whole(slots, "years")
    bought = day(slots.get("date") or now.date().isoformat())
    name = clean(slots.get("name", ""))
    if price <= 0 or not name or (years is not None and years <= 0):
        return Outcome("nothing", ok=False)
    if bought > now.date():
        return Outcome("future", {"date": bought.isoformat()}, ok=False)
    years = years or YEARS
    with writing(db):
        number = next_code(db, "assets", "AP")
        run(
            db,
            "INSERT INTO assets VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'active')",
            *(number, name, name, price, currency, bought.isoformat(), years, price),
        )
    values = {
        **{"asset_number": number, "price": f"{plainly(price)} {currency}"},
        **{"date": bought.isoformat(), "years": str(years)},
    }
    return Outcome("ok", values, inverse=Call("assets.unregister", frozen({"asset": number})))


@action("assets.unregister", ("ok", "unknown"))
def unregister(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Take an asset out of the books again."""
    return _switch(db, slots.get("asset", ""), "active", "removed", "assets.reregister")


@action("assets.reregister", ("ok", "unknown"))
def reregister(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Bring back an asset that was taken out."""
    return _switch(db, slots.get("asset", ""), "removed", "active", "assets.unregister")


@action("assets.depreciate", ("ok", "nothing", "unknown"), ("price", "book_price"))
def depreciate(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Write one straight-line year off; the last year takes what is left."""
    with writing(db):
        row = _asset(db, slots)
        if row is None:
            return Outcome("unknown", ok=False)
        share = round(row["price"] / row["years"], 2)
        if row["book_value"] - share <= CENT * row["years"]:
            share = row["book_value"]  # the last year takes what rounding left
        if share <= 0:
            return Outcome("nothing", {"asset": row["id"]}, ok=False)
        left = round(row["book_value"] - share, 2)
        run(db, "UPDATE assets SET book_value = ? WHERE id = ?", left, row["id"])
    values = {
        "asset": row["id"],
        "price": _money(share, row),
        "book_price": _money(left, row),
    }
    back = {"asset": row["id"], "price": f"{share:.2f} {row['currency']}"}
    return Outcome("ok", values, inverse=Call("assets.add_back", frozen(back)))


@action("assets.add_back", ("ok", "nothing", "unknown"))
def add_back(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Undo a year that was written off."""
    share, _ = money(slots, "price")
    with writing(db):
        row = _asset(db, slots)
        if row is None:
            return Outcome("unknown", ok=False)
        value = round(row["book_value"] + share, 2)
        if share <= 0 or value > row["price"]:
            return Outcome("nothing", ok=False)
        run(db, "UPDATE assets SET book_value = ? WHERE id = ?", value, row["id"])
    again = Call("assets.depreciate", frozen({"asset": row["id"]}))
    return Outcome("ok", {"asset": row["id"], "book_price": _money(value, row)}, inverse=again)


def _asset(db: Database, slots: Mapping[str, str]) -> dict[str, Any] | None:
    sql = "SELECT * FROM assets WHERE id = ? AND state = 'active'"
    found = rows(db, sql, slots.get("asset", ""))
    return found[0] if found else None


def _switch(db: Database, number: str, old: str, new: str, back: str) -> Outcome:
    with writing(db):
        if not run(db, "UPDATE assets SET state = ? WHERE id = ? AND state = ?", new, number, old):
            return Outcome("unknown", ok=False)
    return Outcome("ok", inverse=Call(back, frozen({"asset": number})))


def _money(amount: float, row: Mapping[str, Any]) -> str:
    return f"{plainly(amount)} {row['currency']}"
