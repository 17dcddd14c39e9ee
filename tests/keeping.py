"""A bank with something told in it, and a look at every text that is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlite_utils import Database

from assistant.events import Turn
from assistant.memory import db as tables
from assistant.memory import store
from assistant.memory.facts import Op, remember
from assistant.memory.rows import Row, Rows
from assistant.mind.memories import Memory
from assistant.mind.state import Fact, State

NOW = 1_800_000_000.0


def empty_bank() -> Database:
    db = Database(memory=True)
    tables.migrations.apply(db)
    Rows(db)
    return db


def session(db: Database, key: str = "s1", at: float = NOW) -> str:
    """A session whose first state is empty."""
    row = {"id": key, "bank": "alex", "started": at, "touched": at}
    db.table("sessions").insert(row)
    return key


def memory(text: str, key: str, value: str, **changes: Any) -> Memory:
    return Memory(text=text, subject="user", key=key, value=value, **changes)


def tell(
    db: Database,
    said: str,
    *memories: Memory,
    in_session: str = "s1",
    turn: int = 1,
    at: float = NOW,
    reply: str = "",
) -> list[Op]:
    """A turn, the state after it with one note for each memory, and the memories."""
    spoken = Turn(in_session, turn, said, "en", {"version": turn - 1}, reply, reply, reply)
    spoken = replace(spoken, decisions=[{"act": "model", "intent": "", "why": [f"heard {said}"]}])
    with db.atomic():
        store.keep_turn(spoken, at, note=True)(db)
        Rows(db).write(Row(f"turn:{in_session}:{turn}", said, at, session=in_session))
        before = State.from_dict(store.load_state(in_session)(db))
        noted = {one.key: Fact(one.value, one.text, "en", turn) for one in memories}
        after = replace(
            before, version=before.version + 1, preference={**before.preference, **noted}
        )
        store.commit_state(in_session, turn, before.version, after.to_dict(), at)(db)
        placed = [replace(one, session=in_session, turn=turn) for one in memories]
        return remember(placed, at)(db)


def ids(ops: Sequence[Op]) -> list[str]:
    return [op.memory.id for op in ops]


def columns(db: Database) -> list[str]:
    """Every value of every column of every table, shadow tables of the word index among them."""
    values = []
    for (name,) in db.execute("select name from sqlite_master where type = 'table'").fetchall():
        if name == "search_words":
            continue  # a view of its shadow tables
        for row in db.execute(f'select * from "{name}"').fetchall():
            for value in row:
                text = value.decode("utf-8", "ignore") if isinstance(value, bytes) else str(value)
                values.append(f"{name}: {text}")
    return values


def where(db: Database, *words: str) -> list[str]:
    """The stored values that hold any of the words, in any case."""
    return [one for one in columns(db) if any(word.lower() in one.lower() for word in words)]


def newest(db: Database, key: str = "s1") -> State:
    return State.from_dict(store.load_state(key)(db))
