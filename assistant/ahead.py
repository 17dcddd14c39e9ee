"""What can be done in the closing silence, before it is sure that it is one (decision 3).

At every pause: recognise, judge how long the silence must be, begin to make the reply. The silence
is not over before something can be heard, up to the longest patience: whoever speaks on meanwhile
joins the same utterance, and what was made becomes old. Nothing is heard, kept or carried out here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from assistant.events import Audio, Transcript, Utterance
from assistant.marks import Heard
from assistant.mind.finished import Wanted, sounds_finished
from assistant.patience import Limits, Patience, Signs, patience
from assistant.planner import Foreseen
from assistant.stages import Clock, Recognizer
from assistant.workers import Activity, CancelToken, Closed, Inbox, Lock

log = logging.getLogger(__name__)

WAIT_SECONDS = 30.0
"""longest wait for a recognition that is under way"""
MELODY_SECONDS = 0.096
"""silence after a pause's sound: smart-turn was made for 0.2 s of it"""


class Turning(Protocol):
    """What of the turns is needed here."""

    def foresee(self, heard: Heard, cancel: CancelToken, ready: Callable[[], None]) -> Foreseen: ...

    def anticipate(self, heard: Heard, cancel: CancelToken) -> None: ...

    def wanted(self) -> Wanted | None: ...

    def interrupt(self) -> None: ...


@dataclass(slots=True)
class Waste:
    """Work that became old."""

    asr_ms: float = 0.0
    tokens: int = 0
    sound_s: float = 0.0


@dataclass(slots=True)
class Pause:
    """One pause and what was made of it."""

    utterance: Utterance
    token: CancelToken = field(default_factory=CancelToken)
    transcript: Transcript | None = None
    error: Exception | None = None
    recognised: float = 0.0
    """when, session seconds"""
    asr_ms: float = 0.0
    patience: Patience | None = None
    foreseen: Foreseen | None = None
    known: Activity = field(default_factory=Activity)
    """busy until it is recognised"""
    partial: bool = False
    """no pause: the person was speaking on"""


def recognised(recognizer: Recognizer, pause: Pause, clock: Clock) -> Pause:
    """The pause with the words of its utterance, or with the error there was."""
    utterance = pause.utterance
    begin = time.perf_counter()
    try:
        pause.transcript = recognizer.transcribe(
            utterance.audio, speech_share=utterance.speech_share
        )
    except Exception as error:
        pause.error = error
    pause.asr_ms = (time.perf_counter() - begin) * 1000
    pause.recognised = clock.now()
    return pause


class Ahead:
    """Works on one pause at a time, the newest; older ones are old."""

    def __init__(
        self,
        recognizer: Recognizer,
        turns: Turning,
        wait: Callable[[float, float], bool],
        clock: Clock,
        limits: Limits,
        *,
        sound: Callable[[Audio], float] | None = None,
        spare: bool = False,
        overheard: Callable[[Transcript, float], bool] = lambda transcript, end: True,
    ) -> None:
        """`wait(end, seconds)` sets the closing silence of the pause after `end`.

        `sound`: smart-turn; with a `spare` core also where the model answers, which takes longer
        than any doubt would. `overheard` tells whether an answer is due to these words.
        """
        self._recognizer = recognizer
        self._turns = turns
        self._wait = wait
        self._clock = clock
        self._limits = limits
        self._sound = sound
        self._spare = spare
        self._filler = CancelToken()
        """of what is evaluated while the person speaks on"""
        self._filling = False
        self._overheard = overheard
        self._inbox: Inbox[Pause] = Inbox(64)
        self._lock = Lock()
        self._recognising = Lock()
        self._now: Pause | None = None
        self._pauses = self._resumed = 0
        self._waste = Waste()
        self.activity = Activity()
        """what is being worked on ahead"""

    # ── from the ears ──

    def paused(self, utterance: Utterance) -> None:
        """A pause that may be the end."""
        pause = Pause(utterance)
        pause.known.begin()
        with self._lock:
            vain = self._drop()
            self._now = pause
            self._pauses += 1
        if vain:
            self._turns.interrupt()
        self.activity.begin()
        try:
            self._inbox.put(pause)
        except Closed:
            self.activity.end()

    def speaking(self, utterance: Utterance) -> None:
        """The words so far, worth a look when there is nothing else to do."""
        with self._lock:
            if self._now is not None or self.activity.busy:
                return
            self.activity.begin()
        try:
            self._inbox.put(Pause(utterance, partial=True))
        except Closed:
            self.activity.end()

    def resumed(self) -> None:
        """It was none: what was made of it is old."""
        with self._lock:
            if self._now is not None:
                self._resumed += 1
            vain = self._drop()
        if vain:
            self._turns.interrupt()

    def stop(self) -> None:
        """No more pauses; what is under way is old."""
        with self._lock:
            self._drop()
        self._turns.interrupt()
        self._inbox.close()

    def _drop(self) -> bool:
        """What is under way is old; True when the model may be at it."""
        filling = self._filling
        self._filler.cancel()
        pause, self._now = self._now, None
        if pause is None:
            return filling
        pause.token.cancel()
        self._waste.asr_ms += pause.asr_ms
        if pause.foreseen is not None:
            self._waste_of(pause.foreseen)
            pause.foreseen.drop()
        return filling or pause.foreseen is not None

    def _waste_of(self, foreseen: Foreseen) -> None:
        self._waste.tokens += len(foreseen.raw.pieces)
        if foreseen.rendering is not None:
            self._waste.sound_s += foreseen.rendering.sound_seconds

    # ── from the loop ──

    def take(self, utterance: Utterance) -> Pause:
        """The utterance is over: what is known of it, recognised now if it has to be.

        What was foreseen is the caller's to use or drop.
        """
        with self._lock:
            pause, self._now = self._now, None
        if pause is not None and pause.utterance.end == utterance.end:
            pause.known.wait_idle(WAIT_SECONDS)
            if pause.transcript is not None:
                return pause
        elif pause is not None:
            with self._lock:
                self._now = pause  # of what is being said meanwhile
        late = Pause(utterance)
        self._recognise(late)
        return late

    def report(self, pause: Pause) -> Mapping[str, Any]:
        """What the silences of an utterance were used for (events.Turn.ahead); begins anew."""
        with self._lock:
            waste, self._waste = self._waste, Waste()
            pauses, self._pauses = self._pauses, 0
            resumed, self._resumed = self._resumed, 0
        patience = pause.patience
        return {
            "used": False,
            "pauses": pauses,
            "resumed": resumed,
            "patience_ms": patience.ms if patience is not None else None,
            "why": patience.why if patience is not None else "",
            "asr_ms": round(pause.asr_ms, 1),
            "wasted": {
                "asr_ms": round(waste.asr_ms, 1),
                "tokens": waste.tokens,
                "sound_s": round(waste.sound_s, 2),
            },
        }

    # ── on its own thread ──

    def run(self) -> None:
        """Blocks until `stop`."""
        for pause in self._inbox:
            try:
                if pause.partial:
                    self._glimpse(pause.utterance)
                elif not pause.token.cancelled:
                    self._work(pause)
            except Exception as error:  # told when it fails again at the end of the utterance
                log.warning("work ahead failed: %s", type(error).__name__, exc_info=error)
                if not pause.partial:
                    self._wait(pause.utterance.end, self._limits.default / 1000)
            finally:
                if pause.known.busy:
                    pause.known.end()
                self.activity.end()

    def _glimpse(self, utterance: Utterance) -> None:
        """While the person speaks on: have the words so far evaluated."""
        with self._lock:
            if self._now is not None:
                return
        with self._recognising:
            said = self._recognizer.glimpse(utterance.audio)
        if said.text:
            end = utterance.end
            heard = Heard(said.text, said.language, end, end, end)
            self._anticipate(heard)

    def _work(self, pause: Pause) -> None:
        end = pause.utterance.end
        self._recognise(pause)
        said = pause.transcript
        if said is None or not said.text:
            self._wait(end, self._limits.default / 1000)
            return
        heard = Heard(said.text, said.language, end, end, pause.recognised)
        if pause.token.cancelled:
            self._anticipate(heard)
            return
        if not self._overheard(said, end):
            self._wait(end, self._limits.short / 1000)
            return
        self._foresee(pause, heard, said)

    def _foresee(self, pause: Pause, heard: Heard, said: Transcript) -> None:
        """Judge the pause, and make the reply; the turn may end when both are there."""
        end = pause.utterance.end
        ready = _Both(lambda: self._close(pause, end))
        finish = sounds_finished(said.text, said.language, self._turns.wanted())
        foreseen = self._turns.foresee(heard, pause.token, ready.one)
        with self._lock:
            pause.foreseen = foreseen
            if pause.token.cancelled:
                self._waste_of(foreseen)
                foreseen.drop()
                return
        pause.known.end()
        judged = self._sound is not None and (self._spare or not foreseen.by_model)
        sound = self._melody(pause.utterance.audio) if judged else None
        signs = Signs(finish, said.confidence, sound, foreseen.act)
        pause.patience = patience(signs, self._limits)
        ready.one()

    def _melody(self, audio: Audio) -> float | None:
        """That the person has finished; the silence is longer by now than in the sound."""
        if self._sound is None:
            return None
        silence = np.zeros(round(MELODY_SECONDS * audio.rate), np.float32)
        return self._sound(Audio(np.concatenate([audio.samples, silence]), audio.rate))

    def _close(self, pause: Pause, end: float) -> None:
        judged = pause.patience
        if judged is not None and not pause.token.cancelled:
            self._wait(end, judged.seconds)

    def _recognise(self, pause: Pause) -> None:
        with self._recognising:
            recognised(self._recognizer, pause, self._clock)
        if pause.token.cancelled:
            with self._lock:
                self._waste.asr_ms += pause.asr_ms

    def _anticipate(self, heard: Heard) -> None:
        """Evaluate the words so far, until there is another pause."""
        with self._lock:
            if self._now is not None or self._inbox.closed:
                return
            token = self._filler = CancelToken()
            self._filling = True
        try:
            self._turns.anticipate(heard, token)
        finally:
            self._filling = False


class _Both:
    """Calls once, when two parties are ready."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._left = 2
        self._lock = Lock()

    def one(self) -> None:
        with self._lock:
            self._left -= 1
            last = self._left == 0
        if last:
            self._call()
