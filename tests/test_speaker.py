"""Playing back to back, knowing when, stopping at once; no device is needed here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assistant.audio import devices
from assistant.audio import speaker as speaker_module
from assistant.audio.playhead import Playhead
from assistant.audio.recording import RATE, Recording
from assistant.audio.speaker import QUEUE_SECONDS, DeviceSpeaker, SilentSpeaker
from assistant.errors import DeviceError
from assistant.events import Audio, Samples
from assistant.testing import FakeClock, tone, wait_for

BLOCK = 441
HZ = 44_100


class Device:
    """Pulls blocks out of a playhead as a sound card does, with a latency of 50 ms."""

    def __init__(self) -> None:
        self.begun: list[tuple[Audio, float]] = []
        self.cuts: list[float] = []
        self.head = Playhead(HZ, lambda a, t: self.begun.append((a, t)), self.cuts.append)
        self.out: list[Samples] = []
        self.now = 0.0

    def run(self, blocks: int, jitter: float = 0.0) -> None:
        for number in range(blocks):
            block = np.full(BLOCK, 9.0, np.float32)
            self.head.fill(block, self.now + 0.05 + (jitter if number % 2 else 0.0))
            self.out.append(block)
            self.now += BLOCK / HZ

    @property
    def sound(self) -> Samples:
        return np.concatenate(self.out)


def test_sounds_lie_back_to_back_without_a_gap() -> None:
    device = Device()
    device.run(3)
    first, second = tone(0.123, rate=HZ), tone(0.2, 300, HZ)
    begin = device.head.push(first, device.now)
    after = device.head.push(second, device.now)
    device.run(60)
    assert begin == pytest.approx(0.08)
    assert after == pytest.approx(begin + len(first) / HZ)
    played = device.sound[3 * BLOCK :]
    both = np.concatenate([first, second])
    assert np.array_equal(played[: len(both)], both)
    assert not played[len(both) :].any()
    assert [at for _, at in device.begun] == pytest.approx([begin, after])
    assert device.head.end == pytest.approx(after + len(second) / HZ)


def test_jitter_of_the_device_does_not_move_a_running_sound() -> None:
    device = Device()
    device.run(1)
    begin = device.head.push(tone(0.1, rate=HZ), 0.0)
    device.head.push(tone(0.1, rate=HZ), 0.0)
    device.run(40, jitter=0.004)
    assert [at for _, at in device.begun] == pytest.approx([begin, begin + 0.1])


def test_stop_fades_within_5_ms_and_tells_the_last_sample() -> None:
    device = Device()
    device.run(1)
    begin = device.head.push(np.full(HZ, 0.5, np.float32), 0.0)
    device.head.push(np.full(HZ, 0.5, np.float32), 0.0)
    device.run(20)
    last = device.head.stop()
    device.run(20)
    played = device.sound
    end = int(np.nonzero(np.abs(played) > 1e-6)[0][-1])
    assert last == pytest.approx(begin + 0.2 + 0.005, abs=1e-4)
    assert end / HZ + 0.05 == pytest.approx(last, abs=0.001)
    assert np.abs(np.diff(played[BLOCK + 1 :])).max() < 0.01, "stopping must not click"
    assert device.cuts == [last]
    assert len(device.begun) == 1, "the second sound was never heard"
    assert device.head.end == last


def test_what_comes_after_a_stop_is_played_whole() -> None:
    device = Device()
    device.head.push(tone(1.0, rate=HZ), 0.0)
    device.run(10)
    device.head.stop()
    fresh = np.full(1000, 0.25, np.float32)
    begin = device.head.push(fresh, device.now)
    device.run(20)
    assert device.begun[-1][1] == pytest.approx(begin)
    assert np.isclose(device.sound, 0.25).sum() >= 1000


def test_stopping_when_nothing_plays_tells_when_something_last_did() -> None:
    device = Device()
    device.run(2)
    assert device.head.stop() == 0.0
    begin = device.head.push(tone(0.1, rate=HZ), 0.0)
    device.run(30)
    assert device.head.stop() == pytest.approx(begin + 0.1)
    assert device.cuts == []


def test_a_pause_of_the_device_moves_what_follows() -> None:
    device = Device()
    begin = device.head.push(tone(0.5, rate=HZ), 0.05)
    device.run(10)
    device.now += 0.3
    device.run(1)
    assert begin == pytest.approx(0.05)
    assert device.head.end == pytest.approx(0.05 + 0.5 + 0.3)


def test_silent_speaker_lays_sounds_back_to_back_on_the_clock() -> None:
    clock = FakeClock()
    speaker = SilentSpeaker(clock)
    clock.advance(2.0)
    assert speaker.play(Audio(tone(1.0), 16_000)) == 2.0
    assert speaker.play(Audio(tone(0.5), 16_000)) == 3.0
    assert speaker.busy_until == 3.5
    clock.advance(10.0)
    assert speaker.play(Audio(tone(1.0), 16_000)) == 12.0


def test_silent_speaker_stops_now_and_the_recording_holds_what_was_heard(tmp_path: Path) -> None:
    clock = FakeClock()
    recording = Recording(tmp_path / "s.wav")
    speaker = SilentSpeaker(clock, recording, volume=0.5)
    speaker.play(Audio(np.full(2 * RATE, 0.8, np.float32), RATE))
    clock.advance(1.25)
    assert speaker.stop() == 1.25
    assert speaker.busy_until == 1.25
    speaker.close()
    recording.close()
    import soundfile

    right = soundfile.read(recording.path, dtype="float32")[0][:, 1]
    assert len(right) == int(1.25 * RATE)
    assert np.allclose(right[: RATE // 2], 0.4, atol=1e-4)


def test_a_full_queue_makes_the_speaker_wait_on_the_clock() -> None:
    clock = FakeClock()
    speaker = SilentSpeaker(clock)
    for _ in range(10):
        speaker.play(Audio(tone(10.0), 16_000))
    assert speaker.busy_until == 100.0
    assert clock.now() >= 90.0 - QUEUE_SECONDS - 0.1


class FakeOutput:
    """Stands for a PortAudio output stream."""

    def __init__(self) -> None:
        self.closed = False

    @property
    def active(self) -> bool:
        if self.closed:
            raise RuntimeError("Invalid stream pointer")
        return True

    def abort(self, ignore_errors: bool = True) -> None:
        """Nothing is queued."""

    def close(self, ignore_errors: bool = True) -> None:
        self.closed = True


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> list[FakeOutput]:
    """Streams opened so far."""
    opened: list[FakeOutput] = []

    def open_stream(*_: object) -> devices.OpenStream:
        opened.append(FakeOutput())
        return devices.OpenStream(opened[-1], HZ, 0.06, "fake")

    monkeypatch.setattr(devices, "open_stream", open_stream)
    monkeypatch.setattr(devices, "rescan", lambda: None)
    monkeypatch.setattr(devices.OpenStream, "start", lambda self: None)
    monkeypatch.setattr(speaker_module, "_CHECK_SECONDS", 0.01)
    return opened


def test_a_stream_that_is_closed_while_it_is_looked_at_is_opened_again(
    outputs: list[FakeOutput],
) -> None:
    speaker = DeviceSpeaker("", 1.0, FakeClock(), None, lambda failed: None)
    outputs[0].closed = True
    wait_for(lambda: len(outputs) >= 2)
    assert speaker._worker.error is None
    speaker.close()


def test_a_stream_that_does_not_start_is_closed(
    outputs: list[FakeOutput], monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: devices.OpenStream) -> None:
        raise DeviceError("It was opened but does not start.")

    monkeypatch.setattr(devices.OpenStream, "start", start)
    with pytest.raises(DeviceError):
        DeviceSpeaker("", 1.0, FakeClock(), None)
    assert outputs[0].closed
