"""Which texts are believed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.config import AsrConfig
from assistant.evidence import Evidence, most_tokens, once, tidy, why_refused

SURE = Evidence("turn on the light", False, -0.2, 0.01)


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


@pytest.mark.parametrize("piece", [[7], [7, 8], [7, 8, 9], list(range(3, 15))])
@pytest.mark.parametrize("after", [[], [50, 51]])
def test_a_piece_over_and_over_is_said_once(piece: list[int], after: list[int]) -> None:
    assert once([1, 2, *piece * 8, *after]) == [1, 2, *piece, *after]


def test_the_cut_end_of_a_loop_goes_with_it() -> None:
    assert once([1, 7, 8, 9, 7, 8, 9, 7, 8, 9, 7, 8]) == [1, 7, 8, 9]


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
def test_what_people_do_repeat_stays(tokens: list[int]) -> None:
    assert once(tokens) == tokens


@given(st.lists(st.integers(0, 50_000), unique=True, max_size=100))
def test_different_tokens_stay(tokens: list[int]) -> None:
    assert once(tokens) == tokens


@given(st.lists(st.integers(0, 3), max_size=60))
def test_no_word_is_lost_altogether(tokens: list[int]) -> None:
    kept = once(tokens)
    assert len(kept) <= len(tokens)
    assert set(kept) == set(tokens)


def test_a_sure_text_stands() -> None:
    assert why_refused(SURE, AsrConfig()) == ""


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"text": ""}, "no words"),
        ({"log_prob": -2.5}, "not sound like words"),
        ({"looping": True, "no_speech": 0.6}, "over and over"),
        ({"no_speech": 0.9, "log_prob": -0.8}, "not sound like words"),
    ],
)
def test_each_check_refuses_by_itself(changes: dict[str, object], reason: str) -> None:
    assert reason in why_refused(replace(SURE, **changes), AsrConfig())  # type: ignore[arg-type]


def test_clear_words_survive_a_high_no_speech_probability() -> None:
    assert why_refused(replace(SURE, no_speech=0.95), AsrConfig()) == ""


def test_misheard_but_clear_speech_is_not_noise() -> None:
    assert why_refused(replace(SURE, log_prob=-1.4), AsrConfig()) == ""


def test_a_stutter_on_clear_speech_stands() -> None:
    assert why_refused(replace(SURE, looping=True), AsrConfig()) == ""


def test_thresholds_of_nothing_do_not_divide_by_nothing() -> None:
    strict = AsrConfig(no_speech_threshold=0.0, log_prob_threshold=0.0)
    assert "words" in why_refused(SURE, strict)


def test_nobody_says_more_than_the_limit() -> None:
    quickest = 2 * 11  # Chinese, two seconds
    assert most_tokens(2.0) > 1.5 * quickest
    assert most_tokens(2.0) < 60
