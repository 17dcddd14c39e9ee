"""Frames in, events out: every utterance that was begun is ended, whatever happens to the sound."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from assistant.config import EndpointConfig, VadConfig
from assistant.ears import Ears
from assistant.endpoint import Endpoint
from assistant.errors import AudioFormatError
from assistant.events import Audio, Ended, Failed, Frame, Paused, SpeechStarted, Utterance
from assistant.stages import Microphone
from assistant.testing import ScriptedDetector, ScriptedMicrophone, silence, speech


class Frames(ScriptedMicrophone):
    """Given frames, each with its own time."""

    def __init__(self, frames: list[Frame]) -> None:
        super().__init__([])
        self._frames = frames

    def frames(self) -> Iterator[Frame]:
        yield from self._frames


def listen(
    microphone: Microphone,
    deaf_until: Callable[[], float] = lambda: 0.0,
    detector: ScriptedDetector | None = None,
) -> list[object]:
    events: list[object] = []
    endpoint = Endpoint(EndpointConfig(), VadConfig())
    detector = detector or ScriptedDetector()
    Ears(microphone, detector, endpoint, events.append, deaf_until=deaf_until).run()
    return events


def kinds(events: list[object]) -> list[type]:
    return [type(event) for event in events if not isinstance(event, Paused)]


def test_speech_becomes_an_utterance_and_the_end_is_told() -> None:
    events = listen(ScriptedMicrophone([silence(0.5), speech(1.0), silence(1.0)]))
    assert kinds(events) == [SpeechStarted, Utterance, Ended]


def test_sound_that_breaks_off_in_mid_sentence_loses_nothing_that_was_said() -> None:
    def damaged() -> Iterator[Audio]:
        yield speech(1.0)
        raise AudioFormatError("x.wav: the sound in it is damaged.")

    events = listen(ScriptedMicrophone(damaged()))
    assert kinds(events) == [SpeechStarted, Utterance, Failed, Ended]


def test_a_detector_that_breaks_in_mid_sentence_ends_the_utterance() -> None:
    class Breaks(ScriptedDetector):
        def probability(self, frame: Frame) -> float:
            if frame.at > 1.0:
                raise RuntimeError("broken")
            return super().probability(frame)

    events = listen(ScriptedMicrophone([speech(2.0)]), detector=Breaks())
    assert kinds(events) == [SpeechStarted, Utterance, Failed, Ended]


def test_what_was_said_before_and_after_a_gap_of_the_microphone_is_not_one_utterance() -> None:
    sound = list(ScriptedMicrophone([speech(1.0)]).frames())
    later = [Frame(frame.samples, frame.at + 60.0) for frame in sound]
    events = listen(Frames([*sound, *later]))
    assert kinds(events) == [SpeechStarted, Utterance, SpeechStarted, Utterance, Ended]
    first, second = (event for event in events if isinstance(event, Utterance))
    assert first.closed == pytest.approx(first.end) == pytest.approx(1.024)
    assert second.start == pytest.approx(60.0)


def test_our_own_voice_is_not_heard() -> None:
    events = listen(ScriptedMicrophone([speech(1.0), silence(1.0)]), deaf_until=lambda: 1.2)
    assert kinds(events) == [Ended]


def test_v1_after_some_silence_the_detector_forgets_whom_it_heard() -> None:
    class Counting(ScriptedDetector):
        resets = 0

        def reset(self) -> None:
            self.resets += 1

    detector = Counting()
    microphone = ScriptedMicrophone([speech(1.0), silence(3.0), speech(1.0), silence(5.0)])
    endpoint = Endpoint(EndpointConfig(), VadConfig())
    Ears(microphone, detector, endpoint, lambda event: None).run()
    assert detector.resets == 2, "once in each silence"
