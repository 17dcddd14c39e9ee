"""Is what the user asks for in the notes?"""

from __future__ import annotations

import pytest

from assistant.mind.known import unknown
from assistant.mind.prompt import reply_messages
from assistant.mind.state import State

KNOWN = ["The user's wife is called Julia.", "The user has a dog.", "The user prefers tea."]


@pytest.mark.parametrize(
    "question",
    ["What is my phone number?", "When is my piano lesson?", "How old am I?",
     "where does my mother live", "What's my brother's name?",
     "Can you tell me what my shoe size is?", "Where do I work?", "Where do I live?",
     "What is my name?", "Who is my boss?", "When is my wife's birthday?",
     "我住在哪里？", "我的电话是多少？", "我哥哥叫什么名字？", "我几点看牙医？"],
)  # fmt: skip
def test_what_was_never_said_is_unknown(question: str) -> None:
    assert unknown(question, KNOWN)


@pytest.mark.parametrize(
    "question",
    ["What is my wife's name?", "What is my pet called?", "What is my favourite drink?",
     "Who is Julia?", "What is the capital of France?", "How do I clean my shoes?",
     "What should I wear to my party?",
     "My phone is broken.", "When is Leo's birthday?", "我的狗叫什么？", "我应该穿什么？",
     "我喜欢喝什么？", "法国的首都是哪里？", ""],
)  # fmt: skip
def test_only_clear_cases_are_called_unknown(question: str) -> None:
    assert not unknown(question, KNOWN)


def test_languages_meet_where_a_thing_has_words_in_both() -> None:
    assert unknown("What is my phone number?", ["用户叫小明。"])
    assert not unknown("What is my name?", ["用户叫小明。"])
    assert not unknown("我太太叫什么？", KNOWN)
    assert not unknown("When is my bassoon lesson?", ["用户周三有课。"])
    assert not unknown("When is my snorkel delivered?", ["用户的浮潜管周三到。"])


def test_what_is_known_of_others_does_not_answer_for_the_user() -> None:
    lines = ["The user's brother Ravi lives in Toronto."]
    assert unknown("Where do I live?", lines)
    assert not unknown("Where does my brother live?", lines)
    assert unknown("Where does my sister live?", lines)


@pytest.mark.parametrize(
    ("words", "language", "hint"),
    [
        ("My train leaves at six.", "en", "All right, your train leaves"),
        ("I take my coffee without sugar.", "en", "All right, you take"),
        ("我下周三去上海出差。", "zh", "好的，你下周三去上海出差"),
        ("My mother is in hospital.", "en", ""),
        ("We are having guests on Sunday.", "en", ""),
        ("Good night!", "en", ""),
    ],
)
def test_what_is_told_is_acknowledged(words: str, language: str, hint: str) -> None:
    last = reply_messages(State(), [], words, language)[-1]["content"]
    assert hint in last
    assert hint or last == words


def test_the_hint_is_in_the_last_message_only() -> None:
    plain = reply_messages(State(), [], "What is the capital of France?", "en")
    hinted = reply_messages(State(), [], "What is my phone number?", "en")
    assert plain[:-1] == hinted[:-1]
    assert hinted[-1]["content"].startswith("What is my phone number?")
    assert len(hinted[-1]["content"]) > len("What is my phone number?")
