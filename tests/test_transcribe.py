"""transcribe: files in, text out; a bad file costs its sentence and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant import transcribe
from assistant.audio import files
from assistant.cli import main
from assistant.config import Config
from assistant.events import Audio, Frame, Transcript

RATE = 16000


class Loudness:
    """Stands where the detector stands: loud is speech."""

    def probability(self, frame: Frame) -> float:
        return float(np.abs(frame.samples).max() > 0.05)

    def reset(self) -> None:
        pass


class Scribe:
    """Stands where the recogniser stands."""

    def __init__(self, *answers: Transcript) -> None:
        self.answers = list(answers)
        self.heard: list[Audio] = []

    def transcribe(self, audio: Audio, *, speech_share: float = 1.0) -> Transcript:
        self.heard.append(audio)
        return self.answers.pop(0) if self.answers else Transcript("more", "en", 0.5)


class Stage:
    """Engines without weights."""

    def __init__(self, *answers: Transcript) -> None:
        self.detector = Loudness()
        self.recognizer = Scribe(*answers)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Stage]]:
    def put(*answers: Transcript) -> Stage:
        engines = Stage(*answers)
        monkeypatch.setattr(transcribe, "Engines", lambda config: engines)
        return engines

    yield put


def recording(path: Path, *parts: tuple[float, float]) -> Path:
    """(seconds, loudness) one after another."""
    noise = np.random.default_rng(0)
    sound = [noise.uniform(-level, level, int(seconds * RATE)) for seconds, level in parts]
    files.write_wav(path, Audio(np.concatenate(sound).astype(np.float32), RATE))
    return path


def run(capsys: pytest.CaptureFixture[str], *args: str | Path) -> tuple[int, str, str]:
    code = main(["transcribe", *map(str, args)])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_each_utterance_is_a_line(
    tmp_path: Path, stage: Callable[..., Stage], capsys: pytest.CaptureFixture[str]
) -> None:
    stage(Transcript("one", "en", 0.9), Transcript("two", "en", 0.7))
    path = recording(tmp_path / "a.wav", (1, 0.5), (1, 0), (1, 0.5), (1, 0))
    assert run(capsys, path) == (0, "one\ntwo\n", "")


def test_json_holds_one_object_a_file(
    tmp_path: Path, stage: Callable[..., Stage], capsys: pytest.CaptureFixture[str]
) -> None:
    stage(Transcript("one", "en", 0.9), Transcript("two", "en", 0.7))
    path = recording(tmp_path / "a.wav", (1, 0.5), (1, 0), (1, 0.5), (1, 0))
    code, out, _ = run(capsys, "--json", path)
    assert code == 0
    assert json.loads(out) == {
        "file": str(path),
        "text": "one two",
        "language": "en",
        "confidence": 0.8,
        "seconds": 4.0,
        "why_empty": "",
    }


def test_a_bad_file_does_not_stop_the_others(
    tmp_path: Path, stage: Callable[..., Stage], capsys: pytest.CaptureFixture[str]
) -> None:
    stage(Transcript("one", "en", 0.9))
    bad = tmp_path / "bad.wav"
    bad.write_text("no sound")
    good = recording(tmp_path / "good.wav", (1, 0.5), (1, 0))
    code, out, err = run(capsys, bad, tmp_path / "missing.wav", good)
    assert code == 2
    assert out == f"{good}: one\n"
    assert len(err.splitlines()) == 2
    assert str(bad) in err
    assert "missing.wav" in err
    assert "Traceback" not in err


def test_damage_in_the_middle_is_one_sentence(
    tmp_path: Path, stage: Callable[..., Stage], capsys: pytest.CaptureFixture[str]
) -> None:
    import soundfile

    stage()
    samples = np.zeros(3 * RATE, np.float32)
    samples[2 * RATE] = np.nan
    soundfile.write(tmp_path / "a.wav", samples, RATE, subtype="FLOAT")
    code, out, err = run(capsys, tmp_path / "a.wav")
    assert (code, out, len(err.splitlines())) == (2, "", 1)


def test_a_file_without_speech_says_so(
    tmp_path: Path, stage: Callable[..., Stage], capsys: pytest.CaptureFixture[str]
) -> None:
    stage()
    path = recording(tmp_path / "a.wav", (2, 0))
    code, out, err = run(capsys, path)
    assert (code, out) == (0, "")
    assert "no speech" in err
    code, out, err = run(capsys, "--json", path)
    assert (json.loads(out)["text"], json.loads(out)["why_empty"], err) == ("", "no speech", "")


def test_what_recognition_refuses_is_not_text(
    tmp_path: Path, stage: Callable[..., Stage], capsys: pytest.CaptureFixture[str]
) -> None:
    stage(Transcript("", "en", 0.1, "it does not sound like words"))
    path = recording(tmp_path / "a.wav", (1, 0.5), (1, 0))
    _, out, _ = run(capsys, "--json", path)
    assert json.loads(out)["why_empty"] == "it does not sound like words"


def test_speech_without_a_pause_is_handed_on_in_bounded_pieces(
    tmp_path: Path, stage: Callable[..., Stage]
) -> None:
    engines: Any = stage()
    path = recording(tmp_path / "a.wav", (300, 0.5))
    result = transcribe.transcribe_file(
        path, Config(), engines, lambda text: None, lambda seconds: None
    )
    longest = max(audio.seconds for audio in engines.recognizer.heard)
    assert longest <= transcribe.LONGEST_UTTERANCE + 1
    assert sum(audio.seconds for audio in engines.recognizer.heard) == pytest.approx(300, abs=1)
    assert result.seconds == pytest.approx(300)


@pytest.mark.models
def test_odd_recordings_end_in_text_or_a_sentence(
    testdata: Path, weights: Callable[[str, str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    weights(Config().asr.model, "asr")
    folder = testdata / "speech" / "odd"
    code, out, err = run(capsys, "--json", *sorted(folder.iterdir()))
    records = {Path(item["file"]).name: item for item in map(json.loads, out.splitlines())}
    assert code == 2
    assert len(records) == len(list(folder.iterdir()))
    assert records["azure__whatstheweatherlike-mulaw.wav"]["text"] == "What's the weather like?"
    same = {item.get("text") for name, item in records.items() if name.startswith("speech_rec")}
    assert len(same) == 1
    assert sum("error" in item for item in records.values()) == 6 == len(err.splitlines())


@pytest.mark.models
@pytest.mark.parametrize("model", ["whisper-base", "whisper-tiny.en"])
def test_recordings_without_speech_give_nothing(
    testdata: Path,
    weights: Callable[[str, str], Path],
    capsys: pytest.CaptureFixture[str],
    model: str,
) -> None:
    """Through detector, endpoint and recognition, as in a conversation."""
    weights(model, "asr")
    lines = (testdata / "speech" / "manifest.jsonl").read_text("utf-8").splitlines()
    names = [entry["file"] for entry in map(json.loads, lines) if entry["transcript"] == ""]
    names = [name for name in names if name.startswith(("silence/", "noise/"))]
    paths = [testdata / "speech" / name for name in names]
    code, out, _ = run(capsys, "--json", "--set", f"asr.model={model}", *paths)
    assert code == 0
    assert len(names) == len(out.splitlines()) > 5
    assert {item["file"]: item["text"] for item in map(json.loads, out.splitlines())} == {
        str(path): "" for path in paths
    }
