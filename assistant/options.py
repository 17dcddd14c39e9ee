"""What was said before the command, for every command."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import click

from assistant.config import Config


@dataclass(frozen=True, slots=True)
class Options:
    """What was said before the command."""

    config: Config
    json: bool

    def emit(self, value: dict[str, Any], text: str | None = None) -> None:
        """One JSON object a line, or the text a person reads."""
        if self.json:
            click.echo(json.dumps(value, ensure_ascii=False, default=str))
        elif text is not None:
            click.echo(text)
