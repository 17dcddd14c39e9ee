"""What is prepared in the closing silence, how long that is, and when what was made is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assistant.ahead import Ahead
from assistant.config import MindConfig
from assistant.endpoint import FRAME_SECONDS
from assistant.events import (
    Failed,
    Paused,
    Resumed,
    SpeechStarted,
    Transcript,
    Turn,
)
from assistant.loop import Typed
from assistant.mind.merge import Update, merge
from assistant.mind.state import Fact
from assistant.patience import Limits
from assistant.testing import ScriptedMemory, wait_for
from tests.test_loop import utterance
from tests.test_speculation import EGGS, Answering, Room, room

LIMITS = Limits()
MILK = "add milk to the shopping list"
SHOW = "what's on my shopping list"
PARIS = "tell me about Paris"
REMARK = "the weather was lovely"
"""no command and no question: longer or default"""


def closing(r: Room) -> float:
    """Seconds of silence that closed the last utterance."""
    return r.utterances[-1].closed - r.utterances[-1].end


def near(milliseconds: int) -> Any:
    return pytest.approx(milliseconds / 1000, abs=FRAME_SECONDS)


def said(r: Room, text: str | Exception, mark: int = 1) -> None:
    """One utterance, to its end."""
    r.recognizer.said[(mark,)] = text
    r.listen((mark, 20))


def failures(r: Room) -> list[str]:
    return [event.stage for event in r.h.of(Failed)]  # type: ignore[union-attr]


def spoken(r: Room) -> list[str]:
    return [text for text, _ in r.voice.spoken]


def in_between(r: Room, meanwhile: Callable[[], object], *words: str | Exception) -> Turn:
    """Something happens between the pause and its end; the turn that comes of the words."""
    r.recognizer.enqueue(*words)
    start = r.h.clock.now()
    whole = utterance(start, start + 1.6)
    r.h.loop.tell(SpeechStarted(start))
    r.h.clock.advance(1.0)
    r.h.pause(whole)
    meanwhile()
    r.h.clock.advance(0.6)
    r.h.loop.tell(whole)
    r.settle()
    assert r.at_rest()
    return r.turns[-1]


# ── patience ──


@pytest.mark.parametrize(
    ("text", "sound", "milliseconds"),
    [
        (MILK, 0.95, LIMITS.short),
        (MILK, 0.7, LIMITS.default),
        (MILK, 0.2, 1050),
        (MILK, None, LIMITS.default),
        (f"{MILK} and", 0.95, 1050),
        (f"{MILK} and", 0.2, LIMITS.long),
        ("", 0.95, LIMITS.default),
    ],
)
def test_v1_the_turn_closes_when_its_words_and_sound_say_so(
    text: str,
    sound: float | None,
    milliseconds: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with room(tmp_path, monkeypatch, sound=sound) as r:
        said(r, text)
        assert closing(r) == near(milliseconds)
        if text == MILK:
            assert r.turns[0].ahead["patience_ms"] == milliseconds


def test_v1_the_turn_does_not_close_before_something_can_be_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every frame between the judged patience and the longest one."""
    with room(tmp_path, monkeypatch) as r:
        for frames in range(2, 46, 4):
            r.voice.brake.hold()
            r.waited = False
            r.recognizer.said[(1,)] = SHOW
            r.utterances.clear()
            for mark in (1,) * 20 + (0,) * frames:
                r.frame(mark)
            r.voice.brake.wait_until_asked()
            assert not r.utterances
            r.voice.brake.release_all()
            r.prepared()
            r.waited = True
            for _ in range(60):
                r.frame(0)
            ready = round((frames + 1) * FRAME_SECONDS * 1000)  # at the next frame
            assert closing(r) == near(max(LIMITS.short, ready))
            assert r.turns[-1].ahead["used"]
            r.quiet()


def test_v1_the_longest_patience_waits_for_no_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch) as r:
        r.voice.brake.hold()
        r.waited = False
        r.on_end = r.voice.brake.release_all
        said(r, SHOW)
        assert closing(r) == near(LIMITS.long)
    assert r.turns[0].reply


def test_v1_a_judge_that_does_not_come_back_costs_the_longest_patience_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch) as r:
        r.recognizer.brake.hold()
        r.waited = False
        r.on_end = r.recognizer.brake.release_all
        said(r, MILK)
        assert closing(r) == near(LIMITS.long)
    assert [turn.user_text for turn in r.turns] == [MILK]
    assert len(r.recognizer.heard) == 1, "it was awaited, not done twice"


def test_v1_a_judge_that_fails_leaves_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(audio: object) -> float:
        raise RuntimeError("no smart-turn")

    with room(tmp_path, monkeypatch) as r:
        assert r.h.loop.ahead is not None
        r.h.loop.ahead._sound = broken
        said(r, MILK)
        assert closing(r) == near(LIMITS.default)
        said(r, PARIS)
        assert closing(r) == near(LIMITS.default), "and its thread lives on"
        assert r.at_rest()
    assert [turn.user_text for turn in r.turns] == [MILK, PARIS]
    assert failures(r) == []


def test_v1_a_recogniser_that_fails_at_the_pause_is_asked_again_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch) as r:
        r.recognizer.enqueue(RuntimeError("broken"), MILK)
        r.listen((3, 20))
        assert closing(r) == near(LIMITS.default)
    assert [turn.user_text for turn in r.turns] == [MILK]
    assert failures(r) == []


def test_m6_a_judgement_of_an_old_pause_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recognition of the first pause ends in the second one, and finds the words complete."""
    with room(tmp_path, monkeypatch) as r:
        r.recognizer.brake.hold()
        r.waited = False
        r.recognizer.said = {(1,): MILK, (1, 2): f"{MILK} and"}
        for mark in (*(1,) * 20, *(0,) * 5):
            r.frame(mark)
        r.recognizer.brake.wait_until_asked()
        for mark in (*(2,) * 10, *(0,) * 3):
            r.frame(mark)
        r.recognizer.brake.release_all()
        r.prepared()
        ends = [end for end, _ in r.h.waits]
        for _ in range(60):
            r.frame(0)
        assert ends == [r.utterances[0].end], "no word about the first pause"
        assert closing(r) == near(1050)
        assert not r.endpoint.wait(ends[0], 0.1)


def test_v1_words_that_need_no_answer_close_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch) as r:
        r.type(PARIS)
        r.h.loop.tell(Typed(PARIS, "en"))
        r.settle()
        said(r, "uh-huh")
        assert closing(r) == near(LIMITS.short)
        assert len(r.turns) == 2


def test_v1_what_is_said_next_is_not_confused_with_what_waits_for_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second pause comes before the loop has come to the first utterance."""
    with room(tmp_path, monkeypatch) as r:
        ahead = r.h.loop.ahead
        assert ahead is not None
        one, two = utterance(0.0, 1.6), utterance(1.7, 3.3)
        r.recognizer.enqueue(MILK, SHOW, MILK)
        r.voice.brake.hold()
        r.h.loop.tell(Typed(EGGS, "en"))
        r.voice.brake.wait_until_asked()  # the loop is busy
        ahead.paused(one)
        r.h.loop.tell(one)
        wait_for(lambda: len(r.recognizer.heard) == 1)
        ahead.paused(two)
        wait_for(lambda: len(r.recognizer.heard) == 2)
        r.voice.brake.release_all()
        r.settle()
        r.quiet()
        r.h.loop.tell(two)
        r.settle()
    assert [turn.user_text for turn in r.turns] == [EGGS, MILK, SHOW]
    assert len(r.recognizer.heard) == 3, "the first had to be heard again"


# ── only where it is exactly that reply ──


def test_v1_a_note_that_is_committed_in_between_makes_the_reply_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch, flows=False) as r:
        state = r.h.conversation

        def noted() -> None:
            fact = Fact("Alex", "The user is called Alex.", "en", 1)
            update = Update(preference={"name": fact})
            state.change(lambda old: merge(old, update, MindConfig()), lambda old, new: 0)

        turn = in_between(r, noted, "what is my name")
        assert not turn.ahead["used"]
        prompts = [str(prompt) for prompt in r.replies.prompts]
        assert ["called Alex" in prompt for prompt in prompts] == [False, True]
        assert len(r.h.speaker.played) == 1


def test_v1_a_task_that_is_answered_in_between_makes_the_reply_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch) as r:
        turn = in_between(r, lambda: r.type(MILK), SHOW)
        assert "milk" in turn.reply
        assert not turn.ahead["used"]
        assert spoken(r)[-1] == turn.reply


def test_v1_the_language_of_the_last_turn_counts_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A code is said in any language; a turn in Chinese comes in between."""
    with room(tmp_path, monkeypatch, flows=False, languages=("en", "zh")) as r:
        r.replies.answer = lambda text: "你好。" if "你" in text else "A302 it is."

        def chinese() -> None:
            r.h.loop.tell(Typed("你好", "zh"))
            r.h.loop.activity.wait_idle(5)

        turn = in_between(r, chinese, "A302")
        assert turn.language == "zh"
        assert not turn.ahead["used"]


def test_m12_a_secret_reaches_neither_prompt_nor_table_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch) as r:
        told: list[object] = []
        turn = in_between(r, lambda: told.append(r.kept), "my password is hunter2")
        assert turn.ahead["used"], "the same sentence about secrets"
        assert "[" in turn.user_text
        everything = str([r.replies.prompts, r.replies.prepared, r.notes.prompts, spoken(r)])
        assert "hunter2" not in everything + str(r.rows("select * from turns")) + str(r.h.shown)


def test_m12_words_so_far_are_evaluated_without_their_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch, flows=False) as r:
        r.recognizer.brake.hold()
        r.waited, r.on_pause = False, r.recognizer.brake.wait_until_asked
        r.recognizer.said = {
            (1,): "my password is hunter2 and my",
            (1, 2): "my password is hunter2",
        }
        for mark in (*(1,) * 20, *(0,) * 4, *(2,) * 3):
            r.frame(mark)
        r.recognizer.brake.release_all()
        r.prepared()
        r.on_pause = lambda: None
        assert r.replies.prepared and "hunter2" not in str(r.replies.prepared)
        r.waited = True
        for mark in (*(2,) * 5, *(0,) * 60):
            r.frame(mark)


def test_m7_again_is_not_answered_with_what_was_prepared_for_half_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch, flows=False) as r:
        r.replies.hold()
        r.h.loop.tell(Typed(PARIS, "en"))
        r.replies.wait_until_asked()
        r.recognizer.said = {(1,): "and about Rome"}
        for mark in (1,) * 20:
            r.frame(mark)
        r.replies.release_all()
        for _ in range(60):
            r.frame(0)
        assert r.at_rest()
        (turn,) = r.turns
        assert turn.user_text == f"{PARIS} and about Rome"
        assert turn.reply == f"You said {turn.user_text}."
        assert not turn.ahead["used"]
        assert sum(sound.seconds for _, sound in r.h.speaker.played) < 0.06 * len(turn.reply) + 0.1
        assert len(r.rows("select * from turns")) == 1


def test_m10_undo_is_done_at_the_end_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch) as r:
        r.type("remind me to call Anna", "tomorrow at nine", MILK)
        assert r.standing() == ["call Anna 09:00", "milk"]
        kept: list[object] = []
        before = r.kept
        in_between(r, lambda: kept.append(r.kept), "undo that")
        assert kept == [before]
        assert r.standing() == ["call Anna 09:00"]


def test_m10_a_roll_back_is_done_at_the_end_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch) as r:
        r.h.notes.answer = lambda text: "nothing"  # type: ignore[attr-defined]
        r.type("my name is Alex", "my name is Alexandra")
        versions: list[int] = []
        turn = in_between(r, lambda: versions.append(r.h.conversation.state.version), "no, go back")
        assert r.h.conversation.state.preference["name"].value == "Alex"
        assert r.h.conversation.state.version == versions[0] + 1
        assert turn.ahead["used"]


def test_m10_nothing_to_undo_is_not_said_to_be_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is only known when it is tried."""
    with room(tmp_path, monkeypatch) as r:
        turn = in_between(r, lambda: None, "no, go back")
        assert not turn.ahead["used"]
        assert len(spoken(r)) == 2
        assert turn.reply == spoken(r)[1] != spoken(r)[0]
        assert len(r.h.speaker.played) == 1


def test_m12_forget_everything_is_carried_out_at_the_end_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch) as r:
        assert r.driver is not None
        memory = r.driver.memory = ScriptedMemory("The user likes tea.")
        forgets: list[int] = []
        monkeypatch.setattr(memory, "forget_all", lambda: forgets.append(len(r.rows("select 1"))))
        in_between(r, lambda: None, "forget everything about me")
        assert forgets == []
        r.quiet()
        kept: list[object] = []
        before = (*r.kept, len(forgets))
        in_between(r, lambda: kept.append((*r.kept, len(forgets))), "yes")
        assert kept == [before]
        assert len(forgets) == 1


def test_c4_flows_that_fail_are_told_once_and_the_model_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch) as r:
        assert r.driver is not None

        def broken(*args: object, **named: object) -> None:
            raise RuntimeError("no flows")

        monkeypatch.setattr(r.driver, "handle", broken)
        told: list[list[str]] = []
        turn = in_between(r, lambda: told.append(failures(r)), MILK)
        assert told == [[]], "it may come to nothing"
        wait_for(lambda: failures(r) == ["flows"])
        assert turn.reply.startswith(f"You said {MILK}")
        assert turn.ahead["used"]
        assert r.standing() == []


@pytest.mark.parametrize("written", ["", "Paris is"], ids=["at once", "in the middle"])
def test_m5_a_model_that_fails_only_ahead_is_not_noticed(
    written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch, flows=False) as r:
        r.replies.answer = None
        r.replies.enqueue(RuntimeError("broken"), "Paris is in France.")
        turn = in_between(r, lambda: None, PARIS)
        assert turn.reply == turn.heard == "Paris is in France."
        assert len(r.h.speaker.played) == 1
        assert failures(r) == []
        assert not turn.ahead["used"]


def test_m5_a_model_that_fails_after_the_turn_has_begun_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Breaking(Answering):
        def _wait(self) -> None:
            super()._wait()
            if len(self.given) == 4:
                raise RuntimeError("broken")

    with room(tmp_path, monkeypatch, flows=False) as r:
        r.replies.answer = lambda text: "Paris is big. And it is old."
        r.replies.__class__ = Breaking
        r.replies.hold()
        r.replies.release(4)
        r.waited = False
        r.recognizer.said = {(1,): PARIS}
        for mark in (1,) * 20 + (0,) * 4:
            r.frame(mark)
        wait_for(lambda: len(r.h.waits) == 1)
        assert failures(r) == []

        def heard_first() -> None:
            wait_for(lambda: bool(r.h.speaker.played))
            r.replies.release_all()

        r.on_end = heard_first
        for _ in range(60):
            r.frame(0)
        (turn,) = r.turns
        assert turn.ahead["used"]
        assert turn.reply.startswith("Paris is big.") and "Sorry" in turn.reply
        wait_for(lambda: failures(r) == ["llm"])
        assert r.at_rest()


def test_a_voice_that_fails_ahead_is_told_once_and_only_when_it_matters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch, flows=False) as r:
        r.voice.failure = RuntimeError("broken")
        r.recognizer.said = {(1,): PARIS, (1, 2): "tell me about Rome"}
        r.waited = True
        r.check = lambda: _none(failures(r))
        r.listen((1, 20), (0, 6), (2, 10))
        (turn,) = r.turns
        assert turn.user_text == "tell me about Rome"
        assert turn.heard == turn.reply, "it is shown"
        wait_for(lambda: failures(r) == ["tts"])
        assert r.at_rest()


def _none(found: Sequence[object]) -> None:
    assert not found


def test_v1_a_language_without_a_voice_is_prepared_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch, flows=False, languages=("en",)) as r:
        r.replies.answer = lambda text: "巴黎很大。"
        said_zh = Transcript("介绍一下巴黎", "zh", 0.9)
        turn = in_between(r, lambda: None, said_zh)  # type: ignore[arg-type]
        assert turn.heard == "巴黎很大。"
        assert turn.ahead["used"]


def test_v1_the_judge_is_asked_once_for_the_same_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate is not sure; one word from the model ahead serves the turn as well."""
    asked: list[str] = []
    with room(tmp_path, monkeypatch) as r:
        assert r.driver is not None
        r.notes.answer = lambda text: asked.append(text) or "answer"  # type: ignore[func-returns-value]
        r.type("remind me to call Anna")
        handle = r.driver.handle

        def unsure(*args: Any, **named: Any) -> Any:
            return replace(handle(*args, **named), question="At what time?")

        monkeypatch.setattr(r.driver, "handle", unsure)
        asked.clear()
        turn = in_between(r, lambda: None, REMARK)
        judged = [one for one in asked if one.startswith("Asked:")]
        assert len(judged) == 1
        assert turn.reply == "At what time?"
        assert turn.ahead["used"]


# ── what it reports, and its end ──


def test_m13_the_record_says_what_the_silences_were_used_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch) as r:
        r.recognizer.said = {(1,): SHOW, (1, 2): PARIS, (1, 2, 3): MILK}
        r.listen((1, 20), (0, 5), (2, 10), (0, 5), (3, 10))
        said(r, EGGS, 4)
    one, two = r.turns
    assert (one.ahead["pauses"], one.ahead["resumed"]) == (3, 2)
    assert one.ahead["wasted"]["tokens"] == 6, "You said tell me about Paris."
    vain = spoken(r)[: -len(r.h.speaker.played)]
    assert one.ahead["wasted"]["sound_s"] == pytest.approx(0.06 * len("".join(vain)), abs=0.01)
    assert one.ahead["why"].startswith("words: form")
    assert (two.ahead["pauses"], two.ahead["resumed"]) == (1, 0)
    assert two.ahead["wasted"] == {"asr_ms": 0.0, "tokens": 0, "sound_s": 0.0}
    assert set(one.ahead) == {
        "used", "pauses", "resumed", "patience_ms", "why", "asr_ms", "wasted"
    }  # fmt: skip


def test_m13_what_was_prepared_and_does_not_fit_is_wasted_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch) as r:
        turn = in_between(r, lambda: r.type(MILK), SHOW)
    assert not turn.ahead["used"]
    assert turn.ahead["wasted"]["sound_s"] > 0


def test_m13_pauses_of_an_uh_huh_are_not_the_next_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch) as r:
        said(r, "", 2)
        said(r, PARIS)
    assert r.turns[0].ahead["pauses"] == 1


def test_k4_nothing_is_evaluated_after_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while a pause is being recognised: the model does not begin a prompt then."""
    with room(tmp_path, monkeypatch, flows=False) as r:
        r.waited = False
        r.recognizer.brake.hold()
        r.recognizer.said = {(1,): PARIS}
        for mark in (1,) * 20 + (0,) * 3:
            r.frame(mark)
        r.recognizer.brake.wait_until_asked()
        before = len(r.replies.prepared)
        r.h.loop.stop()
        r.recognizer.brake.release_all()
        ahead = r.h.loop.ahead
        assert ahead is not None and ahead.activity.wait_idle(5)
        r.h.scribe.activity.wait_idle(5)
        assert len(r.replies.prepared) == before


def test_k4_its_thread_ends_with_what_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with room(tmp_path, monkeypatch, flows=False) as r:
        ahead: Ahead | None = r.h.loop.ahead
        assert ahead is not None
        r.replies.hold()
        r.h.loop.tell(Paused(utterance(0.0, 1.6)))
        r.recognizer.enqueue(PARIS)
        ahead.stop()
        r.h.loop.tell(Paused(utterance(0.0, 1.7)))
        r.h.loop.tell(Resumed(2.0))
        r.replies.release_all()
        r.prepared()
        assert ahead.activity._count == 0
        assert r.h.speaker.played == []
        assert r.turns == []
