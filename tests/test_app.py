"""The whole assistant put together by app.py, with scripted engines in place of the weights."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from assistant import app, hearing, wiring
from assistant.audio.files import duration
from assistant.config import Config, DataConfig, LogConfig
from assistant.errors import AudioFormatError
from assistant.events import Audio, Failed, Turn
from assistant.llm import Weights
from assistant.loop import Finished, Shown
from assistant.testing import (
    ScriptedDetector,
    ScriptedModel,
    ScriptedRecognizer,
    ToneVoice,
    silence,
    speech,
    wait_for,
)
from assistant.workers import CancelToken, Worker


class Parts:
    """The engines that app.py finds in place of the weights."""

    def __init__(self) -> None:
        self.replies, self.notes = ScriptedModel(), ScriptedModel()
        self.recognizer = ScriptedRecognizer()
        self.shown: list[Shown] = []

    def load(
        self, config: Config, progress: wiring.Progress, *, speech: bool, closers: ExitStack
    ) -> wiring.Engines:
        return wiring.Engines(self.replies, self.notes, closers, self.recognizer, ToneVoice())

    @property
    def records(self) -> list[Turn]:
        return [event.turn for event in self.shown if isinstance(event, Finished)]


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    built = Parts()
    monkeypatch.setattr(app, "load_engines", built.load)
    monkeypatch.setattr(hearing, "load_vad", lambda *_: ScriptedDetector())
    monkeypatch.setattr(hearing, "load_smart_turn", lambda _: None)
    return built


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return replace(Config(), data=DataConfig(str(tmp_path)))


def source(*segments: Audio | Callable[[], Iterator[Audio]]) -> app.Source:
    def given(_: wiring.Mind) -> Iterator[Iterator[Audio] | Audio]:
        for item in segments:
            yield item if isinstance(item, Audio) else item()

    return app.Source(segments=given, fast=True, speaker=False)


def test_what_is_typed_is_answered_noted_and_found_again(parts: Parts, config: Config) -> None:
    parts.replies.enqueue("Nice to meet you, Alex.", "Alex.")
    parts.notes.enqueue("The user is called Alex.")
    said: list[str] = []
    with app.Chat(config, parts.shown.append, said.append) as chat:
        chat.ask("my name is Alex", "en")
        chat.end()
    assert " ".join(said) == "Nice to meet you, Alex."
    assert parts.records[0].state_after is not None
    with app.Chat(config, parts.shown.append, said.append) as chat:
        assert chat.mind.conversation.state.preference["name"].value == "Alex"
        chat.end()


def test_a_chat_whose_reader_has_gone_ends(parts: Parts, config: Config) -> None:
    def gone(_: str) -> None:
        raise BrokenPipeError

    parts.replies.enqueue("Hello.", "Hello.", "Hello.")

    def talk() -> None:
        with app.Chat(config, parts.shown.append, gone) as chat:
            chat.ask("hello", "en")
            chat.ask("hello", "en")
            chat.end()

    worker = Worker("chat", talk).start()
    assert worker.join(5.0), "it waits for an answer that nobody gives"
    assert isinstance(worker.error, BrokenPipeError)


def test_m7_a_chat_that_is_ended_in_mid_reply_keeps_what_was_shown(
    parts: Parts, config: Config
) -> None:
    parts.replies.enqueue("One is here. Two is here.")
    parts.replies.hold()
    said: list[str] = []
    chat = app.Chat(config, parts.shown.append, said.append)
    with chat:
        worker = Worker("typing", lambda: chat.ask("count", "en")).start()
        parts.replies.release(4)
        wait_for(lambda: said == ["One is here."])
        parts.replies.wait_until_asked()
        ended = Worker("end", lambda: chat.__exit__()).start()
        parts.replies.release_all()
        assert ended.join(2.0)
        assert worker.join(2.0)
    with app.Chat(config, parts.shown.append, said.append) as chat:
        assert [exchange.reply for exchange in chat.mind.conversation.recent()] == ["One is here."]
        chat.end()


def test_files_are_heard_one_after_another(parts: Parts, config: Config) -> None:
    parts.recognizer.enqueue("what time is it", "and now")
    parts.replies.enqueue("It is noon.", "It is noon still.")
    given = source(speech(1.0), silence(2.0), speech(1.0))
    with app.Talk(config, given, parts.shown.append) as talk:
        assert talk.run()
    assert [turn.user_text for turn in parts.records] == ["what time is it", "and now"]
    for turn in parts.records:
        assert turn.heard == turn.reply
        assert not turn.interrupted
        assert turn.state_after is not None
        latency = dict(turn.latency_ms)
        assert latency.pop("voice_to_voice") == pytest.approx(sum(latency.values()), abs=1)
        assert 250 <= latency["endpoint"] <= 1500, "as long as the words ask for"


def test_a_file_that_breaks_off_is_answered_told_and_ends(parts: Parts, config: Config) -> None:
    def damaged() -> Iterator[Audio]:
        yield speech(1.0)
        raise AudioFormatError("x.wav: the sound in it is damaged.")

    parts.recognizer.enqueue("what time is it")
    parts.replies.enqueue("It is noon.")
    begin = time.monotonic()
    with app.Talk(config, source(damaged, speech(1.0)), parts.shown.append) as talk:
        assert not talk.run()
    assert time.monotonic() - begin < 5.0, "nobody waits for notes that cannot come"
    assert [turn.reply for turn in parts.records] == ["It is noon."]
    assert [event.stage for event in parts.shown if isinstance(event, Failed)] == ["ears"]


def test_talk_ends_when_nobody_reads_what_is_shown(parts: Parts, config: Config) -> None:
    def gone(_: Shown) -> None:
        raise BrokenPipeError

    parts.recognizer.enqueue("what time is it")
    with app.Talk(config, source(speech(1.0)), gone) as talk, pytest.raises(BrokenPipeError):
        talk.run()


def test_ctrl_c_while_the_model_is_in_a_long_step_saves_the_recording_first(
    parts: Parts, config: Config, tmp_path: Path
) -> None:
    """A small computer may need seconds for a step; the process is ended before that."""
    parts.recognizer.enqueue("my uncle repairs old clocks")
    parts.replies.enqueue("How nice.")
    parts.notes.enqueue("The user's uncle repairs old clocks.")
    parts.notes.hold()
    record = tmp_path / "s.wav"
    talk = app.Talk(config, replace(source(speech(1.0)), record=record), parts.shown.append)
    running = Worker("run", talk.run).start()
    parts.notes.wait_until_asked()
    wait_for(lambda: not talk._ears.alive)
    ending = Worker("end", lambda: talk.__exit__()).start()
    wait_for(lambda: (duration(record) or 0) > talk.clock.now() - 0.1, seconds=1.0)
    parts.notes.release_all()
    assert ending.join(5.0)
    assert running.join(5.0)


def test_the_weights_are_not_freed_under_a_thread_that_is_inside_them() -> None:
    """Ctrl-C in the middle of a long step was seen to end in a segmentation fault."""

    class Freed:
        closed = False

        def close(self) -> None:
            self.closed = True

    weights, inside = Freed(), CancelToken()
    engines = wiring.Engines(ScriptedModel(), ScriptedModel(), ExitStack())
    user = Worker("loop", lambda: inside.wait(10))
    engines.users.append(user.start())
    engines.free(cast("Weights", weights))
    assert not weights.closed
    inside.cancel()
    wait_for(lambda: not user.alive)
    engines.free(cast("Weights", weights))
    assert weights.closed


@pytest.mark.parametrize("content", [False, True])
def test_m12_what_was_said_is_logged_only_when_asked(
    parts: Parts, config: Config, tmp_path: Path, content: bool
) -> None:
    parts.replies.enqueue("Nice to meet you, Alex.")
    parts.notes.enqueue("The user is called Alex.")
    config = replace(config, log=LogConfig(content=content))
    with app.Chat(config, parts.shown.append, lambda text: None) as chat:
        chat.ask("my name is Alex", "en")
        chat.end()
    log = (tmp_path / "assistant.log").read_text(encoding="utf-8")
    assert "turn 1" in log
    assert ("Alex" in log) is content
