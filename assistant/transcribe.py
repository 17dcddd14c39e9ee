"""`transcribe F…`: files through the same detector, endpoint and recogniser as a conversation.

One utterance is in memory at a time, whatever the length of the file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import click

from assistant.audio import files
from assistant.config import Config
from assistant.endpoint import FRAME_SECONDS, Endpoint
from assistant.errors import AssistantError, InputError
from assistant.events import Audio, Frame, Transcript, Utterance
from assistant.stages import Recognizer, SpeechDetector

Emit = Callable[[dict[str, Any], str | None], None]
Tick = Callable[[float], None]
"""told the seconds done so far"""

LONGEST_UTTERANCE = 120.0
"""seconds; recognition itself divides what is longer than its window at a quiet place"""


class Engines:
    """The detector and the recogniser, loaded when the first readable file needs them."""

    def __init__(self, config: Config) -> None:
        self._config = config

    @cached_property
    def detector(self) -> SpeechDetector:
        from assistant.vad import load_vad
        from assistant.weights import find

        return load_vad(self._config.vad, find)

    @cached_property
    def recognizer(self) -> Recognizer:
        from assistant.asr import Whisper
        from assistant.weights import find

        return Whisper.load(self._config.asr, find(self._config.asr.model, "asr"))


@dataclass(slots=True)
class Text:
    """What was recognised in one file so far."""

    seconds: float = 0.0
    parts: list[Transcript] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def add(self, heard: Transcript) -> None:
        if heard.text:
            self.parts.append(heard)
        else:
            self.refused.append(heard.why_empty)

    @property
    def language(self) -> str:
        """The one most letters are in."""
        letters: dict[str, int] = {}
        for part in self.parts:
            letters[part.language] = letters.get(part.language, 0) + len(part.text)
        return max(letters, key=lambda name: letters[name], default="")

    @property
    def text(self) -> str:
        return ("" if self.language == "zh" else " ").join(part.text for part in self.parts)

    @property
    def confidence(self) -> float:
        total = sum(part.confidence for part in self.parts)
        return total / len(self.parts) if self.parts else 0.0

    @property
    def why_empty(self) -> str:
        if self.parts:
            return ""
        return self.refused[0] if self.refused else "no speech"

    def record(self, path: Path) -> dict[str, Any]:
        return {
            "file": str(path),
            "text": self.text,
            "language": self.language,
            "confidence": round(self.confidence, 3),
            "seconds": round(self.seconds, 3),
            "why_empty": self.why_empty,
        }


def utterances(
    frames: Iterator[Frame], detector: SpeechDetector, config: Config, tick: Tick
) -> Iterator[Utterance]:
    """Everything that is said, one utterance after another."""
    long = replace(config.endpoint, max_seconds=LONGEST_UTTERANCE)
    endpoint = Endpoint(long, config.vad)
    detector.reset()
    at = 0.0
    for frame in frames:
        at = frame.at + FRAME_SECONDS
        for event in endpoint.feed(frame, detector.probability(frame)):
            if isinstance(event, Utterance):
                yield event
        tick(at)
    yield from (event for event in endpoint.flush(at) if isinstance(event, Utterance))


def _counted(blocks: Iterator[Audio], result: Text) -> Iterator[Audio]:
    for block in blocks:
        result.seconds += block.seconds
        yield block


def transcribe_file(
    path: Path, config: Config, engines: Engines, said: Callable[[str], None], tick: Tick
) -> Text:
    """Recognise a file; `said` gets each utterance at once. Raises AssistantError."""
    result = Text()
    frames = files.frames(_counted(files.stream(path), result))
    for utterance in utterances(frames, engines.detector, config, tick):
        heard = engines.recognizer.transcribe(utterance.audio, speech_share=utterance.speech_share)
        result.add(heard)
        if heard.text:
            said(heard.text)
    return result


@contextmanager
def _bar(*, quiet: bool) -> Iterator[Callable[[Path], Tick]]:
    """A progress bar on stderr, shown on a terminal only; gives a Tick for each file."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    shown = sys.stderr.isatty() and not quiet
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not shown) as bar:

        def begin(path: Path) -> Tick:
            for task in bar.task_ids:
                bar.remove_task(task)
            task = bar.add_task(path.name, total=files.duration(path))
            return lambda seconds: bar.update(task, completed=seconds)

        yield begin


def _say(name: str, text: str, *, as_json: bool) -> None:
    if not as_json:
        click.echo(name + text)


def run(paths: Sequence[Path], config: Config, emit: Emit, *, as_json: bool) -> int:
    """Print what is said in each file; a bad one costs its sentence, not the others. Exit code."""
    engines = Engines(config)
    failed = False
    with _bar(quiet=as_json) as begin:
        for path in paths:
            name = f"{path}: " if len(paths) > 1 else ""
            say = partial(_say, name, as_json=as_json)
            try:
                result = transcribe_file(path, config, engines, say, begin(path))
            except InputError as error:
                failed = True
                click.echo(str(error), err=True)
                emit({"file": str(path), "error": str(error)}, None)
                continue
            if result.why_empty and not as_json:
                click.echo(f"{path}: nobody speaks in it ({result.why_empty}).", err=True)
            emit(result.record(path), None)
    return AssistantError.exit_code if failed else 0
