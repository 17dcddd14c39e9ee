"""Which rows a backup may hold: tables, columns, types, and what a type alone does not tell.

Pure but for an empty database in memory, from which it takes the newest columns.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlite_utils import Database

from assistant.memory.db import migrations
from assistant.mind.state import State

TABLES = ("sessions", "turns", "jobs", "states", "summaries", "facts")
"""in the order they are written"""
OWN = {"sessions": ("bank",)}
"""columns that belong to the bank and not to what is in it"""
JSON = {
    "turns": ("latency_ms", "decisions"),
    "states": ("state",),
    "summaries": ("topics", "resolved", "facts", "follow_ups"),
    "facts": ("sources",),
}
_TYPES = {"TEXT": str, "INTEGER": int, "FLOAT": float, "REAL": float}
_CALLED = {str: "text", int: "a whole number", float: "a number"}


@dataclass(frozen=True, slots=True)
class _Column:
    type: type
    needed: bool


def columns(table: str) -> Mapping[str, _Column]:
    """What may stand in a row of a file."""
    return _schema()[table]


@cache
def _schema() -> Mapping[str, Mapping[str, _Column]]:
    db = Database(memory=True)
    migrations.apply(db)
    return {
        table: {
            one.name: _Column(_TYPES[one.type], bool(one.notnull or one.is_pk))
            for one in db.table(table).columns
            if one.name not in OWN.get(table, ())
        }
        for table in TABLES
    }


def row_fault(table: str, row: Mapping[str, Any]) -> str:
    """What is wrong with a row, "" when it is fit for its table."""
    known = columns(table)
    for key in row:
        if key not in known:
            return f"{key!r} is no column"
    for key, column in known.items():
        if (value := row.get(key)) is None:
            if column.needed:
                return f"{key!r} is missing"
        elif fault := _value_fault(value, column.type):
            return f"{key!r} {fault}"
    return _content_fault(table, row)


def _value_fault(value: Any, wanted: type) -> str:
    kinds = (int, float) if wanted is float else (wanted,)
    if isinstance(value, bool) or not isinstance(value, kinds):
        return f"has to be {_CALLED[wanted]}, not {json.dumps(value)[:40]}"
    if isinstance(value, str):
        return "" if _encodable(value) else "holds characters that do not exist"
    if isinstance(value, int | float) and not (math.isfinite(value) and abs(value) < 2**63):
        return "is a number out of range"
    return ""


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _content_fault(table: str, row: Mapping[str, Any]) -> str:
    """What the type alone does not tell."""
    try:
        if table == "states" and State.from_dict(json.loads(row["state"])).version < 1:
            return "the state has no version"
        if table == "facts" and not isinstance(json.loads(row.get("sources") or "[]"), list):
            return "'sources' has to be a list"
        if table == "facts" and not (row["id"] and row["text"].strip()):
            return "a fact without id or words"
    except (ValueError, RecursionError) as error:
        return f"damaged ({error})"
    return ""
