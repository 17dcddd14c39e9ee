"""The recognition benchmark: what it reads, what it counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assistant.bench.asr import Recording, Result, Tally, error_rate, recordings, summary
from assistant.errors import InputError

jiwer = pytest.importorskip("jiwer", reason="the bench extra is not installed")


def manifest(folder: Path, *entries: dict[str, object]) -> Path:
    (folder / "manifest.jsonl").write_text("\n".join(map(json.dumps, entries)), "utf-8")
    return folder


def result(
    folder: str, words: str, ours: str, stock: str, *, seconds: tuple[float, float] = (1.0, 4.0)
) -> Result:
    language = "zh" if folder == "zh" else "en"
    recording = Recording(Path(folder) / "a.wav", folder, language, words)
    return Result(recording, ours, stock, *seconds, redone=False, why_empty="")


def test_only_recordings_with_words_in_the_named_folders_count(tmp_path: Path) -> None:
    folder = manifest(
        tmp_path,
        {"file": "en/a.wav", "transcript": "hello"},
        {"file": "en/b.wav", "transcript": None},
        {"file": "silence/c.wav", "transcript": ""},
        {"file": "turn/d.wav", "transcript": "hello"},
        {"file": "zh/e.wav", "transcript": "你好"},
    )
    assert [item.path.name for item in recordings(folder, english_only=False)] == ["a.wav", "e.wav"]
    assert [item.path.name for item in recordings(folder, english_only=True)] == ["a.wav"]


@pytest.mark.parametrize(
    "text", [None, "not json", '{"file": "en/a.wav"}', "[1]", '{"file": 3, "transcript": "a"}', ""]
)
def test_an_unusable_manifest_is_one_sentence(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "manifest.jsonl").write_text(text)
    with pytest.raises(InputError, match=r"manifest\.jsonl") as caught:
        recordings(tmp_path, english_only=False)
    assert "\n" not in str(caught.value)


def test_english_is_counted_in_words_without_spelling_differences() -> None:
    assert error_rate([("It's the colour, Mr. Hill.", "it is the color mister hill")], "en") == 0
    assert error_rate([("turn off the light", "turn off light")], "en") == 25


def test_chinese_is_counted_in_characters_of_one_script() -> None:
    assert error_rate([("请把灯关掉。", "請 把燈關掉")], "zh") == 0
    assert error_rate([("砸自己的脚", "扎自己的脚")], "zh") == 20


def test_the_figures_are_over_all_words_not_over_files() -> None:
    tally = Tally(
        [
            result("en", "please turn on all lights in here", "", "please"),
            result("commands", "stop", "stop", "stop"),
            result("en_8k_prompts", "goodbye", "goodbye", "good bye now"),
            result("zh", "你好", "你好", "你号", seconds=(2.0, 2.0)),
        ]
    )
    figures = summary(tally)
    assert figures["wer"] == pytest.approx(100 * 7 / 9, abs=0.01)
    assert figures["stock_wer_without_prompts"] == pytest.approx(100 * 6 / 8, abs=0.01)
    assert (figures["cer"], figures["stock_cer"]) == (0, 50)
    assert figures["time_ratio"] == pytest.approx(5 / 14, abs=0.001)
    assert figures["folders"]["zh"]["time_ratio"] == 1
    assert figures["folders"]["en"]["wer"] == 100


def test_a_run_without_chinese_has_no_character_errors() -> None:
    figures = summary(Tally([result("en", "stop", "stop", "stop")]))
    assert figures["cer"] is None
