"""The words of the command line: arguments in, lines out. The work is done elsewhere."""

from __future__ import annotations

import io
import os
import signal
import sys
from pathlib import Path

import click

from assistant import __version__, config
from assistant.cli_bench import bench
from assistant.cli_flows import flows
from assistant.cli_memory import memory
from assistant.errors import AssistantError, InputError
from assistant.options import Options
from assistant.workers import after


class Group(click.Group):
    """Accepts --json, --set, --data and --config after the command as well as before it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        front: list[str] = []
        rest: list[str] = []
        items = iter(args)
        for item in items:
            if item == "--":
                rest += [item, *items]
            elif item == "--json" or item.startswith(("--set=", "--data=", "--config=")):
                front.append(item)
            elif item in ("--set", "--data", "--config"):
                front += [item, *([value] if (value := next(items, None)) is not None else [])]
            else:
                rest.append(item)
        return super().parse_args(ctx, front + (rest or ["talk"]))


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@click.option(
    "--set", "overrides", multiple=True, metavar="SECTION.KEY=VALUE", help="Override a setting."
)
@click.option("--data", metavar="DIR", help="Keep database and logs in DIR.")
@click.option(
    "--config", "config_file", type=click.Path(path_type=Path), help="Another config.toml."
)
@click.pass_context
def cli(
    ctx: click.Context,
    as_json: bool,
    overrides: tuple[str, ...],
    data: str | None,
    config_file: Path | None,
) -> None:
    """A local, offline voice assistant that does not forget. Without a command: talk."""
    if data is not None:
        overrides = (*overrides, f"data.dir={data}")
    ctx.obj = Options(config.load(config_file, overrides), as_json)


@cli.command()
@click.option("--bank", metavar="NAME", help='Whose memory this is; "" is a guest.')
@click.option("--mic", help="Microphone by name or number.")
@click.option("--speaker", help="Speaker by name or number; with --input: play the reply there.")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A sound file in place of the microphone (may be repeated).",
)
@click.option("--fast", is_flag=True, help="With --input: do not wait where nobody speaks.")
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="FILE.wav",
    help="Two-channel recording: left heard, right played.",
)
@click.pass_obj
def talk(
    options: Options,
    bank: str | None,
    mic: str | None,
    speaker: str | None,
    inputs: tuple[Path, ...],
    fast: bool,
    record: Path | None,
) -> int:
    """Speak with it. Ctrl-C ends."""
    from assistant import commands

    if fast and not inputs:
        raise InputError("--fast needs --input FILE: a microphone cannot be hurried.")
    settings = options.config
    if bank is not None:
        settings = config.override(settings, [f"memory.bank={bank}"])
    if mic is not None:
        settings = config.override(settings, [f"audio.mic={mic}"])
    if speaker is not None:
        settings = config.override(settings, [f"audio.speaker={speaker}"])
    return commands.talk(
        settings,
        list(inputs),
        fast=fast,
        record=record,
        play=speaker is not None,
        as_json=options.json,
    )


@cli.command()
@click.option("--bank", metavar="NAME", help='Whose memory this is; "" is a guest.')
@click.option("--trace", is_flag=True, help="Show what was recalled, injected and retained.")
@click.pass_obj
def chat(options: Options, bank: str | None, trace: bool) -> None:
    """The same mind by text, from a terminal or a pipe. :state shows its mind, :quit ends."""
    from assistant import commands

    settings = options.config
    if bank is not None:
        settings = config.override(settings, [f"memory.bank={bank}"])
    commands.chat(settings, as_json=options.json, trace=trace)


@cli.command()
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    default=Path("demo.wav"),
    show_default=True,
    metavar="FILE.wav",
    help="Where the recording goes.",
)
@click.option(
    "--story",
    type=click.Choice(["memory", "office", "remember"]),
    default="memory",
    show_default=True,
    help="Facts told and asked back; a room booked and changed with an expense in between; facts "
    "told, asked back after a restart, and not told to somebody else.",
)
@click.pass_obj
def demo(options: Options, record: Path, story: str) -> int:
    """A whole spoken conversation.

    Hear and see it: told facts, another subject, then asked for them back."""
    from assistant.demo import run

    return run(options.config, record, story=story, as_json=options.json)


@cli.command()
@click.argument("text")
@click.option(
    "-o", "output", type=click.Path(path_type=Path), metavar="FILE.wav", help="Write, do not play."
)
@click.option("--speaker", help="Speaker by name or number.")
@click.pass_obj
def say(options: Options, text: str, output: Path | None, speaker: str | None) -> None:
    """Speak TEXT ("-" reads it from the standard input)."""
    from assistant.say import say as speak

    settings = options.config
    if speaker is not None:
        settings = config.override(settings, [f"audio.speaker={speaker}"])
    speak(settings, text, output, options.emit)


@cli.command()
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE..."
)
@click.pass_obj
def transcribe(options: Options, files: tuple[Path, ...]) -> int:
    """Print what is said in sound files."""
    from assistant.transcribe import run

    return run(files, options.config, options.emit, as_json=options.json)


@cli.command()
@click.pass_obj
def devices(options: Options) -> None:
    """List microphones and speakers."""
    from assistant.say import list_devices

    list_devices(options.emit, as_json=options.json)


@cli.group()
def models() -> None:
    """The weights: list, pull, verify."""


@models.command("list")
@click.pass_obj
def models_list(options: Options) -> None:
    """What can be fetched, what is here, and what you put here yourself."""
    from assistant import weights_commands

    weights_commands.show_list(options)


@models.command("pull")
@click.argument("names", nargs=-1, metavar="[default|small|all|NAME]...")
@click.pass_obj
def models_pull(options: Options, names: tuple[str, ...]) -> None:
    """Fetch what is missing (without a name: default). Interrupted, it goes on where it was."""
    from assistant import weights_commands

    weights_commands.run_pull(names, options)


@models.command("verify")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.pass_obj
def models_verify(options: Options, names: tuple[str, ...]) -> None:
    """Check that the weights are whole.

    Compares the hash of everything that is here, or of the named weights."""
    from assistant import weights_commands

    weights_commands.run_verify(names, options.config, options)


cli.add_command(bench)
cli.add_command(flows)
cli.add_command(memory)


GRACE_SECONDS = 1.5
"""a program told to end has ended by then, whatever an engine is in the middle of"""


def _end_promptly(*_: object) -> None:
    """SIGINT and SIGTERM: unwind, and if that hangs, end anyway (every answered turn is stored)."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    after(GRACE_SECONDS, lambda: os._exit(130))
    raise KeyboardInterrupt


def main(args: list[str] | None = None) -> int:
    """Run the command line; every known fault is one sentence and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a letter it cannot show is shown as "?"
    signal.signal(signal.SIGINT, _end_promptly)
    signal.signal(signal.SIGTERM, _end_promptly)
    try:
        result = cli.main(args=args, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Abort:
        return 130
    except KeyboardInterrupt:
        return 130
    except click.ClickException as error:
        error.show()
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except AssistantError as error:
        click.echo(str(error), err=True)
        return error.exit_code


__all__ = ["InputError", "cli", "main"]
