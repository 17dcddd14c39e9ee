"""Is a person speaking over our own voice? Evidence, suspicion, certainty (M7)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from assistant import barge_in
from assistant.audio.echo import Cleaned
from assistant.audio.echo_reference import Reference
from assistant.barge_in import BargeIn, Evidence, Listener, Overheard, Stage, load, weight
from assistant.config import VadConfig
from assistant.events import Frame

FRAME = np.zeros(512, np.float32)
PERSON = Evidence(0.95, 0.95, 8.0, aligned=True, steady=True)
ECHO = Evidence(0.05, 0.7, -2.0, aligned=True, steady=True)


def stages(evidence: Sequence[Evidence]) -> list[Stage]:
    judge = BargeIn()
    return [judge.feed(one) for one in evidence]


def test_m7_a_person_is_sure_within_160_ms_of_clear_speech() -> None:
    found = stages([PERSON] * 8)
    assert found.index(Stage.SURE) == 4
    assert found[:5] == [
        Stage.NOBODY,
        Stage.SUSPECTED,
        Stage.SUSPECTED,
        Stage.SUSPECTED,
        Stage.SURE,
    ]


def test_m7_a_cough_is_no_more_than_a_suspicion() -> None:
    assert Stage.SURE not in stages([PERSON] * 4 + [ECHO] * 30)


def test_m7_our_own_echo_is_nobody() -> None:
    assert set(stages([ECHO] * 200)) == {Stage.NOBODY}


@pytest.mark.parametrize(
    ("evidence", "counts"),
    [
        (PERSON, 1.0),
        (ECHO, 0.0),
        (Evidence(0.9, 0.9, 0.0, aligned=True, steady=True), 0.6),
        (Evidence(0.9, 0.9, 0.0, aligned=True, steady=False), 0.6),
        (Evidence(0.7, 0.7, 0.0, aligned=True, steady=False), 0.4),
        (Evidence(0.9, 0.1, 0.0, aligned=True, steady=True), 0.0),
        (Evidence(0.9, 0.1, 0.0, aligned=False, steady=False), 0.6),
        (Evidence(0.4, 0.6, 9.0, aligned=True, steady=True), 1.0),
        (Evidence(0.0, 0.9, 9.0, aligned=True, steady=False), 0.0),
    ],
    ids=[
        "loud speech on both sounds", "a rest of echo", "speech of doubtful level",
        "clear speech while the filter learns", "unclear speech while the filter learns",
        "only the suppressor lets it through", "the same before the echo is found",
        "covered by the suppressor, but too loud for an echo", "suppressed while the filter learns",
    ],
)  # fmt: skip
def test_m7_what_a_frame_counts(evidence: Evidence, counts: float) -> None:
    assert weight(evidence) == counts


def test_m7_unclear_speech_while_the_filter_learns_is_never_enough() -> None:
    doubtful = Evidence(0.7, 0.7, 0.0, aligned=True, steady=False)
    assert Stage.SURE not in stages([doubtful] * 100)


def test_m7_who_speaks_keeps_the_floor_until_silent_for_a_while() -> None:
    found = stages([PERSON] * 6 + [ECHO] * 60)
    last = len(found) - found[::-1].index(Stage.SURE) - 1
    assert 20 <= last - 5 <= 30
    assert found[-1] is Stage.NOBODY


class Canceller:
    """Stands for an EchoCanceller: says what it is told to."""

    def __init__(self, cleaned: Sequence[Cleaned]) -> None:
        self._cleaned = iter(cleaned)

    def clean(self, frame: Frame) -> Cleaned:
        return next(self._cleaned)


class Detector:
    """Implements stages.SpeechDetector: the same probability until told otherwise."""

    def __init__(self, value: float) -> None:
        self.value = value
        self.resets = 0
        self.heard: list[Frame] = []

    def probability(self, frame: Frame) -> float:
        self.heard.append(frame)
        return self.value

    def reset(self) -> None:
        self.resets += 1


def cleaned(*, playing: bool = True, begins: bool = False, excess: float = 8.0) -> Cleaned:
    return Cleaned(FRAME + 0.1, FRAME + 0.2, playing, begins, excess, playing, playing)


def hear(frames: Sequence[Cleaned], detector: Detector, second: Detector) -> list[Overheard]:
    listener = Listener(Canceller(frames), detector, second)  # type: ignore[arg-type]
    return [listener.hear(Frame(FRAME, 0.032 * number)) for number in range(len(frames))]


def test_m7_while_we_are_silent_the_detector_decides_alone() -> None:
    detector, second = Detector(0.8), Detector(0.9)
    out = hear([cleaned(playing=False)] * 5, detector, second)
    assert [one.probability for one in out] == [0.8] * 5
    assert {one.stage for one in out} == {Stage.NOBODY}
    assert second.heard == [], "nothing is computed that is not needed"


def test_m7_our_own_echo_has_no_probability_and_no_certainty() -> None:
    out = hear([cleaned(excess=-3.0)] * 40, Detector(0.9), Detector(0.05))
    assert {one.probability for one in out} == {0.0}
    assert {one.stage for one in out} == {Stage.NOBODY}


def test_m7_a_person_over_our_voice_is_heard_without_it() -> None:
    detector, second = Detector(0.9), Detector(0.8)
    out = hear([cleaned()] * 10, detector, second)
    assert [one.stage is Stage.SURE for one in out] == [False] * 4 + [True] * 6
    assert [one.probability for one in out] == [0.0] + [0.9] * 9
    assert np.array_equal(out[5].frame.samples, FRAME + 0.1), "all speech is kept for the words"
    assert np.array_equal(second.heard[5].samples, FRAME + 0.2)


def test_m7_the_next_reply_begins_with_nobody_speaking() -> None:
    frames = [cleaned()] * 8 + [cleaned(playing=False)] + [cleaned(excess=-3.0)] * 4
    second = Detector(0.8)
    listener = Listener(Canceller(frames), Detector(0.9), second)  # type: ignore[arg-type]
    out = []
    for number in range(len(frames)):
        second.value = 0.8 if number < 9 else 0.05
        out.append(listener.hear(Frame(FRAME, 0.032 * number)))
    assert out[7].stage is Stage.SURE
    assert {one.stage for one in out[9:]} == {Stage.NOBODY}
    assert second.resets == 2


def test_m7_a_reply_that_goes_on_at_once_is_not_taken_for_the_person() -> None:
    frames = [cleaned()] * 8 + [cleaned(begins=True, excess=-3.0)] + [cleaned(excess=-3.0)] * 4
    second = Detector(0.8)
    listener = Listener(Canceller(frames), Detector(0.9), second)  # type: ignore[arg-type]
    out = []
    for number in range(len(frames)):
        second.value = 0.8 if number < 8 else 0.05
        out.append(listener.hear(Frame(FRAME, 0.032 * number)))
    assert out[7].stage is Stage.SURE
    assert {one.stage for one in out[8:]} == {Stage.NOBODY}
    assert {one.probability for one in out[8:]} == {0.0}


def test_m7_a_sentence_that_begins_does_not_forget_a_suspicion() -> None:
    frames = [cleaned()] * 3 + [cleaned(begins=True)] + [cleaned()] * 3
    out = hear(frames, Detector(0.9), Detector(0.8))
    assert out[4].stage is Stage.SURE


def test_m7_without_an_echo_canceller_it_is_said_and_nothing_is_loaded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def find(name: str, kind: str) -> Path:
        raise AssertionError("no weights are needed")

    monkeypatch.setattr(barge_in, "missing", lambda: "the echo canceller cannot be loaded (pyaec)")
    with caplog.at_level(logging.WARNING):
        assert load(find, VadConfig(), Reference()) is None
    assert len(caplog.records) == 1
    assert "pyaec" in caplog.text
