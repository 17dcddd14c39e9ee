"""State, merge and prompt: values in, values out, no model."""

from __future__ import annotations

import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.config import MindConfig
from assistant.mind.address import to_you
from assistant.mind.merge import Update, merge
from assistant.mind.prompt import Exchange, reply_messages
from assistant.mind.state import Fact, State

LIMITS = MindConfig()


def fact(note: str, turn: int = 1, value: str = "") -> Fact:
    return Fact(value or note, note, "en", turn)


def facts(*notes: str) -> dict[str, Fact]:
    return {note: fact(note, turn) for turn, note in enumerate(notes, 1)}


def test_m1_state_survives_json() -> None:
    state = State(
        version=3,
        task="book a room",
        facts=MappingProxyType(facts("The user wants the window room.")),
        pending=("when?",),
        steps=("asked",),
        preference=MappingProxyType({"name": fact("用户叫小明。")}),
        history_summary="Earlier.",
        interrupted="The room is",
    )
    assert State.from_dict(json.loads(json.dumps(state.to_dict()))) == state


def test_m1_unknown_and_absent_keys_are_fine() -> None:
    assert State.from_dict({"version": 2, "mood": "fine"}) == State(version=2)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "x",
        {"version": "1"},
        {"version": True},
        {"version": -1},
        {"task": 3},
        {"facts": []},
        {"facts": {"a": "text"}},
        {"facts": {"a": {"value": "v"}}},
        {"facts": {"a": {"note": "n", "turn": "1"}}},
        {"pending": "when?"},
        {"steps": [1]},
    ],
)
def test_m1_damaged_state_is_a_clear_value_error(data: object) -> None:
    with pytest.raises(ValueError, match="state"):
        State.from_dict(data)


def test_m2_omission_never_deletes() -> None:
    before = merge(State(), Update(facts=facts("a", "b"), preference=facts("c")), LIMITS)
    after = merge(before, Update(facts={"b": fact("b2", 5)}), LIMITS)
    assert set(after.facts) == {"a", "b"}
    assert after.facts["b"].note == "b2"
    assert set(after.preference) == {"c"}


def test_m2_lists_are_replaced_and_none_keeps_them() -> None:
    before = merge(State(), Update(pending=("when?", "who?"), steps=("one",)), LIMITS)
    assert merge(before, Update(), LIMITS) is before
    after = merge(before, Update(pending=()), LIMITS)
    assert after.pending == ()
    assert after.steps == ("one",)


def test_m2_empty_task_and_summary_change_nothing() -> None:
    before = merge(State(), Update(task="book", history_summary="Talked."), LIMITS)
    after = merge(before, Update(task="", history_summary="", facts=facts("a")), LIMITS)
    assert (after.task, after.history_summary) == ("book", "Talked.")


def test_version_rises_only_with_a_change() -> None:
    one = merge(State(), Update(facts=facts("a")), LIMITS)
    assert one.version == 1
    again = merge(one, Update(facts={"a": fact("a", turn=7)}), LIMITS)
    assert again is one, "the same note said again is no change"
    assert merge(one, Update(interrupted="cut"), LIMITS).version == 2


def test_dropped_facts_are_gone_unless_said_again() -> None:
    before = merge(State(), Update(facts=facts("a", "b")), LIMITS)
    after = merge(before, Update(drop=frozenset({"a", "b"}), facts={"b": fact("b")}), LIMITS)
    assert set(after.facts) == {"b"}


def test_m8_the_ninth_fact_moves_the_oldest_vague_one_into_the_summary() -> None:
    notes = ["exact at 10:30", "vague", *(f"number {i}" for i in range(6)), "newest 9"]
    state = State()
    for turn, note in enumerate(notes):
        state = merge(state, Update(facts={note: fact(note + ".", turn)}), LIMITS)
    assert len(state.facts) == 8
    assert "vague" not in state.facts, "a value that must be exact is kept before one that need not"
    assert state.history_summary == "vague."


def test_m8_summary_keeps_the_newest_whole_sentences() -> None:
    limits = MindConfig(max_summary_chars=100)
    text = " ".join(f"Sentence number {i} is here." for i in range(20))
    state = merge(State(), Update(history_summary=text), limits)
    assert len(state.history_summary) <= 100
    assert state.history_summary.startswith("Sentence number")
    assert state.history_summary.endswith("Sentence number 19 is here.")


@given(
    st.lists(
        st.tuples(st.text(max_size=8), st.text(min_size=1, max_size=400), st.booleans()),
        max_size=60,
    )
)
def test_m8_everything_stays_bounded(updates: list[tuple[str, str, bool]]) -> None:
    state = State()
    for turn, (key, note, lasting) in enumerate(updates):
        new = {key: fact(note, turn)}
        update = Update(preference=new) if lasting else Update(facts=new, steps=(note,) * 30)
        state = merge(state, update, LIMITS)
    assert len(state.facts) <= 8
    assert len(state.preference) <= 24
    assert len(state.steps) <= 12
    assert len(state.history_summary) <= LIMITS.max_summary_chars


def test_m4_prompt_holds_notes_and_only_the_last_message_holds_the_new_words() -> None:
    state = merge(State(), Update(facts=facts("The user has a dog.")), LIMITS)
    recent = [Exchange("Hello", "Hi there.")]
    one = reply_messages(state, recent, "What is its name?", "en")
    other = reply_messages(state, recent, "我叫什么名字？", "zh")
    assert one[:-1] == other[:-1], "everything before the new words is the same in any language"
    assert any("You have a dog." in message["content"] for message in one[:-1])
    assert "What is its name?" in one[-1]["content"]
    assert "我叫什么名字？" in other[-1]["content"]


def test_m4_prompt_grows_at_its_end_only() -> None:
    recent = [Exchange(f"question {i}", f"answer {i}") for i in range(3)]
    short = reply_messages(State(), recent[:2], "", "en")
    long = reply_messages(State(), recent, "", "en")
    assert long[: len(short) - 2] == short[:-2]


def test_a_denial_is_not_shown_again() -> None:
    recent = [
        Exchange("What is my brother called?", "You have not told me that."),
        Exchange("我几岁？", "你还没有告诉我。"),
        Exchange("Hello", "Hi."),
    ]
    shown = [message["content"] for message in reply_messages(State(), recent, "x", "en")]
    assert "What is my brother called?" not in shown
    assert "Hello" in shown


def test_m7_an_interrupted_reply_is_in_the_notes() -> None:
    state = merge(State(), Update(interrupted="The room is on"), LIMITS)
    texts = "\n".join(message["content"] for message in reply_messages(state, [], "x", "en"))
    assert "The room is on" in texts


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("The user is called Alex.", "The user is called Alex."),
        ("The user's dog is called Rex.", "Your dog is called Rex."),
        ("The user really prefers tea.", "You really prefer tea."),
        ("The user's sister Anna watches birds.", "Your sister Anna watches birds."),
        ("The user does not eat the user's vegetables.", "You do not eat your vegetables."),
        ("It is the user's birthday. The user flies home.", "It is your birthday. You fly home."),
        (
            "The user moved to Leeds.\nThe user can not swim.",
            "You moved to Leeds.\nYou can not swim.",
        ),
        ("用户的妹妹对花生过敏。", "你的妹妹对花生过敏。"),
        ("Tom is vegan.", "Tom is vegan."),
    ],
)
def test_notes_are_said_to_the_user(note: str, said: str) -> None:
    assert to_you(note) == said
