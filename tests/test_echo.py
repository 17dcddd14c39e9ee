"""The sound side of interruptions on open speakers: reference, delay, cancelling (M7)."""

from __future__ import annotations

import numpy as np
import pytest

from assistant.audio.echo import EchoCanceller
from assistant.audio.echo_delay import FFT, WINDOW, DelayTracker
from assistant.audio.echo_engines import missing
from assistant.audio.echo_reference import BEHIND, Reference
from assistant.audio.echo_residual import Residual
from assistant.audio.speaker import SilentSpeaker
from assistant.events import Audio, Frame, Samples
from assistant.testing import FakeClock, tone

RATE = 16_000
FRAME = 512

needs_engines = pytest.mark.skipif(bool(missing()), reason=missing() or "there")


def noise(seconds: float, seed: int = 1, level: float = 0.1) -> Samples:
    """Sound with the energy of speech below 4 kHz, in syllables."""
    count = round(seconds * RATE)
    rng = np.random.default_rng(seed)
    spectrum = np.fft.rfft(rng.standard_normal(count))
    spectrum[np.fft.rfftfreq(count, 1 / RATE) > 4000] = 0
    syllables = 0.55 + 0.45 * np.sin(2 * np.pi * 4 * np.arange(count) / RATE)
    made: Samples = (level * syllables * np.fft.irfft(spectrum, count)).astype(np.float32)
    return made


def delayed(samples: Samples, by: int) -> Samples:
    return np.concatenate([np.zeros(by, np.float32), samples])[: len(samples)]


def decibels(samples: Samples) -> float:
    return 10 * float(np.log10(np.square(samples).mean() + 1e-12))


def test_m7_the_reference_gives_back_what_was_played_where_it_was_played() -> None:
    reference = Reference()
    sound = noise(0.5)
    reference.played(Audio(sound, RATE), 1.0)
    read = reference.read(RATE - 100, RATE)
    assert not read[:100].any()
    assert np.array_equal(read[100 : 100 + len(sound)], sound)
    assert not read[100 + len(sound) :].any()


def test_m7_a_sound_of_another_rate_is_in_the_reference_at_16_khz() -> None:
    reference = Reference()
    reference.played(Audio(tone(0.5, 400, 48_000), 48_000), 0.5)
    read = reference.read(RATE // 2, RATE // 2)
    assert np.abs(read[500:-500] - tone(0.5, 400)[500:-500]).max() < 0.01


def test_m7_what_was_cut_is_not_in_the_reference_and_what_goes_on_is() -> None:
    reference = Reference()
    clock = FakeClock()
    speaker = SilentSpeaker(clock, reference=reference)
    sound = noise(2.0)
    speaker.play(Audio(sound, RATE))
    clock.advance(1.0)
    speaker.hold()
    clock.advance(1.0)
    later = speaker.resume()
    read = np.concatenate([reference.read(second * RATE, RATE) for second in range(4)])
    assert np.array_equal(read[: RATE - 100], sound[: RATE - 100])
    assert not read[RATE : 2 * RATE].any()
    shift = round(later * RATE)
    end = len(sound) + shift
    assert np.array_equal(read[2 * RATE + 100 : end], sound[2 * RATE + 100 - shift :])
    assert reference.end == end


def test_m7_a_stretch_that_was_cut_before_it_began_is_not_told() -> None:
    reference = Reference()
    reference.played(Audio(noise(1.0), RATE), 0.5)
    reference.played(Audio(noise(1.0), RATE), 3.0)
    reference.cut(1.0)
    assert reference.begun(RATE)
    assert not reference.begun(5 * RATE)


def test_m7_sounds_back_to_back_are_one_stretch() -> None:
    reference = Reference()
    for second in (1.0, 2.0, 3.5):
        reference.played(Audio(noise(1.0), RATE), second)
    asked = (RATE + 100, 2 * RATE + 100, 3 * RATE, 4 * RATE)
    assert [reference.begun(place) for place in asked] == [True, False, False, True]


def test_m7_the_reference_lies_between_samples_too() -> None:
    reference = Reference()
    reference.played(Audio(tone(1.0, 1000), RATE), 0.0)
    at = 4000.37 + (1 + 1e-4) * np.arange(FRAME)
    exact = 0.3 * np.sin(2 * np.pi * 1000 * at / RATE)
    assert np.abs(reference.between(4000.37, 1 + 1e-4, FRAME) - exact).max() < 0.003


def test_m7_the_memory_of_the_reference_is_bounded_over_hours() -> None:
    reference = Reference()
    for second in range(0, 7200, 2):
        reference.played(Audio(np.full(RATE, 0.1, np.float32), RATE), float(second))
        reference.read((second + 1) * RATE, FRAME)
        assert len(reference._samples) <= 8 * BEHIND


def track(tracker: DelayTracker, sound: Samples, heard: Samples) -> None:
    """Every eighth frame, as the canceller does it."""
    for end in range(8 * FRAME, len(heard), 8 * FRAME):
        tracker.advance(8 * FRAME)
        begin = end - tracker.lead()
        window = sound[max(0, begin) : max(0, begin + FFT)]
        reference = np.zeros(FFT, np.float32)
        reference[max(0, -begin) :][: len(window)] = window
        tracker.compare(heard[end - WINDOW : end], reference)


@pytest.mark.parametrize("milliseconds", [5, 40, 120, 250, 380])
def test_m7_the_delay_of_an_echo_is_found(milliseconds: int) -> None:
    sound = noise(4.0)
    by = milliseconds * RATE // 1000
    tracker = DelayTracker()
    heard = 0.1 * delayed(sound, by) + 0.001 * noise(4.0, seed=9)
    track(tracker, sound, heard.astype(np.float32))
    assert tracker.settled
    assert tracker.delay == pytest.approx(by - 64, abs=2)


@pytest.mark.parametrize("ppm", [-200, 100, 200])
def test_m7_clocks_that_drift_apart_are_followed(ppm: int) -> None:
    sound = noise(30.0)
    places = np.arange(len(sound)) * (1 - ppm * 1e-6) - 1600
    heard = np.interp(places, np.arange(len(sound)), sound).astype(np.float32)
    tracker = DelayTracker()
    track(tracker, sound, heard)
    assert tracker.drift * 1e6 == pytest.approx(ppm, abs=40)
    assert tracker.delay == pytest.approx(1600 - 64 + ppm * 1e-6 * len(sound), abs=3)


def test_m7_no_delay_is_found_in_a_strangers_speech() -> None:
    floor = 0.001 * np.random.default_rng(2).standard_normal(20 * RATE).astype(np.float32)
    tracker = DelayTracker()
    track(tracker, noise(20.0) + floor, noise(20.0, seed=5) + floor[::-1])
    assert not tracker.found


def test_m7_what_is_louder_than_the_known_rest_of_echo_stands_out() -> None:
    residual = Residual()
    taken = noise(8.0)
    left = (0.1 * noise(8.0, seed=3)).astype(np.float32)
    usual = [
        residual.excess(left[at : at + FRAME], taken[at : at + FRAME])
        for at in range(0, 6 * RATE, FRAME)
    ]
    assert abs(float(np.median(usual[-60:]))) < 6
    loud = left + 0.5 * noise(8.0, seed=4)
    stands_out = [
        residual.excess(loud[at : at + FRAME].astype(np.float32), taken[at : at + FRAME])
        for at in range(6 * RATE, 7 * RATE, FRAME)
    ]
    assert float(np.median(stands_out)) > float(np.median(usual[-60:])) + 6


def run(canceller: EchoCanceller, heard: Samples, begin: float = 0.0) -> list[tuple[Samples, ...]]:
    """(heard, speech, sure) of every frame while something is played."""
    out: list[tuple[Samples, ...]] = []
    for at in range(0, len(heard) - FRAME + 1, FRAME):
        frame = heard[at : at + FRAME]
        cleaned = canceller.clean(Frame(frame, begin + at / RATE))
        if cleaned.playing:
            out.append((frame, cleaned.speech, cleaned.sure))
    return out


@needs_engines
def test_m7_the_echo_of_our_own_voice_is_taken_out() -> None:
    reference = Reference()
    sound = noise(12.0)
    reference.played(Audio(sound, RATE), 0.0)
    canceller = EchoCanceller(reference)
    frames = run(canceller, (0.5 * delayed(sound, 1920)).astype(np.float32))[-120:]
    heard, speech, sure = (np.concatenate(part) for part in zip(*frames, strict=True))
    assert canceller.delay_ms == pytest.approx(120 - 4, abs=1)
    assert decibels(speech) < decibels(heard) - 15
    assert decibels(sure) < decibels(heard) - 15


@needs_engines
def test_m7_nothing_is_changed_before_we_ever_spoke_and_long_after() -> None:
    reference = Reference()
    canceller = EchoCanceller(reference)
    person = noise(1.0, seed=7)
    assert run(canceller, person) == []
    reference.played(Audio(noise(1.0), RATE), 1.0)
    run(canceller, noise(4.0, seed=8), begin=1.0)
    cleaned = canceller.clean(Frame(person[:FRAME], 5.0))
    assert not cleaned.playing
    assert np.array_equal(cleaned.speech, person[:FRAME])


@needs_engines
def test_m7_a_person_who_speaks_over_the_echo_is_kept() -> None:
    reference = Reference()
    sound = noise(12.0)
    reference.played(Audio(sound, RATE), 0.0)
    canceller = EchoCanceller(reference)
    person = np.zeros(12 * RATE, np.float32)
    person[8 * RATE : 10 * RATE] = noise(2.0, seed=6)
    run(canceller, (0.5 * delayed(sound, 1920) + person)[: 8 * RATE].astype(np.float32))
    rest = (0.5 * delayed(sound, 1920) + person)[8 * RATE : 10 * RATE].astype(np.float32)
    speech = np.concatenate([one[1] for one in run(canceller, rest, begin=8.0)])
    wanted = person[8 * RATE :][: len(speech)]
    assert np.corrcoef(speech, wanted)[0, 1] > 0.8


@needs_engines
def test_m7_lost_sound_of_the_microphone_does_not_break_the_canceller() -> None:
    reference = Reference()
    sound = noise(14.0)
    reference.played(Audio(sound, RATE), 0.0)
    echo = (0.5 * delayed(sound, 1920)).astype(np.float32)
    canceller = EchoCanceller(reference)
    run(canceller, echo[: 4 * RATE])
    frames = run(canceller, echo[5 * RATE :], begin=5.0)[-100:]
    heard, speech, _ = (np.concatenate(part) for part in zip(*frames, strict=True))
    assert decibels(speech) < decibels(heard) - 12
