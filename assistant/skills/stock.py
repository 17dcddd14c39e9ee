"""What is in stock, and orders out of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlite_utils import Database

from assistant.mind.dialogue import Call, frozen
from assistant.mind.flows import Choice
from assistant.skills.office import next_code, rows, run, whole, writing
from assistant.skills.registry import Outcome, action, source

MANY = 5
"""orders that are told at once, newest first"""


@source("stock.item")
def known_items(db: Database) -> tuple[Choice, ...]:
    """Every item with what people call it."""
    return tuple(
        Choice(
            row["id"],
            {
                language: (
                    row[f"name_{language}"],
                    *filter(None, row[f"words_{language}"].split("|")),
                )
                for language in ("en", "zh")
            },
        )
        for row in rows(db, "SELECT * FROM items ORDER BY id")
    )


@action("stock.query", ("ok", "enough", "not_enough", "unknown"), ("count", "unit_en", "unit_zh"))
def query(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """How many there are, and whether that is enough."""
    item = _item(db, slots)
    if item is None:
        return Outcome("unknown", ok=False)
    quantity = whole(slots, "quantity")
    if quantity is None:
        return Outcome("ok", _counted(item))
    enough = item["count"] >= quantity
    return Outcome("enough" if enough else "not_enough", _counted(item), ok=enough)


@action(
    "stock.order",
    ("ok", "not_enough", "nothing", "unknown"),
    ("number", "count", "unit_en", "unit_zh"),
)
def order(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Order out of the stock; what is ordered is no longer there for others."""
    quantity = whole(slots, "quantity") or 0
    if quantity <= 0:
        return Outcome("nothing", ok=False)
    with writing(db):
        item = _item(db, slots)
        if item is None:
            return Outcome("unknown", ok=False)
        if item["count"] < quantity:
            return Outcome("not_enough", _counted(item), ok=False)
        number = next_code(db, "orders", "O")
        run(db, "UPDATE items SET count = count - ? WHERE id = ?", quantity, item["id"])
        run(
            db,
            "INSERT INTO orders VALUES (?, ?, ?, 'open', ?)",
            *(number, item["id"], quantity, now.isoformat(timespec="seconds")),
        )
    values = {"number": number, "quantity": str(quantity), **_units(item, quantity)}
    back = Call("stock.cancel", frozen({"number": number}))
    return Outcome("ok", values, {"number": (number,)}, back)


@action("stock.orders", ("ok", "none"), ("each", "count", "unit_en", "unit_zh"))
def orders(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """The latest orders that stand."""
    found = rows(
        db,
        "SELECT o.*, i.unit_en, i.unit_zh FROM orders o JOIN items i ON i.id = o.item"
        " WHERE o.state <> 'cancelled' ORDER BY o.id DESC LIMIT ?",
        MANY,
    )
    if not found:
        return Outcome("none")
    each = [
        {
            **{"number": row["id"], "item": row["item"], "quantity": str(row["quantity"])},
            **{"state": row["state"], **_units(row, row["quantity"])},
        }
        for row in found
    ]
    offered = {"number": tuple(row["id"] for row in found)}
    values = {"each": json.dumps(each, ensure_ascii=False), "count": str(len(found))}
    return Outcome("ok", values, offered)


@action("stock.cancel", ("ok", "unknown", "too_late", "already"), ("item", "quantity"))
def cancel(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Take an open order back; the goods are there again."""
    return _switch(db, slots.get("number", ""), "open", "cancelled")


@action("stock.reorder", ("ok", "unknown", "too_late", "already", "not_enough"))
def reorder(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Bring a cancelled order back, as long as there is enough."""
    return _switch(db, slots.get("number", ""), "cancelled", "open")


def _switch(db: Database, number: str, old: str, new: str) -> Outcome:
    with writing(db):
        found = rows(
            db,
            "SELECT o.*, i.count FROM orders o JOIN items i ON i.id = o.item WHERE o.id = ?",
            number,
        )
        if not found:
            return Outcome("unknown", ok=False)
        row = found[0]
        values = {"item": row["item"], "quantity": str(row["quantity"])}
        if row["state"] != old:
            return Outcome("already" if row["state"] == new else "too_late", values, ok=False)
        change = row["quantity"] if new == "cancelled" else -row["quantity"]
        if row["count"] + change < 0:
            return Outcome("not_enough", values, ok=False)
        run(db, "UPDATE orders SET state = ? WHERE id = ?", new, number)
        run(db, "UPDATE items SET count = count + ? WHERE id = ?", change, row["item"])
    back = Call(
        "stock.reorder" if new == "cancelled" else "stock.cancel", frozen({"number": number})
    )
    return Outcome("ok", values, inverse=back)


def _item(db: Database, slots: Mapping[str, str]) -> dict[str, Any] | None:
    found = rows(db, "SELECT * FROM items WHERE id = ?", slots.get("item", ""))
    return found[0] if found else None


def _counted(item: Mapping[str, Any]) -> dict[str, str]:
    return {"count": str(item["count"]), **_units(item, item["count"])}


def _units(item: Mapping[str, Any], count: int) -> dict[str, str]:
    one, _, more = item["unit_en"].partition("|")
    return {"unit_en": one if count == 1 else more or one, "unit_zh": item["unit_zh"]}
