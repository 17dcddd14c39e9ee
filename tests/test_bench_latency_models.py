"""`bench latency` on the real weights: ours and the baseline, on speech that is made here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assistant.audio import files
from assistant.config import ROOT
from assistant.events import Audio

pytestmark = pytest.mark.models

SAID = ("What is the capital of France?", "Remind me tomorrow at nine to call Anna.")


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory, weights: Callable[[str, str], Path]) -> Path:
    """A corpus of two sentences, and a file that is none."""
    for name, kind in (
        ("whisper-base", "asr"),
        ("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", "llm"),
        ("silero-vad", "vad"),
    ):
        weights(name, kind)
    folder = tmp_path_factory.mktemp("corpus")
    from piper import PiperVoice

    voice = PiperVoice.load(weights("en_US-joe-medium", "tts"))
    for number, text in enumerate(SAID):
        for chunk in voice.synthesize(text):
            sound = Audio(chunk.audio_float_array, chunk.sample_rate)
            files.write_wav(folder / f"{number}.wav", files.resample(sound, files.RATE))
    (folder / "broken.wav").write_bytes(b"RIFF")
    return folder


def command(*arguments: str) -> list[str]:
    return [sys.executable, "run.py", "--json", "bench", "latency", *arguments]


def bench(*arguments: str, code: int = 0) -> tuple[list[dict[str, Any]], str]:
    done = subprocess.run(
        command(*arguments), cwd=ROOT, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == code, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_k4_ours_and_the_streaming_baseline_are_measured_in_one_run(
    spoken: Path, tmp_path: Path
) -> None:
    saved, html = tmp_path / "a.json", tmp_path / "a.html"
    steps, _ = bench(
        str(spoken), "--fast", "--against", "streaming", "-o", str(saved), "--html", str(html)
    )
    last = steps[-1]
    assert [one["file"] for one in steps if one["event"] == "skipped"] == ["broken.wav"]
    assert last["event"] == "latency" and last["recordings"] == 2
    assert last["cutoff_rate"] == 0 and last["no_answer"] == 0
    assert 0 < last["p50"] < last["baseline_p50"]
    assert last["baseline_stages"]["endpoint"]["p50"] == pytest.approx(600, abs=40)
    rows = json.loads(saved.read_text("utf-8"))["utterances"]
    for row in rows:
        for one in row["systems"].values():  # the recording and the marks agree
            assert one["wait_ms"] == pytest.approx(one["told_ms"], abs=200)
    assert "Paris" in rows[0]["systems"]["streaming"]["reply"]
    assert html.read_text("utf-8").startswith("<!doctype html>")


def test_k4_an_interrupt_ends_all_processes_within_two_seconds(spoken: Path) -> None:
    process = subprocess.Popen(
        command(str(spoken), "--load", "1", "--against", "streaming"),
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["event"] == "loading":
            break
    time.sleep(1.0)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert time.monotonic() - begin < 2.0 and process.returncode == 130
    time.sleep(0.5)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no/such/folder"], "no such folder"),
        (["tests", "--against", "nobody"], "there is no such system"),
        (["--compare", "a.json", "b.json"], "is no saved run"),
        (["tests", "-o", "no/such/folder/a.json"], "no such folder"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], words: str) -> None:
    _, said = bench(*arguments, code=2)
    assert words in said and "Traceback" not in said
