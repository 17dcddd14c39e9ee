"""From a noted turn to memories: what is kept, of whom, with which day, and what is not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.config import MindConfig
from assistant.mind.memories import Memory
from assistant.mind.merge import Update, merge
from assistant.mind.notes import read_notes
from assistant.mind.remember import memories_of
from assistant.mind.state import State
from assistant.mind.words import stem, stems, tokens

DAY = date(2026, 11, 30)
SENTENCES = Path(__file__).with_name("memory_sentences.jsonl")
FRAME = set(stems("the user is has does a an and to of on in not can called")) | set("用户的是叫在")


def told(*turns: str, reply: str = "", day: date = DAY) -> list[Memory]:
    """The memories of the last of several turns, by rules alone."""
    state, found = State(), []
    for turn, words in enumerate(turns, 1):
        update = read_notes("", words, "en", turn, state)
        last = turn == len(turns)
        found = memories_of(
            update, state, words, "en", day, session="s1", turn=turn,
            last_reply=reply if last else "",
        )  # fmt: skip
        state = merge(state, update, MindConfig())
    return found


def texts(*turns: str, reply: str = "") -> list[str]:
    return [memory.text for memory in told(*turns, reply=reply)]


def test_a_memory_says_what_of_whom_when_and_where_it_was_said() -> None:
    (memory,) = told("Hello", "My sister Anna is visiting on Friday at ten")
    assert memory == Memory(
        text="The user's sister Anna is visiting on 2026-12-04 at ten.",
        subject="sister anna",
        key=memory.key,
        value="Friday at ten",
        language="en",
        lasting=False,
        single=False,
        day="2026-12-04",
        importance=0.55,
        session="s1",
        turn=2,
    )


@pytest.mark.parametrize(
    ("words", "subject", "key", "single"),
    [
        ("My name is Alex", "user", "name", True),
        ("I live in Rome", "user", "home", True),
        ("My mum lives in Rome", "mum", "home", True),
        ("I work at Siemens", "user", "employer", True),
        ("I work as a nurse", "user", "profession", True),
        ("My birthday is on the third of June", "user", "birthday", True),
        ("My favourite film is Alien", "user", "favourite film", True),
        ("I'm allergic to nuts", "user", "allergy nut", False),
        ("I like green tea", "user", "taste green tea", False),
        ("I live in a flat on the third floor", "user", "place flat", False),
        ("My sister is called Anna", "sister", "name", True),
        ("My car is in the garage until Friday", "car", "car garag until", False),
        ("我住在南京", "user", "home", True),
        ("我妈妈住在罗马", "妈妈", "home", True),
        ("我叫小明", "user", "name", True),
        ("我对花生过敏", "user", "allergy 花生", False),
    ],
)
def test_subject_and_key(words: str, subject: str, key: str, single: bool) -> None:
    (memory,) = told(words)
    assert (memory.subject, memory.key, memory.single) == (subject, key, single)


def test_what_matters_more_is_worth_more() -> None:
    order = (
        "I'm allergic to nuts", "My daughter is called Mia", "I live in Rome", "I like tea",
        "I want to learn Italian",
    )  # fmt: skip
    weights = [told(words)[0].importance for words in order]
    assert weights == sorted(weights, reverse=True) and len(set(weights)) == len(weights)


def test_days_are_absolute_and_only_where_there_is_one() -> None:
    (memory,) = told("I have a dentist appointment tomorrow at ten")
    assert (memory.text, memory.day, memory.lasting) == (
        "The user has a dentist appointment on 2026-12-01 at ten.", "2026-12-01", False,
    )  # fmt: skip
    (memory,) = told("I go swimming every Tuesday")
    assert (memory.day, memory.lasting) == ("", True)
    (memory,) = told("My birthday is tomorrow")
    assert (memory.text, memory.day, memory.lasting) == (
        "The user's birthday is on 1 December.", "", True,
    )  # fmt: skip
    (memory,) = told("我后天下午三点要开会")
    assert (memory.text, memory.day) == ("用户在2026-12-02下午三点要开会。", "2026-12-02")


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (("My sister is called Anna", "She is allergic to nuts"),
         ["The user's sister Anna is allergic to nuts."]),
        (("I have a dog called Rex", "It hates cats"), ["The user's dog Rex hates cats."]),
        (("My brother lives in Oslo", "She is a doctor"), []),
        (("She is a doctor",), []),
        (("My sister lives in Rome and my mother lives in Bonn", "She is a doctor"), []),
        (("My sister lives in Rome, my brother lives in Bonn", "He is a doctor"),
         ["The user's brother is a doctor."]),
        (("My sister lives in Rome", "ok", "ok", "ok", "ok", "ok", "She is a doctor"), []),
        (("我妹妹叫小兰", "她对花生过敏"), ["用户的妹妹小兰对花生过敏。"]),
        (("她对花生过敏",), []),
        (("My mother lives in Rome and I call her every Sunday",),
         ["The user's mother lives in Rome.", "The user calls the user's mother every Sunday."]),
        (("I really love her",), []),
    ],
)  # fmt: skip
def test_pronouns_are_resolved_or_left_out(turns: tuple[str, ...], expected: list[str]) -> None:
    assert texts(*turns) == expected


def test_a_correction_replaces_what_it_corrects() -> None:
    first = told("I have a dentist appointment tomorrow at ten")[0]
    second = told("I have a dentist appointment tomorrow at ten", "No, make it eleven")[0]
    assert second.text == "The user has a dentist appointment on 2026-12-01 at eleven."
    assert second.key == first.key and second.single
    moved = told("My dentist appointment has been moved to Monday")[0]
    assert moved.key == first.key and moved.single


@pytest.mark.parametrize(
    ("words", "reply", "expected"),
    [
        ("yes", "Your sister lives in Berlin, right?", "The user's sister lives in Berlin."),
        ("Exactly.", "So you live in Berlin?", "The user lives in Berlin."),
        ("Yes, that's right", "Are you allergic to nuts?", "The user is allergic to nuts."),
        ("yes", "Good. Does your sister live in Rome?", "The user's sister lives in Rome."),
        ("是的", "你住在柏林，对吗？", "用户住在柏林。"),
        ("对", "你妹妹对花生过敏吧？", "用户的妹妹对花生过敏。"),
    ],
)
def test_the_assistants_words_count_when_they_are_confirmed(
    words: str, reply: str, expected: str
) -> None:
    (memory,) = told(words, reply=reply)
    assert (memory.text, memory.origin) == (expected, "confirmed")
    assert memory.value in reply


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("ok", "Your sister lives in Berlin."),
        ("no", "Your sister lives in Berlin, right?"),
        ("yes, and what time is it?", "Your sister lives in Berlin, right?"),
        ("yes", "Shall I book a table in Berlin for you?"),
        ("yes", "Do you want me to remind you on Friday?"),
        ("yes", "Where do you live?"),
        ("yes", "The capital of Germany is Berlin."),
        ("yes", "My favourite colour is blue."),
        ("是的", "要不要我提醒你周五开会？"),
        ("是的", "你住在哪里？"),
        ("yes", ""),
    ],
)
def test_nothing_else_of_the_assistants_words_counts(words: str, reply: str) -> None:
    assert told(words, reply=reply) == []


@pytest.mark.parametrize(
    "words",
    [
        "I used to live in Rome",
        "I'm thinking of moving to Berlin",
        "我以前住在罗马",
        "我在考虑搬到柏林",
    ],
)
def test_what_was_or_may_be_is_no_home(words: str) -> None:
    assert all(memory.key != "home" and not memory.single for memory in told(words))


@pytest.mark.parametrize(
    "words",
    [
        "The president lives in a big white house", "Germany plays France on Saturday",
        "Sources report that the minister is allergic to nuts", "According to experts, tea is good",
        "If I had a dog I would call it Rex", "I wish I had a garden", "Book a taxi please",
        "Anna said, I live in Rome", "据报道，部长住在西班牙", "小兰说，我住在罗马",
        "如果我有狗，我就叫它旺财", "要是我住在巴黎就好了", "德国队周六对法国队",
    ],
)  # fmt: skip
def test_v14_what_is_not_said_of_the_user_is_not_kept(words: str) -> None:
    assert told(words) == []


def test_a_denial_stays_one() -> None:
    for words in (
        "I'm not allergic to cats",
        "My son doesn't eat fish",
        "我对猫不过敏",
        "我不抽烟",
    ):
        (memory,) = told(words)
        assert {"not", "doesn't", "不"} & {*memory.text.split(), *memory.text}, memory.text


def sentences() -> Iterator[dict[str, Any]]:
    for line in SENTENCES.read_text("utf-8").splitlines():
        yield json.loads(line)


def says(memory: Memory, fact: dict[str, str]) -> bool:
    about = memory.subject == fact["about"] or fact["about"] in memory.subject.split()
    inside = fact["about"] != "user" and fact["about"] in memory.subject
    return (about or inside) and set(stems(fact["words"])) <= set(stems(memory.text))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_v4_what_people_say_in_ordinary_ways_is_kept(language: str) -> None:
    """Family, pets, work, home, health, tastes, plans, corrections …; nothing beside it."""
    found = wanted = surplus = 0
    for row in sentences():
        if row["language"] != language:
            continue
        memories = told(*row["turns"])
        expected = [*row["gold"], *row.get("optional", ())]
        wanted += len(row["gold"])
        found += sum(any(says(memory, fact) for memory in memories) for fact in row["gold"])
        surplus += sum(not any(says(memory, fact) for fact in expected) for memory in memories)
    assert wanted >= 90
    assert found / wanted >= 0.95
    assert found / (found + surplus) >= 0.99


def test_every_content_word_was_said_in_the_language_spoken() -> None:
    for row in sentences():
        said = {stem(word) for turn in row["turns"] for word in tokens(turn)} | FRAME
        for memory in told(*row["turns"]):
            assert memory.language == row["language"]
            text = re.sub(r"[A-Z][a-z]+ 20\d\d|20\d\d年", " ", memory.text)
            unsaid = [word for word in stems(text) if word not in said and not word[0].isdigit()]
            assert not unsaid, (row["turns"], memory.text)
            assert memory.value == "" or any(memory.value in turn for turn in row["turns"])


@given(st.text(max_size=120), st.text(max_size=120), st.text(max_size=80))
def test_any_words_and_any_model_answer_are_survived(words: str, raw: str, reply: str) -> None:
    update = read_notes(raw, words, "en", 2, State())
    for memory in memories_of(
        update, State(), words, "en", DAY, session="s", turn=2, last_reply=reply
    ):
        assert memory.text and memory.subject and memory.key


def test_an_update_without_notes_gives_nothing() -> None:
    assert memories_of(Update(), State(), "ok", "en", DAY, session="s", turn=1) == []
