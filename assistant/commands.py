"""What the commands `talk` and `chat` do: build, run, show, end."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from assistant.app import Chat, Source, Talk, file_source
from assistant.config import Config
from assistant.console import Console, loading
from assistant.errors import AssistantError
from assistant.speakable import language_of

COMMANDS = ":state, :why, :trail, :memories, :reset, :bank NAME, :undo and :quit"
UNDO = "undo that"
"""what :undo says for you"""
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


def chat(config: Config, *, as_json: bool, trace: bool = False) -> None:
    """Lines in, replies out, until the input ends or :quit. `trace`: what memory did as well."""
    console = Console(as_json=as_json, spoken=False, trace=trace)
    typing = sys.stdin.isatty()
    with loading(quiet=as_json) as progress:
        session = Chat(config, console.show, console.say, progress)
    with session:
        for line in _lines(typing):
            if line == ":quit":
                break
            if line.startswith(":"):
                _colon(line, session, as_json=as_json)
            else:
                session.ask(line, language_of(line))
                if not typing:  # a pipe does not think before it goes on; the notes need a second
                    session.settle()
        session.end()


def _colon(line: str, session: Chat, *, as_json: bool) -> None:
    """Look into the mind, turn it back, begin anew, or let somebody else speak."""
    session.settle()
    state = session.mind.conversation.state
    if line == ":state":
        click.echo(json.dumps(state.to_dict(), ensure_ascii=False))
    elif line == ":why":
        for text in _why(session, as_json=as_json):
            click.echo(text)
    elif line == ":trail":
        click.echo(" | ".join(state.dialogue.trail))
    elif line == ":undo":
        session.ask(UNDO, "en")
    elif line.split(maxsplit=1)[0] in (":memories", ":reset", ":bank"):
        _memory(line, session, as_json=as_json)
    else:
        click.echo(f"{line}: unknown command; there are {COMMANDS}", err=True)


def _memory(line: str, session: Chat, *, as_json: bool) -> None:
    """:memories, :reset (the conversation, not the bank) and :bank."""
    bank = session.mind.bank
    command, _, name = line.partition(" ")
    if command == ":memories":
        for one in bank.shelf.all():
            click.echo(json.dumps(asdict(one), ensure_ascii=False) if as_json else one.text)
    elif command == ":reset":
        bank.begin_session()
        session.refresh()
        click.echo("A new conversation begins; what is remembered stays.", err=True)
    elif name:
        try:
            session.switch(name.strip(' "'))
        except AssistantError as error:
            click.echo(str(error), err=True)
        else:
            click.echo(f"This is {session.mind.bank.name or 'a guest'} now.", err=True)
    else:
        click.echo(bank.name or "a guest")


def _why(session: Chat, *, as_json: bool) -> Iterator[str]:
    """The last turn: state before, what was decided and why, what of the state changed."""
    turn = session.mind.turns.last
    if turn is None:
        return
    before, after = dict(turn.state_before), session.mind.conversation.state.to_dict()
    if as_json:
        record = {"event": "why", "before": before, "decisions": turn.decisions, "after": after}
        yield json.dumps(record, ensure_ascii=False)
        return
    for one in turn.decisions or [{"act": "model", "intent": "", "why": ["no flows"]}]:
        slots = ", ".join(f"{name}={value}" for name, value in one.get("slots", {}).items())
        yield f"{one['act']} {one['intent']} ({slots}): {'; '.join(one['why'])}"
    for state in (before, after):
        state["dialogue"] = _tasks(state["dialogue"])
    for name in after:
        if before[name] != after[name]:
            yield f"  {name}: {json.dumps(before[name], ensure_ascii=False)}"
            yield f"    -> {json.dumps(after[name], ensure_ascii=False)}"


def _tasks(dialogue: dict[str, Any]) -> dict[str, Any]:
    """The tasks of a state, as a person wants to see them."""

    def brief(task: dict[str, Any] | None) -> str:
        if not task:
            return ""
        slots = ", ".join(f"{name}={one['value']}" for name, one in task["slots"].items())
        return f"{task['flow']}.{task['intent']}({slots}) {task['asked']}".strip()

    return {
        "task": brief(dialogue["task"]),
        "suspended": [brief(task) for task in dialogue["suspended"]],
        "done": [f"{brief(one['task'])}: {one['outcome']}" for one in dialogue["done"]],
    }


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
