"""The texts and word lists of a language, kept as data in prompts/*.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

PROMPTS = Path(__file__).resolve().parent.parent / "prompts"


@cache
def prompts(language: str) -> dict[str, Any]:
    """The prompt texts of a language, English for one that has none."""
    path = PROMPTS / f"{language}.toml"
    with (path if path.is_file() else PROMPTS / "en.toml").open("rb") as file:
        return tomllib.load(file)
