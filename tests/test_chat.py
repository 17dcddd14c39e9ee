"""Typing: whatever comes through a pipe is answered, refused in a sentence, or ends in peace."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from assistant import commands
from assistant.config import Config
from assistant.loop import Shown


class FakeChat:
    """Stands for app.Chat: answers by repeating the words."""

    asked: list[str]
    fault: Exception | None = None

    def __init__(
        self, config: Config, show: Callable[[Shown], None], say: Callable[[str], None], *_: object
    ) -> None:
        self.asked = type(self).asked = []
        self._say = say

    def ask(self, text: str, language: str) -> None:
        if self.fault is not None:
            raise self.fault
        text.encode()  # lone surrogates can neither be stored nor printed
        self.asked.append(text)
        self._say(f"You said {text[:20]}.")

    def settle(self) -> None:
        """It takes no notes."""

    def end(self) -> None:
        """Nothing is queued."""

    def __enter__(self) -> FakeChat:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was opened."""


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], list[str]]:
    """What reaches the mind when these bytes are piped into `chat`."""

    def chat(stdin: bytes) -> list[str]:
        monkeypatch.setattr(commands, "Chat", FakeChat)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
        commands.chat(Config(), as_json=False)
        return FakeChat.asked

    return chat


def test_lines_are_asked_one_by_one(typed: Callable[[bytes], list[str]]) -> None:
    assert typed("hello\n\n  你好 \nbye".encode()) == ["hello", "你好", "bye"]


def test_no_input_is_no_turn(typed: Callable[[bytes], list[str]]) -> None:
    assert typed(b"") == typed(b"\n \n") == []


def test_quit_leaves_the_rest(typed: Callable[[bytes], list[str]]) -> None:
    assert typed(b"hello\n:quit\nmore\n") == ["hello"]


def test_bytes_that_are_no_text_are_no_traceback(typed: Callable[[bytes], list[str]]) -> None:
    asked = typed(bytes(range(256)) * 4 + b"\nhello\n\xff\xfe\n")
    assert "hello" in asked


def test_a_line_longer_than_anybody_says_is_refused_in_one_sentence(
    typed: Callable[[bytes], list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    longest = "x" * commands.MAX_CHARACTERS
    asked = typed(b"y" * 1_000_000 + b"\n" + longest.encode() + b"\nhello\n" + b"z" * 9_999)
    assert asked == [longest, "hello"]
    assert capsys.readouterr().err.count(f"longer than {commands.MAX_CHARACTERS}") == 2


def test_ten_thousand_lines_are_all_asked(typed: Callable[[bytes], list[str]]) -> None:
    assert len(typed(b"hello\n" * 10_000)) == 10_000
