"""The turn state machine: what is heard or typed becomes a turn, one at a time.

Runs on one thread. Other threads hand it events through `tell`; the moment a person starts to
speak, what is being said or thought becomes old (its generation number is no longer current).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from assistant import ears
from assistant.ahead import Ahead, Pause, recognised
from assistant.barge_in import kind_of
from assistant.events import (
    Ended,
    Failed,
    Paused,
    Resumed,
    Speaking,
    SpeechStarted,
    Transcript,
    Turn,
    Utterance,
)
from assistant.floor import Floor
from assistant.marks import Heard
from assistant.memory.extract import Noted
from assistant.mouth import Mouth
from assistant.redact import redact
from assistant.stages import Cancel, Clock, Recognizer
from assistant.turns import Turns
from assistant.wording import words
from assistant.workers import (
    Activity,
    CancelToken,
    Closed,
    Gate,
    Generation,
    Inbox,
    after,
)

log = logging.getLogger(__name__)

ENGINES = frozenset({"asr", "llm", "tts", "notes", "turn", "memory", "flows"})
"""Stages that may fail at every turn; the others tell each of their troubles once by themselves."""
CUT_SECONDS = 0.3
"""longest wait for the conversation to know that a reply was cut"""
SORRY = {"asr": "failed_asr", "turn": "failed_llm"}
"""what is said when a stage fails that leaves the person without any answer"""


@dataclass(frozen=True, slots=True)
class Typed:
    """Words that came by text."""

    text: str
    language: str


@dataclass(frozen=True, slots=True)
class Said:
    """For the screen: what a person said (empty: refused, and why)."""

    transcript: Transcript


@dataclass(frozen=True, slots=True)
class Replied:
    """For the screen: how a reply went out, or what was really heard of it."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class Finished:
    """For the screen: the complete record of a turn (M13)."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class _Silenced:
    """Playback was stopped at this session time, because someone speaks."""

    at: float


class _Check:
    """Look again whether a record is complete."""


Event = ears.Event | Typed | Noted | _Silenced | _Check


@dataclass(frozen=True, slots=True)
class Notice:
    """For the screen: something a person should know, once."""

    text: str


Shown = Said | Replied | Finished | Notice | Failed


class Loop:
    """Takes events in the order they happen; ends after `Ended` and the last reply."""

    def __init__(
        self,
        recognizer: Recognizer | None,
        turns: Turns,
        mouth: Mouth,
        gate: Gate,
        clock: Clock,
        show: Callable[[Shown], None],
    ) -> None:
        self._recognizer = recognizer
        self._turns = turns
        self._mouth = mouth
        self._gate = gate
        self._clock = clock
        self._show = show
        self._inbox: Inbox[tuple[Event, Cancel]] = Inbox(1024)
        self._work = Generation()
        self.ahead: Ahead | None = None
        """what uses the closing silence, where there is speech"""
        self.floor = Floor(mouth, clock, self._give_way, lambda: turns.asked_back)
        self._unheard: Heard | None = None
        """a turn that was cut before anything of its reply was heard"""
        self._records: dict[int, Turn] = {}
        self._cutting = Activity()
        """playback is being stopped and the record does not know yet"""
        self._renewed: tuple[float, Cancel] = (-1.0, CancelToken())
        """end of the words that cut a reply, and what they are answered under: they may have been
        told before it was cut"""
        self._cut_off = Activity()
        """playback is being stopped and the conversation does not know yet"""
        self._asked = 0
        self._failed: dict[str, int] = {}
        """which request a stage last failed at"""
        self._language = "en"
        self._stopped = False
        self.activity = Activity()
        """what is being computed for an answer"""

    @property
    def preparing(self) -> bool:
        """Something is made that may be heard."""
        return self._mouth.activity.busy or (self.ahead is not None and self.ahead.activity.busy)

    def tell(self, event: Event) -> None:
        """Hand over an event from any thread."""
        if isinstance(event, SpeechStarted):
            self._gate.close()  # opened again when its utterance is answered
            self._turns.hush()
            if not self.floor.taken(event.at, anew=True):
                self._silence()
        elif isinstance(event, Typed):
            self._gate.close()
        if isinstance(event, (Speaking, Paused, Resumed)):
            self._prepare(event)
            return
        work = isinstance(event, (Utterance, Typed))
        if work:
            self.activity.begin()
        if not self._put(event) and work:
            self.activity.end()

    def _prepare(self, event: Speaking | Paused | Resumed) -> None:
        if isinstance(event, Speaking):
            if self.ahead is not None and not self.activity.busy and not self.floor.held:
                self.ahead.speaking(event.utterance)
        elif isinstance(event, Resumed):
            self.floor.taken(event.at, anew=False)  # "uh-huh … but tell me"
            if self.ahead is not None:
                self.ahead.resumed()
        elif self.ahead is not None and not self._stopped:
            self.ahead.paused(event.utterance)

    def _give_way(self, end: float) -> None:
        """What was said over our voice is no "uh-huh": the reply is cut, before an answer."""
        if not self._silence():
            self._mouth.stop()  # it may wait with nothing left to say
        self._renewed = (end, self._work.current)
        self._cut_off.wait_idle(CUT_SECONDS)

    def _silence(self) -> bool:
        """What is being thought or said becomes old; False when there is nothing."""
        if not self.activity.busy and self._mouth.busy_until <= self._clock.now():
            return False
        self._cutting.begin()
        self._cut_off.begin()
        self._work.advance()
        if not self._put(_Silenced(self._mouth.stop())):
            self._cutting.end()
            self._cut_off.end()
        return True

    def _put(self, event: Event) -> bool:
        """False when nobody will take it any more."""
        try:
            self._inbox.put((event, self._work.current))
        except Closed:
            log.debug("event after the end: %s", type(event).__name__)
            return False
        return True

    def run(self) -> None:
        """Blocks until the microphone (or the typing) has ended and everything is answered.

        Notes may still come in after that, until `finish`. Raises BrokenPipeError when nobody
        reads what is shown.
        """
        self._expect()
        try:
            for event, cancel in self._inbox:
                if isinstance(event, Ended):
                    return
                self._handle(event, cancel)
        except BaseException:
            self._abandon()
            raise

    def _abandon(self) -> None:
        """Nobody takes the events any more: whoever waits for an answer waits in vain."""
        self._inbox.close()
        for event, _ in self._inbox:
            if isinstance(event, (Utterance, Typed)):
                self.activity.end()

    def stop(self) -> None:
        """Make everything old and end; a reply that is cut by that is recorded as such.

        What is queued is not begun any more.
        """
        self._stopped = True
        self._work.advance()
        if self.ahead is not None:
            self.ahead.stop()
        self._turns.cut(self._mouth.stop())
        self._inbox.close()

    def finish(self) -> None:
        """Show the records that are still open, as they are (state_after None: still queued)."""
        self._inbox.close()
        for event, _ in self._inbox:
            if isinstance(event, Noted):
                self._note(event)
        for number in sorted(self._records):
            self._show(Finished(self._records[number]))
        self._records.clear()

    def _handle(self, event: Event, cancel: Cancel) -> None:
        if isinstance(event, Noted):
            self._note(event)
        elif isinstance(event, _Check):
            self._flush()
        elif isinstance(event, Failed):
            self._fail(event)
            if event.stage == "speaker":  # what was queued in it is not heard any more
                self._cut(self._clock.now())
        elif isinstance(event, _Silenced):
            self._cutting.end()
            try:
                self._cut(event.at)
            finally:
                self._cut_off.end()
        elif isinstance(event, (Utterance, Typed)):
            try:
                self._turn(event, cancel)
            except BrokenPipeError:  # nobody reads what is shown
                raise
            except Exception as error:
                self._fail(Failed("turn", error))
            finally:
                self.activity.end()
                self._gate.open()

    def _turn(self, event: Utterance | Typed, cancel: Cancel) -> None:
        if self._stopped:
            return
        self._asked += 1
        pause = self._heard(event) if isinstance(event, Utterance) else None
        heard = self._typed(event) if isinstance(event, Typed) else self._listen(event, pause)
        foreseen = pause.foreseen if pause is not None else None
        if heard is None or self._stopped:  # recognition may have taken a second
            if foreseen is not None:
                foreseen.drop()
            return
        if isinstance(event, Utterance) and self._renewed[0] == event.end:
            cancel = self._renewed[1]
        again = self._unheard is not None
        self._unheard = None
        for number in [n for n, turn in self._records.items() if turn.state_after is not None]:
            self._show(Finished(self._records.pop(number)))
        turn = self._turns.take(heard, cancel, again=again, foreseen=foreseen)
        if cancel.cancelled:
            # Asked again, as the thread that made this old may not have come so far yet.
            turn = self._turns.cut(self._mouth.stop()) or turn
            if not turn.heard and not self._turns.acted:
                self._unheard = heard
                return
        self._records[turn.turn] = turn
        self._show(Replied(turn))
        self._turns.take_notes(turn.turn)
        self._expect()
        self._flush()

    def _expect(self) -> None:
        """Tell recognition which words may come next."""
        if self._recognizer is not None:
            self._recognizer.expect(self._turns.expected(), asked=self._turns.asking)

    def _typed(self, event: Typed) -> Heard:
        now = self._clock.now()
        return Heard(event.text, event.language, now, now, now)

    def _heard(self, utterance: Utterance) -> Pause:
        """The words, from the pause they ended with, or recognised now."""
        if self.ahead is not None:
            return self.ahead.take(utterance)
        assert self._recognizer is not None, "speech without a recogniser"
        return recognised(self._recognizer, Pause(utterance), self._clock)

    def _listen(self, utterance: Utterance, pause: Pause | None) -> Heard | None:
        before = self._unheard
        assert pause is not None
        ahead = self.ahead.report(pause) if self.ahead is not None else {}
        transcript = pause.transcript
        if transcript is None:
            self.floor.lost(utterance.end, self._cut_short)
            self._fail(Failed("asr", pause.error or RuntimeError("nothing was recognised")))
            return before
        kind = self.floor.kind(transcript, utterance.end, self._cut_short)
        if kind == "backchannel":
            return before
        self._show(Said(replace(transcript, text=redact(transcript.text).text)))
        if not transcript.text or kind == "stop":
            return before  # a cough: what it interrupted is answered after all
        text, language = transcript.text, transcript.language
        self._language = language
        if before is not None and kind_of(text, language) == "stop":
            self._unheard = None
            return None
        if before is not None:  # nothing of the answer was heard: both parts are one request
            text = f"{before.text} {text}"
        at = max(pause.recognised, utterance.closed)
        return Heard(text, language, utterance.end, utterance.closed, at, ahead)

    def _cut_short(self, end: float) -> None:
        """The same as `_give_way`, on the loop's own thread, where no reply is being made."""
        self._cut(self._mouth.stop())

    def _cut(self, at: float) -> None:
        """Playback ended early: the record says what was really heard."""
        turn = self._turns.cut(at)
        if turn is not None and turn.turn in self._records:
            before = self._records[turn.turn]
            self._records[turn.turn] = replace(before, heard=turn.heard, interrupted=True)
            self._show(Replied(self._records[turn.turn]))
        self._flush()

    def _note(self, event: Noted) -> None:
        self._expect()
        if event.turn in self._records:
            record = self._records[event.turn]
            self._records[event.turn] = replace(
                record, state_after=event.state.to_dict(), retained=list(event.retained)
            )
        self._flush()

    def _flush(self) -> None:
        """Show the records that can no longer change."""
        for number in sorted(self._records):
            if self._records[number].state_after is None or self._cutting.busy:
                return
            if (left := self._mouth.busy_until - self._clock.now()) > 0:
                after(left + 0.05, lambda: self._put(_Check()))
                return
            self._show(Finished(self._records.pop(number)))

    def _fail(self, event: Failed) -> None:
        """Logged every time; shown, and said where it matters, when the stage begins to fail."""
        log.error("%s failed: %s", event.stage, type(event.error).__name__, exc_info=event.error)
        last = self._failed.get(event.stage)
        self._failed[event.stage] = self._asked
        if event.stage in ENGINES and last is not None and last >= self._asked - 1:
            return
        self._show(event)
        if event.stage in SORRY:
            sorry = words(SORRY[event.stage], self._language)
            made = self._mouth.render(lambda cancel: iter([sorry]), self._language)
            self._mouth.deliver(made, self._language, CancelToken(), lambda text: None)
