"""Backups come back as they were; a file that is not one changes nothing; a guest is adopted."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlite_utils import Database

from assistant.errors import InputError
from assistant.memory import store
from assistant.memory.forget import forget_session, matching
from assistant.memory.transfer import Counts, carry, check, export, load
from tests.keeping import NOW, columns, empty_bank, ids, memory, newest, session, tell, where

TEA = memory("The user likes green tea.", "taste tea", "green tea")
PARIS = memory("The user lives in Paris.", "home", "Paris", single=True)
ROME = memory("The user lives in Rome.", "home", "Rome", single=True)
KNOWN = memory("The user drinks things.", "insight", "", origin="insight")


def bank() -> Database:
    db = empty_bank()
    session(db)
    (tea,) = ids(tell(db, "我喜欢 green tea", TEA, turn=1, reply="Noted."))
    tell(db, "I live in Paris", PARIS, turn=2)
    tell(db, "no, in Rome", ROME, replace(KNOWN, sources=(tea,)), turn=3)
    db.execute("update jobs set status = 'queued' where turn = 3")
    db.table("summaries").insert(
        {
            "session": "s1", "at": NOW, "language": "en", "text": "Tea, and Rome.",
            "topics": '["tea"]', "resolved": "[]", "facts": "[]", "follow_ups": '["Rome?"]',
        }
    )  # fmt: skip
    return db


def lines(db: Database) -> list[str]:
    return [json.dumps(row, ensure_ascii=False) for row in export(db, "alex", NOW)]


def put(db: Database, file: list[str], name: str = "alex") -> Counts:
    with db.atomic():
        return load(check(file, "backup.jsonl"), name)(db)


def test_m12_a_backup_comes_back_as_it_was() -> None:
    file = lines(bank())
    other = empty_bank()
    counts = put(other, file)
    assert lines(other) == file
    assert counts.added == {
        "sessions": 1, "turns": 3, "jobs": 1, "states": 3, "summaries": 1, "facts": 4,
    }  # fmt: skip
    assert newest(other).preference["home"].value == "Rome"
    assert store.load_job("s1", 3)(other) is not None, "its note can still be taken"


def test_m12_what_comes_back_can_be_found_and_what_ended_cannot() -> None:
    other = empty_bank()
    put(other, lines(bank()))
    hidden = dict(other.execute("select text, hidden from search_texts").fetchall())
    assert hidden == {
        TEA.text: 0, ROME.text: 0, PARIS.text: 1, KNOWN.text: 0, "Tea, and Rome.": 0,
    }  # fmt: skip
    assert [one.text for one in matching("tea")(other)] == [TEA.text]


def test_m12_twice_is_no_more_than_once() -> None:
    file = lines(bank())
    other = empty_bank()
    put(other, file)
    before = columns(other)
    counts = put(other, file)
    assert not any(counts.added.values()) and sum(counts.known.values()) == len(file) - 1
    assert columns(other) == before


def test_v16_the_same_fact_under_another_id_is_not_doubled() -> None:
    other = empty_bank()
    session(other, "s7")
    (there,) = ids(tell(other, "green tea", TEA, in_session="s7"))
    counts = put(other, lines(bank()))
    assert counts.added["facts"] == 3 and counts.known["facts"] == 1
    assert [one.id for one in matching("green tea")(other)] == [there]
    (sources,) = other.execute("select sources from facts where origin = 'insight'").fetchone()
    assert json.loads(sources) == [there], "the insight is drawn from the one that is there"


def test_c1_a_backup_of_another_person_belongs_to_the_bank_it_is_put_into() -> None:
    other = empty_bank()
    put(other, lines(bank()), "kim")
    assert store.open_session("kim", NOW, 1)(other).id == "s1"


def test_m12_nothing_goes_into_a_private_conversation() -> None:
    db = bank()
    file = lines(db)
    forget_session("s1", NOW)(db)
    counts = put(db, file)
    assert not counts.added["turns"] and not counts.added["states"]
    assert where(db, "green tea", "Rome") == []


def test_m12_secrets_in_a_file_do_not_come_in() -> None:
    file = lines(bank())
    text = "\n".join(file).replace("I live in Paris", "my password is hunter2")
    other = empty_bank()
    put(other, text.split("\n"))
    assert where(other, "hunter2") == [] and where(other, "[password]")


def test_m12_other_writes_do_not_disturb_a_backup() -> None:
    """What the first line promises is what follows."""
    db = bank()
    rows = export(db, "alex", NOW)
    head = next(rows)
    assert db.conn.in_transaction
    assert sum(head["rows"].values()) == len(list(rows))
    assert not db.conn.in_transaction


def changed(number: int, **values: Any) -> Callable[[list[str]], list[str]]:
    def change(file: list[str]) -> list[str]:
        row = json.loads(file[number])
        row["row"] |= values
        return [*file[:number], json.dumps(row), *file[number + 1 :]]

    return change


def without(number: int, key: str) -> Callable[[list[str]], list[str]]:
    def change(file: list[str]) -> list[str]:
        row = json.loads(file[number])
        del row["row"][key]
        return [*file[:number], json.dumps(row), *file[number + 1 :]]

    return change


def head(**values: Any) -> Callable[[list[str]], list[str]]:
    return lambda file: [json.dumps(json.loads(file[0]) | values), *file[1:]]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda file: [], "line 0: the file is empty"),
        (lambda file: ["", " "], "line 2: the file is empty"),
        (lambda file: ["hello"], "line 1: is no JSON object; the file is damaged or was cut"),
        (lambda file: ["[1]"], "line 1: is no JSON object"),
        (lambda file: ["[" * 100_000], "line 1: is no JSON object"),
        (lambda file: file[1:], "line 1: is not the first line of a backup"),
        (head(version=2), "line 1: is of version 2; this program reads version 1"),
        (head(rows=None), 'line 1: "rows" does not say'),
        (lambda file: file[:-1], "line 13: rows of facts are missing; the file was cut off"),
        (lambda file: [*file[:-1], file[-1][:20]], "line 14: is no JSON object; the file is d"),
        (lambda file: [*file, '{"table": "x", "row": {}}'], "line 15: is no row of sessions, t"),
        (lambda file: [*file, '{"table": ["facts"], "row": {}}'], "line 15: is no row of"),
        (lambda file: [*file, '{"table": "facts", "row": 1}'], "line 15: is no row of"),
        (lambda file: [file[0], *file[2:]], "line 2: turns: session 's1' does not stand before"),
        (changed(1, started="x"), "line 2: sessions: 'started' has to be a number, not \"x\""),
        (changed(1, started=float("nan")), "line 2: sessions: 'started' is a number out of range"),
        (changed(1, private=True), "line 2: sessions: 'private' has to be a whole number, not t"),
        (changed(2, turn=2**70), "line 3: turns: 'turn' is a number out of range"),
        (changed(2, turn=1.5), "line 3: turns: 'turn' has to be a whole number, not 1.5"),
        (changed(2, user_text=None), "line 3: turns: 'user_text' is missing"),
        (changed(2, user_text="\ud800"), "line 3: turns: 'user_text' holds characters that"),
        (changed(2, **{"x) --": 1}), "line 3: turns: 'x) --' is no column"),
        (without(2, "session"), "line 3: turns: 'session' is missing"),
        (changed(6, state={"version": -1}), "line 7: states: damaged (state.version is a whole"),
        (changed(6, state="{"), "line 7: states: damaged"),
        (changed(10, text=["a"]), "line 11: facts: 'text' has to be text, not"),
        (changed(10, text=" "), "line 11: facts: a fact without id or words"),
        (changed(10, sources="1"), "line 11: facts: 'sources' has to be a list"),
    ],
)
def test_a_file_that_is_wrong_says_where_and_changes_nothing(
    change: Callable[[list[str]], list[str]], fault: str
) -> None:
    db = empty_bank()
    before = columns(db)
    with pytest.raises(InputError) as error:
        put(db, change(lines(bank())))
    assert str(error.value).startswith(f"backup.jsonl, {fault}")
    assert str(error.value).endswith(".") and "\n" not in str(error.value)
    assert columns(db) == before


def test_a_bank_that_refuses_half_way_is_left_as_it_was() -> None:
    db = empty_bank()
    db.execute("create trigger full before insert on facts begin select raise(abort, 'full'); end")
    before = columns(db)
    with pytest.raises(sqlite3.Error, match="full"):
        put(db, lines(bank()))
    assert columns(db) == before


def test_c1_what_a_guest_told_becomes_the_persons() -> None:
    guest, own = bank(), empty_bank()
    session(own, "mine")
    (paris,) = ids(tell(own, "I live in Paris", PARIS, in_session="mine", at=NOW - 9))
    (tea,) = ids(tell(own, "green tea", TEA, in_session="mine", turn=2, at=NOW - 8))
    with own.atomic():
        counts = carry(guest, "alex", NOW)(own)
    assert counts.added["turns"] == 3 and counts.added["states"] == 3
    assert counts.added["facts"] == 2
    active = {row["value"]: row for row in own.query("select * from facts where ended is null")}
    assert set(active) == {"green tea", "Rome", ""} and active["green tea"]["id"] == tea
    assert own.table("facts").get(paris)["ended"] == NOW
    assert newest(own, "s1") == newest(guest, "s1")
    assert store.load_job("s1", 3)(own) is not None
    assert own.table("sessions").get("s1")["bank"] == "alex"


def test_c3_adopting_twice_does_no_more_than_once() -> None:
    guest, own = bank(), empty_bank()
    carry(guest, "alex", NOW)(own)
    before = columns(own)
    again = carry(guest, "alex", NOW + 1)(own)
    assert not any(again.added.values())
    assert columns(own) == before
