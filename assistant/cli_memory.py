"""The words of `memory`: see, change, keep and delete what is remembered."""

from __future__ import annotations

from pathlib import Path

import click

from assistant.errors import InputError
from assistant.options import Options

_bank = click.option("--bank", metavar="NAME", help="Whose memory; default: memory.bank.")


@click.group()
def memory() -> None:
    """What is remembered: see, change, keep, delete."""


@memory.command("show")
@_bank
@click.option("--all", "every", is_flag=True, help="Also what is no longer true, with its end.")
@click.pass_obj
def memory_show(options: Options, bank: str | None, every: bool) -> None:
    """What is known.

    By who or what it is about; each fact with the id that edit and forget take."""
    from assistant import memory_commands

    memory_commands.show(options, bank, every=every)


@memory.command("search")
@click.argument("text")
@_bank
@click.option("--most", type=click.IntRange(1, 1000), default=10, show_default=True)
@click.pass_obj
def memory_search(options: Options, text: str, bank: str | None, most: int) -> None:
    """Find TEXT by words and meaning.

    --json tells how each was found."""
    from assistant import memory_commands

    memory_commands.search(options, bank, text, most)


@memory.command("edit")
@click.argument("id")
@click.argument("text")
@_bank
@click.pass_obj
def memory_edit(options: Options, id: str, text: str, bank: str | None) -> None:
    """Put TEXT in the place of the fact ID."""
    from assistant import memory_commands

    memory_commands.edit(options, bank, id, text)


@memory.command("forget")
@click.argument("words", nargs=-1, metavar="[ID...|TEXT]")
@_bank
@click.option("--session", metavar="ID", help="A whole conversation and what was learned in it.")
@click.option("--all", "everything", is_flag=True, help="Everything: the bank's file is deleted.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def memory_forget(
    options: Options,
    words: tuple[str, ...],
    bank: str | None,
    session: str | None,
    everything: bool,
    yes: bool,
) -> None:
    """Delete for good, by ids or by words.

    TEXT: facts that hold all of its words. They also go from the conversations in which they were
    said. That cannot be taken back."""
    from assistant import memory_commands

    if everything and (words or session):
        raise InputError("--all forgets everything; say nothing else beside it.")
    if everything:
        memory_commands.forget_everything(options, bank, yes=yes)
    else:
        memory_commands.forget_facts(options, bank, words, session, yes=yes)


@memory.command("export")
@click.argument("file", required=False, type=click.Path(path_type=Path), metavar="[FILE|-]")
@_bank
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.pass_obj
def memory_export(options: Options, file: Path | None, bank: str | None, force: bool) -> None:
    """A backup, not encrypted.

    Everything as lines of JSON, to FILE (default: the name and the day) or to the output (-)."""
    from assistant import memory_commands

    memory_commands.export(options, bank, file, force=force)


@memory.command("import")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE|-")
@_bank
@click.pass_obj
def memory_import(options: Options, file: Path, bank: str | None) -> None:
    """Put a backup into a memory.

    What is there already stays as it is."""
    from assistant import memory_commands

    memory_commands.load(options, bank, file)


@memory.command("purge")
@_bank
@click.option("--turns-days", type=click.FloatRange(min=0), help="Keep what was said so long.")
@click.option("--ended-days", type=click.FloatRange(min=0), help="Keep what is no longer true.")
@click.pass_obj
def memory_purge(
    options: Options, bank: str | None, turns_days: float | None, ended_days: float | None
) -> None:
    """Delete what has expired.

    0 days: never. Without days those of the settings count."""
    from assistant import memory_commands

    memory_commands.purge(options, bank, turns_days, ended_days)


@memory.command("consolidate")
@_bank
@click.pass_obj
def memory_consolidate(options: Options, bank: str | None) -> None:
    """Tidy up now.

    Merges what is there twice, ends what was contradicted, lets old things fade."""
    from assistant import memory_commands

    memory_commands.consolidate(options, bank)


@memory.command("stats")
@_bank
@click.pass_obj
def memory_stats(options: Options, bank: str | None) -> None:
    """Counts, size and days of every memory."""
    from assistant import memory_commands

    memory_commands.stats(options, bank)
