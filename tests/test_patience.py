"""How long a silence must be, from words and sound."""

from __future__ import annotations

import pytest

from assistant.config import EndpointConfig
from assistant.mind.finished import By, Finish, sounds_finished
from assistant.patience import Level, Limits, Signs, patience

LIMITS = Limits()


def ms(text: str, sound: float | None, confidence: float = 0.9, act: str = "") -> int:
    signs = Signs(sounds_finished(text, "en"), confidence, sound, act)
    return patience(signs, LIMITS).ms


def test_v1_a_complete_command_that_sounds_done_closes_early() -> None:
    assert ms("Turn off all of the lights.", 0.97) == 250
    assert ms("What's the weather?", 0.97) == 250


def test_v1_trailing_off_is_given_time() -> None:
    assert ms("Turn off all of the", 0.3) == 1500
    assert ms("set a timer for", None) == 1500


@pytest.mark.parametrize("sound", [0.5, 0.8, 0.99, None])
def test_v1_a_sound_alone_never_closes_early(sound: float | None) -> None:
    assert patience(Signs(sound=sound), LIMITS).ms == 600


def test_v1_words_alone_never_close_a_command_early() -> None:
    assert ms("Turn off all of the lights.", None) == 600


def test_words_that_were_heard_badly_are_not_believed() -> None:
    assert ms("Set a timer for it.", 0.8, confidence=0.6) == 1500
    assert ms("Set a timer for it.", 0.97, confidence=0.6) == 600
    assert ms("Set a timer for it.", 0.97, confidence=0.3) == 1500


def test_d2_an_answer_to_a_question_needs_no_clear_recognition() -> None:
    answer = Finish("finished", "time was asked for", "flow")
    assert patience(Signs(answer, 0.3, 0.95), LIMITS).ms == 250
    assert patience(Signs(answer, 0.3), LIMITS).ms == 425


def test_a_decision_that_needs_nothing_more_counts_as_a_whole() -> None:
    assert ms("B105 tomorrow", 0.95) == 1050
    assert ms("B105 tomorrow", 0.95, act="confirm") == 250
    assert ms("B105 tomorrow and", 0.95, act="confirm") > 600, "open words are open all the same"
    assert ms("B105 tomorrow", 0.95, act="ask:time") == 1050


@pytest.mark.parametrize("state", ["finished", "unknown", "open"])
@pytest.mark.parametrize("by", ["flow", "form", "wish", "mark", ""])
@pytest.mark.parametrize("confidence", [0.2, 0.6, 0.9])
def test_better_sound_never_means_a_longer_wait(state: str, by: By, confidence: float) -> None:
    if state == "finished" and not by:
        return
    finish = Finish(state, "", by)  # type: ignore[arg-type]
    waits = [patience(Signs(finish, confidence, p), LIMITS).ms for p in (0.1, 0.7, 0.95)]
    assert waits == sorted(waits, reverse=True)
    assert all(250 <= wait <= 1500 for wait in waits)


def test_the_settings_bound_every_wait() -> None:
    slow = Limits.of(EndpointConfig(silence_ms=2000))
    assert [slow.ms(level) for level in Level] == [250, 1125, 2000, 2000, 2000]
    quick = Limits.of(EndpointConfig(silence_ms=200))
    assert [quick.ms(level) for level in Level] == [200, 200, 200, 850, 1500]


def test_why_names_words_and_sound() -> None:
    found = patience(Signs(sounds_finished("set a timer for", "en"), 0.9, 0.25), LIMITS)
    assert "nobody stops at 'for'" in found.why
    assert "0.25" in found.why
    assert found.seconds == 1.5
