"""Which memories stand in the prompt (C5, C6, V15)."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.mind.block import LEVELS, Block, Budget, Line, Sayable, compose, estimate
from assistant.mind.memories import Memory
from assistant.mind.prompt import Exchange, reply_messages
from assistant.mind.state import Fact, State

TODAY = date(2026, 11, 30)


def fact(text: str, learned: float = 0.0, id: str = "") -> Memory:
    return Memory(text=text, subject="user", key=text, id=id or text, learned=learned)


def many(count: int, start: str = "thing") -> list[Memory]:
    return [fact(f"The user has {start} {n}.", n) for n in range(count)]


def test_v15_few_memories_are_all_told() -> None:
    few = many(LEVELS["mid"][0])
    block = compose(few, [], [], [], Budget.of("mid", 320, len(few)), TODAY)
    assert len(block.lines) == len(few) and block.moment == ()


@pytest.mark.parametrize("level", ["low", "mid", "high"])
def test_c5_many_memories_stay_within_the_budget(level: str) -> None:
    budget = Budget.of(level, 2000, 1000)
    staged, found = many(24, "staged"), many(24, "found")
    block = compose(many(24), staged, found, [], budget, TODAY)
    lines, profile, called = LEVELS[level]
    assert len(block.lines) == lines and len(block.profile) == profile
    assert sum("found" in line for line in block.lines) == called
    assert len(block.ids) == len(block.lines)
    assert ("The user has found 23.", "budget") in block.dropped


def test_c5_tokens_are_capped() -> None:
    long = [fact(f"用户在{n}号楼住了很久很久，楼下有一家面包店和一个花园。", n) for n in range(24)]
    block = compose(long, long[12:], long[20:], [], Budget.of("high", 200, 1000), TODAY)
    assert 0 < block.tokens <= 200
    assert block.tokens == sum(estimate(line) for line in block.lines)


@pytest.mark.parametrize(
    ("text", "least"),
    [("用户住在苏州。", 7), ("The user likes tea.", 5), ("0171 5551234", 11), ("", 1)],
)
def test_c5_the_estimate_is_cautious(text: str, least: int) -> None:
    """`least`: what the tokenizer of the default model makes of it."""
    assert estimate(text) >= least


def test_c6_no_line_is_said_twice_or_beside_the_state() -> None:
    told = [fact("The user likes tea.", id="a"), fact("The user has a dog.", id="b")]
    staged: list[Sayable] = [
        told[0],
        fact("The user like teas!", id="c"),
        Line("turn:s:1", "用户说过：你好"),
    ]
    block = compose(told, staged, [], ["The user has the dogs."], Budget.of("mid", 320, 9), TODAY)
    assert block.lines == ("The user likes tea.", "用户说过：你好")
    assert set(block.dropped) == {("b", "known"), ("a", "twice"), ("c", "twice")}


def test_c6_somebody_else_s_allergy_does_not_stand_for_the_user_s() -> None:
    known = ["The user's sister Anna is allergic to nuts."]
    told = [fact("The user is allergic to nuts.")]
    assert compose(told, [], [], known, Budget.of("mid", 320, 1), TODAY).lines


def test_c6_what_was_prepared_is_the_beginning_of_what_is_asked() -> None:
    budget = Budget.of("mid", 320, 1000)
    profile, staged, found = many(6), many(8, "staged"), many(2, "found")
    prepared = compose(profile, staged, [], [], budget, TODAY)
    asked = compose(profile, staged, found, [], budget, TODAY)
    assert asked.lines[: len(prepared.lines)] == prepared.lines
    assert asked.lines[-2:] == ("The user has found 0.", "The user has found 1.")
    without = compose(profile, [], [], [], budget, TODAY)
    assert without.lines == prepared.profile


def test_c6_a_new_memory_is_appended_to_the_profile() -> None:
    budget = Budget.of("mid", 320, 1000)
    old = [fact("The user has a dog.", 1), fact("The user likes tea.", 2)]
    new = fact("The user is called Alex.", 3)
    before = compose(old, [], [], [], budget, TODAY)
    after = compose([new, *reversed(old)], [], [], [], budget, TODAY)
    assert after.lines == (*before.lines, new.text)


def test_dates_are_said_as_of_today() -> None:
    told = [fact("The user has a dentist appointment on 2026-12-01 at ten.")]
    block = compose(told, [], [], [], Budget.of("mid", 320, 1), TODAY)
    assert block.lines == ("The user has a dentist appointment tomorrow at ten.",)
    known = ["The user has a dentist appointment tomorrow at ten."]
    assert not compose(told, [], [], known, Budget.of("mid", 320, 1), TODAY).lines


def test_uses_are_those_of_memories_that_were_called_up() -> None:
    told = [fact("one", id="p")]
    staged: list[Sayable] = [Line("turn:s:1", "two"), fact("three", id="f")]
    block = compose(told, staged, [], [], Budget.of("mid", 320, 9), TODAY)
    assert block.ids == ("p", "turn:s:1", "f") and block.used == ("f",)


@given(
    st.lists(st.text(max_size=60), max_size=30),
    st.lists(st.text(max_size=60), max_size=30),
    st.sampled_from(["low", "mid", "high"]),
    st.integers(50, 400),
)
def test_c5_any_text_stays_within_the_budget(
    profile: list[str], staged: list[str], level: str, tokens: int
) -> None:
    told = [fact(text, n, str(n)) for n, text in enumerate(profile)]
    lines = [Line(f"turn:s:{n}", text) for n, text in enumerate(staged)]
    block = compose(told, lines, lines, [], Budget.of(level, tokens, len(told)), TODAY)
    assert len(block.lines) <= LEVELS[level][0] and block.tokens <= tokens
    assert len(set(block.ids)) == len(block.ids)


# In the prompt


def _state(*notes: str) -> State:
    return State(facts={note: Fact(note, note, "en", 1) for note in notes})


def _notes(**lines: Any) -> str:
    messages = reply_messages(
        _state("The user has a dog."), [Exchange("Hi", "Hello.")], "x", "en", **lines
    )
    systems = [one["content"] for one in messages if one["role"] == "system"]
    assert len(systems) == 2, "rules, and exactly one block of notes"
    return systems[1]


def test_c6_memory_is_part_of_the_one_block_of_notes() -> None:
    shown = _notes(memory=("The user is called Alex.",), moment=("The user likes tea.",))
    places = [shown.index(part) for part in ("called Alex", "You have a dog", "You like tea")]
    assert places == sorted(places)


def test_c6_an_empty_memory_leaves_nothing_in_the_prompt() -> None:
    block = Block()
    assert _notes(memory=block.profile, moment=block.moment) == _notes()


@pytest.mark.parametrize(
    ("question", "language", "line"),
    [
        ("What is my brother called?", "en", "The user's brother is called Ravi."),
        ("我哥哥叫什么名字？", "zh", "用户的哥哥叫小强。"),
        ("When is my piano lesson?", "en", "The user has a piano lesson on Friday."),
    ],
)
def test_what_is_remembered_is_never_denied(question: str, language: str, line: str) -> None:
    denied = ("You have not told me that", "你还没有告诉我")
    without = reply_messages(State(), [], question, language)[-1]["content"]
    assert any(text in without for text in denied)
    for name in ("memory", "moment"):
        lines: dict[str, Any] = {name: (line,)}
        last = reply_messages(State(), [], question, language, **lines)[-1]["content"]
        assert not any(text in last for text in denied)
