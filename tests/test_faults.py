"""Faults and races around a turn: nothing is lost or told wrong, and nobody waits for ever."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from sqlite_utils import Database

from assistant.errors import ModelError
from assistant.events import Failed, SpeechStarted, Turn
from assistant.loop import Typed
from assistant.memory.banks import Banks
from assistant.memory.store import commit_state, keep_turn
from assistant.mind.state import State
from assistant.stages import Cancel, Message
from assistant.testing import wait_for
from assistant.workers import Worker
from tests.test_loop import House, house, utterance


def speaks_while_it_plays(h: House, seconds: float) -> None:
    """Someone begins to speak so many seconds into the first sound of the last reply."""
    begin, _ = h.speaker.played[-1]
    h.clock.advance(begin + seconds - h.clock.now())
    h.loop.tell(SpeechStarted(h.clock.now()))


def test_notes_that_are_ready_after_the_end_are_in_the_record(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("How nice.")
        h.notes.enqueue("The user's uncle repairs old clocks.")
        h.notes.hold()
        h.loop.tell(Typed("my uncle repairs old clocks", "en"))
        h.end()
        h.notes.wait_until_asked()
        wait_for(lambda: not h.loop.activity.busy)
        h.notes.release_all()
        assert h.scribe.activity.wait_idle(5)
    assert h.records[0].state_after is not None


def test_a_model_that_fails_before_its_first_piece_is_said_and_the_loop_lives_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with house(tmp_path) as h:
        real = h.replies.stream

        def refuses(
            messages: Sequence[Message], cancel: Cancel, *, max_tokens: int
        ) -> Iterator[str]:
            monkeypatch.setattr(h.replies, "stream", real)
            raise ModelError("The prompt cannot be evaluated.")

        monkeypatch.setattr(h.replies, "stream", refuses)
        h.replies.enqueue("It is noon.")
        h.hear("what time is it", "what time is it")
        h.settle()
    assert "Sorry" in h.records[0].reply
    assert h.records[1].reply == "It is noon."


def test_a_fault_inside_a_turn_is_told_and_the_next_turn_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: object) -> None:
        raise IndexError

    with house(tmp_path) as h:
        with monkeypatch.context() as broken:
            broken.setattr("assistant.planner.reply_messages", fault)
            h.hear("what time is it")
        h.replies.enqueue("It is noon.")
        h.hear("what time is it")
        h.settle()
    assert [event.stage for event in h.of(Failed)] == ["turn"]  # type: ignore[union-attr]
    assert len(h.voice.spoken) == 2, "one apology and one answer"
    assert [turn.reply for turn in h.records] == ["It is noon."]


def test_a_screen_that_is_gone_ends_the_loop_and_nobody_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(event: object) -> None:
        raise BrokenPipeError

    with house(tmp_path) as h:
        monkeypatch.setattr(h.loop, "_show", gone)
        h.replies.enqueue("Hello.", "Hello.")
        h.loop.tell(Typed("hello", "en"))
        h.loop.tell(Typed("hello", "en"))
        assert h.loop.activity.wait_idle(2)
        h.loop.tell(Typed("hello", "en"))
        assert h.loop.activity.wait_idle(2)
        monkeypatch.setattr(h.loop, "_show", h.shown.append)


def test_a_recogniser_that_fails_in_a_pause_apologises_to_nobody(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.recognizer.enqueue(RuntimeError("broken"), "what time is it")
        h.replies.enqueue("It is noon.")
        h.loop.tell(SpeechStarted(0.0))
        h.pause(utterance(0.0, 1.6))
        assert h.speaker.played == [], "the person may not have finished"
        h.loop.tell(utterance(0.0, 1.6))
        h.settle()
    assert h.of(Failed) == []
    assert [text for text, _ in h.voice.spoken] == ["It is noon."]


def test_a_recogniser_that_fails_does_not_lose_the_request_before(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("It is noon.", "It is noon.")
        h.replies.hold()
        h.recognizer.enqueue("what time is it", RuntimeError("broken"))
        h.loop.tell(SpeechStarted(0.0))
        h.loop.tell(utterance(0.0, 1.6))
        h.replies.wait_until_asked()
        h.loop.tell(SpeechStarted(2.0))
        h.replies.release_all()
        h.loop.tell(utterance(2.0, 3.6))
        h.settle()
    assert [turn.heard for turn in h.records] == ["It is noon."]


def test_a_stage_that_fails_anew_is_told_anew(tmp_path: Path) -> None:
    fault = RuntimeError("broken")
    with house(tmp_path) as h:
        h.replies.enqueue(fault, fault, "Hello.", fault)
        h.hear("one", "two", "three", "four")
        h.settle()
    assert [event.stage for event in h.of(Failed)] == ["llm", "llm"]  # type: ignore[union-attr]


def test_a_device_that_goes_twice_is_told_twice(tmp_path: Path) -> None:
    """Microphone and speaker tell each loss once by themselves."""
    with house(tmp_path) as h:
        for _ in range(2):
            h.loop.tell(Failed("microphone", RuntimeError("gone")))
        h.settle()
        wait_for(lambda: len(h.of(Failed)) == 2)


def test_m7_what_was_heard_of_a_cut_reply_stays_when_someone_speaks_again(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("one two three four five six seven eight nine ten.")
        h.notes.hold()
        h.hear("count to ten")
        speaks_while_it_plays(h, h.speaker.played[-1][1].seconds / 2)
        h.recognizer.enqueue(RuntimeError("broken"), "")
        h.clock.advance(1.6)
        h.loop.tell(utterance(h.clock.now() - 1.6, h.clock.now()))
        h.loop.activity.wait_idle(5)
        speaks_while_it_plays(h, h.speaker.played[-1][1].seconds / 2)  # the apology
        h.loop.tell(utterance(h.clock.now(), h.clock.now() + 1.6))
        h.settle()
    assert h.records[0].heard == "one two three four five six"


def test_m7_what_was_heard_is_right_however_the_threads_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn ends between the moment its work is made old and the moment playback stops."""
    with house(tmp_path) as h:
        h.replies.enqueue("one two three four five six. seven eight nine ten eleven.")
        h.replies.hold()
        h.recognizer.enqueue("count to ten")
        h.loop.tell(SpeechStarted(0.0))
        h.loop.tell(utterance(0.0, 1.6))
        h.replies.release(7)
        wait_for(lambda: len(h.speaker.played) == 1)
        stop = h.speaker.stop

        def slow_stop() -> float:
            monkeypatch.setattr(h.speaker, "stop", stop)
            h.replies.release_all()
            assert h.loop.activity.wait_idle(5)
            return stop()

        monkeypatch.setattr(h.speaker, "stop", slow_stop)
        speaks_while_it_plays(h, h.speaker.played[-1][1].seconds / 2)
        h.recognizer.enqueue("please be quiet now")
        h.pause(utterance(h.clock.now(), h.clock.now() + 1.6))
        h.loop.tell(utterance(h.clock.now(), h.clock.now() + 1.6))
        h.settle()
    assert [turn.heard for turn in h.records] == ["one two three"]


def test_m7_ending_in_mid_reply_records_what_was_heard(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("one two three four five six seven eight nine ten.")
        h.hear("count to ten")
        begin, sound = h.speaker.played[-1]
        h.clock.advance(begin + sound.seconds / 2 - h.clock.now())
        h.loop.stop()
    with house(tmp_path) as h:
        (exchange,) = h.conversation.recent()
    assert exchange.reply == "one two three four five six"


def test_m7_a_reply_that_ends_as_someone_speaks_was_heard_whole(tmp_path: Path) -> None:
    """A sound card is some milliseconds off from what it promised."""
    with house(tmp_path) as h:
        h.replies.enqueue("one two three four five six seven eight nine ten.")
        h.hear("count to ten")
        speaks_while_it_plays(h, h.speaker.played[-1][1].seconds - 0.02)
        h.recognizer.enqueue("")
        h.loop.tell(utterance(h.clock.now(), h.clock.now() + 1.6))
        h.settle()
    assert h.records[0].heard == h.records[0].reply
    assert not h.records[0].interrupted


def test_m11_a_note_that_waited_longer_than_the_window_is_taken(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.notes.enqueue("The user is called Alex.")
        h.notes.hold()
        h.replies.enqueue("Nice to meet you.", *["Hello."] * 20)
        h.loop.tell(Typed("hello there", "en"))
        h.loop.activity.wait_idle(5)
        h.scribe.gate.close()  # somebody speaks on and on
        h.replies.enqueue("Hello.")
        for text in ["my name is Alex", *["my dog is called Rex"] * 20]:
            h.loop.tell(Typed(text, "en"))
            h.loop.activity.wait_idle(5)
            h.notes.enqueue("The dog of the user is called Rex.")
        h.notes.release_all()
        h.scribe.gate.open()
        h.settle()
    assert h.conversation.state.preference["name"].value == "Alex"
    assert [turn.turn for turn in h.records if turn.state_after is None] == []


def test_what_is_kept_of_the_records_is_bounded(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        for _ in range(30):
            h.replies.enqueue("Hello.")
            h.loop.tell(Typed("hello", "en"))
            h.settle()
            h.clock.advance(5.0)
        h.end()
        h.loop.finish()
        assert len(h.records) == 30
        held = [value for value in vars(h.loop).values() if isinstance(value, (dict, set, list))]
        assert sum(map(len, held)) == 0


def test_m11_a_stale_note_is_merged_into_the_newer_state(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        fact = {"value": "tea", "note": "The user likes tea.", "language": "en", "turn": 0}
        newer = State.from_dict({"version": 1, "preference": {"drink": fact}})
        h.store.submit(keep_turn(other_turn(h), 0.0, note=False)).result()
        write = commit_state(h.conversation.session, 99, 0, newer.to_dict(), 0.0)
        h.store.submit(write).result()
        h.replies.enqueue("Nice to meet you, Alex.")
        h.notes.enqueue("The user is called Alex.")
        h.hear("my name is Alex")
        h.settle()
        known = {key: item.value for key, item in h.conversation.state.preference.items()}
    assert known == {"drink": "tea", "name": "Alex"}
    assert h.of(Failed) == []


def other_turn(h: House) -> Turn:
    """A turn that another device has added to the session."""
    return Turn(h.conversation.session, 99, "I like tea", "en", {"version": 0}, "", "", "")


def test_a_note_that_the_database_refuses_for_good_does_not_hold_up_the_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> Callable[[Database], None]:
        def work(db: Database) -> None:
            raise sqlite3.DatabaseError("database disk image is malformed")

        return work

    with house(tmp_path) as h:
        with monkeypatch.context() as broken:
            broken.setattr("assistant.memory.extract.commit_state", refuses)
            h.replies.enqueue("Nice to meet you, Alex.", "Hello.")
            h.notes.enqueue("The user is called Alex.")
            h.hear("my name is Alex")
            h.settle()
        h.clock.advance(9.0)
        h.hear("hello")
        h.clock.advance(9.0)
        h.settle()
        wait_for(lambda: [turn.turn for turn in h.records][:1] == [1])


def test_m7_a_speaker_that_dies_in_mid_reply_was_heard_until_then(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("one two three four five six seven eight nine ten.")
        h.hear("count to ten")
        begin, sound = h.speaker.played[-1]
        h.clock.advance(begin + sound.seconds / 2 - h.clock.now())
        h.loop.tell(Failed("speaker", RuntimeError("gone")))
        h.settle()
        wait_for(lambda: bool(h.of(Failed)))
        h.clock.advance(9.0)
    assert h.records[0].heard == "one two three four five six"
    assert h.records[0].interrupted


@pytest.mark.parametrize("seed", range(4))
def test_d7_a_storm_of_interruptions_loses_no_word_and_leaves_nothing_open(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    kinds: list[str | Exception] = ["my name is Alex", "", "what now", RuntimeError()]
    texts: list[str | Exception] = []
    with house(tmp_path) as h:
        h.replies.enqueue(*["Well here it is. And more of it."] * 90)
        h.notes.enqueue(*["The user is called Alex."] * 200)
        for _ in range(25):
            texts.append(chance.choice(kinds))
            interrupt(h, texts[-1], chance.random() * 2)
            if chance.random() < 0.5:
                h.loop.activity.wait_idle(chance.random() * 0.01)
                h.clock.advance(chance.random() * 4)
        h.settle()
        h.clock.advance(30)
        interrupt(h, "goodbye", 1.0)
        h.settle()
        h.clock.advance(30)
        assert Worker("notes", h.scribe.gate.enter).start().join(2), "somebody keeps it closed"
    said = [text for text in [*texts, "goodbye"] if isinstance(text, str)]
    assert " ".join(turn.user_text for turn in h.records).split() == " ".join(said).split()
    assert [turn.turn for turn in h.records] == list(range(1, len(h.records) + 1))
    assert all(turn.state_after is not None for turn in h.records)
    db = Banks(tmp_path, "file").read("test")
    kept = db.execute("select turn, user_text, heard, interrupted from turns order by turn")
    shown = [(t.turn, t.user_text, t.heard, t.interrupted) for t in h.records]
    assert kept.fetchall() == shown
    assert db.execute("select count(*) from jobs where status != 'done'").fetchone() == (0,)
    db.close()


def interrupt(h: House, text: str | Exception, seconds: float) -> None:
    """Someone says this for so long, whatever is going on."""
    h.recognizer.enqueue(text)
    h.loop.tell(SpeechStarted(h.clock.now()))
    h.clock.advance(seconds)
    h.loop.tell(utterance(h.clock.now() - seconds, h.clock.now()))
