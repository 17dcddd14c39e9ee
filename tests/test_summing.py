"""A conversation summed up by rules (V6, V9, V10, D10): nothing that was not said."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

import pytest

from assistant.flowbook import load_book
from assistant.mind.dialogue import Dialogue, Done, Filled, Task, frozen
from assistant.mind.memories import Memory
from assistant.mind.state import State
from assistant.mind.summing import MAX_ROLLED, MOST, Said, rolled, summarise
from assistant.mind.topics import topics_of
from assistant.mind.words import stems

TODAY = date(2026, 11, 30)
NOTHING = State()
ROOM = Task(
    "rooms",
    "book",
    frozen(
        {
            "date": Filled("2026-12-01", "tomorrow", 1),
            "time": Filled("10:00-12:00", "ten to twelve", 2),
        }
    ),
)
CLAIM = Task("expenses", "submit", frozen({}))


def said(*texts: str) -> list[Said]:
    return [Said(number, text) for number, text in enumerate(texts, 1)]


def memory(text: str, **changes: object) -> Memory:
    return replace(Memory(text, "user", "x", session="s", turn=1), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "texts",
    [
        ("Hello", "How are you?", "ok", "uh-huh", "got it", "What time is it?", "Thanks, bye"),
        ("你好", "你是谁？", "嗯", "好的", "现在几点了？", "谢谢，再见"),
        (),
    ],
)
def test_v10_small_talk_leaves_no_summary(texts: tuple[str, ...]) -> None:
    summary = summarise(NOTHING, said(*texts), [], TODAY, load_book())
    assert summary.text == "" and summary.topics == ()
    assert rolled(said(*texts)) == ""


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("What is the capital of Japan?", "capital of Japan"),
        ("Can you tell me something about black holes?", "black holes"),
        ("My sister Anna is visiting on Friday.", "sister Anna"),
        ("I have a dentist appointment tomorrow at ten.", "dentist appointment"),
        ("How do I cook rice?", "cook rice"),
        ("日本的首都是什么？", "日本的首都"),
        ("给我讲讲黑洞", "黑洞"),
        ("我明天十点去看牙医", "牙医"),
        ("我妹妹安娜周五来", "妹妹安娜"),
    ],
)
def test_v6_topics_are_the_persons_own_words(text: str, topic: str) -> None:
    assert topic in topics_of(Said(1, text))
    assert topic in text


@pytest.mark.parametrize("text", ["What is my name?", "Do you remember my birthday?", "我叫什么？"])
def test_v6_asking_for_what_was_told_is_no_topic(text: str) -> None:
    assert topics_of(Said(1, text)) == ()


def test_v6_the_most_frequent_topic_comes_first_then_the_latest() -> None:
    turns = said("What is the weather?", "What is a quark?", "Tell me more about the weather.")
    turns += [Said(9, "Tell me about Rome.")]
    assert summarise(NOTHING, turns, [], TODAY).topics == ("weather", "Rome", "quark")


def test_v6_done_is_resolved_and_open_is_a_follow_up_with_what_is_missing() -> None:
    dialogue = Dialogue(suspended=(CLAIM,), done=(Done(ROOM, "booked", write=True),))
    summary = summarise(replace(NOTHING, dialogue=dialogue), [], [], TODAY, load_book())
    assert len(summary.resolved) == 1 and "2026-12-01" in summary.resolved[0]
    assert "hand in an expense claim" in summary.follow_ups[0]
    assert "still missing" in summary.follow_ups[0]
    assert summary.resolved[0] in summary.text and summary.follow_ups[0] in summary.text


def test_d1_a_query_is_neither_resolved_nor_open() -> None:
    find = Task("rooms", "find", ROOM.slots)
    dialogue = Dialogue(task=find, done=(Done(find, "rooms"),))
    summary = summarise(replace(NOTHING, dialogue=dialogue), [], [], TODAY, load_book())
    assert summary.resolved == () and summary.follow_ups == ()
    assert summary.topics == ("the meeting room",)


def test_d10_without_the_flows_the_state_tells_what_is_open() -> None:
    state = State(task="book the meeting room", pending=("Which room?",), steps=("read the list",))
    summary = summarise(state, [], [], TODAY)
    assert summary.follow_ups == ("book the meeting room (still missing: Which room)",)
    assert summary.text.startswith("Done: read the list.")


def test_v6_a_flow_that_is_gone_is_left_out() -> None:
    gone = Task("spaceships", "launch")
    dialogue = Dialogue(task=gone, done=(Done(gone, "ok", write=True),))
    assert summarise(replace(NOTHING, dialogue=dialogue), [], [], TODAY, load_book()).text == ""


def test_v6_plans_that_lie_ahead_are_follow_ups_and_past_ones_are_not() -> None:
    plans = [
        memory("The user has a dentist appointment on 2026-12-01 at ten.", day="2026-12-01"),
        memory("The user had an exam on 2026-11-02.", day="2026-11-02"),
        memory("The user has a concert on 2026-12-24.", day="2026-12-24", ended=5.0),
    ]
    summary = summarise(NOTHING, [], plans, TODAY)
    assert summary.follow_ups == ("dentist appointment on 2026-12-01",)
    assert "Coming up: dentist appointment on 2026-12-01." in summary.text


def test_v6_key_facts_come_by_importance_and_are_bounded() -> None:
    facts = [memory(f"Fact {n}.", importance=n / 10, said=float(n)) for n in range(9)]
    summary = summarise(NOTHING, [], facts, TODAY)
    assert summary.facts == tuple(f"Fact {n}." for n in range(8, 8 - MOST, -1))


def test_v6_the_language_mostly_spoken_is_that_of_the_summary() -> None:
    turns = said("日本的首都是什么？", "给我讲讲黑洞", "What is a quark?")
    summary = summarise(NOTHING, turns, [], TODAY)
    assert summary.language == "zh"
    assert summary.text.startswith("用户谈到了") and summary.text.endswith("。")


def test_v6_nothing_is_said_that_was_not_said() -> None:
    turns = said(
        "What is the capital of Japan?",
        "My son Leo started playing football.",
        "Who wrote Hamlet?",
        "I went running in the park today.",
    )
    summary = summarise(NOTHING, turns, [], TODAY)
    frame = stems("the user talked about and")
    heard = {word for one in turns for word in stems(one.user)}
    assert summary.topics and set(stems(summary.text)) <= heard | set(frame)


def test_v6_no_relative_day_gets_into_the_text() -> None:
    turns = said("What is the weather in Rome tomorrow?", "Will it rain on Friday?")
    text = summarise(NOTHING, turns, [], TODAY).text
    assert not re.search("tomorrow|today|friday", text, re.I)


def test_v9_old_turns_become_one_bounded_line() -> None:
    turns = [
        Said(n, f"What is the history of the town of Number{n} by the sea?") for n in range(50)
    ]
    line = rolled(turns)
    assert line.startswith("Before that the user talked about") and len(line) <= MAX_ROLLED
    assert "\n" not in line


def test_v9_what_a_task_took_is_no_topic() -> None:
    assert rolled([Said(1, "Is there a quiet room?", task=True)]) == ""
