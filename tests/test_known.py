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
     "Can you tell me what my shoe size is?"],
)  # fmt: skip
def test_what_was_never_said_is_unknown(question: str) -> None:
    assert unknown(question, KNOWN)


@pytest.mark.parametrize(
    "question",
    ["What is my wife's name?", "What is my pet called?", "What is my favourite drink?",
     "Who is Julia?", "What is the capital of France?", "How do I clean my shoes?",
     "What should I wear to my party?",
     "What is my name?", "My phone is broken.", "我的电话是多少？", ""],
)  # fmt: skip
def test_only_clear_cases_are_called_unknown(question: str) -> None:
    assert not unknown(question, KNOWN)


def test_nothing_is_claimed_across_languages() -> None:
    assert not unknown("What is my phone number?", ["用户叫小明。"])


def test_the_hint_is_in_the_last_message_only() -> None:
    plain = reply_messages(State(), [], "What is my name?", "en")
    hinted = reply_messages(State(), [], "What is my phone number?", "en")
    assert plain[:-1] == hinted[:-1]
    assert hinted[-1]["content"].startswith("What is my phone number?")
    assert len(hinted[-1]["content"]) > len("What is my phone number?")
