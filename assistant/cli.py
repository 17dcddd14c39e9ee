"""The words of the command line: arguments in, lines out. The work is done elsewhere."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from assistant import __version__, config
from assistant.errors import AssistantError, InputError


@dataclass(frozen=True, slots=True)
class Options:
    """What was said before the command."""

    config: config.Config
    json: bool

    def emit(self, value: dict[str, Any], text: str | None = None) -> None:
        """One JSON object a line, or the text a person reads."""
        if self.json:
            click.echo(json.dumps(value, ensure_ascii=False, default=str))
        elif text is not None:
            click.echo(text)


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


@cli.group()
def models() -> None:
    """The weights: list, pull, verify."""


@cli.group()
def bench() -> None:
    """Measure with the real pipeline."""


def main(args: list[str] | None = None) -> int:
    """Run the command line; every known fault is one sentence and exit code 2."""
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
