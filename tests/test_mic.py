"""Frames from files and from a device that a test pulls the plug of."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from assistant.audio import devices
from assistant.audio.mic import (
    FRAME,
    FRAME_SECONDS,
    RATE,
    DeviceMicrophone,
    FileMicrophone,
    Timeline,
)
from assistant.clock import FrameClock, RealClock
from assistant.errors import AudioFormatError, DeviceError
from assistant.events import Audio, Failed, Frame
from assistant.testing import speech, tone, wait_for
from assistant.workers import Worker


def fast(
    segments: list[Iterator[Audio] | Audio], idle: Callable[[FrameClock], bool] = lambda c: True
) -> tuple[FileMicrophone, FrameClock]:
    clock = FrameClock(realtime=False)
    microphone = FileMicrophone(iter(segments), clock, fast=True, idle=lambda: idle(clock), gap=0.5)
    return microphone, clock


def loud(frame: Frame) -> bool:
    return bool(np.abs(frame.samples).max() > 0.01)


def test_frames_are_whole_in_order_and_on_the_clock() -> None:
    microphone, clock = fast([speech(1.0)])
    for number, frame in enumerate(microphone.frames()):
        assert frame.samples.shape == (FRAME,) and frame.samples.dtype == np.float32
        assert frame.at == pytest.approx(number * FRAME_SECONDS)
        assert clock.now() == pytest.approx(frame.at + FRAME_SECONDS), "heard when it is over"
    assert clock.now() == pytest.approx(1.024 + 0.512)


def test_the_sound_is_delivered_unchanged_whole_or_in_blocks() -> None:
    audio = Audio(tone(1.0), RATE)
    blocks = iter([Audio(audio.samples[:7000], RATE), Audio(audio.samples[7000:], RATE)])
    for segment in (audio, blocks):
        microphone, _ = fast([segment])
        heard = np.concatenate([frame.samples for frame in microphone.frames()])
        assert np.array_equal(heard[:RATE], audio.samples)
        assert not heard[RATE:].any()


def test_the_next_segment_waits_until_the_assistant_has_been_idle() -> None:
    microphone, _ = fast([speech(0.32), speech(0.32)], idle=lambda clock: clock.now() > 5.0)
    frames = list(microphone.frames())
    starts = [b.at for a, b in itertools.pairwise(frames) if loud(b) and not loud(a)]
    assert starts == [pytest.approx(5.5, abs=2 * FRAME_SECONDS)]
    assert frames[-1].at == pytest.approx(5.5 + 0.32 + 0.5, abs=4 * FRAME_SECONDS)


def test_idle_must_last_without_a_break() -> None:
    def idle(clock: FrameClock) -> bool:
        return not 0.9 < clock.now() < 1.1

    microphone, clock = fast([speech(0.512)], idle)
    list(microphone.frames())
    assert clock.now() == pytest.approx(1.1 + 0.5, abs=2 * FRAME_SECONDS)


def test_a_segment_is_asked_for_only_when_its_turn_comes() -> None:
    clock = FrameClock(realtime=False)
    asked: list[float] = []

    def segments() -> Iterator[Audio]:
        for _ in range(2):
            asked.append(round(clock.now(), 3))
            yield speech(0.32)

    list(FileMicrophone(segments(), clock, fast=True, gap=0.32).frames())
    assert asked == [0.0, 0.64]


def test_a_broken_file_is_told() -> None:
    def broken() -> Iterator[Audio]:
        yield speech(0.32)
        raise AudioFormatError("x.wav: the sound in it is damaged.")

    microphone, _ = fast([broken()])
    with pytest.raises(AudioFormatError, match="damaged"):
        list(microphone.frames())


def test_an_hour_streams_in_bounded_memory() -> None:
    alive = 0
    most = 0

    class Block:
        def __init__(self) -> None:
            nonlocal alive, most
            alive += 1
            most = max(most, alive)
            self.samples = np.zeros(RATE, np.float32)
            self.rate = RATE

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    blocks: Any = (Block() for _ in range(600))
    microphone, clock = fast([blocks])
    assert sum(1 for _ in microphone.frames()) > 600 * 31
    assert most <= 3
    assert clock.now() > 600


class Wall:
    """Replaces time.monotonic and the waiting of a microphone."""

    def __init__(self, microphone: FileMicrophone, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time = 50.0
        self.waited = 0.0
        monkeypatch.setattr("assistant.audio.mic.time.monotonic", lambda: self.time)
        monkeypatch.setattr(microphone._closing, "wait", self.wait)

    def wait(self, seconds: float) -> bool:
        self.time += seconds
        self.waited += seconds
        return False


def test_fast_time_waits_only_while_something_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FrameClock(realtime=False)
    busy = False
    microphone = FileMicrophone(iter([speech(3.2)]), clock, fast=True, busy=lambda: busy, gap=0.032)
    wall = Wall(microphone, monkeypatch)
    frames = microphone.frames()
    for _ in range(50):
        next(frames)
    assert wall.waited == 0
    busy = True
    for _ in range(25):
        next(frames)
    assert wall.waited == pytest.approx(25 * FRAME_SECONDS)
    busy = False
    list(frames)
    assert wall.waited == pytest.approx(25 * FRAME_SECONDS)


def test_real_time_does_not_drift_when_the_listener_is_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = FrameClock(realtime=True)
    microphone = FileMicrophone(iter([speech(3.2)]), clock, gap=0.032)
    wall = Wall(microphone, monkeypatch)
    for number, _ in enumerate(microphone.frames(), 1):
        due = 50.0 + number * FRAME_SECONDS
        assert wall.time >= due - 1e-9
        if number % 10:
            assert wall.time < due + 0.021
        wall.time += 0.02


def test_closing_ends_the_frames_at_once() -> None:
    clock = FrameClock(realtime=True)
    microphone = FileMicrophone(iter([speech(60.0)]), clock)
    ended: list[float] = []

    def listen() -> None:
        for _ in microphone.frames():
            pass
        ended.append(time.monotonic())

    with Worker("ears", listen):
        wait_for(lambda: clock.now() > 0)
        closed = time.monotonic()
        microphone.close()
        wait_for(lambda: bool(ended))
    assert ended[0] - closed < 0.2


def test_timeline_ignores_lateness_and_follows_loss() -> None:
    line = Timeline(RATE)
    now, offsets = 0.0, []
    for number in range(300):
        now += 0.016
        gap = 1.5 if number == 150 else 0.0
        now += gap
        late = 0.05 * (number % 3)
        offsets.append(line.arrived(256, now + late))
    assert offsets[:200] == pytest.approx([0.0] * 200)
    assert offsets[-1] == pytest.approx(1.5)


def test_timeline_never_steps_back_by_a_frame() -> None:
    line = Timeline(RATE)
    offsets = [line.arrived(256, 0.016 * n * 0.99 + 1) for n in range(1, 2000)]
    steps = np.diff(offsets)
    assert offsets[-1] < 0.9, "a card that runs fast is followed"
    assert steps.min() >= -Timeline.TOLERANCE - 1e-9


@dataclass
class FakeStream:
    """Stands for a PortAudio stream; the test delivers blocks by hand."""

    callback: Callable[..., None]
    started: bool = False
    closed: bool = False

    def start(self) -> None:
        self.started = True

    def abort(self, ignore_errors: bool = True) -> None:
        self.started = False

    def close(self, ignore_errors: bool = True) -> None:
        self.closed = True

    def deliver(self, blocks: int, level: float = 0.1, size: int = 320) -> None:
        status = SimpleNamespace(input_overflow=False)
        for _ in range(blocks):
            self.callback(np.full((size, 1), level, np.float32), size, None, status)


@dataclass
class FakeCard:
    """Stands for devices.open_stream: unplugged, it refuses."""

    rate: int = RATE
    plugged: bool = True
    streams: list[FakeStream] = field(default_factory=list)
    scans: int = 0

    def open_stream(
        self, wanted: str, kind: str, rates: tuple[int, ...], callback: Callable[..., None]
    ) -> devices.OpenStream:
        if not self.plugged:
            raise DeviceError("No microphone was found.")
        self.streams.append(FakeStream(callback))
        return devices.OpenStream(self.streams[-1], self.rate, 0.06, "fake")

    def rescan(self) -> None:
        self.scans += 1


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> FakeCard:
    fake = FakeCard()
    monkeypatch.setattr(devices, "open_stream", fake.open_stream)
    monkeypatch.setattr(devices, "rescan", fake.rescan)
    monkeypatch.setattr(devices.OpenStream, "start", lambda self: self.stream.start())
    monkeypatch.setattr("assistant.audio.mic._STALL_SECONDS", 0.05)
    monkeypatch.setattr("assistant.audio.mic._START_SECONDS", 0.05)
    monkeypatch.setattr("assistant.audio.mic._RETRY_SECONDS", 0.01)
    return fake


def collect(microphone: DeviceMicrophone, frames: list[Frame]) -> None:
    for frame in microphone.frames():
        frames.append(frame)


@pytest.mark.parametrize("rate", [16_000, 44_100, 48_000])
def test_a_device_of_any_rate_gives_frames_at_16_khz(card: FakeCard, rate: int) -> None:
    card.rate = rate
    clock = RealClock()
    microphone = DeviceMicrophone("", clock)
    frames: list[Frame] = []
    with Worker("ears", lambda: collect(microphone, frames)):
        wait_for(lambda: card.streams[0].started)
        card.streams[0].deliver(60, size=rate // 50)
        wait_for(lambda: len(frames) >= 32)
        microphone.close()
    assert all(frame.samples.shape == (FRAME,) for frame in frames)
    assert np.allclose(frames[20].samples, 0.1, atol=0.01)
    assert abs(frames[0].at) < 0.02
    assert all(b.at > a.at for a, b in itertools.pairwise(frames))


def test_an_unplugged_microphone_is_told_once_and_comes_back(card: FakeCard) -> None:
    troubles: list[Failed] = []
    microphone = DeviceMicrophone("", RealClock(), troubles.append)
    frames: list[Frame] = []
    with Worker("ears", lambda: collect(microphone, frames)):
        wait_for(lambda: card.streams[0].started)
        card.streams[0].deliver(20)
        wait_for(lambda: len(frames) >= 5)
        card.plugged = False
        wait_for(lambda: card.scans >= 3)
        before = len(frames)
        card.plugged = True
        wait_for(lambda: len(card.streams) > 1 and card.streams[-1].started)
        card.streams[-1].deliver(40)
        wait_for(lambda: len(frames) > before + 5)
        microphone.close()
    assert [failed.stage for failed in troubles] == ["microphone"]
    assert "plug it in again" in str(troubles[0].error)
    assert card.streams[0].closed


def test_a_microphone_that_opens_but_gives_nothing_is_told(card: FakeCard) -> None:
    troubles: list[Failed] = []
    microphone = DeviceMicrophone("", RealClock(), troubles.append)
    with Worker("ears", lambda: collect(microphone, [])):
        wait_for(lambda: bool(troubles))
        microphone.close()
    assert len(troubles) == 1


def test_sound_nobody_takes_is_counted_and_told(
    card: FakeCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assistant.audio.mic._INBOX_BLOCKS", 10)
    troubles: list[Failed] = []
    microphone = DeviceMicrophone("", RealClock(), troubles.append)
    card.streams[0].deliver(5 + 10 + 50)
    frames: list[Frame] = []
    with Worker("ears", lambda: collect(microphone, frames)):
        wait_for(lambda: bool(troubles))
        microphone.close()
    assert microphone.lost_seconds == pytest.approx(50 * 0.02)
    assert "1.0 s of sound were lost" in str(troubles[0].error)


def test_closing_a_device_wakes_its_listener(
    card: FakeCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assistant.audio.mic._START_SECONDS", 30.0)
    microphone = DeviceMicrophone("", RealClock())
    worker = Worker("ears", lambda: collect(microphone, []))
    worker.start()
    wait_for(lambda: card.streams[0].started)
    closed = time.monotonic()
    microphone.close()
    assert worker.join(1.0)
    assert time.monotonic() - closed < 0.2


def test_no_microphone_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "devices", lambda: [])
    with pytest.raises(DeviceError, match=r"^No microphone was found\..*--input FILE"):
        devices.choose("", "input")
    with pytest.raises(DeviceError, match=r"^No speaker was found\."):
        devices.choose("", "output")


def test_devices_are_chosen_by_number_name_and_default(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [
        devices.Device(0, "Built-in", "input", 2, 48_000, False),
        devices.Device(2, "USB Headset", "input", 1, 16_000, True),
        devices.Device(3, "USB Headset Pro", "input", 1, 16_000, False),
        devices.Device(2, "USB Headset", "output", 2, 44_100, True),
    ]
    monkeypatch.setattr(devices, "devices", lambda: known)
    assert devices.choose("", "input") is known[1]
    assert devices.choose("0", "input") is known[0]
    assert devices.choose("built", "input") is known[0]
    assert devices.choose("usb headset", "input") is known[1], "a whole name goes before a part"
    assert devices.choose("pro", "input") is known[2]
    assert devices.choose("", "output") is known[3]
    with pytest.raises(DeviceError, match='No speaker is called "built"'):
        devices.choose("built", "output")


def test_a_microphone_that_comes_back_and_does_not_start_is_tried_again(
    card: FakeCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[FakeStream] = []

    def start(opened: devices.OpenStream) -> None:
        starts.append(opened.stream)
        if len(starts) == 2:
            raise DeviceError("It was opened but does not start.")
        opened.stream.start()

    monkeypatch.setattr(devices.OpenStream, "start", start)
    microphone = DeviceMicrophone("", RealClock())
    frames: list[Frame] = []
    worker = Worker("ears", lambda: collect(microphone, frames))
    with worker:
        wait_for(lambda: len(starts) == 1)
        card.streams[0].deliver(20)
        wait_for(lambda: len(starts) >= 3)
        before = len(frames)
        starts[-1].deliver(40)
        wait_for(lambda: len(frames) > before + 5)
        microphone.close()
    assert worker.error is None


def test_a_microphone_that_never_starts_is_one_sentence(
    card: FakeCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(opened: devices.OpenStream) -> None:
        raise DeviceError("It was opened but does not start.")

    monkeypatch.setattr(devices.OpenStream, "start", start)
    with pytest.raises(DeviceError, match="does not start"):
        next(DeviceMicrophone("", RealClock()).frames())
