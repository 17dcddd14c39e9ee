"""The table of long-term facts, written: what is new, a repeat, or ends an older one (V16).

Functions for the one writer, run inside its transaction; they commit nothing. What two sentences
have to do with each other is decided in mind/rivals.py.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlite_utils import Database

from assistant.errors import AssistantError
from assistant.memory.fact_rows import (
    find_key,
    get,
    load_memories,
    memory_of,
    resolve,
    retention,
    row_of,
    search_row,
    stronger,
)
from assistant.memory.rows import Rows
from assistant.memory.succession import outlived, renamed
from assistant.mind.days import day_of
from assistant.mind.described import describe, language_of
from assistant.mind.memories import Memory
from assistant.mind.norms import canonical, norm
from assistant.mind.rivals import Relation, compatible, relation

__all__ = [
    "Op",
    "edit",
    "find_key",
    "get",
    "load_memories",
    "memory_of",
    "norm",
    "remember",
    "resolve",
    "retention",
    "row_of",
    "search_row",
    "stronger",
    "touch",
]

ID_DIGITS = 12

Kind = Literal["add", "update", "supersede", "nothing"]


@dataclass(frozen=True, slots=True)
class Op:
    """What became of a proposed memory."""

    kind: Kind
    memory: Memory
    """as it is stored now; for "nothing" the one that said it already"""
    before: Memory | None = None
    """update: the same row as it was; supersede: the one that ended, as it is now"""
    also: tuple[Op, ...] = ()
    """what else was changed: others that ended, others that had a wrong name in them"""


def touch(ids: Iterable[str], now: float) -> Callable[[Database], None]:
    """These were of use: each fades more slowly from now on."""
    wanted = list(dict.fromkeys(ids))

    def work(db: Database) -> None:
        for id in wanted:
            memory = get(id)(db)
            if memory is not None and memory.ended is None:
                _write(db, replace(stronger(memory, now), version=memory.version + 1))

    return work


def remember(memories: Sequence[Memory], now: float) -> Callable[[Database], list[Op]]:
    """Put what a turn told into the table: one Op for each memory, in their order.

    The same turn taken again changes nothing. What was said earlier never ends what was said
    later, in whatever order they are written.
    """

    def work(db: Database) -> list[Op]:
        rows = Rows(db)
        return [_taken_in(db, rows, _prepared(memory, now), now) for memory in memories]

    return work


def _prepared(memory: Memory, now: float) -> Memory:
    said = memory.said or now
    ready = replace(memory, said=said, learned=memory.learned or said, version=1)
    return replace(ready, id=ready.id or uuid.uuid4().hex[:ID_DIGITS], norm=norm(ready))


def _taken_in(db: Database, rows: Rows, new: Memory, now: float) -> Op:
    """In its place, with all that it changes beside its rival."""
    op = _place(db, rows, new, now)
    if op.kind == "nothing" and not _newly(op):
        return op
    placed = op.memory
    also = [
        Op("supersede", placed, _end(db, rows, old, placed, now))
        for old in outlived(db, placed)
        if not _earlier(placed, old)
    ]
    also += [_rename(db, rows, old, right, now) for old, right in renamed(db, placed)]
    if also and op.kind == "add" and also[0].kind == "supersede":
        return replace(op, kind="supersede", before=also[0].before, also=tuple(also[1:]))
    return replace(op, also=tuple(also))


def _newly(op: Op) -> bool:
    """Said once more: what it ends may have been said again meanwhile."""
    return op.before is not None


def _rename(db: Database, rows: Rows, old: Memory, right: Memory, now: float) -> Op:
    """The fact with the right name; where that is known already the wrong one ends."""
    same = next(
        db.query("select * from facts where norm = ? and ended is null", [right.norm]), None
    )
    if same is not None and same["id"] != old.id:
        return Op("supersede", memory_of(same), _end(db, rows, old, memory_of(same), now))
    _record(db, "update", old, now)
    _write(db, right)
    rows.write(search_row(right))
    return Op("update", right, old)


def _place(db: Database, rows: Rows, new: Memory, now: float) -> Op:
    same = next(db.query("select * from facts where norm = ? and ended is null", [new.norm]), None)
    if same is not None:
        return _repeat(db, memory_of(same), new)
    past = _retold(db, new)
    if past is not None:
        return Op("nothing", past)
    for old, how in _rivals(db, new)[:1]:
        if how == "same":
            return _repeat(db, old, new)
        if _earlier(new, old):
            return _history(db, rows, new, old)
        write = _update if how == "richer" else _supersede
        return write(db, rows, old, new, now)
    return _add(db, rows, new)


def _rivals(db: Database, new: Memory) -> list[tuple[Memory, Relation]]:
    """What it has to do with what is believed, the newest first; nothing where two persons fit."""
    found = db.query("select * from facts where ended is null and key = ?", [new.key])
    near = [old for old in map(memory_of, found) if compatible(old.subject, new.subject)]
    exact = [old for old in near if canonical(old.subject) == canonical(new.subject)]
    if not exact and len({canonical(old.subject) for old in near}) > 1:
        return []
    related = [(old, relation(old, new)) for old in exact or near]
    chosen = [(old, how) for old, how in related if how != "other"]
    order = ("same", "richer", "against")
    return sorted(chosen, key=lambda item: (order.index(item[1]), -item[0].said))


def _earlier(new: Memory, old: Memory) -> bool:
    """It was said before the other one: its writing came late."""
    if new.session and new.session == old.session:
        return new.turn < old.turn
    return new.said < old.said


def _again(new: Memory, old: Memory) -> bool:
    """The very turn that the other one was last said in, or one before it."""
    if new.session and new.session == old.session:
        return new.turn <= old.turn
    return new.said <= old.said


def _retold(db: Database, new: Memory) -> Memory | None:
    """What this turn said already and what has ended since."""
    found = db.query("select * from facts where norm = ? and ended is not null", [new.norm])
    return next((old for old in map(memory_of, found) if _again(new, old)), None)


def _repeat(db: Database, old: Memory, new: Memory) -> Op:
    if _again(new, old):
        return Op("nothing", old)
    again = stronger(old, max(new.said, old.used))
    again = replace(
        again,
        said=new.said,
        session=new.session or old.session,
        turn=new.turn if new.session else old.turn,
        importance=max(old.importance, new.importance),
        day=max(old.day, new.day),
        version=old.version + 1,
    )
    _write(db, again)
    return Op("nothing", again, old)


def _add(db: Database, rows: Rows, new: Memory) -> Op:
    """Insert; where another writer was faster the unique index says so, and it is a repeat."""
    row = row_of(new)
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    done = db.execute(
        f"insert into facts ({names}) values ({marks}) on conflict do nothing", list(row.values())
    )
    if done.rowcount < 1:
        other = next(db.query("select * from facts where norm = ? and ended is null", [new.norm]))
        return _repeat(db, memory_of(other), new)
    rows.write(search_row(new))
    return Op("add", new)


def _update(db: Database, rows: Rows, old: Memory, new: Memory, now: float) -> Op:
    """The same fact, told in more detail: the row keeps its id, the old text goes to `changes`."""
    told = stronger(old, new.said)
    told = replace(
        told,
        text=new.text,
        value=new.value,
        subject=max(old.subject, new.subject, key=len),
        language=new.language,
        day=new.day,
        lasting=new.lasting,
        single=old.single or new.single,
        importance=max(old.importance, new.importance),
        said=new.said,
        session=new.session,
        turn=new.turn,
        version=old.version + 1,
    )
    told = replace(told, norm=norm(told))
    _record(db, "update", old, now)
    _write(db, told)
    rows.write(search_row(told))
    return Op("update", told, old)


def _supersede(db: Database, rows: Rows, old: Memory, new: Memory, now: float) -> Op:
    """The old one was true until now; it stays, with its end."""
    ended = _end(db, rows, old, new, now)
    added = _add(db, rows, new)
    return Op("supersede", added.memory, ended)


def _end(db: Database, rows: Rows, old: Memory, new: Memory, now: float) -> Memory:
    ended = replace(
        old,
        ended=now,
        why_ended="superseded",
        superseded_by=new.id,
        version=old.version + 1,
    )
    _record(db, "supersede", old, now)
    _write(db, ended)
    rows.hide([f"fact:{old.id}"], True)
    return ended


def _history(db: Database, rows: Rows, new: Memory, winner: Memory) -> Op:
    """Said before what is believed now, written after it: kept as history only."""
    past = replace(
        new, ended=max(winner.learned, new.said), why_ended="superseded", superseded_by=winner.id
    )
    db.table("facts").insert(row_of(past))
    rows.write(search_row(past))
    rows.hide([f"fact:{past.id}"], True)
    return Op("nothing", winner)


def edit(id: str, text: str, now: float) -> Callable[[Database], Memory]:
    """Put a sentence right by hand; its meaning and its search row follow.

    Raises AssistantError when the id is unknown, the text empty, or the sentence known already.
    """

    def work(db: Database) -> Memory:
        old = get(resolve(id)(db))(db)
        said = " ".join(text.split())
        if old is None or old.ended is not None or not said:
            why = "the new text is empty" if not said else "it is no longer believed"
            raise AssistantError(f"The memory {id!r} cannot be edited: {why}.")
        new = _edited(old, said, now)
        other = next(
            db.query(
                "select id from facts where norm = ? and ended is null and id != ?",
                [new.norm, new.id],
            ),
            None,
        )
        if other is not None:
            raise AssistantError(f"That is known already, as {other['id']}; nothing was changed.")
        _record(db, "edit", old, now)
        _write(db, new)
        Rows(db).write(search_row(new))
        return new

    return work


def _edited(old: Memory, text: str, now: float) -> Memory:
    day = day_of(text)
    found = describe(text, day=day)
    changed = replace(
        old,
        text=text,
        subject=found.subject,
        key=found.key,
        value=text,
        language=language_of(text),
        single=found.single,
        day=day,
        origin="edited",
        said=max(old.said, now),
        version=old.version + 1,
    )
    return replace(changed, norm=norm(changed))


def _record(db: Database, op: str, before: Memory, now: float) -> None:
    row = json.dumps(row_of(before), ensure_ascii=False)
    db.execute(
        "insert into changes (run, at, op, fact, before) values (0, ?, ?, ?, ?)",
        [now, op, before.id, row],
    )


def _write(db: Database, memory: Memory) -> None:
    row = row_of(memory)
    sets = ", ".join(f"{name} = ?" for name in row)
    db.execute(f"update facts set {sets} where id = ?", [*row.values(), memory.id])
