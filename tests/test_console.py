"""Lines for a person, objects for a program."""

from __future__ import annotations

import json

import pytest

from assistant.console import Console
from assistant.events import Failed, Transcript, Turn
from assistant.loop import Finished, Notice, Replied, Said


def turn(**changes: object) -> Turn:
    values: dict[str, object] = {
        "session": "s", "turn": 1, "user_text": "hello", "language": "en", "state_before": {},
        "raw": "Hi.", "reply": "Hi.", "heard": "Hi.", "latency_ms": {"asr": 12.0}, **changes,
    }  # fmt: skip
    return Turn(**values)  # type: ignore[arg-type]


def test_m13_a_record_is_one_object_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(as_json=True, spoken=True)
    console.show(Said(Transcript("hello", "en", 0.9)))
    console.show(Replied(turn()))
    console.show(Finished(turn(state_after={"version": 1})))
    (line,) = capsys.readouterr().out.splitlines()
    record = json.loads(line)
    assert record["event"] == "turn"
    wanted = {"session", "turn", "user_text", "state_before", "raw", "state_after", "reply",
              "heard", "latency_ms"}  # fmt: skip
    assert wanted <= record.keys()


def test_the_pieces_of_a_reply_stand_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(as_json=False, spoken=False)
    for number, pieces in enumerate((["Nice to meet you,", "Alex."], ["你好。", "再见。"]), 1):
        for piece in pieces:
            console.say(piece)
        console.show(Replied(turn(turn=number)))
    assert capsys.readouterr().out == "Nice to meet you, Alex.\n你好。再见。\n"


def test_a_trouble_in_mid_reply_begins_its_own_line(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(as_json=False, spoken=False)
    console.say("Nice to")
    console.show(Failed("llm", RuntimeError("broken")))
    console.show(Notice("by the way"))
    out, err = capsys.readouterr()
    assert out == "Nice to\n"
    assert err == "llm: broken\nby the way\n"


def test_what_was_heard_and_said_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(as_json=False, spoken=True)
    console.show(Said(Transcript("", "en", 0.0, "no speech")))
    console.show(Said(Transcript("hello", "en", 0.9)))
    console.show(Replied(turn()))
    console.show(Replied(turn(heard="", interrupted=True)))
    assert capsys.readouterr().out.splitlines() == [
        "You: hello",
        "Assistant: Hi.",
        "  (interrupted after: nothing)",
    ]
