"""The table of facts: ADD, UPDATE, SUPERSEDE or NOTHING, whoever writes and in whatever order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlite_utils import Database

from assistant.config import MindConfig
from assistant.errors import AssistantError
from assistant.memory.db import connect, migrations
from assistant.memory.facts import (
    Op,
    edit,
    find_key,
    get,
    load_memories,
    memory_of,
    norm,
    remember,
    resolve,
    retention,
    row_of,
    touch,
)
from assistant.mind.described import describe
from assistant.mind.memories import Memory
from assistant.mind.merge import merge
from assistant.mind.notes import read_notes
from assistant.mind.remember import memories_of
from assistant.mind.rivals import compatible
from assistant.mind.state import State
from assistant.workers import Worker

DAY = date(2026, 11, 30)
NOW = 1_796_000_000.0


@pytest.fixture
def db() -> Iterator[Database]:
    database = Database(memory=True)
    migrations.apply(database)
    yield database
    database.close()


def memory(text: str, *, said: float = NOW, session: str = "s1", turn: int = 1) -> Memory:
    """As the rules describe a sentence."""
    found = describe(text)
    return Memory(
        text,
        found.subject,
        found.key,
        single=found.single,
        importance=found.importance,
        said=said,
        session=session,
        turn=turn,
    )


def tell(db: Database, *texts: str, session: str = "s1") -> list[Op]:
    """The last turn's ops of a person who says these sentences, one a turn."""
    ops: list[Op] = []
    for turn, text in enumerate(texts, 1):
        said = NOW + turn
        ops = remember([memory(text, said=said, session=session, turn=turn)], said)(db)
    return ops


def active(db: Database) -> list[str]:
    return [one.text for one in load_memories()(db)]


def hidden(db: Database) -> dict[str, int]:
    return {id: bool(gone) for id, gone in db.execute("select id, hidden from search_texts")}


def test_what_is_new_is_added_and_can_be_found(db: Database) -> None:
    (op,) = tell(db, "The user likes tea.")
    assert op.kind == "add"
    assert active(db) == ["The user likes tea."]
    assert len(op.memory.id) == 12 and op.memory.version == 1
    assert get(op.memory.id)(db) == op.memory
    assert hidden(db) == {f"fact:{op.memory.id}": 0}
    assert find_key("user", op.memory.key)(db) == [op.memory]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The user likes tea.", "The user really loves tea."),
        ("The user likes tea.", "The user is fond of tea."),
        ("The user hates olives.", "The user can't stand olives."),
        ("The user does not like olives.", "The user dislikes olives."),
        ("The user's mum lives in Rome.", "The user's mother lives in Rome."),
        ("The user has two kids.", "The user has got two children."),
        ("The user lives in Paris.", "The user moved to Paris."),
        ("The user lives in Paris.", "The user has been living in Paris for ten years."),
        ("The user has asthma.", "The user suffers from asthma."),
        ("The user is allergic to nuts.", "The user has a nut allergy."),
        ("The user is thirty four years old.", "The user is 34 years old."),
        ("用户喜欢喝绿茶。", "用户很喜欢绿茶。"),
        ("用户讨厌香菜。", "用户不喜欢香菜。"),
        ("用户住在南京。", "用户现在住在南京。"),
        ("用户的妈妈住在罗马。", "用户的母亲住在罗马。"),
        ("用户有糖尿病。", "用户也有糖尿病。"),
    ],
)
def test_duplicates_are_recognised_across_wordings(db: Database, first: str, second: str) -> None:
    (op,) = tell(db, first, second)
    assert op.kind == "nothing"
    assert active(db) == [first]
    (kept,) = load_memories()(db)
    assert (kept.uses, kept.turn, kept.said) == (1, 2, NOW + 2)
    assert kept.strength == pytest.approx(7 * 1.5)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The user likes tea.", "The user likes coffee."),
        ("The user prefers tea to coffee.", "The user prefers coffee to tea."),
        ("The user is allergic to nuts.", "The user's sister is allergic to nuts."),
        ("The user is allergic to nuts.", "The user is allergic to eggs."),
        ("The user has a dog.", "The user has a cat."),
        ("The user flies to Rome on 2026-12-01.", "The user flies to Rome on 2027-02-01."),
        ("The user's sister Anna likes tea.", "The user's sister Eva does not like tea."),
        ("The user lives in Paris.", "The user's brother lives in Oslo."),
        ("The user works as a nurse.", "The user's favourite colour is green."),
        ("The user's sister is called Anna.", "The user's other sister is called Eva."),
        ("用户喜欢绿茶。", "用户喜欢咖啡。"),
        ("用户对花生过敏。", "用户的妹妹对花生过敏。"),
    ],
)
def test_what_differs_is_kept_beside(db: Database, first: str, second: str) -> None:
    (op,) = tell(db, first, second)
    assert op.kind == "add"
    assert active(db) == [first, second]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The user lives in Rome.", "The user lives in Paris."),
        ("The user is called Alex.", "The user is called Sam."),
        ("The user likes coffee.", "The user does not like coffee any more."),
        ("The user does not eat fish.", "The user eats fish."),
        ("The user's favourite colour is green.", "The user's favourite colour is blue."),
        ("The user works at Siemens.", "The user works for Bosch."),
        ("The user has a car.", "The user does not have a car."),
        ("The user's sister lives in Rome.", "The user's sister Anna lives in Oslo."),
        ("The user is allergic to nuts.", "The user is not allergic to nuts."),
        ("用户住在南京。", "用户现在住在苏州。"),
        ("用户喜欢咖啡。", "用户不喜欢咖啡了。"),
        ("用户有车。", "用户没有车。"),
    ],
)
def test_v16_superseded_fact_is_kept_with_its_end(db: Database, first: str, second: str) -> None:
    (op,) = tell(db, first, second)
    assert op.kind == "supersede" and op.before is not None
    assert active(db) == [second]
    (old,) = [one for one in load_memories(active=False)(db) if one.ended is not None]
    assert (old.text, old.ended, old.why_ended) == (first, NOW + 2, "superseded")
    assert old.superseded_by == op.memory.id
    assert op.before == old
    assert hidden(db) == {f"fact:{old.id}": 1, f"fact:{op.memory.id}": 0}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The user has a dog.", "The user has a dog called Rex."),
        ("The user lives in Leeds.", "The user lives in Leeds with the user's boyfriend Marcus."),
        ("The user is called Alex.", "The user is called Alex Smith."),
        ("用户养了一条狗。", "用户养了一条棕色的狗。"),
    ],
)
def test_more_detail_updates_the_row_and_keeps_the_old_text(
    db: Database, first: str, second: str
) -> None:
    (op,) = tell(db, first, second)
    assert op.kind == "update" and op.before is not None
    assert active(db) == [second]
    assert (op.memory.id, op.memory.version) == (op.before.id, 2)
    (change,) = db.query("select op, fact, before from changes")
    assert change["op"] == "update" and first in change["before"]
    texts = [text for (text,) in db.execute("select text from search_texts")]
    assert texts == [second]


def test_another_hour_of_the_same_event_updates_it(db: Database) -> None:
    first = replace(memory("The user sees the dentist on 2026-12-01 at ten."), day="2026-12-01")
    second = replace(
        memory("The user sees the dentist on 2026-12-01 at eleven.", turn=2), day="2026-12-01"
    )
    remember([first], NOW)(db)
    (op,) = remember([replace(second, said=NOW + 9)], NOW + 9)(db)
    assert op.kind == "update"
    assert active(db) == ["The user sees the dentist on 2026-12-01 at eleven."]


def test_the_same_turn_taken_again_changes_nothing(db: Database) -> None:
    """A crash between the note and its job's end: it is noted once more."""
    told = [memory("The user likes tea."), memory("The user lives in Rome.")]
    remember(told, NOW)(db)
    before = list(db.query("select * from facts order by id"))
    for op in remember(told, NOW + 100)(db):
        assert op.kind == "nothing"
    assert list(db.query("select * from facts order by id")) == before


def test_a_turn_taken_again_does_not_bring_back_what_has_ended(db: Database) -> None:
    tell(db, "The user lives in Rome.", "The user lives in Paris.")
    (op,) = remember([memory("The user lives in Rome.", turn=1, said=NOW + 1)], NOW + 50)(db)
    assert op.kind == "nothing" and op.memory.ended is not None
    assert active(db) == ["The user lives in Paris."]
    assert len(load_memories(active=False)(db)) == 2


def test_what_was_said_earlier_does_not_end_what_was_said_later(db: Database) -> None:
    """Two writes out of order, of one session and of two."""
    remember([memory("The user lives in Paris.", turn=5, said=NOW + 5)], NOW + 6)(db)
    (late,) = remember([memory("The user lives in Rome.", turn=3, said=NOW + 3)], NOW + 7)(db)
    other = memory("The user lives in Bonn.", session="s0", turn=9, said=NOW - 99)
    (older,) = remember([other], NOW + 8)(db)
    assert (late.kind, older.kind) == ("nothing", "nothing")
    assert late.memory.text == "The user lives in Paris."
    assert active(db) == ["The user lives in Paris."]
    ended = {one.text: one.superseded_by for one in load_memories(active=False)(db) if one.ended}
    assert set(ended) == {"The user lives in Rome.", "The user lives in Bonn."}
    assert set(ended.values()) == {late.memory.id}


def test_going_back_to_an_old_value_is_a_new_fact(db: Database) -> None:
    (op,) = tell(
        db, "The user lives in Rome.", "The user lives in Paris.", "The user lives in Rome."
    )
    assert op.kind == "supersede"
    assert active(db) == ["The user lives in Rome."]
    assert len(load_memories(active=False)(db)) == 3


def test_ten_concurrent_writers_make_no_duplicate(tmp_path: Path) -> None:
    path = tmp_path / "bank.db"
    connect(path).close()
    texts = [f"The user likes tea number {n}." for n in range(1, 9)] + ["The user lives in Rome."]
    ops: list[str] = []

    def write(writer: int) -> None:
        db = connect(path)
        db.conn.execute("PRAGMA busy_timeout = 20000")
        for turn, text in enumerate(texts[writer % 3 :] + texts[: writer % 3], 1):
            db.execute("begin immediate")
            told = memory(text, session=f"w{writer}", turn=turn, said=NOW + writer)
            ops.extend(op.kind for op in remember([told], NOW)(db))
            db.execute("commit")
        db.close()

    workers = [Worker(f"writer {n}", partial(write, n)).start() for n in range(10)]
    assert all(worker.join(60) for worker in workers)
    db = connect(path)
    assert sorted(active(db)) == sorted(texts)
    assert len(ops) == 10 * len(texts) and ops.count("add") == len(texts)
    rows = db.execute("select count(*) from search_texts").fetchone()[0]
    assert rows == len(texts)
    db.close()


def test_a_faster_writer_is_noticed_by_the_unique_index(db: Database) -> None:
    """The same active sentence cannot stand there twice, whatever code does."""
    tell(db, "The user likes tea.")
    (row,) = db.query("select * from facts")
    with pytest.raises(Exception, match=r"(?i)unique"):
        db.table("facts").insert({**row, "id": "0" * 12})


def test_use_strengthens_up_to_a_cap(db: Database) -> None:
    (op,) = tell(db, "The user likes tea.")
    for n in range(20):
        touch([op.memory.id, op.memory.id, "unknown"], NOW + n)(db)
    (kept,) = load_memories()(db)
    assert (kept.uses, kept.strength, kept.used) == (20, 365.0, NOW + 19)


def test_retention_is_the_corrected_curve() -> None:
    told = Memory("t", "user", "k", said=NOW, learned=NOW, strength=7.0)
    assert retention(told, NOW) == 1.0
    assert retention(told, NOW + 35 * 86400) == pytest.approx(math.exp(-1))
    strong = replace(told, strength=14.0)
    assert retention(strong, NOW + 35 * 86400) > retention(told, NOW + 35 * 86400)


def test_an_edited_memory_is_found_by_its_new_words(db: Database) -> None:
    (op,) = tell(db, "The user lives in Rome.")
    new = edit(op.memory.id[:6], "The user lives in Turin.", NOW + 60)(db)
    assert (new.origin, new.version, new.id) == ("edited", 2, op.memory.id)
    assert new.norm == norm(new) != op.memory.norm
    assert [text for (text,) in db.execute("select text from search_texts")] == [new.text]
    (op,) = remember([memory("The user moved to Turin.", turn=9, said=NOW + 99)], NOW + 99)(db)
    assert op.kind == "nothing"


def test_an_edit_that_cannot_be_is_one_clear_sentence(db: Database) -> None:
    (first,) = tell(db, "The user likes tea.")
    (second,) = tell(db, "The user likes jam.", session="s2")
    with pytest.raises(AssistantError, match="no memory 'ffff'"):
        edit("ffff", "x", NOW)(db)
    with pytest.raises(AssistantError, match="empty"):
        edit(first.memory.id, "  ", NOW)(db)
    with pytest.raises(AssistantError, match="known already"):
        edit(second.memory.id, "The user loves tea.", NOW)(db)


def test_a_prefix_is_an_id_while_it_is_unique(db: Database) -> None:
    for id in ("aaaa11112222", "aaaa33334444", "bbbb11112222"):
        row = row_of(replace(memory(f"The user likes {id}."), id=id, norm=id, learned=NOW))
        db.table("facts").insert(row)
    assert resolve("b")(db) == "bbbb11112222"
    assert resolve("AAAA1")(db) == "aaaa11112222"
    for wrong, why in (("aaaa", "More than one"), ("c", "no memory"), ("", "no memory")):
        with pytest.raises(AssistantError, match=why):
            resolve(wrong)(db)


def test_a_row_and_a_memory_are_the_same_thing(db: Database) -> None:
    told = replace(
        memory("The user likes tea."), id="a" * 12, norm="n", learned=NOW, version=3, pinned=True,
        sources=("x", "y"), ended=NOW, why_ended="merged", superseded_by="b" * 12, day="2026-12-01",
    )  # fmt: skip
    db.table("facts").insert(row_of(told))
    assert [memory_of(row) for row in db.query("select * from facts")] == [told]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("sister", "sister anna", True),
        ("anna", "sister anna", True),
        ("sister anna", "sister eva", False),
        ("sister", "other sister", False),
        ("user", "sister", False),
        ("dog rex", "cat rex", False),
        ("妹妹", "妹妹", True),
    ],
)
def test_two_subjects_can_be_one_person(one: str, other: str, same: bool) -> None:
    assert compatible(one, other) is compatible(other, one) is same


SAID = st.lists(
    st.sampled_from(
        (
            "I live in Rome", "I live in Paris", "I like tea", "I don't like tea", "I love tea",
            "My sister lives in Oslo", "I'm allergic to nuts", "I'm called Alex",
            "我住在南京", "我喜欢茶",
            "I have a dentist appointment on Friday at ten", "No, make it eleven",
        )
    ),
    max_size=12,
)  # fmt: skip


@given(SAID)
def test_whatever_is_said_nothing_is_lost_or_twice(said: list[str]) -> None:
    """Every ended fact names what followed it; no two active ones mean the same; replay is idle."""
    db = Database(memory=True)
    migrations.apply(db)
    state, told = State(), []
    for turn, words in enumerate(said, 1):
        update = read_notes("", words, "en", turn, state)
        found = memories_of(update, state, words, "en", DAY, session="s", turn=turn)
        told.append([replace(one, said=NOW + turn) for one in found])
        state = merge(state, update, MindConfig())
        remember(told[-1], NOW + turn)(db)
    every = load_memories(active=False)(db)
    ids = {one.id for one in every}
    assert all(one.superseded_by in ids for one in every if one.ended is not None)
    norms = [one.norm for one in every if one.ended is None]
    assert len(norms) == len(set(norms))
    shown = {id for id, gone in hidden(db).items() if not gone} if every else set()
    assert shown == {f"fact:{one.id}" for one in every if one.ended is None}
    before = list(db.query("select * from facts order by id"))
    for memories in told:
        remember(memories, NOW + 100)(db)
    assert list(db.query("select * from facts order by id")) == before
    db.close()
