"""Recognition is told what to expect: what the engine is asked, what is believed, what it helps."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assistant.asr import Whisper
from assistant.audio import files
from assistant.bench.asr_words import Heard, Item, noisy, recorded, sentences, speaker, summary
from assistant.config import AsrConfig
from assistant.errors import InputError
from assistant.events import Audio
from assistant.expected import believed, holds, prompt_tokens, tidied
from assistant.testing import tone
from assistant.tts import PiperEngine
from tests.test_asr import RATE, Engine, Letters, Samples, sound

PREVIOUS = Letters().token_to_id("<|startofprev|>")
START = Letters().token_to_id("<|startoftranscript|>")


def letters(text: str) -> list[int]:
    return [ord(letter) for letter in text]


# ── what the engine is asked ─────────────────────────────────────────────────


def test_d8_expected_words_stand_before_the_start_of_the_transcript() -> None:
    engine = Engine("call shivon", "call Siobhan")
    whisper = Whisper(engine, AsrConfig())
    whisper.expect(["Siobhan", "A302"], asked=True)
    assert whisper.transcribe(sound(2)).text == "call Siobhan"
    plain, told = (asked["prompt"] for asked in engine.asked)
    assert told == [PREVIOUS, *letters(" Siobhan, A302."), *plain]
    assert plain[0] == START


def test_the_longer_prompt_leaves_as_much_room_for_the_answer() -> None:
    engine = Engine("call shivon", "call Siobhan")
    whisper = Whisper(engine, AsrConfig())
    whisper.expect(["Siobhan"], asked=True)
    whisper.transcribe(sound(2))
    room = [asked["max_length"] - len(asked["prompt"]) for asked in engine.asked]
    assert room == [42, 42]


def test_the_sound_is_encoded_once_and_the_language_detected_once() -> None:
    engine = Engine("call shivon", "call Siobhan")
    whisper = Whisper(engine, AsrConfig())
    whisper.expect(["Siobhan"], asked=True)
    whisper.transcribe(sound(2))
    assert (len(engine.windows), engine.detections) == (1, 1)


def test_nothing_is_asked_twice_when_nothing_is_expected_or_it_is_switched_off() -> None:
    for config, words in ((AsrConfig(), []), (AsrConfig(hotwords=False), ["Siobhan"])):
        engine = Engine("call shivon")
        whisper = Whisper(engine, config)
        whisper.expect(words, asked=True)
        assert whisper.transcribe(sound(2)).text == "call shivon"
        assert PREVIOUS not in engine.asked[0]["prompt"]


def test_what_is_expected_is_replaced_not_added_to() -> None:
    engine = Engine("call shivon")
    whisper = Whisper(engine, AsrConfig())
    whisper.expect(["Siobhan"], asked=True)
    whisper.expect([])
    assert whisper.transcribe(sound(2)).text == "call shivon"


def test_sure_words_are_not_asked_again() -> None:
    engine = Engine("good morning", scores=[-0.05])
    whisper = Whisper(engine, AsrConfig())
    whisper.expect(["Siobhan"], asked=True)
    assert whisper.transcribe(sound(2)).text == "good morning"


@pytest.mark.parametrize(
    ("score", "silent"), [(-3.0, 0.05), (-0.9, 0.9)], ids=["unsure words", "no speech"]
)
def test_what_is_refused_without_them_stays_refused(score: float, silent: float) -> None:
    engine = Engine("thank you", "A302", scores=[score, -0.05], silent=silent)
    whisper = Whisper(engine, AsrConfig())
    whisper.expect(["A302"], asked=True)
    heard = whisper.transcribe(sound(1))
    assert (heard.text, heard.why_empty) == ("", "it does not sound like words")
    assert engine.answers == ["A302"], "nobody was asked again"


@pytest.mark.parametrize(
    ("told", "score"),
    [("Siobhan " * 9, -0.1), ("call Siobhan", -0.6), ("call Siobhan", -4.0)],
    ids=["a loop", "less likely", "refused"],
)
def test_a_doubtful_second_hearing_is_not_believed(told: str, score: float) -> None:
    whisper = Whisper(Engine("call shivon", told, scores=[-0.2, score]), AsrConfig())
    whisper.expect(["Siobhan"], asked=True)
    assert whisper.transcribe(sound(3)).text == "call shivon"


def test_the_language_is_chosen_without_the_words() -> None:
    engine = Engine("喂物的有", "call shivon", "call Siobhan", scores=[-1.3, -0.2, -0.1])
    engine.heard = {"<|zh|>": 0.6, "<|en|>": 0.4}
    whisper = Whisper(engine, AsrConfig())
    whisper.expect(["Siobhan", "王小明"], asked=True)
    heard = whisper.transcribe(sound(2))
    assert (heard.text, heard.language) == ("call Siobhan", "en")
    assert engine.asked[2]["prompt"][1:10] == letters(" Siobhan.")


def test_words_of_another_script_alone_cost_nothing() -> None:
    engine = Engine("call shivon")
    whisper = Whisper(engine, AsrConfig())
    whisper.expect(["王小明"], asked=True)
    assert whisper.transcribe(sound(2)).text == "call shivon"


def test_each_part_of_long_sound_is_told_the_same_although_others_are_expected_meanwhile() -> None:
    class Changing(Engine):
        def feature_extractor(self, samples: Samples) -> Samples:
            thread = threading.Thread(target=told.expect, args=[["Tamsin"]], kwargs={"asked": True})
            thread.start()
            thread.join()
            return super().feature_extractor(samples)

    engine = Changing("one", "one", "two", "two", "three", "three")
    told = Whisper(engine, AsrConfig())
    told.expect(["Siobhan"], asked=True)
    told.transcribe(sound(40))
    prompts = [asked["prompt"] for asked in engine.asked if asked["prompt"][0] == PREVIOUS]
    assert len(prompts) >= 2
    assert all(prompt[1:10] == letters(" Siobhan.") for prompt in prompts)


# ── which words, and which of them are believed ──────────────────────────────


def test_the_prompt_keeps_its_budget_and_the_first_words() -> None:
    words = [f"word{number}" for number in range(20)]
    tokens = prompt_tokens(words, "en", letters, budget=40)
    assert bytes(tokens).decode() == " word0, word1, word2, word3, word4."
    assert prompt_tokens(["a name that is much too long", "Tamsin"], "en", letters, budget=12) == (
        letters(" Tamsin.")
    )


def test_words_are_tidied() -> None:
    assert tidied([" desk \n lamps", "A302", "", "…", "a", "A302", "x" * 41]) == (
        "desk lamps",
        "A302",
    )
    assert len(tidied(f"word {number}" for number in range(1000))) == 32


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Book a 302 for tomorrow.", "A302"),
        ("How old is AP1001?", "AP-1001"),
        ("order a-3-oh-2, or a three zero two", "A302"),
        ("tell siobhan's brother", "Siobhan"),
        ("预定靠窗的房间", "靠窗"),
    ],
)
def test_a_value_is_found_however_it_is_spaced(text: str, word: str) -> None:
    assert holds(text, word)


@pytest.mark.parametrize(
    ("text", "word"), [("Book A3021.", "A302"), ("Book BA 302.", "A302"), ("toners", "toner")]
)
def test_a_part_of_another_word_is_no_value(text: str, word: str) -> None:
    assert not holds(text, word)


@pytest.mark.parametrize(
    ("plain", "told", "word"),
    [
        ("Ask Lind quist to come.", "Ask Lindqvist to come.", "Lindqvist"),
        ("We meet the NH 506.", "We meet in H506.", "H506"),
        ("Cancel order 01009", "Cancel order O-1009.", "O-1009"),
        ("Is a 1142 here?", "Is O-1142 here?", "O-1142"),
        ("We need fools cut paper.", "We need foolscap paper.", "foolscap paper"),
        ("我要靠场的", "我要靠窗的", "靠窗"),
        ("Margarit", "Marguerite", "Marguerite"),
    ],
)
def test_a_word_is_believed_where_something_like_it_was_heard(
    plain: str, told: str, word: str
) -> None:
    assert believed(plain, told, ["printer", word])


@pytest.mark.parametrize(
    ("plain", "told", "words"),
    [
        ("two.", "A302.", ["A302"]),
        ("Seven.", "A302, C001.", ["A302", "C001"]),
        ("Pause.", "A305.", ["A305"]),
        ("Cancel D416.", "Cancel B416.", ["B416"]),
        ("Cancel order 01009", "Cancel order O-1019.", ["O-1009", "O-1019"]),
        ("Alexander is good at tennis.", "A302 is good at tennis.", ["A302"]),
        ("free", "Priyanka", ["Priyanka"]),
        ("Put it there.", "Put it there, Tamsin.", ["Tamsin"]),
        ("We go by train.", "We go by rain.", ["Tamsin"]),
        ("Call Tamsin.", "call Tamsin", ["Tamsin"]),
    ],
)
def test_a_word_nobody_said_is_not_believed(plain: str, told: str, words: list[str]) -> None:
    assert not believed(plain, told, words)


# ── the benchmark ────────────────────────────────────────────────────────────


def test_sentences_are_whole() -> None:
    rows = sentences()
    assert len(rows) >= 40
    assert {row["kind"] for row in rows} == {"code", "name", "item"}
    for row in rows:
        assert "{}" in row["text"]
        assert not holds(row["value"], row["near"])


def _item(values: tuple[str, ...], words: str) -> Item:
    return Item("code", words, values, values, ("B105",), lambda: Audio(tone(1), RATE))


def test_the_figures_count_values_words_and_what_was_put_in() -> None:
    took = {"without": 1.0, "with": 1.5, "wrong_words": 1.0}
    first = {"without": "Book a 302.", "with": "Book A302.", "wrong_words": "Book B105."}
    second = {"without": "Look Syvan.", "with": "Call Siobhan.", "wrong_words": "Call Syvan."}
    found = summary(
        [
            Heard(_item(("A302",), "Book A302."), first, took),
            Heard(_item(("Siobhan",), "Call Siobhan."), second, took),
        ]
    )
    assert found["value_accuracy_without"] == 50
    assert found["value_accuracy_with"] == 100
    assert found["value_accuracy_wrong_words"] == 0
    assert (found["wer_without"], found["wer_with"], found["wer_wrong_words"]) == (40, 0, 60)
    assert (found["wrong_words_put_in"], found["time_ratio"]) == (1, 1.5)


def test_recordings_are_given_words_of_their_own_kind(tmp_path: Path) -> None:
    drinks = [{"file": f"drinks/{name}.wav", "transcript": None, "intent": {"slots": {"d": name}}}
              for name in ("tea", "coffee", "milk")]  # fmt: skip
    spoken = {"file": "commands/a.wav", "transcript": "NEXT SONG please"}
    lines = "\n".join(map(json.dumps, [*drinks, spoken]))
    (tmp_path / "manifest.jsonl").write_text(lines, "utf-8")
    items = recorded(tmp_path)
    assert [item.values for item in items] == [("tea",), ("coffee",), ("milk",), ("please",)]
    assert set(items[0].right) == {"tea", "coffee", "milk"}
    assert set(items[0].wrong) == {"coffee", "milk"}


def test_a_folder_without_a_manifest_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"manifest\.jsonl"):
        recorded(tmp_path)


def test_noise_has_the_level_that_was_asked_for() -> None:
    speech = Audio(tone(2), RATE)
    mixed = noisy(speech, 10.0, seed=1)
    noise = mixed.samples - noisy(speech, None, seed=1).samples
    ratio = np.square(speech.samples).mean() / np.square(noise).mean()
    assert 10 * np.log10(ratio) == pytest.approx(10, abs=0.3)
    assert np.array_equal(mixed.samples, noisy(speech, 10.0, seed=1).samples)


# ── on real weights ──────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def whisper(weights: Callable[[str, str], Path]) -> Whisper:
    config = AsrConfig()
    return Whisper.load(config, weights(config.model, "asr"))


@pytest.mark.models
def test_silence_and_noise_stay_silent_whatever_is_expected(
    whisper: Whisper, testdata: Path
) -> None:
    lines = (testdata / "speech" / "manifest.jsonl").read_text("utf-8").splitlines()
    names = [entry["file"] for entry in map(json.loads, lines) if entry["transcript"] == ""]
    names = [name for name in names if name.startswith(("silence/", "noise/"))]
    assert names
    codes = [row["value"] for row in sentences() if row["kind"] == "code"]
    whisper.expect(codes, asked=True)
    heard = {
        name: whisper.transcribe(files.read(testdata / "speech" / name)).text for name in names
    }
    assert heard == dict.fromkeys(names, "")


@pytest.mark.models
def test_digits_are_not_taken_for_an_expected_code(whisper: Whisper, testdata: Path) -> None:
    codes = ["A302", "A305", "B105", "B210", "C001", "D416", "E209"]
    whisper.expect(codes, asked=True)
    for path in sorted((testdata / "speech" / "en_digits").iterdir())[::4]:
        text = whisper.transcribe(files.read(path)).text
        assert not any(holds(text, code) for code in codes), path.name


@pytest.mark.models
def test_an_expected_name_is_written_as_it_is_expected(
    whisper: Whisper, weights: Callable[[str, str], Path]
) -> None:
    engine = PiperEngine(weights("en_US-joe-medium", "tts"))
    plain = Whisper(whisper.engine, replace(AsrConfig(), hotwords=False))
    names = ["Szabo", "Oyelaran", "Tamsin", "Marguerite", "Okonkwo"]
    heard = []
    for recogniser in (plain, whisper):
        recogniser.expect(names, asked=True)
        said = [speaker(engine, f"My friend {name} is here.", 1.0, None, 0)() for name in names]
        heard.append(
            sum(
                holds(recogniser.transcribe(audio).text, name)
                for audio, name in zip(said, names, strict=True)
            )
        )
    assert heard[0] < 3 <= heard[1]
