"""A person speaks over our own voice: it waits, goes on, or is cut, to the word (M7)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assistant.audio.playhead import REWIND_SECONDS
from assistant.audio.spoken_words import heard_words
from assistant.barge_in import Kind, kind_of
from assistant.endpoint import FRAME_SECONDS
from assistant.events import Failed, Resumed, SpeechStarted, Turn
from assistant.loop import Finished, Replied, Said, Typed
from assistant.mouth import Delivery, Speech
from assistant.testing import MemorySpeaker, wait_for
from tests import test_loop
from tests.test_speculation import Room, room

TEN = "one two three four five six seven eight nine ten."
SPEECH = 10
"""frames of an interruption; the fifth is the one that makes sure"""
PAUSE = 2
"""frames of silence after which a pause is told"""
QUESTION = "what is the time"


@contextmanager
def talking(
    folder: Path, patch: pytest.MonkeyPatch, reply: str = TEN, seconds: float = 0.5
) -> Iterator[Room]:
    """Our voice has been in the air for `seconds`."""
    with room(folder, patch, flows=False, sound=0.95) as r:
        r.replies.answer = lambda text: reply
        r.h.loop.tell(Typed("count to ten", "en"))
        r.settle()
        assert in_air(r)
        for _ in range(round(seconds / FRAME_SECONDS)):
            r.frame(0)
        r.replies.answer = lambda text: f"You said {text}."
        yield r


def say(r: Room, words: str | Exception, mark: int = 1, frames: int = SPEECH) -> None:
    r.recognizer.said[(mark,)] = words
    for _ in range(frames):
        r.frame(mark)


def be_silent(r: Room, frames: int = 60) -> None:
    for _ in range(frames):
        r.frame(0)


def interrupt(r: Room, words: str | Exception, mark: int = 1) -> None:
    """Words over our voice, and their closing silence."""
    say(r, words, mark)
    be_silent(r)


def in_air(r: Room) -> bool:
    return r.h.speaker.busy_until > r.h.clock.now()


def words_at(seconds: float, text: str = TEN) -> str:
    """How much of a text its sound holds up to there."""
    return heard_words(text, "en", 0.06 * len(text), seconds)


def wait_for_delivery(r: Room) -> Delivery:
    mouth = r.h.loop._mouth
    assert isinstance(mouth, Speech)
    wait_for(lambda: mouth._current is not None)
    assert mouth._current is not None
    return mouth._current


def first(r: Room) -> Turn:
    return r.turns[0]


def test_m7_uh_huh_lets_the_reply_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with talking(tmp_path, monkeypatch) as r:
        until = r.h.speaker.busy_until
        say(r, "uh-huh")
        assert r.h.loop.floor.held, "our voice waits while somebody speaks"
        held = (SPEECH - 5 + PAUSE) * FRAME_SECONDS
        be_silent(r, PAUSE)
        assert not r.h.loop.floor.held
        assert r.h.speaker.busy_until == pytest.approx(until + held + REWIND_SECONDS)
        be_silent(r, 40)
        assert r.at_rest()
        r.quiet()
        assert r.h.speaker.stops == []
    (turn,) = r.turns
    assert (turn.heard, turn.interrupted) == (TEN, False)
    assert r.h.of(Said) == []


def test_m7_stop_ends_without_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with talking(tmp_path, monkeypatch) as r:
        interrupt(r, "stop please")
        assert not in_air(r)
        assert r.at_rest()
        heard = 0.5 + 5 * FRAME_SECONDS
        assert first(r).heard == words_at(heard)
        assert first(r).interrupted
        assert len(r.turns) == len(r.replies.prompts) == 1
        interrupt(r, QUESTION, 2)
    assert [turn.user_text for turn in r.turns] == ["count to ten", QUESTION]


def test_m7_words_cut_it_and_are_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with talking(tmp_path, monkeypatch) as r:
        say(r, QUESTION)
        be_silent(r, PAUSE)
        assert not in_air(r), "nobody waits for the end of the silence to be quiet"
        assert len(r.turns) == 1, "and nobody answers before it"
        be_silent(r)
        assert r.at_rest()
    one, two = r.turns
    assert one.heard == words_at(0.5 + 5 * FRAME_SECONDS)
    assert one.interrupted
    assert (two.user_text, two.reply) == (QUESTION, f"You said {QUESTION}.")
    prompt = [message["content"] for message in r.replies.prompts[-1]]
    assert one.heard in prompt, "the next turn knows what was heard"
    assert not any(TEN in content for content in prompt)


def test_m7_a_cough_lets_it_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with talking(tmp_path, monkeypatch) as r:
        interrupt(r, "")
        assert in_air(r)
        assert r.at_rest()
        r.quiet()
    (turn,) = r.turns
    assert turn.heard == TEN


def test_m7_what_cannot_be_recognised_cuts_it_and_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talking(tmp_path, monkeypatch) as r:
        interrupt(r, RuntimeError("broken"))
        assert r.at_rest()
        assert [event.stage for event in r.h.of(Failed)] == ["asr"]  # type: ignore[union-attr]
        assert first(r).interrupted
        assert "Sorry" in r.voice.spoken[-1][0]
        r.quiet()
        interrupt(r, QUESTION, 2)
    assert r.turns[-1].user_text == QUESTION


def test_m7_recognition_that_fails_only_at_the_pause_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talking(tmp_path, monkeypatch) as r:
        r.recognizer.enqueue(RuntimeError("broken"), "uh-huh")
        for _ in range(SPEECH):
            r.frame(3)
        be_silent(r)
        assert r.h.of(Failed) == []
        assert in_air(r)
        assert r.at_rest()


def test_m7_what_was_heard_is_right_after_going_on_and_being_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talking(tmp_path, monkeypatch) as r:
        say(r, "mhm")
        be_silent(r, PAUSE + 30)  # and our voice speaks on for 30 frames
        interrupt(r, QUESTION, 2)
    before = 0.5 + 5 * FRAME_SECONDS
    # from the frame after the pause until the fifth frame of the next words
    heard = before - REWIND_SECONDS + (30 + 5) * FRAME_SECONDS
    assert first(r).heard == words_at(heard)
    assert first(r).interrupted


def test_m7_uh_huh_twice_then_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with talking(tmp_path, monkeypatch) as r:
        heard = 0.5
        for mark, words in enumerate(["uh-huh", "yeah right", QUESTION], 1):
            say(r, words, mark)
            heard += 5 * FRAME_SECONDS
            be_silent(r, PAUSE + 25)
            heard += 25 * FRAME_SECONDS - REWIND_SECONDS
        be_silent(r)
        heard += REWIND_SECONDS - 25 * FRAME_SECONDS
        assert r.at_rest()
    assert [turn.user_text for turn in r.turns] == ["count to ten", QUESTION]
    assert first(r).heard == words_at(heard)


def test_m7_two_interruptions_in_a_row_are_both_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talking(tmp_path, monkeypatch) as r:
        say(r, QUESTION)
        while len(r.turns) < 2:
            r.frame(0)
        be_silent(r, 5)
        assert in_air(r), "the answer"
        interrupt(r, "and in Oslo", 2)
        assert r.at_rest()
    assert [turn.user_text for turn in r.turns] == ["count to ten", QUESTION, "and in Oslo"]
    assert [turn.interrupted for turn in r.turns] == [True, True, False]


def test_m6_uh_huh_but_tell_me_holds_again_and_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talking(tmp_path, monkeypatch) as r:
        say(r, "uh-huh")
        be_silent(r, PAUSE + 3)
        assert in_air(r) and not r.h.loop.floor.held
        r.recognizer.said[(1, 2)] = "uh-huh but tell me the time"
        r.frame(2)
        assert r.h.loop.floor.held, "our voice waits at the first sound"
        for _ in range(SPEECH):
            r.frame(2)
        be_silent(r)
        assert r.at_rest()
    assert [turn.user_text for turn in r.turns] == ["count to ten", "uh-huh but tell me the time"]
    heard = 0.5 + 5 * FRAME_SECONDS - REWIND_SECONDS + (3 + 1) * FRAME_SECONDS
    assert first(r).heard == words_at(heard)


def test_m7_okay_is_an_answer_to_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talking(tmp_path, monkeypatch, "Shall I go on with the story of the old clock?") as r:
        interrupt(r, "okay")
    assert [turn.user_text for turn in r.turns] == ["count to ten", "okay"]


TWO = "one two three four five. And six seven eight nine ten."


@contextmanager
def still_writing(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Room]:
    """The first sentence is in the air, the second is being written."""
    with room(folder, patch, flows=False, sound=0.95) as r:
        r.replies.answer = lambda text: TWO
        r.replies.hold()
        r.h.loop.tell(Typed("count to ten", "en"))
        r.replies.release(6)
        wait_for(lambda: len(r.h.speaker.played) == 1)
        r.waited = False  # the turn under way is not over before the model is let
        for _ in range(15):
            r.frame(0)
        r.replies.answer = lambda text: f"You said {text}."
        yield r


def test_m7_uh_huh_while_the_reply_is_still_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with still_writing(tmp_path, monkeypatch) as r:
        say(r, "uh-huh")
        for _ in range(PAUSE):
            r.frame(0)
        wait_for(lambda: not r.h.loop.floor.held)
        r.replies.release_all()
        assert r.h.loop._mouth.activity.wait_idle(5)
        be_silent(r)
        r.settle()
        assert r.at_rest()
        r.quiet()
    assert (first(r).heard, first(r).interrupted) == (TWO, False)
    assert len(r.turns) == 1


def test_m7_a_sentence_that_is_written_while_it_waits_is_heard_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with still_writing(tmp_path, monkeypatch) as r:
        say(r, "uh-huh")
        r.replies.release_all()
        wait_for(lambda: len(r.voice.spoken) == 2)
        assert r.h.loop._mouth.activity.wait_idle(5)
        assert r.h.loop.activity.wait_idle(5), "it was handed over, and is not heard"
        r.waited = True
        until = r.h.speaker.busy_until
        be_silent(r, PAUSE)
        begin = r.h.clock.now()
        say(r, QUESTION, 2, SPEECH)
        assert until > begin
        be_silent(r)
        assert r.at_rest()
    heard = 15 * FRAME_SECONDS + 5 * FRAME_SECONDS - REWIND_SECONDS + 5 * FRAME_SECONDS
    assert first(r).heard == words_at(heard, "one two three four five.")
    assert first(r).reply == TWO


def test_m7_words_while_the_reply_is_still_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with still_writing(tmp_path, monkeypatch) as r:
        say(r, QUESTION)
        for _ in range(PAUSE):
            r.frame(0)
        wait_for(lambda: not r.h.loop.floor.held)
        r.replies.release_all()
        r.waited = True
        r.prepared()
        be_silent(r)
        assert r.at_rest()
    assert "six" not in first(r).reply, "what nobody waits for is not written"
    assert first(r).heard == words_at(20 * FRAME_SECONDS, "one two three four five.")
    assert r.turns[1].user_text == QUESTION
    assert len(r.turns) == 2


def test_v8_the_gate_is_closed_exactly_while_somebody_speaks_or_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talking(tmp_path, monkeypatch) as r:
        gate = r.h.scribe.gate
        said: list[str | Exception] = ["uh-huh", "", "stop", RuntimeError("x"), QUESTION]
        for mark, words in enumerate(said, 1):
            inside = gate.enter()
            say(r, words, mark, 4)
            assert not inside.cancelled, "a click closes nothing"
            say(r, words, mark)
            assert inside.cancelled and gate._closers == 1
            be_silent(r, PAUSE + 4)
            assert gate._closers == 1, "not before the end is sure"
            be_silent(r)
            assert gate._closers == 0
            assert not gate.enter().cancelled
            r.h.loop.tell(Typed("count to ten", "en"))
            r.settle()
        assert r.at_rest()


class LateSpeaker(MemorySpeaker):
    """A device: what it was given last is still to be heard for 100 ms."""

    @property
    def busy_until(self) -> float:
        held = self._held
        until = super().busy_until
        return until if held is not None and held.sounds else until + 0.1


# ── what is not right yet ──


def test_m7_an_interruption_just_as_the_reply_ends_does_not_silence_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device still plays its last 100 ms: held, with nothing that could go on."""
    monkeypatch.setattr(test_loop, "MemorySpeaker", LateSpeaker)
    seconds = 0.06 * len(TEN) - 4 * FRAME_SECONDS
    with talking(tmp_path, monkeypatch, seconds=seconds) as r:
        interrupt(r, QUESTION)
        begin = r.h.clock.now()
        be_silent(r)
        assert r.h.speaker._held is None, "the answer would never be heard"
        assert r.h.speaker.busy_until > begin
    assert (first(r).heard, first(r).interrupted) == (TEN, False)


@pytest.mark.parametrize("again", ["stop stop", "stop please stop"])
def test_m7_stop_said_twice_is_no_question(
    again: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talking(tmp_path, monkeypatch) as r:
        say(r, "stop")
        be_silent(r, PAUSE + 3)
        r.recognizer.said[(1, 2)] = again
        for _ in range(SPEECH):
            r.frame(2)
        be_silent(r)
        assert r.at_rest()
    assert len(r.turns) == 1


def test_m7_uh_huh_that_outlasts_the_reply_is_not_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talking(tmp_path, monkeypatch, seconds=2.7) as r:
        say(r, "uh-huh")
        be_silent(r, PAUSE)
        r.quiet()  # the last words are out
        be_silent(r, 1)
        r.recognizer.said[(1, 2)] = "uh-huh, okay"
        say(r, "", 2, 3)
        be_silent(r)
    assert len(r.turns) == 1


def test_m7_words_that_are_recognised_only_after_their_end_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow machine: the closing silence is over before the words are known."""
    with talking(tmp_path, monkeypatch) as r:
        r.waited = False
        r.recognizer.brake.hold()
        r.on_end = r.recognizer.brake.release_all
        interrupt(r, QUESTION)
        r.waited = True
        assert r.at_rest()
        r.quiet()
    assert [turn.user_text for turn in r.turns] == ["count to ten", QUESTION]
    assert r.turns[1].reply == f"You said {QUESTION}."


@pytest.mark.xfail(
    strict=False,
    reason="_Silenced is handled behind the utterance, and cuts the new answer",
)
def test_m7_words_that_are_recognised_only_after_their_end_cut_the_reply_they_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not their own answer; its prompt knows already what was heard of the one before."""
    with talking(tmp_path, monkeypatch) as r:
        r.waited = False
        r.recognizer.brake.hold()
        r.on_end = r.recognizer.brake.release_all
        interrupt(r, QUESTION)
        r.waited = True
        r.quiet()
        r.settle()
        prompt = [message["content"] for message in r.replies.prompts[-1]]
    one, two = r.turns
    assert (two.heard, two.interrupted) == (two.reply, False)
    assert (one.heard, one.interrupted) == (words_at(0.5 + 5 * FRAME_SECONDS), True)
    assert one.heard in prompt and TEN not in prompt


def test_m7_our_voice_does_not_go_on_under_the_next_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow machine: "uh-huh" is recognised when the person is speaking again."""
    with talking(tmp_path, monkeypatch) as r:
        r.waited = False
        r.recognizer.brake.hold()
        say(r, "uh-huh")
        told: list[Any] = []
        r.on_end = lambda: told.append(r.utterances[-1])
        r.settle = lambda: None  # type: ignore[method-assign]  # the loop waits for the words
        for _ in range(48):
            r.frame(0)
        assert told, "it is over, and not yet recognised"
        say(r, QUESTION, 2)
        r.recognizer.brake.release_all()
        r.prepared()
        assert r.h.loop.floor.held, "somebody speaks"
        assert r.h.loop.activity.wait_idle(5)
        del r.settle
        r.on_end, r.waited = lambda: None, True
        be_silent(r)
        assert r.at_rest()
    assert first(r).interrupted
    assert [turn.user_text for turn in r.turns] == ["count to ten", QUESTION]


def test_m7_speech_that_resumes_while_uh_huh_is_judged_keeps_the_floor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = kind_of
    with talking(tmp_path, monkeypatch) as r:

        def judged(text: str, language: str, *, asked: bool = False) -> Kind:
            if text == "uh-huh":
                r.h.loop.tell(Resumed(r.h.clock.now()))
            return judge(text, language, asked=asked)

        monkeypatch.setattr("assistant.floor.kind_of", judged)
        say(r, "uh-huh")
        be_silent(r, PAUSE)
        assert r.h.loop.floor.held
        r.recognizer.said[(1, 2)] = "uh-huh but tell me the time"
        for _ in range(SPEECH):
            r.frame(2)
        be_silent(r)
    assert first(r).interrupted


def test_m7_what_was_heard_is_right_when_a_sentence_was_half_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence of two sounds (it has a comma); held and resumed between them."""
    with room(tmp_path, monkeypatch, flows=False) as r:
        r.voice.parts = 2
        r.voice.between.hold()
        r.replies.answer = lambda text: TEN
        r.h.loop.tell(Typed("count to ten", "en"))
        r.voice.between.wait_until_asked()
        delivery = wait_for_delivery(r)
        wait_for(lambda: any(one.end > one.begin for one in delivery.placed))
        r.h.clock.advance(0.5)
        r.h.loop.tell(SpeechStarted(0.5))
        r.h.clock.advance(1.0)
        r.h.loop.floor.give_back()
        r.voice.between.release_all()
        assert r.h.loop.activity.wait_idle(5)
        r.h.clock.advance(1.0)
        r.h.loop.tell(SpeechStarted(2.5))
        r.h.loop.floor.lost(0.0, r.h.loop._give_way)
        wait_for(lambda: first(r).interrupted)
    assert first(r).heard == words_at(0.5 - REWIND_SECONDS + 1.0)


def test_m7_stop_while_we_think_ends_without_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch, flows=False) as r:
        r.replies.hold()
        r.h.loop.tell(Typed("count to ten", "en"))
        r.replies.wait_until_asked()
        r.replies.answer = lambda text: f"You said {text}."
        say(r, "stop")
        r.replies.release_all()
        be_silent(r)
        r.settle()
    assert not [one for one in r.h.of(Replied) if "stop" in one.turn.user_text]  # type: ignore[union-attr]
    assert len(r.h.of(Finished)) <= 1
