"""An answer is said to the one who asked; what was just told is known before its note is taken."""

from __future__ import annotations

import pytest

from assistant.config import MindConfig
from assistant.mind.address import to_asker
from assistant.mind.notes import provisional
from assistant.mind.reply import answer
from assistant.mind.state import State


@pytest.mark.parametrize(
    ("reply", "question", "said"),
    [
        ("我在城市医院工作。", "我在哪里工作？", "你在城市医院工作。"),
        ("我是小学老师。", "我是做什么工作的？", "你是小学老师。"),
        ("我是你的语音助手。", "你是谁？", "我是你的语音助手。"),
        ("我不知道。", "我在哪里工作？", "我不知道。"),
        ("My sister is called Anna.", "What is my sister called?", "Your sister is called Anna."),
        (
            "My big sister lives here.",
            "Where does my big sister live?",
            "Your big sister lives here.",
        ),
        ("My name is not important.", "What are you called?", "My name is not important."),
        ("", "我是谁？", ""),
        (
            "I am a nurse at the city hospital.",
            "What is my job?",
            "You are a nurse at the city hospital.",
        ),
        ("I like green tea.", "What do I like to drink?", "You like green tea."),
        ("I am a voice assistant.", "Am I talking to a person?", "I am a voice assistant."),
        ("I like your idea.", "Do you like my idea?", "I like your idea."),
        ("I am sorry about your day.", "I had a bad day.", "I am sorry about your day."),
    ],
)
def test_an_echo_of_the_asker_is_said_to_the_asker(reply: str, question: str, said: str) -> None:
    assert to_asker(reply, question) == said


def test_v7_what_was_stated_a_moment_ago_can_be_asked_for() -> None:
    said = [(1, "I put the keys in the blue drawer.", "en")]
    known = provisional(State(), said, MindConfig())
    assert "blue drawer" in " ".join(fact.note for fact in known.facts.values())


def test_only_the_beginning_of_an_answer_is_an_echo() -> None:
    pieces = ["My name is Alex. ", "My name is short."]
    assert list(answer(pieces, "en", "what is my name")) == [
        "Your name is Alex.",
        "My name is short.",
    ]


def test_v7_what_rules_read_is_known_before_the_note_is_taken() -> None:
    said = [
        (1, "My train leaves at six.", "en"),
        (2, "My train leaves at seven, not at six.", "en"),
    ]
    known = provisional(State(), said, MindConfig())
    notes = " ".join(fact.note for fact in known.facts.values())
    assert "seven" in notes
    assert "at six" not in notes.replace("not at six", "")


def test_a_question_said_back_and_the_hint_behind_it_are_not_spoken() -> None:
    pieces = ["你做什么工作？", "（回答：你的工作是面包师。）"]
    assert list(answer(pieces, "zh", "我做什么工作？")) == ["你的工作是面包师。"]
    assert list(answer(["What do you mean?"], "en", "below there")) == ["What do you mean?"]
