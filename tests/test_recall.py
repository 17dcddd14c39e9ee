"""Recall between turns, read in the turn: staged for the next one, dropped when the topic moved."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlite_utils import Database

from assistant.errors import StorageError
from assistant.memory.floats import Floats
from assistant.memory.recall import NEAR, Recaller, moved
from assistant.memory.rows import Rows
from assistant.memory.search import Index, Row
from assistant.memory.shelf import Shelf
from assistant.memory.topics import strong
from assistant.mind.memories import Memory
from assistant.mind.prompt import reply_messages
from assistant.mind.state import State
from assistant.workers import CancelToken

TODAY = date(2026, 5, 10)
MAY_3 = 1_777_806_000.0
KNOWN = State()


class Wordless:
    def encoder(self, language: str) -> Any:
        return None

    def reranker(self, language: str) -> Any:
        return None


class Slow:
    """Engines after each text of which somebody may speak."""

    gap = 0.0
    name = "slow"

    def __init__(self, cancel: CancelToken, after: int) -> None:
        self.cancel, self.left, self.read = cancel, after, 0

    def encoder(self, language: str) -> Any:
        return self

    def reranker(self, language: str) -> Any:
        return self

    def _one(self) -> None:
        self.read += 1
        self.left -= 1
        if self.left <= 0:
            self.cancel.cancel()

    def passages(self, texts: list[str]) -> Floats:
        for _ in texts:
            self._one()
        return np.full((len(texts), 4), 0.5, np.float32)

    def query(self, text: str) -> Floats:
        return np.full(4, 0.5, np.float32)

    def scores(self, question: str, texts: list[str]) -> Floats:
        for _ in texts:
            self._one()
        return np.zeros(len(texts), np.float32)


def fact(text: str, subject: str = "user", **more: Any) -> Memory:
    language = "zh" if "用户" in text else "en"
    return Memory(text=text, subject=subject, key=text, id=text, language=language, **more)


ANNA = fact("The user's sister Anna lives in Bristol.", "sister anna", said=MAY_3)
NUTS = fact("The user's sister Anna is allergic to nuts.", "sister anna", said=MAY_3)
XIAOYU = fact("用户的女儿小雨在学钢琴。", "女儿小雨", said=MAY_3)
OTHERS = [
    fact(f"The user keeps number {n} in drawer {n}.", importance=0.9, said=MAY_3) for n in range(40)
]
HIKE = Row("turn:old:4", "We went hiking in the Alps.", MAY_3, session="old", position=4)


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    yield connection
    connection.close()


def made(db: Any, *memories: Memory, engines: Any = None) -> Recaller:
    shelf = Shelf(pause=lambda: None)
    shelf.put(memories)
    index = Index(db, Wordless())
    index.add(Row(f"fact:{one.id}", one.text, one.said) for one in memories)
    index.add([HIKE])
    return Recaller(shelf, lambda: Index(db, engines or Wordless()))


def stage(recaller: Recaller, turn: int, *texts: str, session: str = "s") -> Any:
    return recaller.stage(session, turn, texts, CancelToken())


def shown(
    recaller: Recaller, turn: int, text: str, language: str = "en", session: str = "s"
) -> Any:
    return recaller.for_turn(session, turn, text, language, KNOWN, TODAY)


def test_v2_what_was_looked_up_is_in_the_next_prompt(db: Any) -> None:
    recaller = made(db, ANNA, NUTS, *OTHERS)
    assert stage(recaller, 1, "I am cooking for my sister tonight.") is not None
    prepared = shown(recaller, 2, "")
    assert {ANNA.text, NUTS.text} <= set(prepared.moment)
    assert set(prepared.used) == {ANNA.id, NUTS.id}
    asked = shown(recaller, 2, "What can she not eat?")
    assert asked.lines == prepared.lines


def test_v11_one_lag_turn_and_one_session(db: Any) -> None:
    recaller = made(db, ANNA, *OTHERS)
    stage(recaller, 3, "My sister called.")
    assert ANNA.text in shown(recaller, 3, "").moment  # the same turn, taken again
    assert ANNA.text in shown(recaller, 4, "").moment
    for turn, session in ((5, "s"), (2, "s"), (4, "t")):
        assert shown(recaller, turn, "", session=session).moment == ()
        assert ("staged", "old") in recaller.trace.dropped
    recaller.forget_staged()
    assert shown(recaller, 4, "").moment == ()


@pytest.mark.parametrize(
    ("before", "after", "dropped"),
    [
        ("My sister is cooking.", "And when is it?", False),
        ("My sister is cooking.", "Does she like football?", False),  # she: somebody named before
        ("My sister is cooking.", "What about Bristol?", False),  # of what was found
        ("My sister is cooking.", "Is my sister well?", False),
        ("My sister is cooking.", "How do I repair the bicycle?", True),
        ("My sister is cooking.", "我要去看牙医", True),
        ("我妹妹要来", "那是几点？", False),
        ("我妹妹要来", "她喜欢足球吗？", False),
        ("我妹妹要来", "Where does my sister live?", False),
        ("我妹妹要来", "自行车怎么修？", True),
        ("我女儿在练琴", "钢琴学了多久？", False),
        ("我女儿在练琴", "火车几点开？", True),
    ],
)
def test_v11_staged_memories_go_when_the_topic_moves(
    db: Any, before: str, after: str, dropped: bool
) -> None:
    recaller = made(db, ANNA, XIAOYU, *OTHERS)
    assert stage(recaller, 1, before).lines
    shown(recaller, 2, after)
    assert (("staged", "moved") in recaller.trace.dropped) is dropped


def test_v11_moved_is_a_rule_on_what_words_are_about() -> None:
    topics = strong("The user's sister Anna lives in Bristol.")
    assert not moved("", topics) and not moved("And then?", topics)
    assert moved("The train is late.", topics) and not moved("Anna is late.", topics)


def test_v11_a_follow_up_keeps_what_was_found(db: Any) -> None:
    recaller = made(db, ANNA, *OTHERS)
    stage(recaller, 1, "My sister called.")
    kept = stage(recaller, 2, "My sister called.", "And when was it?")
    assert kept.turn == 2 and kept.query == "My sister called."
    assert ANNA.text in shown(recaller, 3, "And then?").moment


def test_v11_what_fits_nothing_leaves_nothing_staged(db: Any) -> None:
    recaller = made(db, ANNA, *OTHERS)
    stage(recaller, 1, "My sister called.")
    stage(recaller, 2, "What is the capital of France?")
    assert shown(recaller, 3, "").moment == ()


def test_v1_a_question_calls_up_memories_at_once(db: Any) -> None:
    recaller = made(db, ANNA, XIAOYU, *OTHERS)
    block = shown(recaller, 1, "Where does my sister live?")
    assert block.moment == (ANNA.text,) and recaller.trace.found == (ANNA.id,)
    assert shown(recaller, 1, "小雨在学什么？", "zh").moment == (XIAOYU.text,)
    assert shown(recaller, 1, "My sister is nice.").moment == ()  # nobody is to wait for that


def test_v16_superseded_facts_are_not_staged(db: Any) -> None:
    recaller = made(db, ANNA, *OTHERS)
    Rows(db).hide([f"fact:{ANNA.id}"], True)
    recaller._shelf.drop([ANNA.id])
    stage(recaller, 1, "My sister called.")
    assert shown(recaller, 2, "").moment == ()


def test_a_turn_is_told_with_its_day(db: Any) -> None:
    recaller = made(db, *OTHERS)
    stage(recaller, 1, "We are going hiking again.")
    assert shown(recaller, 2, "").moment == (
        "Last Sunday the user said: We went hiking in the Alps.",
    )
    assert shown(recaller, 2, "").used == ()


def test_a_summary_is_told_and_is_no_memory_to_strengthen(db: Any) -> None:
    recaller = made(db, *OTHERS)
    Index(db, Wordless()).add([Row("summary:old", "They talked about hiking.", MAY_3)])
    stage(recaller, 1, "We are going hiking again.")
    block = shown(recaller, 2, "")
    assert "They talked about hiking." in block.moment and block.used == ()


def test_turns_that_stand_in_the_prompt_anyway_are_not_told(db: Any) -> None:
    recaller = made(db, *OTHERS)
    staged = stage(recaller, 3 + NEAR, "We are going hiking again.", session="old")
    assert staged.lines == () and [one.dropped for one in staged.seen] == ["now"]
    assert stage(recaller, 4 + NEAR, "We are going hiking again.", session="old").lines


def test_a_turn_that_became_a_memory_is_told_once(db: Any) -> None:
    drawn = fact("The user went hiking in the Alps.", session="old", turn=4)
    recaller = made(db, drawn, *OTHERS)
    assert [one.id for one in stage(recaller, 1, "hiking in the Alps").lines] == [drawn.id]


def test_c4_a_failing_search_breaks_nothing(db: Any, caplog: pytest.LogCaptureFixture) -> None:
    def refuse() -> Index:
        raise StorageError("The disk is full.")

    shelf = Shelf(pause=lambda: None)
    shelf.put([ANNA])
    recaller = Recaller(shelf, refuse)
    with caplog.at_level(logging.WARNING):
        assert stage(recaller, 1, "My sister called.") is None
        assert recaller.catch_up(CancelToken()) == 0
    assert "The disk is full." in caplog.text
    assert shown(recaller, 2, "").lines == (ANNA.text,)


def test_m12_what_is_forgotten_during_a_search_is_not_staged_by_it(db: Any) -> None:
    recaller = made(db, ANNA, *OTHERS)
    opened = recaller._opened()

    def forgetting() -> Index:
        recaller.forget_staged()
        return opened

    recaller._index, recaller._open = None, forgetting
    assert stage(recaller, 1, "My sister called.") is None
    assert shown(recaller, 2, "").moment == ()


@pytest.mark.parametrize("after", [1, 2, 3])
def test_v8_a_search_stops_as_soon_as_somebody_speaks(db: Any, after: int) -> None:
    cancel = CancelToken()
    engines = Slow(cancel, after)
    recaller = made(db, ANNA, NUTS, *OTHERS, engines=engines)
    assert recaller.stage("s", 1, ["Tell me about Anna and number 3 in the drawer"], cancel) is None
    assert engines.read == after
    assert shown(recaller, 2, "").moment == ()


def test_v8_embedding_stops_and_keeps_what_it_has(db: Any) -> None:
    cancel = CancelToken()
    engines = Slow(cancel, 3)
    recaller = made(db, ANNA, *OTHERS, engines=engines)
    assert recaller.catch_up(cancel) == 3
    assert db.execute("select count(*) from search_vectors").fetchone() == (3,)
    assert recaller.catch_up(cancel) == 0 and engines.read == 3
    engines.left = 1000
    assert recaller.catch_up(CancelToken(), limit=10) == 10


def test_the_index_reads_from_one_connection_and_writes_through_another(tmp_path: Path) -> None:
    writer = Database(sqlite3.connect(tmp_path / "bank.db", isolation_level=None))
    writer.conn.execute("pragma journal_mode = wal")
    reader = Database(sqlite3.connect(tmp_path / "bank.db", isolation_level=None))
    reader.conn.execute("pragma query_only = on")

    def write(work: Any) -> Any:
        with writer.atomic():
            return work(writer)

    engines = Slow(CancelToken(), 1000)
    index = Index(reader, engines, write)
    with writer.atomic():  # as a fact's own transaction does
        Rows(writer).write(Row("fact:a", "The dog is called Rex."))
    assert [hit.id for hit in index.search("dog", 3)] == ["fact:a"]
    assert index.catch_up() == 1 and index.search("dog", 3)[0].why.cosine is not None
    index.remove(["fact:a"])
    assert index.search("dog", 3) == [] and index.rows(["fact:a"]) == {}
    writer.close()
    reader.close()


def test_a_vector_of_a_row_that_is_gone_is_not_kept(db: Any) -> None:
    rows = Rows(db)
    rows.write(Row("a", "x"))
    rows.remove(["a"])
    rows.keep(1, "fake", np.ones(2, np.float32))
    assert db.execute("select count(*) from search_vectors").fetchone() == (0,)


def test_c7_the_trace_says_what_was_found_and_why_not(db: Any) -> None:
    recaller = made(db, ANNA, *OTHERS)
    stage(recaller, 1, "My sister called.")
    shown(recaller, 2, "Where does my sister live?")
    trace = recaller.trace.to_dict()
    assert trace["query"] == "My sister called."
    assert trace["hits"][0]["words"] == 1 and trace["hits"][0]["dropped"] == ""
    assert [ANNA.id, "twice"] in trace["dropped"]
    assert {"id": ANNA.id, "text": ANNA.text} in trace["injected"]


def test_c6_the_same_memories_make_the_same_prompt(db: Any) -> None:
    recaller = made(db, ANNA, NUTS, *OTHERS)
    stage(recaller, 1, "My sister called.")
    made_twice = [
        reply_messages(KNOWN, (), words, "en", block.profile, block.moment)[:-1]
        for words in ("", "And when?")
        for block in [shown(recaller, 2, words)]
    ]
    assert made_twice[0] == made_twice[1]
