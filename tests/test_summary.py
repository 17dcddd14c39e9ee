"""The summary of a session, kept and found again (V6, V7, V10, D10)."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from sqlite_utils import Database

from assistant.memory.db import migrations
from assistant.memory.rows import Rows
from assistant.memory.summary import keep_summary, last_summary
from assistant.mind.state import State

NOW = 1_796_000_000.0


@pytest.fixture
def db() -> Iterator[Database]:
    database = Database(memory=True)
    migrations.apply(database)
    Rows(database)
    yield database
    database.close()


def converse(db: Database, session: str, at: float, *texts: str, private: bool = False) -> None:
    row = {"id": session, "bank": "alex", "started": at, "touched": at, "private": int(private)}
    db.table("sessions").insert(row)
    for turn, text in enumerate(texts, 1):
        db.table("turns").insert(
            {
                "session": session,
                "turn": turn,
                "at": at + turn,
                "user_text": text,
                "language": "en",
                "reply": "Fine.",
                "heard": "Fine.",
                "state_before": 0,
                "decisions": json.dumps([{"act": "model"}]),
            }
        )


def found(db: Database, word: str) -> list[str]:
    numbers = [number for number, _ in Rows(db).having([word], 5)]
    return [text for text, _ in Rows(db).texts(numbers).values()]


def test_v6_a_summary_opens_the_next_session_even_a_second_later(db: Database) -> None:
    converse(db, "one", NOW, "What is the capital of Japan?")
    converse(db, "two", NOW + 2)
    assert keep_summary("one", NOW + 2)(db) is not None
    opened = last_summary("two")(db)
    assert opened is not None and opened.session == "one" and opened.at == NOW + 1
    assert opened.summary.text == "The user talked about capital of Japan."
    assert opened.summary.topics == ("capital of Japan",)


def test_v6_the_last_summary_is_never_of_the_session_itself_or_a_later_one(db: Database) -> None:
    for number, session in enumerate(("one", "two", "three")):
        converse(db, session, NOW + 100 * number, f"Tell me about Town{number}.")
        keep_summary(session, NOW + 500)(db)
    assert [
        summary.session if (summary := last_summary(one)(db)) else None
        for one in ("one", "two", "three", "", "unknown")
    ] == [None, "one", "two", "three", "three"]


def test_v6_the_summary_is_found_by_its_words_and_follows_the_conversation(db: Database) -> None:
    converse(db, "one", NOW, "Tell me about volcanoes.")
    keep_summary("one", NOW + 9)(db)
    assert found(db, "volcanoes")
    db.execute("update turns set user_text = 'Tell me about glaciers.'")
    keep_summary("one", NOW + 10)(db)
    assert found(db, "glaciers") and not found(db, "volcanoes")
    assert db.table("summaries").count == 1


def test_v6_kept_again_unchanged_it_is_not_written_again(db: Database) -> None:
    converse(db, "one", NOW, "Tell me about volcanoes.")
    keep_summary("one", NOW + 9)(db)
    changes = "select total_changes()"
    before = db.execute(changes).fetchone()[0]
    assert keep_summary("one", NOW + 20)(db) is not None
    assert db.execute(changes).fetchone()[0] == before


def test_v10_nothing_worth_it_leaves_no_row_and_takes_an_old_one_away(db: Database) -> None:
    converse(db, "one", NOW, "Tell me about volcanoes.")
    keep_summary("one", NOW + 9)(db)
    db.execute("delete from turns")
    assert keep_summary("one", NOW + 10)(db) is None
    assert db.table("summaries").count == 0 and not found(db, "volcanoes")


def test_m12_a_private_conversation_has_no_summary(db: Database) -> None:
    converse(db, "one", NOW, "Tell me about volcanoes.", private=True)
    assert keep_summary("one", NOW + 9)(db) is None
    assert keep_summary("nobody", NOW + 9)(db) is None
    assert last_summary()(db) is None


def test_v6_facts_of_the_session_are_in_it_and_those_that_ended_are_not(db: Database) -> None:
    converse(db, "one", NOW, "I am allergic to nuts.")
    base = {"subject": "user", "learned": NOW, "version": 1, "session": "one", "turn": 1}
    texts = {"a": "The user is allergic to nuts.", "b": "The user is allergic to fish."}
    for key, text in texts.items():
        ended = NOW if key == "b" else None
        db.table("facts").insert(
            base | {"id": key, "text": text, "key": key, "norm": key, "ended": ended}
        )
    summary = keep_summary("one", NOW + 9)(db)
    assert summary is not None and summary.facts == (texts["a"],)


def test_d10_a_damaged_state_does_not_cost_the_summary(db: Database) -> None:
    converse(db, "one", NOW, "Tell me about volcanoes.")
    row = {"session": "one", "version": 1, "at": NOW, "turn": 1}
    db.table("states").insert(row | {"state": "{broken"})
    assert keep_summary("one", NOW + 9)(db) is not None


def test_v6_open_tasks_of_the_stored_state_are_follow_ups(db: Database) -> None:
    converse(db, "one", NOW, "Book a room.")
    state = State(version=1, task="book the meeting room", pending=("For which day?",))
    row = {"session": "one", "version": 1, "at": NOW, "turn": 1}
    db.table("states").insert(row | {"state": json.dumps(state.to_dict())})
    summary = keep_summary("one", NOW + 9)(db)
    assert summary is not None and "book the meeting room" in summary.follow_ups[0]
