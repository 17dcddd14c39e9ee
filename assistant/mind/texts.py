"""The texts and word lists of a language, kept as data in prompts/*.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
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


def filled(pattern: str, lists: Mapping[str, Sequence[str]]) -> str:
    """A pattern with `<name>` replaced by the alternatives of the list of that name."""

    def alternatives(match: re.Match[str]) -> str:
        found = lists.get(match[1])
        return match.group() if found is None else filled(f"(?:{'|'.join(found)})", lists)

    return re.sub(r"(?<!\(\?P)(?<!\(\?)<(\w+)>", alternatives, pattern)
