"""Which facts hang together: what superseded what, what was concluded from what; and their end.

Functions on the database inside somebody's transaction; they commit nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from sqlite_utils import Database

from assistant.memory.facts import memory_of, search_row
from assistant.memory.rows import Rows

Facts = Mapping[str, dict[str, Any]]
"""rows by id"""


def all_facts(db: Database) -> dict[str, dict[str, Any]]:
    return {one["id"]: one for one in db.query("select * from facts")}


def parted(
    facts: Facts, gone: Collection[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Those that go and those that stay."""
    return [facts[key] for key in gone], [one for key, one in facts.items() if key not in gone]


def with_relatives(facts: Facts, ids: Collection[str]) -> set[str]:
    """With what they superseded, what was concluded from them, and the same in other words."""
    gone, more = set[str](), set(ids)
    while more:
        gone |= more
        twins = {_content(facts[one]) for one in gone} - {None}
        norms = {facts[one]["norm"] for one in gone}
        more = {
            key
            for key, one in facts.items()
            if one["superseded_by"] in gone or _content(one) in twins or one["norm"] in norms
        }
        more = (more | with_insights(facts, gone)) - gone
    return gone


def with_insights(facts: Facts, ids: Collection[str]) -> set[str]:
    """With what was concluded from them."""
    gone, more = set[str](), set(ids)
    while more:
        gone |= more
        more = {key for key, one in facts.items() if gone & set(_sources(one))} - gone
    return gone


def _sources(fact: Mapping[str, Any]) -> list[str]:
    found = json.loads(fact["sources"] or "[]")
    return found if isinstance(found, list) else []


def _content(fact: Mapping[str, Any]) -> tuple[str, str, str] | None:
    value = " ".join((fact["value"] or "").lower().split())
    return (fact["subject"], fact["key"], value) if value else None


def delete_facts(db: Database, ids: Collection[str], *, revive: bool = False) -> tuple[str, ...]:
    """Delete facts with their search rows. With `revive`: what they ended is believed again, or
    ended by what ended them; the ids of those believed again."""
    heirs = {
        key: after
        for key, after in db.execute("select id, superseded_by from facts").fetchall()
        if key in ids
    }
    for key in heirs:
        db.execute("delete from facts where id = ?", [key])
        db.execute("delete from changes where fact = ?", [key])
    Rows(db).remove(f"fact:{key}" for key in heirs)
    if not revive:
        return ()
    revived = []
    ended = db.execute("select id, superseded_by, norm from facts where superseded_by != ''")
    for key, by, norm in ended.fetchall():
        if by in heirs and _revive(db, key, _heir(heirs, by), norm):
            revived.append(key)
    return tuple(revived)


def earlier_versions(db: Database, ids: Collection[str]) -> list[dict[str, Any]]:
    """The rows of facts as they were before they were told in more detail, edited or ended."""
    found = db.execute("select fact, before from changes order by number").fetchall()
    return [row for key, text in found if key in ids and (row := _row(text))]


def restore(db: Database, fact: Mapping[str, Any], since: float) -> bool:
    """A fact as it was before it was told in more detail, then or later; False when it was not."""
    found = db.execute(
        "select number, before from changes where fact = ? and op = 'update' and at >= ? "
        "order by number limit 1",
        [fact["id"], since],
    ).fetchone()
    before = _row(found[1]) if found else None
    if not before:
        return False
    same = "select 1 from facts where norm = ? and ended is null and id != ?"
    if fact["ended"] is None and db.execute(same, [before["norm"], fact["id"]]).fetchone():
        return False
    kept = ("id", "ended", "why_ended", "superseded_by", "strength", "uses", "used", "pinned")
    new = {name: value for name, value in before.items() if name not in kept}
    db.table("facts").update(fact["id"], new | {"version": (fact["version"] or 0) + 1})
    db.execute("delete from changes where fact = ? and number >= ?", [fact["id"], found[0]])
    rows = Rows(db)
    rows.write(search_row(memory_of({**fact, **new})))
    rows.hide([f"fact:{fact['id']}"], fact["ended"] is not None)
    return True


def _row(text: str | None) -> dict[str, Any] | None:
    try:
        row = json.loads(text or "null")
    except ValueError:
        return None
    return row if isinstance(row, dict) and row.get("text") else None


def _heir(heirs: Mapping[str, str | None], key: str) -> str:
    """What stands in the place of a deleted fact; "" when nothing has superseded it."""
    while key in heirs:
        key = heirs[key] or ""
    return key


def _revive(db: Database, key: str, heir: str, norm: str) -> bool:
    if not heir:  # the same may have been said again
        same = "select id from facts where norm = ? and ended is null"
        heir = (db.execute(same, [norm]).fetchone() or ("",))[0]
    if heir:
        db.execute("update facts set superseded_by = ? where id = ?", [heir, key])
        return False
    db.execute(
        "update facts set ended = null, why_ended = '', superseded_by = '', version = version + 1 "
        "where id = ?",
        [key],
    )
    Rows(db).hide([f"fact:{key}"], False)
    return True
