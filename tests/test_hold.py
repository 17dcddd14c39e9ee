"""Holding playback and going on: what a person hears, what is told, and what is recorded (M7)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from assistant.audio import devices
from assistant.audio import speaker as speaker_module
from assistant.audio.playhead import REWIND_SECONDS, Playhead
from assistant.audio.recording import RATE, Recording
from assistant.audio.speaker import DeviceSpeaker, SilentSpeaker
from assistant.events import Audio, Samples
from assistant.testing import FakeClock, wait_for

BLOCK = 480
HZ = 48_000


def ramp(begin: float, seconds: float, rate: int) -> Samples:
    """A sound in which every sample tells its own time: it climbs by 0.1 a second."""
    return (0.1 * (begin + np.arange(round(seconds * rate)) / rate)).astype(np.float32)


class Sounds:
    """Implements playhead.Sink: what was heard, sample by sample, as a recording would hold it."""

    def __init__(self) -> None:
        self.heard = np.zeros(20 * RATE, np.float32)
        self.cuts: list[float] = []
        self.begins: list[float] = []

    def played(self, audio: Audio, at: float) -> None:
        begin = round(at * RATE)
        assert audio.rate == RATE and not self.heard[begin:].any(), "sounds never overlap"
        self.heard[begin : begin + len(audio.samples)] = audio.samples
        self.begins.append(at)

    def cut(self, at: float) -> None:
        self.heard[round(at * RATE) :] = 0
        self.cuts.append(at)

    def at(self, second: float) -> float:
        """The time within the reply that was heard at a second; 0 in silence."""
        return float(self.heard[round(second * RATE)]) * 10


class Device:
    """Pulls blocks out of a playhead as a sound card does, with a latency of 50 ms."""

    def __init__(self) -> None:
        self.begun: list[tuple[Audio, float]] = []
        self.cuts: list[float] = []
        self.head = Playhead(HZ, lambda a, t: self.begun.append((a, t)), self.cuts.append)
        self.out: list[Samples] = []
        self.now = 0.0

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds * HZ / BLOCK)):
            block = np.full(BLOCK, 9.0, np.float32)
            self.head.fill(block, self.now + 0.05)
            self.out.append(block)
            self.now += BLOCK / HZ

    def push(self, begin: float, seconds: float) -> float:
        return self.head.push(ramp(begin, seconds, HZ), self.now)

    def at(self, second: float) -> float:
        """The time within the reply that is heard at a second."""
        return float(np.concatenate(self.out)[round((second - 0.05) * HZ)]) * 10


def silent() -> tuple[FakeClock, Sounds, SilentSpeaker]:
    clock, sounds = FakeClock(), Sounds()
    clock.advance(1.0)
    return clock, sounds, SilentSpeaker(clock, reference=sounds)


def play(speaker: SilentSpeaker, begin: float, seconds: float) -> float:
    return speaker.play(Audio(ramp(begin, seconds, RATE), RATE))


def test_m7_hold_is_silence_at_once_and_resume_says_the_cut_word_again() -> None:
    clock, sounds, speaker = silent()
    play(speaker, 0.0, 3.0)
    clock.advance(1.5)
    assert speaker.hold() == 2.5
    clock.advance(2.0)
    later = speaker.resume()
    assert later == pytest.approx(2.0 + REWIND_SECONDS)
    clock.advance(3.0)
    assert sounds.at(2.499) == pytest.approx(1.499, abs=1e-3)
    assert not sounds.heard[round(2.5 * RATE) : round(4.5 * RATE)].any()
    for second in (4.55, 5.0, 6.0):
        assert sounds.at(second) == pytest.approx(second - 1.0 - later, abs=1e-3)
    assert sounds.heard.nonzero()[0][-1] == round((4.0 + later) * RATE) - 1
    assert np.abs(np.diff(sounds.heard[round(4.4 * RATE) :][: RATE // 2])).max() < 0.01, "no click"


def test_m7_everything_queued_is_later_by_what_resume_returns() -> None:
    clock, sounds, speaker = silent()
    told = [play(speaker, 0.0, 1.0), play(speaker, 1.0, 1.0)]
    clock.advance(0.6)
    speaker.hold()
    clock.advance(5.0)
    told.append(play(speaker, 2.0, 1.0))
    assert told == pytest.approx([1.0, 2.0, 3.0]), "for what is queued the time stands still"
    later = speaker.resume()
    told.append(play(speaker, 3.0, 1.0))
    assert told[3] == pytest.approx(4.0 + later), "told after the hold: as it is"
    for number, at in ((1, 2.0), (2, 3.0), (3, told[3] - later)):
        assert sounds.at(at + later + 0.5) == pytest.approx(number + 0.5, abs=1e-3)
    assert speaker.busy_until == pytest.approx(5.0 + later)


def test_m7_a_word_at_the_begin_of_a_sound_is_not_said_twice_with_the_one_before() -> None:
    clock, sounds, speaker = silent()
    play(speaker, 0.0, 1.0)
    play(speaker, 1.0, 1.0)
    clock.advance(1.1)
    speaker.hold()
    clock.advance(1.0)
    assert speaker.resume() == pytest.approx(1.1)
    assert sounds.at(3.2) == pytest.approx(1.1, abs=1e-3)


def test_m7_holding_twice_and_resuming_without_a_hold_are_harmless() -> None:
    clock, sounds, speaker = silent()
    assert speaker.resume() == 0.0
    assert speaker.hold() == 0.0
    assert speaker.busy_until == 0.0
    assert speaker.resume() == 0.0
    play(speaker, 0.0, 2.0)
    clock.advance(1.0)
    assert speaker.hold() == 2.0
    clock.advance(1.0)
    assert speaker.hold() == 2.0
    assert sounds.cuts.count(2.0) == 1
    assert speaker.resume() == pytest.approx(1.0 + REWIND_SECONDS)
    assert speaker.resume() == 0.0
    assert sounds.at(3.5) == pytest.approx(1.2, abs=1e-3)


def test_m7_a_second_hold_goes_on_where_the_second_cut_was() -> None:
    clock, sounds, speaker = silent()
    play(speaker, 0.0, 4.0)
    total = 0.0
    for _ in range(3):
        clock.advance(1.0)
        speaker.hold()
        clock.advance(0.5)
        total += speaker.resume()
    assert total == pytest.approx(3 * (0.5 + REWIND_SECONDS))
    clock.advance(1.0)
    assert sounds.at(clock.now() - 0.1) == pytest.approx(clock.now() - 1.1 - total, abs=1e-3)
    assert speaker.busy_until == pytest.approx(5.0 + total)


def test_m7_busy_until_is_in_the_future_while_something_is_held_and_past_while_nothing_is() -> None:
    clock, _, speaker = silent()
    play(speaker, 0.0, 2.0)
    clock.advance(1.0)
    speaker.hold()
    for _ in range(3):
        clock.advance(7.0)
        assert speaker.busy_until == pytest.approx(clock.now() + 1.0 + REWIND_SECONDS)
    speaker.stop()
    assert speaker.busy_until == 2.0


def test_m7_stop_ends_a_hold_and_drops_everything() -> None:
    clock, sounds, speaker = silent()
    play(speaker, 0.0, 2.0)
    clock.advance(1.0)
    speaker.hold()
    clock.advance(1.0)
    play(speaker, 2.0, 2.0)
    assert speaker.stop() == 2.0, "the last sound heard was at the hold"
    assert speaker.resume() == 0.0
    assert not sounds.heard[2 * RATE :].any()
    assert play(speaker, 5.0, 1.0) == 3.0
    assert sounds.at(3.5) == pytest.approx(5.5, abs=1e-3)


def test_m7_a_first_sound_that_comes_while_held_begins_when_it_goes_on() -> None:
    clock, sounds, speaker = silent()
    speaker.hold()
    clock.advance(1.0)
    assert play(speaker, 0.0, 1.0) == 2.0
    clock.advance(1.0)
    assert speaker.busy_until == pytest.approx(4.0)
    assert speaker.resume() == pytest.approx(1.0)
    assert sounds.begins == [3.0]


def test_m7_the_recording_holds_what_was_really_heard(tmp_path: Path) -> None:
    clock = FakeClock()
    recording = Recording(tmp_path / "s.wav")
    speaker = SilentSpeaker(clock, recording)
    speaker.play(Audio(ramp(1.0, 2.0, RATE), RATE))
    clock.advance(1.0)
    speaker.hold()
    clock.advance(0.5)
    speaker.resume()
    clock.advance(0.7)
    speaker.hold()
    clock.advance(1.0)
    speaker.stop()
    recording.close()
    right = soundfile.read(recording.path, dtype="float32")[0][:, 1]
    assert len(right) == round(2.2 * RATE)
    times = 10 * right[[round(at * RATE) for at in (0.5, 0.99, 1.2, 1.6, 2.19)]]
    assert times == pytest.approx([1.5, 1.99, 0.0, 1.8, 2.39], abs=0.01)


def test_m7_a_device_falls_silent_within_30_ms_and_goes_on_in_place() -> None:
    device = Device()
    device.run(0.2)
    begin = device.push(0.1, 2.0)
    after = device.push(2.1, 1.0)
    device.run(1.0)
    handed_over = device.now + 0.05
    last = device.head.hold()
    assert handed_over <= last <= handed_over + 0.03
    device.run(2.0)
    sound = np.concatenate(device.out)
    end = np.nonzero(np.abs(sound) > 1e-6)[0][-1] / HZ + 0.05
    assert end == pytest.approx(last, abs=0.001)
    assert np.abs(np.diff(sound[round(1.0 * HZ) :])).max() < 0.02, "holding must not click"
    later = device.head.resume()
    assert later == pytest.approx(2.0 + REWIND_SECONDS, abs=1e-3)
    assert device.head.end == pytest.approx(after + 1.0 + later)
    device.run(4.0)
    for second in (3.4, 4.0, 5.0):
        assert device.at(second) == pytest.approx(0.1 + second - later - begin, abs=2e-3)
    assert device.cuts == [last]
    assert [at for _, at in device.begun] == pytest.approx(
        [begin, begin + 1.0 - REWIND_SECONDS + later, after + later]
    )


def test_m7_a_device_that_is_held_twice_within_its_fade_repeats_no_fade() -> None:
    device = Device()
    device.push(0.1, 2.0)
    device.run(1.0)
    first = device.head.hold()
    device.head.resume()
    assert device.head.hold() == first
    later = device.head.resume()
    assert len(device.begun) == 1
    device.run(2.0)
    assert device.at(2.0) == pytest.approx(2.1 - 0.05 - later - 0.005 - 0.295, abs=2e-3)
    assert len(device.begun) == 2


def test_m7_a_held_device_is_busy_and_bounded_and_stop_empties_it() -> None:
    device = Device()
    device.push(0.1, 2.0)
    device.run(0.5)
    device.head.hold()
    device.run(3.0)
    device.push(2.1, 1.0)
    assert device.head.waiting == pytest.approx(2.5 + REWIND_SECONDS)
    assert device.head.end == pytest.approx(device.now + 0.05 + 2.5 + REWIND_SECONDS)
    last = device.head.stop()
    assert device.head.waiting == 0.0
    assert device.head.end == last == pytest.approx(0.5 + 0.05 + 0.005)
    device.run(0.5)
    assert not np.concatenate(device.out)[round(0.6 * HZ) :].any()


def test_m7_what_is_held_before_the_device_asked_for_it_is_not_lost() -> None:
    device = Device()
    device.now = 5.0
    begin = device.push(0.1, 1.0)
    device.head.hold()
    device.run(1.0)
    later = device.head.resume()
    device.run(1.0)
    assert begin == 5.0
    assert [at for _, at in device.begun] == pytest.approx([begin + later])


class Output:
    """Stands for a PortAudio output stream."""

    active = True

    def abort(self, ignore_errors: bool = True) -> None:
        """Nothing is queued."""

    def close(self, ignore_errors: bool = True) -> None:
        """Nothing is open."""


def test_m7_the_device_speaker_tells_every_sink_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        devices, "open_stream", lambda *_: devices.OpenStream(Output(), RATE, 0.06, "fake")
    )
    monkeypatch.setattr(devices.OpenStream, "start", lambda self: None)
    monkeypatch.setattr(speaker_module, "_CHECK_SECONDS", 0.01)
    recording, reference = Sounds(), Sounds()
    clock = FakeClock()
    speaker = DeviceSpeaker("", 1.0, clock, recording, reference=reference)
    speaker.play(Audio(ramp(0.1, 2.0, RATE), RATE))
    for number in range(300):
        speaker._head.fill(np.zeros(160, np.float32), 0.05 + number / 100)
        if number == 99:
            held = speaker.hold()
        if number == 149:
            assert speaker.resume() == pytest.approx(0.5 + REWIND_SECONDS)
    for sink in (recording, reference):
        wait_for(lambda sink=sink: len(sink.begins) == 2)  # type: ignore[misc]
        assert sink.cuts == [held]
        assert sink.at(2.0) == pytest.approx(0.1 + 2.0 - 0.05 - 0.8, abs=1e-3)
        assert sink.at(1.2) == 0.0
    speaker.close()


@pytest.mark.parametrize("seed", range(20))
def test_m7_whatever_is_held_and_resumed_nothing_is_lost_or_told_wrong(seed: int) -> None:
    rng = np.random.default_rng(seed)
    clock, sounds, speaker = silent()
    device = Device()
    device.run(1.0)
    said, told, told_device = 0.1, 0.0, 0.0
    for _ in range(30):
        act = rng.integers(4)
        if act == 0 and said < 2.0:
            told = play(speaker, said, 0.2) - said
            told_device = device.push(said, 0.2) - said
            said += 0.2
        elif act == 1:
            assert speaker.hold() == speaker.hold() <= clock.now()
            device.head.hold()
        elif act == 2:
            told += speaker.resume()
            told_device += device.head.resume()
        step = round(float(rng.uniform(0.02, 0.3)), 2)
        clock.advance(step)
        device.run(step)
    told += speaker.resume()
    told_device += device.head.resume()
    device.run(4.0)
    by_device = np.concatenate(device.out)[::3]
    for heard, rate_of_times in ((sounds.heard, told), (by_device, told_device - 0.05)):
        times = 10 * heard[heard > 0.0095]
        assert times.max() == pytest.approx(said, abs=0.01)
        covered = np.unique((times / 0.01).round())
        assert len(covered) >= round((said - 0.1) / 0.01), "every word was said"
        last = np.flatnonzero(heard > 0.0095)[-1] / RATE
        assert last == pytest.approx(said + rate_of_times, abs=0.02), "and where it was told"
