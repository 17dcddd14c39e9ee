"""The words of `flows`: tasks as data."""

from __future__ import annotations

from pathlib import Path

import click

from assistant.options import Options


@click.group()
def flows() -> None:
    """Tasks as data: check, show, new, train."""


@flows.command("check")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE|DIR]...")
@click.pass_obj
def flows_check(options: Options, paths: tuple[Path, ...]) -> int:
    """Read flow files and tell what is wrong, with the line."""
    from assistant import flow_commands

    return flow_commands.check(paths, options.config.flows, options.emit)


@flows.command("show")
@click.argument("name", required=False, metavar="[FLOW]")
@click.pass_obj
def flows_show(options: Options, name: str | None) -> None:
    """What there is, or one flow: intents, slots, what they need."""
    from assistant import flow_commands

    flow_commands.show(name, options.config.flows, options.emit)


@flows.command("new")
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE.toml")
@click.pass_obj
def flows_new(options: Options, path: Path) -> None:
    """Write a small working flow to start from."""
    from assistant import flow_commands

    flow_commands.new(path, options.emit)


@flows.command("train")
@click.option(
    "--turns",
    type=click.Path(path_type=Path),
    metavar="FILE.jsonl",
    help="Labelled turns of your own, beside the flows' examples.",
)
@click.option(
    "-o",
    "output",
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="Where the weights go; default: your data folder, where they are used at once.",
)
@click.pass_obj
def flows_train(options: Options, turns: Path | None, output: Path | None) -> None:
    """Teach the gate: is this still about the last thing?"""
    from assistant import flow_commands

    flow_commands.train(options.config, turns, output, options.emit)
