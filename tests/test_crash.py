"""Killed at any moment: nothing that was answered is lost, nothing is there twice (C3, V4)."""

from __future__ import annotations

import os
import random
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from assistant.memory.banks import Banks
from assistant.wiring import Line
from tests.crash import kill_once, name, statement, talk, warm_up

KILLS = int(os.environ.get("ASSISTANT_KILLS", "300"))
STARTS = 5
"""in peace at the end: on a busy machine notes lag hundreds of turns behind"""
MOST_TURNS = 3
"""answered before the kill"""


@pytest.mark.crash
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_c3_v4_killed_hundreds_of_times_nothing_answered_is_lost_or_doubled(tmp_path: Path) -> None:
    warm_up(tmp_path / "warm")
    chance = random.Random(4)
    answered: list[tuple[str, int, int]] = []
    first = 0
    for _ in range(KILLS):
        count, share = chance.randint(1, MOST_TURNS), chance.uniform(0, 1.5)
        answered += kill_once(tmp_path, first, count, share)
        first = max((number for *_, number in answered), default=first) + 2
        with closing(Banks(tmp_path, "file").read("crash").conn) as db:
            assert db.execute("pragma quick_check").fetchone()[0] == "ok"
    for _ in range(STARTS):  # what does not fit into the inbox is taken up by the next one
        with ExitStack() as closers:
            last = talk(tmp_path, Line(lambda event: None), closers)
            last.settle()
            last.mind.scribe.end()
    with closing(Banks(tmp_path, "file").read("crash").conn) as db:
        turns = {
            (session, number): text
            for session, number, text in db.execute("select session, turn, user_text from turns")
        }
        facts = Counter(
            text for (text,) in db.execute("select text from facts where ended is null")
        )
        queued = db.execute("select count(*) from jobs where status = 'queued'").fetchone()[0]
    assert len(answered) > KILLS
    for session, turn, number in answered:
        assert turns.get((session, turn)) == statement(number)
    assert not queued
    assert max(facts.values()) == 1
    for *_, number in answered:
        assert sum(name(number) in text for text in facts) == 1, statement(number)
