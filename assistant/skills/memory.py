"""What is remembered about the person: say it, forget it. Works on the bank, not on the office.

Knows nothing of databases: the bank is handed in by whoever carries an action out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from assistant.mind.address import told_to_you
from assistant.skills.registry import Outcome, action

MOST_SAID = 8
"""things that are told at once; more are counted"""


_FULL_WIDTH = re.compile("(?<=[。！？]) ")


class Remembered(Protocol):
    """The memory of the person who speaks."""

    def told(self, now: datetime) -> Sequence[str]:
        """What is known, as sentences about "the user", the most important first."""

    def forget_last(self) -> bool:
        """Forget what was told last, for good; False when nothing of it is kept."""

    def forget_about(self, words: str) -> bool:
        """Forget what was told of this, for good; False when nothing of it is kept."""

    def go_private(self) -> None:
        """Forget this conversation, and keep nothing more of it."""

    def forget_all(self) -> None:
        """Forget everything, for good."""


@action("memory.show", ("ok", "none"), ("told", "more"), on="memory")
def show(memory: Remembered, slots: Mapping[str, str], now: datetime) -> Outcome:
    """Say what is known."""
    every = memory.told(now)
    if not every:
        return Outcome("none")
    told = _FULL_WIDTH.sub("", " ".join(told_to_you(line) for line in every[:MOST_SAID]))
    more = len(every) - MOST_SAID
    return Outcome("ok", {"told": told, "more": str(more) if more > 0 else ""})


@action("memory.forget", ("ok", "none"), on="memory")
def forget(memory: Remembered, slots: Mapping[str, str], now: datetime) -> Outcome:
    """ "Forget that", or what is named."""
    what = slots.get("what", "")
    done = memory.forget_about(what) if what else memory.forget_last()
    return Outcome("ok" if done else "none")


@action("memory.private", on="memory")
def private(memory: Remembered, slots: Mapping[str, str], now: datetime) -> Outcome:
    """ "Don't remember this conversation." """
    memory.go_private()
    return Outcome("ok")


@action("memory.forget_all", on="memory")
def forget_all(memory: Remembered, slots: Mapping[str, str], now: datetime) -> Outcome:
    """ "Forget everything you know about me." """
    memory.forget_all()
    return Outcome("ok")
