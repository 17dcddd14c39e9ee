"""The words that were heard of a sentence that was cut (M7: right to the word)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from assistant.audio.spoken_words import Silence, heard_words, silences
from assistant.events import Audio, Samples
from assistant.testing import tone

# What Piper's en_US-joe really did, from its phoneme durations: seconds, pauses, end of each word.
SPOKEN: list[tuple[str, float, list[Silence], list[float]]] = [
    (
        "Sure, I have added bananas and olive oil to your shopping list.",
        3.98,
        [(0.38, 0.61), (3.68, 3.98)],
        [0.33, 0.72, 0.94, 1.27, 1.78, 1.97, 2.30, 2.54, 2.72, 2.82, 3.26, 3.69],
    ),
    (
        "I will wake you up at half past six tomorrow morning.",
        2.88,
        [(2.58, 2.88)],
        [0.12, 0.30, 0.55, 0.67, 0.83, 0.95, 1.24, 1.55, 1.84, 2.22, 2.61],
    ),
    (
        "The large meeting room is taken until three, but the small one is free now.",
        4.36,
        [(2.32, 2.58), (4.06, 4.36)],
        [0.10, 0.44, 0.79, 1.02, 1.18, 1.56, 1.90, 2.32, 2.73, 2.83, 3.14, 3.32, 3.44, 3.74, 4.06],
    ),
    (
        "All three reminders are deleted; the timer is still running.",
        3.42,
        [(1.67, 1.93), (3.12, 3.42)],
        [0.18, 0.45, 1.00, 1.12, 1.67, 2.00, 2.34, 2.49, 2.74, 3.12],
    ),
    (
        "Remember that the parcel has to be collected before Saturday.",
        3.39,
        [(3.09, 3.39)],
        [0.38, 0.57, 0.67, 1.14, 1.37, 1.55, 1.64, 2.16, 2.50, 3.12],
    ),
]
CASES = [pytest.param(*case, id=case[0].split(",")[0]) for case in SPOKEN]


def sound(*parts: float, rate: int = 22_050) -> Audio:
    """Tone and silence in turn, of so many seconds."""
    made: list[Samples] = []
    for number, part in enumerate(parts):
        silent = np.zeros(round(part * rate), np.float32)
        made.append(silent if number % 2 else tone(part, rate=rate))
    return Audio(np.concatenate(made), rate)


@pytest.mark.parametrize(("text", "seconds", "pauses", "ends"), CASES)
def test_m7_what_was_heard_is_right_to_one_word(
    text: str, seconds: float, pauses: list[Silence], ends: list[float]
) -> None:
    words = text.split()
    for cut in np.arange(0.0, seconds, 0.02):
        heard = heard_words(text, "en", seconds, cut, pauses)
        assert text.startswith(heard)
        really = sum(end <= cut for end in ends)
        assert abs(len(heard.split()) - really) <= 1, f"{words[:really]} at {cut:.2f} s"


@pytest.mark.parametrize(("text", "seconds", "pauses", "ends"), CASES)
def test_m7_nothing_is_heard_before_the_first_word_and_all_at_the_end(
    text: str, seconds: float, pauses: list[Silence], ends: list[float]
) -> None:
    assert heard_words(text, "en", seconds, 0.0, pauses) == ""
    assert heard_words(text, "en", seconds, seconds, pauses) == text
    assert heard_words(text, "en", seconds, seconds + 5.0) == text


def test_m7_a_pause_tells_where_its_comma_is() -> None:
    text = "Well, everything else that stands here was said rather quickly."
    pauses = [(2.0, 2.5), (4.0, 4.3)]
    assert heard_words(text, "en", 4.3, 1.9, pauses) == ""
    assert heard_words(text, "en", 4.3, 2.1, pauses) == "Well,"
    assert heard_words(text, "en", 4.3, 2.1) != "Well,", "without the sound it is taken for longer"


def test_m7_a_pause_without_a_mark_and_a_mark_without_a_pause_do_no_harm() -> None:
    text = "One, two, three four, five."
    inner = [(0.9, 1.1)]
    heard = [heard_words(text, "en", 3.3, cut, [*inner, (3.0, 3.3)]) for cut in (0.89, 0.92, 2.99)]
    assert heard[0] in ("One,", "One, two,") and heard[2].startswith("One, two, three four,")
    assert heard_words("One two three", "en", 2.0, 1.0, [(0.4, 0.6), (1.7, 2.0)]) != ""


def test_m7_numbers_take_the_time_of_their_words() -> None:
    text = "Room 1,250 is free."
    ends = [cut for cut in np.arange(0, 3, 0.01) if heard_words(text, "en", 3.0, cut) == "Room"]
    assert ends[-1] - ends[0] > 1.0, "'one thousand two hundred fifty' is most of it"


def test_m7_chinese_is_heard_by_the_character() -> None:
    text = "好的，我已经帮你订好了A302房间。"
    heard = [heard_words(text, "zh", 4.0, cut) for cut in np.arange(0, 4.01, 0.1)]
    assert heard[0] == "" and heard[-1] == text
    assert all(after.startswith(before) for before, after in pairwise(heard))
    assert len(set(heard)) > 10
    assert not any(one.endswith(("A", "A3", "A30")) for one in heard)


@pytest.mark.parametrize("text", ["", "   ", "—", "🙂", "..."])
def test_m7_a_text_without_words_is_no_trouble(text: str) -> None:
    assert heard_words(text, "en", 1.0, 0.5) == ""
    assert heard_words(text, "en", 0.0, 0.0).strip() in ("", text.strip())


def test_m7_the_pauses_of_a_sound_are_found_and_closures_are_not() -> None:
    found = silences(sound(0.5, 0.25, 0.4, 0.1, 0.6, 0.3))
    assert np.allclose(found, [(0.5, 0.75), (1.85, 2.15)], atol=0.02)
    assert silences(Audio(np.zeros(0, np.float32), 22_050)) == []
    assert silences(sound(1.0)) == []
