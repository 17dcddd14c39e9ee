"""Which texts are believed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.config import AsrConfig
from assistant.evidence import Evidence, loops, most_tokens, tidy, why_refused

SURE = Evidence("turn on the light", (1, 2, 3, 4), -0.2, 0.01)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (" Turn on the light. ", "Turn on the light."),
        ("[BLANK_AUDIO]", ""),
        ("(music) hello *laughs* ♪ there", "hello there"),
        ("【字幕】 你好", "你好"),
        ("...", ""),
        ("!?", ""),
        ("<|nospeech|>", ""),
        ("3", "3"),
        ("a  b\n c", "a b c"),
    ],
)
def test_only_words_are_left(raw: str, text: str) -> None:
    assert tidy(raw) == text


@pytest.mark.parametrize("piece", [[7], [7, 8], [7, 8, 9], list(range(12))])
def test_a_piece_said_over_and_over_is_a_loop(piece: list[int]) -> None:
    assert loops([1, 2, *piece * 8])


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [1],
        [5, 5, 5],  # no no no
        [5, 5, 5, 5, 5],  # a telephone number
        [1, 2, 3, 1, 2, 3],  # said twice
        [1, 2, 1, 2, 1, 2],
        [*range(12), *range(12)],
    ],
)
def test_what_people_do_repeat_is_no_loop(tokens: list[int]) -> None:
    assert not loops(tokens)


@given(st.lists(st.integers(0, 50_000), unique=True, max_size=100))
def test_different_tokens_never_loop(tokens: list[int]) -> None:
    assert not loops(tokens)


def test_a_sure_text_stands() -> None:
    assert why_refused(SURE, AsrConfig()) == ""


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"text": ""}, "no words"),
        ({"log_prob": -2.5}, "not sound like words"),
        ({"tokens": (3, 4) * 9}, "over and over"),
        ({"no_speech": 0.9, "log_prob": -0.8}, "not sound like words"),
    ],
)
def test_each_check_refuses_by_itself(changes: dict[str, object], reason: str) -> None:
    assert reason in why_refused(replace(SURE, **changes), AsrConfig())  # type: ignore[arg-type]


def test_clear_words_survive_a_high_no_speech_probability() -> None:
    assert why_refused(replace(SURE, no_speech=0.95), AsrConfig()) == ""


def test_misheard_but_clear_speech_is_not_noise() -> None:
    assert why_refused(replace(SURE, log_prob=-1.4), AsrConfig()) == ""


def test_thresholds_of_nothing_do_not_divide_by_nothing() -> None:
    strict = AsrConfig(no_speech_threshold=0.0, log_prob_threshold=0.0)
    assert "words" in why_refused(SURE, strict)


def test_nobody_says_more_than_the_limit() -> None:
    quickest = 2 * 11  # Chinese, two seconds
    assert most_tokens(2.0) > 1.5 * quickest
    assert most_tokens(2.0) < 60
