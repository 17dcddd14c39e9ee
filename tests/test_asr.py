"""Recognition: what the engine is asked, on a scripted engine; what is heard, on real weights."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.asr import Whisper, divide
from assistant.audio import files
from assistant.config import AsrConfig
from assistant.errors import InputError, ModelError
from assistant.events import Audio, Transcript
from assistant.languages import candidates, simplified

RATE = 16000
Samples = NDArray[np.float32]
Weights = Callable[[str, str], Path]


class Letters:
    """A tokenizer with one token a letter; special tokens lie above."""

    specials = ("<|endoftext|>", "<|startoftranscript|>", "<|notimestamps|>", "<|transcribe|>",
                "<|translate|>", "<|startofprev|>", "<|startoflm|>", "<|nospeech|>",
                "<|en|>", "<|zh|>")  # fmt: skip

    def token_to_id(self, token: str) -> int:
        return 100_000 + self.specials.index(token)

    def encode(self, text: str, add_special_tokens: bool = False) -> Any:
        return SimpleNamespace(ids=[ord(letter) for letter in text])

    def decode(self, tokens: list[int]) -> str:
        return "".join(map(chr, tokens))


class Engine:
    """Stands where a faster_whisper.WhisperModel stands; answers what it was given to answer."""

    max_length = 448

    def __init__(
        self,
        *answers: str,
        multilingual: bool = True,
        scores: Sequence[float] = (),
        silent: float = 0.05,
    ) -> None:
        self.hf_tokenizer = Letters()
        self.supported_languages = ["en", "zh"] if multilingual else ["en"]
        self.model = SimpleNamespace(
            is_multilingual=multilingual, generate=self.generate, detect_language=self.detect
        )
        self.answers = list(answers)
        self.scores = list(scores)
        self.silent = silent
        self.windows: list[int] = []
        self.asked: list[dict[str, Any]] = []
        self.heard = {"<|en|>": 0.9, "<|zh|>": 0.1}
        self.detections = 0

    def feature_extractor(self, samples: Samples) -> Samples:
        return np.zeros((80, len(samples) // 160 + 1), np.float32)

    def encode(self, features: Samples) -> Samples:
        self.windows.append(features.shape[1])
        return features

    def detect(self, encoded: Samples) -> list[list[tuple[str, float]]]:
        self.detections += 1
        return [list(self.heard.items())]

    def generate(self, encoded: Samples, prompts: list[list[int]], **options: Any) -> list[Any]:
        self.asked.append({"prompt": prompts[0], **options})
        tokens = [ord(letter) for letter in self.answers.pop(0)]
        tokens = tokens[: options["max_length"] - len(prompts[0])]
        return [
            SimpleNamespace(
                sequences_ids=[tokens],
                scores=[self.scores.pop(0) if self.scores else -0.2],
                no_speech_prob=self.silent,
            )
        ]


def sound(seconds: float) -> Audio:
    noise = np.random.default_rng(0).normal(0, 0.1, int(seconds * RATE))
    return Audio(noise.astype(np.float32), RATE)


@pytest.mark.parametrize(("seconds", "frames"), [(0.5, 1200), (2, 1200), (13, 1500), (20, 2200)])
def test_the_encoder_sees_as_little_as_is_safe(seconds: float, frames: int) -> None:
    engine = Engine("hello there")
    assert Whisper(engine, AsrConfig()).transcribe(sound(seconds)).text == "hello there"
    assert engine.windows == [frames]


def test_a_loop_is_done_again_with_the_whole_window() -> None:
    engine = Engine("go on " * 9, "go on then")
    heard = Whisper(engine, AsrConfig()).transcribe(sound(6))
    assert (heard.text, heard.redone) == ("go on then", True)
    assert engine.windows == [1200, 3000]


def test_a_loop_that_stays_is_said_once_when_somebody_speaks() -> None:
    heard = Whisper(Engine("go on " * 9, "go on " * 9), AsrConfig()).transcribe(sound(6))
    assert (heard.text, heard.redone) == ("go on", True)


def test_a_loop_that_stays_is_refused_when_speech_is_doubtful() -> None:
    engine = Engine("go on " * 9, "go on " * 9, scores=[-0.9, -0.9], silent=0.5)
    heard = Whisper(engine, AsrConfig()).transcribe(sound(6))
    assert heard.text == ""
    assert "over and over" in heard.why_empty


def test_more_words_than_can_be_said_are_done_again() -> None:
    chatter = "".join(chr(97 + (index * index) % 23) for index in range(400))
    engine = Engine(chatter, "yes")
    assert Whisper(engine, AsrConfig()).transcribe(sound(1)).text == "yes"
    assert engine.windows == [1200, 3000]


def test_the_language_is_detected_on_what_is_encoded_already() -> None:
    engine = Engine("你好")
    engine.heard = {"<|zh|>": 0.98, "<|en|>": 0.02}
    heard = Whisper(engine, AsrConfig()).transcribe(sound(1))
    assert (heard.language, len(engine.windows), engine.detections) == ("zh", 1, 1)
    assert engine.hf_tokenizer.token_to_id("<|zh|>") in engine.asked[0]["prompt"]


def test_english_with_an_accent_is_not_taken_for_chinese() -> None:
    engine = Engine("喂物的有", "why would you write to me", scores=[-1.3, -0.2])
    engine.heard = {"<|zh|>": 0.6, "<|en|>": 0.4}
    heard = Whisper(engine, AsrConfig()).transcribe(sound(1))
    assert (heard.text, heard.language) == ("why would you write to me", "en")
    assert len(engine.windows) == 1


def test_the_configured_language_is_not_detected() -> None:
    engine = Engine("ni hao")
    Whisper(engine, AsrConfig(language="zh")).transcribe(sound(1))
    assert engine.detections == 0


def test_an_english_model_is_always_english() -> None:
    engine = Engine("hello", multilingual=False)
    assert Whisper(engine, AsrConfig()).transcribe(sound(1)).language == "en"
    assert engine.detections == 0


def test_a_language_the_model_lacks_is_refused_when_it_is_loaded() -> None:
    with pytest.raises(ModelError, match="English only"):
        Whisper(Engine(multilingual=False), AsrConfig(language="zh"))
    with pytest.raises(ModelError, match="xx"):
        Whisper(Engine(), AsrConfig(language="xx"))


def test_chinese_is_written_in_simplified_characters() -> None:
    engine = Engine("請把客廳的燈關掉")
    heard = Whisper(engine, AsrConfig(language="zh")).transcribe(sound(2))
    assert heard.text == "请把客厅的灯关掉"
    assert simplified("头发") == "头发"


@pytest.mark.parametrize(
    ("samples", "share", "reason"),
    [
        (np.zeros(RATE, np.float32), 1.0, "silence"),
        (np.zeros(0, np.float32), 1.0, "too short"),
        (sound(0.05).samples, 1.0, "too short"),
        (sound(1).samples, 0.05, "too little speech"),
    ],
)
def test_what_cannot_be_speech_costs_nothing(samples: Samples, share: float, reason: str) -> None:
    engine = Engine()
    heard = Whisper(engine, AsrConfig()).transcribe(Audio(samples, RATE), speech_share=share)
    assert (heard.text, heard.why_empty) == ("", reason)
    assert engine.windows == []


def test_unsure_words_are_refused_with_the_reason() -> None:
    heard = Whisper(Engine("thank you", scores=[-3.0]), AsrConfig()).transcribe(sound(1))
    assert (heard.text, heard.why_empty) == ("", "it does not sound like words")
    assert heard.confidence < 0.1


def test_nan_is_an_error_not_silence() -> None:
    with pytest.raises(InputError, match="not numbers"):
        Whisper(Engine(), AsrConfig()).transcribe(Audio(np.full(RATE, np.nan, np.float32), RATE))


def test_another_rate_is_resampled() -> None:
    engine = Engine("hello")
    samples = sound(3).samples
    Whisper(engine, AsrConfig()).transcribe(Audio(samples, 48000))
    assert engine.asked[0]["max_length"] < 60  # one second, not three


def test_long_sound_is_divided_and_joined() -> None:
    words = ["one", "two", "three", "four", "five", "six"]
    engine = Engine(*words)
    heard = Whisper(engine, AsrConfig()).transcribe(sound(65))
    assert heard.text == " ".join(words[: len(engine.windows)])
    assert 3 <= len(engine.windows) <= 5
    assert max(engine.windows) <= 3000


def test_division_loses_nothing_and_cuts_where_it_is_quiet() -> None:
    samples = sound(70).samples.copy()
    samples[20 * RATE : int(20.5 * RATE)] = 0
    pieces = divide(samples)
    np.testing.assert_array_equal(np.concatenate(pieces), samples)
    assert 20 < len(pieces[0]) / RATE < 20.5
    assert max(map(len, pieces)) <= 28 * RATE


def test_division_leaves_short_sound_whole() -> None:
    assert len(divide(sound(28).samples)) == 1


@pytest.mark.parametrize(
    ("probabilities", "tried"),
    [
        ({"en": 0.9, "zh": 0.05}, ("en",)),
        ({"zh": 0.99, "en": 0.001}, ("zh",)),
        ({"zh": 0.6, "en": 0.3}, ("zh", "en")),
        ({"en": 0.51, "zh": 0.45}, ("en", "zh")),
        ({"la": 0.5, "en": 0.3, "zh": 0.1}, ("en",)),
        ({"fr": 0.97, "en": 0.02}, ("fr", "en")),
    ],
)
def test_languages_worth_trying(probabilities: dict[str, float], tried: tuple[str, ...]) -> None:
    assert candidates(probabilities) == tried


def test_weights_without_a_tokenizer_never_reach_for_the_network(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"tokenizer\.json is missing"):
        Whisper.load(AsrConfig(), tmp_path)


def test_broken_weights_are_one_sentence(tmp_path: Path) -> None:
    for name in ("model.bin", "config.json", "tokenizer.json", "vocabulary.txt"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        Whisper.load(AsrConfig(device="cpu"), tmp_path)
    assert "\n" not in str(caught.value)


# ── on real weights ──────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def whisper(weights: Weights) -> Whisper:
    config = AsrConfig()
    return Whisper.load(config, weights(config.model, "asr"))


@pytest.fixture(scope="module")
def hear(whisper: Whisper, testdata: Path) -> Callable[[str], Transcript]:
    return lambda name: whisper.transcribe(files.read(testdata / "speech" / name))


@pytest.mark.models
def test_a_sentence_is_understood(hear: Callable[[str], Transcript]) -> None:
    heard = hear("en/DeepSpeech__arctic_a0024.wav")
    assert heard.text == "It was my reports from the north which chiefly induced people to buy."
    assert heard.language == "en"
    assert heard.confidence > 0.8


@pytest.mark.models
def test_chinese_is_understood(hear: Callable[[str], Transcript]) -> None:
    heard = hear("zh/firered__BAC009S0764W0121.wav")
    assert heard.language == "zh"
    assert heard.text.startswith("甚至出现交易几乎停")


@pytest.mark.models
def test_recordings_without_speech_give_nothing(
    hear: Callable[[str], Transcript], testdata: Path
) -> None:
    """The default model alone, without the help of the speech detector."""
    lines = (testdata / "speech" / "manifest.jsonl").read_text("utf-8").splitlines()
    names = [entry["file"] for entry in map(json.loads, lines) if entry["transcript"] == ""]
    names = [name for name in names if name.startswith(("silence/", "noise/"))]
    assert {name: hear(name).text for name in names} == dict.fromkeys(names, "")


@pytest.mark.models
@pytest.mark.parametrize("level", [0.003, 0.05])
@pytest.mark.parametrize("seconds", [0.4, 3.0])
def test_noise_gives_nothing(whisper: Whisper, level: float, seconds: float) -> None:
    """Without the help of the speech detector."""
    noise = np.random.default_rng(7).normal(0, level, int(seconds * RATE)).astype(np.float32)
    assert whisper.transcribe(Audio(noise, RATE)).text == ""


@pytest.mark.models
def test_short_words_survive(hear: Callable[[str], Transcript], testdata: Path) -> None:
    names = sorted(path.name for path in (testdata / "speech" / "en_digits").iterdir())
    heard = [hear(f"en_digits/{name}") for name in names[::5]]
    assert sum(bool(item.text) for item in heard) >= 0.75 * len(heard)
