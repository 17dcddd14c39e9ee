"""A process that is killed while it talks: forked, so that hundreds of kills take seconds."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from assistant.clock import RealClock
from assistant.config import Config, DataConfig, FlowsConfig, MemoryConfig
from assistant.home import open_home
from assistant.loop import Replied, Shown, Typed
from assistant.mouth import Page
from assistant.stages import Cancel, Message
from assistant.wiring import Engines, Line, Mind, build_mind
from assistant.workers import Worker

VOWELS, CONSONANTS = "aeiou", "bdfgklmnprst"


class Parrot:
    """Implements stages.LanguageModel: always the same answer, a piece at a time."""

    def prepare(self, messages: Sequence[Message], cancel: Cancel, *, words: bool = False) -> None:
        """Nothing to prepare."""

    def interrupt(self) -> None:
        """Nothing takes long."""

    def stream(
        self, messages: Sequence[Message], cancel: Cancel, *, max_tokens: int
    ) -> Iterator[str]:
        for piece in ("All ", "right", "."):
            if cancel.cancelled:
                return
            yield piece


@dataclass
class Talk:
    """The real mind on a bank, with a parrot for a model."""

    mind: Mind
    closers: ExitStack

    def say(self, text: str) -> None:
        self.mind.loop.tell(Typed(text, "en"))
        self.mind.loop.activity.wait_idle()

    def settle(self) -> None:
        assert self.mind.scribe.activity.wait_idle(120)


def settings(folder: Path) -> Config:
    memory = MemoryConfig(bank="crash", key="file")
    return Config(data=DataConfig(str(folder)), memory=memory, flows=FlowsConfig(enabled=False))


def talk(folder: Path, show: Line, closers: ExitStack) -> Talk:
    clock = RealClock()
    clock.start()
    config = settings(folder)
    home = open_home(config, clock.wall(), show.tell, closers)
    engines = Engines(Parrot(), Parrot(), closers)
    mind = build_mind(config, home, engines, Page(clock, lambda text: None), clock, show)
    for turn in mind.conversation.queued():
        mind.scribe.enqueue(turn)
    Worker("loop", mind.loop.run).start()
    return Talk(mind, closers)


def warm_up(folder: Path) -> None:
    """Load and compile what a turn needs, so that no child has to."""
    with ExitStack() as closers:
        session = talk(folder, Line(lambda event: None), closers)
        session.say(statement(0))
        session.settle()
        session.mind.loop.stop()


def name(number: int) -> str:
    """A name that nobody else has."""
    chance = random.Random(number)
    letters = (chance.choice(CONSONANTS) + chance.choice(VOWELS) for _ in range(3))
    return "".join(letters).capitalize() + VOWELS[number % 5] + CONSONANTS[number // 5 % 12]


def statement(number: int) -> str:
    return f"My friend {name(number)} lives in {name(number + 10**6)}."


def talk_until_killed(folder: Path, first: int, pipe: int) -> None:
    """Tell one thing after another; each that is answered is written down outside."""
    said: list[int] = [first]

    def show(event: Shown) -> None:
        if isinstance(event, Replied):
            os.write(pipe, f"{event.turn.session} {event.turn.turn} {said[0]}\n".encode())

    with ExitStack() as closers:
        session = talk(folder, Line(show), closers)
        os.write(pipe, b"ready\n")
        while True:
            session.say(statement(said[0]))
            said[0] += 1


def kill_once(folder: Path, first: int, turns: int, share: float) -> list[tuple[str, int, int]]:
    """(session, turn, statement) of all that was answered before the kill.

    It comes after so many turns and a share of the time that one takes.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reader)
            talk_until_killed(folder, first, writer)
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as lines:
        began = time.monotonic()
        rest = lines.readline()
        for _ in range(turns):
            began = time.monotonic()
            rest += lines.readline()
        time.sleep(min(1.0, share * (time.monotonic() - began)))
        os.kill(child, signal.SIGKILL)
        rest += lines.read()
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"it ended by itself after {rest!r}"
    words = [line.split() for line in rest.splitlines() if line.count(" ") == 2]
    return [(session, int(turn), int(number)) for session, turn, number in words]
