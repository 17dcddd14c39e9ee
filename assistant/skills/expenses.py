"""Expense claims: hand in, ask how they stand, take back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlite_utils import Database

from assistant.mind.dialogue import Call, frozen
from assistant.skills.office import clean, day, money, next_code, plainly, rows, run, writing
from assistant.skills.registry import Outcome, action

MANY = 5
"""claims that are told at once, newest first"""


@action("expenses.submit", ("ok", "nothing", "future"), ("number", "amount", "date"))
def submit(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Hand a claim in; of today, when no day was said."""
    amount, currency = money(slots, "amount")
    spent = day(slots.get("date") or now.date().isoformat())
    if amount <= 0:
        return Outcome("nothing", ok=False)
    if spent > now.date():
        return Outcome("future", {"date": spent.isoformat()}, ok=False)
    with writing(db):
        number = next_code(db, "expenses", "E")
        run(
            db,
            "INSERT INTO expenses VALUES (?, ?, ?, ?, ?, ?, 'submitted')",
            *(number, amount, currency, slots.get("type", "other")),
            *(clean(slots.get("reason", "")), spent.isoformat()),
        )
    values = {"number": number, "amount": f"{plainly(amount)} {currency}", "date": str(spent)}
    back = Call("expenses.withdraw", frozen({"number": number}))
    return Outcome("ok", values, {"number": (number,)}, back)


@action("expenses.status", ("ok", "one", "none", "unknown"), ("each", "count", "state"))
def status(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """How one claim stands, or the latest ones."""
    if number := slots.get("number"):
        found = rows(db, "SELECT * FROM expenses WHERE id = ?", number)
        return Outcome("one", _told(found[0])) if found else Outcome("unknown", ok=False)
    found = rows(
        db, "SELECT * FROM expenses WHERE state <> 'withdrawn' ORDER BY id DESC LIMIT ?", MANY
    )
    if not found:
        return Outcome("none")
    each = json.dumps([_told(row) for row in found], ensure_ascii=False)
    offered = {"number": tuple(row["id"] for row in found)}
    return Outcome("ok", {"each": each, "count": str(len(found))}, offered)


@action("expenses.withdraw", ("ok", "unknown", "too_late", "already"), ("amount", "type"))
def withdraw(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Take a claim back that is not paid yet."""
    number = slots.get("number", "")
    with writing(db):
        found = rows(db, "SELECT * FROM expenses WHERE id = ?", number)
        if not found:
            return Outcome("unknown", ok=False)
        if found[0]["state"] != "submitted":
            name = "already" if found[0]["state"] == "withdrawn" else "too_late"
            return Outcome(name, _told(found[0]), ok=False)
        run(db, "UPDATE expenses SET state = 'withdrawn' WHERE id = ?", number)
    again = Call("expenses.resubmit", frozen({"number": number}))
    return Outcome("ok", _told(found[0]), inverse=again)


@action("expenses.resubmit", ("ok", "unknown"))
def resubmit(db: Database, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Hand a claim in again that was taken back."""
    number = slots.get("number", "")
    with writing(db):
        sql = "UPDATE expenses SET state = 'submitted' WHERE id = ? AND state = 'withdrawn'"
        if not run(db, sql, number):
            return Outcome("unknown", ok=False)
    return Outcome("ok", inverse=Call("expenses.withdraw", frozen({"number": number})))


def _told(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "number": row["id"],
        "amount": f"{plainly(row['amount'])} {row['currency']}",
        "type": row["type"],
        "reason": row["reason"],
        "date": row["date"],
        "state": row["state"],
    }
