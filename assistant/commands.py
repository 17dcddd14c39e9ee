"""What the commands `talk` and `chat` do: build, run, show, end."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from assistant.app import Chat, Source, Talk, file_source
from assistant.config import Config
from assistant.console import Console, loading
from assistant.speakable import language_of

MAX_CHARACTERS = 2000
"""of a typed line: two minutes of speech, and within every context"""


def talk(
    config: Config,
    inputs: list[Path],
    *,
    fast: bool,
    record: Path | None,
    play: bool,
    as_json: bool,
) -> int:
    """The voice loop until the files or the person have ended. 0 when nothing broke."""
    console = Console(as_json=as_json, spoken=True)
    if inputs:
        source = file_source(inputs, fast=fast, record=record, speaker=play)
    else:
        source = Source(record=record)

    def opened() -> None:
        if not inputs:
            click.echo("Listening. Ctrl-C ends.", err=True)

    with loading(quiet=as_json) as progress:
        session = Talk(config, source, console.show, progress, opened)
    with session:
        return 0 if session.run() else 2


def chat(config: Config, *, as_json: bool) -> None:
    """Lines in, replies out, until the input ends or :quit."""
    console = Console(as_json=as_json, spoken=False)
    typing = sys.stdin.isatty()
    with loading(quiet=as_json) as progress:
        session = Chat(config, console.show, console.say, progress)
    with session:
        for line in _lines(typing):
            if line == ":quit":
                break
            if line == ":state":
                state = json.dumps(session.mind.conversation.state.to_dict(), ensure_ascii=False)
                click.echo(state)
            elif line.startswith(":"):
                click.echo(f"{line}: unknown command; there are :state and :quit", err=True)
            else:
                session.ask(line, language_of(line))
                if not typing:  # a pipe does not think before it goes on; the notes need a second
                    session.settle()
        session.end()


def _lines(typing: bool) -> Iterator[str]:
    """Non-empty lines, until the end of the input; one that is too long is refused."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # bytes that are no text are no fault of ours
    while True:
        if typing:
            click.echo("> ", nl=False, err=True)
        line = sys.stdin.readline(MAX_CHARACTERS + 1)
        if not line:
            if typing:  # the shell's prompt gets a line of its own
                click.echo(err=True)
            return
        if len(line) > MAX_CHARACTERS and not line.endswith("\n"):
            while (rest := sys.stdin.readline(65536)) and not rest.endswith("\n"):
                pass
            text = f"A line is longer than {MAX_CHARACTERS} characters; say less at once."
            click.echo(text, err=True)
            continue
        if text := line.strip():
            yield text
