"""The pause logic: what joins, what ends, what is nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from assistant.config import EndpointConfig, VadConfig
from assistant.endpoint import FRAME_SECONDS, Endpoint, Event
from assistant.events import Frame, Paused, SpeechStarted, Utterance
from assistant.workers import Worker


def run(pattern: str, **settings: float) -> list[Event]:
    """One character a frame: S speech, anything else silence. Then the microphone ends."""
    endpoint = Endpoint(EndpointConfig(**settings), VadConfig())  # type: ignore[arg-type]
    events: list[Event] = []
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


def feed(endpoint: Endpoint, pattern: str, first: int = 0) -> list[object]:
    """As `run`, on an endpoint that goes on."""
    events: list[object] = []
    for number, mark in enumerate(pattern, first):
        frame = Frame(np.full(512, number, np.float32), number * FRAME_SECONDS)
        events += endpoint.feed(frame, 0.9 if mark == "S" else 0.05)
    return events


def paused(silent: int = 6) -> tuple[Endpoint, Paused]:
    """20 frames of speech, then `silent` frames of silence."""
    endpoint = Endpoint(EndpointConfig(), VadConfig())
    events = feed(endpoint, "S" * 20 + "." * silent)
    (pause,) = [event for event in events if isinstance(event, Paused)]
    return endpoint, pause


def closed(events: list[object]) -> list[Utterance]:
    return [event for event in events if isinstance(event, Utterance)]


def test_v1_a_pause_is_told_after_about_100_ms() -> None:
    _, pause = paused()
    assert 0.06 <= pause.utterance.closed - pause.utterance.end <= 0.13


def test_v1_a_judge_closes_a_complete_command_early() -> None:
    endpoint, pause = paused()
    assert endpoint.wait(pause.utterance.end, 0.25)
    (only,) = closed(feed(endpoint, "." * 30, 26))
    assert abs(only.closed - only.end - 0.25) < FRAME_SECONDS
    assert np.array_equal(only.audio.samples, pause.utterance.audio.samples)


def test_v1_a_silence_that_is_long_enough_already_closes_at_the_next_frame() -> None:
    endpoint, pause = paused(silent=12)
    assert endpoint.wait(pause.utterance.end, 0.25)
    assert len(closed(feed(endpoint, ".", 32))) == 1


def test_v1_a_judge_waits_for_who_trails_off() -> None:
    endpoint, pause = paused()
    assert endpoint.wait(pause.utterance.end, 1.5)
    events = feed(endpoint, "." * 35 + "S" * 10 + "." * 30, 26)
    (only,) = closed(events)
    assert only.start == 0
    assert only.end == (26 + 35 + 10) * FRAME_SECONDS


def test_m6_a_judgement_holds_for_its_own_pause_only() -> None:
    endpoint, pause = paused()
    endpoint.wait(pause.utterance.end, 1.5)
    (only,) = closed(feed(endpoint, "." * 10 + "S" * 10 + "." * 30, 26))
    assert abs(only.closed - only.end - 0.6) < FRAME_SECONDS


def test_m6_a_judgement_that_comes_after_speech_resumed_is_ignored() -> None:
    endpoint, pause = paused()
    feed(endpoint, "SS", 26)
    assert not endpoint.wait(pause.utterance.end, 0.2)
    feed(endpoint, "." * 6, 28)
    assert not endpoint.wait(pause.utterance.end, 0.2), "it is another pause by now"
    assert closed(feed(endpoint, "." * 5, 34)) == []


def test_a_judgement_after_the_end_or_before_any_speech_is_ignored() -> None:
    endpoint, pause = paused()
    feed(endpoint, "." * 20, 26)
    assert not endpoint.wait(pause.utterance.end, 5)
    assert not Endpoint(EndpointConfig(), VadConfig()).wait(0.0, 1)


def test_a_judge_may_change_its_mind_while_the_pause_lasts() -> None:
    endpoint, pause = paused()
    assert endpoint.wait(pause.utterance.end, 1.5)
    assert closed(feed(endpoint, "." * 20, 26)) == []
    assert endpoint.wait(pause.utterance.end, 0.25)
    assert len(closed(feed(endpoint, ".", 46))) == 1


def test_no_judge_can_hold_a_turn_for_ever() -> None:
    endpoint, pause = paused()
    assert endpoint.wait(pause.utterance.end, 1e9)
    (only,) = closed(feed(endpoint, "." * 200, 26))
    assert only.closed - only.end < 5.1


def test_v1_an_early_end_leaves_nothing_of_it_to_the_next_utterance() -> None:
    endpoint, pause = paused()
    endpoint.wait(pause.utterance.end, 0.2)
    first, second = closed(feed(endpoint, ".." + "S" * 20 + "." * 30, 26))
    assert first.end == 20 * FRAME_SECONDS
    assert second.audio.samples[0] >= 20, "the pre-roll holds silence only"


def _note(judge: Callable[[], bool], answers: list[bool]) -> None:
    answers.append(judge())


def test_v1_judging_from_another_thread_at_every_frame_of_the_silence() -> None:
    for frame in range(5, 19):
        endpoint, pause = paused(silent=frame)
        answers: list[bool] = []
        judge = partial(endpoint.wait, pause.utterance.end, 0.16)
        Worker("judge", partial(_note, judge, answers)).start().result()
        assert answers == [True]
        assert len(closed(feed(endpoint, ".", 20 + frame))) == 1
