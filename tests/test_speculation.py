"""Speech that resumes anywhere in the silence: nothing happens early, and nothing twice (M6, V1).

The real endpoint, the real work ahead and the real flows; frames are fed by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant.ahead import Ahead
from assistant.config import EndpointConfig, VadConfig
from assistant.dialogues import Driver, open_driver
from assistant.endpoint import FRAME_SECONDS, Endpoint
from assistant.events import Audio, Frame, Paused, Resumed, Transcript, Turn, Utterance
from assistant.loop import Replied, Typed
from assistant.patience import Limits
from assistant.skills.office import connect
from assistant.stages import Cancel, Message
from assistant.testing import ScriptedModel, ScriptedRecognizer, ToneVoice
from assistant.workers import Closed, Inbox
from tests import test_loop
from tests.test_loop import House, house

LONG = Limits().long / 1000
OFFSETS = range(0, 1601, 50)
"""milliseconds of silence after which the person speaks on"""


class Brake:
    """Work stops here while it is held."""

    def __init__(self) -> None:
        self._steps: Inbox[None] | None = None
        self._reached: Inbox[None] = Inbox(10_000)

    def hold(self) -> None:
        self._reached = Inbox(10_000)
        self._steps = Inbox(1)

    def release_all(self) -> None:
        steps, self._steps = self._steps, None
        if steps is not None:
            steps.close()

    def wait_until_asked(self, seconds: float = 5.0) -> None:
        self._reached.get(seconds)

    def passes(self) -> None:
        self._reached.offer(None)
        steps = self._steps
        if steps is not None:
            try:
                steps.get(10.0)
            except Closed:
                return


class Listening(ScriptedRecognizer):
    """Hears which parts of a sound are there: frames of part 1 hold 0.1, of part 2 hold 0.2."""

    def __init__(self, *answers: str | Transcript | Exception) -> None:
        super().__init__(*answers)
        self.said: dict[tuple[int, ...], str | Exception] = {}
        self.brake = Brake()

    @staticmethod
    def parts(audio: Audio) -> tuple[int, ...]:
        return tuple(sorted({round(10 * float(one)) for one in np.unique(audio.samples)} - {0}))

    def transcribe(self, audio: Audio, *, speech_share: float = 1.0) -> Transcript:
        self.brake.passes()
        parts = self.parts(audio)
        if parts in self.said:
            self.enqueue(self.said[parts])
        return super().transcribe(audio, speech_share=speech_share)


class Answering(ScriptedModel):
    """Answers with the words it was asked; with `answer` with what that makes of them."""

    def __init__(self, *answers: str | Exception, clock: Any = None) -> None:
        super().__init__(*answers, clock=clock)
        self.answer: Callable[[str], str | Exception] | None = None

    def stream(
        self, messages: Sequence[Message], cancel: Cancel, *, max_tokens: int
    ) -> Iterator[str]:
        if self.answer is not None:
            self._answers.clear()
            self.enqueue(self.answer(messages[-1]["content"]))
        return super().stream(messages, cancel, max_tokens=max_tokens)


class Halting(ToneVoice):
    """May be held at the beginning of a sentence, and makes each in `parts` sounds."""

    def __init__(self, *languages: str, clock: Any = None) -> None:
        super().__init__(*languages, clock=clock)
        self.brake = Brake()
        self.between = Brake()
        """in front of every sound but the first"""
        self.parts = 1

    def synthesize(self, text: str, language: str) -> Iterator[Audio]:
        self.brake.passes()
        for audio in super().synthesize(text, language):
            for number, part in enumerate(np.array_split(audio.samples, self.parts)):
                if number:
                    self.between.passes()
                yield Audio(part, audio.rate)


@dataclass
class Room:
    """A house with an ear, and what stands in its office."""

    h: House
    office: Any
    recognizer: Listening
    replies: Answering
    notes: Answering
    voice: Halting
    driver: Driver | None
    endpoint: Endpoint
    utterances: list[Utterance] = field(default_factory=list)
    """since `listen` was called last"""
    waited: bool = True
    """after each pause everything is prepared before the next frame"""
    on_pause: Callable[[], None] = lambda: None
    on_resume: Callable[[], None] = lambda: None
    on_end: Callable[[], None] = lambda: None
    check: Callable[[], None] = lambda: None
    """called whenever something may have happened before the end"""
    judged: int = 0

    def frame(self, mark: int) -> None:
        """The next 32 ms: silence (0), or a part of what is said."""
        frame = Frame(np.full(512, mark / 10, np.float32), self.h.clock.now())
        self.h.clock.advance(FRAME_SECONDS)
        self.judge()
        for event in self.endpoint.feed(frame, 0.95 if mark else 0.02):
            if isinstance(event, Utterance):
                self.check()
                self.utterances.append(event)
            self.h.loop.tell(event)
            if isinstance(event, Paused):
                self.on_pause()
                if self.waited:
                    self.prepared()
                self.check()
            elif isinstance(event, Resumed):
                self.on_resume()
                self.check()
            elif isinstance(event, Utterance):
                self.on_end()
                self.settle()

    def judge(self) -> None:
        """What was said of the closing silence reaches the endpoint."""
        while self.judged < len(self.h.waits):
            self.endpoint.wait(*self.h.waits[self.judged])
            self.judged += 1

    def prepared(self) -> None:
        """All that is made ahead is there."""
        ahead = self.h.loop.ahead
        assert ahead is not None
        assert ahead.activity.wait_idle(5)
        assert self.h.loop._mouth.activity.wait_idle(5)

    def settle(self) -> None:
        """Answered, noted, and nothing is being made any more."""
        self.h.settle()
        self.prepared()

    def listen(self, *parts: tuple[int, int]) -> None:
        """(mark, frames) after one another, then silence until the utterance is over."""
        self.utterances.clear()
        for mark, frames in ((0, 3), *parts):
            for _ in range(frames):
                self.frame(mark)
        for _ in range(60):
            self.frame(0)

    def type(self, *texts: str) -> None:
        """Turns before, each heard to its end."""
        for text in texts:
            self.h.loop.tell(Typed(text, "en"))
            self.settle()
            self.quiet()

    def quiet(self) -> None:
        """Our voice comes to its end."""
        clock, speaker = self.h.clock, self.h.speaker
        clock.advance(max(0.0, speaker.busy_until - clock.now()))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return list(self.h.store.submit(lambda db: db.execute(sql).fetchall()).result())

    def standing(self) -> list[str]:
        """What stands on lists and is to be remembered."""
        sql = (
            "select item from list_items where state = 'open' union all "
            "select what || ' ' || time from reminders where state = 'open' order by 1"
        )
        return [row[0] for row in self.office.execute(sql).fetchall()]

    def changes(self) -> int:
        """Rows ever written into the office."""
        sql = "select (select count(*) from list_items) + (select count(*) from reminders)"
        return int(self.office.execute(sql).fetchone()[0])

    @property
    def kept(self) -> tuple[object, ...]:
        """All that must not change before the end is sure."""
        state = self.h.conversation.state
        jobs = self.rows("select count(*) from jobs")
        turns = self.rows("select count(*) from turns")
        in_air = self.h.speaker.busy_until > self.h.clock.now() or self.h.speaker.stops
        version = None if in_air else state.version  # what is cut is recorded as such at once
        played = len(self.h.speaker.played)
        return (*self.standing(), self.changes(), jobs, turns, version, played)

    @property
    def turns(self) -> list[Turn]:
        """As they were answered."""
        found = {one.turn.turn: one.turn for one in self.h.shown if isinstance(one, Replied)}
        return [found[number] for number in sorted(found)]

    def at_rest(self) -> bool:
        """Nothing is being worked on, and background work may go on."""
        h = self.h
        ahead = h.loop.ahead
        assert ahead is not None
        counters = (
            h.loop.activity, h.scribe.activity, ahead.activity, h.loop._cutting, h.loop._cut_off
        )  # fmt: skip
        idle = not any(one._count for one in counters) and not h.loop.preparing
        return idle and not h.scribe.gate._closers and not h.loop.floor.held


@contextmanager
def room(
    folder: Path,
    patch: pytest.MonkeyPatch,
    *,
    sound: float | None = 0.95,
    flows: bool = True,
    languages: Sequence[str] = (),
) -> Iterator[Room]:
    """`sound`: what smart-turn says at every pause."""
    made: list[Driver] = []

    def opened(*args: Any) -> Driver:
        made.append(open_driver(*args))
        return made[-1]

    judge = None if sound is None else lambda audio: sound
    with patch.context() as patched:
        patched.setattr(test_loop, "ScriptedRecognizer", Listening)
        patched.setattr(test_loop, "ScriptedModel", Answering)
        patched.setattr(test_loop, "ToneVoice", Halting)
        patched.setattr(test_loop, "Ahead", partial(Ahead, sound=judge))
        patched.setattr(test_loop, "open_driver", opened)
        with house(folder, *languages, flows=flows) as h:
            office = connect(folder / "office.db", h.store.banks.key) if flows else None
            assert isinstance(h.recognizer, Listening)
            assert isinstance(h.replies, Answering)
            assert isinstance(h.notes, Answering)
            assert isinstance(h.voice, Halting)
            h.replies.answer = lambda text: f"You said {text}."
            h.notes.answer = lambda text: "nothing"
            endpoint = Endpoint(EndpointConfig(), VadConfig(), judged=LONG)
            made_driver = made[0] if made else None
            yield Room(h, office, h.recognizer, h.replies, h.notes, h.voice, made_driver, endpoint)
            h.recognizer.brake.release_all()
            h.voice.brake.release_all()
            h.voice.between.release_all()
            h.replies.release_all()
            h.notes.release_all()
            if office is not None:
                office.conn.close()


@dataclass(frozen=True)
class Case:
    """What is said before the pause, with what comes after it, and what comes by itself."""

    first: str
    joined: str
    second: str
    replies: tuple[str, str, str]
    """how the answers to them begin"""
    does: tuple[list[str], list[str], list[str]] = ([], [], [])
    """what stands in the office after the first, the joined one, and both of two"""
    before: tuple[str, ...] = ()
    speaks: bool = False
    """its reply is made ahead"""
    model: bool = False


EGGS, EGGS_REPLY = "add eggs to the shopping list", "Done, eggs"
CASES = {
    "write": Case(
        "add milk to the shopping list", "add bread to the shopping list", EGGS,
        ("Done, milk", "Done, bread", EGGS_REPLY), (["milk"], ["bread"], ["eggs", "milk"]),
    ),
    "read": Case(
        "what's on my shopping list", "what are my reminders", EGGS,
        ("On the shopping list: tea", "You have no", EGGS_REPLY),
        (["tea"], ["tea"], ["eggs", "tea"]), ("add tea to the shopping list",), speaks=True,
    ),
    "slot": Case(
        "tomorrow at nine", "tomorrow at ten", EGGS,
        ("I will remind you tomorrow at 9", "I will remind you tomorrow at 10", EGGS_REPLY),
        (["call Anna 09:00"], ["call Anna 10:00"], ["call Anna 09:00", "eggs"]),
        ("remind me to call Anna",),
    ),
    "model": Case(
        "tell me about Paris", "tell me about Rome", "tell me about Oslo",
        ("You said tell me about Paris.", "You said tell me about Rome.",
         "You said tell me about Oslo."), speaks=True, model=True,
    ),
    "yes": Case(
        "yes", "no", EGGS, ("Done, tea is off", "", EGGS_REPLY), ([], ["tea"], ["eggs"]),
        ("add tea to the shopping list", "remove tea from the shopping list"),
    ),
}  # fmt: skip


def begin(r: Room, case: Case) -> tuple[int, int]:
    """A clean office and the turns before; how many turns and rows there are."""
    r.quiet()
    with r.office.conn:
        for table in ("list_items", "reminders"):
            r.office.execute(f"delete from {table}")
    r.h.speaker.stops.clear()
    r.type(*case.before)
    r.recognizer.said = {(1,): case.first, (1, 2): case.joined, (2,): case.second}
    return len(r.turns), r.changes()


def watch(r: Room) -> None:
    """From now on nothing may change before an utterance is over."""
    kept = [r.kept]

    def check() -> None:
        assert r.kept == kept[0], "something happened before the end was sure"

    def end() -> None:
        r.settle()
        kept[0] = r.kept

    r.check, r.on_end = check, end


def resume_after(r: Room, milliseconds: int) -> list[Utterance]:
    """Speech, so much silence, speech."""
    silent = round(milliseconds / 1000 / FRAME_SECONDS)
    r.listen((1, 20), (0, silent), (2, 12))
    assert r.at_rest()
    return list(r.utterances)


def judged_right(r: Room, case: Case, heard: list[Utterance], turns: int) -> list[Turn]:
    """One turn for each utterance, with its words, answer and effect; those turns."""
    texts = [case.joined] if len(heard) == 1 else [case.first, case.second]
    replies = [case.replies[1]] if len(heard) == 1 else [case.replies[0], case.replies[2]]
    new = r.turns[turns:]
    assert [turn.user_text for turn in new] == texts
    for turn, reply in zip(new, replies, strict=True):
        assert turn.reply.startswith(reply)
    assert r.standing() == sorted(case.does[1] if len(heard) == 1 else case.does[2])
    stored = r.rows("select user_text from turns order by turn")[turns:]
    assert [row[0] for row in stored] == texts
    return new


SWEEPS = [("write", 0.95), ("read", 0.95), ("slot", 0.95), ("model", None), ("yes", 0.2)]
"""what smart-turn says: some close early, some late"""


@pytest.mark.parametrize(("name", "sound"), SWEEPS)
def test_m6_resumed_speech_at_every_50_ms_of_the_silence(
    name: str, sound: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, counts = CASES[name], set()
    with room(tmp_path, monkeypatch, sound=sound) as r:
        for offset in OFFSETS:
            turns, written = begin(r, case)
            stood = r.standing()
            watch(r)
            heard = resume_after(r, offset)
            counts.add(len(heard))
            new = judged_right(r, case, heard, turns)
            assert r.changes() - written == len(set(r.standing()) - set(stood)), "once each"
            resumed = len(heard) == 1 and offset > 0
            assert new[0].ahead["resumed"] == resumed
            assert new[0].ahead["pauses"] == 1 + resumed
            _wasted(case, new[0], resumed)
    assert counts == {1, 2}, "both outcomes were seen"


def _wasted(case: Case, turn: Turn, resumed: bool) -> None:
    """What was made for a pause that was none is accounted for, and nothing else."""
    wasted = turn.ahead["wasted"]
    assert (wasted["asr_ms"] > 0) <= resumed  # too quick to measure may be 0.0
    assert (wasted["tokens"] > 0) == (resumed and case.model)
    assert (wasted["sound_s"] > 0) == (resumed and case.speaks)
    assert turn.ahead["used"] == (case.speaks or not turn.reply.startswith(("Done", "I will")))


BUSY = [
    ("write", "recognition"), ("model", "recognition"), ("model", "model"), ("read", "voice"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "stage"), BUSY)
def test_m6_resumed_speech_while_a_stage_is_at_work(
    name: str, stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stage is left in the middle of its work at every 50 ms, and finishes it afterwards."""
    case, counts = CASES[name], set()
    with room(tmp_path, monkeypatch) as r:
        brake: Any = {
            "recognition": r.recognizer.brake, "model": r.replies, "voice": r.voice.brake
        }[stage]  # fmt: skip
        for offset in OFFSETS:
            turns, _ = begin(r, case)
            watch(r)
            settled = r.on_end
            r.waited = False
            brake.hold()
            r.on_pause = brake.wait_until_asked

            def let_go() -> None:
                r.on_pause, r.waited = r.prepared, True
                brake.release_all()

            def over(settled: Callable[[], None] = settled) -> None:
                let_go()
                settled()

            r.on_resume, r.on_end = let_go, over
            heard = resume_after(r, offset)
            counts.add(len(heard))
            judged_right(r, case, heard, turns)
            r.on_pause = r.on_resume = r.on_end = r.check = lambda: None
    assert counts == {1, 2}
