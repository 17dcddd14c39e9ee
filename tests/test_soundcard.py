"""The real device path: sounddevice, PortAudio, ALSA, a virtual card."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assistant.audio import files
from assistant.config import ROOT
from assistant.events import Audio
from assistant.testing import tone
from tests.hearing import heard_whole
from tests.soundcard import VirtualCard

pytestmark = pytest.mark.soundcard

SENTENCE = "The dentist appointment is on Thursday afternoon, near the old station."


def on_card(card: VirtualCard, *arguments: str) -> str:
    """The command line on the card; what it printed."""
    done = subprocess.run(
        [sys.executable, "run.py", *arguments],
        cwd=ROOT, env=card.env, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def start(card: VirtualCard, code: str) -> subprocess.Popen[str]:
    """Python on the card, ready when it has printed its first line."""
    limit = "import signal; signal.alarm(90)"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{limit}\n{textwrap.dedent(code)}"],
        cwd=ROOT, env=card.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    first = process.stdout.readline()
    assert first.strip() == "ready", process.communicate(timeout=60)[1]
    return process


def result(process: subprocess.Popen[str]) -> dict[str, float]:
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    values: dict[str, float] = json.loads(out.splitlines()[-1])
    return values


def test_devices_lists_microphone_and_speaker(virtual_card: VirtualCard) -> None:
    found = [json.loads(line) for line in on_card(virtual_card, "devices", "--json").splitlines()]
    assert {device["kind"] for device in found if device["default"]} == {"microphone", "speaker"}
    assert all(device["rate"] > 0 and device["name"] for device in found)


@pytest.mark.models
def test_what_is_said_is_heard_from_the_speaker(
    virtual_card: VirtualCard, listener: Callable[[Audio], str], tmp_path: Path
) -> None:
    with virtual_card.recording(tmp_path / "out.wav"):
        said = json.loads(on_card(virtual_card, "--json", "say", SENTENCE))
    heard = files.read(tmp_path / "out.wav")
    loud = np.nonzero(np.abs(heard.samples) > 0.01)[0]
    assert (loud[-1] - loud[0]) / heard.rate == pytest.approx(said["seconds"] - 0.3, abs=0.2)
    assert 0.2 < np.abs(heard.samples).max() < 0.999, "neither faint nor clipped"
    assert heard_whole(listener(heard), SENTENCE)


def test_a_microphone_hears_all_of_a_sound_at_its_level(
    virtual_card: VirtualCard, tmp_path: Path
) -> None:
    """A row of beeps: none is lost, the distance between them is kept, and the level."""
    beeps = np.concatenate([np.concatenate([np.zeros(7200, "f4"), tone(0.05, 1000)])] * 8)
    files.write_wav(tmp_path / "in.wav", Audio(beeps, 16_000))
    process = start(
        virtual_card,
        """
        import json, numpy as np
        from assistant.audio.mic import DeviceMicrophone
        from assistant.clock import RealClock
        microphone = DeviceMicrophone("", RealClock())
        heard, times = [], []
        for frame in microphone.frames():
            if not heard:
                print("ready", flush=True)
            heard.append(frame.samples)
            times.append(frame.at)
            if frame.at > 7.0:
                microphone.close()
        samples = np.concatenate(heard)
        loud = np.nonzero(np.abs(samples) > 0.02)[0]
        starts = loud[np.insert(np.diff(loud) > 1600, 0, True)]
        print(json.dumps({
            "beeps": len(starts),
            "unsteady": float(np.abs(np.diff(starts) / 16000 - 0.5).max()),
            "level": float(np.abs(samples).max()),
            "lost": microphone.lost_seconds,
            "gaps": float(np.abs(np.diff(times) - 0.032).max()),
        }))
        """,
    )
    virtual_card.play(tmp_path / "in.wav")
    got = result(process)
    assert got["beeps"] == 8
    assert got["unsteady"] < 0.002
    assert got["level"] == pytest.approx(0.3, rel=0.1)
    assert got["lost"] == 0
    assert got["gaps"] < 0.03


@pytest.mark.models
def test_a_played_sentence_is_understood(
    virtual_card: VirtualCard, listener: Callable[[Audio], str], tmp_path: Path
) -> None:
    on_card(virtual_card, "say", SENTENCE, "-o", str(tmp_path / "in.wav"))
    process = start(
        virtual_card,
        f"""
        import json, numpy as np
        from assistant.audio import files
        from assistant.audio.mic import DeviceMicrophone
        from assistant.clock import RealClock
        from assistant.events import Audio
        microphone = DeviceMicrophone("", RealClock())
        heard = []
        for frame in microphone.frames():
            if not heard:
                print("ready", flush=True)
            heard.append(frame.samples)
            if frame.at > 8.0:
                microphone.close()
        files.write_wav({str(tmp_path / "heard.wav")!r}, Audio(np.concatenate(heard), 16000))
        print(json.dumps({{"lost": microphone.lost_seconds}}))
        """,
    )
    virtual_card.play(tmp_path / "in.wav")
    assert result(process)["lost"] == 0
    assert heard_whole(listener(files.read(tmp_path / "heard.wav")), SENTENCE)


def test_stopping_is_quick_and_the_recording_shows_what_was_heard(
    virtual_card: VirtualCard, tmp_path: Path
) -> None:
    process = start(
        virtual_card,
        f"""
        import json, time
        from pathlib import Path
        from assistant.audio.recording import Recording
        from assistant.audio.speaker import DeviceSpeaker
        from assistant.clock import RealClock
        from assistant.events import Audio
        from assistant.testing import tone
        clock = RealClock()
        clock.start()
        recording = Recording(Path({str(tmp_path / "session.wav")!r}))
        speaker = DeviceSpeaker("", 1.0, clock, recording)
        print("ready", flush=True)
        time.sleep(2.0)
        begin = speaker.play(Audio(tone(5.0, 500, 22050), 22050))
        time.sleep(1.5)
        asked = clock.now()
        last = speaker.stop()
        time.sleep(0.5)
        speaker.close()
        recording.close()
        print(json.dumps({{"begin": begin, "asked": asked, "last": last}}))
        """,
    )
    with virtual_card.recording(tmp_path / "out.wav"):
        got = result(process)
    assert 0 < got["last"] - got["asked"] < 0.12
    played = files.read(tmp_path / "out.wav").samples
    loud = np.nonzero(np.abs(played) > 0.02)[0]
    assert (loud[-1] - loud[0]) / 16_000 == pytest.approx(got["last"] - got["begin"], abs=0.03)
    import soundfile

    right = soundfile.read(tmp_path / "session.wav", dtype="float32")[0][:, 1]
    told = np.nonzero(np.abs(right) > 0.02)[0] / 16_000
    assert told[0] == pytest.approx(got["begin"], abs=0.03)
    assert told[-1] == pytest.approx(got["last"], abs=0.005)


def test_devices_that_are_unplugged_are_told_once_and_come_back(
    virtual_card: VirtualCard, tmp_path: Path
) -> None:
    process = start(
        virtual_card,
        """
        import json, sys, time
        from assistant.audio.mic import DeviceMicrophone
        from assistant.audio.speaker import DeviceSpeaker
        from assistant.clock import RealClock
        from assistant.errors import DeviceError
        from assistant.events import Audio
        from assistant.testing import tone
        from assistant.workers import Worker
        clock, troubles, frames = RealClock(), [], []
        speaker = DeviceSpeaker("", 1.0, clock, on_trouble=troubles.append)
        microphone = DeviceMicrophone("", clock, troubles.append)
        def listen():
            for frame in microphone.frames():
                frames.append(frame)
        listening = Worker("ears", listen).start()
        while len(frames) < 10:
            time.sleep(0.02)
        print("ready", flush=True)
        deadline = time.monotonic() + 40
        while {failed.stage for failed in troubles} != {"microphone", "speaker"}:
            assert time.monotonic() < deadline, troubles
            time.sleep(0.05)
        print("gone", flush=True)
        before, last = len(frames), frames[-1].at
        while len(frames) < before + 50:
            assert time.monotonic() < deadline, "the microphone did not come back"
            time.sleep(0.05)
        while True:
            assert time.monotonic() < deadline, "the speaker did not come back"
            try:
                speaker.play(Audio(tone(0.3), 16000))
                break
            except DeviceError:
                time.sleep(0.2)
        gap = max(b.at - a.at for a, b in zip(frames, frames[1:]))
        microphone.close()
        ended = listening.join()
        speaker.close()
        print(json.dumps({"told": len(troubles), "gap": gap, "ended": ended}))
        """,
    )
    assert process.stdout is not None
    virtual_card.unplug()
    assert process.stdout.readline().strip() == "gone"
    virtual_card.plug_in()
    got = result(process)
    assert got["told"] == 2
    assert got["gap"] > 1.0, "the frames after the gap stand where they belong on the clock"
    assert got["ended"]
