"""What is forgotten is gone from every table, and nothing else with it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sqlite_utils import Database

from assistant.errors import InputError, StaleWrite
from assistant.memory import db as tables
from assistant.memory import store
from assistant.memory.facts import norm, row_of
from assistant.memory.forget import (
    chosen,
    forget,
    forget_all,
    forget_session,
    matching,
    near,
    take_back,
)
from assistant.memory.retention import checkpoint
from assistant.memory.rows import Row, Rows
from assistant.memory.traces import MARK, Traces, telling
from assistant.mind.dialogue import Dialogue, Done, Filled, Task
from assistant.mind.memories import Memory
from assistant.mind.state import Fact, State
from tests.keeping import NOW, columns, empty_bank, ids, memory, newest, session, tell, where

PEANUTS = memory("The user is allergic to peanuts.", "allergy", "peanuts")
TEA = memory("The user likes green tea.", "taste tea", "green tea")
PARIS = memory("The user lives in Paris.", "home", "Paris", single=True)
ROME = memory("The user lives in Rome.", "home", "Rome", single=True)


def test_m12_a_forgotten_fact_stands_in_no_table_any_more() -> None:
    db = empty_bank()
    session(db)
    tell(db, "I like green tea", TEA, turn=1)
    (gone,) = ids(tell(db, "I am allergic to peanuts", PEANUTS, turn=2, reply="No peanuts then."))
    tell(db, "Can I eat this? Peanuts are in it.", turn=3, reply="No, it holds peanuts.")
    state = newest(db)
    dialogue = Dialogue(
        task=Task("shop", "order", {"item": Filled("peanuts", "some peanuts", 3)}),
        done=(Done(Task("shop", "order", {"item": Filled("tea", "tea", 1)}), "ok"),),
        trail=("T1:shop.order -> tea",),
    )
    after = replace(
        state, version=state.version + 1, dialogue=dialogue, steps=("bought peanuts", "paid"),
        history_summary="It rained. The user must not eat peanuts. Tea is fine.",
    )  # fmt: skip
    store.keep_state("s1", 3, state.version, after.to_dict(), NOW)(db)
    db.table("summaries").insert(
        {
            "session": "s1", "at": NOW, "language": "en", "text": "Tea was liked. No peanuts!",
            "topics": json.dumps(["tea", "peanuts"]), "resolved": "[]", "facts": "[]",
            "follow_ups": "[]",
        }
    )  # fmt: skip
    before = json.dumps({"text": PEANUTS.text})
    db.table("changes").insert({"run": 1, "at": NOW, "op": "merge", "fact": "x", "before": before})
    db.table("meta").insert({"key": "last", "value": "peanuts"})
    db.execute("update jobs set error = 'cannot note: peanuts' where turn = 3")
    assert len(where(db, "peanut")) > 10

    result = forget([gone], NOW + 1)(db)

    assert where(db, "peanut", "allergic") == []
    assert result.facts == (gone,)
    assert result.turns == (("s1", 2), ("s1", 3))
    assert result.states >= 2
    kept = newest(db)
    assert kept.version == after.version + 1
    assert list(kept.preference) == ["taste tea"]
    assert kept.history_summary == "It rained. Tea is fine."
    assert kept.steps == ("paid",)
    assert kept.dialogue.task is not None and not kept.dialogue.task.slots
    assert kept.dialogue.done == dialogue.done and kept.dialogue.trail == dialogue.trail
    assert db.table("summaries").get("s1")["text"] == "Tea was liked."
    assert json.loads(db.table("summaries").get("s1")["topics"]) == ["tea"]


def test_m12_the_turn_keeps_its_number_and_loses_its_words() -> None:
    db = empty_bank()
    session(db)
    (gone,) = ids(tell(db, "I am allergic to peanuts", PEANUTS, turn=1, reply="I see."))
    tell(db, "no peanuts in my soup please", turn=2, reply="Soup it is.")
    db.execute("update jobs set status = 'queued'")
    forget([gone], NOW)(db)
    rows = store.load_turns("s1", 6)(db)
    assert [row["turn"] for row in rows] == [1, 2]
    assert (rows[0]["user_text"], rows[0]["raw"], rows[0]["reply"], rows[0]["heard"]) == ("",) * 4
    assert json.loads(rows[0]["decisions"]) == [{"act": "model", "intent": ""}]
    assert rows[1]["user_text"] == f"no {MARK} in my soup please"
    assert rows[1]["heard"] == "Soup it is."
    assert store.load_job("s1", 1)(db) is None, "nothing is noted from empty words"
    assert store.load_job("s1", 2)(db) is not None


def test_m12_a_file_holds_no_trace_after_the_log_is_folded_in(tmp_path: Path) -> None:
    path = tmp_path / "plain.db"
    db = tables.connect(path)
    Rows(db)
    session(db)
    (gone,) = ids(tell(db, "I am allergic to peanuts", PEANUTS))
    with db.atomic():
        tell(db, "tea please", TEA, turn=2)
    assert checkpoint(db)
    assert b"peanuts" in path.read_bytes()
    with db.atomic():
        forget([gone], NOW)(db)
    assert checkpoint(db)
    left = b"".join(one.read_bytes() for one in tmp_path.iterdir())
    assert b"peanut" not in left and b"green tea" in left
    db.close()


def test_m12_a_fact_said_in_chinese_goes_as_well() -> None:
    db = empty_bank()
    session(db)
    nuts = Memory("用户对花生过敏。", "user", "allergy", "花生", "zh")
    tea = Memory("用户喜欢绿茶。", "user", "taste", "绿茶", "zh")
    (gone,) = ids(tell(db, "我对花生过敏", nuts, turn=1))
    tell(db, "我喜欢绿茶，别放花生", tea, turn=2)
    forget([gone], NOW)(db)
    assert where(db, "花生") == []
    assert newest(db).preference["taste"].note == "用户喜欢绿茶。"
    assert store.load_turns("s1", 1)(db)[0]["user_text"] == f"我喜欢绿茶，别放{MARK}"


def test_m12_a_value_that_another_fact_needs_stays_with_that_one() -> None:
    db = empty_bank()
    session(db)
    sister = Memory("Sister Anna is visiting on 2026-12-04.", "sister anna", "visit", "Anna")
    nuts = Memory("Sister Anna is allergic to nuts.", "sister anna", "allergy", "nuts")
    kept, gone = ids(tell(db, "Anna visits on Friday, she is allergic to nuts", sister, nuts))
    tell(db, "I love Anna", turn=2)
    forget([gone], NOW)(db)
    assert where(db, "nuts") == []
    assert [one.id for one in matching("Anna")(db)] == [kept]
    assert store.load_turns("s1", 1)(db)[0]["user_text"] == "I love Anna"


def test_m12_a_short_value_goes_where_it_was_said_and_nowhere_else() -> None:
    db = empty_bank()
    session(db)
    (gone,) = ids(tell(db, "lunch at ten", memory("The user has lunch at ten.", "lunch", "ten")))
    tell(db, "ten people often attend", turn=2)
    forget([gone], NOW)(db)
    assert where(db, "lunch") == []
    assert store.load_turns("s1", 1)(db)[0]["user_text"] == "ten people often attend"
    assert not newest(db).preference


def test_v16_what_a_forgotten_fact_superseded_goes_with_it() -> None:
    db = empty_bank()
    session(db)
    (paris,) = ids(tell(db, "I live in Paris", PARIS, turn=1))
    (rome,) = ids(tell(db, "I live in Rome", ROME, turn=2))
    assert set(forget([rome], NOW)(db).facts) == {paris, rome}
    assert where(db, "Paris", "Rome") == []


def test_v16_forgetting_what_ended_leaves_what_is_believed() -> None:
    db = empty_bank()
    session(db)
    (paris,) = ids(tell(db, "I live in Paris", PARIS, turn=1))
    (rome,) = ids(tell(db, "I live in Rome", ROME, turn=2))
    assert forget([paris], NOW)(db).facts == (paris,)
    assert where(db, "Paris") == []
    assert newest(db).preference["home"].value == "Rome"
    assert [one.id for one in matching("Rome")(db)] == [rome]


def test_v12_an_insight_goes_with_what_it_was_drawn_from() -> None:
    db = empty_bank()
    session(db)
    (tea,) = ids(tell(db, "I like green tea", TEA))
    drawn = memory("The user drinks warm things.", "insight", "", origin="insight", sources=(tea,))
    again = memory("The user feels cold.", "guess", "")
    (first,) = ids(tell(db, "so", drawn, turn=2))
    (second,) = ids(tell(db, "so", replace(again, sources=(first,)), turn=3))
    assert set(forget([tea], NOW)(db).facts) == {tea, first, second}


def test_m12_a_turn_is_forgotten_before_anything_was_learned_from_it() -> None:
    db = empty_bank()
    session(db)
    tell(db, "I like green tea", TEA, turn=1)
    state = newest(db)
    notes = {**state.facts, "allergy": Fact("peanuts", "The user cannot eat peanuts.", "en", 2)}
    tell(db, "peanuts make me ill", turn=2)
    store.keep_state("s1", 2, 2, replace(newest(db), version=3, facts=notes).to_dict(), NOW)(db)
    result = forget([], NOW, turns=[("s1", 2), ("s1", 77)])(db)
    assert result.turns == (("s1", 2),) and not result.facts
    assert where(db, "peanuts") == []
    assert list(newest(db).preference) == ["taste tea"]


def test_m12_what_a_session_began_with_is_not_of_its_turns() -> None:
    """A taken-over note bears the number of a turn of the session before."""
    db = empty_bank()
    session(db, "s2")
    carried = State(version=1, preference={"name": Fact("Alex", "The user is Alex.", "en", 2)})
    store.begin_state("s2", carried.to_dict(), NOW)(db)
    tell(db, "hm", turn=1, in_session="s2")
    tell(db, "I like green tea", TEA, turn=2, in_session="s2")
    forget([], NOW, turns=[("s2", 2)])(db)
    assert list(newest(db, "s2").preference) == ["name"]


def test_m12_unknown_ids_do_nothing() -> None:
    db = empty_bank()
    session(db)
    tell(db, "I like green tea", TEA)
    before = columns(db)
    assert forget(["nothing"], NOW)(db).facts == ()
    assert columns(db) == before


def test_m12_a_damaged_state_that_holds_the_words_gives_way_to_an_empty_one() -> None:
    db = empty_bank()
    session(db)
    (gone,) = ids(tell(db, "I am allergic to peanuts", PEANUTS))
    bad = {"session": "s1", "version": 5, "at": NOW, "turn": 1, "state": '{"peanuts'}
    db.table("states").insert(bad)
    forget([gone], NOW)(db)
    assert where(db, "peanuts") == []
    assert newest(db) == State(version=6)


def test_m11_a_running_assistant_notices_that_its_state_is_old() -> None:
    db = empty_bank()
    session(db)
    (gone,) = ids(tell(db, "I am allergic to peanuts", PEANUTS))
    old = newest(db)
    forget([gone], NOW)(db)
    with pytest.raises(StaleWrite):
        store.keep_state("s1", 2, old.version, {**old.to_dict(), "version": 9}, NOW)(db)


def test_m12_a_private_conversation_leaves_its_row_and_nothing_else() -> None:
    db = empty_bank()
    session(db, "s1", NOW)
    (paris,) = ids(tell(db, "I live in Paris", PARIS, at=NOW))
    session(db, "s2", NOW + 100)
    begun = replace(newest(db), version=1)
    store.begin_state("s2", begun.to_dict(), NOW + 100)(db)
    tell(db, "I live in Rome", ROME, in_session="s2", turn=1, at=NOW + 101)
    tell(db, "no peanuts", PEANUTS, in_session="s2", turn=2, at=NOW + 102)
    summed = {"session": "s2", "at": NOW, "text": "Peanuts and Rome."}
    db.table("summaries").insert(summed)
    Rows(db).write(Row("summary:s2", "Peanuts and Rome.", NOW))

    result = forget_session("s2", NOW + 200)(db)

    assert result.revived == (paris,) and len(result.facts) == 2
    assert result.turns == (("s2", 1), ("s2", 2))
    assert where(db, "Rome", "peanuts") == []
    assert [one.id for one in matching("Paris")(db) if one.ended is None] == [paris]
    assert db.table("sessions").get("s2")["private"] == 1
    assert db.execute("select count(*) from jobs where session = 's2'").fetchone()[0] == 0
    assert newest(db, "s2") == begun, "what was known before it is not part of it"
    assert not db.execute("select hidden from search_texts where id like 'fact:%'").fetchone()[0]


def test_m12_a_later_conversation_loses_what_it_took_over_from_a_private_one() -> None:
    db = empty_bank()
    session(db, "s1")
    tell(db, "no peanuts", PEANUTS)
    session(db, "s2", NOW + 100)
    store.begin_state("s2", replace(newest(db), version=1).to_dict(), NOW + 100)(db)
    forget_session("s1", NOW + 200)(db)
    assert where(db, "peanuts") == []


def test_m12_what_was_known_before_and_only_said_again_stays() -> None:
    db = empty_bank()
    session(db, "s2", NOW + 100)
    tell(db, "green tea again", in_session="s2", at=NOW + 101)
    known = replace(TEA, session="s2", turn=1)
    (op,) = tell(db, "tea", known, in_session="s2", turn=2, at=NOW + 102)
    db.execute("update facts set learned = ?, said = ?", [NOW, NOW + 102])
    assert forget_session("s2", NOW + 200)(db).facts == ()
    assert [one.id for one in matching("green tea")(db)] == [op.memory.id]


def test_v16_a_chain_is_mended_when_its_middle_is_forgotten() -> None:
    db = empty_bank()
    for number, one in enumerate((PARIS, ROME, memory("The user lives in Oslo.", "home", "Oslo"))):
        session(db, f"s{number}", NOW + 100 * number)
        said = replace(one, single=True)
        tell(db, one.text, said, in_session=f"s{number}", at=NOW + 100 * number + 1)
    forget_session("s1", NOW + 500)(db)
    rows = {row["value"]: row for row in db.query("select * from facts")}
    assert set(rows) == {"Paris", "Oslo"}
    assert rows["Paris"]["superseded_by"] == rows["Oslo"]["id"]
    assert rows["Paris"]["ended"] is not None


def test_m12_an_unknown_conversation_is_said_so() -> None:
    with pytest.raises(InputError, match="no conversation 'nowhere'"):
        forget_session("nowhere", NOW)(empty_bank())


def test_m10_taking_a_turn_back_makes_what_it_ended_true_again() -> None:
    db = empty_bank()
    session(db)
    (paris,) = ids(tell(db, "I live in Paris", PARIS, turn=1))
    (rome,) = ids(tell(db, "I live in Rome", ROME, turn=2, at=NOW + 5))
    result = take_back("s1", 2)(db)
    assert result.facts == (rome,) and result.revived == (paris,)
    row = db.table("facts").get(paris)
    assert row["ended"] is None and not row["superseded_by"] and row["version"] == 3
    assert take_back("s1", 2)(db).facts == ()


def test_m10_taking_back_leaves_what_was_only_repeated() -> None:
    db = empty_bank()
    session(db)
    (tea,) = ids(tell(db, "I like green tea", TEA, turn=3))
    db.execute("update facts set learned = ?, said = ?", [NOW - 100, NOW])
    assert take_back("s1", 3)(db).facts == ()
    assert db.table("facts").get(tea)


LONG = memory("The user likes green tea with honey.", "taste tea", "green tea with honey")


def retold(db: Database, at: float = NOW + 50) -> str:
    """The fact about tea, then told in more detail in turn 2."""
    (tea,) = ids(tell(db, "I like green tea", TEA, turn=1))
    before = json.dumps(db.table("facts").get(tea))
    tell(db, "with honey of course", turn=2, at=at)
    change = {"run": 0, "at": at, "op": "update", "fact": tea, "before": before}
    db.table("changes").insert(change)
    richer = replace(LONG, id=tea, session="s1", turn=2, learned=NOW, said=at, version=2)
    db.table("facts").update(tea, {**row_of(richer), "norm": norm(richer)})
    Rows(db).write(Row(f"fact:{tea}", LONG.text, at))
    return tea


def test_m10_what_a_turn_told_more_of_is_as_it_was() -> None:
    db = empty_bank()
    session(db)
    tea = retold(db)
    result = take_back("s1", 2)(db)
    assert result.facts == () and result.revived == (tea,)
    row = db.table("facts").get(tea)
    assert (row["text"], row["turn"], row["version"]) == (TEA.text, 1, 3)
    assert db.execute("select count(*) from changes").fetchone() == (0,)
    assert [one.text for one in matching("green tea")(db)] == [TEA.text]
    assert take_back("s1", 2)(db).revived == ()


def test_m12_what_a_fact_was_before_is_forgotten_with_it() -> None:
    db = empty_bank()
    session(db)
    tea = retold(db)
    forget([tea], NOW + 60)(db)
    assert where(db, "tea", "honey") == []


def test_m12_a_private_conversation_does_not_take_along_what_was_known_before() -> None:
    db = empty_bank()
    session(db, "s1", NOW + 40)
    tea = retold(db)
    result = forget_session("s1", NOW + 60)(db)
    assert result.revived == (tea,)
    assert where(db, "honey") == []
    assert db.table("facts").get(tea)["text"] == TEA.text


def test_m10_what_is_believed_again_is_not_there_twice() -> None:
    db = empty_bank()
    session(db)
    (old,) = ids(tell(db, "I live in Paris", PARIS, turn=1))
    tell(db, "I live in Rome", ROME, turn=2)
    (same,) = ids(tell(db, "Paris, I said", replace(PARIS, single=False), turn=3))
    take_back("s1", 2)(db)
    assert db.table("facts").get(old)["superseded_by"] == same
    assert db.execute("select count(*) from facts where ended is null").fetchone()[0] == 1


def test_c8_forget_everything_empties_every_table() -> None:
    db = empty_bank()
    session(db)
    tell(db, "I like green tea", TEA)
    forget_all()(db)
    assert where(db, "tea", "s1") == []
    session(db, "s9")
    assert tell(db, "I like green tea", TEA, in_session="s9")


def test_facts_are_found_by_words_or_part_of_them() -> None:
    db = empty_bank()
    session(db)
    (tea,) = ids(tell(db, "I like green tea", TEA, turn=1))
    (nuts,) = ids(tell(db, "no peanuts", PEANUTS, turn=2))
    assert [one.id for one in matching("that I am allergic to peanuts")(db)] == [nuts]
    assert [one.id for one in matching("GREEN  tea")(db)] == [tea]
    assert [one.id for one in matching("anut")(db)] == [nuts]
    assert matching("green peanuts")(db) == [], "every word has to be there"
    assert {one.id for one in near("green peanuts")(db)} == {tea, nuts}
    assert matching("  ")(db) == [] and near("")(db) == []


def test_quotes_and_signs_in_a_search_are_only_text() -> None:
    db = empty_bank()
    session(db)
    tell(db, "I like green tea", TEA)
    for text in ('"', "') or 1=1 --", "tea* NEAR(", "%", "_"):
        assert matching(text)(db) == []
        near(text)(db)


def test_facts_by_the_beginning_of_their_ids() -> None:
    db = empty_bank()
    session(db)
    ids(tell(db, "I like green tea, no peanuts", TEA, PEANUTS))
    for number, key in enumerate(("abc111", "abc222")):
        db.execute("update facts set id = ? where text like ?", [key, ["%tea%", "%nuts%"][number]])
    assert [one.id for one in chosen(["abc1", "abc222", "abc1"])(db)] == ["abc111", "abc222"]
    with pytest.raises(InputError, match=r"2 facts begin with 'abc' \(abc111, abc222\); give more"):
        chosen(["abc"])(db)
    with pytest.raises(InputError, match="No fact has the id 'xyz'"):
        chosen(["xyz"])(db)
    with pytest.raises(InputError, match="No fact has the id ''"):
        chosen([""])(db)


@pytest.mark.parametrize(
    ("value", "is_telling"),
    [("peanuts", True), ("Kim", True), ("花生", True), ("ten", False), ("茶", False), ("", False)],
)
def test_which_values_are_looked_for_everywhere(value: str, is_telling: bool) -> None:
    assert telling(value) is is_telling


def test_words_are_found_whole_in_any_case_width_and_punctuation() -> None:
    traces = Traces(["green tea", "Ann"])
    assert traces.masked("Green-tea and ＧＲＥＥＮ tea") == f"{MARK} and {MARK}"
    assert not traces.in_text("evergreen teas, Anna, greentea")
    assert traces.without("He likes it. GREEN  TEA! Is Ann here?\nYes.") == "He likes it.\nYes."
    assert not Traces([]) and not Traces(["", "..."])
    assert Traces([]).masked("x") == "x"
