"""The turn state machine with scripted engines: what becomes a turn, what is cut, what is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from assistant.ahead import Ahead
from assistant.config import FlowsConfig, MindConfig
from assistant.dialogues import open_driver
from assistant.events import (
    Audio,
    Ended,
    Failed,
    Paused,
    Resumed,
    SpeechStarted,
    Transcript,
    Turn,
    Utterance,
)
from assistant.loop import Finished, Loop, Replied, Said, Shown, Typed
from assistant.memory.cache import Conversation
from assistant.memory.extract import Scribe
from assistant.memory.store import Store, load_state, load_turns, open_session
from assistant.mind.state import State
from assistant.mouth import Speech
from assistant.patience import Limits
from assistant.speakable import language_of
from assistant.testing import (
    FakeClock,
    MemorySpeaker,
    ScriptedModel,
    ScriptedRecognizer,
    ToneVoice,
    wait_for,
)
from assistant.turns import Turns
from assistant.workers import Worker
from tests.test_store import open_store


@dataclass
class House:
    """Everything between the ears and the database, with fakes at the edges."""

    clock: FakeClock
    store: Store
    conversation: Conversation
    replies: ScriptedModel
    notes: ScriptedModel
    recognizer: ScriptedRecognizer
    voice: ToneVoice
    speaker: MemorySpeaker
    scribe: Scribe
    loop: Loop
    waits: list[tuple[float, float]]
    """what the closing silence was set to: end of the speech, seconds"""
    shown: list[Shown] = field(default_factory=list)

    def hear(self, *texts: str | Transcript | Exception, over: bool = False) -> None:
        """One utterance after another, each a second long and closed 600 ms after its end.

        `over`: without waiting until the reply before it was heard.
        """
        self.recognizer.enqueue(*texts)
        for _ in texts:
            if not over:
                self.clock.advance(max(0.0, self.speaker.busy_until - self.clock.now()))
            start = self.clock.now()
            self.loop.tell(SpeechStarted(start))
            self.clock.advance(1.6)
            self.loop.tell(utterance(start, self.clock.now()))
            self.loop.activity.wait_idle(5)

    def pause(self, said: Utterance) -> None:
        """A pause, and all that is made of it ahead."""
        self.loop.tell(Paused(said))
        wait_for(lambda: not self.loop.preparing)

    def settle(self) -> None:
        assert self.loop.activity.wait_idle(5)
        assert self.scribe.activity.wait_idle(5)

    def end(self) -> None:
        self.loop.tell(Ended(self.clock.now()))

    def of(self, kind: type) -> list[Shown]:
        return [event for event in self.shown if isinstance(event, kind)]

    @property
    def records(self) -> list[Turn]:
        return [event.turn for event in self.shown if isinstance(event, Finished)]


def utterance(start: float, closed: float) -> Utterance:
    audio = Audio(np.zeros(16_000, np.float32), 16_000)
    return Utterance(audio, start, closed - 0.6, closed, 1.0)


@contextmanager
def house(folder: Path, *languages: str, flows: bool = False) -> Iterator[House]:
    """`flows`: with the shipped flows on a fresh office."""
    clock = FakeClock()
    store = open_store(folder, bank="test")
    driver = open_driver(FlowsConfig(), folder, store.banks.key) if flows else None
    session = store.submit(open_session("test", clock.wall(), 12)).result().id
    state = State.from_dict(store.submit(load_state(session)).result())
    turns = store.submit(load_turns(session, 6)).result()
    conversation = Conversation(session, state, turns, 6)
    replies, notes = ScriptedModel(clock=clock), ScriptedModel()
    recognizer, voice = ScriptedRecognizer(), ToneVoice(*languages)
    speaker = MemorySpeaker(clock)
    shown: list[Shown] = []
    loop: list[Loop] = []
    scribe = Scribe(
        conversation, store, notes, replies, MindConfig(), clock, lambda event: loop[0].tell(event)
    )
    mouth = Speech(
        voice, speaker, clock, lambda event: loop[0].tell(event), notices.append, language_of
    )
    talk = Turns(
        conversation,
        store,
        replies,
        scribe,
        mouth,
        clock,
        lambda event: loop[0].tell(event),
        max_tokens=90,
        driver=driver,
        judge=notes,
    )
    loop.append(Loop(recognizer, talk, mouth, scribe.gate, clock, shown.append))
    waits: list[tuple[float, float]] = []

    def wait(end: float, seconds: float) -> bool:
        waits.append((end, seconds))
        return True

    overheard = loop[0].floor.due
    ahead = loop[0].ahead = Ahead(recognizer, talk, wait, clock, Limits(), overheard=overheard)
    built = House(
        clock,
        store,
        conversation,
        replies,
        notes,
        recognizer,
        voice,
        speaker,
        scribe,
        loop[0],
        waits,
        shown,
    )
    with (
        Worker("scribe", scribe.run, stop=scribe.end),
        Worker("ahead", ahead.run, stop=ahead.stop),
        Worker("loop", loop[0].run, stop=loop[0].stop),
    ):
        yield built
        clock.advance(max(0.0, speaker.busy_until - clock.now()))
        built.end()
        built.scribe.activity.wait_idle(5)
    loop[0].finish()
    store.close()


notices: list[str] = []
CLOCKS = "The user's uncle repairs old clocks."
"""of words that the rules are not sure about"""


def test_m3_a_turn_has_a_state_before_a_reply_and_a_state_after(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("Nice to meet you, Alex.")
        h.notes.enqueue("The user is called Alex.")
        h.hear("my name is Alex")
        h.settle()
    (turn,) = h.records
    assert turn.state_before["version"] == 0
    assert turn.state_after is not None
    assert turn.state_after["version"] == 1
    assert turn.state_after["preference"]["name"]["value"] == "Alex"


def test_m13_a_record_says_what_was_said_answered_and_how_long_it_took(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("It is noon.")
        h.replies.seconds_per_piece = 0.1
        h.hear("what time is it")
        h.settle()
    (turn,) = h.records
    assert (turn.user_text, turn.reply, turn.heard) == (
        "what time is it",
        "It is noon.",
        "It is noon.",
    )
    assert turn.raw == "It is noon."
    parts = ("endpoint", "asr", "first_token", "first_sentence", "first_audio")
    assert sum(turn.latency_ms[name] for name in parts) == pytest.approx(
        turn.latency_ms["voice_to_voice"], abs=1
    )
    assert turn.latency_ms["endpoint"] == 600
    assert turn.latency_ms["first_token"] == 100


def test_the_reply_is_played_in_order(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("The first sentence is here. The second one follows.")
        h.hear("tell me two things")
    assert [text for text, _ in h.voice.spoken] == [
        "The first sentence is here.",
        "The second one follows.",
    ]
    begins = [begin for begin, _ in h.speaker.played]
    assert begins == sorted(begins)


def test_nothing_recognised_is_no_turn(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.hear("")
    assert h.records == []
    assert h.replies.prompts == []
    assert h.speaker.played == []


def test_words_recognised_in_the_closing_silence_are_used(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.recognizer.enqueue("what time is it")
        h.replies.enqueue("It is noon.")
        said = utterance(0.0, 1.6)
        h.loop.tell(SpeechStarted(0.0))
        h.pause(said)
        assert h.of(Said) == [], "nothing is decided before the end is sure"
        h.clock.advance(1.6)
        h.loop.tell(said)
        h.settle()
    assert len(h.recognizer.heard) == 1
    assert h.records[0].latency_ms["asr"] == 0


def test_speech_that_goes_on_after_a_pause_is_recognised_again(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.recognizer.enqueue("set a timer", "set a timer for ten minutes")
        h.replies.enqueue("A timer.", "Ten minutes.")
        h.loop.tell(SpeechStarted(0.0))
        h.pause(utterance(0.0, 1.6))
        h.loop.tell(Resumed(1.4))
        h.loop.tell(utterance(0.0, 3.6))
        h.settle()
    assert h.records[0].user_text == "set a timer for ten minutes"


def test_m7_what_was_heard_of_a_reply_is_recorded_to_the_word(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("one two three four five six seven eight nine ten.", "Yes.")
        h.hear("count to ten")
        (begin, sound), *_ = h.speaker.played
        h.clock.advance(begin + sound.seconds / 2 - h.clock.now())
        h.hear("now in French", over=True)
        h.settle()
    first, second = h.records
    assert first.interrupted
    assert first.heard == "one two three four five six"
    assert not second.interrupted
    assert {"role": "assistant", "content": first.heard} in h.replies.prompts[1]


def test_m7_an_answer_nobody_heard_is_given_to_both_parts_of_the_request(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("Three hours it is.", "Three hours and ten minutes it is.")
        h.replies.hold()
        h.recognizer.enqueue("set a timer for three hours", "and ten minutes")
        h.loop.tell(SpeechStarted(0.0))
        h.loop.tell(utterance(0.0, 1.6))
        h.replies.wait_until_asked()
        h.loop.tell(SpeechStarted(2.0))
        h.replies.release_all()
        h.loop.tell(utterance(2.0, 3.6))
        h.settle()
    (turn,) = h.records
    assert turn.turn == 1
    assert turn.user_text == "set a timer for three hours and ten minutes"
    assert turn.reply == "Three hours and ten minutes it is."


def test_m7_a_cough_does_not_lose_the_answer(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("It is noon.", "It is noon.")
        h.replies.hold()
        h.recognizer.enqueue("what time is it", "")
        h.loop.tell(SpeechStarted(0.0))
        h.loop.tell(utterance(0.0, 1.6))
        h.replies.wait_until_asked()
        h.loop.tell(SpeechStarted(2.0))
        h.replies.release_all()
        h.loop.tell(utterance(2.0, 3.6))
        h.settle()
    assert [turn.heard for turn in h.records] == ["It is noon."]


def test_v8_a_new_utterance_stops_the_note_which_stays_queued_and_verbatim(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("How nice.", "Old clocks.")
        h.notes.enqueue(CLOCKS, CLOCKS)
        h.notes.hold()
        h.hear("my uncle repairs old clocks")
        h.notes.wait_until_asked()
        h.recognizer.enqueue("what does my uncle do")
        h.loop.tell(SpeechStarted(5.0))
        h.notes.release_all()
        h.loop.tell(utterance(5.0, 6.6))
        h.settle()
    assert h.notes.cancelled == 1
    assert any(m["content"] == "my uncle repairs old clocks" for m in h.replies.prompts[1][:-1])
    assert all(turn.state_after is not None for turn in h.records)
    assert [fact.note for fact in h.conversation.state.facts.values()] == [CLOCKS]


def test_m11_a_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("Nice to meet you, Alex.")
        h.notes.enqueue("The user is called Alex.")
        h.hear("my name is Alex")
        h.settle()
    with house(tmp_path) as h:
        assert h.conversation.state.preference["name"].value == "Alex"
        assert [e.reply for e in h.conversation.recent()] == ["Nice to meet you, Alex."]
        h.replies.enqueue("Alex.")
        h.hear("what is my name")
        h.settle()
    assert h.records[0].turn == 2


def test_a_failing_recogniser_is_said_once_and_the_loop_lives_on(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("It is noon.")
        h.hear(RuntimeError("broken"), RuntimeError("broken"), "what time is it")
        h.settle()
    assert [event.stage for event in h.of(Failed)] == ["asr"]  # type: ignore[union-attr]
    assert len(h.voice.spoken) == 2, "one apology and one answer"
    assert len(h.records) == 1


def test_m5_a_failing_model_is_said_and_the_words_are_kept(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue(RuntimeError("broken"), "Hello Alex.")
        h.notes.enqueue("The user is called Alex.")
        h.hear("my name is Alex")
        h.settle()
        h.hear("hello")
        h.settle()
    assert "Sorry" in h.records[0].reply
    assert h.conversation.state.preference["name"].value == "Alex"
    assert h.records[1].reply == "Hello Alex."


def test_m5_a_failing_note_leaves_the_state_and_the_loop_alone(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("How nice.", "Hello.")
        h.notes.enqueue(RuntimeError("broken"))
        h.hear("my uncle repairs old clocks")
        h.settle()
        h.hear("hello")
        h.settle()
    assert replace(h.conversation.state, version=0) == State()
    assert len(h.records) == 2
    assert [event.stage for event in h.of(Failed)] == ["notes"]  # type: ignore[union-attr]


def test_v8_what_the_rules_are_sure_of_is_noted_without_the_model(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("Nice to meet you, Alex.")
        h.hear("my name is Alex")
        h.settle()
    assert not [prompt for prompt in h.notes.prompts if prompt[-1]["content"]]
    assert h.conversation.state.preference["name"].value == "Alex"


def test_a_failing_voice_is_told_and_the_reply_is_shown(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.voice.failure = RuntimeError("broken")
        h.replies.enqueue("It is noon.")
        h.hear("what time is it")
        h.settle()
    assert [event.stage for event in h.of(Failed)] == ["tts"]  # type: ignore[union-attr]
    assert h.records[0].heard == "It is noon."


def test_a_language_no_voice_speaks_is_shown_and_said_to_be_so_once(tmp_path: Path) -> None:
    notices.clear()
    with house(tmp_path, "en") as h:
        h.replies.enqueue("你好。", "再见。")
        h.hear(Transcript("你好", "zh", 0.9), Transcript("再见", "zh", 0.9))
        h.settle()
    assert len(notices) == 1
    assert [turn.heard for turn in h.records] == ["你好。", "再见。"]
    assert [language for _, language in h.voice.spoken] == ["en"]


def test_what_is_still_queued_at_the_end_is_not_begun(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("One.")
        h.replies.hold()
        h.loop.tell(Typed("count", "en"))
        h.replies.wait_until_asked()
        h.loop.tell(utterance(0.0, h.clock.now()))
        h.loop.stop()
        h.replies.release_all()
        assert h.loop.activity.wait_idle(5)
        assert not h.recognizer.heard
        assert len(h.replies.prompts) == 1


def test_typed_words_go_the_same_way(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("Hello.")
        h.loop.tell(Typed("hello there", "en"))
        h.settle()
    assert h.records[0].user_text == "hello there"


def test_an_empty_model_answer_is_an_honest_sentence(tmp_path: Path) -> None:
    with house(tmp_path) as h:
        h.replies.enqueue("")
        h.hear("what time is it")
        h.settle()
    assert h.records[0].reply


def test_k5_nothing_waits_for_the_disk_before_the_reply(tmp_path: Path) -> None:
    """The writer is held up; the reply is played all the same."""
    from assistant.workers import Inbox

    with house(tmp_path) as h:
        held: Inbox[None] = Inbox(1)
        h.store.submit(lambda db: held.get())
        h.replies.enqueue("It is noon.")
        h.hear("what time is it")
        assert len(h.speaker.played) == 1
        assert len(h.of(Replied)) == 1
        held.put(None)
        h.settle()
