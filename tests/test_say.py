"""The commands `say` and `devices`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import soundfile

from assistant.audio import devices
from assistant.cli import main
from assistant.testing import ToneVoice


@pytest.fixture
def voice(monkeypatch: pytest.MonkeyPatch) -> ToneVoice:
    tones = ToneVoice("en")
    monkeypatch.setattr("assistant.say.PiperVoices.load", lambda config, find: tones)
    return tones


def test_say_writes_a_wav_and_reports(
    voice: ToneVoice, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out.wav"
    assert main(["say", "Hello there", "-o", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["voice"], told["language"]) == ("en_US-joe-medium", "en")
    assert told["synthesis_seconds"] >= 0 and told["load_seconds"] >= 0
    info = soundfile.info(path)
    assert info.duration == pytest.approx(told["seconds"], abs=0.001)
    assert (info.channels, info.subtype) == (1, "PCM_16")


def test_nothing_to_say_leaves_no_file(
    voice: ToneVoice, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["say", "👍 ...", "-o", str(tmp_path / "out.wav")]) == 2
    assert capsys.readouterr().err.startswith("There is nothing to say")
    assert not (tmp_path / "out.wav").exists()


def test_a_place_that_cannot_be_written(
    voice: ToneVoice, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["say", "Hello", "-o", str(tmp_path / "nowhere" / "out.wav")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_without_a_device_both_commands_say_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(devices, "devices", lambda: [])
    assert main(["devices"]) == 0
    assert capsys.readouterr().out.startswith("No microphone and no speaker were found.")
    assert main(["devices", "--json"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["say", "Hello"]) == 2
    assert capsys.readouterr().err.startswith("No speaker was found.")


def test_devices_are_listed_for_people_and_programs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = [devices.Device(3, "USB Headset", "input", 1, 16_000, True)]
    monkeypatch.setattr(devices, "devices", lambda: known)
    assert main(["devices"]) == 0
    line = capsys.readouterr().out.splitlines()[0]
    assert line.split() == ["*", "3", "microphone", "16000", "Hz", "1", "ch", "USB", "Headset"]
    assert main(["devices", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "number": 3, "name": "USB Headset", "kind": "microphone",
        "channels": 1, "rate": 16_000, "default": True,
    }  # fmt: skip
