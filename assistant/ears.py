"""Frames in, events out: microphone → without our own voice → voice activity → endpoint.

Knows neither what was said nor who answers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assistant.barge_in import Listener, Stage
from assistant.endpoint import FRAME_SECONDS, Endpoint
from assistant.events import (
    Ended,
    Failed,
    Frame,
    Paused,
    Resumed,
    Speaking,
    SpeechStarted,
    Utterance,
)
from assistant.stages import Microphone, SpeechDetector

QUIET_SECONDS = 2.0
"""Silence after which the detector forgets: it carries a clear voice along for minutes, and takes
a distant one behind it for noise (4 of 74 recordings in a row were not heard)."""
SOUND = 0.1
"""speech probability below which a frame is quiet"""
GAP_SECONDS = 1.0
"""A microphone that was away for longer has missed the end of what was being said."""

Event = SpeechStarted | Speaking | Paused | Resumed | Utterance | Ended | Failed


class Ears:
    """Listens until the microphone ends, handing each event to `tell`."""

    def __init__(
        self,
        microphone: Microphone,
        detector: SpeechDetector,
        endpoint: Endpoint,
        tell: Callable[[Event], None],
        *,
        listener: Listener | None = None,
        deaf_until: Callable[[], float] = lambda: 0.0,
        record: Callable[[Frame], None] = lambda frame: None,
        opened: Callable[[], None] = lambda: None,
    ) -> None:
        """`listener` takes our own voice out; without one, nothing may be heard before the session
        time that `deaf_until` gives. `opened` is called when the first sound has arrived."""
        self._microphone = microphone
        self._detector = detector
        self._endpoint = endpoint
        self._tell = tell
        self._listener = listener
        self._deaf_until = deaf_until
        self._record = record
        self._opened = opened
        self._quiet = 0.0
        self.failed = False
        """the sound ended because a stage broke"""

    def run(self) -> None:
        """Blocks until the microphone ends. A broken stage is told as Failed, then Ended."""
        at = 0.0
        try:
            for frame in self._microphone.frames():
                if at == 0.0:
                    self._opened()
                elif frame.at - at > GAP_SECONDS:
                    self._flush(at)
                    (self._listener or self._detector).reset()
                at = frame.at + FRAME_SECONDS
                self._record(frame)
                self._hear(frame)
            self._flush(at)
        except Exception as error:
            self.failed = True
            self._flush(at)
            self._tell(Failed("ears", error))
        self._tell(Ended(at))

    def _flush(self, at: float) -> None:
        """End what is being said: nothing more will come of it."""
        for event in self._endpoint.flush(at):
            self._tell(event)

    def _hear(self, frame: Frame) -> None:
        sure = False
        if self._listener is not None:
            heard = self._listener.hear(frame)
            frame, sure = heard.frame, heard.stage is Stage.SURE
            probability = heard.probability if sure or not heard.playing else 0.0
            self._quiet = 0.0 if heard.playing else self._quiet
        elif frame.at < self._deaf_until():
            frame = Frame(np.zeros_like(frame.samples), frame.at)
            probability = 0.0
        else:
            probability = self._detector.probability(frame)
        for event in self._endpoint.feed(frame, probability, sure=sure):
            self._tell(event)
        self._quiet = 0.0 if probability > SOUND or self._endpoint.open else self._quiet + 1
        if self._quiet == round(QUIET_SECONDS / FRAME_SECONDS):
            (self._listener or self._detector).reset()
