"""A spoken conversation: the user is synthesised and fed as microphone audio, all else is real."""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from statistics import median

import click
import numpy as np

from assistant.app import Source, Talk
from assistant.audio import files
from assistant.config import Config, DataConfig
from assistant.console import Console, loading
from assistant.events import Audio, Turn
from assistant.loop import Finished, Shown
from assistant.wiring import Mind
from assistant.wording import WORDS


@dataclass(frozen=True, slots=True)
class Line:
    """What the user says and what a right answer holds: one of each group."""

    say: str
    expect: Sequence[Sequence[str]] = ()
    never: Sequence[str] = ()
    """what no answer may hold"""
    part: int = 1
    """each part is a start of its own"""
    bank: str = "default"
    """who speaks"""

    @property
    def asks(self) -> bool:
        return bool(self.expect or self.never)

    def answered_by(self, reply: str) -> bool:
        lowered = reply.casefold()
        return all(any(word in lowered for word in group) for group in self.expect) and not any(
            word in lowered for word in self.never
        )


STORIES = {
    "memory": "demo.toml",
    "office": "demo_office.toml",
    "remember": "demo_remember.toml",
}
"""what is talked of → its script under words/"""


def lines(story: str = "memory") -> list[Line]:
    """The script of a story. KeyError when there is none of that name."""
    with (WORDS / STORIES[story]).open("rb") as file:
        return [Line(**item) for item in tomllib.load(file)["lines"]]


def run(config: Config, record: Path, *, story: str, as_json: bool) -> int:
    """Play the script and say how it went. 0 when every answer was right."""
    console = Console(as_json=as_json, spoken=True, details=True)
    turns = converse(config, lines(story), record, console.show, quiet=as_json)
    return _report(lines(story), turns, record, as_json=as_json)


def converse(
    config: Config,
    script: Sequence[Line],
    record: Path,
    show: Callable[[Shown], None],
    *,
    quiet: bool,
) -> list[Turn]:
    """The script through the whole loop in real time, with a memory of its own."""
    turns: list[Turn] = []

    def keep(event: Shown) -> None:
        show(event)
        if isinstance(event, Finished):
            turns.append(event.turn)

    with tempfile.TemporaryDirectory(prefix="demo-") as folder:
        config = replace(config, data=DataConfig(folder))  # a stranger's memory, not yours
        for number, part in groupby(script, lambda line: line.part):
            lines = list(part)
            memory = replace(config.memory, bank=lines[0].bank, key="file")
            path = record if number == 1 else record.with_stem(f"{record.stem}-{number}")
            with loading(quiet=quiet) as progress:
                session = _session(replace(config, memory=memory), lines, path, keep, progress)
            with session:
                session.run()
    return turns


def _session(
    config: Config,
    script: Sequence[Line],
    record: Path,
    show: Callable[[Shown], None],
    progress: Callable[[str], None],
) -> Talk:
    def segments(mind: Mind) -> Iterator[Audio]:
        for line in script:
            yield spoken[line.say]

    spoken: dict[str, Audio] = {}
    source = Source(segments=segments, patient=True, record=record, speaker=False)
    session = Talk(config, source, show, progress)
    for line in script:
        spoken[line.say] = speak(session, line.say)
    return session


def speak(session: Talk, text: str) -> Audio:
    """The user's voice: 16 kHz, with a short silence before it."""
    voice = session.engines.voice
    assert voice is not None
    parts = [files.resample(audio, 16000).samples for audio in voice.synthesize(text, "en")]
    return Audio(np.concatenate([np.zeros(8000, np.float32), *parts]), 16000)


def _report(script: Sequence[Line], turns: Sequence[Turn], record: Path, *, as_json: bool) -> int:
    asked = [(line, turn) for line, turn in zip(script, turns, strict=False) if line.asks]
    right = sum(line.answered_by(turn.reply) for line, turn in asked)
    wanted = sum(line.asks for line in script)
    waits = [t.latency_ms["voice_to_voice"] for t in turns if "voice_to_voice" in t.latency_ms]
    summary = {
        "event": "demo",
        "turns": len(turns),
        "answers_right": right,
        "answers": wanted,
        "voice_to_voice_ms_p50": median(waits) if waits else None,
        "recording": str(record),
    }
    if as_json:
        click.echo(json.dumps(summary))
    else:
        click.echo(
            f"\n{right} of {wanted} answers right; last word to first sound, median "
            f"{summary['voice_to_voice_ms_p50'] or 0:.0f} ms. Recording: {record}"
        )
    return 0 if right == wanted and len(turns) == len(script) else 1
