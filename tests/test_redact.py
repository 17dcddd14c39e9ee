"""Secrets never reach state, log, memory or a prompt (M12)."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.redact import Redacted, redact, warm
from assistant.redact.lexicon import plain

ROOT = Path(__file__).resolve().parent.parent

SUITE = Path(__file__).with_name("secrets.jsonl")
BENCH = ROOT / "assistant" / "bench"
FALSE = 0.02
"""share of ordinary texts that may lose something"""
PIECE = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]")
NAME = re.compile(r"\[[a-zA-Z ]+\]")


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in SUITE.read_text(encoding="utf-8").splitlines()]


SECRET = [row for row in rows() if row["secrets"]]
INNOCENT = [row for row in rows() if not row["secrets"]]


def pieces(texts: Iterable[str]) -> Counter[str]:
    return Counter(piece for text in texts for piece in PIECE.findall(text.lower()))


@pytest.mark.parametrize("kind", sorted({row["kind"] for row in SECRET}))
def test_m12_no_piece_of_a_secret_is_left(kind: str) -> None:
    for row in SECRET:
        if row["kind"] != kind:
            continue
        found = redact(row["text"])
        left = pieces([NAME.sub(" ", found.text)])
        secret = pieces(row["secrets"])
        allowed = pieces([row["text"]]) - secret
        assert not {piece for piece in secret if left[piece] > allowed[piece]}, found.text
        assert any(one in row["kind"] for one in found.kinds), row["text"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_m12_what_is_no_secret_stays(language: str) -> None:
    innocent = [row["text"] for row in INNOCENT if row["language"] == language]
    assert [text for text in innocent if redact(text) != Redacted(text)] == []


def test_m12_the_suite_is_as_large_as_it_has_to_be() -> None:
    assert len(SECRET) >= 160
    assert len(INNOCENT) >= 120
    for kept in (SECRET, INNOCENT):
        assert {row["language"] for row in kept} == {"en", "zh"}


def test_m12_each_secret_stands_as_its_kind() -> None:
    assert redact("my PIN is 4711 and the wifi password is blue horse 42") == Redacted(
        "my PIN is [PIN] and the wifi password is [password]", ("PIN", "password")
    )
    assert redact("卡号是4111111111111111，有效期12/27，安全码123").kinds == (
        "card number",
        "expiry",
        "security code",
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("my password is blue horse, remind me to buy milk", ", remind me to buy milk"),
        ("my password is blue horse and the room is A302", " and the room is A302"),
        ("my password is blue horse but do not tell Anna", " but do not tell Anna"),
        ("my password is salt and pepper. Book A302.", ". Book A302."),
        ("密码是蓝马四十二，帮我订A302", "，帮我订A302"),
    ],
)
def test_m12_a_spoken_password_ends_with_its_clause(text: str, left: str) -> None:
    assert redact(text).text.split("[password]")[1] == left


def test_m12_redacting_twice_changes_nothing() -> None:
    once = [redact(row["text"]).text for row in SECRET]
    assert [text for text in once if redact(text) != Redacted(text)] == []


@pytest.mark.parametrize(
    ("after", "text", "kinds"),
    [
        ("What is your password?", "hunter two", ("password",)),
        ("What is your password?", "It's blue horse.", ("password",)),
        ("my password is", "hunter two", ("password",)),
        ("Please tell me your PIN.", "4 7 1 1", ("PIN",)),
        ("请问您的密码是什么？", "蓝马四十二", ("password",)),
        ("请说验证码", "四八二九一三", ("code",)),
        ("What is your password?", "I don't know", ()),
        ("What is your password?", "never mind", ()),
        ("What is your password?", "Sure, it's blue horse.", ("password",)),
        ("What is your password?", "okay", ()),
        ("请问您的密码是什么？", "我忘了", ()),
        ("Which room do you want?", "A302", ()),
        ("What is the room code?", "1002", ()),
        ("I have changed the room.", "hunter two", ()),
    ],
)
def test_m12_the_answer_to_a_question_for_a_secret(
    after: str, text: str, kinds: tuple[str, ...]
) -> None:
    assert redact(text, after=after).kinds == kinds


@pytest.mark.parametrize(
    "text",
    [
        "my card number is 4111 1111 1111 1112",  # misheard: the check digit is wrong
        "my iban is DE89 3704 0044 0532 0130 01",
        "身份证号是11010519491231002",
    ],
)
def test_m12_a_named_number_needs_no_check_digit(text: str) -> None:
    assert redact(text).kinds


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112",
        "call me on 0086 138 1234 5678",
        "tracking number 4000 0000 0000 0002",
        "https://example.org/img/4000056655665556",
    ],
)
def test_m12_an_unnamed_number_needs_its_check_digit(text: str) -> None:
    assert redact(text) == Redacted(text)


def test_m12_plain_text_is_as_long_as_the_text() -> None:
    for text in ("İstanbul ＰＩＮ　１２３４", "密碼是“藍馬”", "ﬁ ß Å"):
        assert len(plain(text)) == len(text)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200), st.text(max_size=60))
def test_m12_redaction_never_raises(text: str, after: str) -> None:
    assert isinstance(redact(text, after).text, str)


CUES = ["my password is ", "密码是", "the PIN ", "card number ", "the code is ", "seed phrase: "]
PARTS = st.sampled_from(
    [*CUES, "4111 1111 1111 1111", "four ", "四", ", ", ". ", "and I ", "1", "x"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(PARTS, st.text(max_size=8)), max_size=12).map("".join))
def test_m12_redaction_never_raises_near_a_secret(text: str) -> None:
    found = redact(text)
    assert bool(found.kinds) == (found.text != text) or NAME.search(text)


def test_m12_warming_up_needs_no_text() -> None:
    warm()


def few_lose_anything(texts: list[str]) -> None:
    assert len(texts) > 100
    changed = [text for text in texts if redact(text).kinds]
    assert len(changed) <= FALSE * len(texts), changed[:20]


def test_m12_speech_transcripts_stay(testdata: Path) -> None:
    lines = (testdata / "speech" / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    few_lose_anything([text for line in lines if (text := json.loads(line)["transcript"])])


def test_m12_service_dialogues_stay(testdata: Path) -> None:
    with gzip.open(testdata / "sgd" / "train_turns.jsonl.gz", "rt", encoding="utf-8") as file:
        turns = [json.loads(line) for line, _ in zip(file, range(5000), strict=False)]
    dialogues = json.loads((testdata / "sgd" / "dialogues.json").read_text(encoding="utf-8"))
    said = [turn["utterance"] for one in dialogues for turn in one["turns"]]
    few_lose_anything([turn.get("text", "") for turn in turns])
    few_lose_anything(said)


def test_m12_scripted_dialogues_stay() -> None:
    texts = []
    for path in sorted(BENCH.glob("dialogues_*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            texts += [turn["user"] for turn in json.loads(line)["turns"] if "user" in turn]
    few_lose_anything(texts)
