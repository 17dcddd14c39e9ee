"""What is said aloud, and how it sounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.config import TtsConfig
from assistant.errors import ModelError
from assistant.events import Audio, Samples
from assistant.speakable import language_of, speakable
from assistant.testing import tone
from assistant.tts import LONGEST, PiperEngine, PiperVoices, finish, pieces

SAID = {
    "The meeting starts at 10:30.": "The meeting starts at 10 30.",
    "It ends at 11:05.": "It ends at 11 oh 5.",
    "Open 9:00 am to 5:30 p.m. on Friday.": "Open 9 am to 5 30 p.m. on Friday.",
    "Dinner is at 19:15.": "Dinner is at 7 15 p.m.",
    "It is 7:00.": "It is 7 o'clock.",
    "It is 0:30.": "It is 12 30 a.m.",
    "The price is $20, or $3.50.": "The price is 20 dollars, or 3 dollars and 50 cents.",
    "Only $1 and $0.99.": "Only 1 dollar and 99 cents.",
    "About $1,250,000 or $5 million.": "About 1,250,000 dollars or 5 million dollars.",
    "€9.99 and £15": "9 euros and 99 cents and 15 pounds",
    "Pi is 3.5 here.": "Pi is 3.5 here.",
    "Dr. Smith met Mrs. Lee.": "Doctor Smith met Missus Lee.",
    "I live on St. James St.": "I live on Saint James Street.",
    "Room A302 is free.": "Room A3 oh 2 is free.",
    "In 2026 and 1999, not 2005.": "In 20 26 and 19 99, not 2005.",
    "In 1900 and 1905.": "In 19 hundred and 19 oh 5.",
    "It has 1,999 parts.": "It has 1,999 parts.",
    "On 2026-05-12.": "On May 12, 20 26.",
    "The 1980s and the 90s.": "The 19 eighties and the nineties.",
    "5 km at 30°C, e.g. today.": "5 kilometers at 30 degrees Celsius, for example today.",
    "1 kg, 2 lbs. and 6 ft.": "1 kilogram, 2 pounds and 6 feet.",
    "100 km/h or 60 mph": "100 kilometers an hour or 60 miles an hour",
    "Call 555-1234.": "Call 5 5 5, 1 2 3 4.",
    "Your code is 0042.": "Your code is zero zero 4 2.",
    "From 9-5, pages 10–12.": "From 9 to 5, pages 10 to 12.",
    "7 x 6 = 42, and 3 * 2.": "7 times 6 = 42, and 3 times 2.",
    "Half is 1/2.": "Half is one half.",
    "What's up... nothing!": "What's up, nothing!",
    "Milk, eggs, etc.": "Milk, eggs, et cetera.",
    "Really?!?": "Really?",
}


@pytest.mark.parametrize("written", SAID)
def test_english_is_said_as_people_say_it(written: str) -> None:
    assert speakable(written, "en") == SAID[written]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("**Bold**, *starred*, `code` and __more__.", "Bold, starred, code and more."),
        ("- milk\n- eggs\n", "milk. eggs"),
        ("# Plan\n\nFirst, rest.", "Plan. First, rest."),
        ("C# and #5 {here}", "C sharp and number 5 here"),
        ("See [the page](https://a.example/b?c=1).", "See the page."),
        ("Go to https://www.example.com/page for more.", "Go to example.com for more."),
        ("Hello 😀 to you 🎉!", "Hello to you!"),
        ("Use ```rm -rf /``` never.", "Use never."),
        ("It's “fine” — really…", 'It\'s "fine", really.'),
        ("a_variable_name", "a variable name"),
        ("My friend 李雷 is here.", "My friend is here."),
    ],
)
def test_markup_and_emoji_are_never_spoken(written: str, said: str) -> None:
    assert speakable(written, "en") == said


@pytest.mark.parametrize("text", ["", "  ", "👍🎉", "...", "***", "?!", "—", "\n\n", "```x```"])
def test_what_has_no_sound_is_nothing(text: str) -> None:
    assert speakable(text, "en") == ""


def test_chinese_numbers_and_signs() -> None:
    said = speakable("**房间**10:30开始，涨了20%，￥35.5，3-5天，气温30℃ 😀。", "zh")
    assert said == "房间10点30分开始，涨了百分之20，35.5元，3到5天，气温30摄氏度。"


@given(st.text(max_size=200))
def test_any_text_becomes_one_clean_line(text: str) -> None:
    said = speakable(text, "en")
    assert said == said.strip()
    assert not re.search(r"[*`#\n\r]|\s\s", said)
    assert not said or any(char.isalnum() for char in said)


@pytest.mark.parametrize(
    ("text", "expected", "language"),
    [
        ("Hello there.", "en", "en"),
        ("你好，房间订好了。", "en", "zh"),
        ("Hello there.", "zh", "en"),
        ("我住在New York。", "zh", "zh"),
        ("My friend is called 李雷.", "en", "en"),
        ("今日はいい天気です", "en", "ja"),
        ("天気", "ja", "ja"),
        ("Привет, мир", "en", "ru"),
        ("Guten Tag", "de", "de"),
        ("42!", "zh", "zh"),
        ("", "en", "en"),
    ],
)
def test_the_script_tells_the_language(text: str, expected: str, language: str) -> None:
    assert language_of(text, expected) == language


class FakeEngine:
    """A hum with silence around it, one second for each word."""

    rate = 22_050

    def __init__(self, level: float = 0.05) -> None:
        self.asked: list[tuple[str, float]] = []
        self._level = level

    def speak(self, text: str, speed: float) -> Samples:
        self.asked.append((text, speed))
        hum = tone(len(text.split()) / speed, 150, self.rate, self._level)
        silence = np.zeros(self.rate // 2, np.float32)
        return np.concatenate([silence, hum, silence])


def spoken(voices: PiperVoices, text: str, language: str = "en") -> list[Audio]:
    return list(voices.synthesize(text, language))


def test_each_sentence_is_its_own_sound_made_when_it_is_asked_for() -> None:
    engine = FakeEngine()
    sounds = PiperVoices({"en": engine}, 1.25).synthesize("One two. Three four five!", "en")
    assert engine.asked == []
    next(sounds)
    assert engine.asked == [("One two.", 1.25)]
    assert len(list(sounds)) == 1


def test_the_voices_own_silence_is_trimmed_and_a_short_pause_follows() -> None:
    audio = spoken(PiperVoices({"en": FakeEngine()}), "One two.")[0]
    assert audio.seconds == pytest.approx(0.02 + 2.0 + 0.06 + 0.24, abs=0.02)
    clause = spoken(PiperVoices({"en": FakeEngine()}), "One two,")[0]
    assert audio.seconds - clause.seconds == pytest.approx(0.16, abs=0.01)


@pytest.mark.parametrize("level", [0.01, 0.05, 0.3, 0.9])
def test_speech_has_one_level_and_never_clips(level: float) -> None:
    audio = spoken(PiperVoices({"en": FakeEngine(level)}), "One two three four.")[0]
    assert np.sqrt(np.square(audio.samples[2000:80_000]).mean()) == pytest.approx(0.1, rel=0.05)
    peaky = tone(1.0, level=0.02) + np.where(np.arange(16_000) % 4000 == 1, 0.9, 0).astype("f4")
    assert np.abs(finish(peaky, 16_000, "a")).max() < 0.99


def test_both_ends_are_silent_so_that_nothing_clicks() -> None:
    audio = spoken(PiperVoices({"en": FakeEngine()}), "One.")[0]
    assert audio.samples[0] == 0 and audio.samples[-1] == 0
    assert np.abs(np.diff(audio.samples)).max() < 0.03


def test_nothing_speakable_yields_nothing() -> None:
    engine = FakeEngine()
    assert spoken(PiperVoices({"en": engine}), "👍 ... !") == []
    assert engine.asked == []


def test_a_chinese_sentence_never_reaches_an_english_voice() -> None:
    engine = FakeEngine()
    with pytest.raises(ModelError, match=r"No installed voice speaks zh .*tts\.zh"):
        spoken(PiperVoices({"en": engine}), "你好", "zh")
    assert engine.asked == []


def test_a_failing_voice_is_one_sentence() -> None:
    class Broken(FakeEngine):
        def speak(self, text: str, speed: float) -> Samples:
            raise RuntimeError("[ONNXRuntimeError] : 2\nlong trace")

    with pytest.raises(ModelError, match=r"^The voice failed on a sentence \(.*\)\.$"):
        spoken(PiperVoices({"en": Broken()}), "Hello.")


def test_long_sentences_are_divided_without_losing_a_word() -> None:
    text = "word, " * 200 + "x" * 700 + ". " + "Short one. " + "no comma here " * 60
    parts = list(pieces(text))
    assert max(map(len, parts)) <= LONGEST
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")
    assert "Short one." in parts


@pytest.mark.parametrize("damage", ["no settings", "bad settings", "no voice", "bad voice"])
def test_a_damaged_voice_is_one_sentence(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "voice.onnx"
    settings = '{"audio": {"sample_rate": 22050}, "espeak": {"voice": "en"}, "num_symbols": 9,'
    if damage != "no voice":
        path.write_bytes(b"not a network")
    if damage != "no settings":
        Path(f"{path}.json").write_text(
            "{"
            if damage == "bad settings"
            else settings + '"num_speakers": 1, "phoneme_id_map": {}}'
        )
    with pytest.raises(
        ModelError, match=r"voice\.onnx.*Run: run\.py models (pull|verify)$"
    ) as told:
        PiperEngine(path)
    assert "\n" not in str(told.value)


@pytest.fixture(scope="module")
def voices(weights: Callable[[str, str], Path]) -> Iterator[PiperVoices]:
    yield PiperVoices.load(TtsConfig(), lambda name, kind: weights(name, kind))


@pytest.mark.models
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Your dentist appointment is tomorrow at ten.", "your dentist appointment is tomorrow at"),
        ("**Room A302** costs $3.50 from 10:30.", "costs  from"),
        ("Dr. Lee lives 5 km from St. James St. 😀", "kilometers from"),
    ],
)
def test_the_real_voice_is_understood(
    voices: PiperVoices, listener: Callable[[Audio], str], text: str, words: str
) -> None:
    sounds = spoken(voices, text)
    samples = np.concatenate([audio.samples for audio in sounds])
    heard = listener(Audio(samples, sounds[0].rate)).lower()
    assert words in re.sub(r"[^a-z ]", "", heard), heard
    assert "asterisk" not in heard and "face" not in heard


@pytest.mark.models
def test_the_real_voice_has_even_level_no_clipping_and_obeys_speed(voices: PiperVoices) -> None:
    levels = []
    for text in ("Okay.", "I have booked the room with the window for Friday.", "Is it so?"):
        audio = spoken(voices, text)[0]
        loud = audio.samples[np.abs(audio.samples) > 0.01]
        levels.append(20 * np.log10(np.sqrt(np.square(loud).mean())))
        assert np.abs(audio.samples).max() < 0.99
    assert max(levels) - min(levels) < 3.5
    fast = PiperVoices(voices._engines, 1.5)
    text = "I have booked the room with the window for Friday."
    assert spoken(fast, text)[0].seconds < 0.87 * spoken(voices, text)[0].seconds
