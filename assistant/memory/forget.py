"""Forgetting for good: facts and every trace of their words, whole conversations, one turn.

Functions for the one writer (Store.submit); they commit nothing. What a running assistant still
holds in memory is not known here: the results say what it has to drop.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlite_utils import Database

from assistant.errors import InputError
from assistant.memory import scrub
from assistant.memory.facts import memory_of
from assistant.memory.lineage import (
    all_facts,
    delete_facts,
    earlier_versions,
    parted,
    restore,
    with_insights,
    with_relatives,
)
from assistant.memory.rows import Rows
from assistant.memory.scrub import Place
from assistant.memory.tokens import query_terms
from assistant.memory.traces import Traces, telling
from assistant.mind.memories import Memory
from assistant.mind.state import State

SHORT = 6
"""letters of an id that a person sees and types; more when they are not enough"""
TABLES = ("jobs", "states", "turns", "summaries", "facts", "changes", "meta", "sessions")
"""in an order in which they can be emptied"""
NEAR = 5
"""facts that are named as possible ones"""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What is gone."""

    facts: tuple[str, ...] = ()
    """ids"""
    turns: tuple[Place, ...] = ()
    """session and turn of those whose words changed or went"""
    states: int = 0
    revived: tuple[str, ...] = ()
    """facts that are believed again, or as they were, because what had changed them is gone"""


def forget(
    ids: Iterable[str], now: float, turns: Iterable[Place] = ()
) -> Callable[[Database], Forgotten]:
    """Delete facts, what they superseded, what was concluded from them, and their words anywhere.

    The words of the turns they were said in, and of `turns`, go as a whole; elsewhere only the
    words themselves. A value that another fact still needs stays where that one was said. Unknown
    ids and turns do nothing.
    """
    wanted, more = set(ids), set(turns)

    def work(db: Database) -> Forgotten:
        facts = all_facts(db)
        gone = with_relatives(facts, wanted & facts.keys())
        if not gone and not more:
            return Forgotten()
        told, others = parted(facts, gone)
        told += [*earlier_versions(db, gone), *_noted(db, more)]
        traces = _traces(told, others)
        delete_facts(db, gone)
        said = {(one["session"] or "", one["turn"] or 0, one["key"]) for one in told}
        places = more | {(session, turn) for session, turn, _ in said}
        touched = scrub.blank_turns(db, places) | scrub.mask_turns(db, traces)
        states = scrub.clean_states(db, traces, now, said)
        _clean(db, traces, gone)
        return Forgotten(tuple(sorted(gone)), tuple(sorted(touched)), states)

    return work


def forget_session(session: str, now: float) -> Callable[[Database], Forgotten]:
    """ "Don't remember this conversation": delete what was said and learned in it, keep it private.

    The session's row stays, marked; of its states the one it began with, which holds only what was
    known before. Facts that its facts had ended are believed again, and those it told more of are
    as they were. Raises InputError when there is no such session.
    """

    def work(db: Database) -> Forgotten:
        found = db.execute("select started from sessions where id = ?", [session]).fetchone()
        if found is None:
            raise InputError(f"There is no conversation {session!r} in this memory.")
        facts = all_facts(db)
        learned = {
            key
            for key, one in facts.items()
            if one["session"] == session and (one["learned"] or 0) >= found[0]
        }
        gone = with_insights(facts, learned)
        told, _ = parted(facts, gone)
        told += [*earlier_versions(db, gone)]
        revived = delete_facts(db, gone, revive=True)
        said = {key: one for key, one in facts.items() if one["session"] == session}
        changed = [one for key, one in said.items() if key not in gone]
        restored = [one for one in changed if restore(db, one, found[0])]
        traces = _traces([*told, *restored], list(all_facts(db).values()), _notes(db, session))
        revived += tuple(one["id"] for one in restored)
        turns = db.execute("select session, turn from turns where session = ?", [session])
        places = tuple(turns.fetchall())
        states = _delete_session_rows(db, session)
        states += scrub.clean_states(db, traces, now, besides=session)
        _clean(db, traces, gone)
        db.execute("update sessions set private = 1 where id = ?", [session])
        return Forgotten(tuple(sorted(gone)), places, states, revived)

    return work


def take_back(session: str, turn: int) -> Callable[[Database], Forgotten]:
    """Remove the facts that one turn added; what they had ended is believed again.

    A fact that was known before and only repeated in that turn stays; one that was told in more
    detail is as it was.
    """

    def work(db: Database) -> Forgotten:
        facts = all_facts(db)
        here = {
            key: one
            for key, one in facts.items()
            if (one["session"], one["turn"]) == (session, turn)
        }
        added = {key for key, one in here.items() if (one["learned"] or 0) >= (one["said"] or 0)}
        gone = with_insights(facts, added)
        revived = delete_facts(db, gone, revive=True)
        repeated = [one for key, one in here.items() if key not in gone]
        restored = [one["id"] for one in repeated if restore(db, one, one["said"] or 0)]
        revived += tuple(restored)
        return Forgotten(tuple(sorted(gone)), (), 0, revived)

    return work


def forget_all() -> Callable[[Database], None]:
    """Forget everything in a bank that stays open; deleting its file is Banks.delete."""

    def work(db: Database) -> None:
        Rows(db)
        for table in (*TABLES, "search_words", "search_vectors", "search_texts"):
            db.execute(f"delete from {table}")
        scrub.squeeze(db)

    return work


def matching(text: str) -> Callable[[Database], list[Memory]]:
    """Facts that hold a text, or all its words that count; believed ones first, newest first."""
    plain = " ".join(text.split()).lower()

    def work(db: Database) -> list[Memory]:
        by_words = set(_found(db, query_terms(text), " AND "))
        found = [
            one
            for key, one in all_facts(db).items()
            if plain and (key in by_words or plain in f"{one['text']}\n{one['value']}".lower())
        ]
        found.sort(key=lambda one: (one["ended"] is not None, -(one["said"] or 0), one["id"]))
        return [memory_of(one) for one in found]

    return work


def near(text: str, most: int = NEAR) -> Callable[[Database], list[Memory]]:
    """The facts that hold any of the words, best first: to suggest, never to delete unasked."""

    def work(db: Database) -> list[Memory]:
        facts = all_facts(db)
        keys = _found(db, query_terms(text), " OR ")
        return [memory_of(facts[key]) for key in keys if key in facts][:most]

    return work


def chosen(prefixes: Iterable[str]) -> Callable[[Database], list[Memory]]:
    """Facts by the beginning of their ids. Raises InputError when none or several begin so."""

    def work(db: Database) -> list[Memory]:
        facts, found = all_facts(db), {}
        for prefix in prefixes:
            keys = [key for key in facts if prefix and key.startswith(prefix)]
            keys = [prefix] if prefix in keys else keys
            if not keys:
                raise InputError(f"No fact has the id {prefix!r}; memory show lists them.")
            if len(keys) > 1:
                few = ", ".join(sorted(keys)[:NEAR])
                raise InputError(
                    f"{len(keys)} facts begin with {prefix!r} ({few}); give more of it."
                )
            found[keys[0]] = memory_of(facts[keys[0]])
        return list(found.values())

    return work


def _found(db: Database, words: Sequence[str], joint: str) -> list[str]:
    """Ids of facts by the word search, best first."""
    if not words or not db.table("search_words").exists():
        return []
    rows = db.execute(
        "select t.id from search_words w join search_texts t on t.number = w.rowid "
        "where search_words match ? and t.id like 'fact:%' order by w.rank",
        [joint.join(f'"{word}"' for word in words)],
    )
    return [key.removeprefix("fact:") for (key,) in rows.fetchall()]


def _traces(
    gone: Sequence[Mapping[str, Any]],
    kept: Sequence[Mapping[str, Any]],
    notes: Iterable[str] = (),
) -> Traces:
    """The sentences, and the values that say enough and that no other fact needs."""
    values = {one["value"] for one in gone if one["value"] and telling(one["value"])}
    needed = {value for value in values if _needed(Traces([value]), kept)}
    return Traces([*(one["text"] for one in gone), *(values - needed), *notes])


def _needed(value: Traces, kept: Sequence[Mapping[str, Any]]) -> bool:
    return any(value.in_text(one["text"]) or value.in_text(one["value"] or "") for one in kept)


def _noted(db: Database, places: Collection[Place]) -> list[dict[str, Any]]:
    """What the working memory took down in some turns, in the shape of facts."""
    found = {}
    for session in {session for session, _ in places}:
        first = _begun_with(db, session)
        for _, state in _states(db, session):
            for key, fact in (*state.facts.items(), *state.preference.items()):
                if (session, fact.turn) in places and fact.note not in first:
                    found[session, fact.turn, key, fact.note] = {
                        "session": session, "turn": fact.turn, "key": key,
                        "text": fact.note, "value": fact.value,
                    }  # fmt: skip
    return list(found.values())


def _states(db: Database, session: str) -> Iterator[tuple[int, State]]:
    """The stored states that can be read, each with its turn, oldest first."""
    for turn, text in db.execute(
        "select turn, state from states where session = ? order by version", [session]
    ):
        with suppress(ValueError):
            yield turn, State.from_dict(json.loads(text))


def _begun_with(db: Database, session: str) -> set[str]:
    """The sentences that a session took over from the one before; their turns are of that one."""
    turn, state = next(_states(db, session), (-1, State()))
    return _sentences(state) if turn == 0 else set()


def _notes(db: Database, session: str) -> set[str]:
    """The sentences that a session added to the working memory."""
    found = {note for _, state in _states(db, session) for note in _sentences(state)}
    return found - _begun_with(db, session)


def _sentences(state: State) -> set[str]:
    return {fact.note for fact in (*state.facts.values(), *state.preference.values())}


def _delete_session_rows(db: Database, session: str) -> int:
    """Everything of a session but its own row and the state it began with; deleted states."""
    Rows(db)
    found = db.execute("select id from search_texts where session = ?", [session]).fetchall()
    keys = [key for (key,) in found if not key.startswith("fact:")]
    Rows(db).remove([*keys, f"summary:{session}"])
    for table in ("turns", "jobs", "summaries"):
        db.execute(f"delete from {table} where session = ?", [session])
    deleted = db.execute(
        "delete from states where session = ? and version > (select coalesce((select version "
        "from states where session = ? order by version limit 1), 0)) or "
        "session = ? and turn != 0",
        [session] * 3,
    )
    return int(deleted.rowcount)


def _clean(db: Database, traces: Traces, gone: Collection[str]) -> None:
    scrub.clean_summaries(db, traces)
    scrub.clean_rest(db, traces, gone)
    scrub.clean_search(db, traces)
    scrub.squeeze(db)
