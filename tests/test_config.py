"""Settings: every key documented, every mistake one sentence with file, line and suggestion."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest

from assistant.config import ROOT, Config, load, override
from assistant.errors import ConfigError


def write(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_file_holds_every_setting_with_its_default() -> None:
    data = tomllib.loads((ROOT / "config.toml").read_text(encoding="utf-8"))
    assert data == json.loads(json.dumps(asdict(Config())))


def test_every_shipped_setting_has_a_comment() -> None:
    for line in (ROOT / "config.toml").read_text(encoding="utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            assert "#" in line, line


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "\n[asr]\nlanguge = 'zh'\n",
            r"config\.toml:3: unknown key asr\.languge; did you mean lan",
        ),
        ("[asrr]\n", r"config\.toml:1: unknown section \[asrr\]; did you mean asr\?"),
        ("[asr]\nbeam_size = '2'\n", r":2: asr\.beam_size must be a whole number, not '2'"),
        ("[asr]\nbeam_size = true\n", r"asr\.beam_size must be a whole number, not True"),
        ("[vad]\nthreshold = 3.0\n", r":2: vad\.threshold must be between 0\.05 and 0\.95"),
        ("[audio]\necho = 'loud'\n", r"audio\.echo must be one of cancel, mute, none"),
        ("[asr\n", r"config\.toml: not valid TOML"),
        ("asr = 3\n", r"\[asr\] must be a section"),
    ],
)
def test_a_mistake_is_refused_where_it_stands(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        load(write(tmp_path, text))


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such config file"):
        load(tmp_path / "none.toml")


def test_a_folder_in_place_of_a_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read \([A-Z][a-z ]+\)\.$"):
        load(tmp_path)


def test_a_file_that_is_no_text_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        load(path)


def test_overrides_take_bare_words_numbers_and_quoted_text(tmp_path: Path) -> None:
    path = write(tmp_path, "[asr]\nlanguage = 'en'\n")
    config = load(path, ["asr.language=zh", "asr.beam_size=1", 'tts.en="my voice"', "audio.mic=3"])
    assert (config.asr.language, config.asr.beam_size) == ("zh", 1)
    assert (config.tts.en, config.audio.mic) == ("my voice", "3")


def test_a_whole_number_will_do_for_a_number() -> None:
    assert override(Config(), ["endpoint.max_seconds=20"]).endpoint.max_seconds == 20.0


@pytest.mark.parametrize("text", ["asr", "asr=1", "asr.language", "=1", "nope.x=1", "asr.nope=1"])
def test_a_broken_override_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--set "):
        override(Config(), [text])
