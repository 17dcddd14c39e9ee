"""Evaluated prompt beginnings: computed once, taken from the file after, never wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from assistant.snapshots import KEEP, Primed, rules_alone, without_words
from assistant.stages import Cancel, Message
from assistant.workers import CancelToken

NEVER = CancelToken()


class FakeContext:
    """Implements what Primed needs of llm.Context; a token is a character."""

    def __init__(self) -> None:
        self.known: list[int] = []
        self.computed = 0

    def stable(self, messages: Sequence[Message]) -> list[int]:
        return [ord(char) for message in messages for char in message["content"]]

    def holds(self, tokens: Sequence[int]) -> bool:
        return self.known[: len(tokens)] == list(tokens)

    def prepare(self, messages: Sequence[Message], cancel: Cancel, *, words: bool = False) -> None:
        tokens = self.stable(messages)
        if not cancel.cancelled and not self.holds(tokens):
            self.known = tokens
            self.computed += 1

    def stream(
        self, messages: Sequence[Message], cancel: Cancel, *, max_tokens: int
    ) -> Iterator[str]:
        yield "answer"

    def save(self, path: Path) -> bool:
        path.write_text(",".join(map(str, self.known)))
        return True

    def load(self, path: Path, tokens: Sequence[int]) -> bool:
        self.known = []
        if path.read_text() != ",".join(map(str, tokens)):
            return False
        self.known = list(tokens)
        return True


def primed(folder: Path, weights: Path) -> tuple[Primed, FakeContext]:
    context = FakeContext()
    return Primed(context, folder / "cache", weights, without_words), context  # type: ignore[arg-type]


def messages(rules: str, words: str = "") -> list[Message]:
    return [{"role": "system", "content": rules}, {"role": "user", "content": words}]


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    return path


def test_a_second_start_computes_nothing(tmp_path: Path, weights: Path) -> None:
    model, context = primed(tmp_path, weights)
    model.prepare(messages("rules"), NEVER)
    assert context.computed == 1
    model, context = primed(tmp_path, weights)
    assert list(model.stream(messages("rules", "hello"), NEVER, max_tokens=9)) == ["answer"]
    assert context.computed == 0
    assert context.known == [ord(char) for char in "rules"]


def test_other_weights_or_rules_are_computed_anew(tmp_path: Path, weights: Path) -> None:
    model, _ = primed(tmp_path, weights)
    model.prepare(messages("rules"), NEVER)
    model.prepare(messages("others"), NEVER)
    weights.write_bytes(b"GGUF2")
    model, context = primed(tmp_path, weights)
    model.prepare(messages("rules"), NEVER)
    assert context.computed == 1
    assert len(list((tmp_path / "cache").glob("*.kv"))) == 3


def test_a_damaged_file_is_computed_anew_and_replaced(tmp_path: Path, weights: Path) -> None:
    model, _ = primed(tmp_path, weights)
    model.prepare(messages("rules"), NEVER)
    (path,) = (tmp_path / "cache").glob("*.kv")
    whole = path.read_text()
    path.write_text("damaged")
    model, context = primed(tmp_path, weights)
    model.prepare(messages("rules"), NEVER)
    assert context.computed == 1
    assert path.read_text() == whole


def test_what_was_cancelled_is_not_kept(tmp_path: Path, weights: Path) -> None:
    model, _ = primed(tmp_path, weights)
    old = CancelToken()
    old.cancel()
    model.prepare(messages("rules"), old)
    assert not list(tmp_path.glob("cache/*"))


def test_a_folder_that_refuses_stops_nobody(tmp_path: Path, weights: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    model, context = primed(tmp_path, weights)
    model.prepare(messages("rules"), NEVER)
    assert context.known


def test_old_files_are_deleted(tmp_path: Path, weights: Path) -> None:
    model, _ = primed(tmp_path, weights)
    for number in range(KEEP + 3):
        model.prepare(messages(f"rules {number}"), NEVER)
    assert len(list((tmp_path / "cache").glob("*"))) == KEEP


def test_beginnings_hold_nothing_a_person_said() -> None:
    prompt = [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "my name is Alex"},
        {"role": "user", "content": "secret"},
    ]
    assert "Alex" not in str(rules_alone(prompt))
    assert "secret" not in str(without_words(prompt))


def test_what_a_killed_process_left_half_written_is_deleted(tmp_path: Path, weights: Path) -> None:
    left = tmp_path / "cache" / "x.12345.part"
    left.parent.mkdir()
    left.write_text("half")
    os.utime(left, (0, 0))
    writing = tmp_path / "cache" / "y.12345.part"
    writing.write_text("another process is at it")
    model, _ = primed(tmp_path, weights)
    model.prepare(messages("rules"), NEVER)
    assert not left.exists()
    assert writing.exists()
