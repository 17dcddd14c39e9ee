"""The whole loop: spoken to on a virtual sound card, killed in mid-conversation, fed with files."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

from assistant.audio import files
from assistant.bench.latency import voiced
from assistant.config import ROOT
from assistant.events import Audio
from assistant.memory.banks import Banks
from tests.hearing import sounds_like
from tests.soundcard import VirtualCard

pytestmark = pytest.mark.models


def turns_of(folder: Path) -> list[tuple[str, str]]:
    """What a restarted assistant finds: (user, reply) in order."""
    db = Banks(folder).read("default")
    try:
        return list(db.execute("select user_text, reply from turns order by turn"))
    finally:
        db.close()


def talk_to_files(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "run.py", "--json", "--data", str(folder), "talk", *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="session")
def spoken(
    tmp_path_factory: pytest.TempPathFactory, weights: Callable[[str, str], Path]
) -> Callable[[str], Path]:
    """A sentence as a sound file."""
    weights("en_US-joe-medium", "tts")
    weights("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", "llm")
    weights("whisper-base", "asr")
    folder = tmp_path_factory.mktemp("spoken")

    def say(text: str) -> Path:
        path = folder / f"{len(list(folder.iterdir()))}.wav"
        subprocess.run([sys.executable, "run.py", "say", text, "-o", str(path)], cwd=ROOT,
                       check=True, capture_output=True, timeout=120)  # fmt: skip
        return path

    return say


@pytest.mark.soundcard
def test_k3_spoken_to_on_a_sound_card_it_answers_aloud(
    virtual_card: VirtualCard,
    spoken: Callable[[str], Path],
    listener: Callable[[Audio], str],
    tmp_path: Path,
) -> None:
    question = spoken("What is the capital of France?")
    talk = subprocess.Popen(
        [sys.executable, "run.py", "--json", "--data", str(tmp_path / "data"),
             "--set", "memory.key=file", "talk",
         "--record", str(tmp_path / "session.wav")],
        cwd=ROOT, env=virtual_card.env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert talk.stdout is not None
    assert talk.stderr is not None
    assert "Listening" in talk.stderr.readline()
    with virtual_card.recording(tmp_path / "out.wav"):
        virtual_card.play(question)
        turn = json.loads(talk.stdout.readline())
    begin = time.monotonic()
    talk.send_signal(signal.SIGINT)
    assert talk.wait(10) == 130
    assert time.monotonic() - begin < 2.0
    assert sounds_like(turn["user_text"], "What is the capital of France")
    assert "Paris" in turn["reply"]
    assert sounds_like(listener(files.read(tmp_path / "out.wav")), turn["reply"])
    _check_recording(tmp_path / "session.wav", listener, turn)


def _check_recording(path: Path, listener: Callable[[Audio], str], turn: dict[str, Any]) -> None:
    """Left what was heard, right what was played, and the wait between them as the turn says."""
    import soundfile

    samples, rate = soundfile.read(path, dtype="float32")
    left, right = samples[:, 0].copy(), samples[:, 1].copy()
    assert sounds_like(listener(Audio(left, rate)), turn["user_text"])
    assert sounds_like(listener(Audio(right, rate)), turn["reply"])
    wait = voiced(right, rate)[0].start - voiced(left, rate)[-1].end
    assert wait == pytest.approx(turn["latency_ms"]["voice_to_voice"] / 1000, abs=0.35)


def test_fast_hears_what_real_time_hears(spoken: Callable[[str], Path], tmp_path: Path) -> None:
    sound = spoken("My sister is called Anna.")
    slow = talk_to_files(tmp_path / "slow", "--input", str(sound))
    fast = talk_to_files(tmp_path / "fast", "--input", str(sound), "--fast")
    for key in ("user_text", "reply", "heard", "interrupted"):
        assert [turn[key] for turn in slow] == [turn[key] for turn in fast]
    assert [t["state_after"]["preference"] for t in slow] == [
        t["state_after"]["preference"] for t in fast
    ]
    assert "Anna" in json.dumps(slow[0]["state_after"])


def test_m11_kill_minus_9_at_any_moment_keeps_every_answered_turn(
    spoken: Callable[[str], Path], tmp_path: Path
) -> None:
    chance = random.Random(7)
    answered: list[tuple[str, str]] = []
    for attempt in range(4):
        chat = subprocess.Popen(
            [sys.executable, "run.py", "--data", str(tmp_path), "chat"],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert chat.stdin is not None
        assert chat.stdout is not None
        text = f"My {('first', 'second', 'third', 'fourth')[attempt]} cat is called Tom."
        chat.stdin.write(text + "\n")
        chat.stdin.flush()
        answered.append((text, _first_line(chat.stdout)))
        time.sleep(chance.random())
        chat.kill()
        chat.wait()
        kept = turns_of(tmp_path)
        assert [user for user, _ in kept] == [user for user, _ in answered]
        for (_, shown), (_, stored) in zip(answered, kept, strict=True):
            assert stored.startswith(shown)


def _first_line(out: IO[str]) -> str:
    line = out.readline().strip()
    assert line, "the chat ended without an answer"
    return line


def test_m6_pauses_inside_a_sentence_do_not_split_it(testdata: Path, tmp_path: Path) -> None:
    for path in sorted((testdata / "speech" / "turn").glob("pause400_*.wav")):
        assert len(talk_to_files(tmp_path / path.stem, "--fast", "--input", str(path))) == 1


def test_silence_and_noise_are_no_turn(testdata: Path, tmp_path: Path) -> None:
    manifest = (testdata / "speech" / "manifest.jsonl").read_text(encoding="utf-8")
    entries = [json.loads(line) for line in manifest.splitlines()]
    silent = [
        str(testdata / "speech" / entry["file"])
        for entry in entries
        if entry["transcript"] == "" and entry["file"].split("/")[0] in ("silence", "noise")
    ]
    assert silent
    arguments = [argument for path in silent for argument in ("--input", path)]
    assert talk_to_files(tmp_path, "--fast", *arguments) == []
