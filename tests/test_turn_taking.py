"""People who speak whenever they like: ears, work ahead, loop and floor on their own threads."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from assistant.events import Utterance
from assistant.loop import Finished, Replied
from tests.test_speculation import Listening, Room, room

SEQUENCES = 300
KINDS = ("ask", "ask", "ask", "uh-huh", "stop", "cough", "crash")


class Babble(dict[tuple[int, ...], str | Exception]):
    """What is said with each mark; what several parts say together."""

    def __init__(self, dice: random.Random, name: str) -> None:
        super().__init__()
        self.kinds = [dice.choice(KINDS) for _ in range(10)]
        self.name = name

    def __contains__(self, parts: object) -> bool:
        return True

    def __getitem__(self, parts: tuple[int, ...]) -> str | Exception:
        if any(self.kinds[part] == "crash" for part in parts):
            return RuntimeError("not recognised")
        said = [
            self.asked(part) if self.kinds[part] == "ask" else self.kinds[part] for part in parts
        ]
        return ", ".join(text for text in said if text != "cough")

    def asked(self, part: int) -> str:
        return f"tell me about {self.name}x{part}"

    def due(self, utterance: Utterance) -> list[str]:
        """What of it must have become a turn."""
        parts = Listening.parts(utterance.audio)
        if any(self.kinds[part] == "crash" for part in parts):
            return []
        return [self.asked(part) for part in parts if self.kinds[part] == "ask"]


def babble(r: Room, dice: random.Random, name: str) -> tuple[list[str], bool]:
    """Some seconds of speech and silence at random; what has to be answered, and whether it has to
    be answered last."""
    said = r.recognizer.said = Babble(dice, name)
    r.utterances.clear()
    r.voice.failure = RuntimeError("no voice") if dice.random() < 0.1 else None
    for mark in range(1, dice.randint(2, 6)):
        for _ in range(dice.choice((2, 6, 6, 9, 25))):
            r.frame(mark)
        for _ in range(dice.choice((1, 2, 4, 10, 20, 40, 55))):
            r.frame(0)
            if dice.random() < 0.08:
                r.prepared()
    for _ in range(60):
        r.frame(0)
    due = [said.due(one) for one in r.utterances]
    return [text for one in due for text in one], bool(due and due[-1])


@pytest.mark.xfail(  # not at every seed every time
    strict=False, reason="the cut of the reply before may be taken for one of the new answer"
)
@pytest.mark.parametrize("seed", range(3))
def test_d7_whoever_speaks_whenever_they_like_is_answered(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No deadlock, no counter left, no words lost; three hundred times."""
    dice = random.Random(seed)
    monkeypatch.setattr("assistant.loop.after", lambda seconds, call: None)
    monkeypatch.setattr("assistant.loop.log.disabled", True)  # thousands of tracebacks
    with room(tmp_path, monkeypatch, flows=False) as r:
        settle = r.settle
        r.waited, r.settle = False, lambda: None  # type: ignore[method-assign]
        for number in range(SEQUENCES // 3):
            due, last = babble(r, dice, f"{seed}s{number}")
            settle()
            assert r.at_rest(), number
            r.quiet()
            rows = r.rows("select user_text, reply, heard, interrupted from turns order by turn")
            stored = " ".join(row[0] for row in rows[-30:])
            if last:
                assert rows[-1][1:] == (rows[-1][1], rows[-1][1], 0), "nobody interrupted it"
            assert [text for text in due if text not in stored] == [], number
            assert r.h.loop._unheard is None, "words that nobody answers"
        del r.settle
        answered = {one.turn.turn for one in r.h.shown if isinstance(one, Replied)}
        shown = r.h.shown
    assert answered == {one.turn.turn for one in shown if isinstance(one, Finished)}
