"""Words taken out of every table: turns, states, summaries, search rows, changes.

Each function runs inside the transaction of whoever calls it and commits nothing. Which words have
to go is said by a `Traces`; why, is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any

from sqlite_utils import Database

from assistant.memory.rows import Row, Rows
from assistant.memory.traces import Traces
from assistant.mind.state import State

Place = tuple[str, int]
"""session and turn"""

_WORDS = ("user_text", "raw", "reply", "heard")
_LISTS = ("topics", "resolved", "facts", "follow_ups")


def blank_turns(db: Database, places: Iterable[Place]) -> set[Place]:
    """Empty the words of turns; the rows stay, so that numbers stay right. Those that had any."""
    blanked = set()
    for session, turn in sorted(set(places)):
        found = db.execute(
            "select decisions from turns where session = ? and turn = ?", [session, turn]
        ).fetchone()
        if found is None:
            continue
        db.execute(
            "update turns set user_text = '', raw = '', reply = '', heard = '', decisions = ? "
            "where session = ? and turn = ?",
            [json.dumps(_acts(found[0])), session, turn],
        )
        db.execute(
            "update jobs set status = 'undone', error = '' where session = ? and turn = ? "
            "and status = 'queued'",
            [session, turn],
        )
        blanked.add((session, turn))
    Rows(db).remove(f"turn:{session}:{turn}" for session, turn in blanked)
    return blanked


def mask_turns(db: Database, traces: Traces) -> set[Place]:
    """Put a mark in place of the words wherever else they were said. The turns it changed."""
    changed = {}
    columns = ", ".join(_WORDS)
    for session, turn, decisions, *texts in db.execute(
        f"select session, turn, decisions, {columns} from turns"
    ):
        new = [traces.masked(text) if text else text for text in texts]
        acts = _pruned(decisions, traces)
        if new != texts or acts != decisions:
            changed[session, turn] = (*new, acts)
    sets = ", ".join(f"{name} = ?" for name in (*_WORDS, "decisions"))
    for place, values in changed.items():
        db.execute(f"update turns set {sets} where session = ? and turn = ?", [*values, *place])
    return set(changed)


def clean_states(
    db: Database,
    traces: Traces,
    now: float,
    said: Collection[tuple[str, int, str]] = (),
    besides: str = "",
) -> int:
    """Delete every state that holds the words; where it was the newest, a clean one follows it.

    `said`: session, turn and key of facts that go whatever their words; `besides`: a session that
    is left alone. Returns how many states were deleted.
    """
    hits: list[tuple[str, int]] = []
    fresh: dict[str, tuple[int, int, State | None]] = {}
    for session, version, turn, text in db.execute(
        "select session, version, turn, state from states where session != ? "
        "order by session, version",
        [besides],
    ):
        held, clean = _without(text, traces, {(t, key) for s, t, key in said if s == session})
        fresh.pop(session, None)  # only the newest matters
        if held:
            hits.append((session, version))
            fresh[session] = (version, turn, clean)
    for place in hits:
        db.execute("delete from states where session = ? and version = ?", place)
    for session, (version, turn, clean) in fresh.items():
        data = {**(clean or State()).to_dict(), "version": version + 1}
        row = {"session": session, "version": version + 1, "at": now, "turn": turn}
        db.table("states").insert({**row, "state": json.dumps(data, ensure_ascii=False)})
    return len(hits)


def clean_summaries(db: Database, traces: Traces) -> None:
    """Take the sentences out; a summary of which nothing is left goes as a whole."""
    for row in list(db.query("select * from summaries")):
        new = {name: _pruned(row[name], traces) for name in _LISTS}
        new["text"] = traces.without(row["text"])
        if not new["text"]:
            db.execute("delete from summaries where session = ?", [row["session"]])
            Rows(db).remove([f"summary:{row['session']}"])
        elif any(new[name] != row[name] for name in new):
            db.table("summaries").update(row["session"], new)


def clean_rest(db: Database, traces: Traces, ids: Collection[str] = ()) -> None:
    """What tidying up noted of the facts `ids` or with the words, settings and errors with them."""
    gone = [
        [number]
        for number, fact, before in db.execute("select number, fact, before from changes")
        if fact in ids or traces.held_by(_read(before))
    ]
    db.conn.executemany("delete from changes where number = ?", gone)
    for key, value in db.execute("select key, value from meta where value is not null").fetchall():
        if traces.held_by(_read(value)):
            db.execute("delete from meta where key = ?", [key])
    for session, turn, kind, error in db.execute(
        "select session, turn, kind, error from jobs where error != ''"
    ).fetchall():
        if traces.in_text(error):
            place = [session, turn, kind]
            db.execute(
                "update jobs set error = '' where session = ? and turn = ? and kind = ?", place
            )


def clean_search(db: Database, traces: Traces) -> None:
    """Search rows with the words are written anew without them; their vectors follow later."""
    rows = Rows(db)
    found = [
        one for one in db.query("select * from search_texts") if traces.in_text(str(one["text"]))
    ]
    for one in found:
        fields = {name: one[name] for name in Row.__slots__ if name != "text"}
        summed_up = one["id"].startswith("summary:")
        text = traces.without(one["text"]) if summed_up else traces.masked(one["text"])
        rows.write(Row(text=text, **fields))
        if one["hidden"]:
            rows.hide([one["id"]], True)


def squeeze(db: Database) -> None:
    """Merge the word index: until then, words of deleted rows stand in its older segments.

    https://www.sqlite.org/fts5.html#the_optimize_command
    """
    Rows(db)
    db.execute("insert into search_words (search_words) values ('optimize')")


def _without(
    text: str, traces: Traces, said: Collection[tuple[int, str]]
) -> tuple[bool, State | None]:
    """Whether a stored state holds the words, and the state without them if it can be read."""
    try:
        data = json.loads(text)
        State.from_dict(data)
    except ValueError:
        return traces.in_text(text), None
    clean = traces.pruned(data)
    for name in ("facts", "preference"):
        kept = {
            key: fact
            for key, fact in clean.get(name, {}).items()
            if not traces.in_text(key) and (fact.get("turn", 0), key) not in said
        }
        clean |= {name: kept} if name in clean else {}
    if clean == data:
        return False, None
    with suppress(ValueError):
        return True, State.from_dict(clean)
    return True, None


def _acts(decisions: str | None) -> list[dict[str, Any]]:
    """What was decided, without any of the words (D12)."""
    found = _read(decisions)
    if not isinstance(found, list):
        return []
    names = ("act", "flow", "intent")
    return [
        {name: one[name] for name in names if name in one} for one in found if isinstance(one, dict)
    ]


def _read(text: str | None) -> Any:
    """JSON where it is JSON, else the text itself."""
    try:
        return json.loads(text or "null")
    except ValueError:
        return text


def _pruned(text: str | None, traces: Traces) -> str | None:
    """A JSON column without the words; as it is when it holds none."""
    value = _read(text)
    if text is None or not traces.held_by(value):
        return text
    if isinstance(value, str):
        return traces.without(value)
    return json.dumps(traces.pruned(value), ensure_ascii=False)
