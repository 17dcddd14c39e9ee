"""The two-channel session recording."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from assistant.audio.recording import AHEAD, LAG, RATE, Recording
from assistant.errors import StorageError
from assistant.events import Audio, Failed, Frame, Samples
from assistant.testing import tone


def hear(recording: Recording, seconds: float, begin: float = 0.0, level: float = 0.5) -> None:
    for number in range(round(seconds * RATE / 512)):
        samples = np.full(512, level, np.float32)
        recording.heard(Frame(samples, begin + number * 512 / RATE))


def read(path: Path) -> tuple[Samples, Samples]:
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    assert rate == RATE and samples.shape[1] == 2
    return samples[:, 0], samples[:, 1]


def stretch(samples: Samples) -> tuple[int, int]:
    """First and last sample that is not silent."""
    loud = np.nonzero(np.abs(samples) > 0.01)[0]
    return int(loud[0]), int(loud[-1])


def test_left_is_heard_and_right_is_played_on_one_clock(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "s.wav")
    recording.played(Audio(np.full(RATE, 0.25, np.float32), RATE), 2.0)
    hear(recording, 6.4)
    recording.close()
    left, right = read(recording.path)
    assert len(left) == round(6.4 * RATE)
    assert np.allclose(left, 0.5, atol=1e-4)
    assert stretch(right) == (2 * RATE, 3 * RATE - 1)
    assert np.allclose(right[2 * RATE : 3 * RATE], 0.25, atol=1e-4)


def test_a_sound_of_another_rate_keeps_its_length_and_place(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "s.wav")
    recording.played(Audio(tone(1.0, 400, 22_050), 22_050), 0.5)
    hear(recording, 3.2)
    recording.close()
    first, last = stretch(read(recording.path)[1])
    assert abs(first - 0.5 * RATE) < 20
    assert abs(last - 1.5 * RATE) < 20


def test_what_was_cut_was_never_played(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "s.wav")
    recording.played(Audio(np.full(2 * RATE, 0.5, np.float32), RATE), 1.0)
    recording.played(Audio(np.full(RATE, 0.5, np.float32), RATE), 3.0)
    recording.cut(1.5)
    recording.played(Audio(np.full(800, 0.25, np.float32), RATE), 4.0)
    hear(recording, 6.4)
    recording.close()
    right = read(recording.path)[1]
    loud = np.nonzero(np.abs(right) > 0.01)[0]
    assert loud[loud < 2 * RATE][-1] in range(int(1.5 * RATE) - 10, int(1.5 * RATE))
    assert list(loud[loud >= 2 * RATE]) == list(range(4 * RATE, 4 * RATE + 800))
    assert np.abs(np.diff(right[int(1.4 * RATE) : 2 * RATE])).max() < 0.02, "a cut must not click"


def test_lost_sound_is_a_gap_and_not_a_shift(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "s.wav")
    hear(recording, 0.512)
    hear(recording, 0.512, begin=2.0)
    recording.close()
    left = read(recording.path)[0]
    assert np.all(left[8192 : 2 * RATE] == 0)
    assert np.all(left[2 * RATE :] > 0.4)


def test_memory_stays_bounded_and_nothing_is_lost(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "s.wav")
    most = 0
    for second in range(0, 320, 16):
        hear(recording, 16.0, begin=float(second))
        recording.played(Audio(np.full(RATE, 0.5, np.float32), RATE), float(second + 15))
        most = max(most, len(recording._left._samples) + len(recording._right._samples))
    recording.close()
    left, right = read(recording.path)
    assert most < 6 * LAG
    assert len(left) == 320 * RATE and np.all(left > 0.4)
    assert (np.abs(right) > 0.4).sum() == 20 * RATE


def test_playing_without_a_microphone_is_bounded_too(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "s.wav")
    for second in range(0, 200, 10):
        recording.played(Audio(np.full(10 * RATE, 0.5, np.float32), RATE), float(second))
        assert recording._right._used <= AHEAD + 11 * RATE
    recording.close()
    assert (read(recording.path)[1] > 0.4).sum() == 200 * RATE


def test_a_killed_process_leaves_a_readable_file(tmp_path: Path) -> None:
    path = tmp_path / "killed.wav"
    code = f"""
import os, numpy as np
from pathlib import Path
from assistant.audio.recording import Recording
from assistant.events import Frame
recording = Recording(Path({str(path)!r}))
for number in range(320):
    recording.heard(Frame(np.full(512, 0.5, np.float32), number * 0.032))
os._exit(9)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent.parent, check=False, timeout=60
    )
    assert done.returncode == 9
    left, _ = read(path)
    assert 6 * RATE <= len(left) <= 10.24 * RATE
    assert np.all(left > 0.4)


def test_loud_sound_is_limited_and_does_not_wrap(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "s.wav")
    hear(recording, 0.512, level=3.0)
    recording.close()
    assert np.all(read(recording.path)[0] > 0.99)


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"nowhere.*cannot be written.*--record"):
        Recording(tmp_path / "nowhere" / "s.wav")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_told_once_and_the_talk_goes_on() -> None:
    troubles: list[Failed] = []
    recording = Recording(Path(os.devnull), troubles.append)
    recording._file = open("/dev/full", "wb")  # noqa: SIM115 - the recording closes it
    hear(recording, 16.0)
    hear(recording, 16.0, begin=16.0)
    recording.close()
    assert len(troubles) == 1
    assert "recording ends here" in str(troubles[0].error)


def test_closing_twice_and_an_empty_recording(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "s.wav")
    recording.close()
    recording.close()
    assert len(read(recording.path)[0]) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_recording_that_ended_early_keeps_nothing_in_memory(tmp_path: Path) -> None:
    told: list[Failed] = []
    recording = Recording(tmp_path / "s.wav", told.append)
    hear(recording, 6.4)
    recording._file.close()  # type: ignore[union-attr]
    recording._file = open("/dev/full", "wb")  # noqa: SIM115
    hear(recording, 6.4, begin=6.4)
    assert len(told) == 1
    hear(recording, 32.0, begin=12.8)
    recording.played(Audio(tone(2.0), RATE), 44.0)
    assert len(recording._left._samples) < 20 * RATE
    assert recording._right.end < 44 * RATE
    recording.close()
