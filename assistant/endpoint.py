"""Has the person finished? Frames with their speech probability in, utterances out.

Knows nothing of microphones, models or words. A pause shorter than the closing silence joins (M6).
How long that silence is, whoever judges a pause may say while it lasts; else it is the setting.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from assistant.config import EndpointConfig, VadConfig
from assistant.events import (
    Audio,
    Frame,
    Paused,
    Resumed,
    Speaking,
    SpeechStarted,
    Utterance,
)
from assistant.workers import Lock

RATE = 16000
"""Hertz; the rate of every frame"""
FRAME_SECONDS = 512 / RATE
PAUSE_MS = 64
"""Silence after which recognition may start on what there is; the same audio as at the end. At 64
ms 0.8 pauses an utterance are none, at 160 ms 0.6: hardly more is recognised in vain."""
LONGEST_MS = 5000
"""silence that ends an utterance whatever its judge says"""
SPEAKING_MS = 640
"""speech after which the words so far are told, and again and again"""
Event = SpeechStarted | Speaking | Paused | Resumed | Utterance
HYSTERESIS = 0.15
"""speech goes on until the probability falls this far below the threshold"""


@dataclass(slots=True)
class _Heard:
    """An utterance in the making."""

    frames: list[Frame]
    start: float
    end: float
    voiced: int = 0
    silent: int = 0
    sure: bool = False
    paused: bool = False
    close_after: int = 0
    """silent frames that end it"""
    probabilities: list[bool] = field(default_factory=list)


class Endpoint:
    """Feed it one frame after another; it answers with what has become certain.

    One thread feeds; another may change the patience of the pause under way.
    """

    def __init__(
        self, endpoint: EndpointConfig, vad: VadConfig, *, judged: float | None = None
    ) -> None:
        """`judged`: every pause has a judge who will say `wait`; seconds to wait for it at most."""
        self._threshold = vad.threshold
        self._min_voiced = max(1, round(vad.min_speech_ms / 1000 / FRAME_SECONDS))
        self._close_after = max(1, round(endpoint.silence_ms / 1000 / FRAME_SECONDS))
        self._judged_after = None if judged is None else round(judged / FRAME_SECONDS)
        self._pause_after = max(1, round(PAUSE_MS / 1000 / FRAME_SECONDS))
        self._max_frames = round(endpoint.max_seconds / FRAME_SECONDS)
        self._pre_roll: deque[Frame] = deque(
            maxlen=max(1, round(endpoint.pre_roll_ms / 1000 / FRAME_SECONDS))
        )
        self._heard: _Heard | None = None
        self._lock = Lock()

    def wait(self, end: float, seconds: float) -> bool:
        """Close after `seconds` of silence the utterance whose speech ended at `end`.

        For the pause under way only, as often as one knows better; a silence that is that long
        already closes at the next frame. False, and nothing changes, when the person speaks again
        or it is closed. From any thread.
        """
        with self._lock:
            heard = self._heard
            if heard is None or not heard.paused or heard.end != end:
                return False
            most = LONGEST_MS / 1000 / FRAME_SECONDS
            heard.close_after = max(1, round(min(seconds / FRAME_SECONDS, most)))
            return True

    @property
    def open(self) -> bool:
        """Somebody has begun to speak, and it is not over."""
        heard = self._heard
        return heard is not None and heard.sure

    def feed(self, frame: Frame, probability: float, *, sure: bool = False) -> list[Event]:
        """Take the next frame with its speech probability, 0 to 1.

        `sure`: a person speaks, as whoever hears over our own voice has found out already.
        """
        with self._lock:
            return self._feed(frame, probability, sure)

    def _feed(self, frame: Frame, probability: float, sure: bool) -> list[Event]:
        heard = self._heard
        if heard is None:
            if probability < self._threshold:
                self._pre_roll.append(frame)
                return []
            heard = self._heard = _Heard([*self._pre_roll], frame.at, frame.at)
            self._pre_roll.clear()
        heard.frames.append(frame)
        voiced = probability >= self._threshold - (HYSTERESIS if heard.silent == 0 else 0.0)
        heard.probabilities.append(voiced)
        if sure and voiced and not heard.sure:
            heard.voiced = max(heard.voiced, self._min_voiced - 1)
        return self._voiced(heard, frame) if voiced else self._silent(heard, frame)

    def flush(self, at: float) -> list[Event]:
        """The microphone ends at `at`: close what is open."""
        with self._lock:
            return self._flush(at)

    def _flush(self, at: float) -> list[Event]:
        heard = self._heard
        self._heard = None
        self._pre_roll.clear()
        if heard is None or heard.voiced < self._min_voiced:
            return []
        start: list[Event] = []
        if not heard.sure:
            start.append(SpeechStarted(heard.start))
        return [*start, self._utterance(heard, at)]

    def _voiced(self, heard: _Heard, frame: Frame) -> list[Event]:
        events: list[Event] = [Resumed(frame.at)] if heard.paused else []
        heard.voiced += 1
        heard.silent = 0
        heard.paused = False
        heard.close_after = self._close_after
        heard.end = frame.at + FRAME_SECONDS
        if not heard.sure and heard.voiced >= self._min_voiced:
            heard.sure = True
            events.append(SpeechStarted(heard.start))
        elif self._judged_after and heard.voiced % round(SPEAKING_MS / 1000 / FRAME_SECONDS) == 0:
            events.append(Speaking(self._utterance(heard, heard.end)))
        if len(heard.frames) >= self._max_frames:
            events += self._flush(heard.end)
        return events

    def _silent(self, heard: _Heard, frame: Frame) -> list[Event]:
        heard.silent += 1
        at = frame.at + FRAME_SECONDS
        if heard.silent >= heard.close_after:
            self._heard = None
            self._pre_roll.extend(heard.frames[-heard.silent :])  # nothing that was said
            return [self._utterance(heard, at)] if heard.sure else []
        if heard.sure and not heard.paused and heard.silent >= self._pause_after:
            heard.paused = True
            heard.close_after = self._judged_after or heard.close_after
            return [Paused(self._utterance(heard, at))]
        return []

    def _utterance(self, heard: _Heard, closed: float) -> Utterance:
        surplus = max(0, heard.silent - self._pause_after)
        frames = heard.frames[: len(heard.frames) - surplus]
        spoken = heard.probabilities[: len(heard.probabilities) - heard.silent]
        share = sum(spoken) / len(spoken) if spoken else 0.0
        samples = np.concatenate([item.samples for item in frames])
        return Utterance(Audio(samples, RATE), heard.start, heard.end, closed, share)
