"""A turn through the flows inside the whole loop: fakes at the edges, the real office."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant import sealed
from assistant.config import FlowsConfig
from assistant.dialogues import GATE, load_gate, open_driver
from assistant.errors import ConfigError
from assistant.events import Failed, SpeechStarted
from assistant.memory.banks import Banks
from assistant.memory.store import load_state
from assistant.mind.dialogue import Dialogue
from assistant.mind.state import State
from tests.test_loop import house, utterance


def bookings(folder: Path) -> int:
    db = sealed.connect(folder / "office.db", Banks(folder, "file").key, read_only=True)
    try:
        return int(db.execute("select count(*) from bookings where state = 'booked'").fetchone()[0])
    finally:
        db.close()


def test_d2_a_rule_turn_calls_no_model_and_its_state_is_there_at_once(tmp_path: Path) -> None:
    with house(tmp_path, flows=True) as h:
        h.hear("I would like to book a meeting room")
        state = h.conversation.state
        assert state.dialogue.task is not None
        assert state.pending == ("For which day?", "From when to when?", "Which room?")
        h.settle()
    (turn,) = h.records
    assert turn.reply == "For which day?"
    assert turn.state_after == state.to_dict()
    assert turn.decisions[0]["act"] == "ask:date"
    assert turn.decisions[0]["why"]
    assert not h.replies.prompts
    assert not h.notes.prompts


def test_m13_decisions_and_state_are_in_the_database_before_the_reply_is_heard(
    tmp_path: Path,
) -> None:
    with house(tmp_path, flows=True) as h:
        h.hear("order 5 toner")
        stored = State.from_dict(h.store.submit(load_state(h.conversation.session)).result())
        assert stored == h.conversation.state
        row = h.store.submit(lambda db: list(db.query("select * from turns"))).result()[0]
        assert '"confirm"' in row["decisions"]
        assert row["reply"]


def test_d1_the_model_answers_in_between_and_the_task_goes_on(tmp_path: Path) -> None:
    with house(tmp_path, flows=True) as h:
        h.replies.enqueue("Paris.")
        h.hear("book a meeting room", "what is the capital of France?", "tomorrow")
        h.settle()
        task = h.conversation.state.dialogue.task
    turns = sorted(h.records, key=lambda turn: turn.turn)
    assert [turn.reply for turn in turns] == ["For which day?", "Paris.", "From when to when?"]
    assert task is not None
    assert "date" in task.slots
    assert any("For which day?" in message["content"] for message in h.replies.prompts[0])


def test_m12_in_the_loop_too_a_stale_yes_is_asked_for_again(tmp_path: Path) -> None:
    with house(tmp_path, flows=True) as h:
        h.replies.enqueue("Paris.")
        h.hear("order 5 toner", "what is the capital of France?", "yes", "yes")
        h.settle()
    turns = sorted(h.records, key=lambda turn: turn.turn)  # a record waits for its note
    first, _, again, done = (turn.decisions[-1]["act"] for turn in turns)
    assert (first, again, done) == ("confirm", "confirm", "run")


def test_m7_a_write_nobody_heard_of_is_not_carried_out_twice(tmp_path: Path) -> None:
    with house(tmp_path, flows=True) as h:
        before = bookings(tmp_path)
        h.recognizer.enqueue("book A302 tomorrow from ten to twelve without a projector", "ok")
        h.loop.tell(SpeechStarted(0.0))
        h.clock.advance(1.6)
        h.loop.tell(utterance(0.0, 1.6))
        h.loop.activity.wait_idle(5)
        h.loop.tell(SpeechStarted(1.6))  # speaks on before a word of the reply is played
        h.clock.advance(1.0)
        h.replies.enqueue("All right.")
        h.loop.tell(utterance(1.6, 2.6))
        h.settle()
        assert bookings(tmp_path) == before + 1


def test_m7_what_was_not_heard_stands_in_the_state_for_one_turn(tmp_path: Path) -> None:
    with house(tmp_path, flows=True) as h:
        h.replies.enqueue("one two three four five six seven eight nine ten.", "Yes.")
        h.hear("count to ten")
        (begin, sound), *_ = h.speaker.played
        h.clock.advance(begin + sound.seconds / 2 - h.clock.now())
        h.hear("stop please")
        h.settle()
        assert h.conversation.state.interrupted == ""
    assert any("six seven eight" in message["content"] for message in h.replies.prompts[1])


def test_m10_undo_that_without_a_task_goes_back_to_the_state_before(tmp_path: Path) -> None:
    with house(tmp_path, flows=True) as h:
        h.replies.enqueue("Nice.")
        h.hear("my sister is called Anna")
        h.settle()
        assert h.conversation.state.preference
        h.hear("undo that")
        h.settle()
        assert not h.conversation.state.preference
        stored = State.from_dict(h.store.submit(load_state(h.conversation.session)).result())
        assert stored == h.conversation.state
    assert h.records[-1].reply == "I have gone back to how it was before."


def test_m10_undo_that_with_nothing_to_undo_says_so(tmp_path: Path) -> None:
    with house(tmp_path, flows=True) as h:
        h.hear("undo that")
        h.settle()
    assert h.records[-1].reply == "There is nothing to take back."


def test_d6_tasks_survive_a_restart(tmp_path: Path) -> None:
    with house(tmp_path, flows=True) as h:
        h.hear("book a meeting room", "tomorrow")
        h.settle()
    with house(tmp_path, flows=True) as h:
        h.hear("from ten to twelve")
        h.settle()
        task = h.conversation.state.dialogue.task
    assert task is not None
    assert {"date", "time"} <= set(task.slots)


def test_broken_flows_fall_back_to_the_model_and_say_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("flows")

    monkeypatch.setattr("assistant.dialogues.decide", broken)
    with house(tmp_path, flows=True) as h:
        h.replies.enqueue("Hello.", "Hello.")
        h.notes.enqueue("nothing", "nothing")
        h.hear("book a room", "book a room")
        h.settle()
    assert [turn.reply for turn in h.records] == ["Hello.", "Hello."]
    told = [event.stage for event in h.of(Failed) if isinstance(event, Failed)]
    assert told.count("flows") == 1


def test_recognition_is_told_what_may_be_said_next(tmp_path: Path) -> None:
    with house(tmp_path, flows=True) as h:
        h.replies.enqueue("Nice to meet you.")
        h.hear("my name is Zoltan", "find a free room tomorrow from ten to twelve")
        h.settle()
        assert "meeting room" in h.recognizer.expected[0], "what the flows are about"
        expected = h.recognizer.expected[-1]
    assert expected[:2] == ("A302", "A305")
    assert "Zoltan" in expected


def test_a_damaged_gate_is_one_clear_sentence(tmp_path: Path) -> None:
    (tmp_path / GATE).write_text("{", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"run\.py flows train"):
        load_gate(tmp_path)


@pytest.mark.parametrize(("verdict", "reply"), [("answer", "For which day?"), ("else", "Hm.")])
def test_d2_the_model_is_asked_only_where_the_gate_is_unsure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: str, reply: str
) -> None:
    monkeypatch.setattr("assistant.mind.gate.Gate.detach", lambda *_: 0.5)
    with house(tmp_path, flows=True) as h:
        h.notes.enqueue(verdict, "nothing")
        h.replies.enqueue("Hm.")
        h.hear("book a meeting room", "whenever the others can")
        h.settle()
    assert h.records[-1].reply == reply
    assert 'Asked: "For which day?"' in h.notes.prompts[0][-1]["content"]
    assert h.conversation.state.dialogue != Dialogue()


def test_m12_a_secret_reaches_neither_prompt_state_database_nor_screen(tmp_path: Path) -> None:
    secret = "hunter2"
    with house(tmp_path, flows=True) as h:
        h.replies.enqueue("All right.", "All right.")
        h.notes.enqueue("The user's password is hunter2.", "nothing")
        h.hear(f"my password is {secret}", "my card number is 4111 1111 1111 1111")
        h.settle()
        rows = h.store.submit(lambda db: list(db.query("select * from turns"))).result()
        kept = [
            str(rows),
            str(h.conversation.state.to_dict()),
            str(h.replies.prompts),
            str(h.shown),
        ]
    for text in kept:
        assert secret not in text
        assert "4111" not in text
    assert "[password]" in kept[0]


def test_a_misspelt_denial_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean stock"):
        open_driver(FlowsConfig(denied=("stok.order",)), tmp_path)
