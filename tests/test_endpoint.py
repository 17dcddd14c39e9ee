"""The pause logic: what joins, what ends, what is nothing."""

from __future__ import annotations

import numpy as np

from assistant.config import EndpointConfig, VadConfig
from assistant.endpoint import FRAME_SECONDS, Endpoint
from assistant.events import Frame, Paused, SpeechStarted, Utterance


def run(pattern: str, **settings: float) -> list[SpeechStarted | Paused | Utterance]:
    """One character a frame: S speech, anything else silence. Then the microphone ends."""
    endpoint = Endpoint(EndpointConfig(**settings), VadConfig())  # type: ignore[arg-type]
    events: list[SpeechStarted | Paused | Utterance] = []
    for number, mark in enumerate(pattern):
        frame = Frame(np.full(512, number, np.float32), number * FRAME_SECONDS)
        events += endpoint.feed(frame, 0.9 if mark == "S" else 0.05)
    return events + endpoint.flush(len(pattern) * FRAME_SECONDS)


def utterances(pattern: str, **settings: float) -> list[Utterance]:
    return [event for event in run(pattern, **settings) if isinstance(event, Utterance)]


def test_m6_a_pause_shorter_than_the_closing_silence_joins() -> None:
    (only,) = utterances("." * 20 + "S" * 20 + "." * 15 + "S" * 20 + "." * 30)
    assert only.start == 20 * FRAME_SECONDS
    assert only.end == 75 * FRAME_SECONDS


def test_m6_a_longer_pause_ends_the_utterance() -> None:
    first, second = utterances("S" * 20 + "." * 25 + "S" * 20 + "." * 30)
    assert first.end <= 20 * FRAME_SECONDS < second.start
    assert abs(first.closed - first.end - 0.6) < FRAME_SECONDS


def test_the_closing_silence_is_a_setting() -> None:
    assert len(utterances("S" * 20 + "." * 25 + "S" * 20 + "." * 60, silence_ms=1000)) == 1


def test_pre_roll_keeps_what_was_before_the_detected_start() -> None:
    (only,) = utterances("." * 30 + "S" * 20 + "." * 30)
    first = only.audio.samples[0]
    assert 30 - first == 9, "300 ms are 9 frames of 32 ms"


def test_a_short_burst_is_nobody_speaking() -> None:
    assert run("." * 10 + "SSS" + "." * 40) == []


def test_the_audio_at_a_pause_is_the_audio_at_the_end() -> None:
    events = run("." * 10 + "S" * 20 + "." * 30)
    paused = next(event for event in events if isinstance(event, Paused))
    final = next(event for event in events if isinstance(event, Utterance))
    assert np.array_equal(paused.utterance.audio.samples, final.audio.samples)
    assert paused.utterance.end == final.end


def test_speech_share_counts_only_between_first_and_last_speech() -> None:
    (only,) = utterances("S" * 10 + "." * 10 + "S" * 10 + "." * 30)
    assert abs(only.speech_share - 20 / 30) < 0.01


def test_an_utterance_without_end_is_closed_at_the_limit() -> None:
    found = utterances("S" * 100, max_seconds=1.0)
    assert len(found) == 4
    assert all(item.audio.seconds <= 1.01 for item in found)


def test_the_microphone_ending_in_mid_sentence_loses_nothing() -> None:
    (only,) = utterances("." * 5 + "S" * 20)
    assert only.end == 25 * FRAME_SECONDS


def test_every_utterance_is_announced_once() -> None:
    kinds = [type(event) for event in run("S" * 20 + "." * 30 + "S" * 20)]
    assert kinds == [SpeechStarted, Paused, Utterance, SpeechStarted, Utterance]
